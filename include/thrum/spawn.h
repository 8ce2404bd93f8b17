/*
 * thrum/spawn.h: spawned tasks. They may block, be named, be joined, and keep values of their own.
 *
 * What happened before the spawn is visible to the task; what the task did is visible after the
 * join.
 */
#ifndef THRUM_SPAWN_H
#define THRUM_SPAWN_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* Flags of an attr. */

/*
 * The task never leaves its worker: the one that is named, else that of the caller, else, if the
 * caller is external, the one that runs it first. If another task holds that worker up it waits: no
 * spare worker takes over for it.
 */
#define THRUM_PINNED 1u
/*
 * A hint: the task runs next on the caller's worker, before what is queued. Without effect if the
 * caller is external.
 */
#define THRUM_NEXT 2u

/*
 * The longest name that is kept, in bytes; longer ones are cut, between two characters of UTF-8.
 * Where names are printed, in reports, dumps, metrics and traces, a control character, and what is
 * no character of UTF-8, stands as '?'.
 */
#define THRUM_NAME_MAX 31

/* How a task is started; THRUM_ATTR_INIT sets the defaults. */
typedef struct thrum_attr {
    size_t size;        /* sizeof(thrum_attr); set by the init */
    thrum_sched *sched; /* where the task runs; NULL: the caller's own scheduler */
    const char *name;   /* the task's name in reports; copied; NULL: none */
    unsigned flags;     /* THRUM_PINNED, THRUM_NEXT */
    int worker;         /* the worker, with THRUM_PINNED; -1: none is named. A number below
                           thrum_sched_parallelism, or of a spare that has taken part already */
    size_t stack_size;  /* bytes of stack; 0: the scheduler's; rounded up as in thrum_config */
} thrum_attr;

/* clang-format off */
#define THRUM_ATTR_INIT { sizeof(thrum_attr), NULL, NULL, 0, -1, 0 }
/* clang-format on */

/*
 * Sets the defaults, which are the values of THRUM_ATTR_INIT. Any thread may call it. It never
 * suspends and cannot fail.
 */
THRUM_API void thrum_attr_init(thrum_attr *attr);

/*
 * Starts `fn(arg)` as a detached task, whose result is dropped. `attr` may be NULL and is not kept.
 * With a scheduler in the attr any thread may call it, else tasks and bound threads only. It never
 * suspends. Errors, with nothing started: -EINVAL without `fn`, or for an attr that makes no sense
 * (its size, an unknown flag, a worker that has never taken part, more than 64 MiB of stack);
 * -ENOMEM, also while 16,384 tasks wait for memory for a stack (a few hundred more may be started
 * from memory at hand); -ESRCH when there is no scheduler to run it; -ESHUTDOWN for an external
 * caller while the scheduler stops.
 */
THRUM_API THRUM_NODISCARD int thrum_go(thrum_fn fn, void *arg);
THRUM_API THRUM_NODISCARD int thrum_go_with(const thrum_attr *attr, thrum_fn fn, void *arg);

/*
 * Starts a task that can be joined. `*out` is its handle, which the caller owns and must give to
 * thrum_join or thrum_detach exactly once; it outlives the scheduler. Callers and errors are those
 * of thrum_go, and -EINVAL when `out` is NULL. It never suspends.
 *
 * Using a handle after its join or detach aborts with one line, also if a later task has its memory
 * by then. It goes unnoticed if that is the 65,536th later task there (on 32-bit systems the 8th),
 * or if the memory has gone back to the system. After the scheduler's end such a use may crash.
 */
THRUM_API THRUM_NODISCARD int thrum_spawn(thrum_handle **out, thrum_fn fn, void *arg);
THRUM_API THRUM_NODISCARD int thrum_spawn_with(thrum_handle **out, const thrum_attr *attr,
                                               thrum_fn fn, void *arg);

/*
 * Waits for the task and frees the handle. `*result` (may be NULL) gets what its function returned,
 * and what the task wrote is visible. Any thread may call it, also after the task's scheduler has
 * stopped. It may suspend. It returns 0, or with the handle kept -EDEADLK when a task joins itself,
 * -ECANCELED when the caller is cancelled, and -EINVAL for NULL. Joining twice aborts.
 */
THRUM_API THRUM_NODISCARD int thrum_join(thrum_handle *handle, int *result);
/*
 * Does the same until the deadline. Past it, it returns -ETIMEDOUT, and the handle stays the
 * caller's, to be joined again or detached.
 */
THRUM_API THRUM_NODISCARD int thrum_join_until(thrum_handle *handle, int *result,
                                               thrum_time deadline);

/*
 * Gives the handle up: the task goes on and its result is dropped. Any thread may call it. It never
 * suspends. It returns 0, or -EINVAL for NULL. Detaching what was joined or detached aborts.
 */
THRUM_API int thrum_detach(thrum_handle *handle);

/*
 * Cancels the task: each of its waits returns -ECANCELED, the one that it is in now and all that
 * come, having taken nothing; so do those of the scopes that it has open. Calls that need not wait
 * still succeed. Not cut short are locking a mutex or a rwlock, waiting for a once, joining a scope
 * or a fork, running a graph, stopping another scheduler or waiting for it, and a blocking call
 * that has begun. A body that has not begun still runs.
 *
 * The handle stays the caller's, to be joined or detached. Cancelling a task that has ended is
 * without effect. Any thread that may use the handle may call it. It does not wait for the task,
 * but it may suspend: after every 256 children in those scopes that it has woken a task lets others
 * run, as by thrum_yield. It returns 0, or -EINVAL for NULL.
 */
THRUM_API int thrum_cancel(thrum_handle *handle);

/*
 * Returns whether the caller is cancelled, by thrum_cancel, its scope, thrum_with_deadline or a
 * stop; past the deadline of a scope or of thrum_with_deadline also where no worker was free to see
 * it. Where it is true the caller sees what who cancelled it had written before. Any thread may
 * call it; for a plain thread it is false. It never suspends and cannot fail.
 */
THRUM_API bool thrum_cancelled(void);

/*
 * Between the two calls the caller's waits are not cancelled, so that it can clean up. Pairs nest;
 * an end without a beginning aborts; the task's end ends all. Any thread may call them; on a plain
 * thread they are without effect. They never suspend.
 */
THRUM_API void thrum_shield_begin(void);
THRUM_API void thrum_shield_end(void);

/*
 * Lets what is queued now run before the caller goes on. There is one kind of yield; what it lets
 * pass is the policy's:
 *   - sharded: all that the caller's worker has queued, fibers that yielded before included, and up
 *     to 256 of what the inject queue holds. What other workers have queued they run themselves; a
 *     worker whose fibers only poll takes over what waits behind a long task there.
 *   - global, fifo: all that is queued, wherever it came from: the caller goes to the end, like a
 *     post. On fifo it is seen there once the up to 8 short runs that its worker has taken are
 *     over.
 *   - without workers: all that the calling thread has queued, and up to 256 tasks that other
 *     threads have posted.
 * Pinned tasks likewise let pass what their worker has, and take turns with one another. With
 * nothing to be let pass it returns at once. It does not wait for deadlines, nor for what other
 * workers run. Any thread may call it. Tasks suspend; a plain thread gives its time slice away. It
 * is not cancelled and cannot fail.
 */
THRUM_API void thrum_yield(void);

/*
 * Sleeps until the instant, or for so long; for an instant in the past it returns at once. It is
 * late by what the machine makes it late, never early. Any thread may call it. It may suspend. It
 * returns 0, or -ECANCELED when the caller is cancelled and the instant may not have come.
 */
THRUM_API THRUM_NODISCARD int thrum_sleep_until(thrum_time when);
THRUM_API THRUM_NODISCARD int thrum_sleep(thrum_time ns);

/*
 * thrum_name returns the name of the running task: "" when it has none, NULL off a task. The text
 * is the task's, valid until the task ends or is renamed. thrum_set_name copies the name, of which
 * it keeps THRUM_NAME_MAX bytes; it returns 0, -ESRCH off a task, or -EINVAL for NULL. Any thread
 * may call them. They never suspend.
 */
THRUM_API const char *thrum_name(void);
THRUM_API int thrum_set_name(const char *name);

/* ---- values of a task's own ---- */

/* A key under which each task and thread keeps a value of its own. */
typedef struct thrum_key {
    uint32_t index;
} thrum_key;

/* The most keys that can exist at a time. */
#define THRUM_KEYS_MAX 64

/*
 * Makes a key, for all tasks and threads of the program. Each of them begins with NULL under it. At
 * a task's end `destructor` (may be NULL) gets each value that is not NULL, on the task's fiber,
 * where it may suspend; it may set values again, which get at most three more rounds. A plain
 * thread's values are not destroyed. Any thread may call it. It never suspends. It returns 0,
 * -EAGAIN when THRUM_KEYS_MAX keys exist, or -EINVAL for NULL.
 */
THRUM_API THRUM_NODISCARD int thrum_key_create(thrum_key *key, void (*destructor)(void *value));

/*
 * Ends a key without calling destructors; its values are forgotten. Any thread may call it, while
 * no other call uses the key. It never suspends. It returns 0, or -EINVAL for a key that does not
 * exist.
 */
THRUM_API int thrum_key_delete(thrum_key key);

/*
 * Returns the running task's value under the key, or the plain or bound thread's, and NULL if there
 * is none. Any thread may call it. It never suspends and cannot fail.
 */
THRUM_API void *thrum_key_get(thrum_key key);

/*
 * Sets that value, which stays the program's. Any thread may call it. It never suspends. It returns
 * 0, or with nothing changed -EINVAL for a key that does not exist, and -ENOMEM.
 */
THRUM_API THRUM_NODISCARD int thrum_key_set(thrum_key key, void *value);

THRUM_END_DECLS

#endif
