/*
 * pick.c: see pick.h.
 */
#include "core/ready/pick.h"

#include "platform/platform.h"

/* The time after which the inject queue comes first again, where runs are long. */
#define FAIR_NS 50000

unsigned th_fair_interval(th_worker *worker) {
    const unsigned most = worker->sched->config.global_interval;
    const unsigned last = worker->picks.fair_interval;
    uint64_t now = th_os_ticks();
    int64_t ns = th_os_ticks_ns(now - worker->picks.fair_at);
    worker->picks.fair_at = now;
    uint64_t fits = ns > 0 ? (uint64_t)last * FAIR_NS / (uint64_t)ns : most;
    uint64_t least = last > 1 ? last / 2 : 1;
    uint64_t interval = fits > least ? fits : least;
    interval = interval < 2 * (uint64_t)last ? interval : 2 * (uint64_t)last;
    worker->picks.fair_interval = (unsigned)(interval < most ? interval : most);
    return worker->picks.fair_interval;
}

th_work *th_steal_none(th_worker *worker) {
    (void)worker;
    return NULL;
}

th_work *th_rescue_none(th_worker *worker, bool *unsure) {
    (void)worker;
    (void)unsure;
    return NULL;
}
