/*
 * input.h: the bytes that have come over a connection and are not used up: a buffer in which the
 * head of a request is in one piece.
 */
#ifndef HTTPD_INPUT_H
#define HTTPD_INPUT_H

#include <stddef.h>

#include "wire.h"

struct input {
    struct wire *wire;
    char *data; /* the connection's */
    size_t size;
    size_t begin; /* of the request that is being read */
    size_t end;   /* the end of the received bytes */
};

/* How many bytes there are. */
static inline size_t input_left(const struct input *in) {
    return in->end - in->begin;
}

/* Takes n bytes, which are used up. */
static inline void input_take(struct input *in, size_t n) {
    in->begin += n;
}

/*
 * Between two requests, when all bytes are used up: waits for the next one, and reads its available
 * part. The server's end ends the wait. Returns as thrum_serve_read. It may suspend.
 */
int64_t input_begin(struct input *in, thrum_time deadline);

/*
 * Reads more, behind the present bytes, which may move to the front of the buffer. Returns the
 * number of bytes, 0 at the end, or an error: -ENOBUFS when the buffer is full, else those of
 * thrum_read_until. It may suspend.
 */
int64_t input_read(struct input *in, thrum_time deadline);

#endif
