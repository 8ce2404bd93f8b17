/*
 * thrum/task.h: intrusive tasks. Posting one allocates nothing.
 *
 * The object belongs to the scheduler from the post until its body begins; from then on to the
 * body, which may free it, reuse it, or post it again. A body may block. Whose posts overlap:
 *   - A body that posts its own task is run again after it has returned. It must not free the task.
 *   - A post by anybody else while the body runs is a run of its own, which may begin at once and
 *     overlap the present one. So the poster must know that the body does not use the task, nor
 *     what belongs to it, any more.
 *   - Of a serial task (thrum_task_set_serial) no two runs overlap, whoever posts it.
 */
#ifndef THRUM_TASK_H
#define THRUM_TASK_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_task thrum_task;
typedef void (*thrum_task_fn)(thrum_task *self, void *arg);

struct thrum_task {
    void *reserved_link;       /* the queue's */
    uint32_t reserved_kind;    /* what this is, for the queues */
    int32_t reserved_worker;   /* -1: any */
    thrum_task_fn reserved_fn; /* read them through the calls below */
    void *reserved_arg;
    uint32_t reserved_mark;
    uint32_t reserved_word;
    uint64_t reserved[4]; /* while it waits: its place among the deadlines */
};
THRUM_STATIC_ASSERT(sizeof(thrum_task) == 72, "a task is at most 72 bytes");

/* What a post from a worker may ask for. Hints never change what is correct; outsiders' have no
 * effect. */
typedef enum {
    THRUM_HINT_NONE,
    THRUM_HINT_NEXT, /* run it next on this worker */
    THRUM_HINT_YIELD /* at the end of the shared queue: behind what this worker has queued */
} thrum_hint;

/* clang-format off */
#define THRUM_TASK_INIT(fn, arg) { NULL, 1u, -1, (fn), (arg), 0, 0, { 0, 0, 0, 0 } }
/* clang-format on */

/* Makes a task; nothing is to be undone. The task must not be posted. Any thread. */
THRUM_API void thrum_task_init(thrum_task *task, thrum_task_fn fn, void *arg);

/* Another body for later runs. By the owner, or from its own body. Never suspends. */
THRUM_API void thrum_task_set_body(thrum_task *task, thrum_task_fn fn, void *arg);

/*
 * Ties later runs to one worker, from 0 (-1: any). By the owner. A number that the scheduler does
 * not have makes the post -EINVAL.
 */
THRUM_API void thrum_task_set_worker(thrum_task *task, int worker);

/*
 * From now on no two runs of the task overlap, whoever posts it: a post while its body runs, by any
 * thread, to any scheduler, takes effect when that run is over; a second one is -EBUSY. What
 * comes for it meanwhile (a wakeup, a signal, a cancel, a deadline) holds for the run that it asks
 * for. What a run wrote is visible to the next one. Of a serial task a second post, and a cancel,
 * is refused exactly and not only as far as can be seen. Its body must not free it nor make it
 * anew: the memory is needed until the run is over, which thrum_sched_wait_done, wait_idle and stop
 * say, and nothing that the body does. A post and its run cost three locked instructions more, four
 * when the post meets a run. By the owner, while the task is neither posted nor running; never
 * suspends. thrum_task_init undoes it.
 */
THRUM_API void thrum_task_set_serial(thrum_task *task);

/*
 * Queues a task. What the caller wrote before is visible to the body. Any thread; never suspends.
 * Errors, with the task still the caller's: -EBUSY when it is posted already (as far as can be seen
 * without an atomic operation), -EINVAL, -ESHUTDOWN (from outside, while the scheduler stops; and
 * when a run that a stop has cancelled would have its own task wait again: that run is the last).
 */
THRUM_API THRUM_NODISCARD int thrum_task_post(thrum_sched *sched, thrum_task *task);
THRUM_API THRUM_NODISCARD int thrum_task_post_hint(thrum_sched *sched, thrum_task *task,
                                                   thrum_hint hint);

/*
 * Queues n tasks, in this order, with one operation on the shared queue and one wake, which wakes
 * the next as long as there is work for more. All or none; errors as thrum_task_post. A task may
 * stand in it only once.
 */
THRUM_API THRUM_NODISCARD int thrum_task_post_batch(thrum_sched *sched, thrum_task *const tasks[],
                                                    size_t n);

/*
 * Posts it to run at the deadline, an instant on thrum_now's clock (after: so many ns from now), or
 * as soon as it is woken or signaled, whichever comes first; the deadline holds for one run. Never
 * early; how late, says docs/time.md. THRUM_FOREVER is thrum_task_post_wait. Errors, callers and
 * ordering as thrum_task_post. Never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_task_post_until(thrum_sched *sched, thrum_task *task,
                                                    thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_task_post_after(thrum_sched *sched, thrum_task *task,
                                                    thrum_time ns);

/* Posts it to run when it is woken or signaled. When only such tasks are left, stop cancels them.
 */
THRUM_API THRUM_NODISCARD int thrum_task_post_wait(thrum_sched *sched, thrum_task *task);

/*
 * Makes a waiting task run at once. A run that is already due absorbs it; while the body runs, or
 * the task is not posted, it is remembered: the next post is immediate. What the caller wrote
 * before is visible to the body of that run. While a signal is pending a wakeup adds nothing: what
 * the caller wrote is visible to whoever receives the signal, which therefore comes before the
 * look at what wakeups announce. The caller must know that the task is still there. Any thread;
 * never suspends.
 */
THRUM_API void thrum_task_wakeup(thrum_task *task);

/*
 * The same, and sets the task's signal, in one step: once the body can see the signal the sender
 * does not touch the task any more, so the body may free it. Signals do not add up, and one takes
 * the place of a wakeup that is remembered. One that is not received makes every further post
 * immediate. Any thread; never suspends.
 */
THRUM_API void thrum_task_signal(thrum_task *task);

/* In the body: takes the signal; whether there was one. What its sender wrote before is visible. */
THRUM_API bool thrum_task_receive_signal(thrum_task *task);
THRUM_API bool thrum_task_is_signaled(const thrum_task *task);

/*
 * In the body: whether, when this run was made due, by whatever it was, its deadline was not in
 * the future. A post that does not wait has none, and counts as expired; THRUM_FOREVER is always in
 * the future.
 */
THRUM_API bool thrum_task_is_expired(const thrum_task *task);

/* In the body: whether this run was cancelled. */
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

/* In the body; never suspends. */
THRUM_API thrum_cause thrum_task_cause(const thrum_task *task);

/*
 * Cancels a run that has not begun: it comes at once, and thrum_task_is_cancelled says so in it. By
 * who owns the task; a run that begins at the same moment may see it or not. -EBUSY: it is not
 * posted, or its body has begun. Any thread; never suspends.
 */
THRUM_API int thrum_task_cancel(thrum_task *task);

THRUM_END_DECLS

#endif
