/*
 * task_wake.c: what makes a waiting task due: wakeups, signals, deadlines, cancels; and the
 * beginning of a run. task.h has the word, core/TASKS.md the argument.
 */
#include "base/atomic.h"
#include "core/idle.h"
#include "core/run.h"
#include "core/submit.h"
#include "core/task.h"
#include "core/wait.h"
#include "core/worker.h"

/* ---- waiting ---- */

bool th_task_begin_waiting(th_timers *timers, thrum_task *task, int64_t deadline) {
    uint32_t waiting = TH_TASK_WAITING | (deadline == INT64_MAX ? TH_TASK_DORMANT : 0);
    bool waits = true;
    th_lock_acquire(&timers->lock);
    /* In the timers before it waits: whoever makes it due takes it out again, behind the lock. */
    bool tell = th_timers_insert(timers, th_task_timed(task), deadline);
    uint32_t word = th_load_relaxed(&task->reserved_word); /* relaxed: the exchange decides */
    do {
        if (word & (TH_TASK_WOKEN | TH_TASK_SIGNALED | TH_TASK_CANCELLED)) {
            waits = false;
            break;
        }
        /* lock-free: it fails when a wakeup, a signal or a cancel came */
        /* pairs: rouse; that it stands in the timers, and in which */
    } while (!th_cas_release(&task->reserved_word, &word, waiting));
    if (!waits) {
        th_timers_take_out(timers, th_task_timed(task));
    }
    th_lock_release(&timers->lock); /* from here on the task may be gone */
    if (waits && tell) {
        th_timers_tell(timers);
    }
    return waits;
}

bool th_task_expire(thrum_task *task, th_work **work) {
    uint32_t word = TH_TASK_WAITING;
    /* relaxed: timers publish nothing; the lock orders what the post wrote */
    if (!th_cas_relaxed(&task->reserved_word, &word, TH_TASK_WAITING | TH_TASK_EXPIRED)) {
        return false;
    }
    *work = th_task_work(task);
    th_tsan_release(task); /* its words were the timers' */
    return true;
}

/* ---- being woken ---- */

/* It was waiting, and the caller is the one who makes it due. */
static TH_NO_TSAN void make_due(thrum_task *task, bool dormant) {
    th_timed_remove(th_task_timed(task));
    th_tsan_release(task); /* its words were the timers' */
    thrum_sched *sched = th_task_timed(task)->timers->sched;
    th_work *work = th_task_work(task);
    th_worker *worker = th_here();
    if (worker && worker->sched == sched) {
        th_enter(worker);
        th_flow_began(&worker->flow.xreadied);
        if (dormant) {
            th_flow_began(&worker->flow.xroused);
        }
        th_submit(worker, work, THRUM_HINT_NONE);
        th_leave(worker);
        return;
    }
    /* The scheduler is there: it waits for the task, which is ours. */
    th_outside *record = th_outside_enter(sched, false);
    th_flow_began(&record->flow.xreadied);
    if (dormant) {
        th_flow_began(&record->flow.xroused);
    }
    th_submit_outside(sched, work);
    th_outside_leave(sched, record);
}

/* Adds to the word; makes the task due if that fell to us. */
static void rouse(thrum_task *task, uint32_t bits) {
    th_tsan_release(task); /* from here on it may be gone */
    /* pairs: th_task_take; what the caller wrote. pairs: th_task_begin_waiting; where it stands */
    uint32_t old = th_or_acq_rel(&task->reserved_word, bits);
    if ((old & (TH_TASK_WAITING | TH_TASK_DUE)) == TH_TASK_WAITING) {
        make_due(task, (old & TH_TASK_DORMANT) != 0);
    }
}

void thrum_task_wakeup(thrum_task *task) {
    rouse(task, TH_TASK_WOKEN);
}

void thrum_task_signal(thrum_task *task) {
    rouse(task, TH_TASK_SIGNALED);
}

int thrum_task_cancel(thrum_task *task) {
    if (!task) {
        return -EINVAL;
    }
    uint32_t mark = th_load_relaxed(&task->reserved_mark); /* relaxed: best effort */
    if (!th_task_is_posted(mark)) {
        return -EBUSY;
    }
    rouse(task, TH_TASK_CANCELLED);
    return 0;
}

/* With the timers' lock: one of those that can be cancelled, or NULL. */
static th_timer *first_to_cancel(const th_wheel *wheel) {
    th_timer *timer = NULL;
    while ((timer = th_wheel_next(wheel, timer))) {
        const th_timed *timed = th_timed_of(timer);
        const th_waiter *waiter = timed->kind == TH_WORK_WAIT ? timed->of[0] : NULL;
        if (!waiter || !waiter->shielded) {
            break;
        }
    }
    return timer;
}

/* What a stop cancels, from the timers until it is queued: linked by the words of the timers. */
typedef struct cancelled {
    th_link *first;
    th_link **last;
} cancelled;

/* With the timers' lock: true if it is the caller who ends its wait. */
static bool cancel_timed(th_timed *timed) {
    if (timed->kind == TH_WORK_WAIT) {
        return th_waiter_claim(timed->of[0], TH_WAIT_CANCELLED);
    }
    /* relaxed: nothing to tell; the lock orders it with the post and with who makes it due */
    uint32_t old = th_or_relaxed(&timed->xword, TH_TASK_CANCELLED);
    return (old & (TH_TASK_WAITING | TH_TASK_DUE)) == TH_TASK_WAITING;
}

/* Takes out what waits without a deadline, or all: one holding of the lock, so that it ends. */
static void take_cancelled(th_timers *timers, bool all, cancelled *taken) {
    th_lock_acquire(&timers->lock);
    for (;;) {
        th_timer *timer =
            all ? first_to_cancel(&timers->wheel) : th_wheel_first_never(&timers->wheel);
        if (!timer) {
            break;
        }
        th_timed *timed = th_timed_of(timer);
        th_timers_take_out(timers, timed);
        if (cancel_timed(timed)) {
            timer->list.next = NULL;
            *taken->last = &timer->list;
            taken->last = &timer->list.next;
        }
    }
    th_lock_release(&timers->lock);
}

/*
 * Nothing goes on before all that waits has been taken out: what is cancelled and waits again at
 * once is left to the next stop, or this one might never return.
 */
static void cancel_each(thrum_sched *sched, bool all) {
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
            /* relaxed: nobody else writes the word's DORMANT before the run */
            bool dormant = (th_load_relaxed(&timed->xword) & TH_TASK_DORMANT) != 0;
            make_due((thrum_task *)(void *)timed, dormant);
        }
    }
}

void th_tasks_cancel(thrum_sched *sched) {
    cancel_each(sched, false);
}

void th_timers_cancel_all(thrum_sched *sched) {
    cancel_each(sched, true);
}

/* ---- a run begins ---- */

uint32_t th_task_begin_roused(thrum_task *task, bool without_deadline) {
    /* pairs: rouse; what whoever woke it wrote. A signal stays until it is taken */
    uint32_t old = th_and_acquire(&task->reserved_word, TH_TASK_SIGNALED);
    uint32_t run = old & TH_TASK_CANCELLED;
    if (old & TH_TASK_WAITING) {
        return run | (old & TH_TASK_EXPIRED);
    }
    return run | (without_deadline ? TH_TASK_EXPIRED : 0);
}

/* ---- what the body asks ---- */

bool thrum_task_is_expired(const thrum_task *task) {
    /* relaxed: the run's own */
    return (th_load_relaxed(&task->reserved[1]) & TH_TASK_EXPIRED) != 0;
}

bool thrum_task_is_cancelled(const thrum_task *task) {
    /* relaxed: the run's own */
    return (th_load_relaxed(&task->reserved[1]) & TH_TASK_CANCELLED) != 0;
}

bool thrum_task_is_signaled(const thrum_task *task) {
    /* pairs: rouse; what the sender wrote */
    return (th_load_acquire(&task->reserved_word) & TH_TASK_SIGNALED) != 0;
}

bool thrum_task_receive_signal(thrum_task *task) {
    /* relaxed: spares the exchange when there is none */
    if (!(th_load_relaxed(&task->reserved_word) & TH_TASK_SIGNALED)) {
        return false;
    }
    /* pairs: rouse; what the sender wrote */
    uint32_t old = th_and_acquire(&task->reserved_word, ~TH_TASK_SIGNALED);
    th_tsan_acquire(task);
    return (old & TH_TASK_SIGNALED) != 0;
}
