/*
 * recorded.h: schedulers with a flight recorder, the file that it writes, and crashes, each in a
 * process of its own. If no process forks the test begins anew there: so it comes to one crash.
 */
#ifndef RECORDED_H
#define RECORDED_H

#include "support/crashes.h"
#include "support/report/stalls.h"
#include "support/report/traces.h"

static char folder[128];
static char path[160];

static void folder_make(void) {
    const char *given = getenv("RECORDED_FOLDER"); /* by the process that has started this one */
    const char *base = getenv("TEMP");
    if (given) {
        snprintf(folder, sizeof(folder), "%s", given);
    } else {
        snprintf(folder, sizeof(folder), "%s/thrum-recorder-XXXXXX", base ? base : "/tmp");
        CHECK(mkdtemp(folder) != NULL);
        CHECK_EQ(setenv("RECORDED_FOLDER", folder, 1), 0);
    }
    snprintf(path, sizeof(path), "%s/t.json", folder);
}

/* Removes the folder, which must be empty except for the file. */
static void folder_end(void) {
    unlink(path);
    CHECK_EQ(rmdir(folder), 0);
    CHECK_EQ(unsetenv("RECORDED_FOLDER"), 0);
}

/* Reads a file as a string. */
static char *content(const char *name, size_t *length) {
    FILE *in = fopen(name, "rb");
    CHECK(in != NULL);
    CHECK_EQ(fseek(in, 0, SEEK_END), 0);
    return printed_end(in, length);
}

static trace_page trace_of_file(const char *name) {
    trace_page p;
    memset(&p, 0, sizeof(p));
    p.text = content(name, &p.length);
    trace_check(&p);
    return p;
}

CHECK_UNUSED static void recorded_init(rig *r, const char *name) {
    rig_init(r);
    r->config.name = name;
    r->config.trace = true;
    r->config.trace_file = path;
}

CHECK_UNUSED static int run_some(void *arg) {
    thrum_handle *h;
    (void)arg;
    CHECK_EQ(thrum_set_name("some \"odd\" name"), 0);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(thrum_spawn(&h, nothing, NULL), 0);
        CHECK(thrum_join(h, NULL) == 0);
    }
    return 0;
}

CHECK_UNUSED static void run(rig *r, thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *h;
    attr.sched = r->sched;
    CHECK_EQ(thrum_spawn_with(&h, &attr, fn, arg), 0);
    CHECK_EQ(thrum_join(h, NULL), 0);
}

/* ---- crashes, each in a process of its own ---- */

typedef struct crash {
    void (*how)(void);
    int handler;      /* a signal for which the program has a handler; 0: none */
    bool two;         /* a second scheduler is recorded as well */
    bool on_a_thread; /* it crashes where no task runs */
    bool stopped;     /* the scheduler has been stopped */
} crash;

CHECK_UNUSED static void segfaults(void) {
    static volatile uintptr_t nowhere = 16;
    *(volatile int *)nowhere = 1;
}

CHECK_UNUSED static void aborts(void) {
    abort();
}

CHECK_UNUSED static void divides(void) {
    raise(SIGFPE);
}

static int crashes(void *arg) {
    const crash *c = arg;
    CHECK_EQ(thrum_set_name("the culprit"), 0);
    c->how();
    return 0;
}

static void exits(int number) {
    (void)number;
    _exit(77);
}

/* In the child. */
static void crash_in_child(void *arg) {
    const crash *c = arg;
    static rig r[2];
    crash_quietly();
    if (c->handler) {
        crash_catch(c->handler, exits);
    }
    for (int i = 0; i <= (c->two ? 1 : 0); i++) {
        recorded_init(&r[i], i ? "second" : "first");
        rig_start(&r[i]);
        run(&r[i], run_some, NULL);
    }
    if (c->stopped) {
        rig_stop(&r[0]);
    }
    if (c->on_a_thread || c->stopped) {
        c->how();
    } else {
        run(&r[0], crashes, arg);
    }
    _exit(1);
}

/* Returns how the child ended, for WIFSIGNALED and the like; `log` is its output. */
CHECK_UNUSED static int status_of(crash *c, char log[4096]) {
    return check_child(crash_in_child, c, log, 4096);
}

/* How a function's place in the program begins in a crash, when no names are read. */
#if HAS_CODE
#define PLACE "unit_recorder"
#else
#define PLACE "0x"
#endif

CHECK_UNUSED static void check_crash(crash *c, int signal, const char *line) {
    char log[4096];
    folder_make();
    const int status = status_of(c, log);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != signal || !strstr(log, line) ||
        !strstr(log, "thrum: the latest of scheduler \"first\" is in ")) {
        check_failed(__FILE__, __LINE__, "status 0x%x, and: %s", (unsigned)status, log);
    }
    trace_page p = trace_of_file(path);
    CHECK(trace_count(&p, "\"function\":\"" PLACE) >= 100);
    CHECK(c->on_a_thread || trace_count(&p, "\"name\":\"the culprit\"") >= 1);
    trace_end(&p);
    folder_end();
}

/* The sanitizers have handlers of their own for faults, as a program may. */
#define SKIP_IF_SANITIZED()                                                                        \
    if (UNDER_ASAN || UNDER_TSAN) {                                                                \
        CHECK_SKIP("the sanitizer handles faults itself");                                         \
    }

#endif
