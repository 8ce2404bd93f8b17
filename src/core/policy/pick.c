/*
 * pick.c: see pick.h.
 */
#include "core/policy/pick.h"

#include "core/due/poll.h"
#include "core/due/timer.h"
#include "core/ready/wake.h"
#include "platform/platform.h"

#define LEFT_NS 100000 /* for each worker: between two looks at work left by others */
#define LEFT_LEAST_NS 2000000

unsigned th_fair_interval(th_worker *worker) {
    const unsigned most = worker->sched->config.global_interval;
    const unsigned last = worker->picks.fair_interval;
    uint64_t now = th_os_ticks();
    int64_t ns = th_os_ticks_ns(now - worker->picks.fair_at);
    worker->picks.fair_at = now;
    uint64_t fits = ns > 0 ? (uint64_t)last * TH_FAIR_NS / (uint64_t)ns : most;
    uint64_t least = last > 1 ? last / 2 : 1;
    uint64_t interval = fits > least ? fits : least;
    interval = interval < 2 * (uint64_t)last ? interval : 2 * (uint64_t)last;
    worker->picks.fair_interval = (unsigned)(interval < most ? interval : most);
    return worker->picks.fair_interval;
}

void th_fair_if_late(th_worker *worker) {
    if (th_os_ticks_ns(th_os_ticks() - worker->picks.fair_at) > TH_FAIR_NS) {
        worker->picks.until_inject = 1;
    }
}

bool th_look_at_left(th_worker *worker, uint64_t now) {
    int64_t interval = (int64_t)th_workers_end(worker->sched) * LEFT_NS;
    interval = interval < LEFT_LEAST_NS ? LEFT_LEAST_NS : interval;
    if (th_likely(th_os_ticks_ns(now - worker->picks.left_at) < interval)) {
        return false;
    }
    worker->picks.left_at = now;
    (void)th_timers_help(worker, false);
    (void)th_poll_help(worker);
    worker->polls = worker->polls || th_poller_is_open(&worker->poller);
    return true;
}

th_work *th_rescue_left(th_worker *worker) {
    uint64_t before = th_ring_size(&worker->ring);
    th_work *work = worker->policy->rescue(worker, &worker->look_unsure);
    if (work && (th_ring_size(&worker->ring) > before || th_batch_any(&worker->batch))) {
        th_notify(worker, true); /* it may be no searcher: then a wake is due for the rest */
    }
    return work;
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
