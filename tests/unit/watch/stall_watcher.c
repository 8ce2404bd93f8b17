/*
 * stall_watcher.c: the thread that looks for stalls: when it rests, when it cannot, and its end.
 */
#include "support/report/stalls.h"
#include "support/times.h"
#include "support/io/unread.h"

#include "platform/faults.h"

static void wait_for_rest(const rig *r) {
    SPIN_UNTIL(th_load_relaxed(&r->sched->stalls.xstate) == TH_STALLS_RESTS);
}

TEST(the_watcher_rests_and_is_roused) {
    /* It rests while all workers sleep; work rouses it each time. */
    rig r;
    watched_begin(&r, 2);
    if (!r.sched->can_order) {
        CHECK_SKIP("the system has no barrier");
    }
    for (int i = 0; i < 3; i++) {
        wait_for_rest(&r);
        stall_begin(&r, &stalls[i], NULL, i % 2 != 0 ? block : crunch);
        CHECK_REPORTED(i + 1);
        stall_end(&stalls[i]);
        rig_wait_done(&r);
    }
    wait_for_rest(&r);
    rig_stop(&r);
}

TEST(where_it_cannot_rest_it_looks) {
    /* The system refuses the barrier. */
    rig r;
    th_os_fail(TH_OS_FAULT_BARRIER, 0, UINT32_MAX);
    watched_begin(&r, 2);
    check_all_busy(&r);
    rig_stop(&r);
    th_os_fail(TH_OS_FAULT_BARRIER, 0, 0);
}

TEST(without_its_thread_nothing_is_told) {
    /* The system refuses the watcher's thread, and nothing else. */
    rig r;
    watched_init(&r, 2);
    th_os_fail(TH_OS_FAULT_THREAD, 2, 1);
    rig_start(&r);
    const th_stalls *none = &r.sched->stalls;
    CHECK(!none->watched);
    CHECK_EQ(rig_run(&r, nothing, NULL), 0);
    rig_stop(&r);
}

static rig *stopped;

static void keep_until_it_ends(void *ctx, const char *report) {
    keep(ctx, report);
    SPIN_UNTIL(th_load_relaxed(&stopped->sched->stalls.xstate) == TH_STALLS_ENDS);
}

TEST(a_stop_waits_for_a_report) {
    /* The hook returns when the stop has begun to wait for it. */
    static rig r;
    watched_init(&r, 1);
    r.config.stall = keep_until_it_ends;
    stopped = &r;
    rig_start(&r);
    stall_begin(&r, &stalls[0], NULL, crunch);
    CHECK_REPORTED(1);
    stall_end(&stalls[0]);
    watchdog_remove(&r);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
    rig_check_freed(&r);
}

static atomic_int refused;

static void stop_it(void *ctx, const char *report) {
    atomic_store(&refused, thrum_sched_stop(stopped->sched));
    keep(ctx, report);
}

TEST(a_stop_in_the_hook_is_refused) {
    /* It would wait for its own thread. */
    static rig r;
    stopped = &r;
    watched_init(&r, 1);
    r.config.stall = stop_it;
    rig_start(&r);
    stall_begin(&r, &stalls[0], NULL, block);
    CHECK_REPORTED(1);
    CHECK_EQ(atomic_load(&refused), -EDEADLK);
    stall_end(&stalls[0]);
    rig_stop(&r);
}

TEST(a_report_that_nobody_reads_does_not_keep_a_stop_past_its_deadline) {
    /* Stderr is full: what it has not taken by then is left out. */
    rig r;
    unread u;
    watched_init(&r, 1);
    r.config.stall = NULL;
    rig_start(&r);
    unread_begin(&u);
    stall_begin(&r, &stalls[0], NULL, crunch);
    SPIN_UNTIL(th_load_relaxed(&r.sched->stalls.xtold) == 1);
    stall_end(&stalls[0]);
    rig_wait_done(&r);
    watchdog_remove(&r);
    CHECK_EQ(thrum_sched_stop_until(r.sched, soon()), 0);
    unread_end(&u);
    rig_check_freed(&r);
}

TEST(schedulers_come_and_go) {
    /* Two at a time share the signal. */
    rig a, b;
    int number = 0;
    for (int i = 0; i < 2; i++) {
        atomic_store(&reports, 0);
        watched_begin(&a, 1);
        watched_begin(&b, 1);
        number = a.sched->stalls.signal;
        const int other = b.sched->stalls.signal;
        CHECK_EQ(other, number);
        stall_begin(&a, &stalls[0], NULL, crunch);
        stall_begin(&b, &stalls[1], NULL, crunch);
        CHECK_REPORTED(2);
        stall_end(&stalls[0]);
        rig_stop(&a);
        stall_end(&stalls[1]);
        stall_begin(&b, &stalls[2], NULL, crunch);
        CHECK_REPORTED(3);
        stall_end(&stalls[2]);
        rig_stop(&b);
    }
}

TEST(without_workers_there_is_no_watcher) {
    /* Bound threads are not watched. */
    rig r;
    watched_begin(&r, 0);
    const th_stalls *none = &r.sched->stalls;
    CHECK(none->memory == NULL);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    rig_go(&r, nothing, NULL);
    rig_wait_done(&r);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}
