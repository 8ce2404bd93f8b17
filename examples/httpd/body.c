/*
 * body.c: see body.h.
 */
#include "body.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST = 4096 };

enum { TOO_LARGE = 413, UNAVAILABLE = 503 };

/* Takes a share of the memory for all bodies. */
static bool take(struct body *body, size_t size) {
    size_t before = atomic_fetch_add(body->xall, size);
    if (before + size > body->all_max) {
        atomic_fetch_sub(body->xall, size);
        return false;
    }
    return true;
}

static bool grow(struct body *body, size_t size) {
    size_t capacity = body->capacity ? body->capacity : FIRST;
    while (capacity < size) {
        capacity *= 2;
    }
    size_t more = capacity - body->capacity;
    if (!take(body, more)) {
        return false;
    }
    char *data = realloc(body->data, capacity);
    if (!data) {
        atomic_fetch_sub(body->xall, more);
        return false;
    }
    body->data = data;
    body->capacity = capacity;
    return true;
}

int body_add(struct body *body, const char *from, size_t size) {
    if (size > body->max - body->come) {
        return TOO_LARGE;
    }
    body->come += size;
    if (!body->keeps) {
        return 0;
    }
    if (body->size + size > body->capacity && !grow(body, body->size + size)) {
        return UNAVAILABLE;
    }
    memcpy(body->data + body->size, from, size);
    body->size += size;
    return 0;
}

void body_end(struct body *body) {
    if (body->capacity > 0) {
        free(body->data);
        atomic_fetch_sub(body->xall, body->capacity);
    }
    body->data = NULL;
    body->size = body->capacity = body->come = 0;
    body->keeps = false;
}
