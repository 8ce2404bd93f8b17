/*
 * arena.c: memory of a run, at the same addresses in each run. Freed memory is either never handed
 * out again within the run (use after free shows), or at once (so that a stale pointer meets a new
 * object: ABA).
 */
#include <string.h>

#include "engine.h"

typedef struct block {
    size_t size; /* usable, a multiple of 16 */
    struct block *next;
} block;
_Static_assert(sizeof(block) == 16, "blocks stay 16-aligned");

#define FENCE_BYTES 16u
/* Fresh memory is filled unwatched: a cell for each word of it cost more than all else together. */
void *__real_memset(void *to, int value, size_t n);

#define CLASSES 32u /* size classes of 16 bytes each; larger blocks are not handed out again */

void arena_begin(void) {
    E->arena_used = SIM_THREADS * STACK_BYTES;
    E->live = 0;
    E->live_bytes = 0;
    memset(E->free_blocks, 0, sizeof E->free_blocks);
    for (size_t i = 0; i < E->arena_used / PAGE_BYTES; i++) {
        E->pages[i] = E->stamp;
    }
}

static char *take(size_t size, size_t align) {
    size_t at = (E->arena_used + align - 1) & ~(align - 1);
    if (at + size > ARENA_BYTES) {
        fail("limit", "more than %zu bytes of memory", ARENA_BYTES);
    }
    for (size_t page = at / PAGE_BYTES; page <= (at + size - 1) / PAGE_BYTES; page++) {
        E->pages[page] = E->stamp;
    }
    E->arena_used = at + size;
    return E->arena + at;
}

void *sim_memory(size_t size) {
    size = size ? (size + 15) & ~(size_t)15 : 16;
    block *b = NULL;
    if (E->limits.reuse && size / 16 < CLASSES && E->free_blocks[size / 16]) {
        b = E->free_blocks[size / 16];
        E->free_blocks[size / 16] = b->next;
        shadow_fresh((uintptr_t)(b + 1), size);
    } else {
        b = (block *)(void *)take(sizeof *b + size + FENCE_BYTES, 16);
        b->size = size;
        /* A write over the ends of a block hits these. */
        shadow_freed((uintptr_t)b, sizeof *b, NULL);
        shadow_freed((uintptr_t)(b + 1) + size, FENCE_BYTES, NULL);
    }
    b->next = NULL;
    __real_memset(b + 1, 0xa5, size);
    E->live++;
    E->live_bytes += size;
    return b + 1;
}

void sim_memory_free(void *ptr) {
    block *b = (block *)ptr - 1;
    TRACE("frees %p, %zu bytes", ptr, b->size);
    if (b->next == b) {
        fail("use-after-free", "%p is freed twice", ptr);
    }
    b->next = b;
    E->live--;
    E->live_bytes -= b->size;
    shadow_freed((uintptr_t)ptr, b->size, __builtin_return_address(0));
    if (E->limits.reuse && b->size / 16 < CLASSES) {
        b->next = E->free_blocks[b->size / 16];
        E->free_blocks[b->size / 16] = b;
    }
}

void *sim_pages(size_t size) {
    size = (size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    char *at = take(size, PAGE_BYTES);
    __real_memset(at, 0, size);
    E->live++;
    E->live_bytes += size;
    return at;
}

void sim_pages_free(void *addr, size_t size) {
    size_t first = (size_t)((char *)addr - E->arena) / PAGE_BYTES;
    shadow_unmapped((uintptr_t)addr, size, __builtin_return_address(0));
    for (size_t i = 0; i < (size + PAGE_BYTES - 1) / PAGE_BYTES; i++) {
        E->pages[first + i] = 0;
    }
    E->live--;
    E->live_bytes -= (size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

void sim_pages_fresh(void *addr, size_t size) {
    /* Other threads may have used the memory, on the fibers that were in it. */
    shadow_fresh((uintptr_t)addr, size);
}

void *sim_alloc(size_t size) {
    return sim_memory(size);
}

void sim_free(void *ptr) {
    sim_memory_free(ptr);
}
