/*
 * process_run.c: programs with all that they read and write, in one call.
 */
/* matrix: policy workers */
#include "support/io/processes.h"

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
    CHECK(!output.out && !output.error);
    CHECK_EQ(thrum_process_run(SHELL("cat"), NULL, NULL, 0, &output, THRUM_FOREVER), 0);
    CHECK_STR(output.out, "");
    CHECK_STR(output.error, "");
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

static int passed_body(void *arg) {
    thrum_process_output output;
    (void)arg;
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_process_run(SHELL("touch begun"), NULL, NULL, 0, &output, 0), -ETIMEDOUT);
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
        th_os_fail(TH_OS_FAULT_ALLOC, 3 + i, 1);
        const int code = thrum_process_run(SHELL("echo a"), NULL, NULL, 0, &output, THRUM_FOREVER);
        CHECK(code == 0 || code == -ENOMEM);
        thrum_process_output_free(&output);
    }
    th_os_fail(TH_OS_FAULT_ALLOC, 0, 0);
    CHECK_EQ(descriptors(), before);
    CHECK(!has_children());
    return 0;
}

TEST(runs_that_are_refused) {
    /* Nothing is left of them. */
    CHECK_EQ(ended_and_closed(started(SHELL("exit 0"), NULL)), 0);
    CHECK_EQ(refused_body(NULL), 0);
}
