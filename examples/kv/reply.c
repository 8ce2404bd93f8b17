/*
 * reply.c: see reply.h.
 */
#include "reply.h"

#include <string.h>

enum {
    ROOM = 1024,                        /* the room that reply_make_room provides */
    AROUND_MAX = 1 + NUMBER_MAX + 2 + 2 /* the parts around a bulk */
};

void reply_begin(struct reply *reply, thrum_io io, thrum_time patience) {
    reply->io = io;
    reply->patience = patience;
    reply->error = 0;
    reply->used = 0;
}

/* Notes the result of a write of so many bytes. */
static void conclude(struct reply *reply, size_t size, int64_t written) {
    if (written != (int64_t)size) {
        reply->error = written < 0 ? (int)written : -EPIPE;
    }
    reply->used = 0;
}

int reply_flush(struct reply *reply) {
    if (reply->error == 0 && reply->used > 0) {
        conclude(
            reply, reply->used,
            thrum_write_until(reply->io, reply->bytes, reply->used, thrum_after(reply->patience)));
    }
    reply->used = 0;
    return reply->error;
}

static size_t room(const struct reply *reply) {
    return sizeof reply->bytes - reply->used;
}

void reply_make_room(struct reply *reply) {
    if (room(reply) < ROOM) {
        (void)reply_flush(reply); /* its error is kept */
    }
}

bool reply_fits(const struct reply *reply, size_t size) {
    return size <= sizeof reply->bytes && room(reply) >= size + AROUND_MAX;
}

/* ---- small ones ---- */

static void add(struct reply *reply, const char *from, size_t size) {
    memcpy(reply->bytes + reply->used, from, size);
    reply->used += size;
}

/* Adds a character, a text that is cut to the room from reply_make_room, and a line end. */
static void add_line(struct reply *reply, char kind, const char *text, size_t size) {
    if (size > ROOM - 3) {
        size = ROOM - 3;
    }
    if (room(reply) < size + 3) {
        (void)reply_flush(reply);
    }
    add(reply, &kind, 1);
    add(reply, text, size);
    add(reply, "\r\n", 2);
}

static void add_number(struct reply *reply, char kind, int64_t number) {
    char digits[NUMBER_MAX];
    add_line(reply, kind, digits, number_write(digits, number));
}

void reply_simple(struct reply *reply, const char *text) {
    add_line(reply, '+', text, strlen(text));
}

void reply_error(struct reply *reply, const char *text) {
    add_line(reply, '-', text, strlen(text));
}

void reply_integer(struct reply *reply, int64_t number) {
    add_number(reply, ':', number);
}

void reply_nil(struct reply *reply) {
    add_line(reply, '$', "-1", 2);
}

void reply_array(struct reply *reply, unsigned count) {
    add_number(reply, '*', count);
}

/* ---- texts ---- */

/* Writes the buffer and the text in one call. */
static void write_beside(struct reply *reply, struct text text) {
    char end[2] = {'\r', '\n'};
    const thrum_iovec parts[] = {
        {reply->bytes, reply->used}, {(void *)(uintptr_t)text.at, text.size}, {end, sizeof end}};
    if (reply->error == 0) {
        conclude(reply, reply->used + text.size + sizeof end,
                 thrum_writev_until(reply->io, parts, 3, thrum_after(reply->patience)));
    }
    reply->used = 0;
}

void reply_bulk(struct reply *reply, struct text text) {
    if (reply_fits(reply, text.size)) {
        add_number(reply, '$', (int64_t)text.size);
        add(reply, text.at, text.size);
        add(reply, "\r\n", 2);
    } else {
        add_number(reply, '$', (int64_t)text.size);
        write_beside(reply, text);
    }
}

void reply_word(struct reply *reply, const char *word) {
    reply_bulk(reply, (struct text){word, strlen(word)});
}

void reply_value(struct reply *reply, const struct value *value) {
    if (value) {
        reply_bulk(reply, (struct text){value->bytes, value->size});
    } else {
        reply_nil(reply);
    }
}
