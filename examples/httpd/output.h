/*
 * output.h: outgoing answers. They are gathered, so that requests that came together are answered
 * by one write, and go out when the buffer is full, or when output_flush is called.
 *
 * The peer has to take each piece of 64 KiB within `timeout`: a peer that reads nothing, or a byte
 * now and then, is cut off. The first error sticks, and anything added later is dropped, so a
 * program may check it at the end only.
 *
 * Only the task of the connection may call these. All may suspend.
 */
#ifndef HTTPD_OUTPUT_H
#define HTTPD_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire.h"

enum { OUTPUT_SIZE = 16384, OUTPUT_PIECE = 65536 };

struct output {
    struct wire *wire;
    thrum_time timeout;
    char *data; /* OUTPUT_SIZE bytes of the connection's */
    size_t used;
    int error; /* 0, or the code that sticks */
};

/*
 * Adds bytes. Bytes that do not fit into the buffer are sent from their place, so they are not
 * kept.
 */
void output_add(struct output *out, const void *from, size_t size);

/* Adds a text, or a number. */
static inline void output_text(struct output *out, const char *text) {
    output_add(out, text, strlen(text));
}
void output_number(struct output *out, uint64_t number);

/* Sends the buffer's contents. Returns 0, or the error that sticks. */
int output_flush(struct output *out);

/*
 * Sends the buffer's contents, and `size` bytes of a file, from `offset`. If the file ends earlier,
 * the error is -EIO, since more has been announced to the peer.
 */
void output_file(struct output *out, int file, uint64_t offset, uint64_t size);

#endif
