/*
 * process_killed.c: programs that a signal stops or ends, by themselves, at a deadline, or not,
 * since the system does not let us.
 */
/* POSIX: seccomp, SIGCONT */
/* matrix: policy workers */
#include "support/io/processes.h"
#include "support/times.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static int by_itself_body(void *arg) {
    thrum_process_output output;
    (void)arg;
    CHECK_EQ(thrum_process_run(SHELL("kill -9 $$"), NULL, NULL, 0, &output, THRUM_FOREVER), 0);
    CHECK_EQ(output.status.code, -1);
    CHECK_EQ(output.status.signal, SIGKILL);
    thrum_process_output_free(&output);
    CHECK_EQ(ended_and_closed(started(SHELL("kill -9 $$"), NULL)), -SIGKILL);
    CHECK_EQ(ended_and_closed(started(SHELL("kill -15 $$"), NULL)), -SIGTERM);
    CHECK(!has_children());
    return 0;
}

TEST(a_program_that_a_signal_ends) {
    /* It has given nothing to exit. */
    ways(by_itself_body);
}

static int stop_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_status status;
    thrum_io in;
    siginfo_t info;
    (void)arg;
    options.flags = THRUM_PROCESS_GROUP; /* who continues the test's group does not mean it */
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &in};
    thrum_process *process = started(SHELL("read line; exit 5"), &options);
    const id_t pid = (id_t)thrum_process_pid(process);
    CHECK_EQ(thrum_process_kill(process, SIGSTOP), 0);
    /* Somebody else may have continued it by now. */
    CHECK_EQ(waitid(P_PID, pid, &info, WSTOPPED | WCONTINUED | WNOWAIT), 0);
    CHECK_EQ(thrum_process_wait(process, &status, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_process_kill(process, SIGCONT), 0);
    CHECK_EQ(thrum_io_close(in), 0);
    CHECK_EQ(ended_and_closed(process), 5);
    return 0;
}

TEST(a_stop_is_no_end) {
    /* A wait goes on while the process is stopped, and when it is continued. */
    ways(stop_body);
}

static int stubborn_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_status status;
    thrum_io out;
    char text[2];
    (void)arg;
    options.flags = THRUM_PROCESS_GROUP;
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &out};
    thrum_process *process =
        started(SHELL("trap '' TERM; echo; while :; do sleep 1000; done"), &options);
    CHECK_EQ(thrum_read(out, text, 1), 1); /* it ignores the signal from now on */
    CHECK_EQ(thrum_process_kill(process, SIGTERM), 0);
    CHECK_EQ(thrum_process_wait(process, &status, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_process_kill_group(process, SIGKILL), 0);
    CHECK_EQ(ended_and_closed(process), -SIGKILL);
    CHECK_EQ(thrum_read(out, text, 1), 0); /* its children have ended, too */
    CHECK_EQ(thrum_io_close(out), 0);
    return 0;
}

TEST(a_program_that_ignores_sigterm) {
    /* It gets a while, and then it is killed with all of its group. */
    ways(stubborn_body);
}

/*
 * Runs a program with a deadline, at which it is killed; *length: what it has written by then. If
 * the deadline passed before, it has not begun. The caller tries again with a later one until it
 * has come as far as it comes: until then each run is as right.
 */
static void run_until_killed(const char *const argv[], const thrum_process_options *options,
                             thrum_process_output *output, int64_t ns) {
    const thrum_time deadline = thrum_after(ns);
    CHECK_EQ(thrum_process_run(argv, options, NULL, 0, output, deadline), -ETIMEDOUT);
    CHECK_PASSED(deadline);
    CHECK(output->status.signal == SIGKILL || output->out_size == 0);
}

enum { AT_FIRST_NS = 20000000 };

/* True: it had come as far as it comes. */
static bool is_killed_late(int64_t ns) {
    static const char all[] = "begun\nmore\n";
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    int ends[2];
    char byte;
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    options.fds = &ends[1]; /* so that it can be seen who lives */
    options.fds_count = 1;
    const char *const script = "trap '' TERM; echo begun; sleep 1000 & echo more; sleep 1000";
    run_until_killed(SHELL(script), &options, &output, ns);
    CHECK(output.out_size < sizeof all && memcmp(output.out, all, output.out_size) == 0);
    const bool whole = output.out_size == sizeof all - 1;
    thrum_process_output_free(&output);
    CHECK(!has_children());
    close(ends[1]);
    CHECK_EQ(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    return whole;
}

static int late_body(void *arg) {
    int64_t ns = AT_FIRST_NS;
    (void)arg;
    while (!is_killed_late(ns)) {
        ns *= 2;
    }
    return 0;
}

TEST(a_deadline_kills_the_group) {
    /* What was written before is kept, and the descendants have ended. */
    callers(late_body);
}

/* ---- a system that does not let us kill ---- */

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

/* From here on the calls of the numbers fail with this code, in all threads that begin later. */
static void refuse(int code, long first, long second) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)first, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)second, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {COUNT_OF(steps), steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        CHECK_SKIP("no calls of the system can be refused here");
    }
}

/* Has a program's end of its input in a pipe, which ends it when the test closes the other one. */
static thrum_process_options held_options(int ends[2]) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_FD, ends[0], NULL};
    return options;
}

static void let_go(const int ends[2]) {
    close(ends[0]);
    close(ends[1]);
    SPIN_UNTIL(!has_children());
}

/* True: it has begun. */
static bool is_not_killed(int64_t ns) {
    thrum_process_output output;
    int ends[2];
    const thrum_process_options options = held_options(ends);
    CHECK_EQ(
        thrum_process_run(SHELL("echo a; exec cat"), &options, NULL, 0, &output, thrum_after(ns)),
        -ETIMEDOUT);
    CHECK_EQ(output.status.code, -1);
    CHECK_EQ(output.status.signal, 0);
    const bool begun = output.out_size > 0;
    CHECK(!begun || has_children()); /* it lives; a wait for it would have lasted for ever */
    thrum_process_output_free(&output);
    let_go(ends);
    return begun;
}

static int not_killed_body(void *arg) {
    int64_t ns = AT_FIRST_NS;
    (void)arg;
    while (!is_not_killed(ns)) {
        ns *= 2;
    }
    return 0;
}

TEST(a_program_that_may_not_be_killed) {
    /* As one that has become another user: it is not waited for, and is no zombie when it ends. */
    refuse(EPERM, SYS_pidfd_send_signal, SYS_kill);
    ways(not_killed_body);
}

static int by_number_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    (void)arg;
    int signal = 0;
    for (int64_t ns = AT_FIRST_NS; signal == 0; ns *= 2) {
        run_until_killed(SHELL("sleep 1000 & exec sleep 1000"), NULL, &output, ns);
        signal = output.status.signal;
        thrum_process_output_free(&output);
    }
    options.flags = THRUM_PROCESS_GROUP;
    thrum_process *process = started(SHELL("exec sleep 1000"), &options);
    CHECK_EQ(thrum_process_kill(process, 0), 0);
    CHECK_EQ(thrum_process_kill_group(process, SIGKILL), 0);
    CHECK_EQ(ended_and_closed(process), -SIGKILL);
    CHECK(!has_children());
    return 0;
}

TEST(signals_by_number_where_descriptors_are_refused) {
    /* By a filter of calls that says EPERM, or ENOSYS as an old system would. */
    refuse(EPERM, SYS_pidfd_send_signal, SYS_pidfd_send_signal);
    ways(by_number_body);
    refuse(ENOSYS, SYS_pidfd_send_signal, SYS_pidfd_send_signal); /* the later filter decides */
    ways(by_number_body);
}

static int moved_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    const char *const env[] = {"PROCESS_MOVES=1", NULL};
    const char *const argv[] = {"moves", "a_program_that_leaves_its_group", NULL};
    (void)arg;
    options.program = "/proc/self/exe";
    options.env = env;
    options.flags = THRUM_PROCESS_ENV_ADD;
    bool moved = false;
    for (int64_t ns = AT_FIRST_NS; !moved; ns *= 2) {
        run_until_killed(argv, &options, &output, ns);
        moved = output.out_size > 0;
        thrum_process_output_free(&output);
    }
    return 0;
}

TEST(a_program_that_leaves_its_group) {
    /* It is killed all the same; this program is started once more, and moves to our group. */
    if (getenv("PROCESS_MOVES")) {
        CHECK_EQ(setpgid(0, getpgid(getppid())), 0);
        CHECK_EQ(write(STDOUT_FILENO, "moved", 5), 5);
        pause();
    }
    callers(moved_body);
}

static int child_writes_body(void *arg) {
    thrum_process_output output;
    int ends[2];
    (void)arg;
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_FD, ends[0], NULL};
    /* The shell ends at once, its child when it is told. */
    const char *const argv[] = {"sh", "-c", "exec 3<&0; (read a <&3; echo $a) & exit 3", NULL};
    CHECK_EQ(write(ends[1], "late\n", 5), 5);
    CHECK_EQ(thrum_process_run(argv, &options, NULL, 0, &output, THRUM_FOREVER), 0);
    CHECK_EQ(output.status.code, 3);
    CHECK_STR(output.out, "late\n");
    thrum_process_output_free(&output);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

TEST(what_a_descendant_writes) {
    /* The output ends when nobody can write any more. */
    callers(child_writes_body);
}
