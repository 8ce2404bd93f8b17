/*
 * uring.c: the bare loop by io_uring: one thread, one ring with its fast flags, reads that stay
 * submitted (multishot) into memory that the ring chooses, and one call for all submissions at a
 * time. Like epoll.c for readiness, it is the yardstick for the cost of sockets by completions.
 *
 *     peer-server-uring http|echo PORT [default]
 *
 * With `default` it has the ring's default flags, with which threads other than its own could take
 * completions, as a scheduler needs it whose workers compute.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <liburing.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hello.h"
#include "listener.h"

enum { ROOM = 4096, BUFFERS = 1024, ENTRIES = 1024, ENDS = 256 };

/* The kind of a completion: the low bits of its key; the rest is the connection. */
enum { ACCEPTED, RECEIVED, SENT, KINDS = 3 };

/* A connection, and the received part of its next request. */
typedef struct connection {
    int fd;
    unsigned sends; /* under way */
    int buffer;     /* an echo's, while it is sent back; -1: none */
    bool last;      /* it ends when its answer has been sent */
    bool ended;     /* nothing more comes */
    size_t have;
    char text[ROOM];
} connection;

static bool is_http;
static struct io_uring ring;
static struct io_uring_buf_ring *buffers;
static char *memory;
static int listener;

static struct io_uring_sqe *ask(void) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    if (!sqe) {
        io_uring_submit(&ring);
        sqe = io_uring_get_sqe(&ring);
    }
    return sqe;
}

static void set_key(struct io_uring_sqe *sqe, connection *c, unsigned kind) {
    io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)c | kind);
}

static void accept_more(void) {
    struct io_uring_sqe *sqe = ask();
    io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, SOCK_CLOEXEC);
    set_key(sqe, NULL, ACCEPTED);
}

static void receive_more(connection *c) {
    struct io_uring_sqe *sqe = ask();
    io_uring_prep_recv_multishot(sqe, c->fd, NULL, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = 0;
    set_key(sqe, c, RECEIVED);
}

static void send_back(connection *c, const char *from, size_t size) {
    struct io_uring_sqe *sqe = ask();
    io_uring_prep_send(sqe, c->fd, from, size, MSG_NOSIGNAL | MSG_WAITALL);
    set_key(sqe, c, SENT);
    c->sends++;
}

static void give_buffer(int buffer) {
    io_uring_buf_ring_add(buffers, memory + (size_t)buffer * ROOM, ROOM, (unsigned short)buffer,
                          io_uring_buf_ring_mask(BUFFERS), 0);
    io_uring_buf_ring_advance(buffers, 1);
}

static void free_if_done(connection *c) {
    if (c->ended && c->sends == 0) {
        close(c->fd);
        free(c);
    }
}

/* Answers all whole requests. */
static void answer(connection *c) {
    size_t used;
    unsigned n;
    while (!c->last && (n = hello_requests(c->text, c->have, &used, &c->last)) > 0) {
        send_back(c, hello_answers(), n * HELLO_SIZE);
        c->have -= used;
        memmove(c->text, c->text + used, c->have);
    }
}

static void received(connection *c, const struct io_uring_cqe *end) {
    const int n = end->res;
    if (n <= 0 && n != -ENOBUFS) {
        c->ended = true;
        free_if_done(c);
        return;
    }
    if (n > 0) {
        const int buffer = (int)(end->flags >> IORING_CQE_BUFFER_SHIFT);
        const char *from = memory + (size_t)buffer * ROOM;
        if (is_http) {
            const size_t size = (size_t)n < ROOM - c->have ? (size_t)n : ROOM - c->have;
            memcpy(c->text + c->have, from, size);
            c->have += size;
            give_buffer(buffer);
            answer(c);
        } else {
            c->buffer = buffer; /* a load sends again when it has its answer */
            send_back(c, from, (size_t)n);
        }
    }
    if (!(end->flags & IORING_CQE_F_MORE)) {
        receive_more(c);
    }
}

static void sent(connection *c, int n) {
    c->sends--;
    if (c->buffer >= 0) {
        give_buffer(c->buffer);
        c->buffer = -1;
    }
    if ((c->last && c->sends == 0) || n < 0) {
        shutdown(c->fd, SHUT_RDWR); /* pending operations end */
    }
    free_if_done(c);
}

static void accepted(const struct io_uring_cqe *end) {
    if (end->res >= 0) {
        connection *c = calloc(1, sizeof *c);
        c->fd = end->res;
        c->buffer = -1;
        receive_more(c);
    }
    if (!(end->flags & IORING_CQE_F_MORE)) {
        accept_more();
    }
}

static void take(const struct io_uring_cqe *end) {
    const uint64_t key = io_uring_cqe_get_data64(end);
    connection *c = (connection *)(uintptr_t)(key & ~(uint64_t)KINDS);
    switch (key & KINDS) {
    case ACCEPTED:
        accepted(end);
        break;
    case RECEIVED:
        received(c, end);
        break;
    default:
        sent(c, end->res);
        break;
    }
}

static bool open_ring(unsigned flags) {
    struct io_uring_params params = {.flags = flags | IORING_SETUP_CQSIZE,
                                     .cq_entries = 16 * ENTRIES};
    struct io_uring_buf_reg group = {.ring_entries = BUFFERS};
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS;
    buffers =
        mmap(NULL, BUFFERS * sizeof(struct io_uring_buf), PROT_READ | PROT_WRITE, kind, -1, 0);
    memory = mmap(NULL, (size_t)BUFFERS * ROOM, PROT_READ | PROT_WRITE, kind, -1, 0);
    group.ring_addr = (uint64_t)(uintptr_t)buffers;
    if (buffers == MAP_FAILED || memory == MAP_FAILED ||
        io_uring_queue_init_params(ENTRIES, &ring, &params) != 0 ||
        io_uring_register_buf_ring(&ring, &group, 0) != 0) {
        return false;
    }
    io_uring_buf_ring_init(buffers);
    for (int i = 0; i < BUFFERS; i++) {
        give_buffer(i);
    }
    return true;
}

int main(int argc, char **argv) {
    struct io_uring_cqe *ends[ENDS];
    if (argc < 3 || (strcmp(argv[1], "http") != 0 && strcmp(argv[1], "echo") != 0)) {
        fprintf(stderr, "usage: %s http|echo PORT [default]\n", argv[0]);
        return 2;
    }
    const unsigned fast = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    const unsigned flags = argc > 3 && strcmp(argv[3], "default") == 0 ? 0 : fast;
    is_http = strcmp(argv[1], "http") == 0;
    listener = listen_at(atoi(argv[2]), 0);
    if (listener < 0 || !open_ring(flags)) {
        perror("listen, or a ring");
        return 1;
    }
    accept_more();
    for (;;) {
        io_uring_submit_and_wait(&ring, 1);
        unsigned n;
        while ((n = io_uring_peek_batch_cqe(&ring, ends, ENDS)) > 0) {
            for (unsigned i = 0; i < n; i++) {
                take(ends[i]);
            }
            io_uring_cq_advance(&ring, n);
        }
    }
}
