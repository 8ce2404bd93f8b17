/*
 * process_run.c: programs with all that they read and write, in one call.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 8 */
#include "support/processes.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static int whole_body(void *arg) {
    thrum_process_output output;
    (void)arg;
    CHECK_EQ(thrum_process_run(SHELL("cat; echo out; echo err >&2; exit 6"), NULL, "in\n", 3,
                               &output, THRUM_FOREVER),
             0);
    CHECK_EQ(output.status.code, 6);
    CHECK_STR(output.out, "in\nout\n");
    CHECK_EQ(output.out_size, 7);
    CHECK_EQ(output.out_all, 7);
    CHECK_STR(output.error, "err\n");
    CHECK_EQ(output.error_size, 4);
    thrum_process_output_free(&output);
    CHECK(output.out == NULL && output.error == NULL);
    CHECK_EQ(thrum_process_run(SHELL("cat"), NULL, NULL, 0, &output, THRUM_FOREVER), 0);
    CHECK_STR(output.out, "");
    CHECK_STR(output.error, "");
    thrum_process_output_free(&output);
    CHECK_EQ(thrum_process_run(SHELL("kill -9 $$"), NULL, NULL, 0, &output, THRUM_FOREVER), 0);
    CHECK_EQ(output.status.code, -1);
    CHECK_EQ(output.status.signal, SIGKILL);
    thrum_process_output_free(&output);
    CHECK(!has_children());
    return 0;
}

TEST(what_goes_in_and_comes_out) {
    /* Both outputs are texts, also where nothing came. */
    ways(whole_body);
}

enum { LARGE = 300000 };

static int large_body(void *arg) {
    static char text[LARGE];
    thrum_process_output output;
    (void)arg;
    for (int i = 0; i < LARGE; i++) {
        text[i] = (char)('a' + i % 23);
    }
    /* More than fits into the pipes, both ways at once. */
    CHECK_EQ(thrum_process_run(SHELL("tee /dev/stderr"), NULL, text, LARGE, &output, THRUM_FOREVER),
             0);
    CHECK_EQ(output.out_size, LARGE);
    CHECK_EQ(memcmp(output.out, text, LARGE), 0);
    CHECK_EQ(output.error_size, LARGE);
    CHECK_EQ(memcmp(output.error, text, LARGE), 0);
    thrum_process_output_free(&output);

    /* One that does not read it, and ends. */
    CHECK_EQ(thrum_process_run(SHELL("exit 2"), NULL, text, LARGE, &output, THRUM_FOREVER), 0);
    CHECK_EQ(output.status.code, 2);
    thrum_process_output_free(&output);
    return 0;
}

TEST(more_than_a_pipe_holds) {
    /* Nobody waits for the other side for ever. */
    ways(large_body);
}

static int limit_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    (void)arg;
    options.output_max = 5000;
    CHECK_EQ(thrum_process_run(SHELL("head -c 200000 /dev/zero; echo abc >&2"), &options, NULL, 0,
                               &output, THRUM_FOREVER),
             0);
    CHECK_EQ(output.status.code, 0);
    CHECK_EQ(output.out_size, 5000);
    CHECK_EQ(output.out_all, 200000);
    CHECK_STR(output.error, "abc\n");
    thrum_process_output_free(&output);
    options.output_max = 0;
    CHECK_EQ(thrum_process_run(SHELL("echo abc"), &options, NULL, 0, &output, THRUM_FOREVER), 0);
    CHECK_STR(output.out, "");
    CHECK_EQ(output.out_all, 4);
    thrum_process_output_free(&output);
    return 0;
}

TEST(output_beyond_the_limit) {
    /* It is read, so that the program can end, and counted. */
    ways(limit_body);
}

static int lost_body(void *arg) {
    thrum_process_output output;
    (void)arg;
    th_os_fail(TH_OS_FAULT_WRITE, 0, 1);
    CHECK_EQ(thrum_process_run(SHELL("cat; sleep 1000"), NULL, "in\n", 3, &output, THRUM_FOREVER),
             -ENOBUFS);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_WRITE), 0);
    CHECK_EQ(output.status.signal, SIGKILL);
    CHECK_STR(output.out, "");
    thrum_process_output_free(&output);
    CHECK(!has_children());
    return 0;
}

TEST(input_that_cannot_be_written) {
    /* It is an error, and the program is killed: only one that reads no more need not have it. */
    ways(lost_body);
}

/* Runs for so many ms. True: it had come as far as it comes. */
static bool is_killed_late(int64_t ms) {
    static const char all[] = "begun\nmore\n";
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    int ends[2];
    char byte;
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    options.fds = &ends[1]; /* so that it can be seen who lives */
    options.fds_count = 1;
    const char *const script = "trap '' TERM; echo begun; sleep 1000 & echo more; sleep 1000";
    const thrum_time begun = thrum_now();
    CHECK_EQ(thrum_process_run(SHELL(script), &options, NULL, 0, &output, thrum_after_ms(ms)),
             -ETIMEDOUT);
    CHECK(thrum_now() - begun >= THRUM_MS(ms));
    CHECK_EQ(output.status.signal, SIGKILL);
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
    int64_t ms = 200;
    (void)arg;
    while (!is_killed_late(ms)) {
        ms *= 2; /* the machine has other things to do, and it did not come far */
    }
    return 0;
}

static int passed_body(void *arg) {
    thrum_process_output output;
    (void)arg;
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_process_run(SHELL("echo >begun"), NULL, NULL, 0, &output, 0), -ETIMEDOUT);
        CHECK_EQ(output.status.code, -1);
        thrum_process_output_free(&output);
    }
    CHECK(access("begun", F_OK) != 0);
    return 0;
}

TEST(past_its_deadline_nothing_begins) {
    /* Nor is a program ended that has begun: there is none. */
    ways(passed_body);
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

static int not_killed_body(void *arg) {
    thrum_process_output output;
    int ends[2];
    (void)arg;
    const thrum_process_options options = held_options(ends);
    CHECK_EQ(thrum_process_run(SHELL("echo a; exec cat"), &options, NULL, 0, &output,
                               thrum_after_ms(50)),
             -ETIMEDOUT);
    CHECK_EQ(output.status.code, -1);
    CHECK_EQ(output.status.signal, 0);
    CHECK(has_children()); /* it lives; a wait for it would have lasted for ever */
    thrum_process_output_free(&output);
    let_go(ends);
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
    CHECK_EQ(thrum_process_run(SHELL("sleep 1000 & exec sleep 1000"), NULL, NULL, 0, &output,
                               thrum_after_ms(20)),
             -ETIMEDOUT);
    CHECK_EQ(output.status.signal, SIGKILL);
    thrum_process_output_free(&output);
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
    int64_t ms = 200;
    bool moved = false;
    while (!moved) {
        CHECK_EQ(thrum_process_run(argv, &options, NULL, 0, &output, thrum_after_ms(ms)),
                 -ETIMEDOUT);
        CHECK_EQ(output.status.signal, SIGKILL);
        moved = output.out_size > 0;
        thrum_process_output_free(&output);
        ms *= 2; /* the machine has other things to do, and it did not come far */
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

static int closes_body(void *arg) {
    thrum_process_output output;
    (void)arg;
    CHECK_EQ(thrum_process_run(SHELL("echo a; exec sleep 0.05 >&- 2>&-"), NULL, NULL, 0, &output,
                               THRUM_FOREVER),
             0);
    CHECK_EQ(output.status.code, 0);
    CHECK_STR(output.out, "a\n");
    thrum_process_output_free(&output);
    return 0;
}

TEST(an_output_that_ends_before_the_program) {
    /* Its status is waited for. */
    ways(closes_body);
}

typedef struct scene {
    rig r;
    thrum_process_output output;
    atomic_int code;
} scene;

static int run_long(void *arg) {
    scene *s = arg;
    atomic_store(&s->code, thrum_process_run(SHELL("echo a; sleep 1000 & exec sleep 1000"), NULL,
                                             NULL, 0, &s->output, THRUM_FOREVER));
    return 0;
}

TEST(a_cancel_kills_the_group) {
    /* Wherever it comes: as it starts, or as it waits. */
    scene s;
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2; i++) {
        const thrum_attr attr = rig_attr(&s.r);
        thrum_handle *handle;
        CHECK_EQ(thrum_spawn_with(&handle, &attr, run_long, &s), 0);
        if (i) {
            CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
        }
        CHECK_EQ(thrum_cancel(handle), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
        CHECK_EQ(atomic_load(&s.code), -ECANCELED);
        CHECK(!has_children());
        thrum_process_output_free(&s.output);
    }
    rig_stop(&s.r);
}

static int refused_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    thrum_io io;
    const char *const none[] = {"no-program-has-this-name", NULL};
    (void)arg;
    const int before = descriptors();
    CHECK_EQ(thrum_process_run(none, NULL, NULL, 0, &output, THRUM_FOREVER), -ENOENT);
    thrum_process_output_free(&output);
    CHECK_EQ(thrum_process_run(none, NULL, NULL, 1, &output, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_process_run(none, NULL, NULL, 0, NULL, THRUM_FOREVER), -EINVAL);
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &io};
    CHECK_EQ(thrum_process_run(none, &options, NULL, 0, &output, THRUM_FOREVER), -EINVAL);
    thrum_process_output_free(NULL);
    for (uint32_t i = 0; i < 3; i++) { /* memory for what it writes */
        th_os_fail_alloc(3 + i, 1);
        const int code = thrum_process_run(SHELL("echo a"), NULL, NULL, 0, &output, THRUM_FOREVER);
        CHECK(code == 0 || code == -ENOMEM);
        thrum_process_output_free(&output);
    }
    th_os_fail_alloc(0, 0);
    CHECK_EQ(descriptors(), before);
    CHECK(!has_children());
    return 0;
}

TEST(runs_that_are_refused) {
    /* Nothing is left of them. */
    CHECK_EQ(ended_and_closed(started(SHELL("exit 0"), NULL)), 0);
    CHECK_EQ(refused_body(NULL), 0);
}
