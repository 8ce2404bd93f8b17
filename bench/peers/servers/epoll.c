/*
 * epoll.c: the bare loop: one thread, one level-triggered set, a read and a write for each event.
 * It does only the necessary work: the yardstick for the cost of a server.
 *
 *     peer-server-epoll http|echo PORT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hello.h"
#include "listener.h"

enum { ROOM = 4096, EVENTS = 256 };

/* A connection, and the received part of its next request. */
typedef struct connection {
    int fd;
    size_t have;
    char text[ROOM];
} connection;

static bool is_http;

static void end(connection *c) {
    close(c->fd);
    free(c);
}

/* Answers all whole requests. Returns false when the connection ends. */
static bool answer(connection *c) {
    size_t used;
    bool last = false;
    unsigned n;
    while (!last && (n = hello_requests(c->text, c->have, &used, &last)) > 0) {
        const size_t size = n * HELLO_SIZE;
        if (send(c->fd, hello_answers(), size, MSG_NOSIGNAL) != (ssize_t)size) {
            return false; /* a load reads its answers: there is room */
        }
        c->have -= used;
        memmove(c->text, c->text + used, c->have);
    }
    return !last && c->have < ROOM;
}

static void serve(connection *c) {
    const ssize_t n = recv(c->fd, c->text + c->have, ROOM - c->have, 0);
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN) {
            end(c);
        }
        return;
    }
    c->have += (size_t)n;
    if (is_http ? !answer(c) : send(c->fd, c->text, (size_t)n, MSG_NOSIGNAL) != n) {
        end(c);
        return;
    }
    c->have = is_http ? c->have : 0;
}

static void accept_all(int set, int listener) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        connection *c = malloc(sizeof *c);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        c->fd = fd;
        c->have = 0;
        if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) != 0) {
            end(c);
        }
    }
}

int main(int argc, char **argv) {
    struct epoll_event events[EVENTS], event = {.events = EPOLLIN, .data.ptr = NULL};
    if (argc != 3 || (strcmp(argv[1], "http") != 0 && strcmp(argv[1], "echo") != 0)) {
        fprintf(stderr, "usage: %s http|echo PORT\n", argv[0]);
        return 2;
    }
    is_http = strcmp(argv[1], "http") == 0;
    const int listener = listen_at(atoi(argv[2]), SOCK_NONBLOCK);
    const int set = epoll_create1(EPOLL_CLOEXEC);
    if (listener < 0 || epoll_ctl(set, EPOLL_CTL_ADD, listener, &event) != 0) {
        perror("listen");
        return 1;
    }
    for (;;) {
        const int n = epoll_wait(set, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (!events[i].data.ptr) {
                accept_all(set, listener);
            } else {
                serve(events[i].data.ptr);
            }
        }
    }
}
