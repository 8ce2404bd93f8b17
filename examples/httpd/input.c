/*
 * input.c: see input.h.
 */
#include "input.h"

#include <errno.h>
#include <string.h>

int64_t input_begin(struct input *in, thrum_time deadline) {
    int64_t n = wire_begin(in->wire, in->data, in->size, deadline);
    in->begin = 0;
    in->end = n > 0 ? (size_t)n : 0;
    return n;
}

int64_t input_read(struct input *in, thrum_time deadline) {
    if (in->begin > 0) {
        memmove(in->data, in->data + in->begin, input_left(in));
        in->end = input_left(in);
        in->begin = 0;
    }
    if (in->end == in->size) {
        return -ENOBUFS;
    }
    int64_t n = wire_read(in->wire, in->data + in->end, in->size - in->end, deadline);
    in->end += n > 0 ? (size_t)n : 0;
    return n;
}
