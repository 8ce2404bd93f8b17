/*
 * live.h: data for thrum-top beside metrics and dumps: the functions that workers spend their time
 * in, the latest stalls, the longest waits. observe/OBSERVE.md has the times of the looks at
 * workers, and their cost.
 *
 * All by the thread that answers, with the lock of the list of schedulers, unless stated otherwise.
 */
#ifndef TH_LIVE_H
#define TH_LIVE_H

#include "core/report/words.h"
#include "core/state/worker.h"

/* Memory for the samples of a scheduler, before it is in the list; and back. Any thread. */
void th_live_begin(thrum_sched *sched);
void th_live_end(thrum_sched *sched);

/*
 * Looks at the workers of all schedulers of the list, if it is time for that. The time of the next
 * look; TH_FOREVER: nobody has asked for some seconds.
 */
int64_t th_live_look(thrum_sched *first, int64_t now);

/* No requester is left. */
void th_live_leave(void);

/* In the child of a fork: nobody has asked. */
void th_live_forget(void);

/* Adds an object. From then on workers are looked at for some seconds. */
void th_live_add_top(th_text *text);

/* Adds an object: the longest waits, and how long it took to find them. */
void th_live_add_waits(th_text *text);

#endif
