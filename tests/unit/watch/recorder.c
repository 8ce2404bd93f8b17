/*
 * recorder.c: the flight recorder: what is written at a signal, at a stall and at a crash, that the
 * process then ends as it would have, and whose handlers are left alone. Each file that is written
 * is read strictly (support/report/traces.h).
 */
/* matrix: policy workers */
#include "support/report/asked.h"
#include "support/report/recorded.h"
#include "support/times.h"

#include "core/record/recorder.h"
#include "core/trace/trace_notes.h"

#include <sys/stat.h>

/* ---- its name ---- */

TEST(the_file_is_named_by_the_environment) {
    /* A name that is too long is ignored there, and refused in a config. */
    char text[100];
    char name[1000];
    thrum_config c;
    unsetenv("THRUM_TRACE_FILE");
    thrum_config_init(&c);
    CHECK(c.trace_file == NULL);
    setenv("THRUM_TRACE_FILE", "a.json", 1);
    thrum_config_init(&c);
    CHECK_STR(c.trace_file, "a.json");
    memset(name, 'x', sizeof(name) - 1);
    name[901] = '\0';
    setenv("THRUM_TRACE_FILE", name, 1);
    thrum_config_init(&c);
    CHECK(c.trace_file == NULL);
    c.trace_file = name;
    CHECK_EQ(thrum_config_check(&c, text, sizeof(text)), -EINVAL);
    CHECK_STR(text, "trace_file is longer than 900 bytes");
    name[900] = '\0';
    CHECK_EQ(thrum_config_check(&c, text, sizeof(text)), 0);
    unsetenv("THRUM_TRACE_FILE");
}

/* ---- on threads ---- */

TEST(a_signal_has_it_written) {
    /* After the dump; a second signal replaces it. */
    rig r;
    folder_make();
    recorded_init(&r, "asked");
    r.config.dump_signal = SIGUSR1;
    capture_begin();
    rig_start(&r);
    run(&r, run_some, NULL);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(raise(SIGUSR1), 0);
        await_dump("asked");
        await("thrum: the latest of scheduler \"asked\" is in ");
        await("/t.json\n");
    }
    capture_end();
    trace_page p = trace_of_file(path);
    CHECK(trace_count(&p, "\"name\":\"some \\\"odd\\\" name\"") >= 1);
    CHECK(trace_count(&p, WITH_FUNCTION("\"function\":\"", nothing, "\"")) >= 100);
    trace_end(&p);
    rig_stop(&r);
    folder_end();
}

#define PAUSE_NS INT64_C(10000000000) /* from one stall that has it written to the next */

TEST(a_stall_has_it_written) {
    /* Once in ten seconds: a second stall at once is told, and writes nothing. */
    const thrum_time again = thrum_after(PAUSE_NS);
    struct stat first;
    struct stat second;
    rig r;
    folder_make();
    watched_init(&r, 2);
    r.config.trace = true;
    r.config.trace_file = path;
    capture_begin();
    rig_start(&r);
    stall_begin(&r, &stalls[0], "cruncher", crunch);
    await("/t.json\n");
    stall_end(&stalls[0]);
    CHECK_EQ(stat(path, &first), 0);
    stall_begin(&r, &stalls[1], "cruncher", crunch);
    CHECK_REPORTED(2);
    stall_end(&stalls[1]);
    rig_stop(&r);
    const bool at_once = soon() < again; /* the machine has not taken its time */
    unwanted = at_once ? "t.json" : NULL;
    CHECK_EQ(write(STDERR_FILENO, "end\n", 4), 4);
    await("end\n");
    capture_end();
    CHECK_EQ(stat(path, &second), 0);
    CHECK(!at_once || first.st_ino == second.st_ino);
    trace_page p = trace_of_file(path);
    CHECK(trace_count(&p, "\"name\":\"cruncher\"") >= 1);
    trace_end(&p);
    folder_end();
}

TEST(a_trace_is_on_from_the_start) {
    /* thrum_trace_write has it; a second start says so. */
    rig r;
    folder_make();
    recorded_init(&r, "on");
    rig_start(&r);
    CHECK_EQ(thrum_trace_start(r.sched, 0), -EALREADY);
    run(&r, run_some, NULL);
    trace_page p = trace_written(r.sched);
    CHECK(trace_count(&p, WITH_FUNCTION("\"function\":\"", nothing, "\"")) >= 100);
    trace_end(&p);
    rig_stop(&r);
    folder_end();
}

TEST(without_memory_for_it_a_start_goes_on_if_the_environment_asks) {
    /* One line says so. A config that asks for it is refused. */
    const size_t buffer = sizeof(th_trace_buffer) + (TH_RECORDER_EVENTS + 1) * sizeof(th_mark);
    rig r;
    folder_make();
    recorded_init(&r, "poor");
    atomic_store(&r.fail_size, buffer);
    CHECK_EQ(thrum_sched_start(&r.sched, &r.config), -ENOMEM);
    CHECK_EQ(atomic_load(&r.refused), 1);
    rig_check_freed(&r);
    CHECK_EQ(setenv("THRUM_TRACE", "on", 1), 0);
    recorded_init(&r, "poor");
    atomic_store(&r.fail_size, buffer);
    capture_begin();
    rig_start(&r);
    await("thrum: THRUM_TRACE: no memory to record scheduler \"poor\"\n");
    capture_end();
    run(&r, run_some, NULL);
    CHECK_EQ(thrum_trace_start(r.sched, 16), 0);
    rig_stop(&r);
    CHECK_EQ(unsetenv("THRUM_TRACE"), 0);
    CHECK_EQ(rmdir(folder), 0);
}

/* ---- crashes, each in a process of its own ---- */

static void misuses(void) {
    static thrum_mutex m = THRUM_MUTEX_INIT;
    thrum_mutex_unlock(&m);
}

static __attribute__((noinline)) int deeper(int n) {
    volatile char block[4096];
    block[0] = (char)n;
    return n < 0 ? 0 : deeper(n + 1) + block[0];
}

static void overflows(void) {
    exit(deeper(1) & 1);
}

TEST(a_segfault_is_told_and_ends_the_process) {
    /* One line says where; the file ends with it. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = segfaults}, SIGSEGV, "thrum: SIGSEGV at 0x10 on worker ");
}

TEST(the_task_that_crashes_is_told) {
    /* By its name and its function's place. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = segfaults}, SIGSEGV, " \"the culprit\" (" PLACE);
}

TEST(a_misuse_is_a_crash) {
    /* The line of the misuse comes first. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = misuses}, SIGABRT, "thrum_mutex_unlock: ");
}

TEST(an_overflow_is_a_crash) {
    /* It is reported as ever. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = overflows}, SIGABRT, "thrum: stack overflow in fiber the culprit");
}

TEST(a_crash_of_another_thread) {
    /* No task is to blame, and it is said. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = segfaults, .on_a_thread = true}, SIGSEGV,
                "thrum: SIGSEGV at 0x10 on a thread of the program's own\n");
}

TEST(each_scheduler_has_its_file) {
    /* The second one's name has a number. */
    char second[200];
    SKIP_IF_SANITIZED();
    char log[4096];
    folder_make();
    const int status = status_of(&(crash){.how = segfaults, .two = true}, log);
    CHECK(WIFSIGNALED(status));
    CHECK(strstr(log, "scheduler \"second\" is in ") != NULL);
    snprintf(second, sizeof(second), "%s.2", path);
    trace_page p = trace_of_file(second);
    CHECK(trace_count(&p, "\"sched\":\"second\"") == 1);
    trace_end(&p);
    CHECK_EQ(unlink(second), 0);
    folder_end();
}

/* A handler of the program's is called, and nothing is told: perhaps it goes on. */
static void check_own_handler(void (*how)(void), int signal) {
    char log[4096];
    folder_make();
    const int status = status_of(&(crash){.how = how, .handler = signal}, log);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 77);
    CHECK_STR(log, "");
    CHECK_EQ(access(path, F_OK), -1);
    folder_end();
}

TEST(a_handler_of_the_program_stays) {
    /* It is called for a fault. */
    SKIP_IF_SANITIZED();
    check_own_handler(segfaults, SIGSEGV);
}

TEST(a_handler_for_aborts_stays) {
    /* The same of an abort. */
    SKIP_IF_SANITIZED();
    check_own_handler(aborts, SIGABRT);
}

TEST(a_handler_for_what_is_raised_stays) {
    /* The same of a signal that the program raises. */
    SKIP_IF_SANITIZED();
    check_own_handler(divides, SIGFPE);
}

TEST(after_the_stop_nothing_is_told) {
    /* The process ends as it would have. */
    char log[4096];
    SKIP_IF_SANITIZED();
    folder_make();
    const int status = status_of(&(crash){.how = segfaults, .stopped = true}, log);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGSEGV);
    CHECK_STR(log, "");
    CHECK_EQ(access(path, F_OK), -1);
    folder_end();
}
