/*
 * find.c: a worker's next work: from its queues, from other workers, or after sleeping.
 */
#include "core/find.h"

#include "core/idle.h"
#include "core/panic.h"
#include "core/park.h"
#include "core/submit.h"
#include "core/wait.h"
#include "platform/platform.h"

/*
 * Backing off from stealing: longer runs are worth it whatever they cost the victim; for shorter
 * ones the thief compares how much gets done while it takes part and while it does not. Found by
 * measurement (docs/tuning.md).
 */
#define SHORT_RUN_NS 1000
#define NAP_MIN_NS 10000
#define NAP_MAX_NS 200000
#define PACE_MIN_NS 20000  /* so long a measurement is needed */
#define PACE_MAX_NS 500000 /* beyond it what was measured counts half */
#define LOOT_PER_LOOK 64   /* a thief that helps looks again now and then whether it does */

/* Longest wait of the shared queue for its turn, while turns are worth so much less. */
#define FAIR_NS 50000

/* Looks at a queue whose turn somebody else has before it parks all the same. */
#define TURN_SPINS TH_LIMIT(64, 2)

static uint64_t runs_begun(const th_worker *worker) {
    const th_counters *c = &worker->counters;
    /* relaxed: how many, roughly */
    return th_load_relaxed(&c->xtasks_started) + th_load_relaxed(&c->xfibers_resumed);
}

void th_loot_begin(th_worker *worker) {
    th_loot *loot = &worker->loot;
    thrum_sched *sched = worker->sched;
    if (sched->workers_count == 1) {
        return;
    }
    if (sched->workers_count == 2) {
        loot->victim = &sched->workers[!worker->index]; /* from wherever it came */
    }
    loot->at = th_os_ticks();
    loot->runs = runs_begun(worker);
    loot->victim_runs = loot->victim ? runs_begun(loot->victim) : 0;
}

static void pace_add(th_pace *pace, uint64_t runs, uint64_t ticks) {
    if (th_os_ticks_ns(pace->ticks) > PACE_MAX_NS) {
        pace->runs /= 2;
        pace->ticks /= 2;
    }
    pace->runs += runs;
    pace->ticks += ticks;
}

/* Whether the two get more done together than the victim alone: at least a quarter. */
static bool helps(const th_loot *loot) {
    const th_pace *together = &loot->together;
    const th_pace *apart = &loot->apart;
    return 4.0 * (double)together->runs * (double)apart->ticks >=
           5.0 * (double)apart->runs * (double)together->ticks;
}

/* What to do next, when runs are short. */
static bool backs_off(th_loot *loot) {
    if (th_os_ticks_ns(loot->apart.ticks) < PACE_MIN_NS) {
        return true; /* to learn how fast the victim is alone */
    }
    if (th_os_ticks_ns(loot->together.ticks) < PACE_MIN_NS) {
        return false;
    }
    return !helps(loot) || ++loot->looks % LOOT_PER_LOOK == 0;
}

static bool has_own(const th_worker *worker) {
    return th_ring_size(&worker->ring.ring) || th_ring_size(&worker->yields) ||
           th_claim_any(&worker->claim) || th_claim_any(&worker->yields_claim) ||
           worker->pinned.first || worker->pinned_yields.first ||
           !th_inject_is_empty(&worker->inbox) ||
           th_load_relaxed(&worker->xslot); /* relaxed: only the owner fills it */
}

static bool all_others_parked(const th_worker *worker) {
    /* relaxed: a guess; if it is wrong for all at once they come back within NAP_MAX_NS */
    uint64_t word = th_load_relaxed(&worker->sched->xpark);
    return th_park_parked(word) + 1 >= worker->sched->workers_count;
}

/*
 * Whether to back off, once what was taken last has been run. Somebody else must be running: never
 * do all of them back off.
 */
static bool should_nap(th_worker *worker) {
    th_loot *loot = &worker->loot;
    if (worker->searching || has_own(worker)) {
        return false;
    }
    uint64_t runs = runs_begun(worker) - loot->runs;
    uint64_t ticks = th_os_ticks() - loot->at;
    loot->at = 0;
    bool alone = all_others_parked(worker);
    bool is_short = runs && th_os_ticks_ns(ticks) < (int64_t)runs * SHORT_RUN_NS;
    if (alone || !is_short || !loot->victim) {
        worker->nap_last_ns = 0;
        return false;
    }
    pace_add(&loot->together, runs + runs_begun(loot->victim) - loot->victim_runs, ticks);
    if (!backs_off(loot)) {
        worker->nap_last_ns = 0;
        return false;
    }
    int64_t ns = worker->nap_last_ns ? 2 * worker->nap_last_ns : NAP_MIN_NS;
    worker->nap_last_ns = ns < NAP_MAX_NS ? ns : NAP_MAX_NS;
    worker->nap_ns = worker->nap_last_ns;
    return true;
}

/*
 * Backs off, and sees what the victim gets done meanwhile. So that it sees what that gets done
 * alone, and not beside another thief who thinks he helps, nobody else may steal there either.
 */
static void nap(th_worker *worker) {
    th_loot *loot = &worker->loot;
    uint64_t at = th_os_ticks();
    uint64_t runs = runs_begun(loot->victim);
    /* relaxed: for thieves to look at; two halves that do not belong together are as good */
    th_store_relaxed(&loot->victim->xalone_ns, worker->nap_ns);
    th_store_relaxed(&loot->victim->xalone_at, at); /* relaxed: as above */
    th_park(worker);
    pace_add(&loot->apart, runs_begun(loot->victim) - runs, th_os_ticks() - at);
}

int64_t th_left_alone_ns(const th_worker *victim) {
    /* relaxed: as in nap */
    int64_t ns = th_load_relaxed(&victim->xalone_ns);
    if (!ns || victim->sched->workers_count == 2) { /* two: nobody else could be meant */
        return 0;
    }
    /* relaxed: as in nap */
    int64_t passed = th_os_ticks_ns(th_os_ticks() - th_load_relaxed(&victim->xalone_at));
    return passed < ns ? ns - passed : 0;
}

/* From whom is known of what comes from another worker's queue. */
static void note_theft(th_worker *worker, const th_worker *victim) {
    if (th_is_traced(worker)) {
        th_trace_notes(worker, TH_TRACED_STOLE, victim ? victim->index + 1 : 0);
    }
}

/*
 * Who was woken for a single one that no thief may take: its owner has noted in which run that was,
 * and while it is still in it, it has not come round.
 */
static th_work *rescue_told(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    bool told = false;
    for (unsigned i = 0; i < sched->workers_count; i++) {
        const th_worker *w = &sched->workers[i];
        uint64_t tick = th_load_relaxed(&w->xtick); /* relaxed: only whether it moves */
        /* relaxed: the worker that it woke has acquired it */
        if (w != worker && tick && tick == th_load_relaxed(&w->xlone_tick)) {
            worker->seen_ticks[i] = tick;
            told = true;
        }
    }
    return told ? sched->policy->rescue(worker, &worker->look_unsure) : NULL;
}

static th_work *search(th_worker *worker) {
    worker->nap_ns = 0;
    if (!th_search_begin(worker)) {
        return NULL;
    }
    th_count(&worker->counters.xsteals_tried, 1);
    th_work *work = worker->policy->steal(worker);
    if (work) {
        worker->nap_ns = 0;
        th_count(&worker->counters.xsteals_done, 1);
        th_count(&worker->counters.xruns_stolen, 1);
        th_loot_begin(worker);
        note_theft(worker, worker->loot.victim);
        if (th_ring_size(&worker->ring.ring)) {
            th_notify(worker, false); /* the rest of the loot */
        }
        return work;
    }
    work = th_forks_steal(worker);
    if (work) {
        th_count(&worker->counters.xsteals_done, 1);
        th_count(&worker->counters.xstolen, 1);
        th_count(&worker->counters.xruns_stolen, 1);
        note_theft(worker, NULL);
    }
    if (!work && worker->woken) {
        work = rescue_told(worker);
    }
    if (work || (worker->nap_ns && all_others_parked(worker))) {
        worker->nap_ns = 0;
    }
    return work;
}

unsigned th_fair_interval(th_worker *worker) {
    const unsigned most = worker->sched->config.global_interval;
    const unsigned last = worker->fair_interval;
    uint64_t now = th_os_ticks();
    int64_t ns = th_os_ticks_ns(now - worker->fair_at);
    worker->fair_at = now;
    uint64_t fits = ns > 0 ? (uint64_t)last * FAIR_NS / (uint64_t)ns : most;
    uint64_t least = last > 1 ? last / 2 : 1;
    uint64_t interval = fits > least ? fits : least;
    interval = interval < 2 * (uint64_t)last ? interval : 2 * (uint64_t)last;
    worker->fair_interval = (unsigned)(interval < most ? interval : most);
    return worker->fair_interval;
}

th_work *th_steal_none(th_worker *worker) {
    (void)worker;
    return NULL;
}

th_work *th_rescue_none(th_worker *worker, bool *unsure) {
    (void)worker;
    (void)unsure;
    return NULL;
}

static th_work *find_once(th_worker *worker) {
    th_work *work = worker->handoff;
    worker->quick = NULL;
    if (work) {
        worker->handoff = NULL;
        return work;
    }
    if (th_unlikely(worker->loot.at) && should_nap(worker)) {
        nap(worker);
    }
    th_timers_poll(worker);
    if ((work = worker->policy->pick(worker))) {
        return work;
    }
    if (th_timers_help(worker) && (work = worker->policy->pick(worker))) {
        return work; /* overdue, of one that does not come round, or its own */
    }
    if ((work = th_deferred_take(worker))) {
        return work;
    }
    if (worker->sched->workers_count == 1) {
        return NULL;
    }
    return search(worker);
}

/*
 * The shared queue has work and somebody else its turn: that is over very soon, unless its holder
 * was preempted. Parking would only find the same queue not empty.
 */
static bool wait_for_turn(th_worker *worker, unsigned *spins) {
    bool lost = worker->turn_lost && *spins < TURN_SPINS;
    worker->turn_lost = false;
    if (lost) {
        th_backoff(spins);
    }
    return lost;
}

th_work *th_find(th_worker *worker) {
    unsigned spins = 0;
    for (;;) {
        th_work *work = find_once(worker);
        if (work) {
            if (th_unlikely(worker->searching || worker->sentinel)) {
                th_went_busy(worker);
            } else if (th_unlikely(worker->woken)) {
                th_went_busy_alone(worker);
            }
            worker->woken = false;
            return work;
        }
        /* pairs: end_threads; every task has ended: the user's hook is told (worker_stop) */
        if (th_load_acquire(&worker->sched->xexit)) {
            return NULL;
        }
        if (!wait_for_turn(worker, &spins)) {
            th_park(worker);
        }
    }
}

void th_pinned_collect(th_worker *worker) {
    th_inject *inbox = &worker->inbox;
    if (th_likely(th_inject_is_empty(inbox)) || !th_inject_turn_begin(inbox)) {
        return; /* the turn is always free: nobody else consumes */
    }
    th_inject_take_into(inbox, 1, SIZE_MAX, &worker->collected);
    th_inject_turn_end(inbox);
    th_chain_join(&worker->pinned, worker->collected);
}

th_work *th_pinned_take_some(th_worker *worker) {
    worker->quick = NULL; /* there may be more */
    if (!worker->pinned.first) {
        th_pinned_collect(worker);
    }
    th_work *work = th_chain_take(&worker->pinned);
    if (work) {
        worker->lifo_runs = 0;
        worker->pinned_runs++;
        th_count(&worker->counters.xruns_pinned, 1);
    }
    return work;
}

th_work *th_pinned_take_yielded(th_worker *worker) {
    th_work *work = th_chain_take(&worker->pinned_yields);
    if (work) {
        th_count(&worker->counters.xruns_pinned, 1);
    }
    return work;
}

/* ---- tasks that wait for a stack ---- */

/* So long in vain, with nothing left that could free a stack. */
#define DEFERRED_MAX_NS 1000000000

static void defer_again(th_worker *worker, int64_t since) {
    int64_t now = th_os_now();
    worker->defer_until = now + TH_DEFER_NS;
    if (now - since >= DEFERRED_MAX_NS && !th_idle_any_body(worker->sched)) {
        th_panic(worker->sched,
                 "thrum: no stack can be had, and nothing is left that could free one");
    }
}

/* With deferred_lock: since when it is in vain. */
static int64_t in_vain_since(thrum_sched *sched) {
    if (!sched->deferred_since) {
        sched->deferred_since = th_os_now();
    }
    return sched->deferred_since;
}

void th_deferred_put(th_worker *worker, th_work *work) {
    thrum_sched *sched = worker->sched;
    worker->took_deferred = false;
    th_lock_acquire(&sched->deferred_lock);
    th_chain_append(&sched->deferred, work);
    /* relaxed: a hint; whoever put it there looks again itself */
    th_store_relaxed(&sched->xdeferred, (uint32_t)sched->deferred.count);
    int64_t since = in_vain_since(sched);
    th_lock_release(&sched->deferred_lock);
    th_notify_shared(sched, worker, TH_WAKE_CHAIN); /* another may sleep with a stack to spare */
    defer_again(worker, since);
}

static th_work *deferred_pop(th_worker *worker, bool spare);

void th_deferred_began(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    worker->took_deferred = false;
    th_lock_acquire(&sched->deferred_lock);
    sched->deferred_since = 0; /* asking was not in vain */
    th_lock_release(&sched->deferred_lock);
}

/* A task that is about to give the worker up needs a spare fiber to do so; the loop needs none. */
static bool may_give(const th_worker *worker) {
    return worker->idle_count > 1 || !worker->current->body;
}

/* Not shown to the thread sanitizer: it reads work in the worker's context (queue/work.h). */
TH_NO_TSAN th_work *th_deferred_take(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    /* relaxed: a hint, see th_deferred_put */
    if (th_likely(!th_load_relaxed(&sched->xdeferred)) || th_os_now() < worker->defer_until) {
        return NULL;
    }
    bool spare = th_idle_refill(worker);
    th_work *work = deferred_pop(worker, spare);
    while (work && work->worker >= 0 && (unsigned)work->worker != worker->index) {
        /* Another one's, which came here because that one had no stack: so it gets this one's. */
        bool given = may_give(worker);
        if (given) {
            th_idle_give(worker);
        }
        th_submit(worker, work, THRUM_HINT_NONE);
        /* With no other spare nothing is taken, or that one would come back at once. */
        work = given && worker->idle ? deferred_pop(worker, true) : NULL;
    }
    worker->took_deferred = work != NULL;
    return work;
}

static th_work *deferred_pop(th_worker *worker, bool spare) {
    thrum_sched *sched = worker->sched;
    th_lock_acquire(&sched->deferred_lock);
    int64_t since = spare ? 0 : in_vain_since(sched);
    th_work *work = spare ? th_chain_take(&sched->deferred) : NULL;
    th_store_relaxed(&sched->xdeferred, (uint32_t)sched->deferred.count); /* relaxed: as above */
    th_lock_release(&sched->deferred_lock);
    if (!work && !spare) {
        defer_again(worker, since);
    }
    return work;
}
