/*
 * trace.c: see trace.h.
 *
 * What a worker does here happens in its context, often on a task's stack: so none of it is shown
 * to the thread sanitizer (base/annotate.h). The simulator sees it all.
 */
#include "core/trace.h"

#include <errno.h>

#include "base/annotate.h"
#include "core/bound.h"
#include "core/fork.h"
#include "core/run.h"
#include "core/worker.h"
#include "platform/platform.h"

/* The words of a mark; the end and the how are the trail's. */
enum { BEGIN = 2, ID, KIND /* above the function */, NAME };
_Static_assert(NAME + 4 == TH_TRAIL_WORDS, "a name has 32 bytes");

/* What is not a run's number. */
#define PARKED UINT64_MAX

/* A small number above an address. */
#define ABOVE TH_SHOWN_SHIFT
#define ADDRESS (((uint64_t)1 << ABOVE) - 1)

static inline uint64_t pack(unsigned small, uintptr_t address) {
    return (uint64_t)small << ABOVE | (address & ADDRESS);
}

/* ---- the worker's side ---- */

/*
 * The worker's track, with the time and the trace that the next mark is of; NULL: of none any more.
 * The time comes first: a mark of a trace that has ended before it is noted has no place in the
 * next one. Who finds a trace's number sees its flag from then on (it is one word), so it notes
 * whatever follows in it. The time never goes back, whatever the processors' counters say.
 */
static TH_NO_TSAN th_track *noting(th_worker *worker) {
    uint64_t now = th_os_ticks();
    /* pairs: set_flag; a track of that trace, or a newer one */
    uint32_t extra = th_load_acquire(&worker->xextra);
    if (!(extra & TH_EXTRA_TRACE)) {
        return NULL;
    }
    /* pairs: give_track; the track, which may be newer than the flag */
    th_track *track = th_load_acquire(&worker->xtrack);
    track->now = now > track->now ? now : track->now;
    track->number = extra >> TH_EXTRA_NUMBER;
    return track;
}

static TH_INLINE_NO_TSAN void set_name(th_mark *mark, const char *name) {
    for (unsigned i = 0; i < THRUM_NAME_MAX && name[i]; i++) {
        th_tsan_unseen();
        mark->word[NAME + i / 8] |= (uint64_t)(unsigned char)name[i] << (i % 8 * 8);
    }
}

/* Known for runs that began while tracing was on. */
static TH_INLINE_NO_TSAN uintptr_t function_of(const th_fiber *fiber) {
    return fiber->traced_run == fiber->run_id ? fiber->traced_fn : 0;
}

static TH_NO_TSAN th_mark mark_of(th_traced kind, const th_fiber *fiber) {
    th_mark mark = {{0}};
    mark.word[KIND] = pack(kind, 0);
    if (fiber) {
        mark.word[ID] = fiber->run_id;
        mark.word[KIND] = pack(kind, function_of(fiber));
        set_name(&mark, fiber->name);
    }
    return mark;
}

static TH_NO_TSAN void add(th_track *track, th_mark *mark) {
    mark->word[NAME + 3] |= (uint64_t)track->number << 56; /* the byte that a name leaves */
    track->open = th_trail_add(&track->trail, mark);
}

static TH_NO_TSAN void begin(th_track *track, th_mark *mark, uint64_t id) {
    mark->word[BEGIN] = track->now;
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
 * Ends what is open, if that is it. Else it began before the trace; or its mark was overwritten
 * since, by instants. Then a mark is added.
 */
static TH_NO_TSAN void end(th_track *track, th_traced kind, const th_fiber *fiber, uint64_t how) {
    bool open = is_open(track, id_of(fiber));
    track->open_id = 0;
    if (!open || !th_trail_end(&track->trail, track->open, track->now, how)) {
        th_mark mark = mark_of(kind, fiber);
        mark.word[BEGIN] = open ? track->open_since : 0;
        mark.word[TH_TRAIL_HOW] = how;
        mark.word[TH_TRAIL_END] = track->now;
        add(track, &mark);
    }
}

/* What it waited for, or waits for now: as it has said itself (cancel.h). */
static TH_INLINE_NO_TSAN const th_waiter *waiter_of(const th_fiber *fiber) {
    return th_load_relaxed(&fiber->xblocked); /* relaxed: its worker's own */
}

/* The function of the fork that a call is, or 0: it is none. */
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
        mark.word[NAME + 3] |= (uint64_t)track->number << 56;
        for (unsigned i = NAME; i < TH_TRAIL_WORDS; i++) {
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
        mark.word[BEGIN] = track->now;
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

/* ---- on and off ---- */

/* With the locks of who turns it on and off; number 0: off. */
static void set_flag(th_worker *worker, unsigned number) {
    uint32_t old = th_load_relaxed(&worker->xextra); /* relaxed: the exchange decides */
    uint32_t extra;
    do {
        extra = old & (TH_EXTRA_PIN_ALL | TH_EXTRA_RECLAIM);
        extra |= number ? TH_EXTRA_TRACE | number << TH_EXTRA_NUMBER : 0;
        /* lock-free: it fails only when the flag of reclaim.h has changed */
        /* pairs: noting; the track */
    } while (!th_cas_release(&worker->xextra, &old, extra));
}

/* With the trace's lock, or bound_lock for a bound thread's: a track of `slots`, if need be. */
static bool give_track(thrum_sched *sched, th_worker *worker, uint64_t slots) {
    th_track *track = th_load_relaxed(&worker->xtrack); /* relaxed: written with the lock */
    if (track && track->trail.mask >= slots - 1) {
        return true;
    }
    track = th_sched_alloc(sched, sizeof *track + slots * sizeof(th_mark));
    if (!track) {
        return false;
    }
    th_trail_init(&track->trail, track->words, slots);
    /* pairs: noting; the track. The one before stays: its owner may be writing to it */
    th_store_release(&worker->xtrack, track);
    track->next = sched->trace.tracks;
    sched->trace.tracks = track;
    return true;
}

void th_trace_joins(thrum_sched *sched, th_worker *worker) {
    th_trace *trace = &sched->trace;
    bool on = trace->on && give_track(sched, worker, trace->slots);
    trace->untraced += trace->on && !on;
    set_flag(worker, on ? trace->number : 0);
}

/* With bound_lock: the records of bound threads, also of those that have left. */
static th_worker *record_at(thrum_sched *sched, unsigned i) {
    return th_worker_at(sched, (int32_t)i);
}

static int give_tracks(thrum_sched *sched, uint64_t slots) {
    for (unsigned i = 0; i < sched->workers_count; i++) {
        if (!give_track(sched, &sched->workers[i], slots)) {
            return -ENOMEM;
        }
    }
    for (unsigned i = sched->workers_count; i < sched->bound_end; i++) {
        th_worker *worker = record_at(sched, i);
        if (worker && !give_track(sched, worker, slots)) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* With both locks. */
static void set_all(thrum_sched *sched, unsigned number) {
    sched->trace.on = number != 0;
    for (unsigned i = 0; i < sched->workers_count; i++) {
        set_flag(&sched->workers[i], number);
    }
    for (unsigned i = sched->workers_count; i < sched->bound_end; i++) {
        th_worker *worker = record_at(sched, i);
        if (worker) {
            set_flag(worker, number);
        }
    }
}

/* With both locks. */
static int begin_trace(thrum_sched *sched, uint64_t slots) {
    th_trace *trace = &sched->trace;
    int code = give_tracks(sched, slots);
    if (code) {
        return code; /* the tracks that there are serve the next one */
    }
    for (th_track *track = trace->tracks; track; track = track->next) {
        track->base = th_trail_tail(&track->trail);
    }
    trace->begun = true;
    trace->slots = slots;
    trace->untraced = 0;
    trace->number = trace->number % 255 + 1;
    set_all(sched, trace->number);
    trace->since = th_os_ticks();
    trace->since_ns = th_os_now();
    return 0;
}

int th_trace_start(thrum_sched *sched, size_t marks) {
    th_trace *trace = &sched->trace;
    uint64_t slots = 2;
    while (slots <= marks) { /* one more: the oldest slot is always about to be written */
        if (slots > SIZE_MAX / sizeof(th_mark) / 4) {
            return -ENOMEM;
        }
        slots *= 2;
    }
    th_lock_acquire(&trace->lock);
    th_lock_acquire(&sched->bound_lock);
    int code = trace->on ? -EALREADY : begin_trace(sched, slots);
    th_lock_release(&sched->bound_lock);
    th_lock_release(&trace->lock);
    th_worker *worker = th_here();
    if (!code && worker && worker->sched == sched) {
        th_trace_enters(worker); /* what we run began before */
    }
    return code;
}

int th_trace_stop(thrum_sched *sched) {
    th_trace *trace = &sched->trace;
    th_lock_acquire(&trace->lock);
    th_lock_acquire(&sched->bound_lock);
    int code = trace->on ? 0 : -EALREADY;
    if (!code) {
        trace->until = th_os_ticks();
        set_all(sched, 0);
    }
    th_lock_release(&sched->bound_lock);
    th_lock_release(&trace->lock);
    return code;
}

void th_trace_free(thrum_sched *sched) {
    for (th_track *track = sched->trace.tracks; track;) {
        th_track *next = track->next;
        th_sched_free(sched, track);
        track = next;
    }
}

/* ---- reading ---- */

static int copy_track(thrum_sched *sched, th_track_copy *copy) {
    const th_track *track = copy->track;
    if (!track) {
        return 0;
    }
    uint64_t tail = th_trail_tail(&track->trail);
    uint64_t first = th_trail_first(&track->trail, tail);
    first = first > track->base ? first : track->base;
    copy->dropped = first - track->base;
    if (first == tail) {
        return 0;
    }
    th_mark *marks = th_sched_alloc(sched, (tail - first) * sizeof *marks);
    if (!marks) {
        return -ENOMEM;
    }
    /* The newest first: the owner may be overwriting from the other end as fast as we read. */
    uint64_t n = tail;
    while (n > first && th_trail_read(&track->trail, n - 1, &marks[n - 1 - first])) {
        n--;
    }
    copy->block = marks;
    copy->marks = marks + (n - first);
    copy->count = tail - n;
    copy->dropped += n - first;
    return 0;
}

/* Whose there are by now: with bound_lock. Tracks stay. */
static void find_tracks(thrum_sched *sched, th_trace_copy *copy, unsigned end) {
    for (unsigned i = 0; i < end; i++) {
        const th_worker *worker = record_at(sched, i);
        if (worker) {
            copy->tracks[copy->count++] = (th_track_copy){
                .worker = worker->index,
                .bound = worker->bound,
                .track = th_load_relaxed(&worker->xtrack), /* relaxed: written with the lock */
            };
        }
    }
    copy->untraced = sched->trace.untraced;
}

static int copy_tracks(thrum_sched *sched, th_trace_copy *copy) {
    th_lock_acquire(&sched->bound_lock);
    unsigned end = sched->bound_end;
    th_lock_release(&sched->bound_lock);
    end = end > sched->workers_count ? end : sched->workers_count;
    copy->tracks = th_sched_alloc(sched, (end + 1) * sizeof *copy->tracks);
    if (!copy->tracks) {
        return -ENOMEM;
    }
    th_lock_acquire(&sched->bound_lock); /* not for long: wakes of bound threads want it, too */
    find_tracks(sched, copy, end);
    th_lock_release(&sched->bound_lock);
    int code = 0;
    for (unsigned i = 0; i < copy->count && !code; i++) {
        code = copy_track(sched, &copy->tracks[i]);
    }
    return code;
}

int th_trace_read(thrum_sched *sched, th_trace_copy *copy) {
    th_trace *trace = &sched->trace;
    th_lock_acquire(&trace->lock); /* no other trace begins meanwhile */
    *copy = (th_trace_copy){.number = trace->number,
                            .since = trace->since,
                            .until = trace->on ? th_os_ticks() : trace->until,
                            .since_ns = trace->since_ns};
    int code = trace->begun ? copy_tracks(sched, copy) : -ENODATA;
    th_lock_release(&trace->lock);
    if (code) {
        th_trace_forget(sched, copy);
    }
    return code;
}

void th_trace_forget(thrum_sched *sched, th_trace_copy *copy) {
    for (unsigned i = 0; i < copy->count; i++) {
        th_sched_free(sched, copy->tracks[i].block);
    }
    th_sched_free(sched, copy->tracks);
}

bool th_trace_mark(const th_trace_copy *copy, const th_mark *mark, th_traced_mark *out) {
    uint64_t begin = mark->word[BEGIN];
    uint64_t end = mark->word[TH_TRAIL_END];
    unsigned number = (unsigned)(mark->word[NAME + 3] >> 56);
    if (number != copy->number || (end && end < copy->since) || begin >= copy->until) {
        return false;
    }
    *out = (th_traced_mark){.begin = begin > copy->since ? begin : copy->since,
                            .end = end && end < copy->until ? end : copy->until,
                            .id = mark->word[ID],
                            .kind = (th_traced)(mark->word[KIND] >> ABOVE),
                            .open = !end || end > copy->until,
                            .how = (unsigned)(mark->word[TH_TRAIL_HOW] >> ABOVE),
                            .object = mark->word[TH_TRAIL_HOW] & ADDRESS,
                            .fn = mark->word[KIND] & ADDRESS};
    for (unsigned i = 0; i < THRUM_NAME_MAX; i++) {
        out->name[i] = (char)(mark->word[NAME + i / 8] >> (i % 8 * 8));
    }
    return true;
}
