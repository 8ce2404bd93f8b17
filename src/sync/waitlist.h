/*
 * waitlist.h: the queue of waiters of one primitive, first come, first served.
 *
 * Doubly linked, so that a waiter whose time is out can leave from the middle. The two ends lie
 * in the public struct as `void *`; a th_waitlist is a view of them, made where it is used and
 * never kept. Everything here is protected by the primitive's list lock (wordlock.h), except a
 * chain that th_waitlist_detach took off: that belongs to who took it.
 *
 * Invariant: (first == NULL) == (last == NULL); first->prev == NULL; last->next == NULL;
 * w->next->prev == w.
 */
#ifndef TH_WAITLIST_H
#define TH_WAITLIST_H

#include "base/cc.h"
#include "base/check.h"
#include "core/wait.h"

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

/* The invariant, for th_expensive. */
static inline bool th_waitlist_is_valid(th_waitlist list) {
    const th_waiter *before = NULL;
    for (const th_waiter *w = *list.first; w != NULL; w = w->next) {
        if (w->prev != before) {
            return false;
        }
        before = w;
    }
    return before == *list.last;
}

/* Behind all others. */
static inline void th_waitlist_push(th_waitlist list, th_waiter *waiter) {
    th_waiter *last = *list.last;
    waiter->next = NULL;
    waiter->prev = last;
    *list.last = waiter;
    if (last != NULL) {
        last->next = waiter;
    } else {
        *list.first = waiter;
    }
    th_expensive(th_waitlist_is_valid(list));
}

/* Before all others: for one that was first already. */
static inline void th_waitlist_push_front(th_waitlist list, th_waiter *waiter) {
    th_waiter *first = *list.first;
    waiter->next = first;
    waiter->prev = NULL;
    *list.first = waiter;
    if (first != NULL) {
        first->prev = waiter;
    } else {
        *list.last = waiter;
    }
    th_expensive(th_waitlist_is_valid(list));
}

/* From wherever it stands. */
static inline void th_waitlist_remove(th_waitlist list, th_waiter *waiter) {
    if (waiter->prev != NULL) {
        waiter->prev->next = waiter->next;
    } else {
        *list.first = waiter->next;
    }
    if (waiter->next != NULL) {
        waiter->next->prev = waiter->prev;
    } else {
        *list.last = waiter->prev;
    }
    th_expensive(th_waitlist_is_valid(list));
}

/* The first, off a list that is not empty. */
static inline th_waiter *th_waitlist_pop(th_waitlist list) {
    th_waiter *first = *list.first;
    th_waiter *next = first->next;
    *list.first = next;
    if (next != NULL) {
        next->prev = NULL;
    } else {
        *list.last = NULL;
    }
    th_expensive(th_waitlist_is_valid(list));
    return first;
}

/* All of them, as a chain through `next` that is the caller's; the list is empty afterwards. */
static inline th_waiter *th_waitlist_detach(th_waitlist list) {
    th_waiter *first = *list.first;
    *list.first = NULL;
    *list.last = NULL;
    return first;
}

/* Wakes a detached chain in order. Each is gone once it is woken: its `next` is read before. */
static inline void th_waitlist_wake_all(th_waiter *chain) {
    while (chain != NULL) {
        th_waiter *next = chain->next;
        th_waiter_wake(chain);
        chain = next;
    }
}

#endif
