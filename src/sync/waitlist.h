/*
 * waitlist.h: the queue of waiters of one primitive, first come, first served.
 *
 * The list is doubly linked, so that a waiter whose time is out can leave from the middle. The two
 * ends lie in the public struct as `void *`; a th_waitlist is a view of them, made where it is used
 * and never kept. Everything here is protected by the primitive's list lock (wordlock.h), except a
 * chain that th_waitlist_detach took off: that belongs to its caller.
 *
 * Invariant: (first == NULL) == (last == NULL); first->prev == NULL; last->next == NULL;
 * w->next->prev == w.
 */
#ifndef TH_WAITLIST_H
#define TH_WAITLIST_H

#include "base/cc.h"
#include "base/check.h"
#include "core/ready/waiter.h"

typedef struct th_waitlist {
    void **first;
    void **last;
} th_waitlist;

static inline bool th_waitlist_is_empty(th_waitlist list) {
    return *list.first == NULL;
}

static inline th_waiter *th_waitlist_first(th_waitlist list) {
    return *list.first;
}

/* The links that a check follows: in a crowd of waiters it would take most of the time. */
#define TH_WAITLIST_CHECKED 64

/* The invariant, for th_expensive. */
static inline bool th_waitlist_is_valid(th_waitlist list) {
    const th_waiter *before = NULL;
    const th_waiter *w = *list.first;
    for (int i = 0; w && i < TH_WAITLIST_CHECKED; i++) {
        if (w->prev != before) {
            return false;
        }
        before = w;
        w = w->next;
    }
    const th_waiter *last = *list.last;
    return w ? last && !last->next : before == last;
}

/* Adds a waiter behind all others. */
static inline void th_waitlist_push(th_waitlist list, th_waiter *waiter) {
    th_waiter *last = *list.last;
    waiter->next = NULL;
    waiter->prev = last;
    waiter->listed = true;
    *list.last = waiter;
    if (last) {
        last->next = waiter;
    } else {
        *list.first = waiter;
    }
    th_expensive(th_waitlist_is_valid(list));
}

/* Adds a waiter before all others: for a waiter that was the first already. */
static inline void th_waitlist_push_front(th_waitlist list, th_waiter *waiter) {
    th_waiter *first = *list.first;
    waiter->next = first;
    waiter->prev = NULL;
    waiter->listed = true;
    *list.first = waiter;
    if (first) {
        first->prev = waiter;
    } else {
        *list.last = waiter;
    }
    th_expensive(th_waitlist_is_valid(list));
}

/* Removes a waiter from any place. */
static inline void th_waitlist_remove(th_waitlist list, th_waiter *waiter) {
    if (waiter->prev) {
        waiter->prev->next = waiter->next;
    } else {
        *list.first = waiter->next;
    }
    if (waiter->next) {
        waiter->next->prev = waiter->prev;
    } else {
        *list.last = waiter->prev;
    }
    th_expensive(th_waitlist_is_valid(list));
}

/*
 * Takes the first waiter that can be woken off the list, for th_waiter_let_go; NULL when there is
 * none. Waiters whose time is out, or that were woken on another list, go off the list as well:
 * they are about to leave it anyway.
 */
static inline th_waiter *th_waitlist_pop(th_waitlist list) {
    th_waiter *first;
    while ((first = *list.first)) {
        th_waiter *next = first->next;
        *list.first = next;
        if (next) {
            next->prev = NULL;
        } else {
            *list.last = NULL;
        }
        th_expensive(th_waitlist_is_valid(list));
        first->listed = false;
        if (th_likely(!first->timed)) {
            break;
        }
        if (th_waiter_claim(th_waiter_whole(first), TH_WAIT_WOKEN)) {
            break;
        }
    }
    return first;
}

/* Empties the list. All that can be woken are returned as a chain through `next`, the caller's. */
static inline th_waiter *th_waitlist_detach(th_waitlist list) {
    th_waiter *chain = NULL;
    th_waiter **link = &chain;
    for (th_waiter *w = *list.first; w; w = w->next) {
        w->listed = false;
        if (th_unlikely(w->timed) && !th_waiter_claim(th_waiter_whole(w), TH_WAIT_WOKEN)) {
            continue;
        }
        *link = w;
        link = &w->next;
    }
    *link = NULL;
    *list.first = NULL;
    *list.last = NULL;
    return chain;
}

/* Takes a waiter that no longer waits off the list. False: it was off the list already. */
static inline bool th_waitlist_leave(th_waitlist list, th_waiter *waiter) {
    bool listed = waiter->listed;
    if (listed) {
        th_waitlist_remove(list, waiter);
        waiter->listed = false;
    }
    return listed;
}

/* Wakes a detached chain in order. A woken waiter may be gone, so its `next` is read before. */
static inline void th_waitlist_wake_all(th_waiter *chain) {
    while (chain) {
        th_waiter *next = chain->next;
        th_waiter_let_go(chain);
        chain = next;
    }
}

#endif
