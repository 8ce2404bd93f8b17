/*
 * bytes.h: encrypted bytes that lie one behind the other in memory that grows.
 *
 *     head <= tail <= capacity; the bytes are those from head to tail. No memory: all are 0.
 */
#ifndef TH_TLS_BYTES_H
#define TH_TLS_BYTES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct th_tls_bytes {
    char *at;
    size_t capacity;
    size_t head;
    size_t tail;
} th_tls_bytes;

static inline size_t th_tls_bytes_length(const th_tls_bytes *bytes) {
    return bytes->tail - bytes->head;
}

static inline void th_tls_bytes_free(th_tls_bytes *bytes) {
    free(bytes->at);
    *bytes = (th_tls_bytes){0};
}

/* Makes room for n bytes behind the present ones: 0 or -ENOMEM, with nothing changed. */
static inline int th_tls_bytes_reserve(th_tls_bytes *bytes, size_t n) {
    if (bytes->head == bytes->tail) {
        bytes->head = bytes->tail = 0;
    }
    if (n <= bytes->capacity - bytes->tail) {
        return 0;
    }
    const size_t needed = bytes->tail + n;
    const size_t capacity = needed > 2 * bytes->capacity ? needed : 2 * bytes->capacity;
    char *at = realloc(bytes->at, capacity);
    if (!at) {
        return -ENOMEM;
    }
    bytes->at = at;
    bytes->capacity = capacity;
    return 0;
}

/* Appends n bytes, for which there is room. */
static inline void th_tls_bytes_add(th_tls_bytes *bytes, const void *from, size_t n) {
    if (n) {
        memcpy(bytes->at + bytes->tail, from, n);
        bytes->tail += n;
    }
}

#endif
