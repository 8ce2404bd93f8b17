/*
 * direction.c: see direction.h; io/DIRECTION.md has the argument.
 */
#include "io/direction.h"

#include <errno.h>

#include "core/due/poll.h"
#include "core/ready/waiter.h"
#include "core/task/task.h"
#include "core/wait/wait.h"
#include "io/counted.h"
#include "io/told.h"
#include "sync/waitlist.h"

static inline th_waitlist queue_of(th_direction *direction) {
    return (th_waitlist){&direction->first, &direction->last};
}

static inline th_waitlist watchers_of(th_direction *direction) {
    return (th_waitlist){&direction->first_watch, &direction->last_watch};
}

/* With the lock, which it gives up: publishes the word, with WAITERS as the lists are. */
static void publish(th_direction *direction, uint32_t word) {
    bool any = direction->first || direction->ready || direction->first_watch || direction->task;
    word &= ~(TH_WORD_LOCKED | TH_WORD_WAITERS);
    th_word32_publish(&direction->xword, word | (any ? TH_WORD_WAITERS : 0));
}

/* A task that was taken off, and that the caller makes due. */
typedef struct taken_off {
    thrum_task *task;
    bool dormant;
} taken_off;

/* With the lock. NULL: there is none, or something else has made it due. */
static taken_off take_task(th_direction *direction, uint32_t bit) {
    thrum_task *task = direction->task;
    th_roused roused = {false, false};
    direction->task = NULL;
    if (task) {
        roused = th_task_rouse_listed(task, bit);
    }
    return (taken_off){roused.is_due ? task : NULL, roused.dormant};
}

/*
 * With the lock, by a caller that keeps the turn from ending or is on a list: sets the note of the
 * wait for reports.
 */
static void note(th_waiter *waiter, const th_direction *direction, uint32_t own) {
    waiter->note = own;
    waiter->turn = th_told_turn(direction);
}

/* ---- holding ---- */

/* Takes a caller off the queue; false: it is no longer there. */
static bool leave_queue(void *object, th_waiter *waiter) {
    th_direction *direction = object;
    uint32_t word = th_word32_lock_list(&direction->xword);
    bool listed = th_waitlist_leave(queue_of(direction), waiter);
    publish(direction, word);
    return listed;
}

/*
 * The lock is given up before a wait, and not with the switch as other primitives do: before the
 * switch the worker looks for events, and may need this very lock.
 */
static const th_wait_kind enters = {.leave = leave_queue};

int th_direction_enter_slow(th_direction *direction, thrum_time deadline) {
    uint32_t word = th_word32_lock_list(&direction->xword);
    if (word & TH_IO_CLOSING) {
        th_word32_publish(&direction->xword, word);
        return -EBADF;
    }
    if (!(word & TH_IO_HELD)) {
        th_word32_publish(&direction->xword, (word & ~TH_IO_READY) | TH_IO_HELD);
        return (word & TH_IO_READY) != 0;
    }
    th_waiter me;
    const bool timed = deadline != THRUM_FOREVER;
    th_waiter_init_for(&me, (th_on)direction->on, direction, timed, leave_queue);
    note(&me, direction, 0);
    th_waitlist_push(queue_of(direction), &me);
    th_word32_publish(&direction->xword, word | TH_WORD_WAITERS);
    int code = th_wait_queued(&enters, direction, &me, timed, deadline);
    if (code || !me.value) {
        return code ? code : -EBADF; /* it was closed, not handed over */
    }
    /* pairs: event; events between the wake and this (th_direction_tell) */
    return (th_and_acquire(&direction->xword, ~TH_IO_READY) & TH_IO_READY) != 0;
}

void th_direction_leave_slow(th_direction *direction, th_leftover left) {
    uint32_t word = th_word32_lock_list(&direction->xword);
    if (left == TH_LEFT_MORE || (left == TH_LEFT_SHORT && (word & TH_IO_ODD))) {
        word |= TH_IO_READY;
    }
    th_waiter *next = th_waitlist_pop(queue_of(direction));
    taken_off due = {NULL, false};
    if (next) {
        next->value = 1;
    } else {
        word &= ~TH_IO_HELD;
        next = direction->ready; /* the closer */
        direction->ready = NULL;
        due = word & TH_IO_READY ? take_task(direction, TH_TASK_WOKEN) : due;
    }
    publish(direction, word);
    if (next) {
        th_waiter_let_go(next);
    }
    if (due.task) {
        th_task_is_due(NULL, due.task, due.dormant);
    }
}

/* ---- waiting for the system ---- */

/* Takes the holder off its place; false: it is no longer there. */
static bool leave_ready(void *object, th_waiter *waiter) {
    th_direction *direction = object;
    uint32_t word = th_word32_lock_list(&direction->xword);
    bool listed = direction->ready == waiter;
    if (listed) {
        direction->ready = NULL;
    }
    publish(direction, word);
    return listed;
}

static const th_wait_kind awaits = {.leave = leave_ready};

/*
 * With the lock: consumes the readiness. 1: the caller has it; -EBADF: the direction is closing;
 * else 0. Unless it returns 0, the lock is given up.
 */
static int take_ready(th_direction *direction, uint32_t word) {
    int code = word & TH_IO_CLOSING ? -EBADF : (word & TH_IO_READY) != 0;
    if (code) {
        th_word32_publish(&direction->xword, word & ~TH_IO_READY);
    }
    return code;
}

static int await_in_fiber(th_direction *direction, thrum_time deadline) {
    th_waiter me;
    const bool timed = deadline != THRUM_FOREVER;
    th_waiter_init_for(&me, (th_on)direction->on, direction, timed, leave_ready);
    uint32_t word = th_word32_lock_list(&direction->xword);
    int code = take_ready(direction, word);
    if (code) {
        return code < 0 ? code : 0;
    }
    note(&me, direction, 0);
    direction->ready = &me;
    TH_IO_COUNT(xio_waits, 1);
    th_word32_publish(&direction->xword, word | TH_WORD_WAITERS);
    code = th_wait_queued(&awaits, direction, &me, timed, deadline);
    if (code) {
        return code;
    }
    /* relaxed: the wake carries it; a closer sets it before it wakes */
    return th_load_relaxed(&direction->xword) & TH_IO_CLOSING ? -EBADF : 0;
}

/*
 * A plain thread polls the system, with its own wake-up for the caller that closes. Events leave
 * its waiter alone, since the system notifies the thread itself.
 */
static int await_in_thread(th_direction *direction, int fd, unsigned bits, thrum_time deadline) {
    th_waiter me;
    int wakeup = th_os_wakeup_open();
    if (wakeup < 0) {
        return wakeup;
    }
    th_waiter_init(&me, (th_on)direction->on, direction);
    me.timed = true; /* the closer claims it, then sets the wake-up, then lets go */
    uint32_t word = th_word32_lock_list(&direction->xword);
    int code = take_ready(direction, word);
    if (!code) {
        note(&me, direction, 1 + (uint32_t)wakeup);
        direction->ready = &me;
        publish(direction, word);
        th_waiter_show(&me);
        do {
            code =
                th_os_io_poll(fd, bits, wakeup, deadline == THRUM_FOREVER ? TH_FOREVER : deadline);
        } while (code == -EINTR);
        th_waiter_show(NULL);
        code = code ? code : -ETIMEDOUT;
        if (!leave_ready(direction, &me)) { /* closed: the wake-up is set, or about to be */
            (void)th_waiter_wait(&me);
            code = -EBADF;
        }
    }
    th_os_wakeup_close(wakeup);
    return code < 0 ? code : 0;
}

int th_direction_await(th_direction *direction, int fd, unsigned bits, thrum_time deadline) {
    return th_fiber_self() ? await_in_fiber(direction, deadline)
                           : await_in_thread(direction, fd, bits, deadline);
}

/* ---- events ---- */

/* `by`: the worker that has the event, in its context; NULL: any caller. */
static void wake(th_worker *by, th_waiter *waiter) {
    if (by) {
        th_poll_wake(by, waiter);
    } else {
        th_waiter_let_go(waiter);
    }
}

/*
 * Takes the fibers off the list of watchers, as a chain. The system notifies a plain thread, which
 * stays where a close finds it: when it polls, the system may no longer have anything for it.
 */
static th_waiter *detach_fibers(th_waitlist list) {
    th_waiter *chain = NULL;
    th_waiter *last = NULL;
    for (th_waiter *w = th_waitlist_first(list), *next; w; w = next) {
        next = w->next;
        if (!th_waiter_whole(w)->fiber) {
            continue;
        }
        (void)th_waitlist_leave(list, w);
        if (th_waiter_claim(th_waiter_whole(w), TH_WAIT_WOKEN)) {
            w->next = NULL;
            if (last) {
                last->next = w;
            } else {
                chain = w;
            }
            last = w;
        }
    }
    return chain;
}

/* In the worker's context, perhaps on a task's stack: no local's address is passed on. */
static void event(th_direction *direction, th_worker *by, bool odd) {
    const uint32_t bits = TH_IO_READY | (odd ? TH_IO_ODD : 0);
    unsigned spins = 0;
    bool fenced = false;
    uint32_t seen;
    for (;;) {
        /* relaxed: the kernel's locks order a holder that consumed the bit before it found nothing
         * with this event (platform/descriptor.h) */
        seen = th_load_relaxed(&direction->xword);
        if (seen & TH_WORD_LOCKED) {
            th_backoff(&spins);
        } else if (seen & TH_WORD_WAITERS) {
            if (th_word32_lock(&direction->xword, seen)) {
                break;
            }
        } else if (!by || (seen & bits) != bits) {
            /*
             * pairs: th_direction_enter, th_word32_lock; the writes of th_direction_tell's caller:
             * its event is not the system's, so it always makes the exchange. ABA: the word is the
             * whole state
             */
            if (th_cas_release(&direction->xword, &seen, seen | bits)) {
                return;
            }
        } else if (fenced) {
            return;
        } else {
            /* seq: the event before the word is read, for the last time; a caller that enters a
             * list and then asks the system fences in between (watch.c, list_and_post) */
            th_fence_seq();
            fenced = true;
        }
    }
    th_waiter *ready = seen & TH_IO_CLOSING ? NULL : direction->ready; /* not the closer */
    if (ready && ready->fiber) {
        direction->ready = NULL;
        if (ready->timed && !th_waiter_claim(ready, TH_WAIT_WOKEN)) {
            ready = NULL; /* its time is out: the next holder gets the readiness */
        }
    } else {
        ready = NULL;
    }
    th_waiter *chain = detach_fibers(watchers_of(direction));
    taken_off due = take_task(direction, TH_TASK_WOKEN);
    publish(direction, ready ? seen | (bits & TH_IO_ODD) : seen | bits);
    if (ready) {
        wake(by, ready);
    }
    while (chain) {
        th_waiter *next = chain->next; /* a woken waiter may be gone */
        wake(by, chain);
        chain = next;
    }
    if (due.task) {
        th_task_is_due(by, due.task, due.dormant);
    }
}

void th_direction_event(th_direction *direction, th_worker *by, bool odd) {
    event(direction, by, odd);
}

void th_direction_tell(th_direction *direction) {
    event(direction, NULL, false);
}

/* ---- tasks ---- */

int th_direction_list(th_direction *direction, thrum_task *task, const uint32_t *xturn,
                      uint32_t turn) {
    uint32_t word = th_word32_lock_list(&direction->xword);
    /* relaxed: the word was published after the turn, and is CLOSING while that changes */
    const bool stale = (word & TH_IO_CLOSING) || th_load_relaxed(xturn) != turn;
    int code = stale ? -EBADF : direction->task ? -EBUSY : 0;
    if (!code) {
        direction->task = task;
        code = (word & TH_IO_READY) != 0;
        word &= ~TH_IO_READY;
    }
    publish(direction, word);
    return code;
}

void th_direction_unlist(th_direction *direction, thrum_task *task) {
    uint32_t word = th_word32_lock_list(&direction->xword);
    if (direction->task == task) {
        direction->task = NULL;
    }
    publish(direction, word);
}

bool th_direction_has(th_direction *direction, const thrum_task *task, uint32_t *turn) {
    uint32_t word = th_word32_lock_list(&direction->xword);
    bool has = direction->task == task;
    *turn = th_told_turn(direction);
    publish(direction, word);
    return has;
}

/* ---- watching ---- */

bool th_direction_watch(th_direction *direction, th_waiter *waiter) {
    uint32_t word = th_word32_lock_list(&direction->xword);
    bool open = !(word & TH_IO_CLOSING);
    if (open) {
        th_waitlist_push(watchers_of(direction), waiter);
    }
    publish(direction, word);
    return open;
}

bool th_direction_unwatch(th_direction *direction, th_waiter *waiter) {
    uint32_t word = th_word32_lock_list(&direction->xword);
    bool listed = th_waitlist_leave(watchers_of(direction), waiter);
    publish(direction, word);
    return listed;
}

/* ---- closing ---- */

/* A plain thread may wait in the system: its wake-up stays open until it has been let go. */
static void wake_closed(th_waiter *chain) {
    while (chain) {
        th_waiter *next = chain->next; /* a woken waiter may be gone */
        const th_waiter *whole = th_waiter_whole(chain);
        if (!whole->fiber && whole->note) {
            th_os_wakeup_set((int)whole->note - 1);
        }
        th_waiter_let_go(chain);
        chain = next;
    }
}

bool th_direction_close(th_direction *direction) {
    uint32_t word = th_word32_lock_list(&direction->xword);
    if (word & TH_IO_CLOSING) {
        th_word32_publish(&direction->xword, word);
        return false;
    }
    th_waiter *ready = direction->ready;
    direction->ready = NULL;
    if (ready && ready->timed && !th_waiter_claim(ready, TH_WAIT_WOKEN)) {
        ready = NULL;
    }
    th_waiter *queued = th_waitlist_detach(queue_of(direction));
    th_waiter *watchers = th_waitlist_detach(watchers_of(direction));
    /* Woken as well: a post under way takes an earlier cancel away. */
    taken_off due = take_task(direction, TH_TASK_CANCELLED | TH_TASK_WOKEN);
    publish(direction, word | TH_IO_CLOSING);
    if (ready) {
        ready->next = NULL;
        wake_closed(ready);
    }
    wake_closed(queued);
    wake_closed(watchers);
    if (due.task) {
        th_task_is_due(NULL, due.task, due.dormant);
    }
    return true;
}

void th_direction_drain(th_direction *direction) {
    th_waiter me;
    th_waiter_init(&me, TH_ON_CLOSE, direction);
    uint32_t word = th_word32_lock_list(&direction->xword);
    if (!(word & TH_IO_HELD)) {
        th_word32_publish(&direction->xword, word);
        return;
    }
    note(&me, direction, 0); /* the turn lasts until this wait is over */
    direction->ready = &me;
    publish(direction, word);
    (void)th_waiter_wait(&me);
}
