/*
 * thrum/task.h: intrusive tasks. The program provides the memory of the task object, so posting one
 * allocates nothing. A posted task runs once. It may be posted to run at once, at a deadline, or
 * when it is woken or signaled. Its body may block.
 *
 * The object belongs to the scheduler from the post until its body begins. From then on it belongs
 * to the body, which may free it, reuse it, or post it again. The *owner* of a task is the code
 * that may post it: the program while it is neither posted nor running, and its body while that
 * runs.
 *
 * Posts may overlap with a run:
 *   - If a body posts its own task, the task runs again after the body has returned. The body must
 *     not free the task then.
 *   - A post by any other task or thread while the body runs is a run of its own, which may begin
 *     at once and overlap the present one. The poster must know that the body no longer uses the
 *     task, nor the data that belong to it.
 *   - No two runs of a serial task (thrum_task_set_serial) overlap, wherever the posts come from.
 */
#ifndef THRUM_TASK_H
#define THRUM_TASK_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* A task, in the memory of the program; made by thrum_task_init or THRUM_TASK_INIT. */
typedef struct thrum_task thrum_task;

/* The body of a task: it gets the task and the argument of thrum_task_init. */
typedef void (*thrum_task_fn)(thrum_task *self, void *arg);

/* The object of a task; all fields are the library's. */
struct thrum_task {
    void *reserved_link;       /* the queue's link */
    uint32_t reserved_kind;    /* the kind of work, for the queues */
    int32_t reserved_worker;   /* the worker's number; -1: any */
    thrum_task_fn reserved_fn; /* the body; set by the calls below */
    void *reserved_arg;        /* the body's argument */
    uint32_t reserved_mark;    /* whether it is posted */
    uint32_t reserved_word;    /* wakeups, signals and cancels that are pending */
#if UINTPTR_MAX == UINT32_MAX
    uint32_t reserved_pad; /* the next field is aligned alike on all processors of 32 bits */
#endif
    uint64_t reserved[4]; /* its place among the deadlines, while it waits */
};
THRUM_ABI_SIZE(thrum_task, 72, 64);

/*
 * The place in the queues for a task that a worker posts. For posts by external threads it has no
 * effect.
 */
typedef enum {
    THRUM_HINT_NONE, /* as the policy does by default */
    THRUM_HINT_NEXT, /* the task runs next on this worker */
    THRUM_HINT_YIELD /* at the end of the inject queue, behind all that this worker has queued */
} thrum_hint;

/*
 * Makes a task. THRUM_TASK_INIT is the same as an initializer, also for static variables. A task
 * needs no end: its memory may be reused while it is neither posted nor running.
 *
 * Parameters:
 *   task  the memory of the task, which is neither posted nor running
 *   fn    the body
 *   arg   the body's argument
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/mailbox.c
 * See also: thrum_task_post, thrum_task_set_serial
 */
/* clang-format off */
#if UINTPTR_MAX == UINT32_MAX
#define THRUM_TASK_INIT(fn, arg) { NULL, 1u, -1, (fn), (arg), 0, 0, 0, { 0, 0, 0, 0 } }
#else
#define THRUM_TASK_INIT(fn, arg) { NULL, 1u, -1, (fn), (arg), 0, 0, { 0, 0, 0, 0 } }
#endif
/* clang-format on */
THRUM_API void thrum_task_init(thrum_task *task, thrum_task_fn fn, void *arg);

/*
 * Gives the task another body, with its argument, for later runs.
 *
 * Parameters:
 *   task  the task
 *   fn    the body
 *   arg   the body's argument
 * Context: the owner of the task; never suspends.
 * Ordering: none.
 * Example: examples/stages.c
 */
THRUM_API void thrum_task_set_body(thrum_task *task, thrum_task_fn fn, void *arg);

/*
 * Ties later runs of the task to one worker. If no worker with this number has taken part, the post
 * returns -EINVAL.
 *
 * Parameters:
 *   task    the task
 *   worker  a number below thrum_sched_parallelism, or that of a spare that has taken part already;
 *           -1: any worker
 * Context: the owner of the task; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_task_set_worker(&task, 0);
 *    int err = thrum_task_post(sched, &task);
 */
THRUM_API void thrum_task_set_worker(thrum_task *task, int worker);

/*
 * Gives later posts of the task a priority. A task inherits none: it is normal until this call.
 * Tasks that its body spawns inherit its priority.
 *
 * Parameters:
 *   task      the task
 *   priority  THRUM_HIGH, THRUM_NORMAL or THRUM_LOW
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL  priority is another number
 * Context: the owner of the task; never suspends.
 * Ordering: none.
 * Example:
 *    int err = thrum_task_set_priority(&flush, THRUM_LOW);
 *    err = err ? err : thrum_task_post(sched, &flush);
 * See also: thrum_attr, thrum_task_post
 */
THRUM_API int thrum_task_set_priority(thrum_task *task, unsigned priority);

/*
 * Makes the task serial: from now on no two of its runs overlap, wherever the posts come from. A
 * post while its body runs, by any thread and to any scheduler, takes effect when that run is over;
 * a second one returns -EBUSY. A wakeup, signal, cancel or deadline that comes meanwhile holds for
 * the run that the post asks for. thrum_task_init undoes it.
 *
 * The body must not free the task, nor make it anew: the memory is needed until the run is over.
 * Only thrum_sched_wait_done, thrum_sched_wait_idle and a stop show that it is. A second post of a
 * serial task, or a cancel, is refused exactly, and not only as far as the call can see. A post and
 * its run cost three more locked instructions; four if the post meets a run.
 *
 * Parameters:
 *   task  the task, which is neither posted nor running
 * Context: the owner of the task; never suspends.
 * Ordering: the writes of a run are visible to the next run.
 * Example:
 *    thrum_task_init(&logger.task, write_lines, &logger);
 *    thrum_task_set_serial(&logger.task); // any thread may post it now, at any time
 */
THRUM_API void thrum_task_set_serial(thrum_task *task);

/*
 * Queues the task to run at once. It belongs to the scheduler until its body begins.
 * thrum_task_post_hint gives a worker the place in its queues; the program must be correct with any
 * hint.
 *
 * Parameters:
 *   sched  the scheduler
 *   task   the task
 *   hint   the place in the queues, if a worker calls
 * Returns: 0, or a negative error code; the task is still the caller's then.
 * Errors:
 *   -EBUSY      the task is posted already, as far as can be seen without an atomic operation
 *   -EINVAL     sched or task is NULL, the task has no body, the worker that it is tied to has
 *               never taken part, or the hint does not exist
 *   -ESHUTDOWN  the scheduler stops or has been stopped, and the caller is external; or it is the
 *               scheduler of a fork's parent
 * Context: any thread; never suspends.
 * Ordering: the writes before this call are visible to the body.
 * Example: examples/intrusive_tasks.c
 * See also: thrum_task_post_batch, thrum_task_post_until
 */
THRUM_API THRUM_NODISCARD int thrum_task_post(thrum_sched *sched, thrum_task *task);
THRUM_API THRUM_NODISCARD int thrum_task_post_hint(thrum_sched *sched, thrum_task *task,
                                                   thrum_hint hint);

/*
 * Queues n tasks, in this order: all of them or none. It takes one operation on the inject queue,
 * or on the own queue of the calling worker as far as they fit, and one wake. A worker that is
 * woken wakes the next as long as there is work for more.
 *
 * Tasks that are tied to a worker are queued one by one, and a serial one that is running is left
 * to its run.
 *
 * Parameters:
 *   sched  the scheduler
 *   tasks  the tasks, each of them once; the array is not kept
 *   n      how many there are
 * Returns: 0, or a negative error code; no task is queued then.
 * Errors:
 *   -EBUSY      a task is posted already, as far as can be seen without an atomic operation
 *   -EINVAL     sched, tasks or a task is NULL, a task has no body, or its worker has never taken
 *               part; or it is the task whose body is calling, unless that is serial
 *   -ESHUTDOWN  the scheduler stops or has been stopped, and the caller is external; or it is the
 *               scheduler of a fork's parent
 * Context: any thread; never suspends.
 * Ordering: the writes before this call are visible to the bodies.
 * Example: examples/intrusive_tasks.c
 * See also: thrum_task_post
 */
THRUM_API THRUM_NODISCARD int thrum_task_post_batch(thrum_sched *sched, thrum_task *const tasks[],
                                                    size_t n);

/*
 * Posts the task to run at the deadline, or as soon as it is woken or signaled, whichever comes
 * first. With thrum_task_post_wait it has no deadline, as with THRUM_FOREVER. If only tasks without
 * a deadline are left, a stop cancels them.
 *
 * The deadline holds for one run. The run is never early; docs/time.md describes how late it may
 * be.
 *
 * Parameters:
 *   sched     the scheduler
 *   task      the task
 *   deadline  thrum_task_post_until only: when it runs, an instant from thrum_after or
 *             THRUM_FOREVER
 *   ns        thrum_task_post_after only: after how many ns from now it runs
 * Returns: 0, or a negative error code; the task is still the caller's then.
 * Errors:
 *   -EBUSY      the task is posted already, as far as can be seen without an atomic operation
 *   -EINVAL     sched or task is NULL, the task has no body, or the worker that it is tied to has
 *               never taken part
 *   -ESHUTDOWN  the scheduler stops or has been stopped, and the caller is external; or it is the
 *               scheduler of a fork's parent
 *   -ESHUTDOWN  the scheduler stops, also at the end of thrum_run, and the caller is a cancelled
 *               run of this task; that run is the last
 * Context: any thread; never suspends.
 * Ordering: the writes before this call are visible to the body.
 * Example: examples/deadline.c
 * See also: thrum_task_wakeup, thrum_task_signal, thrum_task_cause
 */
THRUM_API THRUM_NODISCARD int thrum_task_post_until(thrum_sched *sched, thrum_task *task,
                                                    thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_task_post_after(thrum_sched *sched, thrum_task *task,
                                                    thrum_time ns);
THRUM_API THRUM_NODISCARD int thrum_task_post_wait(thrum_sched *sched, thrum_task *task);

/*
 * Makes a waiting task run at once. A run that is already due absorbs the wakeup. While the body
 * runs, or the task is not posted, the wakeup is remembered, and the next post is immediate.
 *
 * While a signal is pending, a wakeup adds nothing: the body that receives the signal sees the
 * writes before the wakeup. So the body should receive the signal before it reads the data that
 * wakeups announce.
 *
 * Parameters:
 *   task  the task; the caller knows that it still exists
 * Context: any thread; never suspends.
 * Ordering: the writes before this call are visible to the body of that run; if a signal is
 *   pending, after its thrum_task_receive_signal.
 * Example: examples/mailbox.c
 * See also: thrum_task_signal, thrum_task_post_wait
 */
THRUM_API void thrum_task_wakeup(thrum_task *task);

/*
 * Wakes the task as thrum_task_wakeup does, and sets its signal, in one step. Once the body can see
 * the signal, the sender no longer touches the task, so the body may free it.
 *
 * Signals do not add up, and a signal replaces a wakeup that is remembered. While a signal is not
 * received, every further post is immediate.
 *
 * Parameters:
 *   task  the task; the caller knows that it still exists
 * Context: any thread; never suspends.
 * Ordering: the writes before this call are visible to the body of that run, and to the call that
 *   receives the signal.
 * Example: examples/deadline.c
 * See also: thrum_task_receive_signal, thrum_task_wakeup
 */
THRUM_API void thrum_task_signal(thrum_task *task);

/*
 * Returns whether the task has a signal. thrum_task_receive_signal takes the signal,
 * thrum_task_is_signaled leaves it.
 *
 * Parameters:
 *   task  the task whose body is calling
 * Returns: true if there was a signal.
 * Context: the task's body; never suspends.
 * Ordering: the writes before the thrum_task_signal that set it are visible after a call that
 *   returned true.
 * Example: examples/deadline.c
 * See also: thrum_task_signal
 */
THRUM_API bool thrum_task_receive_signal(thrum_task *task);
THRUM_API bool thrum_task_is_signaled(const thrum_task *task);

/*
 * Returns whether the deadline was not in the future when this run was made due, for any cause. A
 * post that does not wait has no deadline, and counts as expired. THRUM_FOREVER is always in the
 * future.
 *
 * Parameters:
 *   task  the task whose body is calling
 * Returns: true if the deadline had passed.
 * Context: the task's body; never suspends.
 * Ordering: none.
 * Example:
 *    if (thrum_task_is_expired(self)) {
 *        close_idle_client(client);
 *    }
 * See also: thrum_task_cause
 */
THRUM_API bool thrum_task_is_expired(const thrum_task *task);

/*
 * Returns whether this run was cancelled.
 *
 * Parameters:
 *   task  the task whose body is calling
 * Returns: true if thrum_task_cancel or a stop cancelled the run.
 * Context: the task's body; never suspends.
 * Ordering: none.
 * Example: examples/mailbox.c
 * See also: thrum_task_cancel, thrum_task_cause
 */
THRUM_API bool thrum_task_is_cancelled(const thrum_task *task);

/*
 * How a run came about: the last one of these that held when the run began. It stays the same
 * throughout the run.
 */
typedef enum {
    THRUM_CAUSE_POSTED,   /* it was posted to run at once, and may have absorbed a wakeup;
                             thrum_task_is_expired is true */
    THRUM_CAUSE_EXPIRED,  /* its deadline had passed when it was made due; thrum_task_is_expired is
                             true */
    THRUM_CAUSE_WOKEN,    /* it was woken before its deadline; thrum_task_is_expired is false */
    THRUM_CAUSE_SIGNALED, /* a signal was pending; thrum_task_is_signaled is true until the signal
                             is received */
    THRUM_CAUSE_CANCELLED /* thrum_task_cancel or a stop cancelled it; thrum_task_is_cancelled is
                             true */
} thrum_cause;

/*
 * Returns how this run came about.
 *
 * Parameters:
 *   task  the task whose body is calling
 * Returns: the cause.
 * Context: the task's body; never suspends.
 * Ordering: none.
 * Example: examples/deadline.c
 * See also: thrum_task_is_expired, thrum_task_is_signaled, thrum_task_is_cancelled
 */
THRUM_API thrum_cause thrum_task_cause(const thrum_task *task);

/*
 * Cancels a run that has not begun: it runs at once, and thrum_task_is_cancelled is true in it. A
 * run that begins at the same moment may see the cancel or not.
 *
 * Parameters:
 *   task  the task; the caller knows that it still exists
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EBUSY   the task is not posted, or its body has begun; as far as can be seen, exactly for a
 *            serial task
 *   -EINVAL  task is NULL
 * Context: the code that posted the task, on any thread; never suspends.
 * Ordering: none.
 * Example: examples/deadline.c
 * See also: thrum_task_is_cancelled
 */
THRUM_API int thrum_task_cancel(thrum_task *task);

THRUM_END_DECLS

#endif
