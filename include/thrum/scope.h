/*
 * thrum/scope.h: tasks that are started, waited for and cancelled together.
 *
 * A scope lies in the frame of the task that opens it, and that task joins it before it ends: so no
 * child is left behind. The first child that fails cancels the others. Scopes nest: what cancels a
 * task also cancels the scopes that it has open.
 *
 *     thrum_scope scope;
 *     int err = thrum_scope_open(&scope, thrum_after_ms(200));
 *     if (err == 0) {
 *         thrum_scope_go(&scope, fetch, &a);
 *         thrum_scope_go(&scope, fetch, &b);
 *         err = thrum_scope_join(&scope);
 *     }
 *
 * **A scope's deadline cancels its children, not its owner**: what the owner itself waits for
 * between open and join goes on past the deadline. To cancel that, use thrum_with_deadline:
 *
 *     int err = thrum_with_deadline(thrum_after_ms(200), fetch_all, &request, &result);
 */
#ifndef THRUM_SCOPE_H
#define THRUM_SCOPE_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_scope {
    uint64_t reserved[26];
} thrum_scope;
THRUM_STATIC_ASSERT(sizeof(thrum_scope) == 208, "part of the ABI");

/*
 * Opens a scope. Its memory is the caller's; it is in use until thrum_scope_join has returned, and
 * must not move. At the deadline the scope is cancelled, **which is to say its children, not the
 * caller**, and the join returns -ETIMEDOUT. Where all workers compute, the first child that asks
 * thrum_cancelled past the deadline cancels it. Scopes inherit: the earliest deadline of all that
 * are around counts (thrum_deadline). Opened by a cancelled task, or past its deadline, a scope is
 * cancelled from the start. Tasks and bound threads may call it. It never suspends. It returns 0,
 * -ESRCH on a plain thread, or -EINVAL for NULL.
 */
THRUM_API THRUM_NODISCARD int thrum_scope_open(thrum_scope *scope, thrum_time deadline);

/*
 * Starts `fn(arg)` as a child. A negative value that it returns is a failure; the first one cancels
 * the scope. In a cancelled scope children still run, cancelled. What the caller wrote before is
 * visible to the child. The scope's task and its children may call it while the scope is open. It
 * never suspends. It returns 0, or with nothing started -ENOMEM, -EINVAL or -ESHUTDOWN, which is
 * recorded in the scope like a child's failure: so the result may be ignored.
 */
THRUM_API int thrum_scope_go(thrum_scope *scope, thrum_fn fn, void *arg);

/*
 * Cancels the scope's children, present and future, and the scopes that they have open: their waits
 * return -ECANCELED (thrum_cancel). Any thread may call it, if the scope's memory and its scheduler
 * are there until it returns: once the scope is joined nothing is left to cancel. It waits for no
 * child, but it may suspend: after every 256 children that it has woken a task lets others run, as
 * by thrum_yield. It cannot fail.
 */
THRUM_API void thrum_scope_cancel(thrum_scope *scope);

/*
 * Waits until all children have ended, and closes the scope. If the caller is cancelled meanwhile,
 * the children are, too, and it still waits. What they did is visible afterwards. The scope's task
 * may call it, inner scopes first; otherwise it aborts. It may suspend. It returns 0, or the reason
 * that came first: a child's failure, -ETIMEDOUT for a deadline, -ECANCELED for thrum_scope_cancel
 * or a cancel of the caller.
 */
THRUM_API THRUM_NODISCARD int thrum_scope_join(thrum_scope *scope);

/*
 * Calls `fn(arg)` with a deadline for the caller itself, as contexts in Go and cancel scopes in
 * Trio do. Once it has passed, the waits of `fn` return -ECANCELED, and thrum_cancelled is true in
 * it; so too in what `fn` forks and in the scopes that it opens. `fn` runs on the caller's stack
 * and is always waited for; nothing interrupts what computes. Deadlines nest: the earliest one
 * around counts (thrum_deadline). Past the deadline, or in a cancelled task, `fn` is called all the
 * same, cancelled from the start. Afterwards the caller is as before: it has not been cancelled by
 * this deadline. What `fn` opens, forks or shields it ends before it returns.
 *
 * Tasks and bound threads may call it. It may suspend. `*result` (may be NULL) gets what `fn`
 * returned, whatever this call returns: 0 when `fn` returned before anything cancelled it;
 * -ETIMEDOUT when the deadline, or an earlier one around it, cancelled it; -ECANCELED when the
 * caller was cancelled by something else, and still is; -ESHUTDOWN in the child of a fork that `fn`
 * made. Errors, with `fn` not called: -EINVAL without `fn`; -ESRCH when the caller is neither a
 * task nor a bound thread.
 */
THRUM_API THRUM_NODISCARD int thrum_with_deadline(thrum_time deadline, thrum_fn fn, void *arg,
                                                  int *result);

/*
 * Returns the earliest deadline of the scopes that the running task has open, or is a child in, and
 * of the calls of thrum_with_deadline that it is in; THRUM_FOREVER when there is none. Any thread
 * may call it. It never suspends and cannot fail.
 */
THRUM_API thrum_time thrum_deadline(void);

THRUM_END_DECLS

#endif
