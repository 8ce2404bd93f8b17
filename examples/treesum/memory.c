/*
 * memory.c: see memory.h.
 */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_die(void *ptr) {
    if (!ptr) {
        fputs("treesum: out of memory\n", stderr);
        _Exit(1);
    }
    return ptr;
}

void *memory_new(size_t size) {
    return or_die(malloc(size));
}

void *memory_resize(void *ptr, size_t size) {
    return or_die(realloc(ptr, size));
}

char *memory_copy(const char *text) {
    size_t size = strlen(text) + 1;
    return memcpy(memory_new(size), text, size);
}
