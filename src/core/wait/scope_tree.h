/*
 * scope_tree.h: tasks that one task has started and waits for, to be cancelled together: the inside
 * of a scope. core/wait/WAITING.md, "Scopes", has the argument.
 *
 * A scope lies in the frame of the task that opened it, and is on that task's list of open ones
 * (`xscopes`) until all its children have ended. Its children may open scopes of their own, so
 * a cancel goes down a tree, level by level.
 */
#ifndef TH_SCOPE_TREE_H
#define TH_SCOPE_TREE_H

#include "core/state/fiber_state.h"
#include "core/state/handle.h"
#include "core/basis/lock.h"
#include "core/basis/waiter_state.h"

typedef struct th_scope {
    thrum_sched *sched;      /* constant: the scheduler on which its children run */
    th_fiber *owner;         /* constant: the fiber on whose list it is; NULL: a plain thread */
    struct th_scope *outer;  /* constant: the next on that list */
    struct th_scope *parent; /* constant: the scope that its owner is a child of, or NULL */
    int64_t inherited;       /* constant: the deadline that the owner had before */
    int64_t deadline;        /* constant: the earlier of that and its own */

    th_lock lock;           /* protects all that follows */
    int first;              /* 0, or the first failure: a child's code, -ECANCELED, -ETIMEDOUT */
    size_t living;          /* children that have not ended */
    size_t timers;          /* 1 while its timer has not ended, else 0 */
    thrum_handle *children; /* list of the living children */
    thrum_handle *cursor;   /* the next child for a cancel, or NULL: it has reached all */
    th_waiter *waiter;      /* the owner, while it waits */
    const size_t *awaited;  /* the count that must become 0 for it to go on; NULL: a result */
    thrum_handle *ended;    /* the newest child with a result, of a ring through scope_next */

    /* Used by cancels, under th_cancel_lock. */
    struct th_scope *next;  /* the next on the list of a cancel that has not reached it yet */
    struct th_scope **link; /* the pointer to it on that list, or NULL: it is on none */
    bool visited;           /* all below is or will be cancelled; new children are born so */
    bool cancelled;         /* with `lock`: `first` is set, new children are born cancelled */

    bool timed;       /* constant: it has a timer (scope.c) */
    bool closed;      /* for calls that come too late; by the owner, when all children have ended */
    uint32_t results; /* with `lock`: results to be taken, also of children that have not ended */
} th_scope;

/*
 * Opens a scope for the caller, a task; or for a plain thread, whose children then run on `sched`.
 * The memory is the caller's. Past its deadline it is cancelled from the start. Returns whether it
 * needs a timer: it needs none if it has no deadline, is late already, or is cancelled with its
 * parent no later than that.
 */
bool th_scope_open(th_scope *scope, thrum_sched *sched, int64_t deadline);

/* For `timers`: one more; and one less, which is the caller's last access to the scope. */
void th_scope_count(th_scope *scope, size_t *count);
void th_scope_leave(th_scope *scope, size_t *count);

/* By the owner: waits until the count (`living`, `timers`) is 0; returns `first` as it was then. */
int th_scope_wait(th_scope *scope, const size_t *count);

/*
 * Results of children (th_scope_spawn), in the order in which they end. Only the owner takes them,
 * so there is one waiter at most (WAITING.md, "Results").
 */

/*
 * Ends the program if the caller has not opened the scope, or has closed it. False: in a forked
 * process, where the children are the parent's.
 */
bool th_scope_is_mine(const th_scope *scope, const char *call);

/* The child that ended first, for th_handle_take, or NULL. */
thrum_handle *th_scope_take(th_scope *scope);
bool th_scope_has_result(th_scope *scope);

/* Waits for a result: 0, -ETIMEDOUT, -ECANCELED, or -ECHILD if no child will give one. */
int th_scope_wait_result(th_scope *scope, int64_t deadline);

/* For a select: puts a part down, unless a result is there (false), and takes it back. */
bool th_scope_stand(th_scope *scope, th_waiter *part);
void th_scope_take_back(th_scope *scope, th_waiter *part);

/* Whether the caller opened it, and has opened none since that is still open. */
bool th_scope_is_innermost(const th_scope *scope);

/* By the owner, when no child is left in it: takes it off the owner's list of open scopes. */
void th_scope_close(th_scope *scope);

/*
 * Cancels the scope for this reason (negative; an earlier one stays) and all that is below it.
 * From any thread, while it is open. The first lets other fibers run after every TH_CANCEL_MAX
 * children; the second never suspends.
 */
void th_scope_cancel(th_scope *scope, int why);
void th_scope_cancel_here(th_scope *scope, int why);

/*
 * Between the two calls the owner itself is a child of its innermost scope, and its waits are
 * cancelled with it. The part lies in the owner's frame.
 */
void th_scope_enter(th_scope *scope, th_part *part);
void th_scope_exit(th_part *part);

/*
 * Whether the deadline has passed of the scope that the fiber's task is a child of. If so, cancels
 * the outermost scope above it whose deadline has passed too, unless that has happened. Called by
 * the fiber itself.
 */
bool th_scope_is_late(const th_fiber *fiber);

/* From spawn.c: a child is about to be queued; a child has ended, its last access to the scope. */
void th_scope_child_begins(th_scope *scope, thrum_handle *handle);
void th_scope_child_ended(thrum_handle *handle, int result);

/* Cancels a task that has not ended, and the scopes below it. With th_cancel_lock. */
void th_scope_cancel_task(thrum_handle *handle, bool can_order);

#endif
