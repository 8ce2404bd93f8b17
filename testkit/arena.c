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
#if TH_KIT
    struct block *live_next, *live_before; /* in E->live_blocks, if it may be a leak */
    const char *what;                      /* the call in which it was allocated, and its caller */
    uintptr_t after, freed_after;
    uint32_t number; /* of the run's allocations */
    uint32_t host;   /* ARENA_GONE: it has crashed */
    /* Of a block of the program: its bytes, and where they end. NULL: it is the library's. */
    size_t asked;
    char *end;
#endif
} block;
#define ARENA_GONE UINT32_MAX
_Static_assert(sizeof(block) % 16 == 0, "blocks stay 16-aligned");

#define FENCE_BYTES 16u
/* Fresh memory is filled unwatched: a cell for each of its words would dominate a run's time. */
void *__real_memset(void *to, int value, size_t n);

#define CLASSES 32u /* size classes of 16 bytes each; larger blocks are not handed out again */

void arena_begin(void) {
    E->arena_used = SIM_THREADS * STACK_BYTES;
    E->live = 0;
    E->live_blocks = E->user_blocks = E->freed_blocks = NULL;
    E->allocations = 0;
    E->pages_low = ARENA_BYTES;
    E->live_bytes = 0;
    memset(E->free_blocks, 0, sizeof E->free_blocks);
    for (size_t i = 0; i < E->arena_used / PAGE_BYTES; i++) {
        E->pages[i] = E->stamp;
    }
}

static char *take(size_t size, size_t align) {
    size_t at = (E->arena_used + align - 1) & ~(align - 1);
    if (at + size > E->pages_low) {
        fail("limit", "more than %zu bytes of memory", ARENA_BYTES);
    }
    for (size_t page = at / PAGE_BYTES; page <= (at + size - 1) / PAGE_BYTES; page++) {
        E->pages[page] = E->stamp;
    }
    E->arena_used = at + size;
    return E->arena + at;
}

/* Pages of a test lie behind all blocks: they are the stacks of tasks (arena_is_stack). */
static char *take_pages(size_t size) {
    if (!TH_KIT) {
        return take(size, PAGE_BYTES);
    }
    if (E->arena_used + size > E->pages_low) {
        fail("limit", "more than %zu bytes of memory", ARENA_BYTES);
    }
    E->pages_low -= size;
    for (size_t page = 0; page < size / PAGE_BYTES; page++) {
        E->pages[E->pages_low / PAGE_BYTES + page] = E->stamp;
    }
    return E->arena + E->pages_low;
}

/*
 * How much of either end of a block has a pattern. In a test that is all of the program's blocks;
 * filling the library's own rings of 24 KB a worker would take half of a short schedule.
 */
#define EDGE_BYTES 1024u
static size_t edge(const block *b) {
#if TH_KIT
    if (!b->end && b->size > 2 * EDGE_BYTES) {
        return EDGE_BYTES;
    }
#endif
    return b->size;
}

static void fill(block *b, int byte) {
    const size_t n = edge(b);
    __real_memset(b + 1, byte, n);
    if (n < b->size) {
        __real_memset((char *)(b + 1) + b->size - n, byte, n);
    }
}

#if TH_KIT
bool arena_is_stack(const void *addr) {
    const size_t at = (size_t)((const char *)addr - E->arena);
    return at < SIM_THREADS * STACK_BYTES || (at >= E->pages_low && at < ARENA_BYTES);
}
#endif

#if TH_KIT
static void enlist(block *b, block **first) {
    b->live_before = NULL;
    b->live_next = *first;
    if (b->live_next) {
        b->live_next->live_before = b;
    }
    *first = b;
}

static void delist(block *b, block **first) {
    *(b->live_before ? &b->live_before->live_next : first) = b->live_next;
    if (b->live_next) {
        b->live_next->live_before = b->live_before;
    }
}

/* The end of the memory behind a block that its owner may not touch. */
static char *behind(const block *b) {
    return (char *)(uintptr_t)(b + 1) + b->size + FENCE_BYTES;
}

static void tell(const block *b, arena_block *out) {
    *out = (arena_block){.at = (const char *)(b + 1),
                         .end = b->end ? b->end : (const char *)(b + 1) + b->size,
                         .size = b->end ? b->asked : b->size,
                         .number = b->number,
                         .what = b->what,
                         .after = b->after,
                         .freed_after = b->freed_after};
}
#endif

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
#if TH_KIT
    b->what = E->current->what;
    b->after = E->current->after;
    b->number = (uint32_t)++E->allocations;
    b->host = E->current->host;
    b->end = NULL;
    enlist(b, &E->live_blocks);
#endif
    fill(b, 0xa5);
    E->live++;
    E->live_bytes += size;
    return b + 1;
}

#if TH_KIT
void arena_of_user(void *ptr, char *end, size_t asked) {
    block *b = (block *)ptr - 1;
    delist(b, &E->live_blocks);
    enlist(b, &E->user_blocks);
    E->live--;
    E->live_bytes -= b->size;
    b->asked = asked;
    b->end = end;
    fill(b, 0xa5);
    __real_memset(end, ARENA_BEHIND, (size_t)(behind(b) - end));
}

bool arena_end_written(const void *ptr) {
    const block *b = (const block *)ptr - 1;
    for (const char *at = b->end; at < behind(b); at++) {
        if (unlikely(*at != (char)ARENA_BEHIND)) {
            return true;
        }
    }
    return false;
}

const block *arena_next_user(const block *b, arena_block *out) {
    b = b ? b->live_next : E->user_blocks;
    if (b) {
        tell(b, out);
    }
    return b;
}

void arena_tell(const void *ptr, arena_block *out) {
    tell((const block *)ptr - 1, out);
}

static void host_off(unsigned host, block **list) {
    for (block *b = *list; b;) {
        block *next = b->live_next;
        if (b->host == host) {
            delist(b, list);
            E->live -= !b->end;
            E->live_bytes -= b->end ? 0 : b->size;
            b->host = ARENA_GONE;
        }
        b = next;
    }
}

void arena_host_off(unsigned host) {
    host_off(host, &E->live_blocks);
    host_off(host, &E->user_blocks);
}

const block *arena_next(const block *b, arena_block *out) {
    b = b ? b->live_next : E->live_blocks;
    if (b) {
        tell(b, out);
    }
    return b;
}

void arena_came_from(void *ptr, const char *what, uintptr_t after) {
    block *b = (block *)ptr - 1;
    b->what = what;
    b->after = after;
}

bool arena_freed(const void *addr, arena_block *out) {
    for (const block *b = E->freed_blocks; b; b = b->live_next) {
        if ((const char *)addr >= (const char *)(b + 1) &&
            (const char *)addr < (const char *)(b + 1) + b->size) {
            tell(b, out);
            return true;
        }
    }
    return false;
}

/* The first word of a freed block from `at` to `at + bytes` that was written since. */
static const uint64_t *overwritten(const void *at, size_t bytes) {
    const uint64_t *word = at, *end = word + bytes / sizeof *word;
    while (word < end && likely(*word == ARENA_FREED)) {
        word++;
    }
    return word < end ? word : NULL;
}

const void *arena_overwritten(arena_block *out) {
    for (const block *b = E->freed_blocks; b; b = b->live_next) {
        const char *at = (const char *)(b + 1);
        const size_t n = edge(b);
        const uint64_t *word = overwritten(at, n);
        if (!word && n < b->size) {
            word = overwritten(at + b->size - n, n);
        }
        if (unlikely(word)) {
            tell(b, out);
            return word;
        }
    }
    return NULL;
}
#endif

void sim_memory_free(void *ptr) {
    block *b = (block *)ptr - 1;
    TRACE("frees %p, %zu bytes", ptr, b->size);
    if (b->next == b) {
        fail("use-after-free", "%p is freed twice", ptr);
    }
    b->next = b;
#if TH_KIT
    const bool counts = !b->end && b->host != ARENA_GONE;
    if (b->host != ARENA_GONE) {
        delist(b, counts ? &E->live_blocks : &E->user_blocks);
    }
    b->freed_after = E->current->after;
    b->live_next = E->freed_blocks;
    E->freed_blocks = b;
    fill(b, (int)(ARENA_FREED & 0xff));
#else
    const bool counts = true;
#endif
#if TH_KIT
    const void *site = (const void *)b->freed_after;
#else
    const void *site = __builtin_return_address(0);
#endif
    E->live -= counts;
    E->live_bytes -= counts ? b->size : 0;
    shadow_freed((uintptr_t)ptr, b->size, site);
    if (E->limits.reuse && b->size / 16 < CLASSES) {
        b->next = E->free_blocks[b->size / 16];
        E->free_blocks[b->size / 16] = b;
    }
}

/* A test's leaks are blocks: pages are the library's own, and some it keeps. */
#define COUNTS_PAGES (!TH_KIT)

void *sim_pages(size_t size) {
    size = (size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    char *at = take_pages(size);
    /* Most of a stack was never written: to look is several times cheaper than to write. */
    static const char zeros[PAGE_BYTES];
    for (size_t page = 0; page < size; page += PAGE_BYTES) {
        if (memcmp(at + page, zeros, PAGE_BYTES)) {
            __real_memset(at + page, 0, PAGE_BYTES);
        }
    }
    E->live += COUNTS_PAGES;
    E->live_bytes += COUNTS_PAGES ? size : 0;
    return at;
}

void sim_pages_free(void *addr, size_t size) {
    size_t first = (size_t)((char *)addr - E->arena) / PAGE_BYTES;
    shadow_unmapped((uintptr_t)addr, size, __builtin_return_address(0));
    for (size_t i = 0; i < (size + PAGE_BYTES - 1) / PAGE_BYTES; i++) {
        E->pages[first + i] = 0;
    }
    E->live -= COUNTS_PAGES;
    E->live_bytes -= COUNTS_PAGES ? (size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1) : 0;
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
