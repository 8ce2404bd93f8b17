/*
 * thrum/trace.h: what each worker did when, to be looked at in Perfetto or chrome://tracing.
 *
 * While a trace is on, each worker and each bound thread notes what it runs and how that ends, its
 * sleeps, what it takes from others and which workers it wakes, in a trace buffer that keeps the
 * latest events: so a trace may be on for ever and be written when something was odd. While it is
 * off, it costs two instructions a switch and three a task; while it is on, less than a tenth of a
 * microsecond for each stretch that a task runs.
 */
#ifndef THRUM_TRACE_H
#define THRUM_TRACE_H

#include <stdio.h>

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Turns tracing on; what was noted before is forgotten. At least the latest `events_per_worker`
 * events of each worker and of each bound thread are kept (0: 32767), 72 bytes each: that memory is
 * taken here, when a thread is bound, and when a spare worker takes over for the first time, from
 * the scheduler's `alloc`, and kept until the scheduler ends. Workers allocate nothing else for it.
 * A stretch of a task is one event, and so are a sleep, a wake and a theft. A thread for which
 * there is no memory then is not traced, but counted ("untraced").
 *
 * Any thread may call it while the scheduler lives. It never suspends. It returns 0, or with
 * tracing on or off as before -EINVAL for NULL, -EALREADY when tracing is on, -ENOMEM, and
 * -ESHUTDOWN when the scheduler has been stopped, or is that of a fork's parent.
 */
THRUM_API int thrum_trace_start(thrum_sched *sched, size_t events_per_worker);

/*
 * Turns tracing off; what was noted is kept until the next start, or the scheduler's end. Any
 * thread may call it while the scheduler lives. It never suspends. It returns 0, -EALREADY when
 * tracing is off, or -EINVAL and -ESHUTDOWN as thrum_trace_start does.
 */
THRUM_API int thrum_trace_stop(thrum_sched *sched);

/*
 * Prints what was noted as JSON, in the Trace Event Format: from the start, or the oldest event
 * kept, until the stop, or, while tracing is on, until this call. Workers do not wait for it. A
 * trace may be written again. The output has:
 *
 *   - A line ("thread") for each worker that has taken part and each bound thread. On it is a slice
 *     ("X") for each stretch that a task ran there without giving the worker up. The slice's name
 *     is the task's, else its function's, static or not, which thrum_dump says more of, or its
 *     place in the file ("program+0x1234"); else its number. Its args are the number (`id`: the
 *     fiber's and the run's, as thrum_dump prints them), the function, how the stretch ended
 *     (`ended`: finished, yielded, waits, running) and what the task waits for (`on`, `object`, or
 *     `fd` of a descriptor). Slices "parked" are sleeps, "backs off" short ones of a thief.
 *   - Arrows from where a task gave its worker up to where it went on.
 *   - Instants: "steal", "rescue", "wake" (`worker`: the one stolen from, or woken); of spare
 *     workers "take over" (`worker`: the one that is held up) and "retire". "stall" (`ms`: the
 *     length of the whole stretch) where a task had run for `stall_ms`, or where that is 0,
 *     `stall_rescue_ms`, without giving its worker up. "poll" (`events`): the
 *     system was asked which descriptors are ready, and told of so many. Of category "outside",
 *     within a task's slice: "read" and "write" (`fd`, `bytes`), when a call has moved bytes.
 *   - Asynchronous slices "blocking call", from the call until the task goes on.
 *   - Asynchronous slices of category "outside": waits for descriptors ("reads fd 12", "writes fd
 *     12", "waits for fd 12"), connections, names, files ("waits for a file"), signals, selects
 *     with descriptors, and what else is outside ("waits for something outside"), until the task
 *     goes on. Waits for messages (thrum_event_wait_message, calls of MPI) have `peer` and `tag`
 *     in their args, each a number or "any"; so has the slice of the task that began the wait. A
 *     peer whose number is above 16,777,213 is left out.
 *   - In `otherData`: `dropped`, the number of events of this trace that newer ones took the place
 *     of; the number of untraced threads; the start on the clock of thrum_now.
 *
 * Times are microseconds since the start, with three places, of the processor's counter where that
 * is steady (else of the monotonic clock). A stretch that lasts from before the start until after
 * the end is not seen, unless it is that of the caller of the start.
 *
 * Any thread may call it while the scheduler lives. It never suspends, but blocks the thread for
 * the time of the printing. It takes memory for a copy of all events first, and gives it back. For
 * names it opens files, as thrum_dump does. The stream stays the caller's, and is flushed. It
 * returns 0, -ENODATA when there was no start, -ENOMEM, -EIO when something could not be written,
 * now or earlier (the stream's error flag is set), or -EINVAL and -ESHUTDOWN as thrum_trace_start
 * does.
 */
THRUM_API int thrum_trace_write(thrum_sched *sched, FILE *out);

THRUM_END_DECLS

#endif
