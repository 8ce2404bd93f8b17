/*
 * thrum/trace.h: traces of the work of each worker, for Perfetto and chrome://tracing.
 *
 * While a trace is on, each worker and each bound thread records its runs and their ends, its
 * sleeps, its steals and its wakes. A trace buffer keeps the latest of these events. So a trace may
 * stay on for ever, and be written when something was odd. While it is off, it costs two
 * instructions a switch and three a task. While it is on, it costs less than 0.1 µs for each
 * stretch that a task runs.
 */
#ifndef THRUM_TRACE_H
#define THRUM_TRACE_H

#include <stdio.h>

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Turns tracing on. Earlier events are forgotten.
 *
 * A stretch of a task is one event, and so are a sleep, a wake and a steal. An event takes 72
 * bytes. The memory is taken from the scheduler's `alloc` in this call, when a thread is bound, and
 * when a spare worker takes over for the first time. It is kept until the scheduler ends; workers
 * allocate nothing else for a trace. A thread for which there is no memory then is not traced, but
 * counted as untraced.
 *
 * Parameters:
 *   sched              the scheduler
 *   events_per_worker  how many of the latest events of each worker and of each bound thread are
 *                      kept at least; 0: 32767
 * Returns: 0, or a negative error code with tracing on or off as before.
 * Errors:
 *   -EINVAL     sched is NULL
 *   -EALREADY   tracing is on
 *   -ENOMEM     there is no memory
 *   -ESHUTDOWN  the scheduler has been stopped, or is that of a fork's parent
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/trace.c
 * See also: thrum_trace_stop, thrum_trace_write
 */
THRUM_API int thrum_trace_start(thrum_sched *sched, size_t events_per_worker);

/*
 * Turns tracing off. The events are kept until the next start or the scheduler's end.
 *
 * Parameters:
 *   sched  the scheduler
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL     sched is NULL
 *   -EALREADY   tracing is off
 *   -ESHUTDOWN  the scheduler has been stopped, or is that of a fork's parent
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/trace.c
 * See also: thrum_trace_start, thrum_trace_write
 */
THRUM_API int thrum_trace_stop(thrum_sched *sched);

/*
 * Prints the events as JSON, in the Trace Event Format: from the start, or from the oldest event
 * kept, until the stop, or until this call while tracing is on. Workers do not wait for it. A trace
 * may be written several times. The output has:
 *
 *   - A line ("thread") for each worker that has taken part and each bound thread. On it is a slice
 *     ("X") for each stretch that a task ran there without giving the worker up.
 *   - The name of a slice is the task's, otherwise that of its function, static or not (thrum_dump
 *     describes how it is found). Without either, it is the function's place in the file
 *     ("program+0x1234"), otherwise the task's number. Its args are the number (`id`: that of the
 *     fiber and that of the run, as thrum_dump prints them), the function, and how the stretch
 *     ended (`ended`: finished, yielded, waits, running). For a wait they also have its object
 *     (`on`, `object`, or `fd` for a descriptor). Slices "parked" are sleeps, "backs off" short
 *     ones of a thief.
 *   - Arrows from the place where a task gave its worker up to the place where it went on.
 *   - Instants "steal", "rescue" and "wake" (`worker`: the one stolen from, or woken). For spare
 *     workers, "take over" (`worker`: the one that is held up) and "retire".
 *   - Instants "stall" (`ms`: the length of the whole stretch), when a task had run for `stall_ms`
 *     without giving its worker up, or for `stall_rescue_ms` if `stall_ms` is 0.
 *   - Instants "poll" (`events`): the system was asked which descriptors are ready, and reported so
 *     many.
 *   - Instants "read" and "write" (`fd`, `bytes`), of category "outside", within a task's slice,
 *     when a call has moved bytes.
 *   - Asynchronous slices "blocking call", from the call until the task goes on.
 *   - Asynchronous slices of category "outside", until the task goes on. They are waits for
 *     descriptors ("reads fd 12", "writes fd 12", "waits for fd 12"), connections, names, files
 *     ("waits for a file"), signals, selects with descriptors, and other things outside ("waits for
 *     something outside"). Waits for messages (thrum_event_wait_message, calls of MPI) have `peer`
 *     and `tag` in their args, each a number or "any". So has the slice of the task that began the
 *     wait. A peer whose number is above 16,777,213 is left out.
 *   - In `otherData`: `dropped`, the number of events of this trace that newer ones replaced; the
 *     number of untraced threads; and the start on the clock of thrum_now.
 *
 * Times are microseconds since the start, with three decimals, from the processor's counter if that
 * is steady, otherwise from the monotonic clock. A stretch that lasts from before the start until
 * after the end is not seen, unless it is that of the caller of thrum_trace_start.
 *
 * The call first takes memory for a copy of all events, and gives it back. For names it opens
 * files, as thrum_dump does.
 *
 * Parameters:
 *   sched  the scheduler
 *   out    the stream, which stays the caller's and is flushed
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL     sched or out is NULL
 *   -ENODATA    tracing was never started
 *   -ENOMEM     there is no memory
 *   -EIO        something could not be written, now or earlier: the stream's error flag is set
 *   -ESHUTDOWN  the scheduler has been stopped, or is that of a fork's parent
 * Context: any thread; never suspends. It blocks the thread while it prints.
 * Ordering: none.
 * Example: examples/trace.c
 * See also: thrum_trace_start, thrum_dump
 */
THRUM_API int thrum_trace_write(thrum_sched *sched, FILE *out);

THRUM_END_DECLS

#endif
