/*
 * parkword.h: the one word in which parking is decided.
 *
 *     bits  0-10   top        the idle stack's top: a worker's number + 1, or 0
 *     bits 11-21   sentinel   the parked worker that looks after those that run, + 1, or 0
 *     bits 22-32   searchers  workers that look for work to steal, or are woken to do so
 *     bits 33-43   parked     workers that have announced that they park, until they go on; spares
 *                             until they take part for the first time, too
 *     bit  44      back-off   a parked worker backs off from stealing: it comes back very soon
 *     bit  45      watch      there is a sentinel, and it comes round within the bound (rescue_ns);
 *                             a sentinel without this bit sleeps long, and is to be woken
 *     bit  46      dormant    the monitor sleeps without limit: a worker that goes on and leaves
 *                             none free rouses it (core/worker/SPARES.md)
 *     bits 47-63   tag        grows with every push and pop: a stale top is not taken for a new one
 *
 * ABA: a popper reads top and that worker's link, and is then delayed. Its exchange succeeds
 * wrongly only if exactly a multiple of 2^17 pushes and pops happen meanwhile and the same worker
 * is on top again. Each of them goes with a futex call of a microsecond or more, so this takes an
 * eighth of a second in which nothing else happens, and the exact count. The consequence would be
 * a worker that is not on the stack: the sentinel's rounds still find it, late.
 */
#ifndef TH_PARKWORD_H
#define TH_PARKWORD_H

#include "base/cc.h"

#define TH_PARK_FIELD 0x7ffu
#define TH_PARK_TOP_SHIFT 0
#define TH_PARK_SENTINEL_SHIFT 11
#define TH_PARK_SEARCHERS_SHIFT 22
#define TH_PARK_PARKED_SHIFT 33
#define TH_PARK_BACKOFF (1ull << 44)
#define TH_PARK_WATCH (1ull << 45)
#define TH_PARK_DORMANT (1ull << 46)
#define TH_PARK_TAG_ONE (1ull << 47)

#define TH_PARK_SEARCHER_ONE (1ull << TH_PARK_SEARCHERS_SHIFT)
#define TH_PARK_PARKED_ONE (1ull << TH_PARK_PARKED_SHIFT)

static inline unsigned th_park_top(uint64_t word) {
    return (unsigned)(word >> TH_PARK_TOP_SHIFT) & TH_PARK_FIELD;
}

static inline unsigned th_park_sentinel(uint64_t word) {
    return (unsigned)(word >> TH_PARK_SENTINEL_SHIFT) & TH_PARK_FIELD;
}

static inline unsigned th_park_searchers(uint64_t word) {
    return (unsigned)(word >> TH_PARK_SEARCHERS_SHIFT) & TH_PARK_FIELD;
}

static inline unsigned th_park_parked(uint64_t word) {
    return (unsigned)(word >> TH_PARK_PARKED_SHIFT) & TH_PARK_FIELD;
}

/* Whether there is a worker that could be woken. */
static inline bool th_park_anyone(uint64_t word) {
    return (word & (((uint64_t)TH_PARK_FIELD << TH_PARK_TOP_SHIFT) |
                    ((uint64_t)TH_PARK_FIELD << TH_PARK_SENTINEL_SHIFT))) != 0;
}

static inline uint64_t th_park_with_top(uint64_t word, unsigned top) {
    word &= ~((uint64_t)TH_PARK_FIELD << TH_PARK_TOP_SHIFT);
    return (word | ((uint64_t)top << TH_PARK_TOP_SHIFT)) + TH_PARK_TAG_ONE;
}

/* Whether there is a sentinel that sleeps long. */
static inline bool th_park_long(uint64_t word) {
    return !(word & TH_PARK_WATCH) && th_park_sentinel(word);
}

/* The word with this sentinel, or 0. A sentinel that has just parked comes round soon. */
static inline uint64_t th_park_with_sentinel(uint64_t word, unsigned sentinel) {
    word &= ~(((uint64_t)TH_PARK_FIELD << TH_PARK_SENTINEL_SHIFT) | TH_PARK_WATCH);
    word |= sentinel ? TH_PARK_WATCH : 0;
    return word | ((uint64_t)sentinel << TH_PARK_SENTINEL_SHIFT);
}

/*
 * A worker's own word, which it sleeps on. Entries of the idle stack are removed lazily: a worker
 * that goes on by itself leaves its entry behind (LISTED), and the thread that pops the entry finds
 * the worker not PARKED and skips it.
 */
#define TH_SLEEP_PARKED 1u   /* may be notified: set by the worker, cleared by the waker */
#define TH_SLEEP_LISTED 2u   /* has an entry in the idle stack: cleared by the pop */
#define TH_SLEEP_NOTIFIED 4u /* was notified, with a search token if TOKEN is set */
#define TH_SLEEP_TOKEN 8u
#define TH_SLEEP_MONITOR 16u /* a spare that is the monitor, and is not dormant */
#define TH_SLEEP_POLLING 32u /* with PARKED: it waits for its descriptors, and is woken there */

#endif
