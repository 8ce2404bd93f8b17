/*
 * thrum/scope.h: scopes. A scope has tasks as its children, which are started, waited for and
 * cancelled together.
 *
 * A scope lives in the frame of the task that opens it, and that task joins it before it ends, so
 * no child is left behind. The first child that fails cancels the others. Scopes nest: a call that
 * cancels a task also cancels the scopes that it has open.
 *
 *     thrum_scope scope;
 *     int err = thrum_scope_open(&scope, thrum_after_ms(200));
 *     if (err == 0) {
 *         thrum_scope_go(&scope, fetch, &a);
 *         thrum_scope_go(&scope, fetch, &b);
 *         err = thrum_scope_join(&scope);
 *     }
 *
 * thrum_scope_spawn starts children whose results the owner takes in the order in which they end:
 *
 *     while ((err = thrum_scope_next(&scope, &arg, &result)) == 0) {
 *         ...                             the child that got `arg` has returned `result`
 *     }
 *
 * **A scope's deadline cancels its children, not its owner**: past the deadline, waits of the owner
 * itself between open and join go on. To cancel those, use thrum_with_deadline:
 *
 *     int err = thrum_with_deadline(thrum_after_ms(200), fetch_all, &request, &result);
 */
#ifndef THRUM_SCOPE_H
#define THRUM_SCOPE_H

#include "thrum/base.h"
#include "thrum/spawn.h"

THRUM_BEGIN_DECLS

/* A scope, in the memory of the caller that opens it. It must not move before it is joined. */
typedef struct thrum_scope {
    uint64_t reserved[26];
} thrum_scope;
THRUM_STATIC_ASSERT(sizeof(thrum_scope) == 208, "part of the ABI");

/*
 * Opens a scope. At the deadline its children are cancelled, **not the caller**, and the join
 * returns -ETIMEDOUT. If all workers compute, the first child that calls thrum_cancelled past the
 * deadline cancels the scope, or else the join does.
 *
 * Scopes inherit: the earliest deadline of all that are around a task counts (thrum_deadline). If a
 * cancelled task opens a scope, or the deadline has passed, the scope is cancelled from the start.
 *
 * Parameters:
 *   scope     the memory of the scope, in use until thrum_scope_join has returned
 *   deadline  when the children are cancelled, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code; the scope is not open then.
 * Errors:
 *   -ESRCH      the caller is a plain thread
 *   -EINVAL     scope is NULL
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 * Context: a task or a bound thread; never suspends.
 * Ordering: none.
 * Misuse: the task ends, or the thread unbinds, before the join.
 * Example: examples/scope.c
 * See also: thrum_scope_go, thrum_scope_join, thrum_with_deadline
 */
THRUM_API THRUM_NODISCARD int thrum_scope_open(thrum_scope *scope, thrum_time deadline);

/*
 * Starts `fn(arg)` as a child. If it returns a negative value, it has failed; the first failure
 * cancels the scope. In a cancelled scope children still run, cancelled.
 *
 * An error of this call is recorded in the scope like a child's failure, so the result may be
 * ignored.
 *
 * Parameters:
 *   scope  the scope, which is open
 *   fn     the child's function
 *   arg    its argument
 * Returns: 0, or a negative error code; nothing is started then.
 * Errors:
 *   -EINVAL     scope or fn is NULL
 *   -ENOMEM     there is no memory, or 16,384 tasks wait for memory for a stack
 *   -ESHUTDOWN  the caller is external to the scope's scheduler, which stops; or the scope was
 *               opened in a fork's parent
 * Context: the task that opened the scope, or a child of it; never suspends.
 * Ordering: the writes before this call are visible to the child.
 * Misuse: the scope is joined.
 * Example: examples/scope.c
 * See also: thrum_scope_open, thrum_scope_cancel
 */
THRUM_API int thrum_scope_go(thrum_scope *scope, thrum_fn fn, void *arg);

/*
 * Starts `fn(arg)` as a child whose result is kept until thrum_scope_next takes it. **A negative
 * result does not cancel the scope**: the owner takes it, and decides. In a cancelled scope
 * children still run, cancelled.
 *
 * The join drops results that were not taken. If it has no other reason to fail, it returns the
 * first negative one. Until its result is taken, a child that has ended keeps less than 200 bytes.
 *
 * Parameters:
 *   scope  the scope, which is open
 *   attr   how the child is started; not kept; NULL is the defaults. If it names a scheduler, it is
 *          that of the scope
 *   fn     the child's function
 *   arg    its argument, which thrum_scope_next gives back
 * Returns: 0, or a negative error code; nothing is started then, and the scope is as before.
 * Errors:
 *   -EINVAL     scope or fn is NULL, or the attr has a wrong size, another scheduler, an unknown
 *               flag, two priorities, a worker that has never taken part, or more than 64 MiB of
 *               stack
 *   -ENOMEM     there is no memory, or 16,384 tasks wait for memory for a stack
 *   -ESHUTDOWN  the caller is external to the scope's scheduler, which stops; or the scope was
 *               opened in a fork's parent
 * Context: the task that opened the scope, or a child of it; never suspends.
 * Ordering: the writes before this call are visible to the child.
 * Misuse: the scope is joined.
 * Example: examples/first_results.c
 * See also: thrum_scope_next, thrum_scope_go
 */
THRUM_API THRUM_NODISCARD int thrum_scope_spawn(thrum_scope *scope, const thrum_attr *attr,
                                                thrum_fn fn, void *arg);

/*
 * Takes the next result of a child that thrum_scope_spawn has started. Results come in the order in
 * which the children end. If none is there, it waits. thrum_scope_next_until gives up at the
 * deadline.
 * Each call takes constant time, however many children there are, and allocates nothing.
 *
 * A result that is there is taken at once, also past the deadline or by a cancelled caller. After a
 * cancel of the scope, the results of its children still come. Only the owner takes them: for
 * several consumers, let the children send to a channel instead.
 *
 * Parameters:
 *   scope     the scope, which is open
 *   arg       gets the argument with which the child was started; may be NULL
 *   result    gets the value that its function returned; may be NULL
 *   deadline  thrum_scope_next_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0, or a negative error code with nothing taken.
 * Errors:
 *   -ECHILD     no child is left whose result could be taken
 *   -ETIMEDOUT  the deadline of this call passed
 *   -ECANCELED  the caller was cancelled
 *   -EINVAL     scope is NULL
 *   -ESHUTDOWN  the scope was opened in a fork's parent
 * Context: the task or the bound thread that opened the scope; may suspend; cancellable.
 * Ordering: the writes of the child are visible after a call that returned 0.
 * Misuse: the scope is joined, or the caller has not opened it.
 * Example: examples/first_results.c
 * See also: thrum_scope_spawn, THRUM_NEXT_CASE
 */
THRUM_API THRUM_NODISCARD int thrum_scope_next(thrum_scope *scope, void **arg, int *result);
THRUM_API THRUM_NODISCARD int thrum_scope_next_until(thrum_scope *scope, void **arg, int *result,
                                                     thrum_time deadline);

/*
 * Cancels the scope's children, present and future, and the scopes that they have open. Their waits
 * return -ECANCELED, as after thrum_cancel. Once the scope is joined, nothing is left to cancel.
 *
 * Parameters:
 *   scope  the scope; its memory and its scheduler exist until this call has returned
 * Context: any thread; may suspend; not cancellable. It waits for no child. A task that calls it
 *   lets others run, as by thrum_yield, after every 256 children that it has woken.
 * Ordering: the writes before this call are visible when thrum_cancelled returns true in a child.
 * Example: examples/jobs.c
 * See also: thrum_cancelled, thrum_cancel
 */
THRUM_API void thrum_scope_cancel(thrum_scope *scope);

/*
 * Waits until all children have ended, and closes the scope. If the caller is cancelled meanwhile,
 * the children are cancelled too, and the call still waits for them.
 *
 * Parameters:
 *   scope  the scope, the innermost one that the caller has open
 * Returns: 0, or the reason that came first: the negative value of a child that failed, or an error
 *   code.
 * Errors:
 *   -ETIMEDOUT  the deadline of the scope, or one around it, passed before this call, or before the
 *               last child had ended
 *   -ECANCELED  thrum_scope_cancel was called, or the caller was cancelled
 *   -EINVAL, -ENOMEM  a thrum_scope_go failed with this code
 *   -ESHUTDOWN  a thrum_scope_go failed with this code; or the scope was opened in a fork's parent
 * Context: the task that opened the scope; may suspend; not cancellable.
 * Ordering: the writes of all children are visible after it.
 * Misuse: the scope is not the innermost one that the caller has open.
 * Example: examples/scope.c
 * See also: thrum_scope_open
 */
THRUM_API THRUM_NODISCARD int thrum_scope_join(thrum_scope *scope);

/*
 * Calls `fn(arg)` with a deadline for the caller itself, like contexts in Go and cancel scopes in
 * Trio. Past the deadline the waits of fn return -ECANCELED, and thrum_cancelled is true in it. The
 * same holds in the functions that fn forks, and in the scopes that it opens. Nothing interrupts a
 * function that computes, and the call always waits for fn.
 *
 * fn runs on the caller's stack. Deadlines nest: the earliest one around counts (thrum_deadline).
 * If the deadline has passed, or the caller is cancelled, fn is called all the same, cancelled from
 * the start. Afterwards the caller is as before: this deadline has not cancelled it. fn must end
 * the scopes, forks and shields that it begins.
 *
 * Parameters:
 *   deadline  when the waits of fn are cancelled, an instant from thrum_after
 *   fn        the function
 *   arg       its argument
 *   result    gets the value that fn returned, also if this call returns an error; may be NULL
 * Returns: 0 when fn returned before anything cancelled it, else a negative error code.
 * Errors:
 *   -ETIMEDOUT  the deadline, or an earlier one around it, passed before fn had returned
 *   -ECANCELED  something else cancelled the caller, and it is still cancelled
 *   -EINVAL     fn is NULL; it was not called
 *   -ESRCH      the caller is a plain thread; fn was not called
 *   -ESHUTDOWN  in the child of a fork: fn made it; or the caller was a task or a bound thread in
 *               the parent, and fn was not called
 * Context: a task or a bound thread; may suspend; cancellable.
 * Ordering: none.
 * Misuse: a scope that fn has opened is not joined.
 * Example: examples/with_deadline.c
 * See also: thrum_cancelled, thrum_scope_open, thrum_shield_begin
 */
THRUM_API THRUM_NODISCARD int thrum_with_deadline(thrum_time deadline, thrum_fn fn, void *arg,
                                                  int *result);

/*
 * Returns the earliest deadline around the running task: of the scopes that it has open or is a
 * child in, and of the calls of thrum_with_deadline that it is in.
 *
 * Returns: the deadline; THRUM_FOREVER if there is none.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    int err = thrum_event_wait_until(&ready, thrum_deadline());
 * See also: thrum_with_deadline, thrum_scope_open
 */
THRUM_API thrum_time thrum_deadline(void);

THRUM_END_DECLS

#endif
