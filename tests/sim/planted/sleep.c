/*
 * sleep.c: planted faults of sleeping and waking: wakeups that are lost, waiters that are gone.
 */
#include <errno.h>

#include "planted.h"
#include "platform/platform.h"

/* ---- Dekker on a futex ---- */

static unsigned ready, sleepers, word;

THREAD(dekker_waker) {
    th_store_relaxed(&ready, 1u);
    /* the fence is missing here */
    if (th_load_relaxed(&sleepers)) {
        th_store_relaxed(&word, 1u);
        th_os_futex_wake(&word, 1);
    }
}
/* The waker has no fence: it reads that no thread sleeps before others see that there is work. */
PLANTED_TSO(dekker_no_fence, "deadlock") {
    int t = sim_spawn(dekker_waker, NULL);
    th_store_relaxed(&sleepers, 1u);
    th_fence_seq();
    if (!th_load_relaxed(&ready)) {
        while (!th_load_relaxed(&word)) {
            th_os_futex_wait(&word, 0, TH_FOREVER);
        }
    }
    sim_join(t);
}

THREAD(dekker_waker_fenced) {
    th_store_relaxed(&ready, 1u);
    th_fence_seq();
    if (th_load_relaxed(&sleepers)) {
        th_store_relaxed(&word, 1u);
        th_os_futex_wake(&word, 1);
    }
}
/* The sleeper's fence is missing. */
PLANTED_TSO(dekker_no_fence_sleeper, "deadlock") {
    int t = sim_spawn(dekker_waker_fenced, NULL);
    th_store_relaxed(&sleepers, 1u);
    if (!th_load_relaxed(&ready)) {
        while (!th_load_relaxed(&word)) {
            th_os_futex_wait(&word, 0, TH_FOREVER);
        }
    }
    sim_join(t);
}

THREAD(dekker_waker_rmw) {
    th_store_relaxed(&ready, 1u);
    th_add_acq_rel(&word, 0u); /* this is a locked instruction on x86, and no fence in C11 */
    if (th_load_relaxed(&sleepers)) {
        th_store_relaxed(&word, 1u);
        th_os_futex_wake(&word, 1);
    }
}
/* A read-modify-write where a fence is needed: x86 never shows it. */
PLANTED_C11(dekker_rmw_for_fence, "deadlock") {
    int t = sim_spawn(dekker_waker_rmw, NULL);
    th_store_relaxed(&sleepers, 1u);
    th_fence_seq();
    if (!th_load_relaxed(&ready)) {
        while (!th_load_relaxed(&word)) {
            th_os_futex_wait(&word, 0, TH_FOREVER);
        }
    }
    sim_join(t);
}

/* ---- check, then sleep ---- */

THREAD(waker_early) {
    th_store_release(&ready, 1u);
    th_os_futex_wake(&word, 1); /* the word that is slept on does not change */
}
/* Between the check and the sleep the wake finds no sleeper. */
PLANTED(check_then_sleep, "deadlock") {
    int t = sim_spawn(waker_early, NULL);
    while (!th_load_acquire(&ready)) {
        th_os_futex_wait(&word, 0, TH_FOREVER);
    }
    sim_join(t);
}

THREAD(sleeper) {
    while (!th_load_acquire(&ready)) {
        th_os_futex_wait(&ready, 0, TH_FOREVER);
    }
}
/* One thread is woken where two may sleep. */
PLANTED(wakes_too_few, "deadlock") {
    int a = sim_spawn(sleeper, NULL);
    int b = sim_spawn(sleeper, NULL);
    th_store_release(&ready, 1u);
    th_os_futex_wake(&ready, 1);
    sim_join(a);
    sim_join(b);
}

/* A wait that returned is taken for a wake: it may have been spurious. */
THREAD(sets_word) {
    th_store_release(&word, 1u);
    th_os_futex_wake(&word, 1);
}
PLANTED(spurious_wake, "check") {
    int t = sim_spawn(sets_word, NULL);
    if (!th_load_acquire(&word)) {
        th_os_futex_wait(&word, 0, TH_FOREVER);
        sim_check(th_load_acquire(&word) == 1);
    }
    sim_join(t);
}

/* A deadline that passes is taken for the event. */
THREAD(sets_later) {
    th_store_release(&ready, 1u);
    th_store_release(&word, 1u);
    th_os_futex_wake(&word, 1);
}
PLANTED(timeout_is_no_wake, "check") {
    int t = sim_spawn(sets_later, NULL);
    int code = th_os_futex_wait(&word, 0, th_os_now() + 1000);
    if (code == -ETIMEDOUT) {
        sim_check(th_load_acquire(&ready));
    }
    sim_join(t);
}

/* ---- the waiter's memory ---- */

typedef struct waiter {
    unsigned done;
    unsigned woken; /* it is counted after the wake, which is too late */
} waiter;

static void wakes_waiter(void *arg) {
    waiter *w = arg;
    th_store_release(&w->done, 1u);
    th_os_futex_wake(&w->done, 1);
    w->woken++;
}
static void waits(waiter *w) {
    while (!th_load_acquire(&w->done)) {
        th_os_futex_wait(&w->done, 0, TH_FOREVER);
    }
}
/* As soon as it is done the waiter gives its record away, and the waker still touches it. */
PLANTED(waker_touches_waiter, "race use-after-free") {
    waiter *w = th_os_map(4096);
    int t = sim_spawn(wakes_waiter, w);
    waits(w);
    th_os_unmap(w, 4096);
    sim_join(t);
}
/* The same on the heap, where freeing is a write: so it also shows when the waker came first. */
PLANTED(waker_races_free, "race use-after-free") {
    waiter *w = sim_alloc(sizeof *w);
    w->done = w->woken = 0;
    int t = sim_spawn(wakes_waiter, w);
    waits(w);
    sim_free(w);
    sim_join(t);
}

/* Two threads wait for each other's lock. */
static unsigned lock_a, lock_b;

static void lock(unsigned *l) {
    unsigned free = 0;
    while (!th_cas_acquire(l, &free, 1u)) {
        th_os_futex_wait(l, 1, TH_FOREVER);
        free = 0;
    }
}
static void unlock(unsigned *l) {
    th_store_release(l, 0u);
    th_os_futex_wake(l, 1);
}
THREAD(locks_b_a) {
    lock(&lock_b);
    lock(&lock_a);
    unlock(&lock_a);
    unlock(&lock_b);
}
PLANTED(lock_order, "deadlock") {
    int t = sim_spawn(locks_b_a, NULL);
    lock(&lock_a);
    lock(&lock_b);
    unlock(&lock_b);
    unlock(&lock_a);
    sim_join(t);
}
