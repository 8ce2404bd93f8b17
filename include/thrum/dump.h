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
 * The scheduler goes on meanwhile. What is said of a fiber that waits was so at one moment; of
 * others, recently; a running one's name may be half of an old one. A fiber that is woken while it
 * is looked at returns from its wait some microseconds late. Costs nothing until it is called.
 *
 * Any thread, also a task or a bound thread, while the scheduler lives; blocks the thread for the
 * time of the printing, never suspends. Not from a signal handler, nor from hooks. -EINVAL, -EIO.
 */
THRUM_API int thrum_dump(const thrum_sched *sched, FILE *out, thrum_format format);

THRUM_END_DECLS

#endif
