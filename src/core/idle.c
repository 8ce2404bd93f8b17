/*
 * idle.c: wait_idle and wait_done. core/IDLE.md has the argument.
 */
#include "core/idle.h"

#include "core/bound.h"
#include "core/outside.h"
#include "core/park.h"
#include "core/wait.h"
#include "platform/platform.h"

/* One caller, on its own stack; in the scheduler's list, under idle_lock. */
typedef struct th_idle_waiter {
    struct th_idle_waiter *next;
    th_idle_what what;
    uint32_t *xflag;  /* 1: there was such an instant; the futex */
    th_worker *bound; /* whose root waits, else NULL */
} th_idle_waiter;

static th_outside *next_record(const thrum_sched *sched, const th_outside *r) {
    return r == &sched->outsiders.retired ? sched->outsiders.first : r->next_of_sched;
}

/* Its workers, then the bound ones; those with their lock. */
static const th_worker *first_worker(const thrum_sched *sched) {
    return sched->workers_count ? sched->workers : sched->bound;
}

static const th_worker *next_worker(const thrum_sched *sched, const th_worker *w) {
    return w->bound ? w->bound_next : w->index + 1 < sched->workers_count ? w + 1 : sched->bound;
}

static void sum_ends(th_flow *sum, const th_flow *flow) {
    sum->xfinished +=
        th_load_acquire(&flow->xfinished); /* pairs: th_flow_ended; what began before */
    sum->xsuspended += th_load_acquire(&flow->xsuspended); /* pairs: th_flow_ended; as above */
    sum->xdormant += th_load_acquire(&flow->xdormant);     /* pairs: th_flow_ended; as above */
}

static void sum_begins(th_flow *sum, const th_flow *flow) {
    sum->xcreated += th_load_relaxed(&flow->xcreated); /* relaxed: not older than the ends */
    sum->xreadied += th_load_relaxed(&flow->xreadied); /* relaxed: as above */
    sum->xroused += th_load_relaxed(&flow->xroused);   /* relaxed: as above */
}

/* First everything that ended, then everything that began. */
void th_idle_sum(thrum_sched *sched, th_flow *sum) {
    *sum = (th_flow){0};
    th_lock_acquire(&th_outside_lock); /* no record is retired between its thread and the sum */
    th_lock_acquire(&sched->bound_lock);
    for (th_outside *r = &sched->outsiders.retired; r; r = next_record(sched, r)) {
        sum_ends(sum, &r->flow);
    }
    for (const th_worker *w = first_worker(sched); w; w = next_worker(sched, w)) {
        sum_ends(sum, &w->flow);
    }
    for (const th_worker *w = first_worker(sched); w; w = next_worker(sched, w)) {
        sum_begins(sum, &w->flow);
        sum->xreadied += th_load_relaxed(&w->own_timers.xreadied); /* relaxed: as the others */
    }
    for (th_outside *r = &sched->outsiders.retired; r; r = next_record(sched, r)) {
        sum_begins(sum, &r->flow);
    }
    th_lock_release(&sched->bound_lock);
    th_lock_release(&th_outside_lock);
}

/* If the sums are equal, there was an instant at which all that had begun had ended. */
bool th_idle_now(thrum_sched *sched, th_idle_what what) {
    th_flow sum;
    th_idle_sum(sched, &sum);
    uint64_t ends = sum.xfinished;
    uint64_t began = sum.xcreated;
    if (what == TH_IDLE_NOW) {
        ends += sum.xsuspended;
        began += sum.xreadied;
    } else if (what == TH_IDLE_QUIET) {
        ends += sum.xdormant;
        began += sum.xroused;
    }
    if (began == ends) {
        th_tsan_acquire(sched);
    }
    return began == ends;
}

bool th_idle_any_body(thrum_sched *sched) {
    const th_outsiders *others = &sched->outsiders;
    th_lock_acquire(&th_outside_lock); /* no bound thread's counts are being retired */
    th_lock_acquire(&sched->bound_lock);
    uint64_t ended = th_load_relaxed(&others->retired.flow.xfinished);  /* relaxed: the locks */
    uint64_t begun = th_load_relaxed(&others->counters.xtasks_started); /* relaxed: as above */
    for (const th_worker *w = first_worker(sched); w; w = next_worker(sched, w)) {
        ended += th_load_acquire(&w->flow.xfinished); /* pairs: th_flow_ended; what began before */
    }
    for (const th_worker *w = first_worker(sched); w; w = next_worker(sched, w)) {
        begun +=
            th_load_relaxed(&w->counters.xtasks_started); /* relaxed: not older than the ends */
        /* relaxed: as above; the end of one that was taken back is no body's */
        begun += th_load_relaxed(&w->forks.xtaken_back);
    }
    th_lock_release(&sched->bound_lock);
    th_lock_release(&th_outside_lock);
    return begun != ended;
}

bool th_idle_lets_go(thrum_sched *sched) {
    bool goes = false;
    th_lock_acquire(&sched->idle_lock);
    for (th_idle_waiter *w = sched->idle_waiters; w && !goes; w = w->next) {
        goes = w->bound && th_idle_now(sched, w->what);
    }
    th_lock_release(&sched->idle_lock);
    return goes;
}

void th_idle_notify(thrum_sched *sched) {
    th_lock_acquire(&sched->idle_lock); /* whoever is on the list now began to wait before we sum */
    for (th_idle_waiter *w = sched->idle_waiters; w; w = w->next) {
        if (th_idle_now(sched, w->what)) {
            /* relaxed: delist takes the lock, which orders all that had ended by then */
            th_store_relaxed(w->xflag, 1u);
            /* under the lock: the waiter is still there */
            if (w->bound) {
                (void)th_wake_worker(w->bound);
            } else {
                th_os_futex_wake(w->xflag, 1);
            }
        }
    }
    th_lock_release(&sched->idle_lock);
}

static void enlist(thrum_sched *sched, th_idle_waiter *waiter) {
    th_add_relaxed(&sched->xidle_waiters, 1u); /* relaxed: ordered by the fence */
    th_lock_acquire(&sched->idle_lock);
    waiter->next = sched->idle_waiters;
    sched->idle_waiters = waiter;
    th_lock_release(&sched->idle_lock);
    /* seq: announced before the sums are read; a worker parks, then looks for waiters (th_park) */
    th_fence_seq();
}

static void delist(thrum_sched *sched, th_idle_waiter *waiter) {
    th_lock_acquire(&sched->idle_lock);
    th_idle_waiter **link = &sched->idle_waiters;
    while (*link != waiter) {
        link = &(*link)->next;
    }
    *link = waiter->next;
    th_lock_release(&sched->idle_lock);
    /* pairs: th_idle_wait_left; our last access to the scheduler */
    th_sub_release(&sched->xidle_waiters, 1u);
}

void th_idle_wait_left(thrum_sched *sched) {
    unsigned spins = 0;
    /* pairs: delist; whoever waited has gone */
    while (th_load_acquire(&sched->xidle_waiters)) {
        th_backoff(&spins); /* nothing runs any more, so they are on their way */
    }
}

static int wait_in_thread(thrum_sched *sched, thrum_time deadline, th_idle_what what) {
    uint32_t xflag = 0;
    th_idle_waiter waiter = {.what = what, .xflag = &xflag};
    int result = 0;
    enlist(sched, &waiter);
    /* relaxed: as in th_idle_notify */
    while (!th_load_relaxed(&xflag) && !th_idle_now(sched, what) && !result) {
        if (th_os_futex_wait(&xflag, 0, deadline) == -ETIMEDOUT) {
            result = -ETIMEDOUT;
        }
    }
    if (result && th_idle_now(sched, what)) {
        result = 0; /* one last look */
    }
    delist(sched, &waiter);
    return result;
}

/* A bound thread of the scheduler's own: what is tied to it runs meanwhile. */
static int wait_in_root(th_worker *worker, thrum_time deadline, th_idle_what what) {
    thrum_sched *sched = worker->sched;
    th_idle_waiter waiter = {.what = what, .bound = worker, .xflag = &worker->xidle};
    th_store_relaxed(&worker->xidle, 0u); /* relaxed: nobody else knows of it yet */
    enlist(sched, &waiter);
    int result = 0;
    if (!th_idle_now(sched, what)) {
        result = th_bound_await(worker, &worker->xidle, deadline);
        result = result && th_idle_now(sched, what) ? 0 : result; /* one last look */
    }
    delist(sched, &waiter);
    return result;
}

/* A fiber of another scheduler has a thread wait in its place: rare enough for one of its own. */
typedef struct idle_call {
    thrum_sched *sched;
    thrum_time deadline;
    th_idle_what what;
    int result;
    th_waiter waiter;
} idle_call;

static void wait_for_fiber(void *arg) {
    idle_call *call = arg;
    call->result = wait_in_thread(call->sched, call->deadline, call->what);
    th_waiter_wake(&call->waiter);
}

static int wait_in_fiber(thrum_sched *sched, thrum_time deadline, th_idle_what what) {
    idle_call call = {.sched = sched, .deadline = deadline, .what = what};
    th_waiter_init(&call.waiter, TH_ON_SCHED, sched);
    th_os_thread thread;
    int failed = th_os_thread_start(&thread, "thrum-wait", wait_for_fiber, &call);
    if (failed) {
        return failed;
    }
    th_waiter_wait(&call.waiter);
    th_os_thread_join(thread); /* it has nothing more to do */
    return call.result;
}

int th_idle_wait(thrum_sched *sched, thrum_time deadline, th_idle_what what) {
    if (!sched) {
        return -EINVAL;
    }
    if (th_unlikely(sched->abandoned)) {
        return -ESHUTDOWN;
    }
    if (what != TH_IDLE_NOW && th_acts_for(sched)) {
        return -EDEADLK; /* the task that waits for the call is not done */
    }
    th_worker *root = th_bound_root();
    if (thrum_sched_current() == sched) {
        return root ? wait_in_root(root, deadline, what) : -EDEADLK;
    }
    return th_fiber_self() ? wait_in_fiber(sched, deadline, what)
                           : wait_in_thread(sched, deadline, what);
}

static int wait_if_live(thrum_sched *sched, thrum_time deadline, th_idle_what what) {
    if (sched && !th_outside_is_live(sched)) {
        return -ESHUTDOWN;
    }
    return th_idle_wait(sched, deadline, what);
}

int thrum_sched_wait_idle(thrum_sched *sched, thrum_time deadline) {
    return wait_if_live(sched, deadline, TH_IDLE_NOW);
}

int thrum_sched_wait_done(thrum_sched *sched, thrum_time deadline) {
    return wait_if_live(sched, deadline, TH_IDLE_DONE);
}
