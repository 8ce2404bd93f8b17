/*
 * fork.c: fork and exec beside running workers.
 */
/* POSIX: fork */
#include "support/everything.h"

#include "platform/platform.h"

#include <spawn.h>

extern char **environ;

static int run_shell(void *arg) {
    (void)arg;
    int status = 0;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
        _exit(9);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int run_shell_blocking(void *arg) {
    int result = -1;
    CHECK_EQ(thrum_blocking(run_shell, arg, &result), 0);
    return result;
}

static atomic_bool over;

static int keep_busy(void *arg) {
    (void)arg;
    while (!atomic_load(&over)) {
        thrum_yield();
    }
    return 0;
}

TEST(fork_and_exec_beside_workers) {
    /* They come from a plain thread, a fiber and the blocking pool, while workers run. */
    rig r;
    rig_begin(&r, 3);
    rig_go(&r, keep_busy, NULL);
    rig_go(&r, keep_busy, NULL);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(run_shell(NULL), 0);
        CHECK_EQ(rig_run(&r, run_shell, NULL), 0);
        CHECK_EQ(rig_run(&r, run_shell_blocking, NULL), 0);
    }
    atomic_store(&over, true);
    rig_stop(&r);
}

static int spawn_shell(void *arg) {
    static char shell[] = "/bin/sh", option[] = "-c", script[] = "exit 0";
    char *args[] = {shell, option, script, NULL};
    pid_t child = 0;
    int status = 0;
    (void)arg;
    CHECK_EQ(posix_spawn(&child, shell, NULL, NULL, args, environ), 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(posix_spawn_on_a_fiber) {
    /* It needs no more stack than a fiber has. */
    rig r;
    rig_begin(&r, 2);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(rig_run(&r, spawn_shell, NULL), 0);
    }
    rig_stop(&r);
}

/* ---- the lock around the fault handlers ---- */

static bool knows_nothing(uintptr_t address) {
    (void)address;
    return false;
}

static void *installs_on_and_on(void *arg) {
    (void)arg;
    while (!atomic_load(&over)) {
        CHECK_EQ(th_os_fault_catch(knows_nothing), 0);
    }
    return NULL;
}

TEST(handlers_are_installed_in_the_child) {
    /*
     * The process forks while other threads hold the handlers' lock most of the time: it is free in
     * the child.
     */
    rig r;
    crew c;
    rig_begin(&r, 1); /* forks are watched from its start on */
    crew_start(&c, 2, installs_on_and_on, NULL);
    for (int i = 0; i < 200; i++) {
        int status = 0;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            check_end_in_time();
            _exit(th_os_fault_catch(knows_nothing) == 0 ? 0 : 1);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    atomic_store(&over, true);
    crew_join(&c);
    rig_stop(&r);
}

/* ---- the lock of the loader ---- */

static void *reads_on_and_on(void *arg) {
    const uintptr_t address = (uintptr_t)reads_on_and_on;
    char name[64];
    th_os_span span;
    th_os_place place;
    th_os_symbols symbols;
    (void)arg;
    while (!atomic_load(&over)) {
        symbols.left = UINT64_MAX;
        th_os_code_name(address, name, sizeof name, &symbols);
        (void)th_os_code_spans(&span, 1);
        (void)th_os_code_call(address, &place, &symbols);
    }
    return NULL;
}

TEST(code_is_looked_up_in_the_child) {
    /*
     * The process forks while other threads are in the loader by our calls: its lock is free in the
     * child.
     */
    NOT_BY_POSIX("names of functions");
    rig r;
    crew c;
    rig_begin(&r, 1); /* forks are watched from its start on */
    crew_start(&c, 2, reads_on_and_on, NULL);
    for (int i = 0; i < 200; i++) {
        int status = 0;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            const uintptr_t address = (uintptr_t)reads_on_and_on;
            char name[64] = "";
            th_os_span span;
            th_os_place place;
            th_os_symbols symbols;
            symbols.left = UINT64_MAX;
            check_end_in_time();
            th_os_code_name(address, name, sizeof name, &symbols);
            (void)th_os_code_spans(&span, 1);
            (void)th_os_code_call(address, &place, &symbols);
            _exit(strcmp(name, "reads_on_and_on") == 0 ? 0 : 1);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    atomic_store(&over, true);
    crew_join(&c);
    rig_stop(&r);
}

typedef struct dumped {
    thrum_sched *sched;
    FILE *out;
} dumped;

static void *dumps_on_and_on(void *arg) {
    const dumped *d = ((crew_seat *)arg)->arg;
    while (!atomic_load(&over)) {
        CHECK_EQ(thrum_dump(d->sched, d->out, THRUM_TEXT), 0);
        CHECK_EQ(thrum_dump(d->sched, d->out, THRUM_JSON), 0);
    }
    return NULL;
}

static int dumps_its_own(void *arg) {
    CHECK_EQ(thrum_dump(thrum_sched_current(), arg, THRUM_TEXT), 0);
    return thrum_dump(thrum_sched_current(), arg, THRUM_JSON);
}

static int waits_for_all_the_time(void *arg) {
    return thrum_sem_wait(arg);
}

TEST(child_dumps_its_own_beside_a_dump_in_the_parent) {
    /* A fiber waits, so calls are told too. */
    if (UNDER_TSAN) {
        CHECK_SKIP("the sanitizer takes no threads after a fork of threads");
    }
    if (UNDER_ASAN) {
        CHECK_SKIP("the sanitizer's allocator may be locked in the child, by a thread not there");
    }
    rig r;
    crew c;
    thrum_sem sem;
    FILE *const own = fopen("/dev/null", "w"); /* the inherited one may be locked */
    dumped d = {.out = fopen("/dev/null", "w")};
    CHECK(own && d.out);
    thrum_sem_init(&sem, 0);
    rig_begin(&r, 1);
    d.sched = r.sched;
    rig_go(&r, waits_for_all_the_time, &sem);
    crew_start(&c, 1, dumps_on_and_on, &d);
    for (int i = 0; i < 50; i++) {
        int status = 0;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            check_end_in_time();
            _exit(thrum_run(NULL, dumps_its_own, own) == 0 ? 0 : 1);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    atomic_store(&over, true);
    crew_join(&c);
    thrum_sem_post(&sem);
    rig_stop(&r);
    CHECK_EQ(fclose(own), 0);
    CHECK_EQ(fclose(d.out), 0);
}

/* ---- a scheduler of the child's own ---- */

static void *runs_everything(void *arg) {
    while (!atomic_load(&over)) {
        CHECK_EQ(everything_in(arg), 0);
    }
    return NULL;
}

static void task_never_runs(thrum_task *self, void *arg) {
    (void)self, (void)arg;
}

static void child_runs(const rig *parents) {
    rig r;
    thrum_task task;
    thrum_attr attr = rig_attr(parents);
    thrum_handle *handle;
    check_end_in_time();
    thrum_task_init(&task, task_never_runs, NULL);
    CHECK_EQ(thrum_task_post(parents->sched, &task), -ESHUTDOWN);
    CHECK_EQ(thrum_go_with(&attr, run_shell, NULL), -ESHUTDOWN);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, run_shell, NULL), -ESHUTDOWN);
    CHECK_EQ(thrum_sched_bind(parents->sched), -ESHUTDOWN);
    CHECK_EQ(thrum_sched_wait_idle(parents->sched, THRUM_FOREVER), -ESHUTDOWN);
    CHECK_EQ(thrum_sched_wait_done(parents->sched, THRUM_FOREVER), -ESHUTDOWN);
    CHECK_EQ(thrum_sched_stop(parents->sched), -ESHUTDOWN);
    rig_begin(&r, 2);
    CHECK_EQ(everything_in(&r), 0);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
    rig_check_freed(&r);
    _exit(0);
}

TEST(child_starts_its_own_beside_workers_of_the_parent) {
    /*
     * The process forks while everything runs; the child's work ends, the parent's schedulers
     * refuse it.
     */
    if (UNDER_TSAN) {
        CHECK_SKIP("the sanitizer takes no threads after a fork of threads");
    }
    if (UNDER_ASAN) {
        CHECK_SKIP("the sanitizer's allocator may be locked in the child, by a thread not there");
    }
    rig r;
    pthread_t thread;
    rig_begin(&r, 3);
    CHECK_EQ(everything_in(&r), 0);
    CHECK_EQ(pthread_create(&thread, NULL, runs_everything, &r), 0);
    for (int i = 0; i < 40; i++) {
        int status = 0;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            child_runs(&r);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    atomic_store(&over, true);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rig_stop(&r);
    printf("faults: fork 40 0\n");
}
