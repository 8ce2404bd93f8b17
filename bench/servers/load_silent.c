/*
 * load_silent.c: connections that each send the instant at which they are to be ended (eight bytes,
 * nanoseconds of CLOCK_REALTIME), the same for all, and then nothing. It prints how long after that
 * instant the last of them was closed, in milliseconds.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

enum { EVENTS = 256 };

static int64_t wall_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void load_silent(const load *l) {
    struct epoll_event events[EVENTS];
    const int set = (int)must(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    int *fds = calloc(l->connections, sizeof *fds);
    must(fds ? 0 : -1, "memory");
    for (unsigned i = 0; i < l->connections; i++) {
        struct epoll_event event = {.events = EPOLLIN,
                                    .data.fd = fds[i] = load_connect(l->port, 0)};
        must(epoll_ctl(set, EPOLL_CTL_ADD, fds[i], &event), "epoll_ctl");
    }
    const int64_t deadline = wall_now() + (int64_t)(l->seconds * 1e9);
    for (unsigned i = 0; i < l->connections; i++) {
        must(send(fds[i], &deadline, sizeof deadline, MSG_NOSIGNAL), "send");
    }
    const int64_t sent = wall_now();
    for (unsigned left = l->connections; left > 0;) {
        const int n = epoll_wait(set, events, EVENTS, -1);
        must(n > 0 || errno == EINTR ? 0 : -1, "epoll_wait");
        for (int i = 0; i < n; i++) {
            close(events[i].data.fd);
            left--;
        }
    }
    printf("{\"closed\": %u, \"lead_ms\": %.3f, \"last_ms\": %.3f}\n", l->connections,
           (double)(deadline - sent) / 1e6, (double)(wall_now() - deadline) / 1e6);
}
