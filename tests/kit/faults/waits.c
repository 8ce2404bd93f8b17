/*
 * waits.c: locks that block, in words.
 */
#include "faults.h"

static thrum_mutex lock = THRUM_MUTEX_INIT;
static thrum_rwlock rwlock = THRUM_RWLOCK_INIT;

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
