/*
 * family.h: tasks that one task has started and waits for, to be cancelled together: the inside of
 * a scope. core/wait/WAITING.md, "Families", has the argument.
 *
 * A family lies in the frame of the task that opened it, and is on that task's list of open ones
 * (`xfamilies`) until all its children have ended. Its children may open families of their own: so
 * who cancels it goes down a tree, level by level.
 */
#ifndef TH_FAMILY_H
#define TH_FAMILY_H

#include "core/state/fiber_state.h"
#include "core/state/handle.h"
#include "core/state/lock.h"
#include "core/state/waiter_state.h"

typedef struct th_family {
    thrum_sched *sched;       /* constant: where its children run */
    th_fiber *owner;          /* constant: whose list it is on, or NULL (a plain thread) */
    struct th_family *outer;  /* constant: the next on that list */
    struct th_family *parent; /* constant: the one that its owner is a child of, or NULL */
    int64_t inherited;        /* constant: what the owner had to keep to before */
    int64_t deadline;         /* constant: the earliest of that and its own */

    th_lock lock;           /* protects all that follows */
    int first;              /* 0, or why it failed: a child's code, -ECANCELED, -ETIMEDOUT */
    size_t living;          /* children that have not ended */
    size_t timers;          /* 1: its timer has not */
    thrum_handle *children; /* the living ones */
    thrum_handle *cursor;   /* the next that a cancel comes to, or NULL: it has seen all */
    th_waiter *waiter;      /* the owner, while it waits until ... */
    const size_t *awaited;  /* ... this is 0 */

    /* A cancel's, under th_cancel_lock. */
    struct th_family *next;  /* on a list of families that a cancel has to come to, or ... */
    struct th_family **link; /* ... NULL: on none; else what points to it there */
    bool visited;            /* all below it is cancelled, or will be, and what comes is born so */
    bool cancelled;          /* with `lock`: `first` is set, new children are born cancelled */
} th_family;

/*
 * Opens one for the caller, a task; or for a plain thread, whose children then run on `sched`.
 * Its memory is the caller's. Past its deadline it is cancelled from the start. Returns whether it
 * needs a timer: else nothing is to come, or what is around it is cancelled then.
 */
bool th_family_open(th_family *family, thrum_sched *sched, int64_t deadline);

/* For `timers`: one more; one less, which is the last access of who leaves. */
void th_family_count(th_family *family, size_t *count);
void th_family_leave(th_family *family, size_t *count);

/* The owner: waits until the count (`living`, `timers`) is 0; returns `first` as it was then. */
int th_family_wait(th_family *family, const size_t *count);

/* Whether the caller opened it, and nothing since that is open still. */
bool th_family_is_innermost(const th_family *family);

/* The owner: takes it off its list of open ones, when nobody is left in it. */
void th_family_close(th_family *family);

/*
 * Cancels it, for this reason (negative) unless there was one before, and what is below it. Any
 * thread, while it is open. The first lets others run after every TH_CANCEL_MAX children; the
 * second never suspends.
 */
void th_family_cancel(th_family *family, int why);
void th_family_cancel_here(th_family *family, int why);

/*
 * The owner itself is a child of its innermost family, between the two: its waits are cancelled
 * with that. The part lies in the owner's frame.
 */
void th_family_enter(th_family *family, th_part *part);
void th_family_exit(th_part *part);

/*
 * Whether the deadline has passed of the family that the fiber's task is a child of. Then the
 * outermost one above it of which that is true is cancelled, if nobody else has. The fiber's own.
 */
bool th_family_is_late(const th_fiber *fiber);

/* From spawn.c: a child is about to be queued; it has ended: its last access to the family. */
void th_family_child_begins(th_family *family, thrum_handle *handle);
void th_family_child_ended(thrum_handle *handle, int result);

/* Cancels a task that has not ended, and the families below it. With th_cancel_lock. */
void th_family_cancel_task(thrum_handle *handle, bool can_order);

#endif
