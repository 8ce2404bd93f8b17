/*
 * io.h: descriptors for tests, and their waiters.
 *
 *   ends      two descriptors: bytes written to the second come out of the first IO_...    how many
 *   callers wait at a direction: a test waits for that, it never sleeps
 */
#ifndef IO_H
#define IO_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for terminals */
#endif

#include "support/sync/actors.h"
#include "support/ready.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "io/record.h"
#include "thrum/io.h"

/* The parts that differ between systems: pair_pty, makes_room. */
#if defined(_WIN32)
#include "windows/ends.h"
#else
#include "posix/ends.h"
#endif

typedef enum end_kind { TCP, UNIX, PIPE, PTY, BYTES, SEQPACKET = BYTES, DGRAM, KINDS } end_kind;

typedef struct ends {
    int fds[2];
    thrum_io io[2];
} ends;

/* ---- making them ---- */

CHECK_UNUSED static int listen_tcp(struct sockaddr_in *address) {
    socklen_t size = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0);
    CHECK_EQ(bind(fd, (struct sockaddr *)address, size), 0);
    CHECK_EQ(listen(fd, 16), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)address, &size), 0);
    return fd;
}

CHECK_UNUSED static void pair_tcp(int fds[2]) {
    const int on = 1;
    struct sockaddr_in address;
    int listener = listen_tcp(&address);
    fds[1] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(connect(fds[1], (struct sockaddr *)&address, sizeof address), 0);
    fds[0] = accept(listener, NULL, NULL);
    CHECK(fds[0] >= 0);
    CHECK_EQ(setsockopt(fds[1], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
    close(listener);
}

CHECK_UNUSED static void pair_open(int fds[2], end_kind k) {
    switch (k) {
    case TCP:
        pair_tcp(fds);
        break;
    case UNIX:
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        break;
    case PIPE:
        CHECK_EQ(pipe(fds), 0);
        break;
    case PTY:
        pair_pty(fds);
        break;
    case SEQPACKET:
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
        break;
    default:
        CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), 0);
        break;
    }
}

CHECK_UNUSED static thrum_io adopted(int fd) {
    thrum_io io = {0, 0};
    CHECK_EQ(thrum_io_adopt(&io, fd), 0);
    CHECK_EQ(io.fd, fd);
    CHECK(io.turn != 0);
    return io;
}

/* With fixed room: for TCP the system makes more, megabytes within a moment. */
CHECK_UNUSED static void pair_narrow(const int fds[2]) {
    static const int bytes = 1 << 16;
    for (int i = 0; i < 2; i++) { /* other descriptors refuse, and have fixed room */
        (void)setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        (void)setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
}

/* Both are taken over. */
CHECK_UNUSED static void ends_open(ends *e, end_kind k) {
    pair_open(e->fds, k);
    e->io[0] = adopted(e->fds[0]);
    e->io[1] = adopted(e->fds[1]);
}

/* Only the first is: the test itself writes to the second. */
CHECK_UNUSED static void ends_open_half(ends *e, end_kind k) {
    pair_open(e->fds, k);
    e->io[0] = adopted(e->fds[0]);
    e->io[1] = (thrum_io){0, 0};
}

/* The same, of a pipe's end that has one direction, on every system. */
CHECK_UNUSED static void ends_open_reader(ends *e) {
    pair_pipe(e->fds, 0);
    e->io[0] = adopted(e->fds[0]);
    e->io[1] = (thrum_io){0, 0};
}

/* The other end of one is taken over; *in is the test's. */
CHECK_UNUSED static thrum_io pipe_writer(int *in) {
    int fds[2];
    pair_pipe(fds, 1);
    *in = fds[0];
    return adopted(fds[1]);
}

CHECK_UNUSED static void ends_close(ends *e) {
    CHECK_EQ(thrum_io_close(e->io[0]), 0);
    if (e->io[1].turn != 0) {
        CHECK_EQ(thrum_io_close(e->io[1]), 0);
    } else {
        CHECK_EQ(close(e->fds[1]), 0);
    }
}

CHECK_UNUSED static void put(int fd, const char *text) {
    CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
}

/* Writes until there is no room, by plain calls; returns the number of bytes. */
CHECK_UNUSED static size_t fill(int fd) {
    static char block[4096];
    const int flags = fcntl(fd, F_GETFL);
    size_t sum = 0;
    ssize_t n;
    bool room;
    CHECK_EQ(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
    /* TCP would make its buffer larger at some later time. */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){65536}, sizeof(int));
    do {
        /* Asked before it is filled: new room in between would go unseen. */
        room = makes_room(fd);
        for (size_t size = sizeof block; size > 0; size /= 2) {
            for (; (n = write(fd, block, size)) > 0; room = true) {
                sum += (size_t)n;
            }
            CHECK_EQ(errno, EAGAIN);
        }
    } while (room);
    CHECK_EQ(fcntl(fd, F_SETFL, flags), 0);
    return sum;
}

/* Reads the available bytes, at most so many, by plain calls. */
CHECK_UNUSED static size_t drain(int fd, size_t most) {
    static char block[65536];
    const int flags = fcntl(fd, F_GETFL);
    size_t sum = 0;
    ssize_t n = 1;
    CHECK_EQ(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
    while (n > 0 && sum < most) {
        const size_t size = most - sum < sizeof block ? most - sum : sizeof block;
        n = read(fd, block, size);
        sum += n > 0 ? (size_t)n : 0;
    }
    CHECK_EQ(fcntl(fd, F_SETFL, flags), 0);
    return sum;
}

/* ---- waiters ---- */

CHECK_UNUSED static th_direction *direction_of(thrum_io io, unsigned bit) {
    return &th_record_at(io.fd)->directions[bit == THRUM_IO_WRITE];
}

/* Whether the holder waits until the system is ready. */
CHECK_UNUSED static bool io_awaits(thrum_io io, unsigned bit) {
    th_direction *d = direction_of(io, bit);
    uint32_t word = th_word32_lock_list(&d->xword);
    bool waits = d->ready != NULL;
    th_word32_publish(&d->xword, word);
    return waits;
}

/* How many queue until they may hold the direction. */
#define IO_QUEUED(io, bit) waiting32(&direction_of(io, bit)->xword, &direction_of(io, bit)->first)
/* The number of callers in thrum_io_wait. */
#define IO_WATCHING(io, bit)                                                                       \
    waiting32(&direction_of(io, bit)->xword, &direction_of(io, bit)->first_watch)

#endif
