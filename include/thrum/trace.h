/*
 * thrum/trace.h: what each worker did when, to be looked at in Perfetto or chrome://tracing.
 *
 * While a trace is on, each worker and each bound thread notes what it runs and how that ends, its
 * sleeps, what it takes from others and whom it wakes; the latest of that is kept, so a trace may
 * be on for ever and be written when something was odd. Off, it costs two instructions a switch
 * and three a task. On, less than a tenth of a microsecond for each stretch that a task runs.
 */
#ifndef THRUM_TRACE_H
#define THRUM_TRACE_H

#include <stdio.h>

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Turns tracing on; what was noted before is forgotten. At least the latest `events_per_worker`
 * events of each worker and of each bound thread are kept (0: 32767), 72 bytes each: that memory is
 * taken here, and when a thread is bound, from the scheduler's `alloc`, and kept until the
 * scheduler ends. Workers allocate nothing for it. A stretch of a task is one event, a sleep, a
 * wake and a theft one each. A thread without memory when it is bound is not traced, and counted
 * ("untraced").
 *
 * Any thread, task or bound thread while the scheduler lives; never suspends; not from a signal
 * handler. -EINVAL (no scheduler), -EALREADY (it is on), -ENOMEM, -ESHUTDOWN (the child of a
 * fork, or it has been stopped).
 */
THRUM_API int thrum_trace_start(thrum_sched *sched, size_t events_per_worker);

/*
 * Turns it off; what was noted is kept until the next start, or the scheduler's end. Any thread, as
 * above. -EINVAL, -EALREADY (it is off), -ESHUTDOWN.
 */
THRUM_API int thrum_trace_stop(thrum_sched *sched);

/*
 * Prints what was noted as JSON, in the Trace Event Format: from the start, or the oldest event
 * kept, until the stop, or, while it is on, this call; which nobody waits for. Again if you like.
 *
 *   - A track ("thread") for each worker and each bound thread. On it a slice ("X") for each
 *     stretch that a task ran there without giving the worker up. Its name: the task's, else its
 *     function's, as far as the program exports it (-rdynamic), or its place in the file; else its
 *     number. In its args the number (`id`: the fiber's and the run's, as thrum_dump tells them),
 *     the function, how it ended (`ended`: finished, yielded, waits, running) and what it waits for
 *     (`on`, `object`). Slices "parked" are sleeps, "backs off" short ones of a thief.
 *   - Arrows from where a task gave its worker up to where it went on.
 *   - Instants: "steal", "rescue", "wake" (`worker`: of or to whom).
 *   - Asynchronous slices "blocking call", from the call until the task goes on.
 *   - In `otherData`, `dropped`: events of this trace that newer ones took the place of; untraced
 *     threads; the start on the clock of thrum_now.
 *
 * Times are microseconds since the start, with three places, of the processor's counter where that
 * is steady (else the monotonic clock's). A stretch that lasts from before the start until after
 * the end is not seen, unless it is the caller's of start.
 *
 * Any thread; takes memory for a copy of all events first, then prints; blocks the thread, never
 * suspends. -EINVAL, -ENODATA (there was no start), -ENOMEM, -EIO, -ESHUTDOWN.
 */
THRUM_API int thrum_trace_write(thrum_sched *sched, FILE *out);

THRUM_END_DECLS

#endif
