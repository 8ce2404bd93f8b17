/*
 * family.c: see family.h.
 */
#include "core/family.h"

#include "base/atomic.h"
#include "base/check.h"
#include "core/cancel.h"
#include "core/helper.h"
#include "core/worker.h"
#include "thrum/scope.h"

/* ---- the owner's side ---- */

thrum_time thrum_deadline(void) {
    th_fiber *fiber = th_fiber_self();
    return fiber ? fiber->heritage.deadline : THRUM_FOREVER;
}

void th_family_open(th_family *family, thrum_sched *sched, int64_t deadline) {
    th_fiber *owner = th_fiber_self();
    *family = (th_family){.sched = sched, .owner = owner, .deadline = deadline};
    if (!owner) {
        return;
    }
    family->inherited = owner->heritage.deadline;
    family->deadline = deadline < family->inherited ? deadline : family->inherited;
    owner->heritage.deadline = family->deadline;
    family->outer = th_load_relaxed(&owner->xfamilies); /* relaxed: our own */
    owner->dirty = true; /* so its end sees whether a family is left open */
    th_help_list(owner);
    /* pairs: visit_fiber; the family as it is now */
    th_store_release(&owner->xfamilies, family);
    if (th_cancel_is_on(owner)) {
        th_lock_acquire(&family->lock);
        family->cancelled = 1; /* its children are born cancelled */
        family->first = family->deadline <= th_os_now() ? -ETIMEDOUT : -ECANCELED;
        th_lock_release(&family->lock);
    }
}

int th_family_wait(th_family *family, const size_t *count) {
    th_waiter waiter;
    th_waiter_init(&waiter, TH_ON_SCOPE, family);
    waiter.shielded = true; /* the children are cancelled, and waited for */
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
    return result;
}

bool th_family_is_innermost(const th_family *family) {
    th_fiber *owner = th_fiber_self();
    return owner && th_load_relaxed(&owner->xfamilies) == family; /* relaxed: our own */
}

void th_family_close(th_family *family) {
    th_fiber *owner = family->owner;
    if (owner) {
        owner->heritage.deadline = family->inherited;
        /* relaxed: ordered as in th_cancel_is_on */
        th_store_relaxed(&owner->xfamilies, family->outer);
        th_cancel_taken_back(owner);
    }
}

/* ---- children, and whoever else counts ---- */

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
        th_waiter_wake(waiter); /* the family may be gone */
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
    handle->xcancelled = family->cancelled;
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
    if (result < 0) {
        th_family_cancel(family, result);
    }
    th_lock_acquire(&family->lock);
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

/* ---- cancelling ---- */

/* The fiber's wait ends; the families that it has opened come next. Returns the next level. */
static th_family *visit_fiber(th_fiber *fiber, th_family *level) {
    th_cancel_visit(fiber);
    /* pairs: th_family_open; it cannot be closed meanwhile: its owner is told, and waits for us */
    th_family *family = th_load_acquire(&fiber->xfamilies);
    for (; family; family = family->outer) {
        if (!family->visited) {
            family->visited = true;
            family->next = level;
            level = family;
        }
    }
    return level;
}

static void mark(th_family *family, int why) {
    th_lock_acquire(&family->lock);
    family->cancelled = 1;
    family->first = family->first ? family->first : why;
    for (thrum_handle *child = family->children; child; child = child->family_next) {
        th_store_relaxed(&child->xcancelled, 1u); /* relaxed: th_cancel_order follows */
    }
    th_lock_release(&family->lock);
}

/* Who runs the task now, and who helps it. */
static th_family *visit_task(thrum_handle *handle, th_family *level) {
    /* pairs: th_handle_runs; the fiber, and that the one who waited on it before has gone on */
    th_fiber *fiber = th_load_acquire(&handle->xfiber);
    level = fiber ? visit_fiber(fiber, level) : level;
    th_lock_acquire(&handle->helpers_lock); /* so nobody of them is gone */
    for (th_fiber *helper = handle->helpers; helper; helper = helper->helper_next) {
        level = visit_fiber(helper, level);
    }
    th_lock_release(&handle->helpers_lock);
    return level;
}

static th_family *visit_children(th_family *family, th_family *level) {
    th_lock_acquire(&family->lock); /* so nobody of them is gone */
    for (thrum_handle *child = family->children; child; child = child->family_next) {
        level = visit_task(child, level);
    }
    th_lock_release(&family->lock);
    return level;
}

/*
 * With th_cancel_lock: these families and all below. One barrier a level of the tree. A deadline is
 * that of all below; of any other reason they only know that their owners were cancelled.
 */
static void cancel_levels(th_family *level, int why) {
    while (level) {
        for (th_family *family = level; family; family = family->next) {
            mark(family, why);
        }
        if (!th_cancel_order(level->sched->can_order)) {
            return; /* who waits is left to who wakes him */
        }
        th_family *next = NULL;
        for (th_family *family = level; family; family = family->next) {
            next = visit_children(family, next);
        }
        level = next;
        why = why == -ETIMEDOUT ? why : -ECANCELED;
    }
}

void th_family_cancel(th_family *family, int why) {
    th_lock_acquire(&th_cancel_lock);
    if (!family->visited) {
        family->visited = true;
        family->next = NULL;
        cancel_levels(family, why);
    }
    th_lock_release(&th_cancel_lock);
}

void th_family_stopped(th_fiber *fiber) {
    /* pairs: th_family_open; it cannot be closed meanwhile: its owner is told, and waits for us */
    th_family *family = th_load_acquire(&fiber->xfamilies);
    for (; family; family = family->outer) {
        mark(family, -ECANCELED);
    }
}

void th_family_cancel_task(thrum_handle *handle, bool can_order) {
    th_store_relaxed(&handle->xcancelled, 1u); /* relaxed: th_cancel_order follows */
    if (th_cancel_order(can_order)) {
        cancel_levels(visit_task(handle, NULL), -ECANCELED);
    }
}
