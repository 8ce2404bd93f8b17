/*
 * whole.c: see whole.h.
 */
#include "whole.h"

#include <string.h>

#include "core/ready/external.h"
#include "core/due/fork_slots.h"
#include "core/policy/policy.h"
#include "core/due/poll.h"
#include "core/basis/config.h"
#include "core/state/thread_exit.h"
#include "core/state/worker.h"
#include "core/task/fork_call.h"
#include "core/task/run.h"
#include "core/worker/find.h"
#include "core/state/poller.h"
#include "crew.h"
#include "platform/platform.h"
#include "platform/sim/controller.h"
#include "platform/sim/outside.h"

#define SCHEDS 2
static thrum_sched *scheds[SCHEDS];

thrum_config whole_config(unsigned workers) {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = workers;
    config.local_capacity = 2;
    config.stack_size = 16384;
    return config;
}

static void watch(thrum_sched *sched) {
    scheds[scheds[0] != NULL] = sched;
}

thrum_sched *whole_start(const thrum_config *config) {
    thrum_sched *sched = NULL;
    sim_may_refuse(false);
    sim_check(thrum_sched_start(&sched, config) == 0);
    sim_may_refuse(true);
    watch(sched);
    return sched;
}

/* As without hooks; but then free pages of handles go back to the system, which are more steps. */
static void *plain_alloc(void *ctx, size_t size) {
    (void)ctx;
    return th_os_alloc(size);
}

static void plain_free(void *ctx, void *ptr) {
    (void)ctx;
    th_os_free(ptr);
}

thrum_sched *whole_start_told(unsigned workers, void (*deadlock)(void *ctx, const char *report)) {
    thrum_config config = whole_config(workers);
    config.alloc = plain_alloc;
    config.free = plain_free;
    config.deadlock = deadlock;
    config.blocking_threads_max = 1;
    config.blocking_keepalive = THRUM_FOREVER;
    return whole_start(&config);
}

void whole_stop(thrum_sched *sched) {
    sim_check(thrum_sched_stop(sched) == 0);
    whole_forget(sched);
}

void whole_forget(const thrum_sched *sched) {
    for (unsigned i = 0; i < SCHEDS; i++) {
        if (scheds[i] == sched) {
            scheds[i] = NULL;
        }
    }
}

/* ---- bare ---- */

static void bare_worker(void *arg) {
    th_worker *worker = arg;
    th_thread *thread = th_thread_self();
    worker->errno_at = th_os_errno_at();
    worker->current = &worker->home;
    th_thread_becomes(worker);
    for (th_work *work; (work = th_find(worker));) {
        th_run(&worker->home, work);
    }
    th_thread_becomes(NULL);
    th_thread_ends(thread);
}

bool whole_afences_shut;

static void bare_init(thrum_sched *sched, th_worker *worker, unsigned index) {
    unsigned capacity = sched->config.local_capacity;
    worker->sched = sched;
    worker->policy = sched->policy;
    worker->index = index;
    worker->picks.until_inject = sched->config.global_interval;
    worker->picks.fair_interval = sched->config.global_interval;
    worker->home = (th_fiber){.worker = worker, .sched = sched, .work.worker = -1};
    th_random_seed(&worker->random, (uint64_t)index + 1);
    th_work **slots = th_sched_alloc(sched, capacity * sizeof *slots);
    th_ring_init(&worker->ring, slots, capacity);
    slots = th_sched_alloc(sched, TH_READY * sizeof *slots);
    th_ring_init(&worker->ready, slots, TH_READY);
    slots = th_sched_alloc(sched, TH_YIELDS * sizeof *slots);
    th_ring_init(&worker->yields, slots, TH_YIELDS);
    worker->sharded.yield_marks =
        th_sched_alloc(sched, TH_YIELD_MARKS * sizeof *worker->sharded.yield_marks);
    worker->sharded.inject_served = true;
    worker->fence.xrevoked = whole_afences_shut ? TH_AFENCE_SHUT : TH_AFENCE_OPEN;
    th_inject_init(&worker->inbox);
    th_poller_init(&worker->poller, sched, worker);
    th_forks_init(&worker->forks, sched->workers_count > 1);
    crew_timers_init(&worker->own_timers, worker);
    worker->own_timers.special = sched->policy->submit_due ? TH_TIMERS_IN_ORDER : 0;
    worker->timers =
        sched->policy->submit_due ? &sched->workers[0].own_timers : &worker->own_timers;
    worker->rounds.seen_ticks =
        th_sched_alloc(sched, sched->workers_count * sizeof *worker->rounds.seen_ticks);
}

thrum_sched *whole_start_bare(const thrum_config *config) {
    sim_may_refuse(false); /* it cannot bear refused memory */
    thrum_config settled;
    sim_check(th_config_settle(&settled, config) == 0);
    void *block = settled.alloc(NULL, sizeof(thrum_sched) + alignof(thrum_sched));
    uintptr_t mask = alignof(thrum_sched) - 1;
    thrum_sched *sched = (thrum_sched *)(((uintptr_t)block + mask) & ~mask);
    memset(sched, 0, sizeof *sched);
    sched->block = block;
    sched->config = settled;
    sched->policy = settled.policy == THRUM_GLOBAL ? &th_policy_global
                    : settled.policy == THRUM_FIFO ? &th_policy_fifo
                                                   : &th_policy_sharded;
    sched->searchers_max = settled.searchers_max;
    sched->fork_call = th_fork_call;
    unsigned count = settled.workers;
    sched->workers_count = count;
    sched->workers_regular = count;
    sched->xworkers_end = count;
    sched->can_order = !whole_afences_shut;
    sched->workers_block = th_sched_alloc(sched, count * sizeof(th_worker) + alignof(th_worker));
    mask = alignof(th_worker) - 1;
    sched->workers = (th_worker *)(((uintptr_t)sched->workers_block + mask) & ~mask);
    sched->strides = th_sched_alloc(sched, count * sizeof *sched->strides);
    for (unsigned i = 1; i <= count; i++) { /* coprime to 1, 2 and 3: that is enough here */
        if (i == 1 || (i < count && count == 3)) {
            sched->strides[sched->strides_count++] = i;
        }
    }
    if (settled.policy == THRUM_FIFO && count > 1) {
        unsigned capacity = th_fifo_capacity(settled.fifo_block);
        th_work **slots = th_sched_alloc(sched, capacity * sizeof *slots);
        th_mcsp_init(&sched->fifo.ready, slots, capacity);
    }
    for (unsigned i = 0; i < count; i++) {
        bare_init(sched, &sched->workers[i], i);
    }
    th_poller_init(&sched->loose_poller, sched, NULL);
    th_alarm_init(&sched->alarm);
    th_external_open(sched);
    watch(sched);
    for (unsigned i = 0; i < count; i++) {
        th_worker *worker = &sched->workers[i];
        sim_check(th_os_thread_start(&worker->thread, "bare", bare_worker, worker) == 0);
    }
    sim_may_refuse(true);
    return sched;
}

/* ---- all threads sleep ---- */

#define RESTED(cond) ((cond) ? (void)0 : sim_failed("lost wakeup", __FILE__, __LINE__, #cond))

/* The exact first deadline. The wheel's own functions are watched, so this one looks itself. */
SIM_UNSEEN static int64_t first_deadline(const th_wheel *wheel) {
    int64_t first = wheel->near.first ? wheel->near.first->deadline : INT64_MAX;
    if (!wheel->levels &&
        wheel->slots[TH_WHEEL_OPEN].ring.next == &wheel->slots[TH_WHEEL_OPEN].ring) {
        return first;
    }
    for (unsigned i = 0; i <= TH_WHEEL_OPEN; i++) {
        const th_link *ring = &wheel->slots[i].ring;
        for (const th_link *at = ring->next; at != ring; at = at->next) {
            int64_t deadline = th_container(at, th_timer, list)->deadline;
            first = deadline < first ? deadline : first;
        }
    }
    return first;
}

SIM_UNSEEN static uint64_t ring_size(const th_ring *ring) {
    return ring->xtail - ring->xhead;
}

SIM_UNSEEN static bool backs_off(const thrum_sched *sched) {
    bool any = sched->xdeferred != 0;
    for (unsigned i = 0; i < sched->workers_count; i++) {
        any |= sched->workers[i].backing_off;
    }
    return any;
}

SIM_UNSEEN static bool inject_is_empty(const th_inject *inject) {
    return !inject->front.xtop && !inject->xrest && !inject->list.first;
}

SIM_UNSEEN static bool fifo_is_empty(const th_fifo *fifo) {
    return !fifo->front.xtop && !fifo->rest.first && !fifo->xrest && !ring_size(&fifo->ready.ring);
}

SIM_UNSEEN static uint64_t fifo_posted(const th_fifo *fifo) {
    uint64_t n = fifo->rest.count + ring_size(&fifo->ready.ring);
    for (const th_work *work = fifo->front.xtop; work; work = work->next) {
        n++;
    }
    return n;
}

/* The time until which a parked worker sleeps at the place in its word. */
SIM_UNSEEN int64_t whole_sleeps_until(const th_worker *w) {
    bool polls = (w->xsleep & TH_SLEEP_POLLING) != 0;
    return sim_sleeps_until(polls ? sim_set_word(&w->poller.set) : (const void *)&w->xsleep);
}

/*
 * No event is slept over: a worker that is parked sleeps in its set, if there is one, and nothing
 * has happened there.
 */
SIM_UNSEEN static void poller_rests(const th_worker *w) {
    if (w->poller.xopen && (w->xsleep & TH_SLEEP_PARKED)) {
        RESTED(w->xsleep & TH_SLEEP_POLLING);
        RESTED(!sim_set_has_event(&w->poller.set));
        RESTED(!w->poller.got);
    }
}

/*
 * Nothing is overdue. If no other worker is awake to see to it, its owner is parked and sleeps
 * until the first deadline at the latest.
 */
SIM_UNSEEN static void timers_rest(const th_worker *w) {
    const th_timers *timers = &w->own_timers;
    int64_t first = first_deadline(&timers->wheel);
    RESTED(timers->lock.xword == 0);
    RESTED(timers->xearliest <= first);
    if (!(w->xsleep & TH_SLEEP_PARKED)) {
        return;
    }
    RESTED(whole_sleeps_until(w) <= timers->xearliest);
    RESTED(first == INT64_MAX || first > sim_now());
}

SIM_UNSEEN static void worker_rests(const th_worker *w) {
    RESTED(w->xsleep & TH_SLEEP_PARKED);
    RESTED(inject_is_empty(&w->inbox));
    RESTED(!w->pinned.first && !w->pinned_yields.first);
    RESTED(!w->xslot && !w->handoff && !w->due.first);
    RESTED(!ring_size(&w->ready) && !ring_size(&w->ring) && !ring_size(&w->yields));
    for (unsigned i = 0; i < TH_BATCH; i++) {
        RESTED(!w->batch.xplace[i] && !w->yields_batch.xplace[i] && !w->fifo.outbox.xplace[i]);
    }
    RESTED(w->forks.xslot <= TH_FORK_EMPTY && w->forks.xtail == w->forks.xhead);
    RESTED(!(w->xsleep & TH_SLEEP_NOTIFIED));
    poller_rests(w);
    timers_rest(w);
}

/* The amount begun and not ended, as counted (done: suspended work is counted as well). */
SIM_UNSEEN static int64_t open_of(const th_activity *activity, bool done) {
    uint64_t began = activity->xcreated + (done ? 0 : activity->xreadied);
    uint64_t ended = activity->xfinished + (done ? 0 : activity->xsuspended);
    return (int64_t)(began - ended);
}

/* Whether begins and ends are equal: nothing runs (done: nothing is left). */
SIM_UNSEEN static bool balanced(const thrum_sched *sched, bool done) {
    int64_t open = open_of(&sched->externals.retired.activity, done);
    for (unsigned i = 0; i < sched->workers_count; i++) {
        open += open_of(&sched->workers[i].activity, done);
        /* timers fired by threads that are not workers */
        open += done ? 0 : (int64_t)sched->workers[i].own_timers.xreadied;
    }
    for (const th_external *r = sched->externals.first; r; r = r->next_of_sched) {
        open += open_of(&r->activity, done);
    }
    return open == 0;
}

SIM_UNSEEN static void sched_rests(const thrum_sched *sched) {
    if (backs_off(sched)) {
        return;
    }
    RESTED(inject_is_empty(&sched->ready) && !sched->ready.xturn);
    RESTED(inject_is_empty(&sched->inject) && !sched->inject.xturn);
    RESTED(fifo_is_empty(&sched->fifo_ready) && !sched->fifo_ready.combiner.xcombiner);
    RESTED(fifo_is_empty(&sched->fifo) && !sched->fifo.combiner.xcombiner);
    RESTED(!sched->xglobal_count && !sched->xpriorities);
    for (unsigned i = 0; i < sched->workers_count; i++) {
        worker_rests(&sched->workers[i]);
    }
    uint64_t word = sched->xpark;
    RESTED(((word >> TH_PARK_PARKED_SHIFT) & TH_PARK_FIELD) == sched->workers_count);
    RESTED(((word >> TH_PARK_SEARCHERS_SHIFT) & TH_PARK_FIELD) == 0);
    RESTED(!sched->xexit);
    RESTED(balanced(sched, false));
    RESTED(!sched->xquiesce_waiters || !balanced(sched, true));
    /* a thread that unbinds may leave fibers behind while all workers sleep */
    RESTED(sched->bound_binds || !sched->xfibers_unmeasured);
    RESTED(sched->bound_binds || sched->fibers_count <= TH_FIBER_CACHE_STORED);
}

SIM_UNSEEN void whole_asleep(void) {
    for (unsigned i = 0; i < SCHEDS; i++) {
        if (scheds[i]) {
            sched_rests(scheds[i]);
        }
    }
}

SIM_UNSEEN static void shared_rests(const thrum_sched *sched) {
    bool parked = false;
    for (unsigned i = 0; i < sched->workers_count; i++) {
        const th_worker *w = &sched->workers[i];
        if (w->xsleep & TH_SLEEP_PARKED) {
            parked = true;
            RESTED(inject_is_empty(&w->inbox) && !w->xtied_priorities);
        }
        poller_rests(w);
        timers_rest(w);
        RESTED(!(w->xsleep & TH_SLEEP_NOTIFIED)); /* notified, and not woken */
    }
    if (!parked) {
        return;
    }
    RESTED(inject_is_empty(&sched->ready) && inject_is_empty(&sched->inject));
    RESTED(fifo_posted(&sched->fifo_ready) < 2 && fifo_posted(&sched->fifo) < 2);
    RESTED(!sched->xglobal_count && !(sched->xpriorities & TH_PRIORITIES_SHARED));
    for (unsigned i = 0; i < sched->workers_count; i++) {
        RESTED(ring_size(&sched->workers[i].ready) < 2 && ring_size(&sched->workers[i].ring) < 2);
    }
}

SIM_UNSEEN void whole_asleep_shared(void) {
    for (unsigned i = 0; i < SCHEDS; i++) {
        if (scheds[i] && !backs_off(scheds[i])) {
            shared_rests(scheds[i]);
        }
    }
}

SIM_UNSEEN void whole_asleep_inject(void) {
    for (unsigned i = 0; i < SCHEDS; i++) {
        bool parked = false;
        for (unsigned j = 0; scheds[i] && j < scheds[i]->workers_count; j++) {
            parked |= (scheds[i]->workers[j].xsleep & TH_SLEEP_PARKED) != 0;
        }
        RESTED(!parked || inject_is_empty(&scheds[i]->inject));
    }
}

/* ---- tasks that count ---- */

thrum_task whole_tasks[WHOLE_TASKS];
unsigned whole_ran[WHOLE_TASKS];

unsigned whole_number(const thrum_task *task) {
    unsigned i = (unsigned)(task - whole_tasks);
    sim_check(i < WHOLE_TASKS);
    return i;
}

void whole_count(thrum_task *self, void *arg) {
    (void)arg;
    whole_ran[whole_number(self)]++;
}

void whole_post(thrum_sched *sched, unsigned i, thrum_task_fn fn, void *arg) {
    thrum_task_init(&whole_tasks[i], fn, arg);
    sim_check(thrum_task_post(sched, &whole_tasks[i]) == 0);
}

void whole_ran_once(unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++) {
        sim_check(whole_ran[i] == 1);
    }
}

/* ---- gates ---- */

void whole_open(whole_gate *gate) {
    th_store_relaxed(&gate->xopen, 1u); /* relaxed: it orders nothing that the library should */
    th_os_futex_wake(&gate->xopen, 8);
}

void whole_pass(whole_gate *gate) {
    while (!th_load_relaxed(&gate->xopen)) { /* relaxed: as above */
        th_os_futex_wait(&gate->xopen, 0, TH_FOREVER);
    }
}
