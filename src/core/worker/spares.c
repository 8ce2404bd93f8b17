/*
 * spares.c: see spares.h.
 *
 * An idle spare counts as parked, but is neither in the idle stack nor the sentinel, so it is not
 * woken for queued work, unless by an old entry of its own in the stack. One of them is the
 * monitor: while no worker is free it checks from time to time whether any is held up, and then
 * takes over itself.
 */
#include "core/worker/spares.h"

#include "core/fiber/fiber_cache.h"
#include "core/fiber/trim.h"
#include "core/due/fork_slots.h"
#include "core/policy/pick.h"
#include "core/state/panic.h"
#include "core/due/timer.h"
#include "core/ready/wake.h"
#include "core/worker/find.h"
#include "core/worker/park.h"
#include "core/worker/stall.h"
#include "core/worker/worker_thread.h"
#include "core/trace/trace_notes.h"
#include "core/trace/tick_marks.h"
#include "platform/platform.h"

#define STAY_NS 50000000 /* a spare takes over for at least so long */
#define FREE_LOOKS                                                                                 \
    TH_LIMIT(20u, 2u)         /* looks in a row that find a free worker before it goes dormant */
#define RETRY_NS 1000000000ll /* after the system has refused a thread or memory */

static void spare_main(void *arg);

/* ---- the monitor; with the lock ---- */

/* An idle spare with a thread, else a spare that gets a thread now, or NULL. */
static th_worker *another(const th_worker *but, thrum_sched *sched, int64_t now) {
    th_spare_set *set = &sched->spare_set;
    th_worker *spares = &sched->workers[sched->workers_regular];
    for (unsigned i = 0; i < set->started; i++) {
        if (&spares[i] != but && !spares[i].stint.active) {
            return &spares[i];
        }
    }
    if (set->closed || sched->workers_regular + set->started == sched->workers_count ||
        (set->refused_at && now - set->refused_at < RETRY_NS)) {
        return NULL;
    }
    if (th_worker_thread_start(&spares[set->started], spare_main)) {
        set->refused_at = now;
        return NULL;
    }
    return &spares[set->started++];
}

/* Hands the monitor's role to another spare, if there is one. */
static void hand_on(const th_worker *by, thrum_sched *sched, int64_t now) {
    th_spare_set *set = &sched->spare_set;
    th_worker *next = another(by, sched, now);
    set->has_monitor = next != NULL;
    set->free_looks = 0;
    if (next) {
        th_store_relaxed(&set->xmonitor, next->index); /* relaxed: published when it goes dormant */
        th_appoint_monitor(next);
    }
}

/*
 * The monitor goes dormant when all are parked, or a worker has been free for a while; but first
 * spares that are no longer wanted retire. The bit is set in a word in which a worker is free: the
 * last free one sees it when it goes on.
 */
static void go_dormant(th_worker *worker, uint64_t word) {
    thrum_sched *sched = worker->sched;
    th_spare_set *set = &sched->spare_set;
    bool idle = th_park_parked(word) == sched->workers_count;
    bool long_free = ++set->free_looks >= FREE_LOOKS;
    unsigned wanted = idle ? 0 : set->wanted; /* the held-up run that it found may be over */
    if (set->active > wanted || (!idle && !long_free)) {
        return;
    }
    set->free_looks = 0;
    /* relaxed: its own bit; nothing relies on it before the exchange */
    th_and_relaxed(&worker->xsleep, ~TH_SLEEP_MONITOR);
    /* relaxed: written with the lock */
    while (th_park_parked(word) > th_load_relaxed(&set->xidle_spares)) {
        /* lock-free: it fails only when another change of the word succeeded */
        /* pairs: th_rouse_monitor; which spare is the monitor */
        if (th_cas_release(&sched->xpark, &word, word | TH_PARK_DORMANT)) {
            return;
        }
    }
    th_or_relaxed(&worker->xsleep, TH_SLEEP_MONITOR); /* relaxed: its own bit */
}

/* ---- taking over; with the lock ---- */

static bool make_ready(th_worker *worker, int64_t now) {
    th_spare_set *set = &worker->sched->spare_set;
    if (worker->stint.ready) {
        return true;
    }
    if (set->refused_at && now - set->refused_at < RETRY_NS) {
        return false;
    }
    worker->stint.ready = th_worker_init(worker);
    if (!worker->stint.ready) {
        th_worker_free(worker);
        set->refused_at = now;
    }
    return worker->stint.ready;
}

static void begin(th_worker *worker, int64_t now) {
    thrum_sched *sched = worker->sched;
    th_spare_set *set = &sched->spare_set;
    worker->stint.active = true;
    worker->stint.since = now;
    worker->stint.looked_at = now;
    set->active++;
    /* relaxed: written with the lock */
    th_store_relaxed(&set->xidle_spares, set->xidle_spares - 1);
    th_and_relaxed(&worker->xsleep, ~TH_SLEEP_MONITOR); /* relaxed: its own bit */
    if (th_workers_end(sched) <= worker->index) {
        TH_LOCKED(&sched->bound_lock); /* a trace begins with it */
        th_trace_joins(sched, worker);
        /* pairs: th_workers_end; its queues are made */
        th_store_release(&sched->xworkers_end, worker->index + 1);
    }
    unsigned i = 0;
    while (i < sched->workers_count && (!set->held[i].held || set->held[i].spare >= 0)) {
        i++;
    }
    bool known = i < sched->workers_count;
    if (known) {
        set->held[i].spare = (int)worker->index;
    }
    th_count(&worker->counters.xspare_activations, 1);
    if (th_is_traced(worker)) {
        th_trace_notes(worker, TH_TRACED_TAKES_OVER, known ? i + 1 : 0);
    }
    if (!set->has_monitor || set->xmonitor == worker->index) {
        hand_on(worker, sched, now);
    }
}

static void end(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_spare_set *set = &sched->spare_set;
    worker->stint.active = false;
    if (th_is_traced(worker)) {
        th_trace_notes(worker, TH_TRACED_RETIRES, 0);
    }
    set->active--;
    /* relaxed: written with the lock */
    th_store_relaxed(&set->xidle_spares, set->xidle_spares + 1);
    for (unsigned i = 0; i < sched->workers_count; i++) {
        if (set->held[i].spare == (int)worker->index) {
            set->held[i].spare = -1;
        }
    }
    th_and_relaxed(&worker->xsleep, ~TH_SLEEP_MONITOR); /* relaxed: its own bit */
    if (!set->has_monitor) {
        set->has_monitor = true;
        th_store_relaxed(&set->xmonitor,
                         worker->index); /* relaxed: published when it goes dormant */
        th_or_relaxed(&worker->xsleep, TH_SLEEP_MONITOR); /* relaxed: its own bit */
    }
}

/*
 * With the lock, by the monitor, while a worker is free: spares that are no longer wanted and sleep
 * as workers do are woken, and become idle. Otherwise they would sleep on until there is work, and
 * the monitor could not go dormant.
 */
static void send_back(thrum_sched *sched, int64_t now) {
    th_spare_set *set = &sched->spare_set;
    th_worker *spares = &sched->workers[sched->workers_regular];
    for (unsigned i = 0; set->active > set->wanted && i < set->started; i++) {
        if (spares[i].stint.active && now - spares[i].stint.since >= STAY_NS) {
            th_wake_spare(&spares[i]);
        }
    }
}

/* ---- idle ---- */

/* By the monitor, while it counts as parked. True: it takes over from now on. */
static bool look(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_spare_set *set = &sched->spare_set;
    bool called = false;
    th_lock_acquire(&set->lock);
    if (set->closed) { /* threads are about to be joined: a look asks the system about them */
        th_lock_release(&set->lock);
        return false;
    }
    if (set->xmonitor != worker->index) { /* it was roused after it had handed the role on */
        th_and_relaxed(&worker->xsleep, ~TH_SLEEP_MONITOR); /* relaxed: its own bit */
        th_lock_release(&set->lock);
        return false;
    }
    int64_t now = th_os_now();
    th_stall_look(worker, now);
    th_tick_marks_note(sched, now);
    uint64_t word =
        th_load_relaxed(&sched->xpark); /* relaxed: the exchange in go_dormant decides */
    if (th_park_parked(word) > set->xidle_spares) {
        send_back(sched, now);
        go_dormant(worker, word);
    } else {
        set->free_looks = 0;
        called = th_stall_calls(sched, now) && make_ready(worker, now);
    }
    if (called) {
        begin(worker, now);
        worker->stint.fresh = true;
    }
    const bool last = called && set->active == sched->workers_count - sched->workers_regular;
    th_lock_release(&set->lock);
    if (last) {
        th_mistake_report(TH_MISTAKE_HELD, false,
                          "tasks that block or compute hold all workers, and the last of the %u "
                          "spares takes over: call thrum_blocking, or yield",
                          sched->workers_count - sched->workers_regular);
    }
    return called;
}

/* Announced: sleeps until it is woken, or called. */
static void sleep_as_idle_spare(th_worker *worker) {
    int64_t interval = th_stall_interval(worker->sched);
    int64_t next = TH_FOREVER;
    for (;;) {
        /* relaxed: the lock orders a monitor's reads; th_park_unannounce the rest */
        uint32_t word = th_load_relaxed(&worker->xsleep);
        if (!(word & TH_SLEEP_PARKED)) {
            return;
        }
        bool is_monitor = (word & TH_SLEEP_MONITOR) != 0;
        next = !is_monitor ? TH_FOREVER : next == TH_FOREVER ? th_os_now() + interval : next;
        if (th_os_futex_wait(&worker->xsleep, word, next) != -ETIMEDOUT) {
            continue;
        }
        if (look(worker)) {
            (void)th_park_leave(worker);
            return;
        }
        next = TH_FOREVER;
    }
}

/*
 * Gives back the worker's own stores, but for one fiber: it may be idle for long. While a task
 * waits for a stack it gives that one, too.
 */
static void give_back(th_worker *worker) {
    /* relaxed: a hint; the worker that puts a task aside wakes this one, which comes here again */
    const unsigned kept = th_load_relaxed(&worker->sched->xdeferred) ? 0 : 1;
    while (worker->idle_count > kept) {
        th_fiber_cache_give(worker);
    }
    th_slab_flush(&worker->go);
    th_slab_flush(&worker->spawn);
}

/* Gives up its token, and the sentinel's role. */
static void pass_on(th_worker *worker) {
    if (worker->searching || worker->sentinel) {
        th_went_busy(worker);
    }
}

/* Whether another thread has queued work that is tied to it. */
static bool has_own(const th_worker *worker) {
    /* relaxed: the parker has fenced, as for th_priority_any; else a hint */
    return !th_inject_is_empty(&worker->inbox) || th_load_relaxed(&worker->xtied_priorities);
}

/* Sits until it takes part, has pinned work, was woken by an old entry, or the scheduler ends. */
static void sit(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    worker->backoff.ns = 0;
    worker->backoff.at = 0;
    give_back(worker);
    bool last = th_park_announce(worker, true);
    /* seq: announced before the reads that follow; the other sides are as for th_park */
    th_fence_seq();
    th_park_tell(sched);
    if (sched->policy->pending(worker) || th_forks_seen(worker)) {
        th_wake_one(sched, worker, TH_WAKE_CHAIN); /* its own posts were left to it */
    }
    /* relaxed: ordered by the fence */
    if (th_load_relaxed(&sched->xexit) || has_own(worker) ||
        /* relaxed: only now does it know that it is the last, as in th_park */
        (last && th_load_relaxed(&sched->xfibers_unmeasured))) {
        (void)th_park_leave(worker);
    } else {
        sleep_as_idle_spare(worker);
    }
    th_park_unannounce(worker);
    if (worker->searching) {
        th_went_busy(worker); /* an old entry in the stack was popped: another one shall look */
    }
    worker->woken = false;
}

/* ---- taking over ---- */

/* Whether nothing is left that only this worker would run. */
static bool holds_nothing(th_worker *worker) {
    const th_policy *policy = worker->sched->policy;
    return !worker->pinned.first && !worker->pinned_yields.first && !has_own(worker) &&
           (!policy->hand_over || policy->hand_over(worker));
}

/* Pinned work has called it while it was idle: it takes part like any other. */
static void come_for_own(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    TH_LOCKED(&sched->spare_set.lock);
    if (sched->spare_set.xmonitor == worker->index) {
        /* relaxed: it is dormant no longer, if it was; a rouser that came before does no harm */
        th_and_relaxed(&sched->xpark, ~TH_PARK_DORMANT);
    }
    begin(worker, th_os_now());
}

/* Whether the worker is to become idle. */
static bool is_over(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_spare_set *set = &sched->spare_set;
    int64_t interval = th_stall_interval(sched);
    if (!worker->stint.active) {
        return true;
    }
    int64_t now = th_os_now();
    if (now - worker->stint.looked_at < interval) {
        return false;
    }
    worker->stint.looked_at = now;
    TH_LOCKED(&set->lock); /* not only tried: the monitor that wakes it has the lock */
    /* If there is no monitor, or it is dormant, no other spare looks. */
    int64_t unseen = now - set->looked_at;
    int64_t patience = set->has_monitor ? interval + interval / 2 : interval;
    if (!set->closed && unseen >= patience) {
        th_stall_look(worker, now);
    }
    if (!set->has_monitor) {
        hand_on(worker, sched, now); /* the system may have refused a thread before */
    }
    bool over =
        now - worker->stint.since >= STAY_NS && set->active > set->wanted && holds_nothing(worker);
    if (over) {
        end(worker);
    }
    return over;
}

/* Whether there is something better to do than to look through stacks. */
static bool is_wanted(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    /* relaxed: a hint; it looks again when it has announced itself */
    return sched->policy->pending(worker) || th_load_relaxed(&sched->xexit);
}

/* As if this spare had looked at the held-up workers, and at no other one, a while ago. */
static void note_held(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    const unsigned end = th_workers_end(sched);
    TH_LOCKED(&sched->spare_set.lock);
    for (unsigned i = 0; i < end; i++) {
        /* relaxed: only whether it moves */
        uint64_t tick = th_load_relaxed(&sched->workers[i].xtick);
        worker->rounds.seen_ticks[i] = sched->spare_set.held[i].held ? tick : tick - 1;
    }
}

/* Work queued by the held-up workers comes first, or it would wait for as long as they do. */
static th_work *take_left(th_worker *worker) {
    if (th_likely(!worker->stint.fresh)) {
        return NULL;
    }
    worker->stint.fresh = false;
    th_work *work = NULL;
    for (unsigned i = 0; i < 2 && !work; i++) { /* a tick that is noted may be an older one, once */
        note_held(worker);
        work = th_rescue_left(worker);
    }
    if (!work && (work = th_forks_rescue(worker))) {
        th_count(&worker->counters.xrescues, 1);
        th_count(&worker->counters.xruns_stolen, 1);
    }
    if (work) {
        th_count(&worker->xtick, 1); /* it has slept, or sat, in this tick: see tick_marks.h */
        th_found(worker);
    }
    return work;
}

th_work *th_spares_find(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    for (;;) {
        /* relaxed: th_find acquires it */
        while (!worker->handoff && is_over(worker) && !th_load_relaxed(&sched->xexit)) {
            pass_on(worker); /* others must not rely on it while it trims */
            th_fiber_cache_trim(worker, is_wanted);
            sit(worker);
            if (!worker->stint.active && has_own(worker)) {
                come_for_own(worker);
            }
        }
        (void)th_timers_help(worker, false); /* those of workers that are held up */
        worker->stint.slept = false;
        th_work *work = take_left(worker);
        work = work ? work : th_find(worker);
        if (work || !worker->stint.slept) {
            return work;
        }
    }
}

/* ---- threads ---- */

/* A spare has no fibers, and is no worker to anybody, before it takes over for the first time. */
static void spare_main(void *arg) {
    th_worker *worker = arg;
    thrum_sched *sched = worker->sched;
    th_store_relaxed(&worker->xtid, th_os_thread_number()); /* relaxed: for looks at it */
    /* relaxed: a fence follows. It is counted as parked from the start on */
    th_or_relaxed(&worker->xsleep, TH_SLEEP_PARKED);
    th_fence_seq(); /* seq: it may be notified before the flag is read; end_threads */
    /* relaxed: ordered by the fence */
    if (th_load_relaxed(&sched->xexit)) {
        (void)th_park_leave(worker);
    } else {
        sleep_as_idle_spare(worker); /* until it takes over, or the scheduler ends */
    }
    th_park_unannounce(worker);
    if (worker->stint.active) {
        th_worker_main(worker);
    }
}

void th_spares_start(thrum_sched *sched) {
    if (sched->workers_count == sched->workers_regular) {
        return;
    }
    TH_LOCKED(&sched->spare_set.lock);
    hand_on(NULL, sched, th_os_now());
}

unsigned th_spares_close(thrum_sched *sched) {
    TH_LOCKED(&sched->spare_set.lock);
    sched->spare_set.closed = true;
    return sched->spare_set.started;
}
