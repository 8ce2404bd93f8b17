/*
 * on_thread.h: a call that blocks its thread, made for a fiber by a thread of its own while the
 * fiber waits. Such calls are so rare that no thread is kept for them.
 */
#ifndef TH_ON_THREAD_H
#define TH_ON_THREAD_H

#include "core/state/handle.h"

/*
 * Returns the result of fn(arg), or the system's code if it has no thread (-EAGAIN, -ENOMEM).
 * Reports show the fiber as waiting for the scheduler; no cancel ends that. `name` is the thread's.
 */
int th_on_thread(const char *name, thrum_sched *sched, int (*fn)(void *arg), void *arg);

#endif
