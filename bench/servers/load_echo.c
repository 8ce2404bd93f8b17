/*
 * load_echo.c: messages of 64 bytes, each of which comes back.
 *
 * Without a rate each connection sends its next message when it has the last one back. With a rate
 * messages are sent when they are due, on the connections in turn, whether others are back or not:
 * a server that is slow gets no less to do, and hides nothing. A message's time is from its send
 * until all of it is back.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "latencies.h"
#include "load.h"

enum { SIZE = 64, FLYING_MAX = 64, EVENTS = 256 };

/* A connection, and when each message was sent that is on its way. */
typedef struct peer {
    int fd;
    unsigned sent, back; /* counts; they wrap */
    unsigned part;       /* bytes of a message that are back */
    int64_t when[FLYING_MAX];
} peer;

static struct {
    latencies times;
    uint64_t skipped; /* not sent, as too many were on their way */
    peer *peers;
    unsigned next; /* the connection whose turn it is */
} e;

static void send_one(peer *p) {
    static const char text[SIZE] =
        "sixty-four bytes that are sent, come back, and are counted once";
    if (p->sent - p->back == FLYING_MAX) {
        e.skipped++;
        return;
    }
    p->when[p->sent++ % FLYING_MAX] = load_now();
    const ssize_t n = send(p->fd, text, SIZE, MSG_NOSIGNAL | MSG_DONTWAIT);
    must(n == SIZE ? 0 : -1, "send");
}

/* Takes what is back. Returns how many messages that were. */
static unsigned take(peer *p) {
    char text[SIZE * FLYING_MAX];
    unsigned whole = 0;
    const ssize_t n = recv(p->fd, text, sizeof text, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) {
        return 0;
    }
    must(n > 0 ? 0 : -1, "the server closed");
    const int64_t now = load_now();
    for (p->part += (unsigned)n; p->part >= SIZE; p->part -= SIZE, whole++) {
        must(p->back != p->sent ? 0 : -1, "more came back than was sent");
        latencies_add(&e.times, now - p->when[p->back++ % FLYING_MAX]);
    }
    return whole;
}

/* Sends what has become due. */
static void send_due(const load *l, int timer) {
    uint64_t due = 0;
    if (read(timer, &due, sizeof due) == sizeof due) {
        for (; due > 0; due--) {
            send_one(&e.peers[e.next++ % l->connections]);
        }
    }
}

static int timer_of(const load *l, int set) {
    const long every = 1000000000L / l->rate;
    const struct itimerspec period = {.it_interval = {every / 1000000000, every % 1000000000},
                                      .it_value = {every / 1000000000, every % 1000000000}};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    const int timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), "timerfd");
    must(timerfd_settime(timer, 0, &period, NULL), "timerfd_settime");
    must(epoll_ctl(set, EPOLL_CTL_ADD, timer, &event), "epoll_ctl");
    return timer;
}

static void run_until(const load *l, int set, int timer, int64_t end) {
    struct epoll_event events[EVENTS];
    while (load_now() < end) {
        const int n = epoll_wait(set, events, EVENTS, 100);
        for (int i = 0; i < n; i++) {
            peer *p = events[i].data.ptr;
            if (p == NULL) {
                send_due(l, timer);
            } else {
                for (unsigned back = take(p); back > 0 && timer < 0; back--) {
                    send_one(p);
                }
            }
        }
    }
}

void load_echo(const load *l) {
    const int set = (int)must(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    e.peers = calloc(l->connections, sizeof *e.peers);
    must(e.peers != NULL ? 0 : -1, "memory");
    for (unsigned i = 0; i < l->connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &e.peers[i]};
        e.peers[i].fd = load_connect(l->port, 0);
        must(epoll_ctl(set, EPOLL_CTL_ADD, e.peers[i].fd, &event), "epoll_ctl");
    }
    const int timer = l->rate > 0 ? timer_of(l, set) : -1;
    const int64_t begin = load_now();
    for (unsigned i = 0; timer < 0 && i < l->connections; i++) {
        send_one(&e.peers[i]);
    }
    run_until(l, set, timer, begin + (int64_t)(l->seconds * 1e9));
    printf("{\"requests\": %llu, \"seconds\": %.6f, \"errors\": %llu, ",
           (unsigned long long)e.times.total, (double)(load_now() - begin) / 1e9,
           (unsigned long long)e.skipped);
    latencies_print(&e.times);
    puts("}");
}
