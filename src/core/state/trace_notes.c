/*
 * trace_notes.c: see trace_notes.h.
 *
 * A worker calls these functions in its own context, often on a task's stack: so none of this is
 * shown to the thread sanitizer (base/annotate.h). The simulator sees it all.
 */
#include "core/state/trace_notes.h"

#include "base/annotate.h"
#include "core/state/fork_state.h"
#include "core/state/handle.h"
#include "core/state/waiter_state.h"
#include "core/state/worker.h"
#include "platform/platform.h"

/* The id of a stretch of sleep; no run has it. */
#define PARKED UINT64_MAX

static inline uint64_t pack(unsigned small, uintptr_t address) {
    return (uint64_t)small << TH_MARK_ABOVE | (address & TH_MARK_ADDRESS);
}

/*
 * The worker's track, with the time and the trace's number for the next mark; NULL when no trace is
 * on any more. The time is read first: a mark of a trace that has ended before it is noted has no
 * place in the next one. A worker that finds a trace's number sees its flag from then on (they are
 * one word), so it notes everything that follows in that trace. The time never goes back, whatever
 * the processors' counters say.
 */
static TH_NO_TSAN th_track *noting(th_worker *worker) {
    uint64_t now = th_os_ticks();
    /* pairs: th_trace_flag; publishes a track of that trace, or of a newer one */
    uint32_t extra = th_load_acquire(&worker->xextra);
    if (!(extra & TH_EXTRA_TRACE)) {
        return NULL;
    }
    /* pairs: th_trace_give_track; publishes the track, which may be newer than the flag */
    th_track *track = th_load_acquire(&worker->xtrack);
    track->now = now > track->now ? now : track->now;
    track->number = extra >> TH_EXTRA_NUMBER;
    return track;
}

static TH_INLINE_NO_TSAN void set_name(th_mark *mark, const char *name) {
    for (unsigned i = 0; i < THRUM_NAME_MAX && name[i]; i++) {
        th_tsan_unseen();
        mark->word[TH_MARK_NAME + i / 8] |= (uint64_t)(unsigned char)name[i] << (i % 8 * 8);
    }
}

/* The function of the present run: known if the run began while tracing was on, else 0. */
static TH_INLINE_NO_TSAN uintptr_t function_of(const th_fiber *fiber) {
    return fiber->traced_run == fiber->run_id ? fiber->traced_fn : 0;
}

static TH_NO_TSAN th_mark mark_of(th_traced kind, const th_fiber *fiber) {
    th_mark mark = {{0}};
    mark.word[TH_MARK_KIND] = pack(kind, 0);
    if (fiber) {
        mark.word[TH_MARK_ID] = fiber->run_id;
        mark.word[TH_MARK_KIND] = pack(kind, function_of(fiber));
        set_name(&mark, fiber->name);
    }
    return mark;
}

static TH_NO_TSAN void add(th_track *track, th_mark *mark) {
    mark->word[TH_MARK_NAME + 3] |= (uint64_t)track->number << 56; /* a name never uses this byte */
    track->open = th_trail_add(&track->trail, mark);
}

static TH_NO_TSAN void begin(th_track *track, th_mark *mark, uint64_t id) {
    mark->word[TH_MARK_BEGIN] = track->now;
    track->open_since = track->now;
    track->open_trace = track->number;
    track->open_id = id;
    add(track, mark);
}

static TH_INLINE_NO_TSAN uint64_t id_of(const th_fiber *fiber) {
    return fiber ? fiber->run_id : PARKED;
}

static TH_INLINE_NO_TSAN bool is_open(const th_track *track, uint64_t id) {
    return track->open_id == id && track->open_trace == track->number;
}

/*
 * Ends the open mark, if it is this stretch's. Else the stretch began before the trace, or instants
 * have overwritten its mark since: then a mark is added.
 */
static TH_NO_TSAN void end(th_track *track, th_traced kind, const th_fiber *fiber, uint64_t how) {
    bool open = is_open(track, id_of(fiber));
    track->open_id = 0;
    if (!open || !th_trail_end(&track->trail, track->open, track->now, how)) {
        th_mark mark = mark_of(kind, fiber);
        mark.word[TH_MARK_BEGIN] = open ? track->open_since : 0;
        mark.word[TH_TRAIL_HOW] = how;
        mark.word[TH_TRAIL_END] = track->now;
        add(track, &mark);
    }
}

/* The waiter of the fiber's last or present wait, as the fiber has recorded it (cancel.h). */
static TH_INLINE_NO_TSAN const th_waiter *waiter_of(const th_fiber *fiber) {
    return th_load_relaxed(&fiber->xblocked); /* relaxed: only its worker writes it */
}

/* The function of the fork that the call belongs to; 0: the call is no fork's. */
static TH_INLINE_NO_TSAN uintptr_t fork_function(const th_worker *worker, const th_call *call) {
    const th_fork *fork = (const th_fork *)call; /* its first member */
    return call->fn == worker->sched->fork_call ? (uintptr_t)fork->fn : 0;
}

TH_NO_TSAN void th_trace_begins(th_worker *worker, th_fiber *fiber, const th_work *work) {
    th_track *track = noting(worker);
    if (!track) {
        return;
    }
    uintptr_t fn = 0;
    const char *name = "";
    if (work->kind == TH_WORK_GO) {
        fn = (uintptr_t)((const th_go *)work)->fn;
    } else if (work->kind == TH_WORK_SPAWN) {
        fn = (uintptr_t)((const thrum_handle *)work)->fn;
        name = ((const thrum_handle *)work)->name;
    } else if (work->kind == TH_WORK_TASK || work->kind == TH_WORK_SERIAL) {
        fn = (uintptr_t)((const thrum_task *)(const void *)work)->reserved_fn;
    } else if (work->kind == TH_WORK_CALL) {
        fn = fork_function(worker, (const th_call *)work);
    }
    fiber->traced_fn = fn;
    fiber->traced_run = fiber->run_id;
    th_mark mark = mark_of(TH_TRACED_BEGAN, fiber);
    set_name(&mark, name); /* the fiber has none yet */
    begin(track, &mark, fiber->run_id);
}

TH_NO_TSAN void th_trace_finishes(th_worker *worker, const th_fiber *fiber) {
    th_track *track = noting(worker);
    if (track) {
        end(track, TH_TRACED_RESUMED, fiber, pack(TH_TRACED_FINISHED, 0));
    }
}

TH_NO_TSAN void th_trace_switches(th_worker *worker, const th_fiber *from, const th_fiber *to) {
    th_track *track = noting(worker);
    if (!track) {
        return;
    }
    if (from->body) {
        const th_waiter *waiter = waiter_of(from);
        uint64_t how =
            waiter ? pack(waiter->on, (uintptr_t)waiter->object) : pack(TH_ON_NOTHING, 0);
        if (worker->left.kind == TH_COMMIT_YIELD) {
            how = pack(TH_TRACED_YIELDED, 0);
        } else if (worker->left.kind == TH_COMMIT_ROOT) {
            how = pack(TH_TRACED_AWAITS, 0);
        }
        end(track, TH_TRACED_RESUMED, from, how);
    }
    if (to->body) {
        const th_waiter *waiter = waiter_of(to);
        bool returned = waiter && waiter->on == TH_ON_BLOCKING;
        th_mark mark = mark_of(returned ? TH_TRACED_RETURNED : TH_TRACED_RESUMED, to);
        begin(track, &mark, to->run_id);
    }
}

TH_NO_TSAN void th_trace_renames(th_worker *worker, const th_fiber *fiber) {
    th_track *track = noting(worker);
    if (track && is_open(track, fiber->run_id)) {
        th_mark mark = mark_of(TH_TRACED_BEGAN, fiber);
        mark.word[TH_MARK_NAME + 3] |= (uint64_t)track->number << 56;
        for (unsigned i = TH_MARK_NAME; i < TH_TRAIL_WORDS; i++) {
            th_trail_change(&track->trail, track->open, i, mark.word[i]);
        }
    }
}

TH_NO_TSAN void th_trace_parks(th_worker *worker) {
    th_track *track = noting(worker);
    if (track) {
        th_mark mark = mark_of(worker->napping ? TH_TRACED_NAPPED : TH_TRACED_PARKED, NULL);
        begin(track, &mark, PARKED);
    }
}

TH_NO_TSAN void th_trace_unparks(th_worker *worker) {
    th_track *track = noting(worker);
    if (track) {
        end(track, worker->napping ? TH_TRACED_NAPPED : TH_TRACED_PARKED, NULL, 0);
    }
}

TH_NO_TSAN void th_trace_notes(th_worker *worker, th_traced kind, uintptr_t object) {
    th_track *track = noting(worker);
    if (track) {
        uint64_t open = track->open;
        th_mark mark = mark_of(kind, NULL);
        mark.word[TH_MARK_BEGIN] = track->now;
        mark.word[TH_TRAIL_END] = track->now;
        mark.word[TH_TRAIL_HOW] = pack(0, object);
        add(track, &mark);
        track->open = open;
    }
}

TH_NO_TSAN void th_trace_enters(th_worker *worker) {
    th_track *track = noting(worker);
    const th_fiber *fiber = worker->current;
    if (track && fiber->body) {
        th_mark mark = mark_of(TH_TRACED_BEGAN, fiber);
        begin(track, &mark, fiber->run_id);
    }
}

TH_NO_TSAN void th_trace_leaves(th_worker *worker) {
    th_trace_finishes(worker, &worker->home);
}

void th_trace_flag(th_worker *worker, unsigned number) {
    uint32_t old = th_load_relaxed(&worker->xextra); /* relaxed: the exchange decides */
    uint32_t extra;
    do {
        extra = old & (TH_EXTRA_PIN_ALL | TH_EXTRA_RECLAIM);
        extra |= number ? TH_EXTRA_TRACE | number << TH_EXTRA_NUMBER : 0;
        /* lock-free: it fails only when the flag of reclaim.h has changed */
        /* pairs: noting; publishes the track */
    } while (!th_cas_release(&worker->xextra, &old, extra));
}

bool th_trace_give_track(thrum_sched *sched, th_worker *worker, uint64_t slots) {
    th_track *track = th_load_relaxed(&worker->xtrack); /* relaxed: written with the lock */
    if (track && track->trail.mask >= slots - 1) {
        return true;
    }
    track = th_sched_alloc(sched, sizeof *track + slots * sizeof(th_mark));
    if (!track) {
        return false;
    }
    th_trail_init(&track->trail, track->words, slots);
    /* pairs: noting; publishes the track. The old track stays: its owner may be writing to it */
    th_store_release(&worker->xtrack, track);
    track->next = sched->trace.tracks;
    sched->trace.tracks = track;
    return true;
}

void th_trace_joins(thrum_sched *sched, th_worker *worker) {
    th_trace *trace = &sched->trace;
    bool on = trace->on && th_trace_give_track(sched, worker, trace->slots);
    trace->untraced += trace->on && !on;
    th_trace_flag(worker, on ? trace->number : 0);
}

void th_trace_free(thrum_sched *sched) {
    for (th_track *track = sched->trace.tracks; track;) {
        th_track *next = track->next;
        th_sched_free(sched, track);
        track = next;
    }
}
