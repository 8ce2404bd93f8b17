/*
 * process.c: programs are started, waited for and ended.
 */
/* matrix: policy workers */
#include "support/io/processes.h"
#include "support/times.h"

static int statuses_body(void *arg) {
    thrum_process_status status = {0};
    (void)arg;
    CHECK_EQ(ended_and_closed(started(SHELL("exit 0"), NULL)), 0);
    CHECK_EQ(ended_and_closed(started(SHELL("exit 255"), NULL)), 255);
    thrum_process *process = started(SHELL("exit 3"), NULL);
    CHECK(thrum_process_pid(process) > 1);
    CHECK_EQ(ended(process), 3);
    CHECK_EQ(thrum_process_wait(process, &status, 0), 0); /* again, and past the deadline */
    CHECK_EQ(status.code, 3);
    CHECK(!status.dumped);
    CHECK_EQ(thrum_process_kill(process, SIGTERM), 0); /* it is still known, and does not care */
    CHECK_EQ(ended(process), 3);
    CHECK_EQ(thrum_process_close(process), 0);
    CHECK(!has_children());
    return 0;
}

TEST(how_a_program_ends) {
    /* By itself; it is told as often as one asks. */
    ways(statuses_body);
}

static int pipes_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_io in, out, error;
    char text[64] = "";
    (void)arg;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &in};
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &out};
    options.streams[2] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &error};
    thrum_process *process = started(SHELL("read a; echo $a-$a; echo oh >&2; exit 4"), &options);
    CHECK_EQ(thrum_write(in, "ab\n", 3), 3);
    CHECK_EQ(thrum_read_full(out, text, sizeof text, THRUM_FOREVER), 6);
    CHECK_EQ(memcmp(text, "ab-ab\n", 6), 0);
    CHECK_EQ(thrum_read_full(error, text, sizeof text, THRUM_FOREVER), 3);
    CHECK_EQ(ended_and_closed(process), 4);
    CHECK_EQ(thrum_write(in, "c", 1), -EPIPE); /* and no signal */
    CHECK_EQ(thrum_io_close(in), 0);
    CHECK_EQ(thrum_io_close(out), 0);
    CHECK_EQ(thrum_io_close(error), 0);
    return 0;
}

TEST(a_program_at_the_other_end_of_pipes) {
    /* Each of its three streams is a descriptor like any. */
    ways(pipes_body);
}

static int lives_on_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_status status;
    thrum_io in, out;
    char byte;
    (void)arg;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &in};
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &out};
    thrum_process *process = started(SHELL("exec cat <&- >&- 2>&-"), &options);
    CHECK_EQ(thrum_read(out, &byte, 1), 0);
    CHECK_EQ(ended_and_closed(process), 1); /* cat has no output */
    CHECK_EQ(thrum_io_close(in), 0);
    CHECK_EQ(thrum_io_close(out), 0);

    process = started(SHELL("exec sleep 1000 <&- >&- 2>&-"), &options);
    CHECK_EQ(thrum_read(out, &byte, 1), 0);
    CHECK_EQ(thrum_process_wait(process, &status, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_process_kill(process, SIGTERM), 0);
    CHECK_EQ(ended_and_closed(process), -SIGTERM);
    CHECK_EQ(thrum_io_close(in), 0);
    CHECK_EQ(thrum_io_close(out), 0);
    return 0;
}

TEST(a_program_that_closes_its_pipes_and_lives_on) {
    /* The end of a pipe is not that of the process. */
    callers(lives_on_body);
}

static int refused_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_status status;
    (void)arg;
    thrum_process *process = started(SHELL("exec sleep 1000"), &options);
    CHECK_EQ(thrum_process_kill(process, -1), -EINVAL);
    CHECK_EQ(thrum_process_kill(process, 65), -EINVAL);
    CHECK_EQ(thrum_process_kill_group(process, SIGTERM), -EINVAL); /* it is our own group */
    CHECK_EQ(thrum_process_kill(process, 0), 0);
    CHECK_EQ(thrum_process_wait(process, NULL, 0), -EINVAL);
    CHECK_EQ(thrum_process_kill(process, SIGKILL), 0);
    CHECK_EQ(ended_and_closed(process), -SIGKILL);
    CHECK_EQ(thrum_process_wait(NULL, &status, 0), -EINVAL);
    CHECK_EQ(thrum_process_kill(NULL, 0), -EINVAL);
    CHECK_EQ(thrum_process_kill_group(NULL, 0), -EINVAL);
    CHECK_EQ(thrum_process_pid(NULL), -EINVAL);
    CHECK_EQ(thrum_process_io(NULL).turn, 0);
    CHECK_EQ(thrum_process_close(NULL), -EINVAL);
    return 0;
}

TEST(what_makes_no_sense_is_refused) {
    /* With the process as it was. */
    ways(refused_body);
}

/* ---- several that wait ---- */

typedef struct scene {
    rig r;
    thrum_process *process;
    atomic_int done;
    atomic_int code;
} scene;

static int wait_for_nine(void *arg) {
    scene *s = ((actor *)arg)->arg;
    CHECK_EQ(ended(s->process), 9);
    atomic_fetch_add(&s->done, 1);
    return 0;
}

TEST(tasks_and_threads_wait_for_one_program) {
    /* All are told, those that come late as well. */
    scene s = {.process = NULL};
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_io in;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &in};
    rig_begin(&s.r, 0);
    s.process = started(SHELL("read a; exit 9"), &options);
    cast *c = cast_new(&s.r);
    cast_add_mixed(c, 4, 4, wait_for_nine, &s);
    CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&s.done), 0);
    CHECK_EQ(thrum_io_close(in), 0);
    cast_join(c);
    CHECK_EQ(atomic_load(&s.done), 8);
    CHECK_EQ(ended_and_closed(s.process), 9);
    rig_stop(&s.r);
}

static int wait_once(void *arg) {
    scene *s = arg;
    thrum_process_status status;
    atomic_store(&s->code, thrum_process_wait(s->process, &status, THRUM_FOREVER));
    return 0;
}

/* A wait that is cancelled, of a program with these flags. */
static void cancel_wait(scene *s, unsigned flags) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    const thrum_attr attr = rig_attr(&s->r);
    thrum_handle *handle;
    options.flags = flags;
    s->process = started(SHELL("exec sleep 1000"), &options);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, wait_once, s), 0);
    CHECK_EQ(thrum_sched_wait_idle(s->r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(atomic_load(&s->code), -ECANCELED);
}

TEST(cancels_end_waits) {
    /* The program lives on, unless it was to be killed. */
    scene s = {.process = NULL};
    thrum_process_status status;
    rig_begin(&s.r, 0);
    cancel_wait(&s, THRUM_PROCESS_GROUP);
    CHECK_EQ(thrum_process_wait(s.process, &status, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_process_kill_group(s.process, SIGTERM), 0);
    CHECK_EQ(ended_and_closed(s.process), -SIGTERM);
    cancel_wait(&s, THRUM_PROCESS_KILL | THRUM_PROCESS_GROUP);
    CHECK_EQ(ended_and_closed(s.process), -SIGKILL);
    rig_stop(&s.r);
}

static int select_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_io in;
    (void)arg;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &in};
    thrum_process *process = started(SHELL("read a"), &options);
    thrum_case cases[] = {thrum_io_case(thrum_process_io(process), THRUM_IO_READ)};
    CHECK_EQ(thrum_select(cases, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_io_close(in), 0);
    CHECK_EQ(thrum_select(cases, 1, THRUM_FOREVER), 0);
    CHECK_EQ(ended_and_closed(process), 1);
    return 0;
}

TEST(an_end_among_the_cases_of_a_select) {
    /* The descriptor of a process is ready when it has ended. */
    ways(select_body);
}

/* ---- many ---- */

typedef struct many {
    atomic_int left;
    atomic_int refused;
} many;

static int start_some(void *arg) {
    many *m = arg;
    while (atomic_fetch_sub(&m->left, 1) > 0) {
        CHECK_EQ(ended_and_closed(started(SHELL("exit 0"), NULL)), 0);
    }
    return 0;
}

TEST(many_programs_at_a_time) {
    /* 64 at a time, and nothing is left. */
    many m = {SCALED(500), 0};
    rig r;
    rig_begin(&r, 0);
    start_some(&(many){1, 0});
    const int before = descriptors();
    for (int i = 0; i < 64; i++) {
        rig_go(&r, start_some, &m);
    }
    rig_wait_done(&r);
    rig_stop(&r);
    CHECK(descriptors() <= before);
    CHECK(!has_children());
}

static int start_or_be_refused(void *arg) {
    many *m = arg;
    while (atomic_fetch_sub(&m->left, 1) > 0) {
        thrum_process *process = NULL;
        const int code = thrum_process_start(&process, SHELL("exit 0"), NULL);
        if (code == -EAGAIN) {
            atomic_fetch_add(&m->refused, 1);
        } else {
            CHECK_EQ(code, 0);
            CHECK_EQ(ended_and_closed(process), 0);
        }
    }
    return 0;
}

TEST(some_of_many_are_refused) {
    /* The system refuses three of them: the others begin and end, and nothing is left. */
    many m = {SCALED(100), 0};
    rig r;
    rig_begin(&r, 0);
    start_some(&(many){1, 0});
    const int before = descriptors();
    th_os_fail(TH_OS_FAULT_PROCESS, (uint32_t)atomic_load(&m.left) / 2, 3);
    for (int i = 0; i < 16; i++) {
        rig_go(&r, start_or_be_refused, &m);
    }
    rig_wait_done(&r);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_PROCESS), 3 - atomic_load(&m.refused));
    rig_stop(&r);
    CHECK(descriptors() <= before);
    CHECK(!has_children());
    th_os_fail(TH_OS_FAULT_PROCESS, 0, 0);
}
