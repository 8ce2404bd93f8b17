/*
 * handle.h: the object of a task, which lives until the task runs, or until it was joined.
 */
#ifndef TH_HANDLE_H
#define TH_HANDLE_H

#include <stdalign.h>
#include "base/atomic.h"
#include "base/check.h"
#include "core/state/fiber_state.h"
#include "core/basis/lock.h"
#include "core/state/slab.h"
#include "queue/work.h"
#include "thrum/base.h"

/* A task of thrum_go. It goes back to the slab before the body begins. */
typedef struct th_go {
    alignas(16) th_work work; /* kind TH_WORK_GO */
    thrum_fn fn;
    void *arg;
} th_go;
_Static_assert(sizeof(th_go) == 32, "two to a cache line");

/*
 * A task with attributes, or with a handle: then it lives on until it has ended and was joined or
 * detached, whichever comes last. xjoin decides between the two:
 *
 *   0          it runs, and no join has begun
 *   a waiter   it runs, and this waiter joins it
 *   DONE       it has ended; `result` is there
 *   DETACHED   no join will come; it stays so until its end frees it
 *   FREE       it is no longer a handle
 *
 * A caller's handle is the object's address together with its generation (th_handle_tag). The
 * generation counts how often the object was freed, and the slab leaves it alone: so an old handle
 * differs from that of a later task in the same memory.
 */
struct thrum_handle {
    alignas(16) th_work work; /* kind TH_WORK_SPAWN */
    thrum_fn fn;
    void *arg;
    th_slab *slab;        /* constant: the slab that it came from */
    uintptr_t xjoin;      /* see above */
    int result;           /* written by the task's end, before DONE */
    uint32_t xgeneration; /* see above */
    uint8_t stack_class;
    bool pinned;                     /* stays on the worker that runs it first */
    bool can_order;                  /* constant: th_os_barrier works (cancel.h) */
    uint32_t xcancelled;             /* TH_CANCEL_ON: its waits are cancelled (cancel.h) */
    th_fiber *xfiber;                /* the fiber that runs its body */
    struct th_scope *scope;          /* constant: the scope of which it is a child, or NULL */
    struct thrum_handle *scope_next; /* its siblings; under the scope's lock */
    struct thrum_handle *scope_prev;
    th_lock delegated_lock; /* protects `delegated` */
    th_fiber *delegated;    /* the fibers of its delegated calls that have waited (delegated.h) */
    char name[THRUM_NAME_MAX + 1];
};
_Static_assert(sizeof(struct thrum_handle) % 16 == 0, "an object of a slab");

/*
 * The place of the generation in a handle: above the 48 bits of an address, or, if addresses have
 * 32 bits, in the lowest three, which are 0 because malloc aligns to 8 at least (on ARM).
 */
#if UINTPTR_MAX <= 0xffffffff
#define TH_GENERATION_SHIFT 0
#define TH_GENERATION_MAX 7u
#else
#define TH_GENERATION_SHIFT 48
#define TH_GENERATION_MAX 0xffffu
#endif

/* The handle that the caller gets. */
static inline thrum_handle *th_handle_tag(thrum_handle *handle) {
    /* relaxed: the caller has the object to itself */
    uintptr_t generation = th_load_relaxed(&handle->xgeneration) & TH_GENERATION_MAX;
    return (thrum_handle *)((uintptr_t)handle | generation << TH_GENERATION_SHIFT);
}

/* The object of the caller's handle, which names the call if it was freed: misuse. */
static inline thrum_handle *th_handle_of(const char *call, thrum_handle *tagged) {
    const uintptr_t bits = (uintptr_t)TH_GENERATION_MAX << TH_GENERATION_SHIFT;
    thrum_handle *handle = (thrum_handle *)((uintptr_t)tagged & ~bits);
    /* relaxed: it changes only under a caller that misuses the handle */
    uintptr_t generation = th_load_relaxed(&handle->xgeneration) & TH_GENERATION_MAX;
    if (th_unlikely(generation != (((uintptr_t)tagged & bits) >> TH_GENERATION_SHIFT))) {
        th_misuse(call, "the handle was joined or detached before", handle);
    }
    return handle;
}

#define TH_CANCEL_ON 1u
#define TH_CANCEL_NESTED 2u /* it is a th_part: a part or a task around it may be cancelled, too */

/*
 * A part of a task's run that can be cancelled by itself. It lies in the frame of the run
 * (th_scope_enter).
 */
typedef struct th_part {
    thrum_handle handle;
    thrum_handle *outer; /* constant: the task or the part that it is a part of, or NULL */
} th_part;

static inline const th_part *th_part_of(const thrum_handle *handle) {
    return (const th_part *)(const void *)handle; /* its first member */
}

#define TH_JOIN_RUNNING ((uintptr_t)0)
#define TH_JOIN_DONE ((uintptr_t)1)
#define TH_JOIN_DETACHED ((uintptr_t)2)
#define TH_JOIN_FREE ((uintptr_t)3)

#endif
