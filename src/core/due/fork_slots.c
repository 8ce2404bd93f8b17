/*
 * fork_slots.c: see fork_slots.h: offering, giving, taking back, stealing. The short paths, of each
 * fork and of each join of a fork that no thief took, are in parallel/forking.h.
 */
#include "core/due/fork_slots.h"

#include "base/annotate.h"
#include "base/check.h"
#include "core/ready/submit.h"
#include "core/ready/wake.h"
#include "core/state/worker.h"
#include "platform/asymmetric.h"

void th_forks_init(th_forks *forks, bool shared) {
    /* relaxed: no other thread knows it yet */
    th_store_relaxed(&forks->xslot, shared ? TH_FORK_EMPTY : TH_FORK_CLOSED);
    th_lock_init(&forks->lock);
}

bool th_forks_hungry(void) {
    const th_worker *worker = th_here();
    /* relaxed: a guess */
    return worker && th_load_relaxed(&worker->forks.xslot) == TH_FORK_EMPTY;
}

/* ---- the call, made by another worker than its owner's ---- */

/*
 * Makes the fork work. Rescuers do this in their worker's context, so it is not shown to the thread
 * sanitizer: the frame is the owner's again soon.
 */
static TH_NO_TSAN void make_work(const th_worker *worker, th_fork *fork) {
    fork->call.work.next = NULL;
    fork->call.work.kind = TH_WORK_CALL;
    fork->call.work.worker = -1;
    fork->call.fn = worker->sched->fork_call;
}

/* ---- the owner ---- */

static th_fork *offered_of(const th_forks *forks) {
    return th_load_relaxed(&forks->offered); /* relaxed: only the owner knows it */
}

static void set_offered(th_forks *forks, th_fork *fork) {
    th_store_relaxed(&forks->offered, fork); /* relaxed: only the owner knows it */
}

static uint64_t head_seen(const th_forks *forks) {
    return th_load_relaxed(&forks->head_seen); /* relaxed: only the owner knows it */
}

static void see_head(th_forks *forks, uint64_t head) {
    th_store_relaxed(&forks->head_seen, head); /* relaxed: only the owner knows it */
}

/*
 * Takes the oldest private forks, `most` at most: those of [*from, the new head). Their places in
 * the array are written again only after the owner's next push.
 */
static uint64_t take_oldest(th_forks *forks, uint64_t most, uint64_t *from) {
    uint64_t tail = th_load_relaxed(&forks->xtail); /* relaxed: only the owner writes it */
    th_lock_acquire(&forks->lock);
    uint64_t head = th_load_relaxed(&forks->xhead); /* relaxed: under its lock */
    uint64_t n = tail - head < most ? tail - head : most;
    th_store_relaxed(&forks->xhead, head + n); /* relaxed: under its lock */
    th_lock_release(&forks->lock);
    *from = head;
    see_head(forks, head + n);
    return head + n;
}

static th_fork *private_at(const th_forks *forks, uint64_t index) {
    return th_load_relaxed(&forks->xprivate[index % TH_FORKS]); /* relaxed: the owner wrote it */
}

/* Counted as created when it is offered: at the theft it would be too late. */
static void offer(th_worker *worker, th_fork *fork, bool backlog) {
    make_work(worker, fork);
    th_store_relaxed(&fork->xworker, NULL); /* relaxed: its owner reads it */
    set_offered(&worker->forks, fork);
    th_activity_began(&worker->activity.xcreated);
    th_tsan_release(fork);
    /* pairs: steal_from; publishes the fork */
    th_store_release(&worker->forks.xslot, (uintptr_t)fork);
    th_enter(worker);
    th_notify(worker, backlog);
    th_leave(worker);
}

/* Queues the fork like a task that was just spawned. */
static void give(th_worker *worker, th_fork *fork) {
    make_work(worker, fork);
    th_store_relaxed(&fork->xworker, NULL); /* relaxed: its owner reads it */
    th_call_submit(worker, &fork->call);
}

static void give_oldest(th_worker *worker, uint64_t most) {
    uint64_t at;
    uint64_t end = take_oldest(&worker->forks, most, &at);
    for (; at != end; at++) {
        give(worker, private_at(&worker->forks, at));
    }
}

void th_forks_expose(th_worker *worker) {
    th_forks *forks = &worker->forks;
    uint64_t at;
    set_offered(forks, NULL); /* the offered fork was stolen */
    if (take_oldest(forks, 1, &at) != at) {
        /* relaxed: only the owner writes it */
        bool more = head_seen(forks) != th_load_relaxed(&forks->xtail);
        offer(worker, private_at(forks, at), more);
    }
}

static void push_private(th_forks *forks, th_fork *fork) {
    uint64_t tail = th_load_relaxed(&forks->xtail); /* relaxed: only the owner writes it */
    fork->index = tail;
    /* relaxed: published by the tail */
    th_store_relaxed(&forks->xprivate[tail % TH_FORKS], fork);
    /* pairs: take_half; publishes the place and the fork */
    th_store_release(&forks->xtail, tail + 1);
}

/*
 * The slot is empty, or this is the first private fork, or there is no room. A second outstanding
 * fork is worth a wake, a single one is left to the sentinel (th_notify).
 */
void th_fork_push_slow(th_worker *worker, th_fork *fork) {
    th_forks *forks = &worker->forks;
    worker->current->dirty = true;                  /* the run's end checks that all are joined */
    uint64_t tail = th_load_relaxed(&forks->xtail); /* relaxed: only the owner writes it */
    /* relaxed: nothing comes with it */
    bool empty = th_load_relaxed(&forks->xslot) == TH_FORK_EMPTY;
    if (empty && tail == head_seen(forks)) {
        offer(worker, fork, false);
        return;
    }
    if (tail - head_seen(forks) >= TH_FORKS) {
        give_oldest(worker, TH_FORKS / 2);
    }
    bool first = tail == head_seen(forks);
    push_private(forks, fork);
    if (empty) {
        th_forks_expose(worker);
    } else if (first && offered_of(forks)) {
        th_enter(worker);
        th_notify(worker, true);
        th_leave(worker);
    }
}

/* Takes the offered fork back, unless a thief has taken it. */
static bool take_back(th_worker *worker, th_fork *fork) {
    uintptr_t state = (uintptr_t)fork;
    set_offered(&worker->forks, NULL);
    /* relaxed: the fork is the owner's own; or a thief has it, and then th_fork_wait acquires */
    if (!th_cas_relaxed(&worker->forks.xslot, &state, TH_FORK_EMPTY)) {
        return false;
    }
    th_count(&worker->forks.xtaken_back, 1);        /* relaxed: published by the next */
    th_activity_ended(&worker->activity.xfinished); /* ends the count by `offer`; the run goes on */
    return true;
}

/*
 * A rescuer may have moved the head and moves it back again: the lock shows it. If the fork is
 * gone, the array is empty.
 */
static bool pop_behind_head(th_forks *forks, uint64_t at) {
    th_lock_acquire(&forks->lock);
    uint64_t head = th_load_relaxed(&forks->xhead); /* relaxed: under its lock */
    th_lock_release(&forks->lock);
    see_head(forks, head);
    if (head <= at) {
        return true;
    }
    th_check(head == at + 1);
    th_store_relaxed(&forks->xtail, head); /* relaxed: as it was; nothing new is below it */
    return false;
}

void th_forks_orphaned(th_forks *forks) {
    th_store_relaxed(&forks->xhead, UINT64_MAX); /* relaxed: no other thread is there */
}

bool th_fork_pop_slow(th_fork *fork, th_worker *worker, const char *call) {
    if (worker) {
        if (worker->sched->abandoned) {
            th_misuse(call, "in the child of a process's fork: it is the parent's", fork);
        }
        return pop_behind_head(&worker->forks, fork->index);
    }
    worker = th_here();
    if (worker && offered_of(&worker->forks) == fork) {
        if (!take_back(worker, fork)) {
            return false;
        }
        fork->index = TH_FORK_OVER; /* for th_fork_wait */
        return true;
    }
    /* pairs: rescue_private; the thief has counted it (core/ready/QUIESCENCE.md) */
    (void)th_load_acquire(&fork->xworker);
    return false;
}

void th_forks_give_all(th_worker *worker) {
    th_forks *forks = &worker->forks;
    th_fork *offered = offered_of(forks);
    if (offered && take_back(worker, offered)) {
        give(worker, offered);
    }
    /* relaxed: only the owner writes it */
    if (th_load_relaxed(&forks->xtail) != head_seen(forks)) {
        give_oldest(worker, UINT64_MAX);
    }
}

void th_forks_end(th_worker *worker) {
    th_forks *forks = &worker->forks;
    uint64_t at;
    if (take_oldest(forks, UINT64_MAX, &at) != at || offered_of(forks)) {
        th_misuse("thrum_fork_start", "the task ended before the join", forks);
    }
}

/* ---- thieves ---- */

static th_work *steal_from(th_worker *victim) {
    uintptr_t fork = th_load_relaxed(&victim->forks.xslot); /* relaxed: the exchange decides */
    if (fork == TH_FORK_CLOSED || fork == TH_FORK_EMPTY) {
        return NULL;
    }
    /*
     * ABA: if it was taken back and another fork is offered that lies at the same address, then
     * that one is taken: nothing was read of it before.
     * pairs: offer; publishes the fork
     */
    bool taken = th_cas_acquire(&victim->forks.xslot, &fork, TH_FORK_EMPTY);
    return taken ? &((th_fork *)fork)->call.work : NULL;
}

th_work *th_forks_steal(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    unsigned end = th_workers_end(sched);
    unsigned at = th_random_below(&worker->random, end);
    for (unsigned i = 0; i < end; i++) {
        th_worker *victim = &sched->workers[at];
        th_work *work = victim == worker ? NULL : steal_from(victim);
        if (work) {
            return work;
        }
        at = at + 1 == end ? 0 : at + 1;
    }
    return NULL;
}

bool th_forks_seen(const th_worker *worker) {
    const thrum_sched *sched = worker->sched;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        const th_worker *victim = &sched->workers[i];
        /* relaxed: a guess */
        if (victim != worker && th_load_relaxed(&victim->forks.xslot) > TH_FORK_EMPTY) {
            return true;
        }
    }
    return false;
}

bool th_forks_left_at(const th_worker *victim) {
    const th_forks *forks = &victim->forks;
    /* relaxed: guesses, or ordered by the caller's barrier */
    return th_load_relaxed(&forks->xslot) > TH_FORK_EMPTY ||
           th_load_relaxed(&forks->xtail) != th_load_relaxed(&forks->xhead);
}

bool th_forks_left(const th_worker *worker) {
    const thrum_sched *sched = worker->sched;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        if (i != worker->index && th_forks_left_at(&sched->workers[i])) {
            return true;
        }
    }
    return false;
}

/*
 * With the lock: moves the head over half of the private forks, makes a barrier on all processors,
 * and keeps the forks that the owner has not popped. The owner stores its new tail and then reads
 * the head: after the barrier either the rescuer sees that tail, or the owner sees the new head and
 * waits for the lock. Returns the new head; *from is the old one.
 */
static uint64_t take_half(th_forks *forks, uint64_t *from) {
    uint64_t head = th_load_relaxed(&forks->xhead); /* relaxed: under its lock */
    uint64_t tail = th_load_relaxed(&forks->xtail); /* relaxed: a guess; it is read again */
    *from = head;
    if (tail <= head) {
        return head;
    }
    uint64_t end = head + (tail - head + 1) / 2;
    th_store_relaxed(&forks->xhead, end); /* relaxed: ordered by the barrier */
    if (!th_fence_heavy()) {
        end = head; /* the barrier was refused: take nothing */
    }
    /* pairs: push_private, th_fork_push; publishes the places and the forks */
    tail = th_load_acquire(&forks->xtail);
    if (tail < end) {
        end = tail > head ? tail : head;
    }
    th_store_relaxed(&forks->xhead, end); /* relaxed: an owner that saw the other takes the lock */
    return end;
}

/* Returns the first fork and queues the others at this worker. */
static th_work *rescue_private(th_worker *worker, th_forks *forks) {
    uint64_t at;
    th_work *first = NULL;
    if (!th_lock_try(&forks->lock)) {
        return NULL;
    }
    uint64_t end = take_half(forks, &at);
    for (uint64_t i = at; i != end; i++) {
        th_fork *fork = private_at(forks, i);
        th_activity_began(&worker->activity.xcreated);
        make_work(worker, fork);
        /* pairs: th_fork_pop_slow; publishes the count */
        th_store_release(&fork->xworker, NULL);
        if (first) {
            th_submit(worker, &fork->call.work, THRUM_HINT_NONE);
        } else {
            first = &fork->call.work;
        }
    }
    th_lock_release(&forks->lock);
    return first;
}

th_work *th_forks_rescue(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_work *work = th_forks_steal(worker);
    for (unsigned i = 0; i < th_workers_end(sched) && !work && sched->can_order; i++) {
        th_forks *forks = &sched->workers[i].forks;
        /* relaxed: guesses; as the slot is empty, the owner has not forked or joined since then */
        if (i != worker->index && th_load_relaxed(&forks->xslot) == TH_FORK_EMPTY &&
            th_load_relaxed(&forks->xtail) > th_load_relaxed(&forks->xhead)) {
            work = rescue_private(worker, forks);
        }
    }
    return work;
}
