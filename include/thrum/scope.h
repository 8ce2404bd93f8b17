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
 * between open and join goes on past the deadline. For that there is thrum_with_deadline:
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
 * Opens a scope; its memory stays the caller's until thrum_scope_join has returned, and must not
 * move. At the deadline the scope is cancelled, **which is to say its children, not the caller**,
 * and the join says -ETIMEDOUT. Where all workers compute, the first child that asks
 * thrum_cancelled past the deadline cancels it. Scopes inherit: the earliest deadline of all that
 * are around counts (thrum_deadline). Opened by a cancelled task, or past its deadline, it is
 * cancelled from the start. Tasks and bound threads; never suspends. -ESRCH off those.
 */
THRUM_API THRUM_NODISCARD int thrum_scope_open(thrum_scope *scope, thrum_time deadline);

/*
 * Starts `fn(arg)` as a child. A negative value that it returns is a failure; the first one cancels
 * the scope. In a cancelled scope children still run, cancelled. The scope's task and its children,
 * while it is open; never suspends. -ENOMEM, -EINVAL and -ESHUTDOWN: not started, and recorded in
 * the scope like a child's failure, so the result may be ignored.
 */
THRUM_API int thrum_scope_go(thrum_scope *scope, thrum_fn fn, void *arg);

/*
 * Cancels the scope's children, present and future, and the scopes that they have open: their calls
 * that would suspend return -ECANCELED (thrum_cancel). Any thread; the scope is open until
 * it returns. Never waits; a task lets others run after every 256 children that it has woken, as by
 * thrum_yield.
 */
THRUM_API void thrum_scope_cancel(thrum_scope *scope);

/*
 * Waits until all children have ended, whatever cancels the caller meanwhile: then they are
 * cancelled, and it still waits. What they did is visible afterwards. Then the scope is closed.
 * Its task only, inner scopes first, else it aborts; may suspend. 0, or the reason that came first:
 * a child's failure, -ETIMEDOUT (a deadline), -ECANCELED (thrum_scope_cancel, or the caller was
 * cancelled).
 */
THRUM_API THRUM_NODISCARD int thrum_scope_join(thrum_scope *scope);

/*
 * Calls `fn(arg)` with a deadline for the caller itself, as contexts in Go and cancel scopes in
 * Trio do. Once it has passed, the calls of `fn` that would suspend return -ECANCELED, and
 * thrum_cancelled is true in it; so too in what `fn` forks and in the scopes that it opens. `fn`
 * runs on the caller's stack and is always waited for; nothing interrupts what computes. Deadlines
 * nest: the earliest one around counts (thrum_deadline). Past the deadline, or in a cancelled task,
 * `fn` is called all the same, cancelled from the start. Afterwards the caller is as before: it has
 * not been cancelled by this deadline. What `fn` opens, forks or shields it ends before it returns.
 *
 * `*result` (may be NULL) gets what `fn` returned, whatever this call returns: 0, `fn` returned
 * before anything cancelled it; -ETIMEDOUT, the deadline, or an earlier one around it, did;
 * -ECANCELED, the caller was cancelled by something else, and goes on being so. With `fn`
 * not called: -EINVAL, no `fn`; -ESRCH, neither a task nor a bound thread; with it called,
 * -ESHUTDOWN, in the child of a fork that it made. May suspend.
 */
THRUM_API THRUM_NODISCARD int thrum_with_deadline(thrum_time deadline, thrum_fn fn, void *arg,
                                                  int *result);

/*
 * The earliest deadline of the scopes that the running task has open, or is a child in, and of the
 * calls of thrum_with_deadline that it is in; THRUM_FOREVER when there is none. Any thread; never
 * suspends.
 */
THRUM_API thrum_time thrum_deadline(void);

THRUM_END_DECLS

#endif
