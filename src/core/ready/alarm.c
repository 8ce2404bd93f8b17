/*
 * alarm.c: see alarm.h.
 */
#include "core/ready/alarm.h"

#include "core/basis/parkword.h"
#include "platform/platform.h"

void th_alarm_join(thrum_sched *sched, const th_os_pollset *set) {
    th_alarm *alarm = &sched->alarm;
    TH_LOCKED(&alarm->lock);
    if (alarm->fd == TH_ALARM_NONE) {
        alarm->fd = th_os_alarm_open(); /* a code: it is not tried again */
    }
    if (alarm->fd >= 0 && th_os_pollset_add_alarm(set, alarm->fd) == 0 &&
        ++alarm->sets == sched->workers_regular) {
        th_store_relaxed(&alarm->xready, 1u); /* relaxed: the lock publishes the descriptor */
    }
}

/* A worker with the alarm in its set is parked: spares do not have it. */
static bool anyone_hears(const thrum_sched *sched, uint64_t word) {
    return th_alarm_is_ready(sched) &&
           th_park_parked(word) > sched->workers_count - sched->workers_regular;
}

bool th_alarm_request(thrum_sched *sched, uint64_t word, int64_t at) {
    th_alarm *alarm = &sched->alarm;
    if (!anyone_hears(sched, word)) {
        return false;
    }
    TH_LOCKED(&alarm->lock);
    /* relaxed: compared with the lock held */
    th_store_relaxed(&alarm->xrequests, alarm->xrequests + 1);
    if (at < alarm->at) {
        alarm->at = at;
        th_os_alarm_set(alarm->fd, at);
    }
    return true;
}

/* With the lock. */
static void silence(th_alarm *alarm) {
    alarm->at = TH_FOREVER;
    th_os_alarm_set(alarm->fd, TH_FOREVER);
}

void th_alarm_take(thrum_sched *sched) {
    TH_LOCKED(&sched->alarm.lock);
    silence(&sched->alarm);
}

void th_alarm_call_off(thrum_sched *sched, uint64_t requests) {
    th_alarm *alarm = &sched->alarm;
    TH_LOCKED(&alarm->lock);
    if (alarm->xrequests == requests && alarm->at != TH_FOREVER) {
        silence(alarm);
    }
}
