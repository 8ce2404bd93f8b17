/*
 * pollset_alarm.c: alarms in sets. Each has a timer of the system's thread pool, so no thread that
 * sleeps has to know its time: when it goes off, a thread of the pool wakes a thread that sleeps
 * for a set that it is in. A thread that checks such a set finds by the clock that it has gone off.
 *
 * The lock of all alarms protects which sets an alarm is in; it is taken before a set's.
 */
#include "platform/windows/pollset/pollset.h"

#include <errno.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "platform/faults.h"

typedef struct th_alarm_timer {
    struct th_alarm_timer *next;
    int number;
    SRWLOCK lock; /* of the following: the timer is set to the time */
    int64_t xat;
    PTP_TIMER timer;
    th_link sets; /* th_alarmed; with the lock of all alarms */
} alarm;

static SRWLOCK alarms_lock = SRWLOCK_INIT;
static alarm *alarms;
static int last; /* number */

static alarm *find(int number) {
    alarm *a = alarms;
    while (a && a->number != number) {
        a = a->next;
    }
    return a;
}

/* With its lock. */
static void set_timer(const alarm *a) {
    if (a->xat == TH_FOREVER) {
        SetThreadpoolTimer(a->timer, NULL, 0, 0);
        return;
    }
    const int64_t left = a->xat - th_os_now();
    ULARGE_INTEGER due = {.QuadPart = (ULONGLONG)(left > 0 ? -(left / 100 + 1) : -1)};
    FILETIME from_now = {due.LowPart, due.HighPart}; /* below 0: from now on */
    SetThreadpoolTimer(a->timer, &from_now, 0, 0);
}

static bool has_gone_off(const alarm *a) {
    /* relaxed: the thread that sets it wakes threads that have not seen it */
    const int64_t at = th_load_relaxed(&a->xat);
    return at != TH_FOREVER && at <= th_os_now();
}

/* The timer's clock may be a moment ahead of ours: then it is set once more. */
static void CALLBACK on_time(PTP_CALLBACK_INSTANCE instance, void *arg, PTP_TIMER timer) {
    alarm *a = arg;
    (void)instance, (void)timer;
    AcquireSRWLockExclusive(&a->lock);
    const bool is_time = has_gone_off(a);
    if (!is_time && a->xat != TH_FOREVER) {
        set_timer(a);
    }
    ReleaseSRWLockExclusive(&a->lock);
    AcquireSRWLockShared(&alarms_lock);
    bool heard = !is_time;
    for (th_link *l = a->sets.next; l != &a->sets && !heard; l = l->next) {
        th_set *set = TH_LINK_OF(l, th_alarmed, in_alarm)->set;
        TH_HOLDS(&set->lock);
        heard = th_set_kick_one(set);
    }
    ReleaseSRWLockShared(&alarms_lock);
}

int th_os_alarm_open(void) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_EVENTFD, -EMFILE);
    alarm *a = calloc(1, sizeof *a);
    if (!a) {
        return -ENOMEM;
    }
    a->xat = TH_FOREVER;
    th_link_init(&a->sets);
    a->timer = CreateThreadpoolTimer(on_time, a, NULL);
    if (!a->timer) {
        free(a);
        return -ENOMEM;
    }
    TH_HOLDS(&alarms_lock);
    const int number = a->number = ++last;
    a->next = alarms;
    alarms = a;
    return number;
}

void th_os_alarm_close(int number) {
    AcquireSRWLockExclusive(&alarms_lock);
    alarm **at = &alarms;
    while (*at && (*at)->number != number) {
        at = &(*at)->next;
    }
    alarm *a = *at;
    if (a) {
        *at = a->next;
        while (!th_link_alone(&a->sets)) {
            th_alarmed *in = TH_LINK_OF(a->sets.next, th_alarmed, in_alarm);
            th_set *set = in->set;
            TH_HOLDS(&set->lock);
            th_link_leave(&in->in_alarm);
            in->alarm = NULL;
        }
    }
    ReleaseSRWLockExclusive(&alarms_lock);
    if (a) {
        AcquireSRWLockExclusive(&a->lock);     /* on_time no longer sets it */
        th_store_relaxed(&a->xat, TH_FOREVER); /* relaxed: as in has_gone_off */
        set_timer(a);
        ReleaseSRWLockExclusive(&a->lock);
        WaitForThreadpoolTimerCallbacks(a->timer, TRUE);
        CloseThreadpoolTimer(a->timer);
        free(a);
    }
}

void th_os_alarm_set(int number, int64_t at) {
    AcquireSRWLockShared(&alarms_lock);
    alarm *a = find(number);
    if (a) {
        TH_HOLDS(&a->lock);
        th_store_relaxed(&a->xat, at); /* relaxed: as in has_gone_off */
        set_timer(a);
    }
    ReleaseSRWLockShared(&alarms_lock);
}

int th_os_pollset_add_alarm(const th_os_pollset *named, int number) {
    th_set *set = th_set_of(named);
    int code = -EBADF;
    TH_HOLDS(&alarms_lock);
    alarm *a = find(number);
    if (a && set) {
        AcquireSRWLockExclusive(&set->lock);
        code = -ENOSPC;
        for (unsigned i = 0; i < TH_SET_ALARMS && code; i++) {
            th_alarmed *in = &set->alarms[i];
            if (!in->alarm) {
                *in = (th_alarmed){.set = set, .alarm = a};
                th_link_init(&in->in_alarm);
                th_link_join(&in->in_alarm, &a->sets);
                code = 0;
            }
        }
        th_set_kick(set);
        ReleaseSRWLockExclusive(&set->lock);
    }
    return code;
}

bool th_set_alarmed(const th_set *set) {
    for (unsigned i = 0; i < TH_SET_ALARMS; i++) {
        if (set->alarms[i].alarm && has_gone_off(set->alarms[i].alarm)) {
            return true;
        }
    }
    return false;
}

void th_set_leave_alarms(th_set *set) {
    TH_HOLDS(&alarms_lock);
    for (unsigned i = 0; i < TH_SET_ALARMS; i++) {
        if (set->alarms[i].alarm) {
            th_link_leave(&set->alarms[i].in_alarm);
            set->alarms[i].alarm = NULL;
        }
    }
}
