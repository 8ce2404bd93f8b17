/*
 * bench.c: see bench.h.
 *
 * A spare on the bench counts as parked, but stands neither in the idle stack nor is it the
 * sentinel, so it is not woken for queued work, unless by an old entry of its own in the stack. One
 * of them is the lookout: while no worker is free it looks from time to time whether any is held
 * up, and then stands in itself.
 */
#include "core/worker/bench.h"

#include "core/fiber/fiber_cache.h"
#include "core/fiber/trim.h"
#include "core/due/fork_slots.h"
#include "core/policy/pick.h"
#include "core/due/timer.h"
#include "core/ready/wake.h"
#include "core/worker/find.h"
#include "core/worker/park.h"
#include "core/worker/stall.h"
#include "core/worker/worker_thread.h"
#include "core/trace/trace_notes.h"
#include "core/trace/tick_marks.h"
#include "platform/platform.h"

#define STAY_NS 50000000             /* a spare stands in for at least so long */
#define FREE_LOOKS TH_LIMIT(20u, 2u) /* looks in a row that find a free worker before it rests */
#define RETRY_NS 1000000000ll        /* after the system has refused a thread or memory */

static void spare_main(void *arg);

/* ---- the lookout; with the lock ---- */

/* A spare that has a thread and sits on the bench, else one that gets a thread now, or NULL. */
static th_worker *another(const th_worker *but, thrum_sched *sched, int64_t now) {
    th_bench *bench = &sched->bench;
    th_worker *spares = &sched->workers[sched->workers_regular];
    for (unsigned i = 0; i < bench->started; i++) {
        if (&spares[i] != but && !spares[i].stint.takes_part) {
            return &spares[i];
        }
    }
    if (bench->closed || sched->workers_regular + bench->started == sched->workers_count ||
        (bench->refused_at && now - bench->refused_at < RETRY_NS)) {
        return NULL;
    }
    if (th_worker_thread_start(&spares[bench->started], spare_main)) {
        bench->refused_at = now;
        return NULL;
    }
    return &spares[bench->started++];
}

/* Hands the lookout's role to another spare, if there is one. */
static void hand_on(const th_worker *by, thrum_sched *sched, int64_t now) {
    th_bench *bench = &sched->bench;
    th_worker *next = another(by, sched, now);
    bench->has_lookout = next != NULL;
    bench->free_looks = 0;
    if (next) {
        th_store_relaxed(&bench->xlookout, next->index); /* relaxed: published by its rest */
        th_appoint_lookout(next);
    }
}

/*
 * The lookout rests when all are parked, or a worker has been free for a while; but first those
 * that are not wanted any more sit down. The bit is set in a word in which a worker is free: the
 * last free one sees it when it goes on.
 */
static void rest(th_worker *worker, uint64_t word) {
    thrum_sched *sched = worker->sched;
    th_bench *bench = &sched->bench;
    bool idle = th_park_parked(word) == sched->workers_count;
    bool long_free = ++bench->free_looks >= FREE_LOOKS;
    unsigned wanted = idle ? 0 : bench->wanted; /* what the look found may be over */
    if (bench->standing_in > wanted || (!idle && !long_free)) {
        return;
    }
    bench->free_looks = 0;
    /* relaxed: its own bit; nothing relies on it before the exchange */
    th_and_relaxed(&worker->xsleep, ~TH_SLEEP_LOOKOUT);
    /* relaxed: written with the lock */
    while (th_park_parked(word) > th_load_relaxed(&bench->xbenched)) {
        /* lock-free: it fails only when another change of the word succeeded */
        /* pairs: th_rouse_lookout; which spare is the lookout */
        if (th_cas_release(&sched->xpark, &word, word | TH_PARK_REST)) {
            return;
        }
    }
    th_or_relaxed(&worker->xsleep, TH_SLEEP_LOOKOUT); /* relaxed: its own bit */
}

/* ---- standing in; with the lock ---- */

static bool make_ready(th_worker *worker, int64_t now) {
    th_bench *bench = &worker->sched->bench;
    if (worker->stint.ready) {
        return true;
    }
    if (bench->refused_at && now - bench->refused_at < RETRY_NS) {
        return false;
    }
    worker->stint.ready = th_worker_init(worker);
    if (!worker->stint.ready) {
        th_worker_free(worker);
        bench->refused_at = now;
    }
    return worker->stint.ready;
}

static void begin(th_worker *worker, int64_t now) {
    thrum_sched *sched = worker->sched;
    th_bench *bench = &sched->bench;
    worker->stint.takes_part = true;
    worker->stint.since = now;
    worker->stint.looked_at = now;
    bench->standing_in++;
    th_store_relaxed(&bench->xbenched, bench->xbenched - 1); /* relaxed: written with the lock */
    th_and_relaxed(&worker->xsleep, ~TH_SLEEP_LOOKOUT);      /* relaxed: its own bit */
    if (th_workers_end(sched) <= worker->index) {
        th_lock_acquire(&sched->bound_lock); /* a trace begins with it */
        th_trace_joins(sched, worker);
        /* pairs: th_workers_end; its queues are made */
        th_store_release(&sched->xworkers_end, worker->index + 1);
        th_lock_release(&sched->bound_lock);
    }
    unsigned i = 0;
    while (i < sched->workers_count && (!bench->held[i].held || bench->held[i].standin >= 0)) {
        i++;
    }
    bool known = i < sched->workers_count;
    if (known) {
        bench->held[i].standin = (int)worker->index;
    }
    th_count(&worker->counters.xstandins, 1);
    if (th_is_traced(worker)) {
        th_trace_notes(worker, TH_TRACED_STANDS_IN, known ? i + 1 : 0);
    }
    if (!bench->has_lookout || bench->xlookout == worker->index) {
        hand_on(worker, sched, now);
    }
}

static void end(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_bench *bench = &sched->bench;
    worker->stint.takes_part = false;
    if (th_is_traced(worker)) {
        th_trace_notes(worker, TH_TRACED_SITS_DOWN, 0);
    }
    bench->standing_in--;
    th_store_relaxed(&bench->xbenched, bench->xbenched + 1); /* relaxed: written with the lock */
    for (unsigned i = 0; i < sched->workers_count; i++) {
        if (bench->held[i].standin == (int)worker->index) {
            bench->held[i].standin = -1;
        }
    }
    th_and_relaxed(&worker->xsleep, ~TH_SLEEP_LOOKOUT); /* relaxed: its own bit */
    if (!bench->has_lookout) {
        bench->has_lookout = true;
        th_store_relaxed(&bench->xlookout, worker->index); /* relaxed: published by its rest */
        th_or_relaxed(&worker->xsleep, TH_SLEEP_LOOKOUT);  /* relaxed: its own bit */
    }
}

/*
 * With the lock, by the lookout, while a worker is free: spares that are not wanted any more and
 * sleep as workers do are woken, and go to the bench. Otherwise they would sleep on until there is
 * work, and the lookout could not rest.
 */
static void send_back(thrum_sched *sched, int64_t now) {
    th_bench *bench = &sched->bench;
    th_worker *spares = &sched->workers[sched->workers_regular];
    for (unsigned i = 0; bench->standing_in > bench->wanted && i < bench->started; i++) {
        if (spares[i].stint.takes_part && now - spares[i].stint.since >= STAY_NS) {
            th_wake_spare(&spares[i]);
        }
    }
}

/* ---- on the bench ---- */

/* By the lookout, while it counts as parked. True: it stands in from now on. */
static bool look(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_bench *bench = &sched->bench;
    bool called = false;
    th_lock_acquire(&bench->lock);
    if (bench->closed) { /* threads are about to be joined: a look asks the system about them */
        th_lock_release(&bench->lock);
        return false;
    }
    if (bench->xlookout != worker->index) { /* it was roused after it had handed the role on */
        th_and_relaxed(&worker->xsleep, ~TH_SLEEP_LOOKOUT); /* relaxed: its own bit */
        th_lock_release(&bench->lock);
        return false;
    }
    int64_t now = th_os_now();
    th_stall_look(worker, now);
    th_tick_marks_note(sched, now);
    uint64_t word = th_load_relaxed(&sched->xpark); /* relaxed: the exchange in rest decides */
    if (th_park_parked(word) > bench->xbenched) {
        send_back(sched, now);
        rest(worker, word);
    } else {
        bench->free_looks = 0;
        called = th_stall_calls(sched, now) && make_ready(worker, now);
    }
    if (called) {
        begin(worker, now);
        worker->stint.fresh = true;
    }
    th_lock_release(&bench->lock);
    return called;
}

/* Announced: sleeps until it is woken, or called. */
static void sleep_on_bench(th_worker *worker) {
    int64_t interval = th_stall_interval(worker->sched);
    int64_t next = TH_FOREVER;
    for (;;) {
        /* relaxed: the lock orders what a lookout reads; th_park_unannounce the rest */
        uint32_t word = th_load_relaxed(&worker->xsleep);
        if (!(word & TH_SLEEP_PARKED)) {
            return;
        }
        bool is_lookout = (word & TH_SLEEP_LOOKOUT) != 0;
        next = !is_lookout ? TH_FOREVER : next == TH_FOREVER ? th_os_now() + interval : next;
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

/* Gives back what a worker keeps for itself, but for one fiber: it may sit for long. */
static void give_back(th_worker *worker) {
    while (worker->idle_count > 1) {
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

/* Sits until it takes part, has pinned work, was woken by an old entry, or the scheduler ends. */
static void sit(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    worker->backoff.ns = 0;
    worker->backoff.at = 0;
    give_back(worker);
    bool last = th_park_announce(worker, true);
    /* seq: announced before what follows is read; the other sides are as for th_park */
    th_fence_seq();
    th_park_tell(sched);
    if (sched->policy->pending(worker) || th_forks_seen(worker)) {
        th_wake_one(sched, worker, TH_WAKE_CHAIN); /* what it has posted was left to itself */
    }
    /* relaxed: ordered by the fence */
    if (th_load_relaxed(&sched->xexit) || !th_inject_is_empty(&worker->inbox) ||
        /* relaxed: only now does it know that it is the last, as in th_park */
        (last && th_load_relaxed(&sched->xfibers_unmeasured))) {
        (void)th_park_leave(worker);
    } else {
        sleep_on_bench(worker);
    }
    th_park_unannounce(worker);
    if (worker->searching) {
        th_went_busy(worker); /* an old entry in the stack was popped: another one shall look */
    }
    worker->woken = false;
}

/* ---- standing in ---- */

/* Whether nothing is left that only this worker would run. */
static bool holds_nothing(th_worker *worker) {
    const th_policy *policy = worker->sched->policy;
    return !worker->pinned.first && !worker->pinned_yields.first &&
           th_inject_is_empty(&worker->inbox) && (!policy->hand_over || policy->hand_over(worker));
}

/* Pinned work has called it from the bench: it takes part like any other. */
static void come_for_own(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_lock_acquire(&sched->bench.lock);
    if (sched->bench.xlookout == worker->index) {
        /* relaxed: it rests no longer, if it did; a rouser that came before does no harm */
        th_and_relaxed(&sched->xpark, ~TH_PARK_REST);
    }
    begin(worker, th_os_now());
    th_lock_release(&sched->bench.lock);
}

/* Whether the worker is to go to the bench. */
static bool is_over(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_bench *bench = &sched->bench;
    int64_t interval = th_stall_interval(sched);
    if (!worker->stint.takes_part) {
        return true;
    }
    int64_t now = th_os_now();
    if (now - worker->stint.looked_at < interval) {
        return false;
    }
    worker->stint.looked_at = now;
    th_lock_acquire(&bench->lock); /* not only tried: the lookout that wakes it has the lock */
    /* Where there is no lookout, or it rests, no other spare looks. */
    int64_t unseen = now - bench->looked_at;
    int64_t patience = bench->has_lookout ? interval + interval / 2 : interval;
    if (!bench->closed && unseen >= patience) {
        th_stall_look(worker, now);
    }
    if (!bench->has_lookout) {
        hand_on(worker, sched, now); /* the system may have refused a thread before */
    }
    bool over = now - worker->stint.since >= STAY_NS && bench->standing_in > bench->wanted &&
                holds_nothing(worker);
    if (over) {
        end(worker);
    }
    th_lock_release(&bench->lock);
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
    th_lock_acquire(&sched->bench.lock);
    for (unsigned i = 0; i < end; i++) {
        /* relaxed: only whether it moves */
        uint64_t tick = th_load_relaxed(&sched->workers[i].xtick);
        worker->rounds.seen_ticks[i] = sched->bench.held[i].held ? tick : tick - 1;
    }
    th_lock_release(&sched->bench.lock);
}

/* What the held-up workers have queued comes first, or it would wait for as long as they do. */
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

th_work *th_bench_find(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    for (;;) {
        /* relaxed: th_find acquires it */
        while (!worker->handoff && is_over(worker) && !th_load_relaxed(&sched->xexit)) {
            pass_on(worker); /* others must not rely on it while it trims */
            th_fiber_cache_trim(worker, is_wanted);
            sit(worker);
            if (!worker->stint.takes_part && !th_inject_is_empty(&worker->inbox)) {
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

/* A spare has no fibers, and is no worker to anybody, before it stands in for the first time. */
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
        sleep_on_bench(worker); /* until it stands in, or the scheduler ends */
    }
    th_park_unannounce(worker);
    if (worker->stint.takes_part) {
        th_worker_main(worker);
    }
}

void th_bench_start(thrum_sched *sched) {
    if (sched->workers_count == sched->workers_regular) {
        return;
    }
    th_lock_acquire(&sched->bench.lock);
    hand_on(NULL, sched, th_os_now());
    th_lock_release(&sched->bench.lock);
}

unsigned th_bench_close(thrum_sched *sched) {
    th_lock_acquire(&sched->bench.lock);
    sched->bench.closed = true;
    unsigned started = sched->bench.started;
    th_lock_release(&sched->bench.lock);
    return started;
}
