/*
 * deadlock_unread.c: a report of a deadlock that nobody reads holds nothing up.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 */
#include "support/reports.h"
#include "support/unread.h"

#define INTERVAL_MS 5

TEST(a_report_that_nobody_reads_does_not_keep_a_stop_past_its_deadline) {
    /* Stderr is full. A bound thread goes to sleep meanwhile, and is woken. */
    rig r;
    unread u;
    th_watch_interval = INTERVAL_MS * 1000000ll;
    rig_init(&r);
    r.config.on_deadlock = THRUM_DEADLOCK_REPORT;
    rig_start(&r);
    things_init();
    unread_begin(&u);
    thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
    usleep(20 * INTERVAL_MS * 1000); /* the watcher waits for a reader long before */
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    thrum_sem_post(&it.sem);
    join(deadlocked, 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    watchdog_remove(&r);
    CHECK_EQ(thrum_sched_stop_until(r.sched, thrum_after_ms(50)), 0);
    unread_end(&u);
    things_end();
    rig_check_freed(&r);
}
