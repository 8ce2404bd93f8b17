/*
 * stall.c: a worker that runs one task for longer than stall_ms is reported, once, with what is
 * known of it.
 */
/* wrap: th_os_now */
#include "support/report/printed.h"
#include "support/report/stalls.h"
#include "support/times.h"

#include <thrum/trace.h>

/* ---- a report that comes when the test is ready for it ---- */

static atomic_bool ready;

static void keep_until_ready(void *ctx, const char *report) {
    keep(ctx, report);
    SPIN_UNTIL(atomic_load(&ready));
}

/* Starts a scheduler whose watcher reports a first stall, and looks at no other before `ready`. */
static void begin_unready(rig *r) {
    atomic_store(&reports, 0);
    atomic_store(&ready, false);
    r->config.stall = keep_until_ready;
    rig_start(r);
    stall_begin(r, &stalls[0], NULL, crunch);
    CHECK_REPORTED(1);
    stall_end(&stalls[0]);
    rig_wait_done(r);
}

static unsigned parked(const rig *r) {
    unsigned n = 0;
    for (unsigned i = 0; i < r->sched->workers_count; i++) {
        /* relaxed: looked at again */
        n += (th_load_relaxed(&r->sched->workers[i].xsleep) & TH_SLEEP_PARKED) != 0;
    }
    return n;
}

/* Whether it was computing, and got a processor while the watcher waited for an answer. */
static bool has_answered(int n) {
    return was_computing(n) && (UNDER_TSAN || !is_told(n, "its thread did not answer"));
}

/* ---- what is told ---- */

TEST(a_task_that_computes_is_told) {
    /* By its name, its function and the calls that it is in. */
    rig r;
    do {
        watched_init(&r, 2);
        begin_unready(&r);
        stall_begin(&r, &stalls[1], "cruncher", crunch);
        SPIN_UNTIL(parked(&r) == 1);
        atomic_store(&ready, true);
        CHECK_REPORTED(2);
        stall_end(&stalls[1]);
        rig_stop(&r);
    } while (!has_answered(1));
    check_told(1, "thrum: stall in scheduler \"thrum\": fiber ");
    check_told(1, WITH_FUNCTION(" \"cruncher\" (", crunch, ") runs on worker "));
    check_told(1, has_states() ? "computing" : "the system does not give them");
    if (HAS_CALLS && !UNDER_TSAN) { /* it keeps signals back */
        check_told(1, "    in ");
        check_told(1, "(crunch_inner+0x");
        check_told(1, "(crunch+0x");
        check_not_told(1, "not known");
    }
    check_told(1, "  nothing waits behind it\n");
    check_told(1, "  0 queued in all; 1 of 2 workers is free\n");
}

TEST(a_task_without_a_name_is_told) {
    /* By its function alone; an intrusive task, too. */
    holder h;
    rig r;
    watched_begin(&r, 1);
    stall_begin(&r, &stalls[0], NULL, crunch);
    CHECK_REPORTED(1);
    stall_end(&stalls[0]);
    holder_begin(&r, &h, -1);
    CHECK_REPORTED(2);
    holder_end(&h);
    rig_stop(&r);
    check_told(0, WITH_FUNCTION(" (", crunch, ") runs on worker 0 for "));
    check_told(1, WITH_FUNCTION(" (", holder_body, ") runs on worker 0 for "));
}

TEST(a_task_that_blocks_its_thread_is_told) {
    /* Its calls are read from outside, and its read is not interrupted. */
    rig r;
    watched_begin(&r, 2);
    stall_begin(&r, &stalls[0], "reader", block);
    CHECK_REPORTED(1);
    stall_end(&stalls[0]);
    rig_stop(&r);
    check_told(0, WITH_FUNCTION(" \"reader\" (", block, ") runs on worker "));
    if (is_told(0, "in a system call")) { /* the system tells */
        check_told(0, "(block+0x");
        check_not_told(0, "not known");
    }
}

TEST(all_workers_are_busy) {
    /* None of the workers is needed to find it out: one, two and four, and without migration. */
    static const unsigned counts[] = {1, 2, 4};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        for (int pinned = 0; pinned < 2; pinned++) {
            rig r;
            watched_init(&r, counts[i]);
            r.config.pin_all = pinned != 0;
            rig_start(&r);
            check_all_busy(&r);
            check_all_busy(&r);
            rig_stop(&r);
        }
    }
}

TEST(no_worker_is_free) {
    /* The report says so. */
    rig r;
    watched_begin(&r, 1);
    stall_begin(&r, &stalls[0], NULL, crunch);
    CHECK_REPORTED(1);
    stall_end(&stalls[0]);
    rig_stop(&r);
    check_told(0, "; no worker is free\n");
}

TEST(a_spare_that_took_over_is_watched) {
    /* The second task holds up the spare that has come for it. */
    rig r;
    watched_init(&r, 1);
    r.config.workers_spare = 1;
    rig_start(&r);
    check_all_busy(&r);
    rig_stop(&r);
}

TEST(spares_are_told_apart_from_workers) {
    /* One that takes over is none of those that the config asked for. */
    rig r;
    watched_init(&r, 2);
    r.config.workers_spare = 1;
    begin_unready(&r);
    for (int i = 1; i <= 3; i++) {
        stall_begin(&r, &stalls[i], NULL, block);
    }
    stall_end(&stalls[1]);
    stall_end(&stalls[2]);
    SPIN_UNTIL(parked(&r) == 2);
    atomic_store(&ready, true);
    CHECK_REPORTED(2);
    stall_end(&stalls[3]);
    rig_stop(&r);
    check_told(1, " runs on worker 2 for ");
    check_told(1, "; 2 of 2 workers are free, 1 spare takes over\n");
}

static int blocks_before_another(void *arg) {
    const rig *r = arg;
    const thrum_attr attr = rig_attr(r);
    CHECK_EQ(thrum_go_with(&attr, block, &stalls[1]), 0);
    return block(&stalls[0]);
}

/* A spare takes over what the held-up worker has queued, and is held up by that. */
static void check_taken_over(rig *r) {
    th_stalled latest[TH_STALLED_MAX];
    const thrum_time before = past();
    atomic_store(&reports, 0);
    for (int i = 0; i < 2; i++) {
        atomic_store(&stalls[i].in, false);
        CHECK_EQ(pipe(stalls[i].ends), 0);
    }
    rig_go(r, blocks_before_another, r);
    CHECK_REPORTED(2);
    CHECK(th_stalls_latest(r->sched, latest) >= 2);
    for (int i = 0; i < 2; i++) {
        CHECK(latest[i].since >= before);
        stall_end(&stalls[i]);
    }
    rig_wait_done(r);
    CHECK_EQ(atomic_load(&reports), 2);
}

TEST(the_time_of_what_a_spare_takes_over_is_its_own) {
    /* It does not count from before the spare had it, at its first time or later. */
    static const thrum_policy policies[] = {THRUM_SHARDED, THRUM_FIFO, THRUM_GLOBAL};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        watched_init(&r, 1);
        r.config.policy = policies[i];
        r.config.workers_spare = 1;
        rig_start(&r);
        for (int n = 0; n < 3; n++) {
            check_taken_over(&r);
        }
        rig_stop(&r);
    }
}

static thrum_task pinned_task;
static thrum_task late_task;

static void task_body(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
}

static int crunch_before_others(void *arg) {
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_go(nothing, NULL), 0);
    }
    thrum_task_init(&pinned_task, task_body, NULL);
    thrum_task_set_worker(&pinned_task, 0);
    CHECK_EQ(thrum_task_post(thrum_sched_current(), &pinned_task), 0);
    thrum_task_init(&late_task, task_body, NULL);
    CHECK_EQ(thrum_task_post_until(thrum_sched_current(), &late_task, soon()), 0);
    return crunch(arg);
}

TEST(what_waits_behind_it_is_told) {
    /* What is queued at the worker or tied to it, and a deadline that has passed. */
    rig r;
    watched_init(&r, 1);
    r.config.policy = THRUM_SHARDED;
    begin_unready(&r);
    stall_begin(&r, &stalls[1], NULL, crunch_before_others);
    for (int i = 0; i < 3; i++) {
        await_passed(soon()); /* a deadline waits if it is over by a millisecond */
    }
    atomic_store(&ready, true);
    CHECK_REPORTED(2);
    stall_end(&stalls[1]);
    rig_stop(&r);
    check_told(1, "  behind it wait: 3 queued at the worker, work that is tied to the worker, "
                  "a deadline, due ");
    check_told(1, " queued in all; no worker is free\n");
}

TEST(each_stall_is_told_once) {
    /* The first one lasts while two others are told. */
    rig r;
    watched_begin(&r, 2);
    stall_begin(&r, &stalls[0], "first", crunch);
    CHECK_REPORTED(1);
    for (int i = 1; i < 3; i++) {
        stall_begin(&r, &stalls[i], "other", crunch);
        CHECK_REPORTED(i + 1);
        stall_end(&stalls[i]);
    }
    stall_end(&stalls[0]);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&reports), 3);
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(r.sched, THRUM_ALL_WORKERS, &m), 0);
    CHECK_EQ(m.stalls_reported, 3);
    rig_stop(&r);
    check_told(0, "\"first\"");
    check_told(1, "\"other\"");
    check_told(2, "\"other\"");
}

/* ---- a watcher whose time passes only while tasks yield ---- */

static _Atomic int64_t watchers_time; /* 0: as everywhere */
static atomic_int passed[2];          /* how often each of the two tasks has yielded */
static atomic_bool over;

int64_t __real_th_os_now(void);
int64_t __wrap_th_os_now(void);

int64_t __wrap_th_os_now(void) {
    const int64_t at = atomic_load(&watchers_time);
    return at && th_thread_self()->watches ? at : __real_th_os_now();
}

static int passes(void *arg) {
    while (!atomic_load(&over)) {
        thrum_yield();
        atomic_fetch_add((atomic_int *)arg, 1);
    }
    return 0;
}

TEST(a_task_that_yields_is_not_told) {
    /*
     * It runs all the time, beside two that are told, but gives its worker up: at least once in a
     * tenth of what a stall takes, by the watcher's time, however long its thread has no processor.
     */
    rig r;
    watched_init(&r, 3);
    atomic_store(&watchers_time, 1); /* behind the clock: its sleeps are over at once */
    rig_start(&r);
    rig_go(&r, passes, &passed[0]);
    rig_go(&r, passes, &passed[1]); /* so that the first one's yields let another one pass */
    stall_begin(&r, &stalls[0], NULL, crunch);
    stall_begin(&r, &stalls[1], NULL, crunch);
    while (atomic_load(&reports) < 2) {
        const int before[] = {atomic_load(&passed[0]), atomic_load(&passed[1])};
        SPIN_UNTIL(atomic_load(&passed[0]) > before[0] + 1 &&
                   atomic_load(&passed[1]) > before[1] + 1);
        atomic_fetch_add(&watchers_time, STALL_MS * INT64_C(100000));
    }
    stall_end(&stalls[0]);
    stall_end(&stalls[1]);
    atomic_store(&over, true);
    rig_stop(&r);
    check_not_told(0, "passes");
    check_not_told(1, "passes");
}

/* ---- where it is told ---- */

TEST(without_a_hook_it_goes_to_stderr) {
    /* As one piece. */
    static char text[16384];
    size_t length = 0;
    int ends[2];
    rig r;
    watched_init(&r, 1);
    r.config.stall = NULL;
    r.config.name = "quiet one";
    rig_start(&r);
    CHECK_EQ(pipe(ends), 0);
    const int kept = dup(STDERR_FILENO);
    CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
    stall_begin(&r, &stalls[0], NULL, crunch);
    while (!strstr(text, "is free\n")) {
        const ssize_t n = read(ends[0], text + length, (unsigned)(sizeof(text) - 1 - length));
        CHECK(n > 0);
        length += (size_t)n;
    }
    CHECK(dup2(kept, STDERR_FILENO) >= 0);
    stall_end(&stalls[0]);
    rig_stop(&r);
    CHECK(strncmp(text, "thrum: stall in scheduler \"quiet one\": fiber ", 45) == 0);
}

TEST(off_there_is_nothing_of_it) {
    /* No thread, no signal, no search of its own. */
    rig r;
    rig_init(&r);
    r.config.workers = 2;
    r.config.stall = keep;
    CHECK_EQ(r.config.stall_ms, 0);
    rig_start(&r);
    const th_stalls *none = &r.sched->stalls;
    CHECK(!none->memory && !none->watched);
    CHECK_EQ(none->signal, 0);
    for (int i = 0; i < 2; i++) {
        CHECK(r.sched->workers[i].find == NULL);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&reports), 0);
}

TEST(it_is_in_the_metrics_and_the_trace) {
    /* In a trace it is an instant within the task's slice. */
    rig r;
    watched_begin(&r, 1);
    CHECK_EQ(thrum_trace_start(r.sched, 0), 0);
    stall_begin(&r, &stalls[0], NULL, crunch);
    CHECK_REPORTED(1);
    stall_end(&stalls[0]);
    rig_wait_done(&r);
    CHECK_EQ(thrum_trace_stop(r.sched), 0);
    size_t length;
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(thrum_trace_write(r.sched, out), 0);
    char *text = printed_end(out, &length);
    rig_stop(&r);
    CHECK(strstr(text, "\"cat\":\"sched\",\"name\":\"stall\",\"args\":{\"ms\":") != NULL);
    free(text);
}
