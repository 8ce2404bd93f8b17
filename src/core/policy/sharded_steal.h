/*
 * sharded_steal.h: how workers of the sharded policy take work from one another: by stealing, by
 * rescue from a worker that does not come round, and by checking between polls.
 */
#ifndef TH_SHARDED_STEAL_H
#define TH_SHARDED_STEAL_H

#include "core/state/worker.h"

#define TH_BACKLOG 2 /* tasks in a queue that are worth a wake (th_notify) */

/* Functions of the policy's table (th_policy). */
th_work *th_sharded_steal(th_worker *worker);
th_work *th_sharded_rescue(th_worker *worker, bool *unsure);
th_work *th_sharded_help(th_worker *worker);
bool th_sharded_pending(th_worker *worker);
bool th_sharded_holds(const th_worker *victim);
bool th_sharded_hand_over(th_worker *worker);

/* For a worker that polls: while all are busy there is no sentinel, so it does that one's work. */
th_work *th_sharded_look_around(th_worker *worker);

#endif
