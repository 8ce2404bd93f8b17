/*
 * watched_find.h: the search for work of workers whose stalls are watched (core/watch/STALLS.md).
 */
#ifndef TH_WATCHED_FIND_H
#define TH_WATCHED_FIND_H

#include "core/state/worker.h"

/* th_find, or a spare's; then, with work in hand, it rouses the watchdog if that rests. */
th_work *th_watched_find(th_worker *worker);

#endif
