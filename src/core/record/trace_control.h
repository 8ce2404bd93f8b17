/*
 * trace_control.h: turning tracing on and off, and reading the notes (trace_notes.h).
 * core/trace/TRACE.md has the argument.
 */
#ifndef TH_TRACE_CONTROL_H
#define TH_TRACE_CONTROL_H

#include "core/trace/trace_notes.h"
#include "queue/trace_ring.h"
#include "thrum/sched.h"

/* A mark, as read. Times are in ticks (th_os_ticks). */
typedef struct th_traced_mark {
    uint64_t begin;
    uint64_t end;
    uint64_t id; /* number of the run, as in th_seen */
    th_traced kind;
    bool open;       /* it went on when the trace ended, so it has no `how` */
    unsigned how;    /* how it ended: a th_on, or TH_TRACED_YIELDED, _AWAITS, _FINISHED */
    uint64_t object; /* the object waited for; for some kinds see th_traced */
    uintptr_t fn;    /* the task's function, or 0 */
    uint64_t runs;   /* of a stretch: how many runs it has, the last of them `id`; or 1 */
    char name[32];
} th_traced_mark;

/* ---- by any thread, while the scheduler lives ---- */

/*
 * Begins a trace of at least so many marks for each worker. `series`: short runs may share a mark.
 * 0, -EALREADY (it is on), -ENOMEM.
 */
int th_trace_start(thrum_sched *sched, size_t marks, bool series);
/* Ends it. 0, -EALREADY (it is off). */
int th_trace_stop(thrum_sched *sched);

/* A copy of one trace buffer. */
typedef struct th_trace_buffer_copy {
    unsigned worker; /* its number */
    bool bound;
    const th_trace_buffer *buffer; /* NULL: it never had one */
    void *block;                   /* the memory of `marks` */
    th_mark *marks;                /* the marks, oldest first */
    uint64_t count;
    uint64_t dropped; /* marks of this trace that were overwritten */
} th_trace_buffer_copy;

/* A copy of a trace: of all that was noted before `until`. */
typedef struct th_trace_copy {
    unsigned number; /* as in th_trace */
    uint64_t since;
    uint64_t until;
    int64_t since_ns;
    uint64_t untraced;
    unsigned count;
    th_trace_buffer_copy *buffers;
} th_trace_copy;

/* Copies the trace. 0, -ENODATA (there was none), -ENOMEM. After 0, th_trace_forget must follow. */
int th_trace_read(thrum_sched *sched, th_trace_copy *copy);
void th_trace_forget(thrum_sched *sched, th_trace_copy *copy);

/*
 * The records of workers and of bound threads, former ones too, have the numbers below the first's;
 * NULL: there is none of this number (yet). With bound_lock, or in a handler.
 */
unsigned th_trace_records(const thrum_sched *sched);
th_worker *th_trace_record(thrum_sched *sched, unsigned i);

/* The first mark of this trace that can still be there, if `tail` marks have been added. */
uint64_t th_trace_first(const th_trace_buffer *buffer, uint64_t tail);

/* A copied mark, with its times cut to those of the trace. False: it lies outside the trace. */
bool th_trace_mark(const th_trace_copy *copy, const th_mark *mark, th_traced_mark *out);

#endif
