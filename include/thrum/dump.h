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
 * Prints, as text or JSON, each worker and each fiber that a task is on: its number, its name,
 * whether it runs, is ready, or waits, and then for what: the kind of object, its address, a
 * mutex's owner, the deadline, since which tick of which worker (a tick is a pick of work); the
 * bound threads likewise; and what other threads wait for in calls of thrum's, if they have used
 * the scheduler. More than 10,000 fibers are told by what they wait for, with some of each. As
 * THRUM_PROMETHEUS: how many fibers wait for each kind.
 *
 * Of each fiber that does not run, and each bound thread that waits, up to 12 calls follow that it
 * is in, the innermost first, without the library's own: "at program+0x1234", which `addr2line -fip
 * -e program 0x1234` turns into function and line; with a function's name behind it where that is
 * exported (of a shared object; of a program that was linked with -rdynamic). They are found by
 * looking for return addresses on the stack, so they may show calls that are over, never too few
 * but where a stack is deep (8 KiB from the wait on are looked at), a call was made a jump by the
 * compiler, or the code was made at run time. On x86_64, aarch64 and riscv64.
 *
 * The scheduler goes on meanwhile. What is said of a fiber that waits was so at one moment; of
 * others, recently: a running one's name may be half of an old one, the calls of one that is ready
 * may be of several moments. A fiber that is woken while it is looked at returns from its wait some
 * microseconds late. Costs nothing until it is called.
 *
 * Any thread, also a task or a bound thread, while the scheduler lives; blocks the thread for the
 * time of the printing, never suspends. Takes memory from the scheduler's allocator for the calls
 * (none: they are not told), and a lock of the system's loader. Not from a signal handler, nor from
 * hooks, nor from a function that dl_iterate_phdr calls. A fork waits until this is out of the
 * loader; but if another thread is inside it by itself at a fork (dlopen, dlclose), the loader's
 * lock may stay held in the child, where a dump then hangs. -EINVAL, -EIO, -ESHUTDOWN (it has been
 * stopped, or, in the child of a fork, is the parent's).
 */
THRUM_API int thrum_dump(const thrum_sched *sched, FILE *out, thrum_format format);

THRUM_END_DECLS

#endif
