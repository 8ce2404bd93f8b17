/*
 * edge.h: the owner that one wait depends on, if there is a single known one. These are the edges
 * in which cycle.h searches for cycles. core/report/CYCLES.md has the argument.
 */
#ifndef TH_EDGE_H
#define TH_EDGE_H

#include "core/fiber/stack.h"
#include "core/basis/waiter_state.h"
#include "core/state/worker.h"

/*
 * A wait that neither a deadline nor a cancel under way will end, of a fiber or a bound thread. One
 * of `holder`, `runner` and the scope is what it depends on, by `on`.
 */
typedef struct th_edge {
    const th_fiber *fiber; /* a bound thread: its home; NULL: a plain thread */
    const th_waiter *waiter;
    uint64_t id;            /* the waiter's number as an owner (th_self_id) */
    uint64_t tick;          /* the tick of its worker at which the wait began; a plain thread's: the
                               number of its waits */
    th_on on;               /* a mutex, a rwlock, a once, a task's end, or a scope */
    const void *object;     /* the thing; not to be dereferenced */
    uint64_t holder;        /* the number of the thing's owner, or 0 */
    const th_fiber *runner; /* of a wait for a task's end: the fiber on which it runs, or NULL */
    const void *child_of;   /* the scope of which the waiter's own task is a child, or NULL */
    bool can_cancel;        /* thrum_cancel would end the wait */
} th_edge;

/*
 * Finds the dependency of the fiber's wait; false: it is in no such wait. With th_cancel_lock,
 * between the beginning and the end of a snapshot that holds fibers (th_snapshot.held).
 */
bool th_edge_see(const th_fiber *fiber, th_edge *out);

/*
 * The same for a plain thread that waits for an object with an owner (th_on_has_owner). With
 * th_cancel_lock, taken by th_cancel_hold; until that is given up, the thread does not return from
 * the wait that was found. With th_external_lock, so that the thread's record is there.
 */
bool th_edge_see_thread(const th_thread *thread, th_edge *out);

/*
 * The plain thread with that number (th_self_id), if it has a record with the scheduler, or NULL.
 * With th_external_lock, as long as which the thread lives.
 */
const th_thread *th_edge_thread(const thrum_sched *sched, uint64_t id);

/* Both: the dependency of that thread's wait; false: it is in no such wait. With th_cancel_lock. */
bool th_edge_see_id(const thrum_sched *sched, uint64_t id, th_edge *out);

/* Whether only the task or thread of `b`, a different one, can end the wait of `a`. */
bool th_edge_leads(const th_edge *a, const th_edge *b);

#endif
