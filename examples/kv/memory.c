/*
 * memory.c: see memory.h. The sum may exceed the limit for a moment, between the two steps of a
 * memory_take that is refused; nothing is allocated then.
 */
#include "memory.h"

#include <stdatomic.h>
#include <stdlib.h>

static size_t limit = (size_t)-1;
static atomic_size_t xused;

void memory_limit(size_t max) {
    limit = max;
}

/* The count orders nothing: what was allocated is handed on under locks. */
void *memory_take(size_t size) {
    size_t before = atomic_fetch_add_explicit(&xused, size, memory_order_relaxed);
    void *memory = before <= limit && size <= limit - before ? malloc(size) : NULL;
    if (!memory) {
        atomic_fetch_sub_explicit(&xused, size, memory_order_relaxed);
    }
    return memory;
}

void memory_give(void *memory, size_t size) {
    if (memory) {
        free(memory);
        atomic_fetch_sub_explicit(&xused, size, memory_order_relaxed);
    }
}

size_t memory_used(void) {
    return atomic_load_explicit(&xused, memory_order_relaxed);
}

size_t memory_max(void) {
    return limit;
}
