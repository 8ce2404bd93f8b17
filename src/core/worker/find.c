/*
 * find.c: a worker's next work: from its queues, from other workers, or after sleeping.
 */
#include "core/worker/find.h"

#include "base/usdt.h"
#include "core/ready/deferred.h"
#include "core/ready/priority.h"
#include "core/due/fork_slots.h"
#include "core/due/poll.h"
#include "core/policy/steal_backoff.h"
#include "core/ready/submit.h"
#include "core/due/timer.h"
#include "core/ready/wake.h"
#include "core/state/panic.h"
#include "core/worker/park.h"
#include "core/trace/trace_notes.h"
#include "platform/platform.h"

/* How often it looks at a queue whose turn another worker has, before it parks all the same. */
#define TURN_SPINS TH_LIMIT(64, 2)

/*
 * Backs off, and measures the victim's progress meanwhile. No other thief may steal there during
 * that time, so that only the victim is measured.
 */
static void back_off(th_worker *worker) {
    th_steal_backoff *backoff = &worker->backoff;
    uint64_t at = th_os_ticks();
    uint64_t runs = th_runs_begun(backoff->victim);
    /* relaxed: for thieves to read; two halves that do not belong together do no harm */
    th_store_relaxed(&backoff->victim->xalone_ns, worker->backoff.ns);
    th_store_relaxed(&backoff->victim->xalone_at, at); /* relaxed: as above */
    th_park(worker);
    th_speed_add(&backoff->apart, th_runs_begun(backoff->victim) - runs, th_os_ticks() - at);
}

/* Notes the victim in the trace. It is known for work from another worker's queue. */
static void note_theft(th_worker *worker, const th_worker *victim) {
    TH_USDT2(steal, worker->index, victim ? (int)victim->index : -1);
    if (th_is_traced(worker)) {
        th_trace_notes(worker, TH_TRACED_STOLE, victim ? victim->index + 1 : 0);
    }
}

/*
 * For a worker that was woken for a single task that no thief may take. Its owner has noted the run
 * in which that was queued, and while it is still in that run, it has not picked since.
 */
static th_work *rescue_told(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    bool told = false;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        const th_worker *w = &sched->workers[i];
        uint64_t tick = th_load_relaxed(&w->xtick); /* relaxed: only whether it moves */
        /* relaxed: the worker that it woke has acquired it */
        if (w != worker && tick && tick == th_load_relaxed(&w->xlone_tick)) {
            worker->rounds.seen_ticks[i] = tick;
            told = true;
        }
    }
    return told ? sched->policy->rescue(worker, &worker->look_unsure) : NULL;
}

/* Also counts a pick if it finds work: a report would count the time of the search as its run. */
static th_work *search(th_worker *worker) {
    worker->backoff.ns = 0;
    if (!th_search_begin(worker)) {
        return NULL;
    }
    th_count(&worker->counters.xsteals_tried, 1);
    th_work *work = worker->policy->steal(worker);
    if (work) {
        worker->backoff.ns = 0;
        th_count(&worker->xtick, 1);
        th_count(&worker->counters.xsteals_done, 1);
        th_count(&worker->counters.xruns_stolen, 1);
        th_steal_backoff_begin(worker);
        note_theft(worker, worker->backoff.victim);
        if (th_ring_size(&worker->ring) || th_ring_size(&worker->ready)) {
            th_notify(worker, false); /* for the rest of the stolen work */
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
    if (work) {
        th_count(&worker->xtick, 1);
    }
    if (work || (worker->backoff.ns && th_others_parked(worker))) {
        worker->backoff.ns = 0;
    }
    return work;
}

static th_work *take_handoff(th_worker *worker) {
    th_work *work = worker->handoff;
    worker->handoff = NULL;
    return work;
}

/* The first work that the worker has fired, unless the pick is to choose among priorities. */
static th_work *take_fired(th_worker *worker) {
    th_work *work = take_handoff(worker);
    if (th_unlikely(work && th_priority_any(worker->sched))) {
        th_submit(worker, work, th_due_hint(work));
        work = NULL;
    }
    return work;
}

/*
 * Nothing else is there: work of low priority. Not while another worker has the turn of a queue
 * that is not empty.
 */
static th_work *take_rest(th_worker *worker) {
    th_work *work = worker->turn_lost ? NULL : th_priority_take_rest(worker);
    if (work) {
        worker->backoff.ns = 0;
        th_count(&worker->xtick, 1);
    }
    return work;
}

static th_work *find_once(th_worker *worker) {
    th_work *work = take_handoff(worker);
    worker->picks.quick = NULL;
    if (work) {
        return work;
    }
    if (th_unlikely(worker->backoff.at) && !th_poll_has_put_off(worker) &&
        !th_priority_any(worker->sched) && th_steal_backs_off(worker)) {
        back_off(worker);
    }
    th_timers_poll(worker, worker->woken);
    if ((work = take_fired(worker)) || (work = worker->policy->pick(worker))) {
        return work;
    }
    if (th_unlikely(worker->polls) && th_poll_own(worker, true) &&
        ((work = take_fired(worker)) || (work = worker->policy->pick(worker)))) {
        return work;
    }
    if (th_timers_help(worker, worker->woken) &&
        ((work = take_fired(worker)) || (work = worker->policy->pick(worker)))) {
        return work; /* overdue timers of its own, or of a worker that does not come round */
    }
    if (th_unlikely(th_is_spare(worker)) && th_poll_help(worker) &&
        (work = worker->policy->pick(worker))) {
        return work; /* of a worker that it takes over for */
    }
    if ((work = th_deferred_take(worker))) {
        return work;
    }
    work = worker->sched->workers_count > 1 ? search(worker) : NULL;
    return work ? work : take_rest(worker);
}

/*
 * The inject queue has work and another worker has its turn: that is over very soon, unless its
 * holder was preempted. Parking would only find the same queue not empty.
 */
static TH_NO_TSAN bool wait_for_turn(th_worker *worker, unsigned *spins) {
    bool lost = worker->turn_lost && *spins < TURN_SPINS;
    worker->turn_lost = false;
    if (lost) {
        th_backoff(spins);
    }
    return lost;
}

void th_found(th_worker *worker) {
    if (th_unlikely(worker->searching || worker->sentinel)) {
        th_went_busy(worker);
    } else if (th_unlikely(worker->woken)) {
        th_went_busy_alone(worker);
    }
    worker->woken = false;
}

/* Not shown to the thread sanitizer: `spins` may lie on a task's stack (base/annotate.h). */
TH_NO_TSAN th_work *th_find(th_worker *worker) {
    unsigned spins = 0;
    for (;;) {
        th_work *work = find_once(worker);
        if (work) {
            th_found(worker);
            return work;
        }
        /* pairs: end_threads; all tasks have ended, as the user's hook expects (worker_stop) */
        if (th_load_acquire(&worker->sched->xexit)) {
            return NULL;
        }
        if (!wait_for_turn(worker, &spins)) {
            th_park(worker);
            if (th_unlikely(worker->find)) { /* its own search goes on */
                worker->stint.slept = true;
                return NULL;
            }
        }
    }
}
