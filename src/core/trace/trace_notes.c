/*
 * trace_notes.c: see trace_notes.h.
 *
 * A worker calls these functions in its own context, often on a task's stack: so none of this is
 * shown to the thread sanitizer (base/annotate.h). The simulator sees it all.
 */
#include "core/trace/trace_notes.h"

#include "base/annotate.h"
#include "core/state/fork_state.h"
#include "core/state/handle.h"
#include "core/trace/trace_series.h"
#include "core/basis/waiter_state.h"
#include "core/state/worker.h"
#include "platform/platform.h"

/* The id of a stretch of sleep; no run has it. */
#define PARKED UINT64_MAX

/* Series (TRACE.md). */
#define PACE_MAX TH_LIMIT(32u, 3u) /* runs from one look at the clock to the next */
#define PACE_NS 1000               /* they are to take less than that */
#define SERIES_NS 100000           /* no mark of several runs is longer */

static inline uint64_t pack(unsigned small, uint64_t address) {
    return (uint64_t)small << TH_MARK_ABOVE | (address & TH_MARK_ADDRESS);
}

/*
 * The worker's trace buffer, with the time and the trace's number for the next mark; NULL when no
 * trace is on. The time is read first: a mark of a trace that has ended before it is noted has no
 * place in the next one. A worker that finds a trace's number sees its flag from then on (they are
 * one word), so it notes everything that follows in that trace. The time never goes back, even if
 * the processors' counters do.
 */
static TH_NO_TSAN th_trace_buffer *noting(th_worker *worker) {
    uint64_t now = th_os_ticks();
    /* pairs: th_trace_flag; publishes a trace buffer of that trace, or of a newer one */
    uint32_t extra = th_load_acquire(&worker->xextra);
    if (!(extra & TH_EXTRA_TRACE)) {
        return NULL;
    }
    /* pairs: th_trace_give_buffer; publishes the trace buffer, which may be newer than the flag */
    th_trace_buffer *buffer = th_load_acquire(&worker->xtrace_buffer);
    buffer->now = now > buffer->now ? now : buffer->now;
    buffer->number = extra >> TH_EXTRA_NUMBER;
    return buffer;
}

static TH_INLINE_NO_TSAN void set_name(th_mark *mark, const char *name) {
    for (unsigned i = 0; i < THRUM_NAME_MAX && name[i]; i++) {
        th_tsan_unseen();
        mark->word[TH_MARK_NAME + i / 8] |= (uint64_t)(unsigned char)name[i] << (i % 8 * 8);
    }
}

/* The function of the present run, or of a run that has just ended, or whose body comes next. */
static TH_INLINE_NO_TSAN uintptr_t function_of(const th_fiber *fiber) {
    const uintptr_t fn = th_fiber_function(fiber);
    return !fn && fiber->traced_run == fiber->run_id ? fiber->traced_fn : fn;
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

static TH_NO_TSAN void add(th_trace_buffer *buffer, th_mark *mark) {
    mark->word[TH_MARK_NAME + 3] |= (uint64_t)buffer->number
                                    << 56; /* a name never uses this byte */
    buffer->open = th_trace_ring_add(&buffer->ring, mark);
}

static TH_NO_TSAN void begin(th_trace_buffer *buffer, th_mark *mark, uint64_t id) {
    mark->word[TH_MARK_BEGIN] = buffer->now;
    buffer->first = id;
    buffer->open_since = buffer->now;
    buffer->open_trace = buffer->number;
    buffer->open_id = id;
    add(buffer, mark);
}

static TH_INLINE_NO_TSAN uint64_t id_of(const th_fiber *fiber) {
    return fiber ? fiber->run_id : PARKED;
}

static TH_INLINE_NO_TSAN bool is_open(const th_trace_buffer *buffer, uint64_t id) {
    return buffer->open_id == id && buffer->open_trace == buffer->number;
}

/*
 * Ends the open mark, if it is this stretch's. Else the stretch began before the trace, or instants
 * have overwritten its mark since: then a mark is added.
 */
static TH_NO_TSAN void end_run(th_trace_buffer *buffer, th_traced kind, const th_fiber *fiber,
                               uint64_t id, uint64_t how) {
    bool open = is_open(buffer, id);
    buffer->open_id = 0;
    if (!open || !th_trace_ring_end(&buffer->ring, buffer->open, buffer->now, how)) {
        th_mark mark = mark_of(kind, fiber);
        mark.word[TH_MARK_BEGIN] = open ? buffer->open_since : 0;
        mark.word[TH_TRACE_RING_HOW] = how;
        mark.word[TH_TRACE_RING_END] = buffer->now;
        mark.word[TH_MARK_ID] = fiber ? id : 0;
        if (open && fiber && !mark.word[TH_MARK_NAME]) {
            mark.word[TH_MARK_FIRST] = buffer->first;
        }
        add(buffer, &mark);
    }
}

static TH_INLINE_NO_TSAN void end(th_trace_buffer *buffer, th_traced kind, const th_fiber *fiber,
                                  uint64_t how) {
    end_run(buffer, kind, fiber, id_of(fiber), how);
}

/* The waiter of the fiber's last or present wait, as the fiber has recorded it (cancel.h). */
static TH_INLINE_NO_TSAN const th_waiter *waiter_of(const th_fiber *fiber) {
    return th_load_relaxed(&fiber->xblocked); /* relaxed: only its worker writes it */
}

/* The object that it waits for, or the peer and the tag of a message. */
static TH_INLINE_NO_TSAN uint64_t pack_wait(const th_waiter *waiter) {
    return pack(waiter->on,
                waiter->on == TH_ON_OUTSIDE ? waiter->message : (uintptr_t)waiter->object);
}

/* The function of the fork that the call belongs to; 0: the call is no fork's. */
static TH_INLINE_NO_TSAN uintptr_t fork_function(const th_worker *worker, const th_call *call) {
    const th_fork *fork = (const th_fork *)call; /* its first member */
    return call->fn == worker->sched->fork_call ? (uintptr_t)fork->fn : 0;
}

/* ---- series ---- */

static TH_NO_TSAN bool is_long(const th_trace_buffer *buffer) {
    return th_os_ticks_ns(buffer->now - buffer->look_at) > PACE_NS;
}

/*
 * The runs since the last look took long: the mark of the series ends there, and they have one of
 * their own, which is open. So a long run is one of them, and those before it are not.
 */
static TH_NO_TSAN void cut_series(th_trace_buffer *buffer, const th_fiber *fiber) {
    const uint64_t now = buffer->now;
    th_mark mark = {{0}};
    th_trace_ring_change(&buffer->ring, buffer->open, TH_MARK_ID, buffer->look_run - 1);
    (void)th_trace_ring_end(&buffer->ring, buffer->open, buffer->look_at,
                            pack(TH_TRACED_FINISHED, 0));
    mark.word[TH_MARK_ID] = fiber->traced_run;
    mark.word[TH_MARK_KIND] = pack(TH_TRACED_BEGAN, fiber->traced_fn);
    mark.word[TH_MARK_FIRST] = buffer->look_run;
    buffer->now = buffer->look_at;
    begin(buffer, &mark, fiber->traced_run);
    buffer->now = now;
    buffer->first = buffer->look_run;
}

/* The open mark gets the number of the last run so far: it ends next, and no run joins it. */
static TH_NO_TSAN void leave_series(th_worker *worker, th_trace_buffer *buffer,
                                    const th_fiber *fiber) {
    if (!worker->series.extra) {
        return;
    }
    worker->series = (th_trace_series){0};
    if (buffer->open_trace != buffer->number) {
        return;
    }
    if (is_long(buffer) && buffer->look_run != buffer->first) {
        cut_series(buffer, fiber);
    } else {
        buffer->open_id = fiber->traced_run;
        th_trace_ring_change(&buffer->ring, buffer->open, TH_MARK_ID, fiber->traced_run);
    }
}

/* As leave_series, where the last run has ended, too. */
static TH_NO_TSAN void end_series(th_worker *worker, th_trace_buffer *buffer,
                                  const th_fiber *fiber) {
    if (worker->series.extra) {
        leave_series(worker, buffer, fiber);
        if (is_open(buffer, fiber->traced_run)) {
            end_run(buffer, TH_TRACED_BEGAN, fiber, fiber->traced_run, pack(TH_TRACED_FINISHED, 0));
        }
    }
}

/* A look: true, if the run that begins belongs to the series, which then goes on. */
static TH_NO_TSAN bool look(th_worker *worker, th_trace_buffer *buffer, th_fiber *fiber,
                            uintptr_t fn) {
    const int64_t took = th_os_ticks_ns(buffer->now - buffer->look_at);
    if (took > PACE_NS || fn != fiber->traced_fn || buffer->open_trace != buffer->number ||
        th_os_ticks_ns(buffer->now - buffer->open_since) > SERIES_NS) {
        end_series(worker, buffer, fiber);
        buffer->pace = took > PACE_NS ? 1 : buffer->pace;
        return false;
    }
    if (2 * took <= PACE_NS && buffer->pace < PACE_MAX) {
        buffer->pace = 2 * buffer->pace < PACE_MAX ? 2 * buffer->pace : PACE_MAX;
    }
    buffer->look_at = buffer->now;
    buffer->look_run = fiber->run_id;
    worker->series.left = buffer->pace;
    fiber->traced_run = fiber->run_id;
    return true;
}

/* The run that begins may be the first of a series. */
static TH_NO_TSAN void begin_series(th_worker *worker, th_trace_buffer *buffer, uint64_t run,
                                    uintptr_t fn) {
    /* relaxed: see th_is_traced */
    const uint32_t extra = th_load_relaxed(&worker->xextra) & ~TH_EXTRA_RECLAIM;
    const bool may = fn && (extra & TH_EXTRA_SERIES) && !(extra & TH_EXTRA_PRIORITY) &&
                     extra >> TH_EXTRA_NUMBER == buffer->number;
    buffer->pace = buffer->pace_fn == fn && buffer->pace ? buffer->pace : 1;
    buffer->pace_fn = fn;
    buffer->look_at = buffer->now;
    buffer->look_run = run;
    worker->series = (th_trace_series){.extra = may ? extra : 0, .left = may ? buffer->pace : 0};
}

/*
 * The end of a run whose series may go on: where runs are short and another one is at hand, the
 * next one's begin is its end.
 */
static TH_NO_TSAN bool leaves_open(const th_worker *worker, const th_trace_buffer *buffer) {
    return worker->series.extra && buffer->pace > 1 &&
           (th_batch_any(&worker->batch) || th_ring_size(&worker->ring));
}

/* The end of the last run of a series, at which the clock is read: the next pace. */
static TH_NO_TSAN void set_pace(th_trace_buffer *buffer) {
    const int64_t took = th_os_ticks_ns(buffer->now - buffer->look_at);
    buffer->pace = took > PACE_NS ? 1 : 2 * took > PACE_NS || buffer->pace > 1 ? buffer->pace : 2;
}

/* ---- runs ---- */

static TH_NO_TSAN void keep_function(const th_worker *worker, th_fiber *fiber,
                                     const th_work *work) {
    uintptr_t fn = 0;
    if (work->kind == TH_WORK_GO) {
        fn = (uintptr_t)((const th_go *)work)->fn;
    } else if (work->kind == TH_WORK_SPAWN) {
        fn = (uintptr_t)((const thrum_handle *)work)->fn;
    } else if (work->kind == TH_WORK_TASK || work->kind == TH_WORK_SERIAL) {
        fn = (uintptr_t)((const thrum_task *)(const void *)work)->reserved_fn;
    } else if (work->kind == TH_WORK_CALL) {
        fn = fork_function(worker, (const th_call *)work);
    }
    fiber->traced_fn = fn;
    fiber->traced_run = fiber->run_id;
}

TH_NO_TSAN void th_trace_begins(th_worker *worker, th_fiber *fiber, const th_work *work) {
    th_trace_buffer *buffer = noting(worker);
    if (!buffer) {
        worker->series = (th_trace_series){0};
        return;
    }
    const uintptr_t fn = th_trace_series_function(work);
    const char *name = work->kind == TH_WORK_SPAWN ? ((const thrum_handle *)work)->name : "";
    if (worker->series.extra && look(worker, buffer, fiber, fn)) {
        return;
    }
    keep_function(worker, fiber, work);
    th_mark mark = mark_of(TH_TRACED_BEGAN, fiber);
    set_name(&mark, name); /* the fiber has none yet */
    if (fn) {
        mark.word[TH_MARK_FIRST] = fiber->run_id;
    }
    begin(buffer, &mark, fiber->run_id);
    begin_series(worker, buffer, fiber->run_id, fn);
}

TH_NO_TSAN void th_trace_finishes(th_worker *worker, const th_fiber *fiber) {
    /* relaxed: only its owner's flag has published it */
    if (leaves_open(worker, th_load_relaxed(&worker->xtrace_buffer))) {
        return;
    }
    th_trace_buffer *buffer = noting(worker);
    if (buffer) {
        if (worker->series.extra) {
            set_pace(buffer);
            leave_series(worker, buffer, fiber);
        }
        end(buffer, TH_TRACED_RESUMED, fiber, pack(TH_TRACED_FINISHED, 0));
    }
}

/* An instant of the run that goes on. */
static TH_NO_TSAN void note_end_of_wait(th_trace_buffer *buffer, const th_fiber *fiber,
                                        const th_waiter *waiter) {
    th_mark mark = mark_of(TH_TRACED_WAITED, fiber);
    mark.word[TH_MARK_BEGIN] = buffer->now;
    mark.word[TH_TRACE_RING_END] = buffer->now;
    mark.word[TH_TRACE_RING_HOW] = pack_wait(waiter);
    add(buffer, &mark);
}

TH_NO_TSAN void th_trace_switches(th_worker *worker, const th_fiber *from, const th_fiber *to) {
    th_trace_buffer *buffer = noting(worker);
    if (!buffer) {
        return;
    }
    if (from->body) {
        leave_series(worker, buffer, from);
        const th_waiter *waiter = waiter_of(from);
        uint64_t how = waiter ? pack_wait(waiter) : pack(TH_ON_NOTHING, 0);
        if (worker->left.kind == TH_COMMIT_YIELD) {
            how = pack(TH_TRACED_YIELDED, 0);
        } else if (worker->left.kind == TH_COMMIT_ROOT) {
            how = pack(TH_TRACED_AWAITS, 0);
        }
        end(buffer, TH_TRACED_RESUMED, from, how);
    }
    end_series(worker, buffer, from);
    if (to->body) {
        const th_waiter *waiter = waiter_of(to);
        if (waiter && th_on_is_outside((th_on)waiter->on)) {
            note_end_of_wait(buffer, to, waiter);
        }
        bool returned = waiter && waiter->on == TH_ON_BLOCKING;
        th_mark mark = mark_of(returned ? TH_TRACED_RETURNED : TH_TRACED_RESUMED, to);
        begin(buffer, &mark, to->run_id);
    }
}

/*
 * The run gets a name: those before it in the series have a mark without it, up to now; the name's
 * begins now.
 */
static TH_NO_TSAN void split_series(th_worker *worker, th_trace_buffer *buffer,
                                    const th_fiber *fiber) {
    leave_series(worker, buffer, fiber);
    if (is_open(buffer, fiber->run_id) && buffer->first != fiber->run_id) {
        th_trace_ring_change(&buffer->ring, buffer->open, TH_MARK_ID, fiber->run_id - 1);
        end_run(buffer, TH_TRACED_BEGAN, fiber, fiber->run_id - 1, pack(TH_TRACED_FINISHED, 0));
        th_mark mark = mark_of(TH_TRACED_BEGAN, fiber);
        begin(buffer, &mark, fiber->run_id);
    }
}

TH_NO_TSAN void th_trace_shows(th_worker *worker, const th_fiber *fiber) {
    th_trace_buffer *buffer = noting(worker);
    if (buffer) {
        split_series(worker, buffer, fiber);
        if (is_open(buffer, fiber->run_id)) {
            th_trace_ring_change(&buffer->ring, buffer->open, TH_MARK_KIND,
                                 pack(TH_TRACED_BEGAN, function_of(fiber)));
        }
    }
}

TH_NO_TSAN void th_trace_renames(th_worker *worker, const th_fiber *fiber) {
    th_trace_buffer *buffer = noting(worker);
    if (buffer) {
        split_series(worker, buffer, fiber);
    }
    if (buffer && is_open(buffer, fiber->run_id)) {
        th_mark mark = mark_of(TH_TRACED_BEGAN, fiber);
        mark.word[TH_MARK_NAME + 3] |= (uint64_t)buffer->number << 56;
        for (unsigned i = TH_MARK_NAME; i < TH_TRACE_RING_WORDS; i++) {
            th_trace_ring_change(&buffer->ring, buffer->open, i, mark.word[i]);
        }
    }
}

TH_NO_TSAN void th_trace_parks(th_worker *worker) {
    th_trace_buffer *buffer = noting(worker);
    if (buffer) {
        th_mark mark = mark_of(worker->backing_off ? TH_TRACED_BACKED_OFF : TH_TRACED_PARKED, NULL);
        end_series(worker, buffer, worker->current);
        begin(buffer, &mark, PARKED);
    }
}

TH_NO_TSAN void th_trace_unparks(th_worker *worker) {
    th_trace_buffer *buffer = noting(worker);
    if (buffer) {
        end(buffer, worker->backing_off ? TH_TRACED_BACKED_OFF : TH_TRACED_PARKED, NULL, 0);
    }
}

static TH_NO_TSAN void note(th_worker *worker, th_traced kind, uintptr_t amount, uintptr_t object) {
    th_trace_buffer *buffer = noting(worker);
    if (buffer) {
        uint64_t open = buffer->open;
        th_mark mark = mark_of(kind, NULL);
        mark.word[TH_MARK_BEGIN] = buffer->now;
        mark.word[TH_TRACE_RING_END] = buffer->now;
        mark.word[TH_MARK_KIND] = pack(kind, amount);
        mark.word[TH_TRACE_RING_HOW] = pack(0, object);
        add(buffer, &mark);
        buffer->open = open;
    }
}

TH_NO_TSAN void th_trace_notes(th_worker *worker, th_traced kind, uintptr_t object) {
    note(worker, kind, 0, object);
}

TH_NO_TSAN void th_trace_moves(th_worker *worker, th_traced kind, int number, uint64_t bytes) {
    note(worker, kind, (uintptr_t)bytes, (uintptr_t)number + 1);
}

TH_NO_TSAN void th_trace_enters(th_worker *worker) {
    th_trace_buffer *buffer = noting(worker);
    const th_fiber *fiber = worker->current;
    if (buffer && fiber->body) {
        th_mark mark = mark_of(TH_TRACED_BEGAN, fiber);
        begin(buffer, &mark, fiber->run_id);
    }
}

void th_trace_flag(th_worker *worker, unsigned number) {
    uint32_t old = th_load_relaxed(&worker->xextra); /* relaxed: the exchange decides */
    uint32_t extra;
    const bool may = worker->sched->trace.series && !worker->bound && !(old & TH_EXTRA_PIN_ALL);
    const uint32_t series = may ? TH_EXTRA_SERIES : 0;
    do {
        extra = old & (TH_EXTRA_PIN_ALL | TH_EXTRA_RECLAIM | TH_EXTRA_PRIORITY);
        extra |= number ? TH_EXTRA_TRACE | number << TH_EXTRA_NUMBER | series : 0;
        /* lock-free: it fails only when a flag of reclaim.h or priority.h has changed */
        /* pairs: noting; publishes the trace buffer */
    } while (!th_cas_release(&worker->xextra, &old, extra));
}

bool th_trace_give_buffer(thrum_sched *sched, th_worker *worker, uint64_t slots) {
    th_trace_buffer *buffer =
        th_load_relaxed(&worker->xtrace_buffer); /* relaxed: written with the lock */
    if (buffer && buffer->ring.mask >= slots - 1) {
        return true;
    }
    buffer = th_sched_alloc(sched, sizeof *buffer + (size_t)slots * sizeof(th_mark));
    if (!buffer) {
        return false;
    }
    th_trace_ring_init(&buffer->ring, buffer->words, slots);
    /* pairs: noting; publishes the trace buffer. The old trace buffer stays: its owner may be
     * writing to it */
    th_store_release(&worker->xtrace_buffer, buffer);
    buffer->next = sched->trace.buffers;
    sched->trace.buffers = buffer;
    return true;
}

void th_trace_joins(thrum_sched *sched, th_worker *worker) {
    th_trace *trace = &sched->trace;
    bool on = trace->on && th_trace_give_buffer(sched, worker, trace->slots);
    trace->untraced += trace->on && !on;
    th_trace_flag(worker, on ? trace->number : 0);
}

void th_trace_free(thrum_sched *sched) {
    for (th_trace_buffer *buffer = sched->trace.buffers; buffer;) {
        th_trace_buffer *next = buffer->next;
        th_sched_free(sched, buffer);
        buffer = next;
    }
}
