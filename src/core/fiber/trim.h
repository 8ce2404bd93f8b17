/*
 * trim.h: memory that a worker gives back before it parks.
 */
#ifndef TH_TRIM_H
#define TH_TRIM_H

#include "core/state/worker.h"

/*
 * Before parking: gives back the pages that deep tasks used, until `is_wanted` returns true because
 * there is something better to do.
 */
void th_fiber_cache_trim(th_worker *worker, bool (*is_wanted)(th_worker *worker));

#endif
