/*
 * input.h: unused bytes from a client. They are in the connection's own buffer; a longer request
 * has one from the account of requests (memory.h), which grows with received and never with
 * announced bytes.
 */
#ifndef KV_INPUT_H
#define KV_INPUT_H

#include <thrum.h>

#include "text.h"

struct input {
    char *at;          /* `own`, or memory of the account */
    size_t size;       /* of that */
    size_t size_max;   /* how large it may become */
    size_t begin, end; /* the unused bytes */
    char own[16384];
};

void input_begin(struct input *input, size_t size_max);
void input_end(struct input *input);

/* Returns the unused bytes, valid until the next call of input_read or input_use. */
struct text input_text(const struct input *input);

/* So many bytes have been used. */
void input_use(struct input *input, size_t size);

/*
 * Reads once, for which it makes room; between two requests the server's end ends the wait. It may
 * suspend. Returns how many bytes have come, 0 at the
 * end, -EMSGSIZE for a request that is too long, -ENOMEM, or the codes of thrum_serve_read.
 */
int64_t input_read(struct input *input, thrum_io io, thrum_time deadline);

#endif
