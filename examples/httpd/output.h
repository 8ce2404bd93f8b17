/*
 * output.h: answers on their way out. They are gathered, so that requests that came together are
 * answered by one write, and go out when the buffer is full, or when output_flush is called.
 *
 * The other side has to take each piece of 64 KiB within `timeout`: one that reads nothing, or a
 * byte now and then, is cut off. The first error sticks, and whatever is added later is dropped: so
 * a program may look there at the end only.
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

/* Adds bytes. What does not fit into the buffer is sent from where it is, so it is not kept. */
void output_add(struct output *out, const void *from, size_t size);

/* Adds a text, or a number. */
static inline void output_text(struct output *out, const char *text) {
    output_add(out, text, strlen(text));
}
void output_number(struct output *out, uint64_t number);

/* Sends what is in the buffer. Returns 0, or the error that sticks. */
int output_flush(struct output *out);

/*
 * Sends what is in the buffer, and `size` bytes of a file, from `offset`. When the file ends before
 * that the error is -EIO, since the other side has been promised more.
 */
void output_file(struct output *out, int file, uint64_t offset, uint64_t size);

#endif
