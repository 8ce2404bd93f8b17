/*
 * waits.c: locks that block, in words; waits and sleeps that are hardly ever meant;
 * long runs.
 */
#include <errno.h>

#include "faults.h"

static thrum_mutex lock = THRUM_MUTEX_INIT;
static thrum_rwlock rwlock = THRUM_RWLOCK_INIT;

/* ---- long runs ---- */

static int does_nothing(void *arg) {
    (void)arg;
    return 0;
}

int many_tasks(void *arg) {
    (void)arg;
    for (int i = 0; i < 100000; i++) {
        thrum_handle *h;
        MUST(thrum_spawn(&h, does_nothing, NULL));
        MUST(thrum_join(h, NULL));
    }
    return 0;
}

/* ---- mistakes ---- */

int waits_for_duration(void *arg) {
    thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
    (void)arg;
    THRUM_TEST(thrum_event_wait_until(&event, THRUM_MS(100)) == -ETIMEDOUT);
    return 0;
}

int sleeps_for_number(void *arg) {
    (void)arg;
    MUST(thrum_sleep(100)); /* in a test, it may be meant */
    return 0;
}

/* ---- locks ---- */

static int waits_for_locks(void *arg) {
    (void)arg;
    thrum_mutex_lock(&lock);
    thrum_mutex_unlock(&lock);
    thrum_rwlock_rdlock(&rwlock);
    thrum_rwlock_unlock(&rwlock);
    return 0;
}

int lock_waits(void *arg) {
    thrum_handle *h;
    (void)arg;
    thrum_mutex_lock(&lock);
    thrum_rwlock_wrlock(&rwlock);
    MUST(thrum_spawn(&h, waits_for_locks, NULL));
    MUST(thrum_sleep(THRUM_S(1)));
    thrum_mutex_unlock(&lock);
    MUST(thrum_sleep(THRUM_S(1)));
    thrum_rwlock_unlock(&rwlock);
    return thrum_join(h, NULL);
}
