/*
 * reaper.h: processes that no caller waits for any longer, processes that a thread must wait for,
 * and the end of their memory.
 */
#ifndef TH_REAPER_H
#define TH_REAPER_H

#include "process/process_state.h"

/*
 * Frees one whose handle is closed, for a caller that has nothing of it any longer. The memory is
 * kept until as many others as there is room for have been freed, so that calls on the handle find
 * that it is closed.
 */
void th_process_free(thrum_process *process);

/*
 * Takes over a process that has not ended, with its descriptor, which is no thrum_io any longer:
 * when it ends the system forgets it.
 */
void th_reaper_take(thrum_process *process);
/* Tries again to get a thread for the taken processes; to be called now and then. */
void th_reaper_look(void);

/*
 * If the system has no descriptors of processes: sets process->io, with a thread that will wait for
 * the process. 0 or a code. Then th_watcher_go, once the process is started or has failed.
 */
int th_watcher_begin(thrum_process *process);
void th_watcher_go(thrum_process *process, uint32_t begun);
/* The handle's end; without it the thread goes on, and frees the process. */
void th_watcher_leave(thrum_process *process);

#endif
