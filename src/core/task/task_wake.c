/*
 * task_wake.c: making a waiting task due (wakeups, signals, deadlines, cancels), and the beginning
 * of a run. task_word.h has the word, core/task/TASKS.md the argument.
 */
#include "base/atomic.h"
#include "core/ready/external.h"
#include "core/ready/submit.h"
#include "core/due/timer.h"
#include "core/ready/waiter.h"
#include "core/state/worker.h"
#include "core/task/task.h"
#include "platform/platform.h"

/* ---- waiting ---- */

/*
 * With the lock of special timers: the time at which the task is to be due. Once a stop's deadline
 * has passed, a task with a deadline is cancelled, and so due at once: the stop goes through the
 * timers under their lock, and a task that comes later finds them marked.
 */
static TH_COLD int64_t place_of(const th_timers *timers, thrum_task *task, int64_t deadline) {
    if (deadline == INT64_MAX) {
        return deadline; /* a stop cancels it once nothing is left that could wake it */
    }
    if (timers->special & TH_TIMERS_CANCELLED) {
        /* relaxed: only the post uses it until it is queued */
        th_or_relaxed(&task->reserved_word, TH_TASK_CANCELLED);
    }
    if (!(timers->special & TH_TIMERS_IN_ORDER)) {
        return deadline;
    }
    int64_t now = th_os_now(); /* the later of the post and the deadline */
    return deadline < now ? now : deadline;
}

/* By the thread that has made it due, before it is queued. */
static void unlist(thrum_task *task) {
    /* relaxed: a list that empties the place itself takes the bits away under its lock */
    uint32_t word = th_load_relaxed(&task->reserved_word);
    if (th_unlikely((word & TH_TASK_PLACE) != 0)) {
        /* relaxed: set before the place was taken; later calls set it to the same */
        th_task_unlist_fn unlist_it = th_load_relaxed(&th_task_xunlist);
        unlist_it(task, word);
        th_and_relaxed(&task->reserved_word, ~TH_TASK_PLACE); /* relaxed: the task is ours */
    }
}

/* With the lock, which it gives up: something came before the task could wait. */
static TH_COLD void is_due_at_once(th_timers *timers, thrum_task *task, int64_t deadline) {
    th_timers_take_out(timers, th_task_timed(task));
    th_lock_release(&timers->lock);
    unlist(task);
    bool late = deadline <= th_os_now();
    /* relaxed: only the post uses it yet */
    th_store_relaxed(&task->reserved_mark, late ? TH_TASK_POSTED_LATE : TH_TASK_POSTED_EARLY);
}

bool th_task_begin_waiting(th_timers *timers, thrum_task *task, int64_t deadline) {
    uint32_t waiting = TH_TASK_WAITING | (deadline == INT64_MAX ? TH_TASK_DORMANT : 0);
    th_lock_acquire(&timers->lock);
    int64_t at = th_unlikely(timers->special) ? place_of(timers, task, deadline) : deadline;
    /*
     * In the timers before it waits: the side that makes it due removes it again, under the
     * lock.
     */
    bool tell = th_timers_insert(timers, th_task_timed(task), at);
    uint32_t word = th_load_relaxed(&task->reserved_word); /* relaxed: the exchange decides */
    do {
        if (word & (TH_TASK_WOKEN | TH_TASK_SIGNALED | TH_TASK_CANCELLED)) {
            is_due_at_once(timers, task, deadline);
            return false;
        }
        /* lock-free: it fails only when a wakeup, a signal or a cancel came */
        /* pairs: rouse; that it is in the timers, and in which */
    } while (!th_cas_release(&task->reserved_word, &word,
                             waiting | (word & (TH_TASK_TAKEN | TH_TASK_PLACE))));
    th_lock_release(&timers->lock); /* from here on it may be gone */
    if (tell) {
        th_timers_tell(timers);
    }
    return true;
}

/* ---- being woken ---- */

/* Takes the task out of the timers, counts it, and notes whether its deadline has passed. */
static TH_INLINE_NO_TSAN void stop_waiting(thrum_task *task, bool dormant, th_activity *activity) {
    th_timed_remove(th_task_timed(task));
    unlist(task);
    th_activity_began(&activity->xreadied);
    if (dormant) {
        th_activity_began(&activity->xroused);
    } else if (th_task_timed(task)->timer.deadline <= th_os_now()) {
        /* relaxed: the queue publishes it; the timers only have not reached it yet */
        th_or_relaxed(&task->reserved_word, TH_TASK_EXPIRED);
    }
    th_tsan_release(task); /* its words were used by the timers */
}

/* Queues a task that was waiting; the caller made it due. */
static TH_NO_TSAN void make_due(thrum_task *task, bool dormant) {
    thrum_sched *sched = th_task_timed(task)->timers->sched;
    th_work *work = th_task_work(task);
    th_worker *worker = th_here();
    if (worker && worker->sched == sched) {
        stop_waiting(task, dormant, &worker->activity);
        th_enter(worker);
        th_submit(worker, work, THRUM_HINT_NONE);
        th_leave(worker);
        return;
    }
    if (th_unlikely(sched->abandoned)) {
        return; /* in the child of a fork: the task is the parent's */
    }
    /* The scheduler still exists: it waits for the task, which only the caller may touch. */
    th_external *record = th_external_enter(sched, false);
    stop_waiting(task, dormant, &record->activity);
    th_submit_external(sched, work);
    th_external_leave(sched, record);
}

/*
 * The word after `bit` is added. A pending signal replaces all wakeups before and after it: they
 * would only cause one more run after the body has received the signal.
 */
static inline uint32_t roused(uint32_t word, uint32_t bit) {
    if (bit == TH_TASK_WOKEN && word & TH_TASK_SIGNALED) {
        return word;
    }
    if (bit == TH_TASK_SIGNALED && !(word & TH_TASK_WAITING)) {
        word &= ~TH_TASK_WOKEN;
    }
    return word | bit;
}

/*
 * Adds `bit` to the word if that has all bits of `must`, and makes the task due if that falls to
 * the caller. False: a bit of `must` was missing.
 */
static bool rouse(thrum_task *task, uint32_t bit, uint32_t must) {
    th_tsan_release(task);                                /* from here on it may be gone */
    uint32_t old = th_load_relaxed(&task->reserved_word); /* relaxed: the exchange decides */
    /* Even if nothing changes: a body that receives the signal sees the caller's writes. */
    do {
        if ((old & must) != must) {
            return false;
        }
        /* lock-free: it fails only when another thread changed the word */
        /*
         * pairs: th_task_take; the caller's writes. pairs: th_task_begin_waiting; the timers in
         * which it is
         */
    } while (!th_cas_acq_rel(&task->reserved_word, &old, roused(old, bit)));
    if ((old & (TH_TASK_WAITING | TH_TASK_DUE)) == TH_TASK_WAITING) {
        make_due(task, (old & TH_TASK_DORMANT) != 0);
    }
    return true;
}

th_roused th_task_rouse_listed(thrum_task *task, uint32_t bit) {
    uint32_t old = th_load_relaxed(&task->reserved_word); /* relaxed: the exchange decides */
    do {
        /* lock-free: it fails only when another thread changed the word */
        /* pairs: th_task_begin_waiting, th_task_begin_roused; as rouse */
    } while (!th_cas_acq_rel(&task->reserved_word, &old, roused(old, bit) & ~TH_TASK_PLACE));
    return (th_roused){.is_due = (old & (TH_TASK_WAITING | TH_TASK_DUE)) == TH_TASK_WAITING,
                       .dormant = (old & TH_TASK_DORMANT) != 0};
}

/* Not shown to the thread sanitizer, since work is read in the worker's context (queue/work.h). */
TH_NO_TSAN void th_task_is_due(th_worker *by, thrum_task *task, bool dormant) {
    if (by && th_task_timed(task)->timers->sched == by->sched) {
        stop_waiting(task, dormant, &by->activity);
        th_chain_append(&by->due, th_task_work(task));
    } else {
        make_due(task, dormant);
    }
}

void thrum_task_wakeup(thrum_task *task) {
    (void)rouse(task, TH_TASK_WOKEN, 0);
}

void thrum_task_signal(thrum_task *task) {
    (void)rouse(task, TH_TASK_SIGNALED, 0);
}

int thrum_task_cancel(thrum_task *task) {
    if (!task) {
        return -EINVAL;
    }
    if (th_task_is_serial(task)) { /* a cancel that is refused leaves nothing */
        return rouse(task, TH_TASK_CANCELLED, TH_TASK_TAKEN) ? 0 : -EBUSY;
    }
    uint32_t mark = th_load_relaxed(&task->reserved_mark); /* relaxed: best effort */
    if (!th_task_is_posted(mark)) {
        return -EBUSY;
    }
    (void)rouse(task, TH_TASK_CANCELLED, 0);
    return 0;
}

/* Whether a cancel leaves the wait alone. With the timers' lock. */
static bool is_shielded(const th_timed *timed) {
    return timed->kind == TH_WORK_WAIT && ((const th_waiter *)timed->of[0])->shielded;
}

/*
 * Tasks cancelled by a stop, from the timers until they are queued; linked by the words of the
 * timers.
 */
typedef struct cancelled {
    th_link *first;
    th_link **last;
} cancelled;

/* With the timers' lock: true if the caller ends its wait. */
static bool cancel_timed(th_timed *timed) {
    if (timed->kind == TH_WORK_WAIT) {
        return th_waiter_claim(timed->of[0], TH_WAIT_CANCELLED);
    }
    /*
     * relaxed: nothing to publish; the lock orders it with the post and with the call that makes it
     * due
     */
    uint32_t old = th_or_relaxed(&timed->xword, TH_TASK_CANCELLED);
    return (old & (TH_TASK_WAITING | TH_TASK_DUE)) == TH_TASK_WAITING;
}

/* With the timers' lock: takes it out, and cancels it unless something else has ended its wait. */
static void take_one(th_timers *timers, th_timer *timer, cancelled *taken) {
    th_timed *timed = th_timed_of(timer);
    th_timers_take_out(timers, timed);
    if (cancel_timed(timed)) {
        timer->list.next = NULL;
        *taken->last = &timer->list;
        taken->last = &timer->list.next;
    }
}

/*
 * Removes tasks that wait without a deadline, or all without a shield. The lock is held throughout,
 * so that it ends, and each timer is checked once.
 */
static void take_cancelled(th_timers *timers, bool all, cancelled *taken) {
    th_wheel *wheel = &timers->wheel;
    th_timer *timer;
    TH_LOCKED(&timers->lock);
    if (all) {
        timers->special |= TH_TIMERS_CANCELLED;
        th_timer *next;
        for (timer = th_wheel_next(wheel, NULL); timer; timer = next) {
            next = th_wheel_next(wheel, timer); /* while it is still there */
            if (!is_shielded(th_timed_of(timer))) {
                take_one(timers, timer, taken);
            }
        }
    } else {
        while ((timer = th_wheel_first_never(wheel))) {
            take_one(timers, timer, taken);
        }
    }
}

/* Nothing is made due before all that waits has been taken out, so this returns. */
void th_timers_cancel(thrum_sched *sched, bool all) {
    cancelled taken = {.first = NULL};
    taken.last = &taken.first;
    for (unsigned i = 0; i < sched->workers_count; i++) {
        take_cancelled(&sched->workers[i].own_timers, all, &taken);
    }
    take_cancelled(&sched->loose_timers, all, &taken);
    th_lock_acquire(&sched->bound_lock);
    for (th_worker *w = sched->bound; w; w = w->bound_next) {
        take_cancelled(&w->own_timers, all, &taken);
    }
    th_lock_release(&sched->bound_lock);
    for (th_link *link = taken.first; link;) {
        th_timed *timed = th_timed_of(th_container(link, th_timer, list));
        link = link->next; /* from here on the timed may be gone */
        if (timed->kind == TH_WORK_WAIT) {
            th_waiter_release(timed->of[0]);
        } else {
            /* relaxed: nothing else writes the word's DORMANT before the run */
            bool dormant = (th_load_relaxed(&timed->xword) & TH_TASK_DORMANT) != 0;
            make_due((thrum_task *)(void *)timed, dormant);
        }
    }
}

/* ---- a run begins ---- */

static TH_ALWAYS_INLINE uint32_t came(const thrum_task *task, uint32_t word) {
    uint32_t run = word & (TH_TASK_CANCELLED | TH_TASK_SIGNALED);
    if (word & TH_TASK_WAITING) {
        return run | TH_TASK_WAITING | (word & TH_TASK_EXPIRED);
    }
    /* relaxed: the queue published it */
    switch (th_load_relaxed(&task->reserved_mark) & ~TH_TIMED_IN) {
    case TH_TASK_POSTED_LATE:
        return run | TH_TASK_WAITING | TH_TASK_EXPIRED;
    case TH_TASK_POSTED_EARLY:
        return run | TH_TASK_WAITING;
    default:
        return run | TH_TASK_EXPIRED;
    }
}

uint32_t th_task_begin_roused(thrum_task *task) {
    /* pairs: rouse; the waker's writes. A signal stays until it is taken */
    return came(task, th_and_acquire(&task->reserved_word, TH_TASK_SIGNALED));
}

uint32_t th_task_came(const thrum_task *task, uint32_t word) {
    return came(task, word);
}

/* ---- queries from the body ---- */

bool thrum_task_is_expired(const thrum_task *task) {
    /* relaxed: the run's own */
    return (th_load_relaxed(&task->reserved[1]) & TH_TASK_EXPIRED) != 0;
}

bool thrum_task_is_cancelled(const thrum_task *task) {
    /* relaxed: the run's own */
    return (th_load_relaxed(&task->reserved[1]) & TH_TASK_CANCELLED) != 0;
}

thrum_cause thrum_task_cause(const thrum_task *task) {
    uint64_t run = th_load_relaxed(&task->reserved[1]); /* relaxed: the run's own */
    if (run & TH_TASK_CANCELLED) {
        return THRUM_CAUSE_CANCELLED;
    }
    if (run & TH_TASK_SIGNALED) {
        return THRUM_CAUSE_SIGNALED;
    }
    if (!(run & TH_TASK_EXPIRED)) {
        return THRUM_CAUSE_WOKEN;
    }
    return run & TH_TASK_WAITING ? THRUM_CAUSE_EXPIRED : THRUM_CAUSE_POSTED;
}

bool thrum_task_is_signaled(const thrum_task *task) {
    /* pairs: rouse; the sender's writes */
    return (th_load_acquire(&task->reserved_word) & TH_TASK_SIGNALED) != 0;
}

bool thrum_task_receive_signal(thrum_task *task) {
    /* relaxed: spares the exchange when there is none */
    if (!(th_load_relaxed(&task->reserved_word) & TH_TASK_SIGNALED)) {
        return false;
    }
    /* pairs: rouse; the sender's writes */
    uint32_t old = th_and_acquire(&task->reserved_word, ~TH_TASK_SIGNALED);
    th_tsan_acquire(task);
    return (old & TH_TASK_SIGNALED) != 0;
}
