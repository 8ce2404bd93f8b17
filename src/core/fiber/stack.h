/*
 * stack.h: the stacks of one scheduler: carved from large mappings, guarded, reused.
 *
 * A *class* is a size, a power of two from 16 KiB to 64 MiB. A *slot* is the piece of address space
 * of one stack. From its low end:
 *
 *     | guard: th_os_guard_size() bytes | usable: bottom .......... top |
 *
 * The guard is added to the size of the class: a slot is an odd number of pages. With a power of
 * two the tops of many stacks would compete for a few sets of the processor's address caches.
 *
 * Slots are carved from *slabs*: mappings of 4 MiB at first, doubled up to 64 MiB, or as much less
 * as the system grants. They are reserved address space; only pages that are touched count as
 * memory. Nothing here touches a page of a stack, except the tops of stacks that are made ready
 * together (stack.c). The books are kept elsewhere: 4 bytes per slot, 8 more per slab; and for each
 * slot a *record*, which belongs to the owner of the stack. It holds the fields that other threads
 * read while the stack's fiber sleeps, so that they need not touch its pages, which are cold then.
 *
 * A guard is installed when its slot is first used, or together with one before it, and stays until
 * the end, also while the slot is free: giving pages back does not remove it. Three kinds:
 *   - madvise: the pages fault, and the mapping stays one. Linux 6.13; refused under mlock.
 *   - mprotect: the pages fault, but each costs two of the process's mappings (vm.max_map_count).
 *     AUTO takes at most half of those for it, in the process as a whole.
 *   - canary: nothing faults. The 16 bytes below `bottom` read as zero until the stack overflows.
 *     An overflow that jumps over them, or writes zeros, goes unseen until it hits the neighbour.
 * AUTO tries them in this order for each slot. A kind that was asked for by name and is refused
 * makes th_stack_get fail.
 *
 * On Windows a slot is reserved only, and committed from its top on as the stack is used, if its
 * guard is mprotect's; one with a canary is committed as a whole.
 *
 * A single frame larger than the guard can step over it, unless it was compiled with
 * -fstack-clash-protection.
 *
 * All functions may be called by any thread; a stack belongs to the thread or fiber that got it.
 */
#ifndef TH_STACK_H
#define TH_STACK_H

#include "base/cc.h"
#include "core/basis/lock.h"
#include "core/basis/stack_state.h"
#include "platform/platform.h"
#include "thrum/config.h"

/* Cannot fail: it maps and allocates nothing yet. `alloc` and `free` serve the books. */
void th_stacks_init(th_stacks *stacks, thrum_guard kind, void *(*alloc)(void *ctx, size_t size),
                    void (*free)(void *ctx, void *ptr), void *ctx);

/* Unmaps everything. No thread may run on any of the stacks, or use them, any longer. */
void th_stacks_destroy(th_stacks *stacks);

/* The smallest class whose size is at least `size` (the largest one for anything beyond). */
unsigned th_stack_class(size_t size);

/* The size of the class: 16 KiB << class. */
size_t th_stack_class_size(unsigned class_index);

/*
 * Gets a guarded stack, all zero as far as it can be used at once. Returns 0, or -ENOMEM: no
 * address space, no memory for the books, or the guard was refused.
 */
TH_NODISCARD int th_stack_get(th_stacks *stacks, unsigned class_index, th_stack *out);

/* Gives the pages back to the system; the slot is free for the next th_stack_get. */
void th_stack_put(th_stacks *stacks, th_stack stack);

/* Whether its pages can be used only once the stack has grown so far. */
static inline bool th_stack_grows(const th_stack *stack) {
    return TH_OS_STACKS_GROW && stack->guard == THRUM_GUARD_MPROTECT;
}

/* The lowest byte that may be used of a stack that was just got. */
static inline void *th_stack_limit(const th_stack *stack) {
    return th_stack_grows(stack) ? th_os_stack_limit(stack->top) : stack->bottom;
}

/*
 * Gives back the pages deeper than `keep` bytes below the top. Returns the lowest byte that may be
 * used from now on, for the context on the stack; NULL: that is as it was.
 */
void *th_stack_trim(th_stacks *stacks, const th_stack *stack, size_t keep);

/*
 * Between the two calls no stack of the class gives pages back, as during a visit, so a part that
 * its thread has used stays readable. Hold it briefly; it nests with no other lock of stacks.
 */
void th_stacks_hold(th_stacks *stacks, unsigned class_index);
void th_stacks_let_go(th_stacks *stacks, unsigned class_index);

/*
 * The number of bytes that were touched, in whole pages, since the stack was got or trimmed. Pages
 * that were swapped out do not count.
 */
size_t th_stack_high_water(const th_stack *stack);

/* Whether the address lies in the guard. Does not read the stack: fit for signal handlers. */
bool th_stack_find_guard(const th_stack *stack, uintptr_t address);

/* The number of stacks that were got and not put back, and the bytes of these. */
void th_stacks_count(th_stacks *stacks, uint64_t *live, uint64_t *bytes);
size_t th_stacks_live(th_stacks *stacks);

/* A place among all stacks. All zero: the first. */
typedef struct th_stack_cursor {
    unsigned class_index;
    uint32_t slab;
    uint32_t slot;
} th_stack_cursor;

/*
 * Visits each stack that is in use, and each that was once or was made ready (in_use false), from
 * the cursor on, until `visit` returns false or `max` were visited. Its class is locked meanwhile:
 * `visit` must not get or put a stack. False: the last stack was visited.
 */
bool th_stacks_some(th_stacks *stacks, th_stack_cursor *at, unsigned max,
                    bool (*visit)(void *ctx, const th_stack *stack, bool in_use), void *ctx);

/* The number of mprotect guards in the process, for tests. */
size_t th_stacks_mprotect_count(void);

/* False: the stack has overflowed for sure. Always true for the guards that fault. */
static inline bool th_stack_canary_ok(const th_stack *stack) {
    if (th_likely(stack->guard != THRUM_GUARD_CANARY)) {
        return true;
    }
    const uint64_t *canary = (const uint64_t *)(const void *)(stack->bottom - TH_STACK_CANARY);
    return (canary[0] | canary[1]) == 0;
}

#endif
