/*
 * steal_backoff.c: see steal_backoff.h.
 */
#include "core/policy/steal_backoff.h"

#include "platform/platform.h"

/*
 * Backing off from stealing: long runs are worth a theft at any cost for the victim; for shorter
 * ones the thief compares how much gets done while it takes part and while it does not. The figures
 * were found by measurement (docs/tuning.md).
 */
#define SHORT_RUN_NS 1000
#define BACKOFF_MIN_NS 10000
#define BACKOFF_MAX_NS 200000
#define SPEED_MIN_NS 20000  /* a measurement must last so long */
#define SPEED_MAX_NS 500000 /* when it has lasted longer, earlier measurements count half */
#define THEFTS_PER_LOOK                                                                            \
    64 /* thefts after which a thief that helps measures the victim alone again */

uint64_t th_runs_begun(const th_worker *worker) {
    const th_counters *c = &worker->counters;
    /* relaxed: a rough number is enough */
    return th_load_relaxed(&c->xtasks_started) + th_load_relaxed(&c->xfibers_resumed);
}

void th_steal_backoff_begin(th_worker *worker) {
    th_steal_backoff *backoff = &worker->backoff;
    thrum_sched *sched = worker->sched;
    if (sched->workers_count == 1) {
        return;
    }
    if (sched->workers_regular == 2) {
        backoff->victim = &sched->workers[!worker->index]; /* wherever the work came from */
    }
    backoff->at = th_os_ticks();
    backoff->runs = th_runs_begun(worker);
    backoff->victim_runs = backoff->victim ? th_runs_begun(backoff->victim) : 0;
}

void th_speed_add(th_speed *speed, uint64_t runs, uint64_t ticks) {
    if (th_os_ticks_ns(speed->ticks) > SPEED_MAX_NS) {
        speed->runs /= 2;
        speed->ticks /= 2;
    }
    speed->runs += runs;
    speed->ticks += ticks;
}

/* Whether the two get at least a quarter more done together than the victim alone. */
static bool helps(const th_steal_backoff *backoff) {
    const th_speed *together = &backoff->together;
    const th_speed *apart = &backoff->apart;
    return 4.0 * (double)together->runs * (double)apart->ticks >=
           5.0 * (double)apart->runs * (double)together->ticks;
}

/* Whether to back off now, when runs are short. */
static bool backs_off(th_steal_backoff *backoff) {
    if (th_os_ticks_ns(backoff->apart.ticks) < SPEED_MIN_NS) {
        return true; /* so as to measure how fast the victim is alone */
    }
    if (th_os_ticks_ns(backoff->together.ticks) < SPEED_MIN_NS) {
        return false;
    }
    return !helps(backoff) || ++backoff->looks % THEFTS_PER_LOOK == 0;
}

static bool has_own(const th_worker *worker) {
    return th_ring_size(&worker->ready) || th_ring_size(&worker->ring) ||
           th_ring_size(&worker->yields) || th_batch_any(&worker->batch) ||
           th_batch_any(&worker->yields_batch) || worker->pinned.first ||
           worker->pinned_yields.first || !th_inject_is_empty(&worker->inbox) ||
           th_load_relaxed(&worker->xslot); /* relaxed: only the owner fills it */
}

bool th_steal_backs_off(th_worker *worker) {
    th_steal_backoff *backoff = &worker->backoff;
    /* in the test kit, a back-off would let time pass while a task is ready */
    if (worker->searching || has_own(worker) || TH_LIMIT_OR(false, true, false)) {
        return false;
    }
    uint64_t runs = th_runs_begun(worker) - backoff->runs;
    uint64_t ticks = th_os_ticks() - backoff->at;
    backoff->at = 0;
    bool alone = th_others_parked(worker);
    bool is_short = runs && th_os_ticks_ns(ticks) < (int64_t)runs * SHORT_RUN_NS;
    if (alone || !is_short || !backoff->victim) {
        worker->backoff.last_ns = 0;
        return false;
    }
    th_speed_add(&backoff->together, runs + th_runs_begun(backoff->victim) - backoff->victim_runs,
                 ticks);
    if (!backs_off(backoff)) {
        worker->backoff.last_ns = 0;
        return false;
    }
    int64_t ns = worker->backoff.last_ns ? 2 * worker->backoff.last_ns : BACKOFF_MIN_NS;
    worker->backoff.last_ns = ns < BACKOFF_MAX_NS ? ns : BACKOFF_MAX_NS;
    worker->backoff.ns = worker->backoff.last_ns;
    return true;
}

int64_t th_left_alone_ns(const th_worker *victim) {
    /* relaxed: as in `back_off` (find.c) */
    int64_t ns = th_load_relaxed(&victim->xalone_ns);
    if (!ns || victim->sched->workers_regular == 2) { /* no other thief but a spare */
        return 0;
    }
    /* relaxed: as in `back_off` (find.c) */
    int64_t passed = th_os_ticks_ns(th_os_ticks() - th_load_relaxed(&victim->xalone_at));
    return passed < ns ? ns - passed : 0;
}
