/*
 * scope.c: thrum/scope.h: a th_scope (core/wait/scope_tree.h), and a timer that cancels it.
 */
#include "thrum/scope.h"

#include <errno.h>

#include "base/check.h"
#include "core/state/worker.h"
#include "core/task/spawn.h"
#include "core/wait/cancel.h"
#include "core/wait/scope_tree.h"
#include "core/wait/wait.h"
#include "thrum/sched.h"
#include "thrum/task.h"

typedef struct scope {
    th_scope tree;
    thrum_task timer; /* posted if the scope's deadline is earlier than those it inherits */
} scope;
_Static_assert(sizeof(scope) <= sizeof(thrum_scope), "it lies in the public struct");
_Static_assert(_Alignof(scope) <= _Alignof(thrum_scope), "it lies in the public struct");

static inline scope *inside(thrum_scope *public) {
    return (scope *)(void *)public;
}

static void time_is_out(thrum_task *self, void *arg) {
    scope *s = arg;
    if (!thrum_task_is_cancelled(self)) {
        th_scope_cancel(&s->tree, -ETIMEDOUT);
    }
    th_scope_leave(&s->tree, &s->tree.timers);
}

static int open_one(scope *s, thrum_sched *sched, thrum_time deadline) {
    s->tree.timed = th_scope_open(&s->tree, sched, deadline);
    if (s->tree.timed) {
        thrum_task_init(&s->timer, time_is_out, s);
        th_scope_count(&s->tree, &s->tree.timers);
        int code = thrum_task_post_until(sched, &s->timer, s->tree.deadline);
        if (code) {
            /* GCOVR_EXCL_START: the caller's scheduler takes tasks until the caller has ended */
            th_scope_leave(&s->tree, &s->tree.timers);
            th_scope_close(&s->tree);
            return code; /* GCOVR_EXCL_STOP */
        }
    }
    return 0;
}

/* Drops the results that nobody took. Returns the first that is negative, or 0. */
static int drop_results(th_scope *tree) {
    int first = 0;
    thrum_handle *child;
    while ((child = th_scope_take(tree))) {
        void *arg;
        const int result = th_handle_take(child, &arg);
        first = !first && result < 0 ? result : first;
    }
    return first;
}

/* Waits until the scope's children have ended; returns the reason of its end. */
static int close_one(scope *s) {
    th_scope *tree = &s->tree;
    int result = th_scope_wait(tree, &tree->living);
    if (tree->results) {
        const int dropped = drop_results(tree);
        result = result ? result : dropped;
    }
    if (s->tree.timed) {
        (void)thrum_task_cancel(&s->timer); /* the timer has run, runs, or runs at once */
        th_scope_wait(tree, &tree->timers);
    }
    th_scope_close(tree);
    return result;
}

int thrum_scope_open(thrum_scope *public, thrum_time deadline) {
    thrum_sched *sched = thrum_sched_current();
    if (!public || !sched || !th_fiber_self()) {
        return public ? th_thread_refusal() : -EINVAL;
    }
    return open_one(inside(public), sched, deadline);
}

int thrum_scope_go(thrum_scope *public, thrum_fn fn, void *arg) {
    scope *s = inside(public);
    if (!public) {
        return -EINVAL;
    }
    if (th_unlikely(s->tree.closed)) {
        th_misuse("thrum_scope_go", "the scope is joined", public);
    }
    int code = th_scope_go(&s->tree, fn, arg);
    if (code) {
        th_scope_cancel_here(&s->tree, code);
    }
    return code;
}

int thrum_scope_spawn(thrum_scope *public, const thrum_attr *attr, thrum_fn fn, void *arg) {
    scope *s = inside(public);
    if (!public) {
        return -EINVAL;
    }
    if (th_unlikely(s->tree.closed)) {
        th_misuse("thrum_scope_spawn", "the scope is joined", public);
    }
    return th_scope_spawn(&s->tree, attr, fn, arg);
}

int thrum_scope_next_until(thrum_scope *public, void **arg, int *result, thrum_time deadline) {
    if (!public) {
        return -EINVAL;
    }
    th_scope *tree = &inside(public)->tree;
    int code = th_scope_is_mine(tree, "thrum_scope_next") ? th_scope_wait_result(tree, deadline)
                                                          : -ESHUTDOWN;
    if (code) {
        return code;
    }
    void *given;
    const int value = th_handle_take(th_scope_take(tree), &given);
    if (arg) {
        *arg = given;
    }
    if (result) {
        *result = value;
    }
    return 0;
}

int thrum_scope_next(thrum_scope *public, void **arg, int *result) {
    return thrum_scope_next_until(public, arg, result, THRUM_FOREVER);
}

void thrum_scope_cancel(thrum_scope *public) {
    th_scope_cancel(&inside(public)->tree, -ECANCELED);
}

int thrum_scope_join(thrum_scope *public) {
    scope *s = inside(public);
    th_scope *tree = &s->tree;
    if (!th_scope_is_innermost(tree)) {
        if (tree->sched->abandoned) {
            return -ESHUTDOWN; /* in a forked process: the children run in its parent */
        }
        th_misuse("thrum_scope_join", "not the innermost scope that the caller has open", public);
    }
    return close_one(s);
}

/* ---- a deadline of the caller's own ---- */

int thrum_with_deadline(thrum_time deadline, thrum_fn fn, void *arg, int *result) {
    thrum_sched *sched = thrum_sched_current();
    if (!fn || !sched || !th_fiber_self()) {
        return fn ? th_thread_refusal() : -EINVAL;
    }
    scope s;
    th_part part; /* the caller, which is the scope's only child */
    int code = open_one(&s, sched, deadline);
    if (code) {
        return code; /* GCOVR_EXCL_LINE: as above */
    }
    th_scope_enter(&s.tree, &part);
    int value = fn(arg);
    if (result) {
        *result = value;
    }
    if (!th_scope_is_innermost(&s.tree)) {
        if (sched->abandoned) {
            return -ESHUTDOWN; /* in a forked process */
        }
        th_misuse("thrum_with_deadline", "a scope that the function has opened is not joined", &s);
    }
    th_scope_exit(&part);
    code = close_one(&s);
    /* A cancel of a scope around the caller comes to the caller's wait first, and to `s` later. */
    if (!code && th_cancel_is_on(s.tree.owner)) {
        code = th_is_late(s.tree.inherited) ? -ETIMEDOUT : -ECANCELED;
    }
    return code;
}
