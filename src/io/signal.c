/*
 * signal.c: tasks that wait for signals of the process.
 *
 * A handler counts the signal and sets a wake-up, a descriptor that no one ever takes back: each
 * setting of it is an event, for all that watch it (direction.h). A waiter is among them before it
 * reads the counts, so that it misses none. Plain threads sleep on a number that grows with each
 * signal.
 *
 * A signal that *lingers* has no user any longer, but keeps the handler: it is ignored for a time,
 * and then the handler makes it act as before.
 */
#include "io/signal.h"

#include <errno.h>

#include "base/atomic.h"
#include "core/control/atfork.h"
#include "core/ready/waiter.h"
#include "core/basis/caught.h"
#include "core/state/fiber_state.h"
#include "core/basis/lock.h"
#include "core/wait/wait.h"
#include "io/named.h"
#include "thrum/signal.h"

typedef struct caught {
    uint32_t xcount;  /* signals that no wait has got yet */
    unsigned users;   /* callers that want it caught; with the lock */
    int64_t xlingers; /* until then it is let pass; 0: it does not linger; written with the lock */
} caught;

static th_lock lock = TH_LOCK_INIT; /* protects `users` and the making of the wake-up */
static caught signals[TH_OS_SIGNALS];
static thrum_io wakeup;    /* made once; {0} before */
static int xwakeup = -1;   /* the same for the handler */
static uint32_t xsequence; /* grows with each signal; plain threads sleep on it */

/* In a handler, on any thread. */
static void on_signal(int number) {
    /* relaxed: a signal that comes while it is caught again may count as either */
    int64_t until = th_load_relaxed(&signals[number].xlingers);
    if (until) {
        if (until <= th_os_now()) {
            th_os_signal_default(number, TH_OS_CATCH_WAITS);
        }
        return;
    }
    /* pairs: take; the system orders the sender's writes */
    th_add_release(&signals[number].xcount, 1u);
    th_add_release(&xsequence, 1u); /* pairs: wait_in_thread; the count */
    th_os_futex_wake(&xsequence, INT32_MAX);
    /* seq: the count before the event, whose worker looks for waiters; wait_in_fiber */
    th_fence_seq();
    int fd = th_load_acquire(&xwakeup); /* pairs: make_wakeup; that it is open */
    if (fd >= 0) {
        th_os_wakeup_set(fd);
    }
}

/* In the child of a fork, its only thread: nothing is caught, and the wake-up is the parent's. */
static void in_child(void) {
    th_lock_init(&lock);
    for (int i = 1; i < TH_OS_SIGNALS; i++) {
        /* Also without users: a release may have waited for the lock when the process forked. */
        th_caught_end(i, TH_OS_CATCH_WAITS);
        signals[i] = (caught){0};
    }
    if (wakeup.turn) { /* as it is made the handler does not have it yet */
        th_os_wakeup_close(wakeup.fd);
    }
    th_store_relaxed(&xwakeup, -1); /* relaxed: see above */
    wakeup = (thrum_io){0};
}

/* With the lock. */
static int make_wakeup(void) {
    const int code = wakeup.turn ? 0 : th_record_wakeup(&wakeup);
    if (!code) {
        th_store_release(&xwakeup, wakeup.fd); /* pairs: on_signal; that it is open */
    }
    return code;
}

/* ---- catching ---- */

static bool is_signal(int number) {
    return number > 0 && number < TH_OS_SIGNALS;
}

int thrum_signal_catch(int signal) {
    if (!is_signal(signal)) {
        return -EINVAL;
    }
    if (th_load_relaxed(&xwakeup) < 0) { /* relaxed: once more is no harm */
        th_atfork_in_child(in_child);    /* before the lock is held for the first time */
    }
    TH_LOCKED(&lock);
    int code = make_wakeup();
    if (!code && signals[signal].users == 0) {
        /* relaxed: those before were not for its users */
        th_store_relaxed(&signals[signal].xcount, 0u);
        code = th_caught_begin(signal, TH_OS_CATCH_WAITS, on_signal);
        th_store_relaxed(&signals[signal].xlingers, INT64_C(0)); /* relaxed: see on_signal */
    }
    signals[signal].users += !code;
    return code;
}

int th_signal_release_lingering(int signal, int64_t lingers) {
    if (!is_signal(signal)) {
        return -EINVAL;
    }
    TH_LOCKED(&lock);
    int code = signals[signal].users ? 0 : -EINVAL;
    if (!code && --signals[signal].users == 0) {
        if (lingers && th_os_signal_is_ours(signal)) {
            th_store_relaxed(&signals[signal].xlingers, lingers); /* relaxed: see on_signal */
        } else {
            th_caught_end(signal, TH_OS_CATCH_WAITS);
        }
    }
    return code;
}

int thrum_signal_release(int signal) {
    return th_signal_release_lingering(signal, 0);
}

/* ---- waiting ---- */

/* Takes one of the signals that came: its number, or 0. */
static int take(const int *wanted, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        uint32_t *xcount = &signals[wanted[i]].xcount;
        uint32_t count = th_load_relaxed(xcount); /* relaxed: the exchange decides */
        while (count) {
            /* pairs: on_signal. Lock-free; ABA: the count is the whole state */
            if (th_cas_acquire(xcount, &count, count - 1)) {
                return wanted[i];
            }
        }
    }
    return 0;
}

/* Waits for an event of the wake-up, unless a signal is there: its number, 0, or a code. */
static int wait_in_fiber(th_fiber *fiber, const int *wanted, unsigned n, thrum_time deadline) {
    th_record *record = th_record_at(wakeup.fd);
    int code = th_record_join(record, wakeup.turn, fiber->sched);
    if (code) {
        return code;
    }
    th_waiter whole;
    th_waiter part;
    th_waiter_init(&whole, TH_ON_SIGNAL, (void *)(uintptr_t)wanted);
    whole.timed = true;
    whole.note = n;
    th_waiter_init_part(&part, &whole, 0);
    (void)th_direction_watch(&record->directions[0], &part); /* it is never closed */
    /* seq: the entry in the list before the count; on_signal */
    th_fence_seq();
    int number = take(wanted, n);
    if (!number) {
        code = th_waiter_result(th_waiter_wait_until(&whole, deadline));
    }
    if (!th_waiter_claim(&whole, TH_WAIT_TIMEDOUT)) {
        (void)th_waiter_wait(&whole); /* another thread is about to let go */
    }
    (void)th_direction_unwatch(&record->directions[0], &part);
    return number ? number : code;
}

static int wait_in_thread(const int *wanted, unsigned n, thrum_time deadline) {
    uint32_t seen = th_load_acquire(&xsequence); /* pairs: on_signal; the counts */
    int number = take(wanted, n);
    if (number) {
        return number;
    }
    int code = th_os_futex_wait(&xsequence, seen, deadline);
    return code == -ETIMEDOUT ? code : 0;
}

static int wait_for(const int *wanted, unsigned n, thrum_time deadline) {
    for (;;) {
        int number = take(wanted, n);
        if (number) {
            return number;
        }
        th_fiber *fiber = th_fiber_self();
        number =
            fiber ? wait_in_fiber(fiber, wanted, n, deadline) : wait_in_thread(wanted, n, deadline);
        if (number) {
            return number;
        }
    }
}

int thrum_signal_wait(const int *wanted, unsigned n, thrum_time deadline) {
    if (!wanted || !n) {
        return -EINVAL;
    }
    unsigned got = 0;
    int code = 0;
    while (got < n && !(code = thrum_signal_catch(wanted[got]))) {
        got++;
    }
    if (!code) {
        code = wait_for(wanted, n, deadline);
    }
    while (got) {
        (void)thrum_signal_release(wanted[--got]);
    }
    return code;
}
