/*
 * polled.h: see unix/polled.h. The names are Unix's, and what they stand for is Winsock's, whose
 * own structures are as wide as its handles.
 */
#ifndef TH_WINDOWS_POLLED_H
#define TH_WINDOWS_POLLED_H

#include "platform/windows/winsock.h"

typedef struct th_pollfd {
    int fd; /* below 0: nothing is asked */
    short events;
    short revents;
} th_pollfd;

/* As poll, until an absolute deadline (TH_FOREVER: none; 0: does not wait). -1: errno says why. */
int th_system_poll(th_pollfd fds[], unsigned n, int64_t deadline);

typedef SRWLOCK th_poll_lock;
typedef char th_poll_mask; /* no handler runs on a thread that has the lock */
#define TH_POLL_LOCK SRWLOCK_INIT

static inline void th_masked_lock(th_poll_lock *lock, th_poll_mask *before) {
    *before = 0;
    AcquireSRWLockExclusive(lock);
}

static inline void th_masked_unlock(th_poll_lock *lock, const th_poll_mask *before) {
    (void)before;
    ReleaseSRWLockExclusive(lock);
}

static inline void th_poll_let_others(void) {
    SwitchToThread();
}

#endif
