/*
 * stalls.h: a scheduler whose reports of stalls are kept, and tasks that stall until they are let
 * go. Each test waits for the reports that it wants, and lets the tasks go on then.
 */
#ifndef STALLS_H
#define STALLS_H

#include "support/support.h"

#include "core/watch/stalls.h"
#include "core/state/worker.h"

enum { STALL_MS = 20, HELD = 8 };

static atomic_int reports;
static atomic_bool keeping; /* the text is being written */
static char texts[HELD][16384];

CHECK_UNUSED static void keep(void *ctx, const char *report) {
    (void)ctx;
    SPIN_UNTIL(!atomic_exchange(&keeping, true)); /* of two schedulers */
    const int n = atomic_load(&reports);
    CHECK(n < HELD);
    snprintf(texts[n], sizeof(texts[n]), "%s", report);
    atomic_store(&reports, n + 1);
    atomic_store(&keeping, false);
}

#define CHECK_REPORTED(n) SPIN_UNTIL(atomic_load(&reports) >= (n))

CHECK_UNUSED static bool is_told(int n, const char *text) {
    return strstr(texts[n], text) != NULL;
}

CHECK_UNUSED static void check_told(int n, const char *text) {
    if (!is_told(n, text)) {
        check_failed(__FILE__, __LINE__, "\"%s\" is not in: %s", text, texts[n]);
    }
}

CHECK_UNUSED static void check_not_told(int n, const char *text) {
    if (is_told(n, text)) {
        check_failed(__FILE__, __LINE__, "\"%s\" is in: %s", text, texts[n]);
    }
}

CHECK_UNUSED static void watched_init(rig *r, unsigned workers) {
    rig_init(r);
    r->config.workers = workers;
    r->config.stall_ms = STALL_MS;
    r->config.stall = keep;
}

CHECK_UNUSED static void watched_begin(rig *r, unsigned workers) {
    watched_init(r, workers);
    rig_start(r);
}

/*
 * Whether the system reports which threads run, as the caller does: only running threads are
 * queried.
 */
CHECK_UNUSED static bool has_states(void) {
    return th_os_thread_runs(th_os_thread_number());
}

/* Whether report n is of a thread that was seen to compute: it may have been stopped just then. */
CHECK_UNUSED static bool was_computing(int n) {
    return !has_states() || is_told(n, "computing");
}

/* ---- tasks that stall ---- */

typedef struct stall {
    atomic_bool in;
    atomic_bool open;
    int ends[2];
    pthread_t thread;
} stall;

static stall stalls[HELD];

/* It keeps the processor, and calls nothing: so its thread is in no system call. */
CHECK_UNUSED static __attribute__((noinline)) int crunch_inner(stall *s) {
    int turns = 0;
    while (!atomic_load(&s->open)) {
        turns |= 1;
    }
    return turns;
}

CHECK_UNUSED static __attribute__((noinline)) int crunch(void *arg) {
    stall *s = arg;
    s->thread = thread_now();
    atomic_store(&s->in, true);
    return crunch_inner(s) < 0; /* no jump: it is a call */
}

CHECK_UNUSED static __attribute__((noinline)) int block(void *arg) {
    stall *s = arg;
    char c = 'x';
    s->thread = thread_now();
    atomic_store(&s->in, true);
    const ssize_t n = read(s->ends[0], &c, 1); /* once: it must not be interrupted */
    CHECK_EQ(n, 1);
    return 0;
}

CHECK_UNUSED static void stall_go(rig *r, stall *s, const char *name, thrum_fn fn) {
    thrum_attr attr = rig_attr(r);
    attr.name = name;
    atomic_store(&s->in, false);
    atomic_store(&s->open, false);
    CHECK_EQ(pipe(s->ends), 0);
    CHECK_EQ(thrum_go_with(&attr, fn, s), 0);
}

CHECK_UNUSED static void stall_begin(rig *r, stall *s, const char *name, thrum_fn fn) {
    stall_go(r, s, name, fn);
    SPIN_UNTIL(atomic_load(&s->in));
}

CHECK_UNUSED static void stall_end(stall *s) {
    CHECK_EQ(write(s->ends[1], "y", 1), 1);
    atomic_store(&s->open, true);
}

CHECK_UNUSED static void check_all_busy(rig *r) {
    const int all = (int)thrum_sched_workers(r->sched);
    char name[32];
    atomic_store(&reports, 0);
    for (int i = 0; i < all; i++) {
        snprintf(name, sizeof(name), "busy%d", i);
        stall_begin(r, &stalls[i], name, i % 2 != 0 ? block : crunch);
    }
    CHECK_REPORTED(all);
    for (int i = 0; i < all; i++) {
        stall_end(&stalls[i]);
    }
    rig_wait_done(r);
    CHECK_EQ(atomic_load(&reports), all); /* each of them once */
    for (int i = 0; i < all; i++) {
        int told = 0;
        snprintf(name, sizeof(name), "\"busy%d\"", i);
        for (int n = 0; n < all; n++) {
            told += is_told(n, name);
        }
        CHECK_EQ(told, 1);
    }
}

CHECK_UNUSED static int nothing(void *arg) {
    (void)arg;
    return 0;
}

#endif
