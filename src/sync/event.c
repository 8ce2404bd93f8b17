/*
 * event.c: the event, manual and auto.
 *
 *     word    bit 0  LOCKED    the list lock (wordlock.h)
 *             bit 1  WAITERS   the list is not empty
 *             bit 2  SIGNALED  the event is signaled
 *     mode    manual or auto; constant
 *
 * Invariant: SIGNALED implies an empty list and an unlocked word: a signal that finds waiters is
 * handed to the first (auto) or wakes all of them (manual). While LOCKED is set only its holder
 * changes the word.
 *
 * A signal that finds the event signaled still writes the word. If it only read the word, its
 * caller's writes might become visible after another thread has cleared the event and looked for
 * them for nothing: a lost wakeup. sync/COUNTERS.md has the argument.
 */
#include "thrum/event.h"

#include <errno.h>

#include "base/check.h"
#include "core/state/thread.h"
#include "core/task/await.h"
#include "platform/platform.h"
#include "sync/part.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

#define SIGNALED 4u
#define FLAGS (TH_WORD_LOCKED | TH_WORD_WAITERS)

static inline th_waitlist list_of(thrum_event *event) {
    return (th_waitlist){&event->reserved_first, &event->reserved_last};
}

static inline bool is_auto(const thrum_event *event) {
    return event->reserved_mode == (uint32_t)THRUM_EVENT_AUTO;
}

/*
 * Passes a signaled event, taking the signal of an auto one. The word must be SIGNALED, hence
 * without flags. False: the word changed.
 */
static inline bool pass(thrum_event *event, uint32_t seen) {
    if (is_auto(event)) {
        /*
         * pairs: mark, th_word32_look; the signalers' earlier writes are visible, and our signals
         * of other events to a wait for several that misses this one
         */
        return th_cas_acq_rel(&event->reserved_word, &seen, 0);
    }
    return true; /* the caller's load was the acquire */
}

/* Takes a waiter that gives up off the list. False: it was off the list already. */
static bool leave(void *object, th_waiter *me) {
    thrum_event *event = object;
    return th_word32_leave(&event->reserved_word, list_of(event), me, SIGNALED);
}

static TH_ALWAYS_INLINE int stand(void *object, th_waiter *me, bool late) {
    thrum_event *event = object;
    uint32_t *xword = &event->reserved_word;
    for (;;) {
        uint32_t seen = th_word32_look(xword);
        if ((seen & SIGNALED) != 0) {
            if (pass(event, seen)) {
                return 1;
            }
        } else if (late) {
            return -ETIMEDOUT;
        } else if (th_word32_lock(xword, seen)) {
            th_waitlist_push(list_of(event), me);
            return 0;
        }
    }
}

/* A waiter that is queued keeps the list lock. */
static const th_wait_kind waits = {.on = TH_ON_EVENT,
                                   .stand = stand,
                                   .leave = leave,
                                   .locked = sizeof(uint32_t),
                                   .unlocked = TH_WORD_WAITERS};
_Static_assert(offsetof(thrum_event, reserved_word) == 0, "as a th_wait_kind says");

static TH_NOINLINE int wait_slow(thrum_event *event) {
    return th_wait_on(&waits, event, THRUM_FOREVER);
}

int thrum_event_wait(thrum_event *event) {
    /* pairs: mark, th_word32_publish; the writes of a manual event's signaler are visible */
    uint32_t seen = th_load_acquire(&event->reserved_word);
    if ((seen & SIGNALED) != 0 && pass(event, seen)) {
        return 0;
    }
    return wait_slow(event);
}

int thrum_event_wait_until(thrum_event *event, thrum_time deadline) {
    return th_wait_on(&waits, event, deadline);
}

/* It is timed also without a deadline: a canceller's `leave` would get the text as its object. */
static TH_NOINLINE int wait_outside(thrum_event *event, const char *what, uint64_t message,
                                    thrum_time deadline) {
    th_waiter me;
    th_waiter_init_for(&me, TH_ON_OUTSIDE, (void *)(uintptr_t)(what ? what : ""), true, NULL);
    me.message = message;
    return th_wait_with(&waits, event, &me, true, deadline);
}

int thrum_event_wait_outside(thrum_event *event, const char *what, thrum_time deadline) {
    return wait_outside(event, what, 0, deadline);
}

int thrum_event_wait_message(thrum_event *event, const char *what, int peer, int tag,
                             thrum_time deadline) {
    return wait_outside(event, what, th_message_of(peer, tag), deadline);
}

bool thrum_event_test(thrum_event *event) {
    for (;;) {
        /* pairs: mark; the writes of a manual event's signaler are visible */
        uint32_t seen = th_load_acquire(&event->reserved_word);
        if ((seen & SIGNALED) == 0) {
            return false;
        }
        if (pass(event, seen)) { /* lock-free: a failure is another's success */
            return true;
        }
    }
}

bool thrum_event_is_signaled(const thrum_event *event) {
    /* pairs: mark, th_word32_publish; the signaler's earlier writes are visible */
    return (th_load_acquire(&event->reserved_word) & SIGNALED) != 0;
}

/* ---- waiting without a stack ---- */

int thrum_event_on_until(thrum_event *event, thrum_await *await, thrum_task *task,
                         thrum_time deadline) {
    return th_await_on(&waits, event, await, task, deadline);
}

/* ---- waiting for any of several ---- */

/* How many parts the smaller of the two frames of a wait has; more than that are rare. */
#define FEW 8

/* The number of a signaled event, each with the same chance; -1 when none is signaled. */
static int look_around(thrum_event *const events[], size_t n) {
    int found = -1;
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (thrum_event_is_signaled(events[i])) {
            count++;
            if (count == 1 || th_self_random() % count == 0) {
                found = (int)i;
            }
        }
    }
    return found;
}

bool th_event_stand(thrum_event *event, th_waiter *part) {
    uint32_t *xword = &event->reserved_word;
    for (;;) {
        uint32_t seen = th_word32_look(xword);
        if ((seen & SIGNALED) != 0) {
            return false;
        } else if (th_word32_lock(xword, seen)) {
            th_waitlist_push(list_of(event), part);
            th_word32_publish(xword, TH_WORD_WAITERS);
            return true;
        }
    }
}

void th_event_leave(thrum_event *event, th_waiter *part) {
    (void)leave(event, part);
}

/*
 * Waits on all of them. An event that is found signaled on the way is taken only after the wait's
 * own word was claimed, so that no event before it can hand over a signal as well. If another
 * caller was faster to take it, the wait begins anew: nothing was consumed, and a signal that met
 * a part of this wait meanwhile has stayed with its event.
 */
static TH_NOINLINE int wait_any_on(thrum_event *const events[], size_t n, thrum_time deadline,
                                   th_waiter parts[]) {
    for (;;) {
        th_waiter me;
        th_waiter_init(&me, TH_ON_EVENTS, events[0]);
        me.timed = true;
        size_t standing = 0;
        while (standing < n) {
            th_waiter_init_part(&parts[standing], &me, (int32_t)standing);
            if (!th_event_stand(events[standing], &parts[standing])) {
                break;
            }
            standing++;
        }
        bool taken = false;
        bool claimed = standing < n && th_waiter_claim(&me, TH_WAIT_WOKEN);
        uint32_t outcome = TH_WAIT_WOKEN;
        if (claimed) {
            taken = thrum_event_test(events[standing]);
        } else {
            outcome = th_waiter_wait_until(&me, deadline);
        }
        for (size_t i = 0; i < standing; i++) {
            (void)leave(events[i], &parts[i]); /* after this no thread touches the part */
        }
        if (!claimed) {
            return outcome == TH_WAIT_WOKEN ? me.value : th_waiter_result(outcome);
        }
        if (taken) {
            return (int)standing;
        }
    }
}

static TH_NOINLINE int wait_any_few(thrum_event *const events[], size_t n, thrum_time deadline) {
    th_waiter parts[FEW];
    return wait_any_on(events, n, deadline, parts);
}

static TH_NOINLINE int wait_any_many(thrum_event *const events[], size_t n, thrum_time deadline) {
    th_waiter parts[THRUM_EVENT_WAIT_ANY_MAX];
    return wait_any_on(events, n, deadline, parts);
}

int thrum_event_wait_any(thrum_event *const events[], size_t n, thrum_time deadline) {
    if (n == 0 || n > THRUM_EVENT_WAIT_ANY_MAX || !events) {
        return -EINVAL;
    }
    int found;
    while ((found = look_around(events, n)) >= 0) { /* lock-free: a failure is another's success */
        if (thrum_event_test(events[found])) {
            return found;
        }
    }
    if (n == 1 && th_is_late(deadline)) {
        return -ETIMEDOUT;
    }
    /* One was looked at after the other: a late caller is on all lists once before it gives up. */
    return n <= FEW ? wait_any_few(events, n, deadline) : wait_any_many(events, n, deadline);
}

/* ---- signaling ---- */

/* With the list lock, which it gives up; the list is not empty. Wakes one (auto), or all. */
static void wake_waiters(thrum_event *event) {
    uint32_t *xword = &event->reserved_word;
    if (is_auto(event)) {
        th_waiter *first = th_waitlist_pop(list_of(event));
        bool empty = th_waitlist_is_empty(list_of(event));
        th_word32_publish(xword, empty ? (first ? 0 : SIGNALED) : TH_WORD_WAITERS);
        if (first) {
            th_waiter_let_go(first);
        }
    } else {
        th_waiter *chain = th_waitlist_detach(list_of(event));
        th_word32_publish(xword, SIGNALED);
        th_waitlist_wake_all(chain);
    }
}

/* Signals where there are no waiters, also from SIGNALED to SIGNALED (see the top). */
static inline bool mark(uint32_t *xword, uint32_t seen) {
    /*
     * pairs: pass, thrum_event_wait, thrum_event_test, thrum_event_clear; publishes the caller's
     * writes
     */
    return th_cas_release(xword, &seen, SIGNALED);
}

void thrum_event_signal(thrum_event *event) {
    uint32_t *xword = &event->reserved_word;
    unsigned spins = 0;
    for (;;) {
        /* relaxed: the compare-exchange decides */
        uint32_t seen = th_load_relaxed(xword);
        if ((seen & TH_WORD_LOCKED) != 0) {
            th_backoff(&spins);
        } else if ((seen & TH_WORD_WAITERS) != 0) {
            if (th_word32_lock(xword, seen)) {
                wake_waiters(event);
                return;
            }
        } else if (mark(xword, seen)) {
            return;
        }
    }
}

void thrum_event_pulse(thrum_event *event) {
    uint32_t *xword = &event->reserved_word;
    unsigned spins = 0;
    for (;;) {
        /* relaxed: a waiter that may not be missed queued before the call; the lock decides */
        uint32_t seen = th_load_relaxed(xword);
        if ((seen & TH_WORD_LOCKED) != 0) {
            th_backoff(&spins);
        } else if ((seen & TH_WORD_WAITERS) == 0) {
            return;
        } else if (th_word32_lock(xword, seen)) {
            th_waiter *chain = th_waitlist_detach(list_of(event));
            th_word32_publish(xword, 0);
            th_waitlist_wake_all(chain);
            return;
        }
    }
}

void thrum_event_clear(thrum_event *event) {
    uint32_t *xword = &event->reserved_word;
    /* relaxed: if not signaled there is nothing to clear; a signal not seen is after the clear */
    uint32_t seen = th_load_relaxed(xword);
    while ((seen & SIGNALED) != 0) {
        /* pairs: mark, th_word32_look; as in `pass` */
        if (th_cas_acq_rel(xword, &seen, 0)) {
            return;
        }
    }
}

void thrum_event_init(thrum_event *event, thrum_event_mode mode, bool signaled) {
    *event = (thrum_event)THRUM_EVENT_INIT(mode, signaled);
}

int thrum_event_destroy(thrum_event *event) {
    /* pairs: th_word32_publish, mark; the caller sees all that the last calls wrote */
    if ((th_load_acquire(&event->reserved_word) & FLAGS) != 0) {
        return -EBUSY;
    }
    *event = (thrum_event)THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
    return 0;
}
