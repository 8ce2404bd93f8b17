/*
 * edge.h: what a set learns of calls on its descriptors. Where the system's own sets tell only what
 * has become ready anew (epoll), they need to know nothing. Others tell a state, whenever they are
 * asked; so it is no longer asked for once that was told, until a call on it may have found that
 * nothing is left: poll() (posix/pollset.c), and Windows' driver (windows/pollset/pollset.c).
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
