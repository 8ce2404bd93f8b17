/*
 * input.c: see input.h.
 */
#include "input.h"

#include <string.h>

#include "memory.h"

void input_begin(struct input *input, size_t size_max) {
    input->at = input->own;
    input->size = sizeof input->own;
    input->size_max = size_max;
    input->begin = input->end = 0;
}

void input_end(struct input *input) {
    if (input->at != input->own) {
        memory_give(&memory_of_requests, input->at, input->size);
    }
}

struct text input_text(const struct input *input) {
    return (struct text){input->at + input->begin, input->end - input->begin};
}

void input_use(struct input *input, size_t size) {
    input->begin += size;
}

/* Moves the present bytes to the beginning of this memory, and goes on in it. */
static void move_to(struct input *input, char *to, size_t size) {
    size_t left = input->end - input->begin;
    if (left > 0) {
        memmove(to, input->at + input->begin, left);
    }
    if (to != input->at) {
        input_end(input);
    }
    input->at = to;
    input->size = size;
    input->begin = 0;
    input->end = left;
}

static int make_room(struct input *input) {
    if (input->begin > 0) {
        bool fits = input->end - input->begin < sizeof input->own;
        move_to(input, fits ? input->own : input->at, fits ? sizeof input->own : input->size);
    }
    if (input->end < input->size) {
        return 0;
    }
    if (input->size >= input->size_max) {
        return -EMSGSIZE;
    }
    size_t size = input->size < input->size_max / 2 ? input->size * 2 : input->size_max;
    char *larger = memory_take(&memory_of_requests, size);
    if (!larger) {
        return -ENOMEM;
    }
    move_to(input, larger, size);
    return 0;
}

int64_t input_read(struct input *input, thrum_io io, thrum_time deadline) {
    int err = make_room(input);
    if (err) {
        return err;
    }
    char *to = input->at + input->end;
    size_t room = input->size - input->end;
    int64_t n = input->begin < input->end ? thrum_read_until(io, to, room, deadline)
                                          : thrum_serve_read(io, to, room, deadline);
    input->end += n > 0 ? (size_t)n : 0;
    return n;
}
