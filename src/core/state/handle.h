/*
 * handle.h: what the scheduler keeps of a task until it runs, or until it was joined.
 */
#ifndef TH_HANDLE_H
#define TH_HANDLE_H

#include <stdalign.h>
#include "core/state/fiber_state.h"
#include "core/state/lock.h"
#include "core/state/slab.h"
#include "queue/work.h"
#include "thrum/base.h"

/* A task of thrum_go: its function and its argument. Given back to the slab before the body begins.
 */
typedef struct th_go {
    th_work work; /* kind TH_WORK_GO */
    thrum_fn fn;
    void *arg;
} th_go;
_Static_assert(sizeof(th_go) == 32, "two to a cache line");

/*
 * A task with attributes, or with a handle: then it lives on until it has ended and was joined or
 * detached, whichever comes last. xjoin decides between the two:
 *
 *   0          runs, nobody has asked
 *   a waiter   runs, somebody waits for it
 *   DONE       has ended; `result` is there
 *   DETACHED   runs, nobody will ask
 *   FREE       is none any more: using it again is misuse, as long as the slot is not reused
 */
struct thrum_handle {
    alignas(16) th_work work; /* kind TH_WORK_SPAWN */
    thrum_fn fn;
    void *arg;
    th_slab *slab;   /* constant: where it came from */
    uintptr_t xjoin; /* see above */
    int result;      /* written by the task's end, before DONE */
    uint8_t stack_class;
    bool pinned;                      /* stays on the worker that runs it first */
    bool can_order;                   /* constant: th_os_barrier works (cancel.h) */
    uint32_t xcancelled;              /* TH_CANCEL_ON: its waits are cancelled (cancel.h) */
    th_fiber *xfiber;                 /* who runs its body */
    struct th_family *family;         /* constant: whose child it is, or NULL (family.h) */
    struct thrum_handle *family_next; /* its siblings; under the family's lock */
    struct thrum_handle *family_prev;
    th_lock helpers_lock; /* protects the next one */
    th_fiber *helpers;    /* who makes calls for it, and has waited (helper.h) */
    char name[THRUM_NAME_MAX + 1];
};
_Static_assert(sizeof(struct thrum_handle) % 16 == 0, "an object of a slab");

#define TH_CANCEL_ON 1u
#define TH_CANCEL_NESTED 2u /* it is a th_part: what is around it may be cancelled, too */

/*
 * A part of a task's run that can be cancelled by itself, in the frame of the run
 * (th_family_enter).
 */
typedef struct th_part {
    thrum_handle handle;
    thrum_handle *outer; /* constant: what it is a part of: a task, another part, or NULL */
} th_part;

static inline const th_part *th_part_of(const thrum_handle *handle) {
    return (const th_part *)(const void *)handle; /* its first member */
}

#define TH_JOIN_RUNNING ((uintptr_t)0)
#define TH_JOIN_DONE ((uintptr_t)1)
#define TH_JOIN_DETACHED ((uintptr_t)2)
#define TH_JOIN_FREE ((uintptr_t)3)

#endif
