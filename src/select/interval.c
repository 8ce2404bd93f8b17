/*
 * interval.c: intervals, which tick once in each period.
 *
 * An interval belongs to one caller at a time, so nothing here is atomic: it is arithmetic, and a
 * sleep. In a select the ticks are deadlines of the wait (among.c), on no list.
 */
#include "select/among.h"

#include <errno.h>

#include "base/check.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "thrum/spawn.h"

void thrum_interval_init(thrum_interval *interval, thrum_time first, thrum_time period,
                         thrum_missed missed) {
    if (period < 1 || (unsigned)missed > THRUM_MISSED_SKIP) {
        th_misuse("thrum_interval_init",
                  period < 1 ? "a period below 1 ns" : "missed is no thrum_missed", interval);
    }
    *interval = (thrum_interval){.next = first, .period = period, .missed = (uint32_t)missed};
}

/* The instant so much later, THRUM_FOREVER if it is beyond that. */
static thrum_time later(thrum_time when, thrum_time period) {
    return period == THRUM_FOREVER || when > THRUM_FOREVER - period ? THRUM_FOREVER : when + period;
}

void th_interval_take(thrum_interval *interval, int64_t now) {
    thrum_time from = interval->next;
    if (now <= from) {
        /* It is not late, whatever it does about missed ticks. */
    } else if (interval->missed == THRUM_MISSED_DELAY) {
        from = now;
    } else if (interval->missed == THRUM_MISSED_SKIP) {
        /* unsigned: the distance of two instants may be more than an int64_t holds */
        uint64_t missed = ((uint64_t)now - (uint64_t)from) / (uint64_t)interval->period;
        interval->skipped += missed;
        from = (thrum_time)((uint64_t)from + missed * (uint64_t)interval->period);
    }
    interval->next = later(from, interval->period);
}

bool thrum_interval_test(thrum_interval *interval) {
    const int64_t now = th_os_now();
    const bool due = th_interval_is_due(interval, now);
    if (due) {
        th_interval_take(interval, now);
    }
    return due;
}

/* Whether a wait of the caller would be cancelled. */
static bool is_to_end(void) {
    const th_fiber *fiber = th_fiber_self();
    return fiber && !fiber->inherited.shields && thrum_cancelled();
}

int thrum_interval_wait_until(thrum_interval *interval, thrum_time deadline) {
    const thrum_time next = interval->next;
    int64_t now = th_os_now();
    if (!th_interval_is_due(interval, now)) {
        int code = thrum_sleep_until(next < deadline ? next : deadline);
        if (code) {
            return code;
        }
        if (next > deadline) {
            return -ETIMEDOUT;
        }
        now = th_os_now();
    } else if (is_to_end()) {
        return -ECANCELED;
    }
    th_interval_take(interval, now);
    return 0;
}

int thrum_interval_wait(thrum_interval *interval) {
    return thrum_interval_wait_until(interval, THRUM_FOREVER);
}
