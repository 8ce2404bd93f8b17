/*
 * trim.h: what a worker that is about to park gives back.
 */
#ifndef TH_TRIM_H
#define TH_TRIM_H

#include "core/state/worker.h"

/*
 * Before parking: gives back what deep tasks used, as long as nothing better is to be done: that is
 * `is_wanted`.
 */
void th_idle_trim(th_worker *worker, bool (*is_wanted)(th_worker *worker));

#endif
