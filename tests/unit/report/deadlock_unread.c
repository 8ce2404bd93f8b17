/*
 * deadlock_unread.c: a report of a deadlock that nobody reads holds nothing up.
 */
/* matrix: policy workers */
/* wrap: th_os_stderr_waits */
#include "platform/platform.h"
#include "support/report/reports.h"
#include "support/times.h"
#include "support/io/unread.h"

static atomic_int refused; /* how often stderr took nothing */

bool __real_th_os_stderr_waits(int ms);
bool __wrap_th_os_stderr_waits(int ms);

bool __wrap_th_os_stderr_waits(int ms) {
    const bool takes = __real_th_os_stderr_waits(ms);
    atomic_fetch_add(&refused, !takes);
    return takes;
}

TEST(a_report_that_nobody_reads_does_not_keep_a_stop_past_its_deadline) {
    /* Stderr is full. A bound thread goes to sleep meanwhile, and is woken. */
    rig r;
    unread u;
    th_watch_interval = 5000000;
    rig_init(&r);
    r.config.on_deadlock = THRUM_DEADLOCK_REPORT;
    rig_start(&r);
    things_init();
    unread_begin(&u);
    thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
    SPIN_UNTIL(atomic_load(&refused) > 0); /* the watcher waits for a reader */
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    thrum_sem_post(&it.sem);
    join(deadlocked, 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_wait_done(&r); /* so that the stop waits for nothing but the watcher */
    watchdog_remove(&r);
    CHECK_EQ(thrum_sched_stop_until(r.sched, soon()), 0);
    unread_end(&u);
    things_end();
    rig_check_freed(&r);
}
