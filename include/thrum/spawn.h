/*
 * thrum/spawn.h: spawned tasks. They may block, be named, be joined, and keep values of their own.
 *
 * What happened before the spawn is visible to the task; what the task did is visible to whoever
 * joined it.
 */
#ifndef THRUM_SPAWN_H
#define THRUM_SPAWN_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* Flags of an attr. */
#define THRUM_PINNED                                                                               \
    1u /* never leaves its worker: the one named, else the one that spawns it, else                \
          (from outside) the one that runs it first */
#define THRUM_NEXT                                                                                 \
    2u /* a hint: run it next on this worker, before what is queued; without effect                \
          from outside */

/*
 * The longest name that is kept, in bytes; longer ones are cut, between two characters of UTF-8.
 * Where names are printed, in reports, dumps, metrics and traces, what is a control or no character
 * of UTF-8 stands as '?'.
 */
#define THRUM_NAME_MAX 31

typedef struct thrum_attr {
    size_t size;        /* sizeof(thrum_attr); set by the init */
    thrum_sched *sched; /* where to run; NULL: the caller's own scheduler */
    const char *name;   /* for reports; copied; NULL: none */
    unsigned flags;     /* THRUM_PINNED, THRUM_NEXT */
    int worker;         /* with THRUM_PINNED: its worker; -1: see there */
    size_t stack_size;  /* bytes; 0: the scheduler's; rounded up as in thrum_config */
} thrum_attr;

/* clang-format off */
#define THRUM_ATTR_INIT { sizeof(thrum_attr), NULL, NULL, 0, -1, 0 }
/* clang-format on */

/* Sets the defaults: the values of THRUM_ATTR_INIT. Any thread; never suspends. */
THRUM_API void thrum_attr_init(thrum_attr *attr);

/*
 * Starts `fn(arg)` as a detached task. `attr` may be NULL and is not kept.
 * Without a scheduler in the attr: tasks and bound threads only, else -ESRCH; with one: any thread.
 * Never suspends. Errors, with nothing started: -EINVAL, -ENOMEM, -ESRCH, -ESHUTDOWN (from outside,
 * while it stops).
 */
THRUM_API int thrum_go(thrum_fn fn, void *arg);
THRUM_API int thrum_go_with(const thrum_attr *attr, thrum_fn fn, void *arg);

/* The same, joinable: `*out` must be given to thrum_join or thrum_detach exactly once. */
THRUM_API THRUM_NODISCARD int thrum_spawn(thrum_handle **out, thrum_fn fn, void *arg);
THRUM_API THRUM_NODISCARD int thrum_spawn_with(thrum_handle **out, const thrum_attr *attr,
                                               thrum_fn fn, void *arg);

/*
 * Waits for the task and frees the handle. `*result` (may be NULL) gets what its function returned.
 * Any thread, also after its scheduler has stopped; may suspend. Returns the joiner's own fate: 0;
 * -EDEADLK for a task that would join itself, -ECANCELED when it is cancelled, with the handle
 * kept. Joining twice aborts.
 */
THRUM_API THRUM_NODISCARD int thrum_join(thrum_handle *handle, int *result);
/*
 * The same until the deadline: -ETIMEDOUT, and the handle stays the caller's, to be joined again or
 * detached.
 */
THRUM_API THRUM_NODISCARD int thrum_join_until(thrum_handle *handle, int *result,
                                               thrum_time deadline);

/* Gives the handle up: the task goes on and its result is dropped. Any thread; never suspends. */
THRUM_API int thrum_detach(thrum_handle *handle);

/*
 * Cancels the task: each of its calls that would suspend returns -ECANCELED, the one that it is in
 * now and all that come, having taken nothing; so do those of the scopes that it has open. Calls
 * that need not suspend still succeed. Locking a mutex, joining a scope and a blocking call that
 * has begun are not cut short. A body that has not begun still runs. The handle is still to be
 * joined or detached; cancelling one that has ended is without effect. Any thread. Never waits; a
 * task lets others run after every 256 children in those scopes that it has woken, as by
 * thrum_yield. 0.
 */
THRUM_API int thrum_cancel(thrum_handle *handle);

/*
 * Whether the running task is cancelled, by thrum_cancel, its scope, thrum_with_deadline or a stop;
 * past the deadline of one of these also where no worker was free to see it. Never suspends.
 */
THRUM_API bool thrum_cancelled(void);

/*
 * Between the two the running task's waits are not cancelled: for cleaning up. They nest; an end
 * too many aborts; the task's end ends all. Off a task: without effect. Never suspends.
 */
THRUM_API void thrum_shield_begin(void);
THRUM_API void thrum_shield_end(void);

/*
 * Lets what is queued now run before the caller goes on. There is one kind of yield; what it lets
 * pass is the policy's:
 *   - sharded: all that its worker has queued, fibers that yielded before included, and up to 256
 *     of what the shared queue holds. What other workers have queued they run themselves; a worker
 *     whose fibers only poll takes over what waits behind a long task there.
 *   - global, fifo: all that is queued, by whomever: the caller goes to the end, like a post. On
 *     fifo it is seen there once the up to 8 short runs that its worker has claimed are over.
 *   - without workers: all that is queued for the calling thread.
 * Pinned tasks likewise let pass what their worker has, and take turns with one another. With
 * nothing to be let pass it returns at once. It does not wait for deadlines, nor for what other
 * workers run. Tasks suspend; a plain thread gives its time slice away.
 */
THRUM_API void thrum_yield(void);

/*
 * Sleeps until the instant, or for so long; in the past: returns at once. Late by what the machine
 * makes it late, never early. Tasks suspend, a plain thread sleeps. 0, or -ECANCELED: the task is
 * cancelled, and the instant may not have come.
 */
THRUM_API THRUM_NODISCARD int thrum_sleep_until(thrum_time when);
THRUM_API THRUM_NODISCARD int thrum_sleep(thrum_time ns);

/*
 * The name of the running task: "" when it has none, NULL off a task. Valid until the task ends or
 * is renamed. thrum_set_name copies; -ESRCH off a task. Tasks; never suspends.
 */
THRUM_API const char *thrum_name(void);
THRUM_API int thrum_set_name(const char *name);

/* ---- values of a task's own ---- */

typedef struct thrum_key {
    uint32_t index;
} thrum_key;

/* The most keys that can exist at a time. */
#define THRUM_KEYS_MAX 64

/*
 * Makes a key. Every task (and every plain thread) begins with NULL under it. At a task's end
 * `destructor` (may be NULL) gets each value that is not NULL, on the task's fiber, where it may
 * suspend; a plain thread's values are not destroyed. -EAGAIN when THRUM_KEYS_MAX exist.
 * Any thread; never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_key_create(thrum_key *key, void (*destructor)(void *value));

/*
 * Ends a key without calling destructors; its values are forgotten. -EINVAL for none of ours.
 * No other call may use the key meanwhile.
 */
THRUM_API int thrum_key_delete(thrum_key key);

/* The running task's value (or the plain thread's), NULL if none. Any thread; never suspends. */
THRUM_API void *thrum_key_get(thrum_key key);

/* Sets it. -EINVAL for a key that does not exist, -ENOMEM. Any thread; never suspends. */
THRUM_API THRUM_NODISCARD int thrum_key_set(thrum_key key, void *value);

THRUM_END_DECLS

#endif
