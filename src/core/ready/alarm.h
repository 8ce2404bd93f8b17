/*
 * alarm.h: a wake that is due later, unless it is called off: a worker that goes busy has the
 * system see to it that another one comes to look, if it is busy for long. core/worker/POLLING.md,
 * "The alarm", has the argument.
 */
#ifndef TH_ALARM_H
#define TH_ALARM_H

#include "core/state/worker.h"

/*
 * The set of a regular worker has been opened, with its lock held: it gets the alarm, if there is
 * one. The set that a spare opens to watch those of others has none.
 */
void th_alarm_join(thrum_sched *sched, const th_os_pollset *set);

/*
 * Some worker that sleeps in its set is woken at this time, or before. `word` is the park word as
 * the caller saw it behind its fence. False: there is no alarm, or no worker that hears it.
 */
bool th_alarm_request(thrum_sched *sched, uint64_t word, int64_t at);

/* By a worker that the alarm has woken. */
void th_alarm_take(thrum_sched *sched);

/* Which requests there have been so far; read by a worker before it announces that it parks. */
static inline uint64_t th_alarm_requests(const thrum_sched *sched) {
    return th_load_relaxed(&sched->alarm.xrequests); /* relaxed: the announcement releases */
}

/* All are parked, and it has seen no later request: the alarm is called off. */
void th_alarm_call_off(thrum_sched *sched, uint64_t requests);

/* Whether it is there for all. */
static inline bool th_alarm_is_ready(const thrum_sched *sched) {
    /* relaxed: its descriptor is used with the lock held, which follows that of th_alarm_join */
    return th_load_relaxed(&sched->alarm.xready) != 0;
}

#endif
