/*
 * await.h: waits that no stack waits in: a waiter on a primitive's list whose waker makes a task
 * due (core/wait/WAITING.md, "Waits of tasks").
 */
#ifndef TH_AWAIT_H
#define TH_AWAIT_H

#include "core/wait/wait.h"
#include "thrum/await.h"

/* The inside of a thrum_await. */
typedef struct th_await {
    th_waiter waiter; /* `object` is the task; timed, and of no fiber */
    union {
        struct { /* these two, and the status, as in a channel's parked operation (sync/chan.h) */
            const void *from;
            void *to;
        };
        uint64_t self; /* of a lock: the owner that a hand-over writes, which is nobody yet */
        struct {       /* of a pool: as in its borrower (sync/pool.c) */
            void **items;
            size_t n;
        };
    };
    int status;
    void *object; /* the object waited for */
    const th_wait_kind *kind;
} th_await;
_Static_assert(sizeof(th_await) <= sizeof(thrum_await), "the public struct has room");

/*
 * Makes the waiter, before it is put on a list. 0, or a code: the task cannot be posted, or the
 * caller has no scheduler.
 */
int th_await_init(thrum_await *await, thrum_task *task, const th_wait_kind *kind, void *object);

/*
 * Posts the task once the waiter is on its list and the list is unlocked. 0: all may be gone. 1: it
 * was woken, with `status`, and the task was not posted. A code: the wait has ended, off its list.
 */
int th_await_post(thrum_await *await, thrum_time deadline);

/* Takes the object, or queues it and posts the task. 1, 0 or a code, as above. */
int th_await_standing(thrum_await *await, thrum_time deadline);

/* The whole beginning of a wait: as a thrum_..._on_until returns. */
int th_await_on(const th_wait_kind *kind, void *object, thrum_await *await, thrum_task *task,
                thrum_time deadline);

static inline th_await *th_await_of(thrum_await *await) {
    return (th_await *)(void *)await;
}

#endif
