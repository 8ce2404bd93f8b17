/*
 * scope_tree.c: see scope_tree.h.
 */
#include "core/wait/scope_tree.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/check.h"
#include "core/ready/waiter.h"
#include "core/state/worker.h"
#include "core/wait/cancel.h"
#include "core/wait/delegated.h"
#include "core/wait/wait.h"
#include "thrum/scope.h"

/* Whether the deadline has passed. Reads the clock only if there is one. */
static bool has_passed(const th_scope *scope) {
    return th_is_late(scope->deadline);
}

/* Whether a stop has cancelled the owner. A stop does not notify the scopes. */
static bool is_stopped(const th_scope *scope) {
    /* relaxed: a child that the stop has cancelled left after th_cancel_pass, which orders it */
    return scope->owner && (th_load_relaxed(&scope->sched->xcancelling) & TH_CANCEL_ALL) != 0;
}

/* From now on new children are born cancelled. The first reason given stays. */
static void give_reason(th_scope *scope, int why) {
    TH_LOCKED(&scope->lock);
    scope->cancelled = true;
    if (!scope->first) {
        scope->first = is_stopped(scope) ? -ECANCELED : why;
    }
}

/* ---- lists, under th_cancel_lock ---- */

/* Scopes that a cancel has not reached yet. */
typedef struct scopes {
    th_scope *first;
} scopes;

static void put(scopes *list, th_scope *scope) {
    scope->next = list->first;
    scope->link = &list->first;
    if (list->first) {
        list->first->link = &scope->next;
    }
    list->first = scope;
}

static void take(th_scope *scope) {
    *scope->link = scope->next;
    if (scope->next) {
        scope->next->link = scope->link;
    }
    scope->link = NULL;
}

/* ---- the owner's side ---- */

thrum_time thrum_deadline(void) {
    th_fiber *fiber = th_fiber_self();
    return fiber ? fiber->inherited.deadline : THRUM_FOREVER;
}

bool th_scope_open(th_scope *scope, thrum_sched *sched, int64_t deadline) {
    th_fiber *owner = th_fiber_self();
    *scope = (th_scope){.sched = sched, .owner = owner, .deadline = deadline};
    if (!owner) {
        return deadline != TH_FOREVER;
    }
    const thrum_handle *self = owner->inherited.handle;
    scope->parent = self ? self->scope : NULL;
    scope->inherited = owner->inherited.deadline;
    scope->deadline = deadline < scope->inherited ? deadline : scope->inherited;
    bool late = has_passed(scope);
    if (late) { /* its children are born cancelled, so a cancel has nothing to do here */
        scope->visited = true;
        scope->cancelled = true;
        scope->first = -ETIMEDOUT;
        /* If the deadline is that of a scope around the owner, that one has not looked yet. */
        (void)th_scope_is_late(owner);
    }
    owner->inherited.deadline = scope->deadline;
    scope->outer = th_load_relaxed(&owner->xscopes); /* relaxed: the owner's own */
    owner->dirty = true; /* so that the end of the run sees a scope that is left open */
    th_delegated_list(owner);
    /* pairs: visit_fiber; the scope as it is now */
    th_store_release(&owner->xscopes, scope);
    if (th_cancel_is_on(owner)) { /* perhaps by the deadline, which has passed meanwhile */
        give_reason(scope, has_passed(scope) ? -ETIMEDOUT : -ECANCELED);
    }
    return !late && scope->deadline < (scope->parent ? scope->parent->deadline : TH_FOREVER);
}

int th_scope_wait(th_scope *scope, const size_t *count) {
    th_waiter waiter;
    if (count == &scope->living && has_passed(scope)) { /* perhaps its timer has not fired */
        th_scope_cancel(scope, -ETIMEDOUT);
    }
    th_waiter_init(&waiter, TH_ON_SCOPE, scope);
    waiter.shielded = true; /* a cancel reaches the children, and the owner waits for them */
    th_lock_acquire(&scope->lock);
    bool wait = *count != 0;
    if (wait) {
        scope->waiter = &waiter;
        scope->awaited = count;
    }
    int result = scope->first;
    th_lock_release(&scope->lock);
    if (wait) {
        (void)th_waiter_wait(&waiter);
        result = waiter.value;
    }
    return !result && is_stopped(scope) ? -ECANCELED : result;
}

bool th_scope_is_innermost(const th_scope *scope) {
    th_fiber *owner = th_fiber_self();
    return owner && th_load_relaxed(&owner->xscopes) == scope; /* relaxed: the owner's own */
}

/* Takes an empty scope off the list of a cancel that has found it and not reached it yet. */
static void forget(th_scope *scope) {
    TH_LOCKED(&th_cancel_lock);
    if (scope->link) {
        take(scope);
    }
}

void th_scope_close(th_scope *scope) {
    th_fiber *owner = scope->owner;
    if (owner) {
        owner->inherited.deadline = scope->inherited;
        /* relaxed: ordered as in th_cancel_is_on */
        th_store_relaxed(&owner->xscopes, scope->outer);
        th_cancel_fence(owner);
        if (th_cancel_is_mine(owner)) {
            forget(scope);
        }
    }
    scope->closed = true;
}

/* ---- children and timers ---- */

void th_scope_count(th_scope *scope, size_t *count) {
    TH_LOCKED(&scope->lock);
    ++*count;
}

/* With the lock, as the last child ends: the reason of the end, also if no timer has fired yet. */
static int reason(const th_scope *scope) {
    const bool late = scope->deadline != TH_FOREVER && scope->deadline <= th_os_now();
    return late && !scope->first && !is_stopped(scope) ? -ETIMEDOUT : scope->first;
}

/* With the lock, which it gives up: one less. */
static void leave(th_scope *scope, size_t *count) {
    th_waiter *waiter = NULL;
    if (--*count == 0 && scope->waiter && scope->awaited == count) {
        waiter = scope->waiter;
        scope->waiter = NULL;
        waiter->value = reason(scope);
    }
    th_lock_release(&scope->lock);
    if (waiter) {
        th_waiter_wake(waiter); /* from here on the scope may be gone */
    }
}

void th_scope_leave(th_scope *scope, size_t *count) {
    th_lock_acquire(&scope->lock);
    leave(scope, count);
}

/* Whether the child's result is kept for the owner. The taker changes the word, but after this. */
static inline bool has_result(const thrum_handle *handle) {
    return th_load_relaxed(&handle->xjoin) != TH_JOIN_DETACHED; /* relaxed: constant until then */
}

/*
 * With the lock: the result of a child that has left the list of children can be taken. Returns the
 * owner's waiter, claimed, if it waits for that.
 */
static th_waiter *keep(th_scope *scope, thrum_handle *handle) {
    thrum_handle *last = scope->ended;
    handle->scope_next = last ? last->scope_next : handle;
    if (last) {
        last->scope_next = handle;
    }
    scope->ended = handle;
    th_waiter *taker = scope->awaited ? NULL : scope->waiter;
    if (taker) {
        scope->waiter = NULL;
        taker = th_waiter_claim(th_waiter_whole(taker), TH_WAIT_WOKEN) ? taker : NULL;
    }
    return taker;
}

void th_scope_child_begins(th_scope *scope, thrum_handle *handle) {
    TH_LOCKED(&scope->lock);
    scope->living++;
    handle->scope = scope;
    /* relaxed: published with the task; only its own run reads a part's word already */
    uint32_t word = th_load_relaxed(&handle->xcancelled) | (scope->cancelled ? TH_CANCEL_ON : 0);
    th_store_relaxed(&handle->xcancelled, word); /* relaxed: as above */
    TH_LIST_PUSH(&scope->children, handle, scope_next, scope_prev);
    scope->results += has_result(handle);
}

void th_scope_child_ended(thrum_handle *handle, int result) {
    th_scope *scope = handle->scope;
    th_lock_acquire(&scope->lock);
    const bool kept = has_result(handle);
    if (result < 0 && !scope->cancelled && !kept) {
        th_lock_release(&scope->lock);
        th_scope_cancel(scope, result);
        th_lock_acquire(&scope->lock);
    }
    if (scope->cursor == handle) {
        scope->cursor = handle->scope_next;
    }
    TH_LIST_TAKE(&scope->children, handle, scope_next, scope_prev);
    th_waiter *taker = th_unlikely(kept) ? keep(scope, handle) : NULL;
    leave(scope, &scope->living);
    if (taker) {
        th_waiter_let_go(taker); /* it was claimed, so the owner is still there */
    }
}

/* ---- results ---- */

bool th_scope_is_mine(const th_scope *scope, const char *call) {
    if (scope->closed) {
        th_misuse(call, "the scope is joined", scope);
    }
    if (!scope->sched->abandoned && scope->owner != th_fiber_self()) {
        th_misuse(call, "the caller has not opened the scope", scope);
    }
    return !scope->sched->abandoned;
}

thrum_handle *th_scope_take(th_scope *scope) {
    TH_LOCKED(&scope->lock);
    thrum_handle *last = scope->ended;
    if (!last) {
        return NULL;
    }
    thrum_handle *first = last->scope_next;
    last->scope_next = first->scope_next;
    scope->ended = first == last ? NULL : last;
    scope->results--;
    return first;
}

bool th_scope_has_result(th_scope *scope) {
    TH_LOCKED(&scope->lock);
    return scope->ended != NULL;
}

/* With the lock. The owner may be there already, if a select has the scope in two cases. */
static void stand_here(th_scope *scope, th_waiter *me) {
    if (!scope->waiter) {
        scope->waiter = me;
        scope->awaited = NULL;
    }
}

static int stand(void *object, th_waiter *me, bool late) {
    th_scope *scope = object;
    (void)late;
    TH_LOCKED(&scope->lock);
    if (scope->ended || !scope->results) {
        return scope->ended ? 1 : -ECHILD;
    }
    stand_here(scope, me);
    return 0;
}

static bool leave_again(void *object, th_waiter *me) {
    th_scope *scope = object;
    TH_LOCKED(&scope->lock);
    const bool there = scope->waiter == me;
    if (there) {
        scope->waiter = NULL;
    }
    return there;
}

static const th_wait_kind waits = {.on = TH_ON_RESULT, .stand = stand, .leave = leave_again};

int th_scope_wait_result(th_scope *scope, int64_t deadline) {
    if (!th_scope_has_result(scope) && has_passed(scope)) { /* perhaps its timer has not fired */
        th_scope_cancel(scope, -ETIMEDOUT);
    }
    th_waiter me;
    th_waiter_init_for(&me, TH_ON_RESULT, scope, true, NULL);
    return th_wait_with(&waits, scope, &me, true, deadline);
}

bool th_scope_stand(th_scope *scope, th_waiter *part) {
    TH_LOCKED(&scope->lock);
    if (!scope->ended) {
        stand_here(scope, part);
    }
    return !scope->ended;
}

void th_scope_take_back(th_scope *scope, th_waiter *part) {
    (void)leave_again(scope, part);
}

/* ---- the owner as a child of its own scope ---- */

void th_scope_enter(th_scope *scope, th_part *part) {
    th_fiber *fiber = th_fiber_self();
    *part = (th_part){.handle.xjoin = TH_JOIN_DETACHED, .outer = fiber->inherited.handle};
    thrum_handle *self = &part->handle;
    self->can_order = fiber->sched->can_order;
    self->xcancelled = TH_CANCEL_NESTED;
    th_lock_init(&self->delegated_lock);
    th_scope_child_begins(scope, self);
    fiber->inherited.handle = self;
    th_handle_runs(self, fiber);
}

void th_scope_exit(th_part *part) {
    th_fiber *fiber = th_fiber_self();
    th_handle_runs(&part->handle, NULL);
    th_cancel_taken_back(fiber);
    fiber->inherited.handle = part->outer;
    th_scope_child_ended(&part->handle, 0);
}

/* ---- cancelling: with th_cancel_lock from here on ---- */

/* One cancel. Scopes may leave its lists while it breathes. */
typedef struct cancel {
    scopes unmarked; /* scopes of this level of the tree */
    scopes marked;   /* scopes whose children have been flagged */
    scopes below;    /* scopes of the next level */
    unsigned steps;  /* steps until it breathes */
    bool lets_run;   /* whether it yields then: the caller may suspend */
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
 * Ends the fiber's wait; the scopes that the fiber has opened are the next level. For a part of a
 * run only the scopes opened inside it count: the part's own scope, and those around it, come after
 * them in the list.
 */
static void visit_fiber(cancel *c, th_fiber *fiber, const thrum_handle *handle) {
    th_cancel_visit(fiber);
    /* pairs: th_scope_open; it stays open meanwhile: to close it its owner waits for the lock */
    th_scope *scope = th_load_acquire(&fiber->xscopes);
    for (; scope && scope != handle->scope; scope = scope->outer) {
        if (!scope->visited) {
            scope->visited = true;
            put(&c->below, scope);
        }
    }
}

/* Visits the fiber that runs the task, and the fibers that make delegated calls for it. */
static void visit_task(cancel *c, thrum_handle *handle) {
    /* pairs: th_handle_runs; the fiber, and that the run before on it has ended its waits */
    th_fiber *fiber = th_load_acquire(&handle->xfiber);
    if (fiber) {
        visit_fiber(c, fiber, handle);
    }
    TH_LOCKED(&handle->delegated_lock); /* so that none of them is gone */
    for (th_fiber *delegated = handle->delegated; delegated;
         delegated = delegated->delegated_next) {
        visit_fiber(c, delegated, handle);
    }
}

static void flag(thrum_handle *handle) {
    uint32_t word = th_load_relaxed(&handle->xcancelled); /* relaxed: written with the lock held */
    /* pairs: th_cancel_is_set; the canceller's writes. th_cancel_order follows */
    th_store_release(&handle->xcancelled, word | TH_CANCEL_ON);
}

/* Flags or visits the next child of the scope. False: there is none left. */
static bool next_child(cancel *c, th_scope *scope, bool visit) {
    TH_LOCKED(&scope->lock); /* so that the child is not gone */
    thrum_handle *child = scope->cursor;
    if (child) {
        scope->cursor = child->scope_next;
        if (visit) {
            visit_task(c, child);
        } else {
            flag(child);
        }
    }
    return child != NULL;
}

/* From now on new children are born cancelled; the cursor is at the first living one. */
static void begin(th_scope *scope, int why) {
    give_reason(scope, why);
    TH_LOCKED(&scope->lock);
    scope->cursor = scope->children;
}

/* Goes through all scopes of a list, which is then empty; moves them to `to`, if not NULL. */
static void each_scope(cancel *c, scopes *list, scopes *to, int why) {
    th_scope *scope;
    while ((scope = list->first)) {
        begin(scope, why);
        for (bool more = true; more && list->first == scope; step(c, !to)) {
            more = next_child(c, scope, !to);
            if (!more) {
                take(scope);
                if (to) {
                    put(to, scope);
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
 * scopes below only know that their owners were cancelled.
 */
static void cancel_levels(cancel *c, bool can_order, int why) {
    while (c->unmarked.first) {
        each_scope(c, &c->unmarked, &c->marked, why);
        bool ordered = th_cancel_order(can_order);
        while (!ordered && c->marked.first) {
            /* Without that order, fibers that wait already are left to their wakers. */
            take(c->marked.first);
        }
        each_scope(c, &c->marked, NULL, why);
        go_below(c);
        why = why == -ETIMEDOUT ? why : -ECANCELED;
    }
}

static void cancel_scope(th_scope *scope, int why, bool lets_run) {
    if (scope->sched->abandoned) {
        return; /* in the child of a fork none of its tasks is there */
    }
    cancel c = {.steps = TH_CANCEL_MAX, .lets_run = lets_run};
    th_cancel_hold();
    /* A child that fails gives its code as it leaves, even if another cancel reaches the scope. */
    give_reason(scope, why);
    if (!scope->visited) {
        scope->visited = true;
        put(&c.unmarked, scope);
        cancel_levels(&c, scope->sched->can_order, why);
    }
    th_cancel_let_go();
}

void th_scope_cancel(th_scope *scope, int why) {
    cancel_scope(scope, why, true);
}

void th_scope_cancel_here(th_scope *scope, int why) {
    cancel_scope(scope, why, false);
}

void th_scope_cancel_task(thrum_handle *handle, bool can_order) {
    cancel c = {.steps = TH_CANCEL_MAX, .lets_run = true};
    flag(handle);
    if (th_cancel_order(can_order)) {
        visit_task(&c, handle);
        go_below(&c);
        cancel_levels(&c, can_order, -ECANCELED);
    }
}

bool th_scope_is_late(const th_fiber *fiber) {
    const thrum_handle *self = fiber->inherited.handle;
    th_scope *late = self ? self->scope : NULL;
    if (!late || !has_passed(late)) {
        return false;
    }
    th_scope *innermost = late;
    while (late->parent && has_passed(late->parent)) {
        late = late->parent;
    }
    th_scope_cancel_here(late, -ETIMEDOUT);
    /* Another's cancel may not have reached these yet, and the caller may end before it does. */
    for (th_scope *scope = innermost; scope != late; scope = scope->parent) {
        give_reason(scope, -ETIMEDOUT);
    }
    return true;
}
