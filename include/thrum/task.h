/*
 * thrum/task.h: intrusive tasks. Posting one allocates nothing.
 *
 * The object belongs to the scheduler from the post until its body begins; from then on to the
 * body, which may free it, reuse it, or post it again. A body may block. When posts overlap:
 *   - A body that posts its own task is run again after it has returned. It must not free the task.
 *   - A post by any other task or thread while the body runs is a run of its own, which may begin
 *     at once and overlap the present one. So the poster must know that the body does not use the
 *     task, nor what belongs to it, any more.
 *   - Of a serial task (thrum_task_set_serial) no two runs overlap, wherever the posts come from.
 *
 * The *owner* of a task is the code that may post it: the program while it is neither posted nor
 * running, and its body while that runs.
 */
#ifndef THRUM_TASK_H
#define THRUM_TASK_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_task thrum_task;
/* The body of a task: it gets the task and the argument of thrum_task_init. */
typedef void (*thrum_task_fn)(thrum_task *self, void *arg);

struct thrum_task {
    void *reserved_link;       /* the queue's link */
    uint32_t reserved_kind;    /* what this is, for the queues */
    int32_t reserved_worker;   /* the worker's number; -1: any */
    thrum_task_fn reserved_fn; /* the body; set by the calls below */
    void *reserved_arg;        /* the body's argument */
    uint32_t reserved_mark;    /* whether it is posted */
    uint32_t reserved_word;    /* wakeups, signals and cancels that are pending */
#if UINTPTR_MAX == UINT32_MAX
    uint32_t reserved_pad; /* what follows is aligned alike on all processors of 32 bits */
#endif
    uint64_t reserved[4]; /* its place among the deadlines, while it waits */
};
THRUM_ABI_SIZE(thrum_task, 72, 64);

/*
 * What a post from a worker may ask for. Hints never change what is correct; those of external
 * threads have no effect.
 */
typedef enum {
    THRUM_HINT_NONE,
    THRUM_HINT_NEXT, /* it runs next on this worker */
    THRUM_HINT_YIELD /* at the end of the inject queue: behind what this worker has queued */
} thrum_hint;

/* clang-format off */
#if UINTPTR_MAX == UINT32_MAX
#define THRUM_TASK_INIT(fn, arg) { NULL, 1u, -1, (fn), (arg), 0, 0, 0, { 0, 0, 0, 0 } }
#else
#define THRUM_TASK_INIT(fn, arg) { NULL, 1u, -1, (fn), (arg), 0, 0, { 0, 0, 0, 0 } }
#endif
/* clang-format on */

/*
 * Makes a task, as THRUM_TASK_INIT does; nothing has to be undone. Any thread may call it while the
 * task is neither posted nor running. It never suspends and cannot fail.
 */
THRUM_API void thrum_task_init(thrum_task *task, thrum_task_fn fn, void *arg);

/*
 * Gives the task another body, with its argument, for later runs. The owner may call it. It never
 * suspends and cannot fail.
 */
THRUM_API void thrum_task_set_body(thrum_task *task, thrum_task_fn fn, void *arg);

/*
 * Ties later runs to one worker (-1: any): a number below thrum_sched_parallelism, or that of a
 * spare worker that has taken part already. The owner may call it. It never suspends and cannot
 * fail; a number of no worker that has taken part makes the post -EINVAL.
 */
THRUM_API void thrum_task_set_worker(thrum_task *task, int worker);

/*
 * From now on no two runs of the task overlap, wherever the posts come from: a post while its body
 * runs, by any thread, to any scheduler, takes effect when that run is over; a second one is
 * -EBUSY. What comes for it meanwhile (a wakeup, a signal, a cancel, a deadline) holds for the run
 * that it asks for. What a run wrote is visible to the next one. Of a serial task a second post,
 * and a cancel, is refused exactly and not only as far as can be seen.
 *
 * Its body must not free the task nor make it anew: the memory is needed until the run is over,
 * which thrum_sched_wait_done, thrum_sched_wait_idle and a stop tell, and nothing that the body
 * does. A post and its run cost three locked instructions more, four when the post meets a run. The
 * owner may call it while the task is neither posted nor running. It never suspends and cannot
 * fail. thrum_task_init undoes it.
 */
THRUM_API void thrum_task_set_serial(thrum_task *task);

/*
 * Queues a task, which belongs to the scheduler until its body begins. What the caller wrote before
 * is visible to the body. Any thread may call it. It never suspends. Errors, with the task still
 * the caller's: -EBUSY when it is posted already (as far as can be seen without an atomic
 * operation); -EINVAL for NULL, a task without a body, a worker that has never taken part or a hint
 * that does not exist; -ESHUTDOWN for an external caller while the scheduler stops, and when a run
 * that was cancelled would have its own task wait again while the scheduler stops, as the end of
 * thrum_run does too: that run is the last.
 */
THRUM_API THRUM_NODISCARD int thrum_task_post(thrum_sched *sched, thrum_task *task);
THRUM_API THRUM_NODISCARD int thrum_task_post_hint(thrum_sched *sched, thrum_task *task,
                                                   thrum_hint hint);

/*
 * Queues n tasks, in this order, with one operation on the inject queue, or on the own queue of the
 * calling worker as far as they fit, and one wake; a worker that is woken wakes the next as long as
 * there is work for more. Those tied to a worker are queued one by one, and a serial one that is
 * running is left to its run. The array is not kept. Any thread may call it. It never suspends. It
 * queues all of them or none; its errors are those of thrum_task_post, and -EINVAL for the task
 * whose body is calling, unless that is serial. A task may stand in the array only once.
 */
THRUM_API THRUM_NODISCARD int thrum_task_post_batch(thrum_sched *sched, thrum_task *const tasks[],
                                                    size_t n);

/*
 * Posts the task to run at the deadline, an instant on thrum_now's clock (after: so many ns from
 * now), or as soon as it is woken or signaled, whichever comes first. The deadline holds for one
 * run. The run is never early; docs/time.md says how late it may be. THRUM_FOREVER is
 * thrum_task_post_wait. Callers, errors, and what is visible are those of thrum_task_post. It never
 * suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_task_post_until(thrum_sched *sched, thrum_task *task,
                                                    thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_task_post_after(thrum_sched *sched, thrum_task *task,
                                                    thrum_time ns);

/*
 * Posts the task to run when it is woken or signaled. When only such tasks are left, a stop cancels
 * them. Callers, errors, and what is visible are those of thrum_task_post. It never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_task_post_wait(thrum_sched *sched, thrum_task *task);

/*
 * Makes a waiting task run at once. A run that is already due absorbs the wakeup; while the body
 * runs, or the task is not posted, it is remembered: the next post is immediate. What the caller
 * wrote before is visible to the body of that run. While a signal is pending a wakeup adds nothing:
 * what the caller wrote is visible to the body that receives the signal, which therefore should
 * receive it before it looks at what wakeups announce. Any thread may call it that knows that the
 * task is still there. It never suspends and cannot fail.
 */
THRUM_API void thrum_task_wakeup(thrum_task *task);

/*
 * Does the same, and sets the task's signal, in one step: once the body can see the signal the
 * sender does not touch the task any more, so the body may free it. Signals do not add up, and one
 * takes the place of a wakeup that is remembered. One that is not received makes every further post
 * immediate. Any thread may call it that knows that the task is still there. It never suspends and
 * cannot fail.
 */
THRUM_API void thrum_task_signal(thrum_task *task);

/*
 * Takes the task's signal and returns whether there was one; thrum_task_is_signaled returns it and
 * leaves it there. What its sender wrote before is visible. The body may call them. They never
 * suspend and cannot fail.
 */
THRUM_API bool thrum_task_receive_signal(thrum_task *task);
THRUM_API bool thrum_task_is_signaled(const thrum_task *task);

/*
 * Returns whether the deadline was not in the future when this run was made due, whatever made it
 * due. A post that does not wait has no deadline, and counts as expired; THRUM_FOREVER is always in
 * the future. The body may call it. It never suspends and cannot fail.
 */
THRUM_API bool thrum_task_is_expired(const thrum_task *task);

/*
 * Returns whether this run was cancelled. The body may call it. It never suspends and cannot fail.
 */
THRUM_API bool thrum_task_is_cancelled(const thrum_task *task);

/*
 * How this run came about: the last one of these that held when the run began. It stays the same
 * throughout the run. CANCELLED is thrum_task_is_cancelled. With SIGNALED thrum_task_is_signaled is
 * true until the signal is received. POSTED and EXPIRED imply thrum_task_is_expired, WOKEN implies
 * that it is false.
 */
typedef enum {
    THRUM_CAUSE_POSTED,   /* it was posted to run at once; a wakeup may have been absorbed */
    THRUM_CAUSE_EXPIRED,  /* its deadline had passed when it was made due */
    THRUM_CAUSE_WOKEN,    /* it was woken before its deadline */
    THRUM_CAUSE_SIGNALED, /* a signal was pending */
    THRUM_CAUSE_CANCELLED /* it was cancelled, by thrum_task_cancel or a stop */
} thrum_cause;

/*
 * Returns how this run came about. The body may call it. It never suspends and cannot fail.
 */
THRUM_API thrum_cause thrum_task_cause(const thrum_task *task);

/*
 * Cancels a run that has not begun: it comes at once, and thrum_task_is_cancelled is true in it. A
 * run that begins at the same moment may see the cancel or not. The code that posted the task may
 * call it, on any thread, as long as it knows that the task is still there. It never suspends. It
 * returns 0, -EBUSY when the task is not posted or its body has begun (as far as can be seen,
 * unless the task is serial), or -EINVAL for NULL.
 */
THRUM_API int thrum_task_cancel(thrum_task *task);

THRUM_END_DECLS

#endif
