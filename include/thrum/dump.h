/*
 * thrum/dump.h: every fiber of a scheduler, and what it waits for.
 */
#ifndef THRUM_DUMP_H
#define THRUM_DUMP_H

#include <stdio.h>

#include "thrum/base.h"
#include "thrum/metrics.h"

THRUM_BEGIN_DECLS

/*
 * Prints, as text or JSON, each worker that has taken part, and each fiber that runs a task: its
 * number, its name, whether it runs, is ready, or waits, and what it waits for: the kind of object,
 * its address, the owner of a mutex, of a once or of a rwlock held for writing, the deadline (as
 * text "due in 80 s", as JSON by the clock of thrum_now), of a mutex for how long ("for 3.2 s",
 * `waits_ns`), and since which tick of which worker (a tick is a pick of work). The bound threads
 * follow likewise, and then what other threads wait for in calls of thrum's, if they have used the
 * scheduler. As THRUM_PROMETHEUS it prints how many fibers wait for each kind.
 *
 * Those that wait for each other in a cycle are told before all workers as text, before all
 * fibers as JSON (thrum/config.h, `on_deadlock`, says what counts): as text "deadlock: 2 wait for
 * each other in a cycle", and a line for each, up to 32; as JSON in the array `deadlock`, with
 * their `count`, `cancel_ends_it`, and the `members` in order, up to 32, without those whose wait
 * has ended meanwhile: each waits for the next, the last for the first; a thread that is not
 * bound has its number as `external`. A dump finds up to 16 cycles.
 *
 * As text more than 100 fibers are told in groups of those that do the same in the same calls (at
 * least, in all that would be told of each), the largest first: "1000 fibers wait for semaphore
 * 0x7f...: 3.1 "reader", 4.1 and 998 more", with the one that has waited longest by the ticks of
 * its worker, the first of their deadlines, and the calls, once. Where they do not all wait for the
 * same object it says so. A fiber that is alone in its calls is told as in a small dump. There are
 * 512 groups at most; fibers that would need one more are counted by what they wait for. Where no
 * calls are told, those that wait for the same object are a group.
 *
 * As JSON each fiber is in the array `fiber`, however many there are. Its `group` is the number of
 * its element in the array `group`, from 0 on, with `count`, `state`, `on`, `object` (where it is
 * the same for all), the first `deadline`, some `members`, the `longest` and `calls`; `ungrouped`
 * is how many have none. Of the fibers behind the first 10,000, those that have a group leave their
 * calls to it.
 *
 * Of a wait for a descriptor it prints what is done and what the system says of it: "reads fd 12,
 * tcp 127.0.0.1:80 from 127.0.0.1:5012", "writes", "accepts on", "waits for fd 12 to be readable",
 * "closes"; as JSON `fd` and `descriptor`. The system is asked at that moment; a descriptor that is
 * closed meanwhile is told by its number alone. Other waits for what is outside are "dials
 * tcp:...", "resolves example.org", "waits for SIGTERM", and of a select with descriptors "waits
 * for one of several, descriptors among them". Tasks that thrum_io_on has listed have a line each,
 * at most 10,000: "task 0x7f... (function) is posted when fd 7 is readable, tcp ...".
 *
 * Of a worker that one task holds up the text says so, for how long, whether its thread is blocked
 * or computes, and which spare worker takes over, as far as spares have looked: they do while no
 * worker is free, or none was a moment ago, or a spare takes over.
 *
 * For a fiber that runs it names the function of its task, "runs on worker 1 (function)"; as JSON
 * `function`, also of those that wait where calls are not known. Nodes of graphs have none.
 *
 * For each fiber that does not run, or whose thread waits in a system call (where the system
 * tells), and each bound thread that waits, up to 12 calls follow that it is in, the innermost
 * first, without the library's own: "at program+0x1234 (function+0x12)". The place in the file is
 * for `addr2line -fip -e program 0x1234`; thrum-names adds what that says to a whole dump.
 * The function stands there if it is exported, and if the file, which is read for it, still has it:
 * if it was not stripped, and is the one that was loaded. The calls are found by looking for return
 * addresses on the stack, so some may be over, mostly behind calls by pointer. One is missing only
 * where the stack is deep (8 KiB from the wait on are looked at, and 128 such addresses), the
 * compiler made a jump of it, or its code was made at run time. Calls are found on x86_64, aarch64
 * and riscv64.
 *
 * The scheduler goes on meanwhile. What is printed of a fiber that waits was so at one moment; what
 * is printed of others was so recently: a running one's name may be half of an old one, the calls
 * of one that is ready may be of several moments. A fiber that is woken during its snapshot returns
 * from its wait some microseconds late. Dumps cost nothing until one is made.
 *
 * Any thread may call it while the scheduler lives, but not from a hook, nor from a function that
 * dl_iterate_phdr calls. For each thread that runs a fiber it reads a file below /proc/self/task;
 * where it may not, those calls are left out. For names of functions that are not exported it opens
 * the files that the code was loaded from, one at a time, and closes them; where it may not, or
 * when it has read 1 GiB, places are told instead. (With the close a process loses locks that it
 * holds on such a file by fcntl. A program with more rights than its caller opens only
 * /proc/self/exe.) It never suspends, but blocks the thread for the time of the printing. The
 * stream stays the caller's, and is flushed. It takes memory from the scheduler's allocator for the
 * calls, names and groups, some 400 KB however many fibers there are (without it calls and groups
 * are left out, and as text all but 10,000 fibers), and a lock of the system's loader. A fork waits
 * until this is out of the loader; but if another thread is inside the loader by itself at a fork
 * (dlopen, dlclose), the loader's lock may stay held in the child, where a dump then hangs.
 *
 * It returns 0, -EINVAL for NULL or an unknown format, -EIO when something could not be written,
 * now or earlier (the stream's error flag is set), or -ESHUTDOWN when the scheduler has been
 * stopped, or is that of a fork's parent.
 *
 * A scheduler dumps itself when a signal comes, if its config says so (dump_signal, THRUM_DUMP).
 */
THRUM_API int thrum_dump(const thrum_sched *sched, FILE *out, thrum_format format);

THRUM_END_DECLS

#endif
