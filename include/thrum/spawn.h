/*
 * thrum/spawn.h: spawned tasks, which run a function. A task may block, be named, joined and
 * cancelled, and keep values of its own.
 *
 * A task needs a stack of its own only once it blocks. The writes before a spawn are visible to the
 * task, and those of the task are visible after its join.
 */
#ifndef THRUM_SPAWN_H
#define THRUM_SPAWN_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * A flag of thrum_attr: the task never leaves its worker. That is the worker that the attr names,
 * else that of the caller, else, if the caller is external, the one that runs it first. If another
 * task holds that worker up, the task waits: no spare worker takes over for it.
 */
#define THRUM_PINNED 1u

/*
 * A flag of thrum_attr, a hint: the task runs next on the caller's worker, before the queued tasks.
 * It has no effect if the caller is external, or for a task of high or low priority.
 */
#define THRUM_NEXT 2u

/*
 * The longest name that is kept, in bytes; longer ones are cut, between two characters of UTF-8.
 * Reports, dumps, metrics and traces print '?' for a control character and for bytes that are no
 * character of UTF-8.
 */
#define THRUM_NAME_MAX 31

/* How a task is started, in the caller's memory; made by THRUM_ATTR_INIT or thrum_attr_init. */
typedef struct thrum_attr {
    size_t size;        /* sizeof(thrum_attr); the init sets it */
    thrum_sched *sched; /* the task's scheduler; NULL: the caller's own */
    const char *name;   /* the task's name in reports; copied; NULL: none */
    unsigned flags;     /* THRUM_PINNED, THRUM_NEXT, and one of THRUM_HIGH, THRUM_NORMAL and
                           THRUM_LOW. Without one of these the task inherits the caller's priority
                           if both have the same scheduler, else it is normal */
    int worker;         /* the worker, with THRUM_PINNED; -1: none is named. A number below
                           thrum_sched_parallelism, or of a spare that has taken part already */
    size_t stack_size;  /* bytes of stack; 0: the scheduler's; rounded up as in thrum_config */
} thrum_attr;

/*
 * Sets the defaults. THRUM_ATTR_INIT is the same as an initializer.
 *
 * Parameters:
 *   attr  the memory of the attributes
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_attr attr = THRUM_ATTR_INIT;
 *    attr.sched = sched;
 *    attr.name = "reader";
 *    int err = thrum_go_with(&attr, read_all, NULL);
 * See also: thrum_go_with, thrum_spawn_with
 */
/* clang-format off */
#define THRUM_ATTR_INIT { sizeof(thrum_attr), NULL, NULL, 0, -1, 0 }
/* clang-format on */
THRUM_API void thrum_attr_init(thrum_attr *attr);

/*
 * Starts `fn(arg)` as a detached task, whose result is dropped.
 *
 * Parameters:
 *   attr  thrum_go_with only: how the task is started; not kept; NULL is the defaults
 *   fn    the task's function
 *   arg   its argument
 * Returns: 0, or a negative error code; nothing is started then.
 * Errors:
 *   -EINVAL     fn is NULL, or the attr has a wrong size, an unknown flag, two priorities, a worker
 *               that has never taken part, or more than 64 MiB of stack
 *   -ENOMEM     there is no memory, or 16,384 tasks wait for memory for a stack; a few hundred more
 *               may then be started from memory at hand
 *   -ESRCH      the caller is a plain thread, and the attr names no scheduler
 *   -ESHUTDOWN  the scheduler stops or has been stopped, and the caller is external; or it is the
 *               scheduler of a fork's parent
 * Context: any thread if the attr names a scheduler, else a task or a bound thread; never suspends.
 * Ordering: the writes before this call are visible to the task.
 * Example: examples/event.c
 * See also: thrum_spawn, thrum_scope_go
 */
THRUM_API THRUM_NODISCARD int thrum_go(thrum_fn fn, void *arg);
THRUM_API THRUM_NODISCARD int thrum_go_with(const thrum_attr *attr, thrum_fn fn, void *arg);

/*
 * Starts `fn(arg)` as a task that can be joined.
 *
 * The caller owns the handle, and must give it to thrum_join or thrum_detach exactly once. It
 * outlives the scheduler.
 *
 * Parameters:
 *   out   gets the handle of the task
 *   attr  thrum_spawn_with only: how the task is started; not kept; NULL is the defaults
 *   fn    the task's function
 *   arg   its argument
 * Returns: 0, or a negative error code; nothing is started then.
 * Errors:
 *   -EINVAL     out or fn is NULL, or the attr has a wrong size, an unknown flag, two priorities, a
 *               worker that has never taken part, or more than 64 MiB of stack
 *   -ENOMEM     there is no memory, or 16,384 tasks wait for memory for a stack; a few hundred more
 *               may then be started from memory at hand
 *   -ESRCH      the caller is a plain thread, and the attr names no scheduler
 *   -ESHUTDOWN  the scheduler stops or has been stopped, and the caller is external; or it is the
 *               scheduler of a fork's parent
 * Context: any thread if the attr names a scheduler, else a task or a bound thread; never suspends.
 * Ordering: the writes before this call are visible to the task.
 * Misuse: the handle is used after its join or detach, also if a later task has its memory by then.
 *   It goes unnoticed if that is the 65,536th later task there (on 32-bit systems the 8th), or if
 *   the memory has gone back to the system. After the scheduler's end such a use may crash.
 * Example: examples/spawn_join.c
 * See also: thrum_join, thrum_detach, thrum_go
 */
THRUM_API THRUM_NODISCARD int thrum_spawn(thrum_handle **out, thrum_fn fn, void *arg);
THRUM_API THRUM_NODISCARD int thrum_spawn_with(thrum_handle **out, const thrum_attr *attr,
                                               thrum_fn fn, void *arg);

/*
 * Waits for the task, and frees the handle. thrum_join_until gives up at the deadline.
 *
 * Parameters:
 *   handle    the task, also one whose scheduler has stopped
 *   result    gets the value that the task's function returned; may be NULL
 *   deadline  thrum_join_until only: when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code; the handle is then still the caller's, to be joined again
 *   or detached.
 * Errors:
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -EDEADLK    the task is the caller
 *   -EINVAL     handle is NULL
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): the task is the parent's and had not ended,
 *               or no thread is left that could end it
 * Context: any thread; may suspend; cancellable.
 * Ordering: the writes of the task are visible after a call that returned 0.
 * Misuse: the handle was joined or detached before.
 * Example: examples/spawn_join.c
 * See also: thrum_spawn, thrum_detach, thrum_cancel
 */
THRUM_API THRUM_NODISCARD int thrum_join(thrum_handle *handle, int *result);
THRUM_API THRUM_NODISCARD int thrum_join_until(thrum_handle *handle, int *result,
                                               thrum_time deadline);

/*
 * Gives up the handle: the task goes on, and its result is dropped.
 *
 * Parameters:
 *   handle  the task
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL  handle is NULL
 * Context: any thread; never suspends.
 * Ordering: none.
 * Misuse: the handle was joined or detached before.
 * See also: thrum_join
 */
THRUM_API int thrum_detach(thrum_handle *handle);

/*
 * Cancels the task. Each of its waits returns -ECANCELED, the present one and all later ones, and
 * has taken nothing. So do the waits in the scopes that it has open. Calls that need not wait still
 * succeed. A task that has not begun still runs. If the task has ended, the call has no effect.
 *
 * A cancel does not end locking a mutex or a rwlock, waiting for a once, joining a scope or a fork,
 * or running a graph. Nor does it end stopping another scheduler or waiting for it, or a blocking
 * call that has begun.
 *
 * Parameters:
 *   handle  the task; it remains the caller's, to be joined or detached
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL  handle is NULL
 * Context: any thread that may use the handle; may suspend; not cancellable. It does not wait for
 *   the task. A task that calls it lets others run, as by thrum_yield, after every 256 children in
 *   those scopes that it has woken.
 * Ordering: the writes before this call are visible when thrum_cancelled returns true in the task.
 * Misuse: the handle was joined or detached before.
 * Example: examples/jobs.c
 * See also: thrum_cancelled, thrum_scope_cancel, thrum_shield_begin
 */
THRUM_API int thrum_cancel(thrum_handle *handle);

/*
 * Returns whether the caller is cancelled, by thrum_cancel, its scope, thrum_with_deadline or a
 * stop. Past the deadline of a scope or of thrum_with_deadline it returns true also if no worker
 * was free to notice the deadline.
 *
 * Returns: true if the caller is cancelled; false on a plain thread.
 * Context: any thread; never suspends.
 * Ordering: the writes before the call that cancelled the caller are visible after a call that
 *   returned true.
 * Example: examples/with_deadline.c
 * See also: thrum_cancel, thrum_deadline
 */
THRUM_API bool thrum_cancelled(void);

/*
 * Between thrum_shield_begin and thrum_shield_end a cancel does not end the caller's waits, so that
 * it can clean up. Pairs nest, and the task's end ends all of them. On a plain thread the calls
 * have no effect.
 *
 * Context: any thread; never suspends.
 * Ordering: none.
 * Misuse: an end without a beginning.
 * Example:
 *    thrum_shield_begin();
 *    int err = thrum_chan_send(results, &last); // also if the task is cancelled
 *    thrum_shield_end();
 * See also: thrum_cancel
 */
THRUM_API void thrum_shield_begin(void);
THRUM_API void thrum_shield_end(void);

/*
 * Lets the tasks that are queued now run before the caller continues. If there are none, it returns
 * at once. It does not wait for deadlines, nor for tasks that other workers run.
 *
 * There is one kind of yield. The policy decides which tasks run first:
 *   - sharded: all that the caller's worker has queued, also tasks that yielded before, and up to
 *     256 tasks of the inject queue. Other workers run their own queues; a worker whose tasks only
 *     poll takes over work that waits behind a long task there.
 *   - global, fifo: all that is queued, wherever it came from. The caller goes to the end, like a
 *     post. With fifo it is there once the up to 8 short runs that its worker has taken are over.
 *   - without workers: all that the calling thread has queued, and up to 256 tasks that other
 *     threads have posted.
 * A pinned task likewise lets the tasks of its worker run, and takes turns with other pinned ones.
 *
 * Context: any thread; may suspend; not cancellable. A plain thread gives up its time slice.
 * Ordering: none.
 * Example: examples/uts.c
 */
THRUM_API void thrum_yield(void);

/*
 * Sleeps until an instant, or for a time. For an instant in the past it returns at once. It never
 * returns early, and as late as the machine makes it.
 *
 * Parameters:
 *   when  the instant, from thrum_after
 *   ns    the time in ns, from THRUM_MS and the like
 * Returns: 0, or a negative error code; the instant may not have come then.
 * Errors:
 *   -ECANCELED  the caller was cancelled
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h), on the thread that forked
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_sleep(THRUM_MS(100));
 * See also: thrum_after, thrum_task_post_after
 */
THRUM_API THRUM_NODISCARD int thrum_sleep_until(thrum_time when);
THRUM_API THRUM_NODISCARD int thrum_sleep(thrum_time ns);

/*
 * thrum_name returns the name of the running task. thrum_set_name renames the task: it copies the
 * name, and keeps THRUM_NAME_MAX bytes of it.
 *
 * Parameters:
 *   name  the new name
 * Returns: thrum_name: the name, "" if the task has none, NULL outside a task; the text is the
 *   task's, until the task ends or is renamed. thrum_set_name: 0, or a negative error code.
 * Errors:
 *   -ESRCH      the caller is not a task
 *   -EINVAL     name is NULL
 *   -ESHUTDOWN  in the child of a fork: the caller was a task in the parent
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    char name[THRUM_NAME_MAX + 1];
 *    snprintf(name, sizeof name, "client %d", number);
 *    (void)thrum_set_name(name);
 * See also: thrum_attr
 */
THRUM_API const char *thrum_name(void);
THRUM_API int thrum_set_name(const char *name);

/*
 * Returns a number that identifies the caller: no other task or thread of the process ever has it.
 * A spawned task keeps its number from its beginning to its end, and a thread as long as it lives.
 * Each run of an intrusive task has its own. Dumps show the upper and the lower half of a number,
 * as in "fiber 3.17".
 *
 * Returns: the number, never 0.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    fprintf(log, "%llx: begins\n", (unsigned long long)thrum_self_id());
 * See also: thrum_name, thrum_key_get
 */
THRUM_API uint64_t thrum_self_id(void);

/* ---- values of a task's own ---- */

/* A key, under which each task and thread keeps a value of its own; thrum_key_create makes it. */
typedef struct thrum_key {
    uint32_t index; /* the library's; 0 is no key */
} thrum_key;

/* The most keys that can exist at a time. */
#define THRUM_KEYS_MAX 64

/*
 * Makes a key, for all tasks and threads of the process. Each of them begins with the value NULL.
 *
 * At a task's end the destructor gets each value that is not NULL. It runs on the task's stack, and
 * may suspend. It may set values again; these get at most three more rounds. The values of a plain
 * thread are not destroyed.
 *
 * Parameters:
 *   key         gets the key
 *   destructor  destroys a task's value; may be NULL
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EAGAIN  THRUM_KEYS_MAX keys exist
 *   -EINVAL  key is NULL
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/fiber_local.c
 * See also: thrum_key_set, thrum_key_delete
 */
THRUM_API THRUM_NODISCARD int thrum_key_create(thrum_key *key, void (*destructor)(void *value));

/*
 * Ends a key without calling destructors. Its values are forgotten.
 *
 * Parameters:
 *   key  the key, which no other call uses meanwhile
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL  the key does not exist
 * Context: any thread; never suspends.
 * Ordering: none.
 */
THRUM_API int thrum_key_delete(thrum_key key);

/*
 * Returns the value under the key, of the running task, or of the plain or bound thread.
 *
 * Parameters:
 *   key  the key
 * Returns: the value; NULL if there is none, or the key does not exist.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/fiber_local.c
 * See also: thrum_key_set
 */
THRUM_API void *thrum_key_get(thrum_key key);

/*
 * Sets the value under the key, of the running task, or of the plain or bound thread.
 *
 * Parameters:
 *   key    the key
 *   value  the value, which remains the program's
 * Returns: 0, or a negative error code; nothing is changed then.
 * Errors:
 *   -EINVAL  the key does not exist
 *   -ENOMEM  there is no memory
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/fiber_local.c
 * See also: thrum_key_get
 */
THRUM_API THRUM_NODISCARD int thrum_key_set(thrum_key key, void *value);

THRUM_END_DECLS

#endif
