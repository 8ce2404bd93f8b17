/*
 * loot.c: see loot.h.
 */
#include "core/ready/loot.h"

#include "platform/platform.h"

/*
 * Backing off from stealing: long runs are worth a theft whatever it costs the victim; for shorter
 * ones the thief compares how much gets done while it takes part and while it does not. The figures
 * were found by measurement (docs/tuning.md).
 */
#define SHORT_RUN_NS 1000
#define NAP_MIN_NS 10000
#define NAP_MAX_NS 200000
#define PACE_MIN_NS 20000  /* a measurement must last so long */
#define PACE_MAX_NS 500000 /* when it has lasted longer, what was measured so far counts half */
#define LOOT_PER_LOOK 64 /* thefts after which a thief that helps measures the victim alone again */

uint64_t th_runs_begun(const th_worker *worker) {
    const th_counters *c = &worker->counters;
    /* relaxed: a rough number is enough */
    return th_load_relaxed(&c->xtasks_started) + th_load_relaxed(&c->xfibers_resumed);
}

void th_loot_begin(th_worker *worker) {
    th_loot *loot = &worker->loot;
    thrum_sched *sched = worker->sched;
    if (sched->workers_count == 1) {
        return;
    }
    if (sched->workers_count == 2) {
        loot->victim = &sched->workers[!worker->index]; /* wherever the work came from */
    }
    loot->at = th_os_ticks();
    loot->runs = th_runs_begun(worker);
    loot->victim_runs = loot->victim ? th_runs_begun(loot->victim) : 0;
}

void th_pace_add(th_pace *pace, uint64_t runs, uint64_t ticks) {
    if (th_os_ticks_ns(pace->ticks) > PACE_MAX_NS) {
        pace->runs /= 2;
        pace->ticks /= 2;
    }
    pace->runs += runs;
    pace->ticks += ticks;
}

/* Whether the two get at least a quarter more done together than the victim alone. */
static bool helps(const th_loot *loot) {
    const th_pace *together = &loot->together;
    const th_pace *apart = &loot->apart;
    return 4.0 * (double)together->runs * (double)apart->ticks >=
           5.0 * (double)apart->runs * (double)together->ticks;
}

/* Whether to back off now, when runs are short. */
static bool backs_off(th_loot *loot) {
    if (th_os_ticks_ns(loot->apart.ticks) < PACE_MIN_NS) {
        return true; /* so as to measure how fast the victim is alone */
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

bool th_loot_naps(th_worker *worker) {
    th_loot *loot = &worker->loot;
    if (worker->searching || has_own(worker)) {
        return false;
    }
    uint64_t runs = th_runs_begun(worker) - loot->runs;
    uint64_t ticks = th_os_ticks() - loot->at;
    loot->at = 0;
    bool alone = th_others_parked(worker);
    bool is_short = runs && th_os_ticks_ns(ticks) < (int64_t)runs * SHORT_RUN_NS;
    if (alone || !is_short || !loot->victim) {
        worker->nap_last_ns = 0;
        return false;
    }
    th_pace_add(&loot->together, runs + th_runs_begun(loot->victim) - loot->victim_runs, ticks);
    if (!backs_off(loot)) {
        worker->nap_last_ns = 0;
        return false;
    }
    int64_t ns = worker->nap_last_ns ? 2 * worker->nap_last_ns : NAP_MIN_NS;
    worker->nap_last_ns = ns < NAP_MAX_NS ? ns : NAP_MAX_NS;
    worker->nap_ns = worker->nap_last_ns;
    return true;
}

int64_t th_left_alone_ns(const th_worker *victim) {
    /* relaxed: as in nap */
    int64_t ns = th_load_relaxed(&victim->xalone_ns);
    if (!ns || victim->sched->workers_count == 2) { /* with two there is no other thief */
        return 0;
    }
    /* relaxed: as in nap */
    int64_t passed = th_os_ticks_ns(th_os_ticks() - th_load_relaxed(&victim->xalone_at));
    return passed < ns ? ns - passed : 0;
}
