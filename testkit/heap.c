/*
 * heap.c: the program's malloc. In a run, memory comes from the run's arena and disappears with it.
 * Outside of runs, it comes from a separate heap, which keeps the memory of the C library and the
 * kit.
 *
 * Each block has a head before it, whose `base` is the address where its memory began. Freed blocks
 * are not used again in the same run. They are filled with ARENA_FREED, so that a later write to
 * them is found.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kit.h"

typedef struct head {
    size_t size;
    void *base;
    uintptr_t mark; /* tells a block from other memory: the block's own address and a constant */
    /* Of a block from outside of a run 0, or the run in which it was freed. OF_LIBRARY: below. */
    uint64_t freed;
} head;
_Static_assert(sizeof(head) == 32, "blocks stay 16-aligned");
#define MARK_USED ((uintptr_t)0x6b1d5e2fa3c4)
#define MARK_FREED ((uintptr_t)0x1f27c94be85d)
/*
 * The C library has allocated it for itself in a run. It may keep it for longer than that, as it
 * does for the environment, time zones, locales, open files and loaded objects; its data is not put
 * back. So this memory comes from the heap outside.
 */
#define OF_LIBRARY UINT64_MAX

/* The C library calls them, too. */
#pragma GCC visibility push(default)
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *ptr, size_t size);
void *aligned_alloc(size_t align, size_t size);
void *memalign(size_t align, size_t size);
int posix_memalign(void **out, size_t align, size_t size);
void *valloc(size_t size);
void *pvalloc(size_t size);
char *strdup(const char *text);
char *strndup(const char *text, size_t size);
size_t malloc_usable_size(void *ptr);
void free(void *ptr);
#pragma GCC visibility pop

/* ---- the heap outside ---- */

#define OUTSIDE_BYTES ((size_t)4 << 30)
#define CLASSES 28u /* powers of two, from 32 bytes on */

/* At the start of its own memory, which is not restored between runs, unlike the program's data. */
typedef struct outside {
    char *next;
    bool locked;
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

_Thread_local char kit_here;

bool kit_is_real_thread(void) {
    return E && E->real_thread == &kit_here;
}

static void outside_lock(void) {
    if (kit_is_real_thread()) {
        E->in_heap = true;
    }
    while (__atomic_test_and_set(&heap->locked, __ATOMIC_ACQUIRE)) {
        sched_yield();
    }
}

static void outside_unlock(void) {
    __atomic_clear(&heap->locked, __ATOMIC_RELEASE);
    if (kit_is_real_thread()) {
        E->in_heap = false;
    }
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
    outside_lock();
    outside_block *block = heap->free_blocks[class];
    if (block) {
        heap->free_blocks[class] = block->next;
    } else if ((size_t)((char *)heap + OUTSIDE_BYTES - heap->next) >= bytes) {
        block = (outside_block *)(void *)heap->next;
        heap->next += bytes;
        block->class = class;
    }
    outside_unlock();
    return block ? block + 1 : NULL;
}

static void outside_put(void *base) {
    outside_block *block = (outside_block *)base - 1;
    outside_lock();
    block->next = heap->free_blocks[block->class];
    heap->free_blocks[block->class] = block;
    outside_unlock();
}

static bool is_outside_block(const void *ptr) {
    return heap && (const char *)ptr > (const char *)heap && (const char *)ptr < heap->next;
}

void kit_outside_range(const char **from, const char **to) {
    *from = (const char *)heap;
    *to = heap ? heap->next : NULL;
}

static bool is_in_arena(const void *ptr) {
    return E && (const char *)ptr >= E->arena && (const char *)ptr < E->arena + ARENA_BYTES;
}

/* ---- faults ---- */

void kit_spots_of(const arena_block *block) {
    spot(block->freed_after, "freed");
    spot(block->after, "allocated in %s", block->what ? block->what : "?");
}

/* Fails the run: free or realloc got a pointer that is not a block in use. */
static void bad_free(void *ptr, const char *call, uintptr_t after) {
    arena_block block;
    if (kit_is_outside()) {
        fprintf(stderr, "%s(%p): malloc has not returned this address\n", call, ptr);
        abort();
    }
    spot(after, "the call of %s", call);
    if ((uintptr_t)ptr % 16 == 0 && is_outside_block(ptr) &&
        (((head *)ptr)[-1].mark ^ (uintptr_t)ptr) == MARK_FREED) {
        fail("double-free", "%s: the block has already been freed", call);
    }
    if (is_in_arena(ptr) && arena_freed(ptr, &block)) {
        kit_spots_of(&block);
        fail("double-free", "%s: the block has already been freed", call);
    }
    fail("bad-free", "%s: not the address of a block that malloc has returned%s", call,
         is_in_arena(ptr) && arena_is_stack(ptr) ? ", but an address on a stack" : "");
}

static void fail_overflow(const void *base, const char *call) {
    arena_block block;
    arena_tell(base, &block);
    spot(block.after, "allocated in %s", block.what ? block.what : "?");
    fail("overflow", "%s: memory behind the end of this block of %zu bytes was written", call,
         block.size);
}

static bool is_block(void *ptr) {
    return (uintptr_t)ptr % 16 == 0 && (is_in_arena(ptr) || is_outside_block(ptr)) &&
           ((head *)ptr)[-1].mark == ((uintptr_t)ptr ^ MARK_USED);
}

/* ---- the program's calls ---- */

bool kit_is_outside(void) {
    return !E || !E->current || E->inspecting || E->real_thread != &kit_here;
}

void kit_heap_thread(void) {
    pthread_attr_t attr;
    void *bottom = NULL;
    size_t size = 0;
    E->real_thread = &kit_here;
    E->stack_end = NULL;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &bottom, &size);
        pthread_attr_destroy(&attr);
        E->stack_end = (char *)bottom + size;
    }
    E->process = getpid();
}

/* The code of the C library, and of its loader. */
static struct { uintptr_t first, last; } library[2];

static int find_library(struct dl_phdr_info *object, size_t size, void *arg) {
    const uintptr_t *wanted = arg; /* a function of the C library, the loader's base */
    (void)size;
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const uintptr_t first = object->dlpi_addr + part->p_vaddr;
        const uintptr_t last = first + part->p_memsz;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) {
            continue;
        }
        if (wanted[0] >= first && wanted[0] < last) {
            library[0].first = first, library[0].last = last;
        } else if (wanted[1] && wanted[1] == object->dlpi_addr) {
            library[1].first = first, library[1].last = last;
        }
    }
    return 0;
}

void kit_heap_begin(void) {
    uintptr_t wanted[2] = {(uintptr_t)dlsym(RTLD_NEXT, "qsort"), getauxval(AT_BASE)};
    dl_iterate_phdr(find_library, wanted);
}

static bool is_in_library(uintptr_t address) {
    return (address >= library[0].first && address < library[0].last) ||
           (address >= library[1].first && address < library[1].last);
}

static void *allocate(size_t align, size_t size, const char *call, uintptr_t after) {
    if (align & (align - 1)) {
        errno = EINVAL;
        return NULL;
    }
    const size_t room = sizeof(head) + (align > 16 ? align : 0);
    char *base = NULL;
    if (size > PTRDIFF_MAX - room) {
        errno = ENOMEM;
        return NULL;
    }
    const bool inside = !kit_is_outside();
    const bool of_library = inside && is_in_library(after);
    if (!inside || of_library) {
        base = outside_take(size + room);
    } else {
        base = sim_memory(size + room);
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
    if (inside && !of_library) {
        arena_of_user(base, at + size, size); /* and fills it, so the head is written after that */
    }
    ((head *)(void *)at)[-1] = (head){.size = size,
                                      .base = base,
                                      .mark = (uintptr_t)at ^ MARK_USED,
                                      .freed = of_library ? OF_LIBRARY : 0};
    return at;
}

static void release(void *ptr, const char *call, uintptr_t after) {
    head *h = (head *)ptr - 1;
    if (!is_block(ptr)) {
        if (!(is_in_arena(ptr) && kit_is_outside())) { /* else its run is over */
            bad_free(ptr, call, after);
        }
    } else if (kit_is_outside() || h->freed == OF_LIBRARY) {
        if (!is_in_arena(ptr)) {
            memset(ptr, (int)(ARENA_FREED & 0xff), kit_is_outside() ? 0 : h->size);
            h->mark = (uintptr_t)ptr ^ MARK_FREED;
            outside_put(h->base);
        } /* else its run is over, and its memory with it */
    } else if (is_in_arena(ptr)) {
        kit_check_locks_in(ptr, h->size, after);
        void *base = h->base;
        if (arena_end_written(base)) {
            spot(after, "freed");
            fail_overflow(base, call);
        }
        const uintptr_t last = E->current->after;
        E->current->after = after;
        sim_memory_free(base);
        E->current->after = last;
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

void *valloc(size_t size) {
    return allocate(PAGE_BYTES, size, "valloc", CALLER);
}

void *pvalloc(size_t size) {
    const size_t whole = (size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    return allocate(PAGE_BYTES, whole < size ? size : whole, "pvalloc", CALLER);
}

static char *duplicate(const char *text, size_t length, const char *call, uintptr_t after) {
    char *to = allocate(16, length + 1, call, after);
    if (to) {
        memcpy(to, text, length);
        to[length] = '\0';
    }
    return to;
}

char *strdup(const char *text) {
    return duplicate(text, strlen(text), "strdup", CALLER);
}

char *strndup(const char *text, size_t size) {
    return duplicate(text, strnlen(text, size), "strndup", CALLER);
}

int posix_memalign(void **out, size_t align, size_t size) {
    if (align < sizeof(void *) || (align & (align - 1))) {
        return EINVAL;
    }
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

/* ---- new and delete ---- */

/*
 * By the names that C++ gives them on these processors: so that a report has the line of the new,
 * and not a place in the library of C++.
 */
#define NEW(name, align)                                                                           \
    void *name(size_t size, size_t alignment) __attribute__((weak));                               \
    void *name(size_t size, size_t alignment) {                                                    \
        (void)alignment;                                                                           \
        return make_new(align, size, #name, CALLER);                                               \
    }
#define DELETE(name)                                                                               \
    void name(void *ptr) __attribute__((weak));                                                    \
    void name(void *ptr) {                                                                         \
        if (ptr) {                                                                                 \
            release(ptr, "delete", CALLER);                                                        \
        }                                                                                          \
    }

/* The function of C++ throws, or returns NULL, as it is called. */
static void *make_new(size_t align, size_t size, const char *name, uintptr_t after) {
    void *ptr = allocate(align < 16 ? 16 : align, size, "new", after);
    if (!ptr) {
        void *(*real)(size_t, size_t) = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, name);
        ptr = real ? real(size, align) : NULL;
    }
    return ptr;
}

#pragma GCC visibility push(default)
NEW(_Znwm, 16)
NEW(_Znam, 16)
NEW(_ZnwmRKSt9nothrow_t, 16)
NEW(_ZnamRKSt9nothrow_t, 16)
NEW(_ZnwmSt11align_val_t, alignment)
NEW(_ZnamSt11align_val_t, alignment)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, alignment)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, alignment)
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
#pragma GCC visibility pop
