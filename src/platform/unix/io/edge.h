/*
 * edge.h: notices to a set about calls on its descriptors. If the system's own sets only report new
 * readiness (epoll), they need none. Others report a state at each poll; so a bit is no longer
 * polled for once it was reported, until a call on the descriptor may have found that nothing is
 * left: poll() (posix/pollset.c), and Windows' driver (windows/pollset/pollset.c).
 */
#ifndef TH_UNIX_EDGE_H
#define TH_UNIX_EDGE_H

#include "platform/platform.h"

#if defined(TH_PLATFORM_POSIX) || defined(TH_PLATFORM_WINDOWS)

void th_pollset_look_again(int fd, uint32_t bits);
void th_pollset_forget(int fd);

static inline int64_t th_tried(int fd, uint32_t bits, int64_t result) {
    th_pollset_look_again(fd, bits);
    return result;
}

/* A descriptor that is about to be closed. */
static inline void th_closing(int fd) {
    th_pollset_forget(fd);
}

#else

static inline int64_t th_tried(int fd, uint32_t bits, int64_t result) {
    (void)fd;
    (void)bits;
    return result;
}

static inline void th_closing(int fd) {
    (void)fd;
}

#endif

#endif
