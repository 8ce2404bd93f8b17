/*
 * race.c: the kit over the simulator's model of memory (model.c, seqcst.c, shadow.c, tsan.c), for
 * tests that were compiled by -fsanitize=thread.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "kit.h"
#include "platform/own_code.h"

const memory_mode kit_mode = M_C11;

/* ---- the program's objects ---- */

static unsigned objects; /* of the program, compiled by -fsanitize=thread */

/* A constructor of each such object calls it. The library's own have none. */
#pragma GCC visibility push(default)
void __tsan_init(void);
#pragma GCC visibility pop
/* While the C library knows of one thread only, the headers of C++ count references plainly. */
extern char __libc_single_threaded __attribute__((weak, visibility("default")));

void __tsan_init(void) {
    objects++;
    if (&__libc_single_threaded) {
        __libc_single_threaded = 0;
    }
    kit_refuse_tsan();
}

void kit_print_unwatched(void) {
    if (!objects) {
        printf("%s: NOT watched for races: no file of the program was compiled with"
               " -fsanitize=thread\n",
               program_invocation_short_name);
    }
}

/* ---- the library's code ---- */

/* The library's code: it is one object, so its text is one piece, and so are its unlikely parts. */
static th_os_span inner[2];

static void find_inner(void) {
    inner[0].low = inner[1].low = UINTPTR_MAX;
    for (size_t i = 0; i < th_own_marks(); i++) {
        const th_os_span own = th_own_mark(i);
        th_os_span *all = &inner[i % 2];
        all->low = own.low < all->low ? own.low : all->low;
        all->high = own.high > all->high ? own.high : all->high;
    }
}

static bool is_in(uintptr_t at, th_os_span span) {
    return at >= span.low && at < span.high;
}

static bool no_point; /* no other thread may come before the next atomic access */

bool kit_is_quiet(const void *site) {
    if (unlikely(no_point)) {
        return true;
    }
    if (unlikely(!inner[0].high)) {
        find_inner();
    }
    const uintptr_t at = (uintptr_t)site;
    return !kit_atomics && (is_in(at, inner[0]) || is_in(at, inner[1]));
}

void kit_access(sim_step *step, bool write, bool atomic, const void *site) {
    static const char *const names[] = {"reads", "writes", "reads atomically", "writes atomically"};
    kit_step_is(step, names[write + 2 * atomic], NULL, (uintptr_t)site);
}

void kit_gone(uintptr_t addr, const void *site) {
    arena_block block;
    spot((uintptr_t)site, "used");
    if (arena_freed((const void *)addr, &block)) {
        kit_spots_of(&block);
        fail("use-after-free", "the memory was freed before");
    }
    fail("out-of-bounds", "nothing is allocated at this address");
}

/* ---- atomics of 16 bytes ---- */

/*
 * The model has words of 8 bytes at most. Here, the lower half stands for the order of both: each
 * access is also a read-modify-write of it, which sees the newest value.
 */
typedef unsigned __int128 wide;

#pragma GCC visibility push(default)
wide __tsan_atomic128_load(const volatile wide *a, int order);
void __tsan_atomic128_store(volatile wide *a, wide value, int order);
wide __tsan_atomic128_exchange(volatile wide *a, wide value, int order);
int __tsan_atomic128_compare_exchange_strong(volatile wide *a, wide *expected, wide want, int order,
                                             int failure);
int __tsan_atomic128_compare_exchange_weak(volatile wide *a, wide *expected, wide want, int order,
                                           int failure);
wide __tsan_atomic128_compare_exchange_val(volatile wide *a, wide expected, wide want, int order,
                                           int failure);
#pragma GCC visibility pop

static void watch_upper(uint64_t *half, bool write, const void *site) {
    if (is_watched()) {
        shadow_access((uintptr_t)&half[1], 8, write, true, site);
    }
}

/* Reads all 16 bytes, and if they are as expected, or may be anything (NULL), writes them. */
static wide swap(volatile wide *a, const wide *expected, const wide *want, const void *site) {
    uint64_t *half = (uint64_t *)(uintptr_t)a;
    wide old = model_rmw(half, 8, RMW_ADD, 0, __ATOMIC_SEQ_CST, site);
    old |= (wide)half[1] << 64;
    watch_upper(half, false, site);
    if (want && (!expected || *expected == old)) {
        no_point = true;
        model_rmw(half, 8, RMW_XCHG, (uint64_t)*want, __ATOMIC_SEQ_CST, site);
        no_point = false;
        half[1] = (uint64_t)(*want >> 64);
        watch_upper(half, true, site);
    }
    return old;
}

#define SITE __builtin_return_address(0)

wide __tsan_atomic128_load(const volatile wide *a, int order) {
    (void)order;
    return swap((volatile wide *)(uintptr_t)a, NULL, NULL, SITE);
}

void __tsan_atomic128_store(volatile wide *a, wide value, int order) {
    (void)order;
    swap(a, NULL, &value, SITE);
}

wide __tsan_atomic128_exchange(volatile wide *a, wide value, int order) {
    (void)order;
    return swap(a, NULL, &value, SITE);
}

wide __tsan_atomic128_compare_exchange_val(volatile wide *a, wide expected, wide want, int order,
                                           int failure) {
    (void)order, (void)failure;
    return swap(a, &expected, &want, SITE);
}

int __tsan_atomic128_compare_exchange_strong(volatile wide *a, wide *expected, wide want, int order,
                                             int failure) {
    (void)order, (void)failure;
    const wide old = swap(a, expected, &want, SITE);
    const bool same = old == *expected;
    *expected = old;
    return same;
}

int __tsan_atomic128_compare_exchange_weak(volatile wide *a, wide *expected, wide want, int order,
                                           int failure) {
    (void)order, (void)failure;
    const wide old = swap(a, expected, &want, SITE);
    const bool same = old == *expected;
    *expected = old;
    return same;
}

/* ---- what the model asks of its program ---- */

const char *site_name(const void *site) {
    (void)site;
    return "";
}

const char *order_name(int order) {
    (void)order;
    return "";
}

int mutated_order(int order, const void *site, unsigned op) {
    (void)site, (void)op;
    return order;
}
