/*
 * thread_exit.h: a thread ends: what hangs on its record goes with it.
 */
#ifndef TH_THREAD_EXIT_H
#define TH_THREAD_EXIT_H

#include "core/state/thread.h"

/*
 * Sees to it that `end` is called when the thread ends, for what hangs on the record. False: the
 * system has no means left for it (every pthread key is taken).
 */
bool th_thread_keep(th_thread *thread, th_exit which, void (*end)(th_thread *thread));

/* For a worker's thread, as it ends: the same at once. */
void th_thread_ends(void *thread);

#endif
