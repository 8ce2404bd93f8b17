/*
 * trace_control.c: see trace_control.h.
 */
#include "core/record/trace_control.h"

#include <errno.h>

#include "base/annotate.h"
#include "core/state/worker.h"
#include "core/trace/trace_notes.h"
#include "platform/platform.h"

/* ---- on and off ---- */

unsigned th_trace_records(const thrum_sched *sched) {
    return sched->bound_end > sched->workers_count ? sched->bound_end : sched->workers_count;
}

th_worker *th_trace_record(thrum_sched *sched, unsigned i) {
    th_worker *worker = th_worker_at(sched, (int32_t)i);
    return worker && (worker->bound || i < th_workers_end(sched)) ? worker : NULL;
}

static int give_buffers(thrum_sched *sched, uint64_t slots) {
    for (unsigned i = 0; i < th_trace_records(sched); i++) {
        th_worker *worker = th_trace_record(sched, i);
        if (worker && !th_trace_give_buffer(sched, worker, slots)) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* With both locks: turns tracing on (with the trace's number) or off (0) for all. */
static void set_all(thrum_sched *sched, unsigned number) {
    sched->trace.on = number != 0;
    for (unsigned i = 0; i < th_trace_records(sched); i++) {
        th_worker *worker = th_trace_record(sched, i);
        if (worker) {
            th_trace_flag(worker, number);
        }
    }
}

/* With both locks: begins a new trace. */
static int begin_trace(thrum_sched *sched, uint64_t slots, bool series) {
    th_trace *trace = &sched->trace;
    int code = give_buffers(sched, slots);
    if (code) {
        return code; /* the buffers made so far serve the next trace */
    }
    for (th_trace_buffer *buffer = trace->buffers; buffer; buffer = buffer->next) {
        buffer->base = th_trace_ring_tail(&buffer->ring);
    }
    trace->begun = true;
    trace->series = series;
    trace->slots = slots;
    trace->untraced = 0;
    trace->number = trace->number % 255 + 1;
    set_all(sched, trace->number);
    trace->since = th_os_ticks();
    trace->since_ns = th_os_now();
    return 0;
}

int th_trace_start(thrum_sched *sched, size_t marks, bool series) {
    th_trace *trace = &sched->trace;
    uint64_t slots = 2;
    while (slots <= marks) { /* one more, since the oldest slot is always about to be written */
        if (slots > SIZE_MAX / sizeof(th_mark) / 4) {
            return -ENOMEM;
        }
        slots *= 2;
    }
    th_lock_acquire(&trace->lock);
    th_lock_acquire(&sched->bound_lock);
    int code = trace->on ? -EALREADY : begin_trace(sched, slots, series);
    th_lock_release(&sched->bound_lock);
    th_lock_release(&trace->lock);
    th_worker *worker = th_here();
    if (!code && worker && worker->sched == sched) {
        th_trace_enters(worker); /* the current run began before the trace */
    }
    return code;
}

int th_trace_stop(thrum_sched *sched) {
    th_trace *trace = &sched->trace;
    TH_LOCKED(&trace->lock);
    th_lock_acquire(&sched->bound_lock);
    int code = trace->on ? 0 : -EALREADY;
    if (!code) {
        trace->until = th_os_ticks();
        set_all(sched, 0);
    }
    th_lock_release(&sched->bound_lock);
    return code;
}

/* ---- reading ---- */

uint64_t th_trace_first(const th_trace_buffer *buffer, uint64_t tail) {
    uint64_t first = th_trace_ring_first(&buffer->ring, tail);
    return first > buffer->base ? first : buffer->base;
}

static int copy_buffer(thrum_sched *sched, th_trace_buffer_copy *copy) {
    const th_trace_buffer *buffer = copy->buffer;
    if (!buffer) {
        return 0;
    }
    uint64_t tail = th_trace_ring_tail(&buffer->ring);
    uint64_t first = th_trace_first(buffer, tail);
    copy->dropped = first - buffer->base;
    if (first == tail) {
        return 0;
    }
    th_mark *marks = th_sched_alloc(sched, (size_t)(tail - first) * sizeof *marks);
    if (!marks) {
        return -ENOMEM;
    }
    /* The newest first: the owner may be overwriting the other end as fast as we read. */
    uint64_t n = tail;
    while (n > first && th_trace_ring_read(&buffer->ring, n - 1, &marks[n - 1 - first])) {
        n--;
    }
    copy->block = marks;
    copy->marks = marks + (n - first);
    copy->count = tail - n;
    copy->dropped += n - first;
    return 0;
}

/* With bound_lock: finds the trace buffers that exist by now. None of them goes away. */
static void find_buffers(thrum_sched *sched, th_trace_copy *copy, unsigned end) {
    for (unsigned i = 0; i < end; i++) {
        const th_worker *worker = th_trace_record(sched, i);
        if (worker) {
            copy->buffers[copy->count++] = (th_trace_buffer_copy){
                .worker = worker->index,
                .bound = worker->bound,
                /* relaxed: written with the lock held */
                .buffer = th_load_relaxed(&worker->xtrace_buffer),
            };
        }
    }
    copy->untraced = sched->trace.untraced;
}

static int copy_buffers(thrum_sched *sched, th_trace_copy *copy) {
    th_lock_acquire(&sched->bound_lock);
    unsigned end = th_trace_records(sched);
    th_lock_release(&sched->bound_lock);
    copy->buffers = th_sched_alloc(sched, (end + 1) * sizeof *copy->buffers);
    if (!copy->buffers) {
        return -ENOMEM;
    }
    th_lock_acquire(&sched->bound_lock); /* held briefly: wakes of bound threads need it, too */
    find_buffers(sched, copy, end);
    th_lock_release(&sched->bound_lock);
    int code = 0;
    for (unsigned i = 0; i < copy->count && !code; i++) {
        code = copy_buffer(sched, &copy->buffers[i]);
    }
    return code;
}

int th_trace_read(thrum_sched *sched, th_trace_copy *copy) {
    th_trace *trace = &sched->trace;
    th_lock_acquire(&trace->lock); /* so that no other trace begins meanwhile */
    *copy = (th_trace_copy){.number = trace->number,
                            .since = trace->since,
                            .until = trace->on ? th_os_ticks() : trace->until,
                            .since_ns = trace->since_ns};
    int code = trace->begun ? copy_buffers(sched, copy) : -ENODATA;
    th_lock_release(&trace->lock);
    if (code) {
        th_trace_forget(sched, copy);
    }
    return code;
}

void th_trace_forget(thrum_sched *sched, th_trace_copy *copy) {
    for (unsigned i = 0; i < copy->count; i++) {
        th_sched_free(sched, copy->buffers[i].block);
    }
    th_sched_free(sched, copy->buffers);
}

bool th_trace_mark(const th_trace_copy *copy, const th_mark *mark, th_traced_mark *out) {
    uint64_t begin = mark->word[TH_MARK_BEGIN];
    uint64_t end = mark->word[TH_TRACE_RING_END];
    unsigned number = (unsigned)(mark->word[TH_MARK_NAME + 3] >> 56);
    if (number != copy->number || (end && end < copy->since) || begin >= copy->until) {
        return false;
    }
    *out = (th_traced_mark){.begin = begin > copy->since ? begin : copy->since,
                            .end = end && end < copy->until ? end : copy->until,
                            .id = mark->word[TH_MARK_ID],
                            .kind = (th_traced)(mark->word[TH_MARK_KIND] >> TH_MARK_ABOVE),
                            .open = !end || end > copy->until,
                            .how = (unsigned)(mark->word[TH_TRACE_RING_HOW] >> TH_MARK_ABOVE),
                            .object = mark->word[TH_TRACE_RING_HOW] & TH_MARK_ADDRESS,
                            .fn = (uintptr_t)(mark->word[TH_MARK_KIND] & TH_MARK_ADDRESS)};
    for (unsigned i = 0; i < THRUM_NAME_MAX; i++) {
        out->name[i] = (char)(mark->word[TH_MARK_NAME + i / 8] >> (i % 8 * 8));
    }
    const uint64_t first = mark->word[TH_MARK_FIRST];
    out->runs = 1;
    if (!out->name[0] && first && first <= out->id) {
        out->runs = out->id - first + 1;
    }
    return true;
}
