/*
 * interrupted.h: system calls that signals disturb: calls that are repeated, and calls that must
 * not raise SIGPIPE.
 */
#ifndef TH_UNIX_INTERRUPTED_H
#define TH_UNIX_INTERRUPTED_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include <time.h>

#include "platform/platform.h"

/* The code of an interrupted call is never seen: it is made again. */
#define RETRY(call_)                                                                               \
    ({                                                                                             \
        int saved_ = th_os_errno_get();                                                            \
        int64_t n_;                                                                                \
        do {                                                                                       \
            n_ = (call_);                                                                          \
            n_ = n_ < 0 ? -(int64_t)th_os_errno_get() : n_;                                        \
        } while (n_ == -EINTR);                                                                    \
        th_os_errno_set(saved_);                                                                   \
        n_;                                                                                        \
    })

/* A call that may raise SIGPIPE: the thread blocks the signal meanwhile, and takes it back. */
typedef struct masked {
    sigset_t before;
    bool had; /* one was pending already: that one is not ours */
} masked;

static inline void mask_begin(masked *m) {
    sigset_t pipe_only;
    sigset_t pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    m->had = sigismember(&pending, SIGPIPE) == 1; /* it is blocked already, then */
    pthread_sigmask(SIG_BLOCK, &pipe_only, &m->before);
}

static inline void mask_end(const masked *m, bool raised) {
    const struct timespec at_once = {0};
    if (raised && !m->had) {
        sigset_t pipe_only;
        sigemptyset(&pipe_only);
        sigaddset(&pipe_only, SIGPIPE);
        (void)RETRY(sigtimedwait(&pipe_only, NULL, &at_once));
    }
    pthread_sigmask(SIG_SETMASK, &m->before, NULL);
}

/* As writev. */
static inline int64_t th_pipe_writev_masked(int fd, const th_os_part parts[], unsigned n) {
    masked m;
    mask_begin(&m);
    int64_t result = RETRY(writev(fd, (const struct iovec *)(const void *)parts, (int)n));
    mask_end(&m, result == -EPIPE);
    return result;
}

#endif
