/*
 * thrum/dump.h: dumps of a scheduler: all fibers, their waits and their calls.
 *
 * A dump costs nothing until it is made, and the scheduler runs on meanwhile. The description of a
 * fiber that waits was true at one moment. That of other fibers was true recently: the name of a
 * running one may be half of an old name, and the calls of a ready one may be of several moments. A
 * fiber that is woken while it is read returns from its wait some microseconds late.
 *
 * A scheduler dumps itself when a signal comes, if its config has a dump_signal (thrum_config;
 * THRUM_DUMP).
 */
#ifndef THRUM_DUMP_H
#define THRUM_DUMP_H

#include <stdio.h>

#include "thrum/base.h"
#include "thrum/metrics.h"

THRUM_BEGIN_DECLS

/*
 * Prints the state of each fiber, as text or JSON. It prints each worker that has taken part, each
 * fiber that runs a task, and the bound threads. Then come the other threads that have used the
 * scheduler and wait in a call of thrum. As THRUM_PROMETHEUS the dump is only the number of fibers
 * that wait for each kind of object.
 *
 * The text or object of a fiber has:
 *
 *   - its number, its name, and whether it runs, is ready or waits;
 *   - the object of its wait: the kind and the address, and the owner of a mutex, of a once, or of
 *     a rwlock that is held for writing;
 *   - its deadline, as text "due in 80 s", as JSON on the clock of thrum_now;
 *   - for a mutex, how long it has waited: "for 3.2 s", `waits_ns`;
 *   - since which tick of which worker it waits (a tick is a pick of work);
 *   - if it runs, the function of its task: "runs on worker 1 (function)". As JSON that is
 *     `function`, also for fibers that wait if their calls are not known. Nodes of graphs have
 *     none.
 *
 * **Deadlocks.** Fibers that wait for each other in a cycle come before all workers as text, and
 * before all fibers as JSON. `on_deadlock` in thrum_config describes which waits count. The text is
 * "deadlock: 2 wait for each other in a cycle", and a line for each, up to 32. In JSON they are in
 * the array `deadlock`, with their `count`, `cancel_ends_it`, and up to 32 `members`, without those
 * whose wait has ended meanwhile. Each member waits for the next, the last for the first. A thread
 * that is not bound has its number as `external`. A dump finds up to 16 cycles.
 *
 * **Groups.** As text, more than 100 fibers are printed in groups, the largest group first. The
 * fibers of a group do the same in the same calls: "1000 fibers wait for semaphore 0x7f...: 3.1
 * "reader", 4.1 and 998 more". Members are alike in all that would be printed of each. A group has
 * the fiber that has waited longest by the ticks of its worker, the first of the deadlines, and the
 * calls once. If the fibers wait for different objects, that is printed too. A fiber that is alone
 * in its calls is printed as in a small dump. If no calls are known, fibers that wait for the same
 * object are a group. There are at most 512 groups; fibers beyond that are counted by the kind of
 * their waits.
 *
 * As JSON, each fiber is in the array `fiber`, however many there are. Its `group` is the number,
 * from 0, of an element of the array `group`. That element has `count`, `state`, `on`, `object` (if
 * it is the same for all), the first `deadline`, some `members`, the `longest` and `calls`.
 * `ungrouped` is the number of fibers without a group. After the first 10,000 fibers, those with a
 * group leave their calls to it.
 *
 * **Descriptors.** A wait for a descriptor is printed with the operation and the system's
 * description, taken at that moment. As text it is "reads fd 12, tcp 127.0.0.1:80 from
 * 127.0.0.1:5012", "writes", "accepts on", "waits for fd 12 to be readable", or "closes". As JSON
 * it is `fd` and `descriptor`. A descriptor that is closed meanwhile is printed as its number
 * alone. Other waits for something outside are "dials tcp:...", "resolves example.org", "waits for
 * SIGTERM", and for a select with descriptors "waits for one of several, descriptors among them".
 * Tasks that thrum_io_on has listed have a line each, at most 10,000: "task 0x7f... (function) is
 * posted when fd 7 is readable, tcp ...".
 *
 * **Workers held up.** If one task holds a worker up, the text has for how long, and whether the
 * thread is blocked or computes. It also has the spare worker that takes over. This is known only
 * as far as spares have looked. They look while no worker is free or none was a moment ago, and
 * while a spare takes over.
 *
 * **Calls.** Up to 12 calls follow for each fiber that does not run, and for each bound thread that
 * waits. So they do for a fiber whose thread waits in a system call, if the system reports that.
 * They are the calls that it is in, the innermost first, without the library's own: "at
 * program+0x1234 (function+0x12)". `addr2line -fip -e program 0x1234` prints the source line;
 * thrum-names adds the lines to a whole dump. The function is printed if it is exported, or if the
 * file still has its name: it was not stripped and is the file that was loaded. Calls are found by
 * a search for return addresses on the stack, so some may be over, mostly behind calls by pointer.
 * A call is missing only if the stack is deep, if the compiler made a jump of it, or if its code
 * was made at run time. The search covers 8 KiB from the wait on, and 128 such addresses. Calls are
 * found on x86_64, aarch64 and riscv64.
 *
 * **Files.** For each thread that runs a fiber, the call reads a file below /proc/self/task; if it
 * may not, those calls are left out. For names of functions that are not exported it opens the
 * files that the code was loaded from, one at a time, and closes them. If it may not, or when it
 * has read 1 GiB, it prints places instead. With the close, a process loses the locks that it holds
 * on such a file by fcntl. A program with more rights than its caller opens only /proc/self/exe.
 *
 * **Memory and locks.** The call takes some 400 KB from the scheduler's allocator for calls, names
 * and groups, however many fibers there are. Without that memory, calls and groups are left out,
 * and as text all but 10,000 fibers. It takes a lock of the system's loader, and a fork waits until
 * the call has left the loader. But if another thread is in dlopen or dlclose at a fork, the
 * loader's lock may stay held in the child. A dump in the child then hangs.
 *
 * Parameters:
 *   sched   the scheduler
 *   out     the stream, which stays the caller's and is flushed
 *   format  THRUM_TEXT, THRUM_JSON or THRUM_PROMETHEUS
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL     sched or out is NULL, or the format is unknown
 *   -EIO        something could not be written, now or earlier: the stream's error flag is set
 *   -ESHUTDOWN  the scheduler has been stopped, or is that of a fork's parent
 * Context: any thread; never suspends. It blocks the thread while it prints. A hook of
 *   thrum_config, and a function that dl_iterate_phdr calls, must not call it.
 * Ordering: none.
 * Example:
 *    int err = thrum_dump(thrum_sched_current(), stderr, THRUM_TEXT);
 * See also: thrum_metrics_print, thrum_trace_write
 */
THRUM_API int thrum_dump(const thrum_sched *sched, FILE *out, thrum_format format);

THRUM_END_DECLS

#endif
