/*
 * wheel.h: timers by deadline. Insert and remove take constant time however many are pending; the
 * timers that are due come out in exact order.
 *
 * Far timers lie unordered in the slots of a hierarchical wheel, near ones ordered in a treap
 * (queue/treap.h). Time is cut into ticks of 2^14 ns, a tick's number into digits of 6 bits.
 *
 * Words:      tick        how far the wheel has turned; it only grows
 *             near        the treap, with the timers of that tick and of all before it
 *             slot (L, i) a list, oldest first, with the timers whose ticks agree with `tick` above
 *                         digit L, and whose digit L is i, which is greater than that of `tick`
 *             open        the list of a slot whose timers are being moved nearer, newest first
 *             never       the list of the timers with the deadline INT64_MAX
 *             low         a slot's lower bound: no timer in it is earlier
 * Invariants: bits[L] bit i == (slot (L, i) holds something); levels bit L == (bits[L] != 0);
 *             of equal deadlines, the timers in open are older than the others. queue/README.md,
 *             "wheel", has the rest.
 * Costs:      insert and remove take O(1); a timer is moved at most once a level, always nearer.
 *
 * It has no clock: the caller passes the time. It belongs to one thread, or is protected by a lock;
 * there are no atomics and no allocation.
 */
#ifndef TH_WHEEL_H
#define TH_WHEEL_H

#include "base/cc.h"
#include "base/check.h"
#include "queue/treap.h"

#define TH_WHEEL_SHIFT 14u /* a tick is 2^14 ns, 16 us */
#define TH_WHEEL_BITS 6u
#define TH_WHEEL_SLOTS (1u << TH_WHEEL_BITS)
/* Enough levels for all of int64_t: no deadline lies beyond the top. */
#define TH_WHEEL_LEVELS ((64u - TH_WHEEL_SHIFT + TH_WHEEL_BITS - 1) / TH_WHEEL_BITS)
#define TH_WHEEL_OPEN (TH_WHEEL_LEVELS * TH_WHEEL_SLOTS)
#define TH_WHEEL_NEVER (TH_WHEEL_OPEN + 1)
#define TH_WHEEL_LISTS (TH_WHEEL_NEVER + 1)

#define TH_WHEEL_AHEAD 4  /* a timer's hint is the address of the one this many places before it */
#define TH_WHEEL_SMALL 64 /* debug builds check all of a wheel with at most so many timers */

typedef struct th_slot {
    th_link ring;
    int64_t low; /* INT64_MAX while it is empty */
} th_slot;

typedef struct th_wheel {
    uint64_t tick;
    uint32_t levels;
    /* the number of all timers, including near timers and timers that never come due */
    size_t count;
    size_t never_count; /* the part of these that never comes due */
    th_treap near;
    uint64_t bits[TH_WHEEL_LEVELS];
    th_slot slots[TH_WHEEL_LISTS]; /* rings that point at themselves: it must not be moved */
} th_wheel;

/* The tick of a deadline. The sign is flipped, so that ticks are ordered as deadlines are. */
static inline uint64_t th_wheel_tick_of(int64_t deadline) {
    return ((uint64_t)deadline ^ (UINT64_C(1) << 63)) >> TH_WHEEL_SHIFT;
}

static inline void th_wheel_init(th_wheel *wheel, int64_t now) {
    *wheel = (th_wheel){.tick = th_wheel_tick_of(now)};
    th_treap_init(&wheel->near);
    for (unsigned i = 0; i < TH_WHEEL_LISTS; i++) {
        th_link *ring = &wheel->slots[i].ring;
        wheel->slots[i] = (th_slot){{ring, ring}, INT64_MAX};
    }
}

static inline size_t th_wheel_count(const th_wheel *wheel) {
    return wheel->count;
}

static inline bool th_wheel_list_is_empty(const th_wheel *wheel, unsigned list) {
    return wheel->slots[list].ring.next == &wheel->slots[list].ring;
}

static inline unsigned th_wheel_level_of(const th_wheel *wheel, uint64_t tick) {
    return (63u - (unsigned)__builtin_clzll(tick ^ wheel->tick)) / TH_WHEEL_BITS;
}

/* The slot of a tick that is later than the present one. */
static inline unsigned th_wheel_list_of(const th_wheel *wheel, uint64_t tick) {
    unsigned level = th_wheel_level_of(wheel, tick);
    unsigned digit = tick >> (level * TH_WHEEL_BITS) & (TH_WHEEL_SLOTS - 1);
    return level * TH_WHEEL_SLOTS + digit;
}

/*
 * Puts a timer at a list's end. Its hint is only ever prefetched, since the timer that it points at
 * may be gone by then. A list is emptied from its end, and without the hint each step would wait
 * for the memory of the next.
 */
static inline void th_wheel_append(th_slot *slot, th_timer *timer) {
    th_link *last = slot->ring.prev;
    const th_link *ahead = last;
    for (int i = 1; i < TH_WHEEL_AHEAD; i++) {
        ahead = ahead->prev;
    }
    timer->list = (th_link){&slot->ring, last};
    timer->hint = (uintptr_t)ahead | 1;
    last->next = slot->ring.prev = &timer->list;
}

/* Puts a timer before all others in a list, and its address into the hint that has to have it. */
static inline void th_wheel_prepend(th_slot *slot, th_timer *timer) {
    th_link *first = slot->ring.next;
    th_link *behind = first;
    for (int i = 1; i < TH_WHEEL_AHEAD; i++) {
        behind = behind->next;
    }
    if (behind != &slot->ring) {
        th_container(behind, th_timer, list)->hint = (uintptr_t)timer | 1;
    }
    timer->list = (th_link){first, &slot->ring};
    timer->hint = 1;
    first->prev = slot->ring.next = &timer->list;
}

/* Puts a timer where it belongs: behind those with its deadline, or before them if `older`. */
static inline void th_wheel_put(th_wheel *wheel, th_timer *timer, bool older) {
    uint64_t tick = th_wheel_tick_of(timer->deadline);
    if (tick <= wheel->tick) {
        th_treap_insert(&wheel->near, timer, older);
        return;
    }
    unsigned list = th_wheel_list_of(wheel, tick);
    th_slot *slot = &wheel->slots[list];
    wheel->levels |= 1u << (list / TH_WHEEL_SLOTS);
    wheel->bits[list / TH_WHEEL_SLOTS] |= UINT64_C(1) << (list % TH_WHEEL_SLOTS);
    if (timer->deadline < slot->low) {
        slot->low = timer->deadline;
    }
    if (older) {
        th_wheel_prepend(slot, timer);
    } else {
        th_wheel_append(slot, timer);
    }
}

/* To be called when a list has become empty. */
static inline void th_wheel_emptied(th_wheel *wheel, th_slot *slot) {
    unsigned list = (unsigned)(slot - wheel->slots);
    slot->low = INT64_MAX;
    if (list < TH_WHEEL_OPEN) {
        unsigned level = list / TH_WHEEL_SLOTS;
        wheel->bits[level] &= ~(UINT64_C(1) << (list % TH_WHEEL_SLOTS));
        if (wheel->bits[level] == 0) {
            wheel->levels &= ~(1u << level);
        }
    }
}

static inline void th_wheel_unlink(th_wheel *wheel, th_timer *timer) {
    th_link *next = timer->list.next;
    th_link *prev = timer->list.prev;
    next->prev = prev;
    prev->next = next;
    if (next == prev) { /* both are the ring's own link, which identifies the list */
        th_wheel_emptied(wheel, th_container(next, th_slot, ring));
    }
}

/* The earliest slot that holds a timer; TH_WHEEL_OPEN when none does. */
static inline unsigned th_wheel_first_slot(const th_wheel *wheel) {
    if (wheel->levels == 0) {
        return TH_WHEEL_OPEN;
    }
    unsigned level = (unsigned)__builtin_ctz(wheel->levels);
    return level * TH_WHEEL_SLOTS + (unsigned)__builtin_ctzll(wheel->bits[level]);
}

/* ---- visiting all timers, for stop and for debug builds ---- */

/* The first timer of the first list that is not empty, from this list on. */
static inline th_timer *th_wheel_first_from(const th_wheel *wheel, unsigned list) {
    while (list < TH_WHEEL_LISTS && th_wheel_list_is_empty(wheel, list)) {
        list++;
    }
    return list == TH_WHEEL_LISTS ? NULL
                                  : th_container(wheel->slots[list].ring.next, th_timer, list);
}

/*
 * Visits all timers, in no order: NULL returns one, each timer returns another, the last one NULL.
 * Until all are visited the wheel must not change, except that timers visited before `timer` may be
 * removed.
 */
static inline th_timer *th_wheel_next(const th_wheel *wheel, const th_timer *timer) {
    uintptr_t slots = (uintptr_t)wheel->slots;
    if (!timer && wheel->near.first) {
        return wheel->near.first;
    }
    if (!timer) {
        return th_wheel_first_from(wheel, 0);
    }
    if ((timer->hint & 1) == 0) {
        th_timer *next = th_treap_next(&wheel->near, timer);
        return next ? next : th_wheel_first_from(wheel, 0);
    }
    uintptr_t offset = (uintptr_t)timer->list.next - slots;
    if (offset >= sizeof(wheel->slots)) {
        return th_container(timer->list.next, th_timer, list);
    }
    return th_wheel_first_from(wheel, (unsigned)(offset / sizeof(th_slot)) + 1);
}

/* The share of a slot, or of another list, in the invariants. */
static inline bool th_wheel_list_is_valid(const th_wheel *wheel, unsigned list, size_t *count) {
    const th_slot *slot = &wheel->slots[list];
    const th_link *before = &slot->ring;
    for (const th_link *at = before->next; at != &slot->ring; before = at, at = at->next) {
        const th_timer *timer = th_container(at, th_timer, list);
        uint64_t tick = th_wheel_tick_of(timer->deadline);
        if (at->prev != before || (timer->hint & 1) == 0 ||
            (list == TH_WHEEL_NEVER) != (timer->deadline == INT64_MAX) ||
            (list != TH_WHEEL_NEVER && timer->deadline < slot->low) ||
            (list < TH_WHEEL_OPEN &&
             (tick <= wheel->tick || th_wheel_list_of(wheel, tick) != list))) {
            return false;
        }
        ++*count;
    }
    return slot->ring.prev == before && (before != &slot->ring || slot->low == INT64_MAX);
}

/* For debug builds. */
static inline bool th_wheel_is_valid(const th_wheel *wheel) {
    const th_timer *last = wheel->near.last;
    size_t count;
    if (!th_treap_is_valid(&wheel->near, &count) ||
        (last && th_wheel_tick_of(last->deadline) > wheel->tick)) {
        return false;
    }
    for (unsigned list = 0; list < TH_WHEEL_LISTS; list++) {
        if (!th_wheel_list_is_valid(wheel, list, &count)) {
            return false;
        }
    }
    for (unsigned level = 0; level < TH_WHEEL_LEVELS; level++) {
        uint64_t bits = 0;
        for (unsigned i = 0; i < TH_WHEEL_SLOTS; i++) {
            bool empty = th_wheel_list_is_empty(wheel, level * TH_WHEEL_SLOTS + i);
            bits |= (uint64_t)!empty << i;
        }
        if (bits != wheel->bits[level] || (wheel->levels >> level & 1) != (bits != 0)) {
            return false;
        }
    }
    return count == wheel->count;
}

static inline bool th_wheel_is_valid_or_large(const th_wheel *wheel) {
    return wheel->count > TH_WHEEL_SMALL || th_wheel_is_valid(wheel);
}

/* ---- the queue ---- */

/* The timer is the wheel's from here until it is removed, popped or taken. */
static inline void th_wheel_insert(th_wheel *wheel, th_timer *timer, int64_t deadline) {
    timer->deadline = deadline;
    wheel->count++;
    if (th_unlikely(deadline == INT64_MAX)) {
        wheel->never_count++;
        th_wheel_append(&wheel->slots[TH_WHEEL_NEVER], timer);
    } else {
        th_wheel_put(wheel, timer, false);
    }
    th_expensive(th_wheel_is_valid_or_large(wheel));
}

/* The timer is in the wheel. Afterwards its words are the caller's again. */
static inline void th_wheel_remove(th_wheel *wheel, th_timer *timer) {
    wheel->count--;
    wheel->never_count -= timer->deadline == INT64_MAX;
    if ((timer->hint & 1) == 0) {
        th_treap_remove(&wheel->near, timer);
    } else {
        th_wheel_unlink(wheel, timer);
    }
    th_expensive(th_wheel_is_valid_or_large(wheel));
}

/*
 * A time not later than the earliest deadline; INT64_MAX when no timer comes due. It is exact,
 * unless timers of the earliest slot were removed: then it may still be the deadline of one of
 * those. A turn at that time moves the slot's timers nearer, which makes it exact again.
 */
static inline int64_t th_wheel_earliest(const th_wheel *wheel) {
    int64_t low = wheel->slots[th_wheel_first_slot(wheel)].low;
    int64_t open = wheel->slots[TH_WHEEL_OPEN].low;
    const th_timer *first = wheel->near.first;
    low = open < low ? open : low;
    return first && first->deadline < low ? first->deadline : low;
}

/* Opens the earliest slot, if it begins at the tick `until` or before. */
static inline bool th_wheel_open(th_wheel *wheel, uint64_t until) {
    unsigned list = th_wheel_first_slot(wheel);
    if (list == TH_WHEEL_OPEN) {
        return false;
    }
    unsigned below = list / TH_WHEEL_SLOTS * TH_WHEEL_BITS;
    uint64_t above = wheel->tick >> below >> TH_WHEEL_BITS;
    uint64_t first = (above << TH_WHEEL_BITS | list % TH_WHEEL_SLOTS) << below;
    uint64_t last = first + (UINT64_C(1) << below) - 1;
    if (first > until) {
        return false;
    }
    th_slot *from = &wheel->slots[list];
    th_slot *open = &wheel->slots[TH_WHEEL_OPEN];
    *open = *from;
    open->ring.next->prev = open->ring.prev->next = &open->ring;
    from->ring = (th_link){&from->ring, &from->ring};
    th_wheel_emptied(wheel, from);
    /* all levels below this one are empty, so no other timer changes its place */
    wheel->tick = until < last ? until : last;
    return true;
}

/* Moves the open slot's timers where they belong now; false when `most` did not suffice. */
static inline bool th_wheel_move_open(th_wheel *wheel, unsigned *most) {
    while (!th_wheel_list_is_empty(wheel, TH_WHEEL_OPEN)) {
        if (*most == 0) {
            return false;
        }
        --*most;
        th_link *link = wheel->slots[TH_WHEEL_OPEN].ring.prev;
        th_timer *timer = th_container(link, th_timer, list);
        __builtin_prefetch((const void *)timer->hint, 1);
        th_wheel_unlink(wheel, timer);
        th_wheel_put(wheel, timer, true);
    }
    return true;
}

/*
 * Brings due timers near, moving at most `most` timers; true while there is more to move.
 * th_wheel_pop may be called only after it returned false, for the same time or an earlier one.
 * Between two calls timers may be inserted and removed; time may stop or go back, which changes
 * nothing.
 */
static inline bool th_wheel_turn(th_wheel *wheel, int64_t now, unsigned most) {
    uint64_t until = th_wheel_tick_of(now);
    do {
        if (!th_wheel_move_open(wheel, &most)) {
            return true;
        }
    } while (th_wheel_open(wheel, until));
    if (until > wheel->tick) { /* the slots on the way are empty */
        wheel->tick = until;
    }
    th_expensive(th_wheel_is_valid_or_large(wheel));
    return false;
}

/*
 * Takes the timer with the earliest deadline if that is not after `now`, of equal ones the first
 * inserted; NULL when there is none. Afterwards its words are the caller's again.
 */
static inline th_timer *th_wheel_pop(th_wheel *wheel, int64_t now) {
    th_timer *first = wheel->near.first;
    th_debug(th_wheel_list_is_empty(wheel, TH_WHEEL_OPEN));
    if (!first || first->deadline > now) {
        return NULL;
    }
    th_wheel_remove(wheel, first);
    return first;
}

/* The first timer that never comes due, which stays in the wheel; NULL when there is none. */
static inline th_timer *th_wheel_first_never(const th_wheel *wheel) {
    return th_wheel_list_is_empty(wheel, TH_WHEEL_NEVER)
               ? NULL
               : th_container(wheel->slots[TH_WHEEL_NEVER].ring.next, th_timer, list);
}

#endif
