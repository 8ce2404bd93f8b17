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

/* Its deadline. Reads the clock only if there is one. */
static bool has_passed(const th_family *family) {
    return family->deadline != TH_FOREVER && family->deadline <= th_os_now();
}

/* Whether a stop has cancelled the owner, which tells no family of it. */
static bool is_stopped(const th_family *family) {
    /* relaxed: a child that the stop has cancelled has passed (th_cancel_pass), then left */
    return family->owner && (th_load_relaxed(&family->sched->xcancelling) & TH_CANCEL_ALL) != 0;
}

/* From now on new children are born cancelled; the reason that came first stays. */
static void give_reason(th_family *family, int why) {
    th_lock_acquire(&family->lock);
    family->cancelled = true;
    if (!family->first) {
        family->first = is_stopped(family) ? -ECANCELED : why;
    }
    th_lock_release(&family->lock);
}

/* ---- lists, under th_cancel_lock ---- */

/* Families that a cancel has yet to come to. */
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
    if (late) { /* its children are born cancelled: there is nothing to come to */
        family->visited = true;
        family->cancelled = true;
        family->first = -ETIMEDOUT;
    }
    owner->heritage.deadline = family->deadline;
    family->outer = th_load_relaxed(&owner->xfamilies); /* relaxed: our own */
    owner->dirty = true; /* so its end sees whether a family is left open */
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
    return !result && is_stopped(family) ? -ECANCELED : result;
}

bool th_family_is_innermost(const th_family *family) {
    th_fiber *owner = th_fiber_self();
    return owner && th_load_relaxed(&owner->xfamilies) == family; /* relaxed: our own */
}

/* A cancel that has found it, and has not come to it yet, leaves it out: nobody is in it. */
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
    /* relaxed: published with the task; a part's own run alone looks at it already */
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

/* ---- the owner as a child ---- */

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

/* One cancel. What it has to come to can shrink while it breathes. */
typedef struct cancel {
    families unmarked; /* of this level of the tree */
    families marked;   /* those whose children have been flagged */
    families below;    /* the next level */
    unsigned steps;    /* until it breathes */
    bool lets_run;     /* and then others run: the caller may suspend */
} cancel;

/* Between two steps: afterwards the lists may be shorter. Only visits wake somebody. */
static void step(cancel *c, bool visit) {
    if (--c->steps == 0) {
        c->steps = TH_CANCEL_MAX;
        th_cancel_breathe(visit && c->lets_run);
    }
}

/*
 * The fiber's wait ends; the families that it has opened come next. Of a part of a run those that
 * were opened within: the part's own family, and what is around it, stand behind them.
 */
static void visit_fiber(cancel *c, th_fiber *fiber, const thrum_handle *handle) {
    th_cancel_visit(fiber);
    /* pairs: th_family_open; it cannot be closed meanwhile: its owner is told, and waits for us */
    th_family *family = th_load_acquire(&fiber->xfamilies);
    for (; family && family != handle->family; family = family->outer) {
        if (!family->visited) {
            family->visited = true;
            put(&c->below, family);
        }
    }
}

/* Who runs the task now, and who helps it. */
static void visit_task(cancel *c, thrum_handle *handle) {
    /* pairs: th_handle_runs; the fiber, and that the one who waited on it before has gone on */
    th_fiber *fiber = th_load_acquire(&handle->xfiber);
    if (fiber) {
        visit_fiber(c, fiber, handle);
    }
    th_lock_acquire(&handle->helpers_lock); /* so nobody of them is gone */
    for (th_fiber *helper = handle->helpers; helper; helper = helper->helper_next) {
        visit_fiber(c, helper, handle);
    }
    th_lock_release(&handle->helpers_lock);
}

static void flag(thrum_handle *handle) {
    uint32_t word = th_load_relaxed(&handle->xcancelled); /* relaxed: written with the lock */
    th_store_relaxed(&handle->xcancelled,
                     word | TH_CANCEL_ON); /* relaxed: th_cancel_order follows */
}

/* The next child of the family is flagged, or visited; false: it was the last. */
static bool next_child(cancel *c, th_family *family, bool visit) {
    th_lock_acquire(&family->lock); /* so the child is not gone */
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

/* From now on new children are born cancelled, and those that are there are come to. */
static void begin(th_family *family, int why) {
    give_reason(family, why);
    th_lock_acquire(&family->lock);
    family->cursor = family->children;
    th_lock_release(&family->lock);
}

/* All families of a list, which is empty afterwards; they go to the other one, if there is one. */
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
 * The level and all below. One barrier a level of the tree. A deadline is that of all below; of any
 * other reason they only know that their owners were cancelled.
 */
static void cancel_levels(cancel *c, bool can_order, int why) {
    while (c->unmarked.first) {
        each_family(c, &c->unmarked, &c->marked, why);
        bool ordered = th_cancel_order(can_order);
        while (!ordered && c->marked.first) {
            take(c->marked.first); /* a waiting one is left to its waker */
        }
        each_family(c, &c->marked, NULL, why);
        go_below(c);
        why = why == -ETIMEDOUT ? why : -ECANCELED;
    }
}

static void cancel_family(th_family *family, int why, bool lets_run) {
    if (family->sched->abandoned) {
        return; /* in the child of a fork nobody is there whom it could concern */
    }
    cancel c = {.steps = TH_CANCEL_MAX, .lets_run = lets_run};
    th_cancel_hold();
    give_reason(family, why); /* a child that fails has told when it leaves, whoever comes to it */
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
