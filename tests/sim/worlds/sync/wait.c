/*
 * wait.c: the wait protocol itself (src/core/wait/WAITING.md): the three cases of a wake, waiting
 * with the list's lock held, waits that several things can end; the waiter is freed as soon as its
 * wait has returned.
 */
#include "core/wait/wait.h"

#include "base/atomic.h"
#include "crew.h"
#include "platform/platform.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

static uint64_t xword; /* a list of its own, as a primitive has one */
static uint32_t xnarrow;
static void *first;
static void *last;
static th_waiter *shared; /* used if the list is not under test */
static uint32_t xthere;
static int data[2]; /* plain: the wakers' writes */
static unsigned claimed;

static th_waitlist list(void) {
    return (th_waitlist){&first, &last};
}

static th_waiter *new_waiter(void) {
    th_waiter *waiter = sim_alloc(sizeof *waiter);
    th_waiter_init(waiter, TH_ON_NOTHING, NULL);
    return waiter;
}

/* A wait's memory may be overwritten at once. */
static void gone(th_waiter *waiter) {
    sim_free(waiter);
    crew_scrub();
}

static void nothing(void) {
}

static uint64_t lock(void) {
    for (;;) {
        uint64_t seen = th_load_relaxed(&xword); /* relaxed: the exchange decides */
        if ((seen & TH_WORD_LOCKED) == 0 && th_word64_lock(&xword, seen)) {
            return seen;
        }
        crew_give_way();
    }
}

/* ---- before, during and after the suspend ---- */

static void wait_shared(void *unused) {
    (void)unused;
    th_waiter *waiter = new_waiter();
    shared = waiter;
    th_store_release(&xthere, 1);
    sim_check(th_waiter_wait(waiter) == TH_WAIT_WOKEN);
    sim_check(data[0] == 1 && waiter->value == 7);
    gone(waiter);
}

static void wake_shared(void *unused) {
    (void)unused;
    crew_until(th_load_acquire(&xthere) == 1);
    data[0] = 1;
    shared->value = 7;
    th_waiter_wake(shared);
}

/* A wake comes before, during or after the suspend: one of the two sides queues the fiber. */
static const crew_play woken = {nothing, NULL, 2, {wait_shared, wake_shared}};
CREW_WORLDS(wait_woken, woken, .exhaustive = true)
CREW_WORLD_SCHED(wait_woken, woken)

static void wait_twice(void *unused) {
    (void)unused;
    th_waiter *waiter = new_waiter();
    for (int round = 0; round < 2; round++) {
        shared = waiter;
        th_store_release(&xthere, (uint32_t)round + 1);
        sim_check(th_waiter_wait(waiter) == TH_WAIT_WOKEN);
        sim_check(data[round] == 1);
        /* it is the same memory: the first wake must not reach the second wait */
        th_waiter_init(waiter, TH_ON_NOTHING, NULL);
    }
    gone(waiter);
}

static void wake_twice(void *unused) {
    (void)unused;
    for (int round = 0; round < 2; round++) {
        crew_until(th_load_acquire(&xthere) == (uint32_t)round + 1);
        data[round] = 1;
        th_waiter_wake(shared);
    }
}

/* The word is used again at once: a late futex wake on it does no harm. */
static const crew_play again = {nothing, NULL, 2, {wait_twice, wake_twice}};
CREW_WORLDS(wait_again, again, .exhaustive = true)

static void wake_each_other(int mine) {
    static th_waiter *waiters[2];
    static uint32_t xready[2];
    th_waiter *waiter = new_waiter();
    waiters[mine] = waiter;
    th_store_release(&xready[mine], 1);
    crew_until(th_load_acquire(&xready[!mine]) == 1);
    data[mine] = 1;
    th_waiter_wake(waiters[!mine]);
    th_os_errno_set(10 + mine);
    sim_check(th_waiter_wait(waiter) == TH_WAIT_WOKEN);
    sim_check(th_os_errno_get() == 10 + mine); /* the fiber's own, on any thread */
    sim_check(data[!mine] == 1);
    gone(waiter);
}

static void left(void *unused) {
    (void)unused;
    wake_each_other(0);
}

static void right(void *unused) {
    (void)unused;
    wake_each_other(1);
}

/* Two fibers wake each other: each is in the middle of its own suspend. */
static const crew_play crossed = {nothing, NULL, 2, {left, right}};
CREW_WORLDS(wait_crossed, crossed, .exhaustive = true)

/* ---- with the list's lock held ---- */

static void wait_locked(void *unused) {
    (void)unused;
    th_waiter *waiter = new_waiter();
    (void)lock();
    th_waitlist_push(list(), waiter);
    sim_check(th_waiter_wait_unlock(waiter, &xword, TH_WORD_WAITERS, true) == TH_WAIT_WOKEN);
    sim_check(data[0] == 1);
    gone(waiter);
}

static void wake_listed(void *unused) {
    (void)unused;
    data[0] = 1;
    for (unsigned woken_count = 0; woken_count < 2;) {
        crew_until((th_load_relaxed(&xword) & TH_WORD_WAITERS) != 0);
        uint64_t seen = lock();
        if (!first) { /* it looked too late */
            th_word64_publish(&xword, seen);
            continue;
        }
        th_waiter *waiter = th_waitlist_pop(list());
        th_word64_publish(&xword, first ? TH_WORD_WAITERS : 0);
        th_waiter_wake(waiter);
        woken_count++;
    }
}

/*
 * A waker that finds a waiter on the list finds it parked; a plain thread gives the lock up before.
 */
static const crew_play locked = {nothing, NULL, 3, {wait_locked, wait_locked, wake_listed}};
CREW_WORLDS(wait_locked, locked)

static void wait_narrow(void *unused) {
    (void)unused;
    th_waiter *waiter = new_waiter();
    crew_until(th_word32_lock(&xnarrow, 0));
    shared = waiter;
    sim_check(th_waiter_wait_unlock(waiter, &xnarrow, TH_WORD_WAITERS, false) == TH_WAIT_WOKEN);
    sim_check(data[0] == 1);
    gone(waiter);
}

static void wake_narrow(void *unused) {
    (void)unused;
    data[0] = 1;
    crew_until(th_word32_lock(&xnarrow, TH_WORD_WAITERS));
    th_waiter *waiter = shared;
    th_word32_publish(&xnarrow, 0);
    th_waiter_wake(waiter);
}

/* The same with a word of 32 bits. */
static const crew_play narrow = {nothing, NULL, 2, {wait_narrow, wake_narrow}};
CREW_WORLDS(wait_narrow, narrow, .exhaustive = true)

/* ---- several that can end it ---- */

static void wait_claimed(void *unused) {
    (void)unused;
    th_waiter *waiter = new_waiter();
    (void)lock();
    th_waitlist_push(list(), waiter);
    th_word64_publish(&xword, TH_WORD_WAITERS);
    uint32_t outcome = th_waiter_wait(waiter);
    sim_check(outcome == TH_WAIT_WOKEN || outcome == TH_WAIT_TIMEDOUT);
    sim_check(data[outcome == TH_WAIT_TIMEDOUT] == 1);
    gone(waiter);
}

static void claim(uint32_t outcome, int mine) {
    crew_until((th_load_relaxed(&xword) & TH_WORD_WAITERS) != 0);
    uint64_t seen = lock();
    th_waiter *waiter = first;
    bool won = waiter && th_waiter_claim(waiter, outcome);
    if (won) {
        sim_check(!th_waiter_claim(waiter, TH_WAIT_CANCELLED)); /* it is decided already */
        claimed++;
        th_waitlist_remove(list(), waiter);
        data[mine] = 1;
    }
    /* The list lives as long as the loser may still look: WAITERS stays, so that it comes. */
    th_word64_publish(&xword, seen);
    if (won) {
        th_waiter_release(waiter);
    }
}

static void wake_by_claim(void *unused) {
    (void)unused;
    claim(TH_WAIT_WOKEN, 0);
}

static void time_out(void *unused) {
    (void)unused;
    claim(TH_WAIT_TIMEDOUT, 1);
}

static void one_claimed(void) {
    sim_check(claimed == 1);
}

/* A wake meets a timeout: one of them ends the wait, the other does nothing. */
static const crew_play ended_by_two = {
    nothing, one_claimed, 3, {wait_claimed, wake_by_claim, time_out}};
CREW_WORLDS(wait_claimed, ended_by_two)
