/*
 * buffer.c: see buffer.h.
 */
#include "stream/buffer.h"

#include <errno.h>
#include <string.h>

#include "platform/platform.h"

/* Memory that is this many times as large as a buffer should be is not kept when it is empty. */
#define LARGE 4u

void th_buffer_free(th_buffer *buffer) {
    th_os_free(buffer->at);
    *buffer = (th_buffer){0};
}

void th_buffer_replace(th_buffer *buffer, char *at, size_t capacity, size_t n) {
    th_os_free(buffer->at);
    *buffer = (th_buffer){.at = at, .capacity = capacity, .tail = n};
}

/* Moves the bytes into memory of this capacity, where `before` bytes are free before them. */
static int move(th_buffer *buffer, size_t capacity, size_t before) {
    const size_t n = th_buffer_length(buffer);
    char *at = th_os_alloc(capacity);
    if (!at) {
        return -ENOMEM;
    }
    if (n) {
        memcpy(at + before, th_buffer_first(buffer), n);
    }
    th_buffer_replace(buffer, at, capacity, before + n);
    buffer->head = before;
    return 0;
}

int th_buffer_reserve(th_buffer *buffer, size_t length, size_t size) {
    const size_t n = th_buffer_length(buffer);
    if (!n && buffer->capacity / LARGE > size && length <= size) {
        th_buffer_free(buffer);
    }
    if (length > buffer->capacity || !buffer->at) {
        return move(buffer, length > size ? length : size, 0);
    }
    if (length > buffer->capacity - buffer->head) {
        memmove(buffer->at, th_buffer_first(buffer), n);
        buffer->head = 0;
        buffer->tail = n;
    }
    return 0;
}

void th_buffer_add(th_buffer *buffer, const void *from, size_t n) {
    if (n) {
        memcpy(buffer->at + buffer->tail, from, n);
        buffer->tail += n;
    }
}

void th_buffer_take(th_buffer *buffer, void *to, size_t n) {
    if (to && n) {
        memcpy(to, th_buffer_first(buffer), n);
    }
    buffer->head += n;
    if (buffer->head == buffer->tail) {
        buffer->head = 0;
        buffer->tail = 0;
    }
}

int th_buffer_put_back(th_buffer *buffer, const void *from, size_t n, size_t size) {
    const size_t length = th_buffer_length(buffer);
    if (n > buffer->head) {
        if (n > SIZE_MAX - length) {
            return -ENOMEM;
        }
        if (length + n > buffer->capacity) {
            int code = move(buffer, length + n > size ? length + n : size, n);
            if (code) {
                return code;
            }
        } else {
            memmove(buffer->at + n, th_buffer_first(buffer), length);
            buffer->head = n;
            buffer->tail = n + length;
        }
    }
    if (n) {
        buffer->head -= n;
        memcpy(th_buffer_first(buffer), from, n);
    }
    return 0;
}
