/*
 * heap.c: the program's malloc. In a run, memory comes from the run's arena and is gone with it;
 * outside, from a heap of its own, which keeps what the C library and the kit allocate.
 *
 * Each block has a head before it, whose `base` is where its memory began. Freed blocks of a run
 * are not used again in it. They are filled with ARENA_FREED, so a later write to them is found.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kit.h"

typedef struct head {
    size_t size;
    void *base;
    uintptr_t mark; /* tells a block from other memory: the block's own address and a constant */
    uint64_t freed; /* outside of a run 0; the run in which a block from outside was freed */
} head;
_Static_assert(sizeof(head) == 32, "blocks stay 16-aligned");
#define MARK_USED ((uintptr_t)0x6b1d5e2fa3c4)
#define MARK_FREED ((uintptr_t)0x1f27c94be85d)

/* The C library calls them, too. */
#pragma GCC visibility push(default)
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *ptr, size_t size);
void *aligned_alloc(size_t align, size_t size);
void *memalign(size_t align, size_t size);
int posix_memalign(void **out, size_t align, size_t size);
size_t malloc_usable_size(void *ptr);
void free(void *ptr);
#pragma GCC visibility pop

/* ---- the heap outside ---- */

#define OUTSIDE_BYTES ((size_t)4 << 30)
#define CLASSES 28u /* powers of two, from 32 bytes on */

/* At the start of its own memory, which is not put back between runs as the program's data is. */
typedef struct outside {
    char *next;
    void *free_blocks[CLASSES];
} outside;
static outside *heap;

/* The head of a block there; 16 bytes, too. */
typedef struct outside_block {
    size_t class;
    struct outside_block *next;
} outside_block;

static bool outside_begin(void) {
    void *p = mmap(NULL, OUTSIDE_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED) {
        heap = p;
        heap->next = (char *)p + ((sizeof *heap + 15) & ~(size_t)15);
    }
    return heap;
}

static void *outside_take(size_t size) {
    size_t class = 0;
    while (((size_t)32 << class) < size + sizeof(outside_block)) {
        class ++;
    }
    const size_t bytes = (size_t)32 << class;
    if (class >= CLASSES || (!heap && !outside_begin())) {
        return NULL;
    }
    outside_block *block = heap->free_blocks[class];
    if (block) {
        heap->free_blocks[class] = block->next;
    } else if ((size_t)((char *)heap + OUTSIDE_BYTES - heap->next) < bytes) {
        return NULL;
    } else {
        block = (outside_block *)(void *)heap->next;
        heap->next += bytes;
        block->class = class;
    }
    return block + 1;
}

static void outside_put(void *base) {
    outside_block *block = (outside_block *)base - 1;
    block->next = heap->free_blocks[block->class];
    heap->free_blocks[block->class] = block;
}

static bool is_outside_block(const void *ptr) {
    return heap && (const char *)ptr > (const char *)heap && (const char *)ptr < heap->next;
}

static bool is_in_arena(const void *ptr) {
    return E && (const char *)ptr >= E->arena && (const char *)ptr < E->arena + ARENA_BYTES;
}

/* ---- faults ---- */

void kit_spots_of(const arena_block *block) {
    spot(block->freed_after, "freed");
    spot(block->after, "allocated in %s", block->what ? block->what : "?");
}

/* Fails the run: free or realloc got a pointer that is not of a block in use. */
static void bad_free(void *ptr, const char *call, uintptr_t after) {
    arena_block block;
    if (kit_is_outside()) {
        fprintf(stderr, "%s(%p): not a block that malloc has returned\n", call, ptr);
        abort();
    }
    spot(after, "the call of %s", call);
    if (is_in_arena(ptr) && arena_freed(ptr, &block)) {
        kit_spots_of(&block);
        fail("double-free", "%s: the block was freed before", call);
    }
    fail("bad-free", "%s: not the address of a block that malloc has returned%s", call,
         is_in_arena(ptr) && arena_is_stack(ptr) ? ", but one of a stack" : "");
}

static bool is_block(void *ptr) {
    return (uintptr_t)ptr % 16 == 0 && (is_in_arena(ptr) || is_outside_block(ptr)) &&
           ((head *)ptr)[-1].mark == ((uintptr_t)ptr ^ MARK_USED);
}

/* ---- the program's calls ---- */

bool kit_is_outside(void) {
    return !E || !E->current || E->inspecting;
}

static void *allocate(size_t align, size_t size, const char *call, uintptr_t after) {
    const size_t room = sizeof(head) + (align > 16 ? align : 0);
    char *base = NULL;
    if (size > PTRDIFF_MAX - room) {
        errno = ENOMEM;
        return NULL;
    }
    if (kit_is_outside()) {
        base = outside_take(size + room);
    } else {
        base = sim_memory(size + room);
        arena_count(base, false); /* only blocks of the library can be leaks */
        arena_came_from(base, call, after);
    }
    if (!base) {
        errno = ENOMEM;
        return NULL;
    }
    char *at = base + sizeof(head);
    if (align > 16) {
        at = (char *)(((uintptr_t)at + align - 1) & ~(uintptr_t)(align - 1));
    }
    ((head *)(void *)at)[-1] =
        (head){.size = size, .base = base, .mark = (uintptr_t)at ^ MARK_USED};
    return at;
}

static void release(void *ptr, const char *call, uintptr_t after) {
    head *h = (head *)ptr - 1;
    if (!is_block(ptr)) {
        if (!(is_in_arena(ptr) && kit_is_outside())) { /* else its run is over */
            bad_free(ptr, call, after);
        }
    } else if (kit_is_outside()) {
        if (!is_in_arena(ptr)) {
            h->mark = (uintptr_t)ptr ^ MARK_FREED;
            outside_put(h->base);
        } /* else its run is over, and its memory with it */
    } else if (is_in_arena(ptr)) {
        kit_check_locks_in(ptr, h->size, after);
        void *base = h->base;
        arena_count(base, true);
        sim_memory_free(base);
        arena_freed_at(base, after);
    } else if (h->freed == E->started) {
        bad_free(ptr, call, after);
    } else {
        h->freed = E->started; /* later runs find it as it was before this one */
    }
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

void *aligned_alloc(size_t align, size_t size) {
    return allocate(align, size, "aligned_alloc", CALLER);
}

void *memalign(size_t align, size_t size) {
    return allocate(align, size, "memalign", CALLER);
}

void *malloc(size_t size) {
    return allocate(16, size, "malloc", CALLER);
}

void free(void *ptr) {
    if (ptr) {
        release(ptr, "free", CALLER);
    }
}

void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    void *ptr = allocate(16, bytes, "calloc", CALLER);
    return ptr ? memset(ptr, 0, bytes) : NULL;
}

void *realloc(void *ptr, size_t size) {
    if (!ptr) {
        return allocate(16, size, "realloc", CALLER);
    }
    if (!is_block(ptr)) {
        bad_free(ptr, "realloc", CALLER);
    }
    const size_t before = ((head *)ptr)[-1].size;
    void *to = allocate(16, size, "realloc", CALLER);
    if (to) {
        memcpy(to, ptr, before < size ? before : size);
        release(ptr, "realloc", CALLER);
    }
    return to;
}

int posix_memalign(void **out, size_t align, size_t size) {
    void *ptr = allocate(align, size, "posix_memalign", CALLER);
    if (!ptr) {
        return ENOMEM;
    }
    *out = ptr;
    return 0;
}

size_t malloc_usable_size(void *ptr) {
    return ptr ? ((head *)ptr)[-1].size : 0;
}
