/*
 * tick_marks.c: see tick_marks.h.
 */
#include "core/trace/tick_marks.h"

#include <string.h>

#include "base/annotate.h"
#include "core/state/worker.h"

#define GAP_NS 1000000 /* a mark younger than the last by less adds nothing */

/* With the lock: drops the mark whose neighbours lie closest together, as parts of its age. */
static void drop_one(th_tick_marks *marks, int64_t now) {
    unsigned least = 1;
    double least_gap = 0;
    for (unsigned i = 1; i + 1 < marks->count; i++) {
        const th_tick_mark *mark = &marks->marks[i];
        const double gap = (double)(mark[1].at - mark[-1].at) / (double)(now - mark->at + GAP_NS);
        if (i == 1 || gap < least_gap) {
            least = i;
            least_gap = gap;
        }
    }
    marks->count--;
    memmove(&marks->marks[least], &marks->marks[least + 1],
            (marks->count - least) * sizeof marks->marks[0]);
}

/* Whether a body of a task is on it: read as by snapshots, so not shown to the sanitizer. */
static TH_NO_TSAN bool runs_task(const th_worker *worker) {
    if (TH_LIMIT(false, true)) {
        return false; /* the simulator would report the race, which makes one figure wrong */
    }
    return th_running_on(worker) && !th_seems_parked(worker);
}

/* With the lock: the first mark that is not before both, or NULL. */
static const th_tick_mark *first_from(const th_tick_marks *marks, uint64_t key, uint64_t tail) {
    unsigned low = 0;
    unsigned high = marks->count;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (marks->marks[middle].key >= key && marks->marks[middle].tail >= tail) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low < marks->count ? &marks->marks[low] : NULL;
}

/* With the lock: for how long the worker has been in the tick, at least. */
static int64_t in_tick(const th_tick_marks *marks, uint64_t tick, int64_t now) {
    const th_tick_mark *mark = first_from(marks, 2 * tick, 0);
    return mark && mark->key == 2 * tick && now > mark->at ? now - mark->at : 0;
}

/* Its own list, so not shown to the sanitizer. */
static TH_NO_TSAN bool has_pinned(const th_worker *worker) {
    return *(const volatile size_t *)&worker->pinned.count || !th_inject_is_empty(&worker->inbox);
}

/* With the lock. */
static void note_inbox(th_worker *worker, uint64_t tick, int64_t now) {
    th_tick_marks *marks = &worker->tick_marks;
    if (!has_pinned(worker)) {
        marks->inbox_since = 0;
    } else if (!marks->inbox_since || marks->inbox_tick != tick) {
        marks->inbox_since = now;
        marks->inbox_tick = tick;
    }
}

/* Another thread that makes a mark at the same time makes this one needless. */
static void note(th_worker *worker, int64_t now) {
    th_tick_marks *marks = &worker->tick_marks;
    if (!th_lock_try(&marks->lock)) {
        return;
    }
    /* relaxed: a worker that is seen asleep has picked before; if it picks at the same time the
     * tick is one too low, and only less is known of the age */
    const uint64_t tick = th_load_relaxed(&worker->xtick);
    const bool sleeps = th_seems_parked(worker) && !worker->bound;
    const bool same = th_load_relaxed(&worker->xtick) == tick; /* relaxed: as above */
    const uint64_t key = 2 * tick + (sleeps && same);
    const uint64_t tail = th_load_relaxed(&worker->ring.xtail); /* relaxed: only a position */
    const th_tick_mark *last = marks->count ? &marks->marks[marks->count - 1] : NULL;
    if (!last || (last->at <= now && last->key <= key && last->tail <= tail &&
                  (last->key < key || last->tail < tail))) {
        if (marks->count == TH_TICK_MARKS) {
            drop_one(marks, now);
        }
        marks->marks[marks->count++] = (th_tick_mark){key, tail, now};
    }
    const int64_t run = same && runs_task(worker) ? in_tick(marks, tick, now) : 0;
    marks->longest_ns = run > marks->longest_ns ? run : marks->longest_ns;
    note_inbox(worker, tick, now);
    th_lock_release(&marks->lock);
}

static void note_inject(thrum_sched *sched, int64_t now) {
    th_inject_marks *marks = &sched->inject_marks;
    uint64_t taken = 0;
    if (!th_lock_try(&marks->lock)) {
        return;
    }
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        /* relaxed: only whether it moves */
        taken += th_load_relaxed(&sched->workers[i].counters.xruns_inject);
    }
    if (th_inject_is_empty(&sched->inject) && th_inject_is_empty(&sched->ready)) {
        marks->since = 0;
    } else if (!marks->since || marks->taken != taken) {
        marks->since = now;
        marks->taken = taken;
    }
    th_lock_release(&marks->lock);
}

void th_tick_marks_note(thrum_sched *sched, int64_t now) {
    /* The simulator asks for no ages, and each step here would be one more that it tries out. */
    const unsigned end = TH_LIMIT(th_workers_end(sched), 0u);
    for (unsigned i = 0; i < end; i++) {
        note(&sched->workers[i], now);
    }
    if (TH_LIMIT(true, false)) {
        note_inject(sched, now);
    }
}

void th_tick_marks_note_all(thrum_sched *sched, int64_t now) {
    th_tick_marks_note(sched, now);
    TH_LOCKED(&sched->bound_lock);
    for (th_worker *w = TH_LIMIT(sched->bound, NULL); w; w = w->bound_next) {
        note(w, now);
    }
}

/* ---- asking ---- */

/* Only the lock is written. */
static th_tick_marks *lock_marks(const th_worker *worker) {
    th_tick_marks *marks = (th_tick_marks *)(uintptr_t)&worker->tick_marks;
    th_lock_acquire(&marks->lock);
    return marks;
}

int64_t th_tick_marks_since(const th_worker *worker, uint64_t tick) {
    th_tick_marks *marks = lock_marks(worker);
    const th_tick_mark *mark = first_from(marks, 2 * tick + 1, 0);
    const int64_t since = mark ? mark->at : 0;
    th_lock_release(&marks->lock);
    return since;
}

int64_t th_tick_marks_running(const th_worker *worker, int64_t now) {
    th_tick_marks *marks = lock_marks(worker);
    const uint64_t tick = th_load_relaxed(&worker->xtick); /* relaxed: as of some moment */
    const int64_t run = runs_task(worker) ? in_tick(marks, tick, now) : 0;
    marks->longest_ns = run > marks->longest_ns ? run : marks->longest_ns;
    th_lock_release(&marks->lock);
    return run;
}

int64_t th_tick_marks_longest(const th_worker *worker) {
    th_tick_marks *marks = lock_marks(worker);
    const int64_t longest = marks->longest_ns;
    th_lock_release(&marks->lock);
    return longest;
}

/* The longer wait of the worker's queue and its inbox. */
int64_t th_tick_marks_queued(const th_worker *worker, int64_t now) {
    th_tick_marks *marks = lock_marks(worker);
    const th_ring *ring = &worker->ring;
    const uint64_t head = th_load_relaxed(&ring->xhead); /* relaxed: a guess */
    const th_tick_mark *mark = th_ring_size(ring) ? first_from(marks, 0, head + 1) : NULL;
    int64_t since = mark ? mark->at : now;
    /* relaxed: as above */
    if (marks->inbox_since && marks->inbox_tick == th_load_relaxed(&worker->xtick) &&
        has_pinned(worker) && marks->inbox_since < since) {
        since = marks->inbox_since;
    }
    th_lock_release(&marks->lock);
    return now > since ? now - since : 0;
}

int64_t th_tick_marks_injected(const thrum_sched *sched, int64_t now) {
    th_inject_marks *marks = (th_inject_marks *)(uintptr_t)&sched->inject_marks; /* its lock */
    TH_LOCKED(&marks->lock);
    const bool any = !th_inject_is_empty(&sched->inject) || !th_inject_is_empty(&sched->ready);
    const int64_t since = any ? marks->since : 0;
    return since && now > since ? now - since : 0;
}
