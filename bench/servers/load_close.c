/*
 * load_close.c: a connection for each request: connect, ask, read until the server closes. A
 * request's time is from the connect until the end was read.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "latencies.h"
#include "load.h"

enum { EVENTS = 256 };

typedef struct slot {
    int fd;
    uint64_t bytes; /* of the answer */
    int64_t begin;
} slot;

static struct {
    latencies times;
    uint64_t errors;
    int set;
} c;

static void begin_one(slot *s, int port) {
    struct epoll_event event = {.events = EPOLLOUT, .data.ptr = s};
    s->begin = load_now();
    s->bytes = 0;
    s->fd = load_connect(port, SOCK_NONBLOCK);
    must(epoll_ctl(c.set, EPOLL_CTL_ADD, s->fd, &event), "epoll_ctl");
}

static void end_one(slot *s, int port, bool whole) {
    close(s->fd);
    if (whole && s->bytes > 0) {
        latencies_add(&c.times, load_now() - s->begin);
    } else {
        c.errors++;
    }
    begin_one(s, port);
}

/* Connected: asks, and then waits for the answer. */
static void ask(slot *s, int port) {
    static const char text[] =
        "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
    if (send(s->fd, text, sizeof text - 1, MSG_NOSIGNAL) != sizeof text - 1) {
        end_one(s, port, false);
        return;
    }
    must(epoll_ctl(c.set, EPOLL_CTL_MOD, s->fd, &event), "epoll_ctl");
}

static void take(slot *s, int port) {
    char text[4096];
    ssize_t n;
    while ((n = recv(s->fd, text, sizeof text, 0)) > 0) {
        s->bytes += (uint64_t)n;
    }
    if (n == 0 || errno != EAGAIN) {
        end_one(s, port, n == 0);
    }
}

void load_close(const load *l) {
    struct epoll_event events[EVENTS];
    slot *slots = calloc(l->connections, sizeof *slots);
    must(slots ? 0 : -1, "memory");
    c.set = (int)must(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    const int64_t begin = load_now();
    const int64_t end = begin + (int64_t)(l->seconds * 1e9);
    for (unsigned i = 0; i < l->connections; i++) {
        begin_one(&slots[i], l->port);
    }
    while (load_now() < end) {
        const int n = epoll_wait(c.set, events, EVENTS, 100);
        for (int i = 0; i < n; i++) {
            if (events[i].events & EPOLLOUT) {
                ask(events[i].data.ptr, l->port);
            } else {
                take(events[i].data.ptr, l->port);
            }
        }
    }
    printf("{\"requests\": %llu, \"seconds\": %.6f, \"errors\": %llu, ",
           (unsigned long long)c.times.total, (double)(load_now() - begin) / 1e9,
           (unsigned long long)c.errors);
    latencies_print(&c.times);
    puts("}");
}
