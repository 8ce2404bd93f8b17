/*
 * family.h: tasks that one task has started and waits for, to be cancelled together: the inside of
 * a scope. core/WAITING.md, "Families", has the argument.
 *
 * A family lies in the frame of the task that opened it, and is on that task's list of open ones
 * (`xfamilies`) until all its children have ended. Its children may open families of their own: so
 * who cancels it goes down a tree, level by level.
 */
#ifndef TH_FAMILY_H
#define TH_FAMILY_H

#include "core/lock.h"
#include "core/run.h"
#include "core/wait.h"

typedef struct th_family {
    thrum_sched *sched;      /* constant: where its children run */
    th_fiber *owner;         /* constant: whose list it is on, or NULL (a plain thread) */
    struct th_family *outer; /* constant: the next on that list */
    int64_t inherited;       /* constant: what the owner had to keep to before */
    int64_t deadline;        /* constant: the earliest of that and its own */

    th_lock lock;           /* protects all that follows */
    int first;              /* 0, or why it failed: a child's code, -ECANCELED, -ETIMEDOUT */
    uint32_t cancelled;     /* 1: new children are born cancelled */
    size_t living;          /* children that have not ended */
    size_t timers;          /* 1: its timer has not */
    thrum_handle *children; /* the living ones */
    th_waiter *waiter;      /* the owner, while it waits for ... */
    const size_t *awaited;  /* ... this to be 0 */

    /* Who cancels, under th_cancel_lock. */
    struct th_family *next; /* on the same level of the tree */
    bool visited;           /* all below it is cancelled, and whatever comes will be born so */
} th_family;

/*
 * Opens one for the caller, a task; or for a plain thread, whose children then run on `sched`.
 * Its memory is the caller's.
 */
void th_family_open(th_family *family, thrum_sched *sched, int64_t deadline);

/* Starts a child (spawn.c). 0, -EINVAL, -ENOMEM, -ESHUTDOWN as thrum_go_with. */
int th_family_go(th_family *family, thrum_fn fn, void *arg);

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
 * thread, while it is open.
 */
void th_family_cancel(th_family *family, int why);

/* From spawn.c: a child is about to be queued; it has ended: its last access to the family. */
void th_family_child_begins(th_family *family, thrum_handle *handle);
void th_family_child_ended(thrum_handle *handle, int result);

/* Cancels a task that has not ended, and the families below it. With th_cancel_lock. */
void th_family_cancel_task(thrum_handle *handle, bool can_order);

/*
 * A stop cancels all of the scheduler, and so the families that the fiber has open: what is below
 * them it finds by itself. With th_cancel_lock, after th_cancel_order.
 */
void th_family_stopped(th_fiber *fiber);

#endif
