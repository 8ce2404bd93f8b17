/*
 * load_ask.c: questions on connections that stay, and their answers: 64 bytes that come back, as
 * they are or sealed, or HTTP requests, several in one piece.
 *
 * Without a rate each connection asks when it has its last answer. With a rate it asks when that is
 * due, the connections in turn, whether others have their answer or not: a server that is slow gets
 * no less to do, and hides nothing. The time of an answer is from its question until all of it is
 * there, of several in one piece until the last is. Each answer has one exclamation mark in it, by
 * which answers are counted.
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

enum { PIECE_MAX = 4096, FLYING_MAX = 64, EVENTS = 256 };

/* A connection, and when each piece was sent whose answers are on their way. */
typedef struct peer {
    int fd;
    void *tls;           /* NULL: bytes go as they are */
    unsigned sent, back; /* counts of pieces; they wrap */
    unsigned part;       /* answers to the oldest piece that are here */
    int64_t when[FLYING_MAX];
} peer;

static struct {
    char piece[PIECE_MAX]; /* the bytes sent at once */
    size_t size;
    unsigned depth; /* questions in a piece */
    bool is_tls;
    latencies times;
    uint64_t answers;
    uint64_t skipped; /* pieces not sent, as too many were on their way */
    peer *peers;
    unsigned next; /* the connection whose turn it is */
} a;

static void send_one(peer *p) {
    if (p->sent - p->back == FLYING_MAX) {
        a.skipped++;
        return;
    }
    p->when[p->sent++ % FLYING_MAX] = load_now();
    const int64_t n = p->tls ? load_tls_send(p->tls, a.piece, (unsigned)a.size)
                             : send(p->fd, a.piece, a.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    must(n == (int64_t)a.size ? 0 : -1, "send");
}

/* One answer is here. Returns whether it was the last to its piece. */
static bool answered(peer *p, int64_t now) {
    must(p->back != p->sent ? 0 : -1, "more came back than was asked for");
    a.answers++;
    if (++p->part < a.depth) {
        return false;
    }
    p->part = 0;
    latencies_add(&a.times, now - p->when[p->back++ % FLYING_MAX]);
    return true;
}

/* Takes received bytes. Returns the number of pieces that they answer. */
static unsigned take(peer *p) {
    char text[16384];
    unsigned whole = 0;
    const int64_t n = p->tls ? load_tls_receive(p->tls, text, sizeof text)
                             : recv(p->fd, text, sizeof text, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) {
        return 0;
    }
    must(n > 0 ? 0 : -1, "the server closed");
    const int64_t now = load_now();
    const char *end = text + n;
    for (const char *at = text; (at = memchr(at, '!', (size_t)(end - at))) != NULL; at++) {
        whole += answered(p, now);
    }
    return whole;
}

/* Sends due pieces. */
static void send_due(const load *l, int timer) {
    uint64_t due = 0;
    if (read(timer, &due, sizeof due) == sizeof due) {
        for (; due > 0; due--) {
            send_one(&a.peers[a.next++ % l->connections]);
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
            if (!p) {
                send_due(l, timer);
            } else {
                for (unsigned back = take(p); back > 0 && timer < 0; back--) {
                    send_one(p);
                }
            }
        }
    }
}

static void ask(const load *l) {
    const int set = (int)must(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    a.peers = calloc(l->connections, sizeof *a.peers);
    must(a.peers ? 0 : -1, "memory");
    for (unsigned i = 0; i < l->connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &a.peers[i]};
        a.peers[i].fd = load_connect(l->port, 0);
        a.peers[i].tls = a.is_tls ? load_tls_begin(a.peers[i].fd) : NULL;
        must(epoll_ctl(set, EPOLL_CTL_ADD, a.peers[i].fd, &event), "epoll_ctl");
    }
    const int timer = l->rate > 0 ? timer_of(l, set) : -1;
    const int64_t begin = load_now();
    for (unsigned i = 0; timer < 0 && i < l->connections; i++) {
        send_one(&a.peers[i]);
    }
    run_until(l, set, timer, begin + (int64_t)(l->seconds * 1e9));
    printf("{\"requests\": %llu, \"seconds\": %.6f, \"errors\": %llu, ",
           (unsigned long long)a.answers, (double)(load_now() - begin) / 1e9,
           (unsigned long long)a.skipped);
    latencies_print(&a.times);
    puts("}");
}

void load_echo(const load *l) {
    static const char text[] = "sixty-four bytes that are sent, come back, and are counted once!";
    a.depth = 1;
    a.size = sizeof text - 1;
    memcpy(a.piece, text, a.size);
    ask(l);
}

void load_tls(const load *l) {
    a.is_tls = true;
    load_echo(l);
}

void load_http(const load *l) {
    static const char text[] = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const size_t size = sizeof text - 1;
    must(l->depth > 0 && l->depth <= PIECE_MAX / size ? 0 : -1, "this depth");
    for (a.depth = 0; a.depth < l->depth; a.depth++) {
        memcpy(a.piece + a.depth * size, text, size);
    }
    a.size = l->depth * size;
    ask(l);
}
