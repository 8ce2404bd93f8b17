/*
 * quiesce_sum.c: see quiesce_sum.h.
 */
#include "core/ready/quiesce_sum.h"

#include "core/ready/external.h"
#include "core/ready/wake.h"
#include "platform/platform.h"

static th_external *next_record(const thrum_sched *sched, const th_external *r) {
    return r == &sched->externals.retired ? sched->externals.first : r->next_of_sched;
}

/* The scheduler's workers, then the bound ones, which need bound_lock. */
static const th_worker *first_worker(const thrum_sched *sched) {
    return sched->workers_count ? sched->workers : sched->bound;
}

static const th_worker *next_worker(const thrum_sched *sched, const th_worker *w) {
    return w->bound ? w->bound_next : w->index + 1 < sched->workers_count ? w + 1 : sched->bound;
}

static void sum_ends(th_activity *sum, const th_activity *activity) {
    sum->xfinished +=
        th_load_acquire(&activity->xfinished); /* pairs: th_activity_ended; earlier begins */
    sum->xsuspended +=
        th_load_acquire(&activity->xsuspended);            /* pairs: th_activity_ended; as above */
    sum->xdormant += th_load_acquire(&activity->xdormant); /* pairs: th_activity_ended; as above */
}

static void sum_begins(th_activity *sum, const th_activity *activity) {
    sum->xcreated += th_load_relaxed(&activity->xcreated); /* relaxed: not older than the ends */
    sum->xreadied += th_load_relaxed(&activity->xreadied); /* relaxed: as above */
    sum->xroused += th_load_relaxed(&activity->xroused);   /* relaxed: as above */
}

/* The ends of all records are read before the begins of any. */
void th_quiesce_sum(thrum_sched *sched, th_activity *sum) {
    *sum = (th_activity){0};
    TH_LOCKED(&th_external_lock); /* no record is retired between its thread and the sum */
    th_lock_acquire(&sched->bound_lock);
    for (th_external *r = &sched->externals.retired; r; r = next_record(sched, r)) {
        sum_ends(sum, &r->activity);
    }
    for (const th_worker *w = first_worker(sched); w; w = next_worker(sched, w)) {
        sum_ends(sum, &w->activity);
    }
    for (const th_worker *w = first_worker(sched); w; w = next_worker(sched, w)) {
        sum_begins(sum, &w->activity);
        sum->xreadied += th_load_relaxed(&w->own_timers.xreadied); /* relaxed: as the others */
    }
    for (th_external *r = &sched->externals.retired; r; r = next_record(sched, r)) {
        sum_begins(sum, &r->activity);
    }
    th_lock_release(&sched->bound_lock);
}

/* If the sums are equal, there was an instant at which all that had begun had ended. */
bool th_quiesce_now(thrum_sched *sched, th_quiesce_what what) {
    th_activity sum;
    th_quiesce_sum(sched, &sum);
    uint64_t ends = sum.xfinished;
    uint64_t began = sum.xcreated;
    if (what == TH_QUIESCE_NOW) {
        ends += sum.xsuspended;
        began += sum.xreadied;
    } else if (what == TH_QUIESCE_QUIET) {
        ends += sum.xdormant;
        began += sum.xroused;
    }
    if (began == ends) {
        th_tsan_acquire(sched);
    }
    return began == ends;
}

bool th_quiesce_any_body(thrum_sched *sched, uint64_t *bodies) {
    const th_externals *others = &sched->externals;
    th_lock_acquire(&th_external_lock); /* no bound thread's counts are being retired */
    th_lock_acquire(&sched->bound_lock);
    uint64_t ended = th_load_relaxed(&others->retired.activity.xfinished); /* relaxed: the locks */
    uint64_t begun = th_load_relaxed(&others->counters.xtasks_started);    /* relaxed: as above */
    for (const th_worker *w = first_worker(sched); w; w = next_worker(sched, w)) {
        ended +=
            th_load_acquire(&w->activity.xfinished); /* pairs: th_activity_ended; earlier begins */
    }
    for (const th_worker *w = first_worker(sched); w; w = next_worker(sched, w)) {
        /* relaxed: not older than the ends */
        begun += th_load_relaxed(&w->counters.xtasks_started);
        /* relaxed: as above; an offer that was taken back has ended without a body */
        begun += th_load_relaxed(&w->forks.xtaken_back);
    }
    th_lock_release(&sched->bound_lock);
    th_lock_release(&th_external_lock);
    *bodies = begun;
    return begun != ended;
}

bool th_quiesce_lets_go(thrum_sched *sched) {
    bool goes = false;
    TH_LOCKED(&sched->quiesce_lock);
    for (th_quiesce_waiter *w = sched->quiesce_waiters; w && !goes; w = w->next) {
        goes = w->bound && th_quiesce_now(sched, w->what);
    }
    return goes;
}

void th_quiesce_notify(thrum_sched *sched) {
    th_lock_acquire(
        &sched->quiesce_lock); /* waiters on the list now began to wait before the sums */
    for (th_quiesce_waiter *w = sched->quiesce_waiters; w; w = w->next) {
        if (th_quiesce_now(sched, w->what)) {
            /* relaxed: delist takes the lock, which orders everything that had ended by then */
            th_store_relaxed(w->xflag, 1u);
            /* under the lock: the waiter is still there */
            if (w->bound) {
                (void)th_wake_worker(w->bound);
            } else {
                th_os_futex_wake(w->xflag, 1);
            }
        }
    }
    th_lock_release(&sched->quiesce_lock);
}
