/*
 * treap.h: timers in exact order: the earliest deadline first, of equal ones the first inserted.
 *
 * It is a binary search tree by deadline and at the same time a heap by rank, a hash of the timer's
 * own address. So it has the shape that random insertion would have given it, for any order of the
 * deadlines, and needs neither a sequence number nor a balance stored in the timer. Equal deadlines
 * are in the tree in the order in which they came.
 *
 * Words:      anchor: the root's parent, later than all; the root is its left child.
 * Invariant:  left <= node in order, node <= right; rank(child) < rank(parent);
 *             child->parent == node; first and last are the ends, both NULL when it is empty.
 * Costs:      insert and remove take O(log n), but O(1) at both ends; nothing recurses, and no
 *             single call ever pays for many others (expected by the hash, not amortised).
 *
 * It belongs to one thread, or is protected by a lock; there are no atomics.
 */
#ifndef TH_TREAP_H
#define TH_TREAP_H

#include <stdalign.h>

#include "base/cc.h"
#include "base/check.h"

typedef struct th_link {
    struct th_link *next;
    struct th_link *prev;
} th_link;

/* While it is in a queue only the queue reads or writes it, otherwise only its owner. */
typedef struct th_timer {
    union {
        th_link list; /* while it waits in a slot of the wheel (queue/wheel.h) */
        struct {
            struct th_timer *left;
            struct th_timer *right;
        };
    };
    union {
        struct th_timer *parent; /* in the treap */
        uintptr_t hint;          /* in a slot; odd, which no timer's address is */
    };
    alignas(8) int64_t deadline;
} th_timer;
_Static_assert(sizeof(th_timer) == (sizeof(void *) == 8 ? 32 : 24),
               "a timer lies in the reserved words of a task");

typedef struct th_treap {
    th_timer anchor; /* the root's parent; the root points here, so the treap must not be moved */
    th_timer *first;
    th_timer *last;
} th_treap;

static inline void th_treap_init(th_treap *treap) {
    *treap = (th_treap){.anchor = {.deadline = INT64_MAX}};
}

/* A permutation of the addresses (murmur3's finalizer): no two ranks are equal. */
static inline uint64_t th_treap_rank(const th_timer *timer) {
    uint64_t x = (uint64_t)(uintptr_t)timer;
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

/* Makes `now` (which may be NULL) the parent's child in place of `before`. */
static inline void th_treap_replace(th_timer *parent, const th_timer *before, th_timer *now) {
    if (parent->left == before) {
        parent->left = now;
    } else {
        parent->right = now;
    }
    if (now) {
        now->parent = parent;
    }
}

/* Rotates a timer above its parent; the order of deadlines stays. */
static inline void th_treap_rotate(th_timer *timer) {
    th_timer *parent = timer->parent;
    th_timer *between;
    th_treap_replace(parent->parent, parent, timer);
    if (parent->left == timer) {
        between = timer->right;
        parent->left = between;
        timer->right = parent;
    } else {
        between = timer->left;
        parent->right = between;
        timer->left = parent;
    }
    if (between) {
        between->parent = parent;
    }
    parent->parent = timer;
}

/*
 * Whether a timer goes behind another; an `older` timer goes before the others with its
 * deadline.
 */
static inline bool th_treap_is_behind(int64_t deadline, const th_timer *other, bool older) {
    return older ? deadline > other->deadline : deadline >= other->deadline;
}

/* The deadline is already set. `older` puts the timer before all that have the same one. */
static inline void th_treap_insert(th_treap *treap, th_timer *timer, bool older) {
    th_timer *parent = &treap->anchor;
    bool right = false;
    int64_t deadline = timer->deadline;
    if (!treap->first) {
        treap->first = treap->last = timer;
    } else if (th_treap_is_behind(deadline, treap->last, older)) {
        parent = treap->last;
        right = true;
        treap->last = timer;
    } else if (!th_treap_is_behind(deadline, treap->first, older)) {
        parent = treap->first;
        treap->first = timer;
    } else {
        for (th_timer *at = parent->left; at; at = right ? at->right : at->left) {
            parent = at;
            right = th_treap_is_behind(deadline, at, older);
        }
    }
    timer->left = timer->right = NULL;
    timer->parent = parent;
    if (right) {
        parent->right = timer;
    } else {
        parent->left = timer;
    }
    uint64_t rank = th_treap_rank(timer);
    while (timer->parent != &treap->anchor && th_treap_rank(timer->parent) < rank) {
        th_treap_rotate(timer);
    }
}

static inline th_timer *th_treap_leftmost(th_timer *timer) {
    while (timer->left) {
        timer = timer->left;
    }
    return timer;
}

static inline th_timer *th_treap_rightmost(th_timer *timer) {
    while (timer->right) {
        timer = timer->right;
    }
    return timer;
}

/* The next timer in order; NULL after the last. */
static inline th_timer *th_treap_next(const th_treap *treap, const th_timer *timer) {
    if (timer->right) {
        return th_treap_leftmost(timer->right);
    }
    const th_timer *child = timer;
    while (child->parent->right == child) {
        child = child->parent;
    }
    return child->parent == &treap->anchor ? NULL : child->parent;
}

/*
 * Updates first and last before a timer goes. An end has no child on its outer side, so its
 * neighbour is the nearest in its other child's tree, or else its parent.
 */
static inline void th_treap_move_ends(th_treap *treap, const th_timer *timer) {
    th_timer *parent = timer->parent == &treap->anchor ? NULL : timer->parent;
    if (treap->first == timer) {
        treap->first = timer->right ? th_treap_leftmost(timer->right) : parent;
    }
    if (treap->last == timer) {
        treap->last = timer->left ? th_treap_rightmost(timer->left) : parent;
    }
}

/* Afterwards the timer's words are the caller's again. */
static inline void th_treap_remove(th_treap *treap, th_timer *timer) {
    th_treap_move_ends(treap, timer);
    /* moved down until it has at most one child: on average fewer than two rotations */
    while (timer->left && timer->right) {
        bool left = th_treap_rank(timer->left) > th_treap_rank(timer->right);
        th_treap_rotate(left ? timer->left : timer->right);
    }
    th_treap_replace(timer->parent, timer, timer->left ? timer->left : timer->right);
}

/* One node's share of the invariant. */
static inline bool th_treap_node_is_valid(const th_treap *treap, const th_timer *timer) {
    const th_timer *left = timer->left;
    const th_timer *right = timer->right;
    const th_timer *parent = timer->parent;
    return (!left || (left->parent == timer && left->deadline <= timer->deadline)) &&
           (!right || (right->parent == timer && right->deadline >= timer->deadline)) &&
           (parent == &treap->anchor || th_treap_rank(timer) < th_treap_rank(parent));
}

/* For debug builds: whether the invariant holds. Counts the timers. */
static inline bool th_treap_is_valid(const th_treap *treap, size_t *count) {
    const th_timer *root = treap->anchor.left;
    const th_timer *before = NULL;
    *count = 0;
    if (!root) {
        return !treap->first && !treap->last;
    }
    if (root->parent != &treap->anchor || treap->first->left) {
        return false;
    }
    for (const th_timer *at = treap->first; at; at = th_treap_next(treap, at)) {
        if (!th_treap_node_is_valid(treap, at) || (before && before->deadline > at->deadline)) {
            return false;
        }
        before = at;
        ++*count;
    }
    return before == treap->last;
}

#endif
