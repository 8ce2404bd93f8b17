/*
 * dump_signal.h: a dump of a scheduler to stderr when a signal comes (config: dump_signal). A
 * handler counts the signal and wakes a thread of the library's, which prints. The thread is there
 * while some scheduler has such a signal. core/watch/DUMP.md has the argument.
 */
#ifndef TH_DUMP_SIGNAL_H
#define TH_DUMP_SIGNAL_H

#include "core/state/worker.h"

/*
 * For the start, when the scheduler is whole: from now on the signal is caught, if its config names
 * one. -EINVAL, -EBUSY: as th_os_signal_catch; -EAGAIN, -ENOMEM: there is no thread. If THRUM_DUMP
 * names the signal, it still returns 0, and prints one line about the failure.
 */
int th_dump_signal_begin(thrum_sched *sched);

/*
 * For the stop: waits until a dump of it that has begun is over. If stderr has not taken all by the
 * deadline, the rest is dropped. Does nothing if no dump has begun.
 */
void th_dump_signal_end(thrum_sched *sched, int64_t deadline);

/* In the child of a fork: no scheduler of the parent's is dumped, and no signal is caught. */
void th_dump_signal_in_child(void);

#endif
