/*
 * buffer.h: bytes that lie one behind the other in memory that grows.
 *
 *     head <= tail <= capacity; the bytes are those from head to tail. No memory: all are 0.
 */
#ifndef TH_BUFFER_H
#define TH_BUFFER_H

#include "base/cc.h"

typedef struct th_buffer {
    char *at;
    size_t capacity;
    size_t head;
    size_t tail;
} th_buffer;

static inline size_t th_buffer_length(const th_buffer *buffer) {
    return buffer->tail - buffer->head;
}

static inline char *th_buffer_first(const th_buffer *buffer) {
    return buffer->at ? buffer->at + buffer->head : NULL;
}

/* The bytes that fit behind the last one, without moving anything. */
static inline size_t th_buffer_room(const th_buffer *buffer) {
    return buffer->capacity - buffer->tail;
}

/*
 * Makes room for `length` bytes in all, including the bytes that are there, of which none is lost.
 * Memory is at least `size` bytes, and is given back if it is empty and much larger. Returns 0 or
 * -ENOMEM.
 */
int th_buffer_reserve(th_buffer *buffer, size_t length, size_t size);

/* Appends n bytes, for which there is room. */
void th_buffer_add(th_buffer *buffer, const void *from, size_t n);

/* Takes n bytes off, which must be there: copies them unless `to` is NULL. */
void th_buffer_take(th_buffer *buffer, void *to, size_t n);

/* Puts n bytes before the first one. Returns 0 or -ENOMEM. */
int th_buffer_put_back(th_buffer *buffer, const void *from, size_t n, size_t size);

/* Has this memory, which was allocated, with n bytes in it, in place of its own. */
void th_buffer_replace(th_buffer *buffer, char *at, size_t capacity, size_t n);

/* Frees the memory; its contents are lost. */
void th_buffer_free(th_buffer *buffer);

#endif
