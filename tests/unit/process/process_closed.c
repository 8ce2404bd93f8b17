/*
 * process_closed.c: calls on a process whose handle is closed: the program is told of its mistake.
 */
#include "support/io/processes.h"

static thrum_process *closed(void) {
    thrum_process *process = started(SHELL("exit 3"), NULL);
    CHECK_EQ(ended_and_closed(process), 3);
    return process;
}

/* One that lives until `in` is closed. */
static thrum_process *closed_alive(thrum_io *in) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, in};
    thrum_process *process = started(SHELL("read a; exit 1"), &options);
    CHECK_EQ(thrum_process_close(process), 0);
    return process;
}

static void close_again(void *arg) {
    (void)arg;
    (void)thrum_process_close(closed());
}

static int closer(void *arg) {
    CHECK_EQ(thrum_set_name("closer"), 0);
    close_again(arg);
    return 0;
}

static void close_again_in_a_task(void *arg) {
    (void)arg;
    rig_do(0, closer, NULL);
}

static void close_again_alive(void *arg) {
    thrum_io in;
    (void)arg;
    (void)thrum_process_close(closed_alive(&in));
}

static void close_long_ago(void *arg) {
    enum { LATER = 63 };
    thrum_process *process = closed();
    (void)arg;
    for (int i = 0; i < LATER; i++) {
        (void)closed();
    }
    (void)thrum_process_close(process);
}

static void ask_closed(void *arg) {
    const int *call = arg;
    thrum_process *process = closed();
    thrum_process_status status;
    switch (*call) {
    case 0:
        CHECK_EQ(thrum_process_wait(process, &status, THRUM_FOREVER), 0);
        break;
    case 1:
        (void)thrum_process_kill(process, SIGTERM);
        break;
    case 2:
        (void)thrum_process_kill_group(process, SIGTERM);
        break;
    case 3:
        (void)thrum_process_pid(process);
        break;
    default:
        (void)thrum_process_io(process);
        break;
    }
}

static const char line[] = "thrum: thrum_process_close: the process was closed before (object 0x";

TEST(a_second_close_is_told) {
    /* With the call, the object and the fiber, whoever had the process meanwhile. */
    check_dies(close_again, NULL, line);
    check_dies(close_again, NULL, "fiber none");
    check_dies(close_again_in_a_task, NULL, line);
    check_dies(close_again_in_a_task, NULL, "fiber closer");
    check_dies(close_again_alive, NULL, line);
    check_dies(close_long_ago, NULL, line);
}

TEST(a_second_close_is_told_on_old_systems) {
    /* Where a thread waits for the end, it has the handle's memory, too. */
    as_old_systems(true);
    check_dies(close_again, NULL, line);
    check_dies(close_again_alive, NULL, line);
}

TEST(other_calls_on_a_closed_process_are_told) {
    /* Each by its name. */
    static const char *const calls[] = {
        "thrum: thrum_process_wait: the process was closed before",
        "thrum: thrum_process_kill: the process was closed before",
        "thrum: thrum_process_kill_group: the process was closed before",
        "thrum: thrum_process_pid: the process was closed before",
        "thrum: thrum_process_io: the process was closed before",
    };
    for (int i = 0; i < (int)COUNT_OF(calls); i++) {
        check_dies(ask_closed, &i, calls[i]);
    }
}
