/*
 * streams.h: a stream over one end of a pipe, with the other end at hand.
 */
#ifndef STREAMS_H
#define STREAMS_H

#include "support/io/ios.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <thrum/stream.h>

/* The parts that differ between systems: makes_room. */
#if defined(_WIN32)
#include "windows/room.h"
#else
#include "posix/room.h"
#endif

typedef struct pair {
    thrum_stream stream;
    int other; /* the end that is not the stream's; -1: closed */
} pair;

static inline void pair_open(pair *p, unsigned direction, thrum_stream_options options) {
    int ends[2];
    thrum_io io;
    const int own = direction == THRUM_IO_WRITE;
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(thrum_io_adopt(&io, ends[own]), 0);
    CHECK_EQ(thrum_stream_open(&p->stream, io, &options), 0);
    p->other = ends[!own];
}

static inline thrum_stream_options sizes(size_t read_size, size_t write_size) {
    thrum_stream_options options = THRUM_STREAM_OPTIONS_INIT;
    options.read_size = read_size;
    options.write_size = write_size;
    return options;
}

/* Opens a pair whose stream reads with a buffer of this size. */
static inline void pair_reading(pair *p, size_t size) {
    pair_open(p, THRUM_IO_READ, sizes(size, 0));
}

static inline void pair_writing(pair *p, size_t size) {
    pair_open(p, THRUM_IO_WRITE, sizes(0, size));
}

static inline void pair_end(pair *p) {
    if (p->other >= 0) {
        close(p->other);
    }
    p->other = -1;
}

static inline void pair_close(pair *p) {
    pair_end(p);
    CHECK_EQ(thrum_stream_close(&p->stream), 0);
}

/* The other side of a stream that reads writes n bytes. */
static inline void feed(pair *p, const char *bytes, size_t n) {
    CHECK_EQ(write(p->other, bytes, n), (ssize_t)n);
}

/* The other side of a stream that writes demands exactly these bytes now. */
static inline void demand(pair *p, const char *text) {
    char got[512] = "";
    const int flags = fcntl(p->other, F_GETFL);
    size_t n = 0;
    ssize_t some = 0;
    fcntl(p->other, F_SETFL, flags | O_NONBLOCK);
    while (n < sizeof got - 1 && (some = read(p->other, got + n, sizeof got - 1 - n)) > 0) {
        n += (size_t)some;
    }
    CHECK_STR(got, text);
    fcntl(p->other, F_SETFL, flags);
}

#endif
