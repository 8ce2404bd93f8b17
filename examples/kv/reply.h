/*
 * reply.h: the answers to a client, which go out together: when all requests that have come are
 * answered, or the buffer is full. A value that does not fit goes out from its place.
 *
 * After an error nothing more is written, and the calls do nothing. Calls suspend only if
 * documented, or if their data does not fit: with a lock held, check reply_fits first.
 */
#ifndef KV_REPLY_H
#define KV_REPLY_H

#include <thrum.h>

#include "text.h"
#include "value.h"

struct reply {
    thrum_io io;
    thrum_time patience; /* how long a write may take */
    int error;           /* of writing; 0: none */
    size_t used;
    char bytes[16384];
};

void reply_begin(struct reply *reply, thrum_io io, thrum_time patience);

/* Writes the buffer's contents. It may suspend. Returns 0, or the error that ends the answers. */
int reply_flush(struct reply *reply);

/* Sees to it that answers of up to 1 KiB together fit now. It may suspend. */
void reply_make_room(struct reply *reply);

/* Whether a bulk of this size fits. */
bool reply_fits(const struct reply *reply, size_t size);

void reply_simple(struct reply *reply, const char *text);         /* +OK */
void reply_error(struct reply *reply, const char *text);          /* -ERR ..., without the minus */
void reply_integer(struct reply *reply, int64_t number);          /* :1 */
void reply_nil(struct reply *reply);                              /* $-1 */
void reply_array(struct reply *reply, unsigned count);            /* *2, whose elements follow */
void reply_bulk(struct reply *reply, struct text text);           /* $2, and the text */
void reply_word(struct reply *reply, const char *word);           /* the same */
void reply_value(struct reply *reply, const struct value *value); /* the same, or nil for NULL */

#endif
