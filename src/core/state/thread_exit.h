/*
 * thread_exit.h: frees the parts of a thread's record when the thread ends.
 */
#ifndef TH_THREAD_EXIT_H
#define TH_THREAD_EXIT_H

#include "core/state/thread.h"

/*
 * Registers `end`, to be called when the thread ends. False: the system has no means left for it
 * (every pthread key is taken).
 */
bool th_thread_keep(th_thread *thread, th_exit which, void (*end)(th_thread *thread));

/* Makes the registered calls; a worker's thread calls it directly as it ends. */
void th_thread_ends(void *thread);

#endif
