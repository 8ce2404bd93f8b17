/*
 * memory.c: see memory.h. A sum may exceed its limit for a moment, between the two steps of a
 * memory_take that is refused; nothing is allocated then.
 */
#include "memory.h"

#include <stdbool.h>
#include <stdlib.h>

struct memory memory_of_keys;
struct memory memory_of_requests;

/* The count orders nothing: allocated memory is handed on under locks. */
void *memory_take(struct memory *account, size_t size) {
    size_t before = atomic_fetch_add_explicit(&account->xused, size, memory_order_relaxed);
    bool fits = before <= account->max && size <= account->max - before;
    void *memory = fits ? malloc(size) : NULL;
    if (!memory) {
        atomic_fetch_sub_explicit(&account->xused, size, memory_order_relaxed);
    }
    return memory;
}

void memory_give(struct memory *account, void *memory, size_t size) {
    if (memory) {
        free(memory);
        atomic_fetch_sub_explicit(&account->xused, size, memory_order_relaxed);
    }
}

size_t memory_used(struct memory *account) {
    return atomic_load_explicit(&account->xused, memory_order_relaxed);
}
