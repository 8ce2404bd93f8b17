/*
 * family.c: see family.h.
 */
#include "core/wait/family.h"

#include "base/atomic.h"
#include "base/check.h"
#include "core/wait/cancel.h"
#include "core/wait/helper.h"
#include "core/wait/wait.h"
#include "core/ready/waiter.h"
#include "core/state/worker.h"
#include "thrum/scope.h"

/* Whether the deadline has passed. Reads the clock only if there is one. */
static bool has_passed(const th_family *family) {
    return family->deadline != TH_FOREVER && family->deadline <= th_os_now();
}

/* Whether a stop has cancelled the owner. A stop does not tell the families. */
static bool is_stopped(const th_family *family) {
    /* relaxed: a child that the stop has cancelled left after th_cancel_pass, which orders it */
    return family->owner && (th_load_relaxed(&family->sched->xcancelling) & TH_CANCEL_ALL) != 0;
}

/* From now on new children are born cancelled. The first reason given stays. */
static void give_reason(th_family *family, int why) {
    th_lock_acquire(&family->lock);
    family->cancelled = true;
    if (!family->first) {
        family->first = is_stopped(family) ? -ECANCELED : why;
    }
    th_lock_release(&family->lock);
}

/* ---- lists, under th_cancel_lock ---- */

/* Families that a cancel has not reached yet. */
typedef struct families {
    th_family *first;
} families;

static void put(families *list, th_family *family) {
    family->next = list->first;
    family->link = &list->first;
    if (list->first) {
        list->first->link = &family->next;
    }
    list->first = family;
}

static void take(th_family *family) {
    *family->link = family->next;
    if (family->next) {
        family->next->link = family->link;
    }
    family->link = NULL;
}

/* ---- the owner's side ---- */

thrum_time thrum_deadline(void) {
    th_fiber *fiber = th_fiber_self();
    return fiber ? fiber->heritage.deadline : THRUM_FOREVER;
}

bool th_family_open(th_family *family, thrum_sched *sched, int64_t deadline) {
    th_fiber *owner = th_fiber_self();
    *family = (th_family){.sched = sched, .owner = owner, .deadline = deadline};
    if (!owner) {
        return deadline != TH_FOREVER;
    }
    const thrum_handle *self = owner->heritage.handle;
    family->parent = self ? self->family : NULL;
    family->inherited = owner->heritage.deadline;
    family->deadline = deadline < family->inherited ? deadline : family->inherited;
    bool late = has_passed(family);
    if (late) { /* its children are born cancelled, so a cancel has nothing to do here */
        family->visited = true;
        family->cancelled = true;
        family->first = -ETIMEDOUT;
    }
    owner->heritage.deadline = family->deadline;
    family->outer = th_load_relaxed(&owner->xfamilies); /* relaxed: the owner's own */
    owner->dirty = true; /* so that the end of the run sees a family that is left open */
    th_help_list(owner);
    /* pairs: visit_fiber; the family as it is now */
    th_store_release(&owner->xfamilies, family);
    if (th_cancel_is_on(owner)) {
        give_reason(family, -ECANCELED);
    }
    return !late && family->deadline < (family->parent ? family->parent->deadline : TH_FOREVER);
}

int th_family_wait(th_family *family, const size_t *count) {
    th_waiter waiter;
    th_waiter_init(&waiter, TH_ON_SCOPE, family);
    waiter.shielded = true; /* a cancel reaches the children, and the owner waits for them */
    th_lock_acquire(&family->lock);
    bool wait = *count != 0;
    if (wait) {
        family->waiter = &waiter;
        family->awaited = count;
    }
    int result = family->first;
    th_lock_release(&family->lock);
    if (wait) {
        (void)th_waiter_wait(&waiter);
        result = waiter.value;
    }
    return !result && is_stopped(family) ? -ECANCELED : result;
}

bool th_family_is_innermost(const th_family *family) {
    th_fiber *owner = th_fiber_self();
    return owner && th_load_relaxed(&owner->xfamilies) == family; /* relaxed: the owner's own */
}

/* Takes an empty family off the list of a cancel that has found it and not reached it yet. */
static void forget(th_family *family) {
    th_lock_acquire(&th_cancel_lock);
    if (family->link) {
        take(family);
    }
    th_lock_release(&th_cancel_lock);
}

void th_family_close(th_family *family) {
    th_fiber *owner = family->owner;
    if (owner) {
        owner->heritage.deadline = family->inherited;
        /* relaxed: ordered as in th_cancel_is_on */
        th_store_relaxed(&owner->xfamilies, family->outer);
        th_cancel_fence(owner);
        if (th_cancel_is_mine(owner)) {
            forget(family);
        }
    }
}

/* ---- children and timers ---- */

void th_family_count(th_family *family, size_t *count) {
    th_lock_acquire(&family->lock);
    ++*count;
    th_lock_release(&family->lock);
}

/* With the lock, which it gives up: one less. */
static void leave(th_family *family, size_t *count) {
    th_waiter *waiter = NULL;
    if (--*count == 0 && family->waiter && family->awaited == count) {
        waiter = family->waiter;
        family->waiter = NULL;
        waiter->value = family->first;
    }
    th_lock_release(&family->lock);
    if (waiter) {
        th_waiter_wake(waiter); /* from here on the family may be gone */
    }
}

void th_family_leave(th_family *family, size_t *count) {
    th_lock_acquire(&family->lock);
    leave(family, count);
}

void th_family_child_begins(th_family *family, thrum_handle *handle) {
    th_lock_acquire(&family->lock);
    family->living++;
    handle->family = family;
    /* relaxed: published with the task; only its own run reads a part's word already */
    uint32_t word = th_load_relaxed(&handle->xcancelled) | (family->cancelled ? TH_CANCEL_ON : 0);
    th_store_relaxed(&handle->xcancelled, word); /* relaxed: as above */
    handle->family_prev = NULL;
    handle->family_next = family->children;
    if (family->children) {
        family->children->family_prev = handle;
    }
    family->children = handle;
    th_lock_release(&family->lock);
}

void th_family_child_ended(thrum_handle *handle, int result) {
    th_family *family = handle->family;
    th_lock_acquire(&family->lock);
    if (result < 0 && !family->cancelled) {
        th_lock_release(&family->lock);
        th_family_cancel(family, result);
        th_lock_acquire(&family->lock);
    }
    if (family->cursor == handle) {
        family->cursor = handle->family_next;
    }
    thrum_handle *next = handle->family_next;
    thrum_handle *prev = handle->family_prev;
    if (next) {
        next->family_prev = prev;
    }
    if (prev) {
        prev->family_next = next;
    } else {
        family->children = next;
    }
    leave(family, &family->living);
}

/* ---- the owner as a child of its own family ---- */

void th_family_enter(th_family *family, th_part *part) {
    th_fiber *fiber = th_fiber_self();
    *part = (th_part){.outer = fiber->heritage.handle};
    thrum_handle *self = &part->handle;
    self->can_order = fiber->sched->can_order;
    self->xcancelled = TH_CANCEL_NESTED;
    th_lock_init(&self->helpers_lock);
    th_family_child_begins(family, self);
    fiber->heritage.handle = self;
    th_handle_runs(self, fiber);
}

void th_family_exit(th_part *part) {
    th_fiber *fiber = th_fiber_self();
    th_handle_runs(&part->handle, NULL);
    th_cancel_taken_back(fiber);
    fiber->heritage.handle = part->outer;
    th_family_child_ended(&part->handle, 0);
}

/* ---- cancelling: with th_cancel_lock from here on ---- */

/* One cancel. Families may leave its lists while it breathes. */
typedef struct cancel {
    families unmarked; /* families of this level of the tree */
    families marked;   /* families whose children have been flagged */
    families below;    /* families of the next level */
    unsigned steps;    /* steps until it breathes */
    bool lets_run;     /* whether it yields then: the caller may suspend */
} cancel;

/*
 * Between two steps, after which the lists may be shorter. Only visits wake fibers, so only then is
 * it worth yielding.
 */
static void step(cancel *c, bool visit) {
    if (--c->steps == 0) {
        c->steps = TH_CANCEL_MAX;
        th_cancel_breathe(visit && c->lets_run);
    }
}

/*
 * Ends the fiber's wait; the families that the fiber has opened are the next level. For a part of a
 * run only those count that were opened inside it: the part's own family, and what is around it,
 * come after them in the list.
 */
static void visit_fiber(cancel *c, th_fiber *fiber, const thrum_handle *handle) {
    th_cancel_visit(fiber);
    /* pairs: th_family_open; it stays open meanwhile: to close it its owner waits for the lock */
    th_family *family = th_load_acquire(&fiber->xfamilies);
    for (; family && family != handle->family; family = family->outer) {
        if (!family->visited) {
            family->visited = true;
            put(&c->below, family);
        }
    }
}

/* Visits the fiber that runs the task, and those that make delegated calls for it. */
static void visit_task(cancel *c, thrum_handle *handle) {
    /* pairs: th_handle_runs; the fiber, and that the run before on it has ended its waits */
    th_fiber *fiber = th_load_acquire(&handle->xfiber);
    if (fiber) {
        visit_fiber(c, fiber, handle);
    }
    th_lock_acquire(&handle->helpers_lock); /* so that none of them is gone */
    for (th_fiber *helper = handle->helpers; helper; helper = helper->helper_next) {
        visit_fiber(c, helper, handle);
    }
    th_lock_release(&handle->helpers_lock);
}

static void flag(thrum_handle *handle) {
    uint32_t word = th_load_relaxed(&handle->xcancelled); /* relaxed: written with the lock held */
    /* relaxed: th_cancel_order follows */
    th_store_relaxed(&handle->xcancelled, word | TH_CANCEL_ON);
}

/* Flags or visits the next child of the family. False: there is none left. */
static bool next_child(cancel *c, th_family *family, bool visit) {
    th_lock_acquire(&family->lock); /* so that the child is not gone */
    thrum_handle *child = family->cursor;
    if (child) {
        family->cursor = child->family_next;
        if (visit) {
            visit_task(c, child);
        } else {
            flag(child);
        }
    }
    th_lock_release(&family->lock);
    return child != NULL;
}

/* From now on new children are born cancelled; the cursor stands at the first living one. */
static void begin(th_family *family, int why) {
    give_reason(family, why);
    th_lock_acquire(&family->lock);
    family->cursor = family->children;
    th_lock_release(&family->lock);
}

/* Goes through all families of a list, which is then empty; moves them to `to`, if not NULL. */
static void each_family(cancel *c, families *list, families *to, int why) {
    th_family *family;
    while ((family = list->first)) {
        begin(family, why);
        for (bool more = true; more && list->first == family; step(c, !to)) {
            more = next_child(c, family, !to);
            if (!more) {
                take(family);
                if (to) {
                    put(to, family);
                }
            }
        }
    }
}

static void go_below(cancel *c) {
    c->unmarked = c->below;
    c->below.first = NULL;
    if (c->unmarked.first) {
        c->unmarked.first->link = &c->unmarked.first;
    }
}

/*
 * Cancels this level and all below, with one barrier a level of the tree. A deadline holds for
 * everything below, so its code is passed on; any other reason becomes -ECANCELED, since the
 * families below only know that their owners were cancelled.
 */
static void cancel_levels(cancel *c, bool can_order, int why) {
    while (c->unmarked.first) {
        each_family(c, &c->unmarked, &c->marked, why);
        bool ordered = th_cancel_order(can_order);
        while (!ordered && c->marked.first) {
            /* Without that order, fibers that wait already are left to their wakers. */
            take(c->marked.first);
        }
        each_family(c, &c->marked, NULL, why);
        go_below(c);
        why = why == -ETIMEDOUT ? why : -ECANCELED;
    }
}

static void cancel_family(th_family *family, int why, bool lets_run) {
    if (family->sched->abandoned) {
        return; /* in the child of a fork none of its tasks is there */
    }
    cancel c = {.steps = TH_CANCEL_MAX, .lets_run = lets_run};
    th_cancel_hold();
    /* A child that fails gives its code as it leaves, even if another cancel reaches the family. */
    give_reason(family, why);
    if (!family->visited) {
        family->visited = true;
        put(&c.unmarked, family);
        cancel_levels(&c, family->sched->can_order, why);
    }
    th_cancel_let_go();
}

void th_family_cancel(th_family *family, int why) {
    cancel_family(family, why, true);
}

void th_family_cancel_here(th_family *family, int why) {
    cancel_family(family, why, false);
}

void th_family_cancel_task(thrum_handle *handle, bool can_order) {
    cancel c = {.steps = TH_CANCEL_MAX, .lets_run = true};
    flag(handle);
    if (th_cancel_order(can_order)) {
        visit_task(&c, handle);
        go_below(&c);
        cancel_levels(&c, can_order, -ECANCELED);
    }
}

bool th_family_is_late(const th_fiber *fiber) {
    const thrum_handle *self = fiber->heritage.handle;
    th_family *late = self ? self->family : NULL;
    if (!late || !has_passed(late)) {
        return false;
    }
    while (late->parent && has_passed(late->parent)) {
        late = late->parent;
    }
    th_family_cancel_here(late, -ETIMEDOUT);
    return true;
}
