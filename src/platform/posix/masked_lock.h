/*
 * masked_lock.h: a lock that handlers of signals may take, too: its holder has all signals blocked,
 * so no handler ever finds it in the hands of the thread that it has interrupted. That holds during
 * a fork as well, before which its file takes it: the child finds it free.
 */
#ifndef TH_POSIX_MASKED_LOCK_H
#define TH_POSIX_MASKED_LOCK_H

#include <pthread.h>
#include <signal.h>

static inline void th_masked_lock(pthread_mutex_t *lock, sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
    pthread_mutex_lock(lock);
}

static inline void th_masked_unlock(pthread_mutex_t *lock, const sigset_t *before) {
    pthread_mutex_unlock(lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

#endif
