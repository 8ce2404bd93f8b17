/*
 * barrier.c: the barrier (src/sync/COUNTERS.md, "Barrier"): the last to come against waiters that
 * give up, come again, and free.
 */
#include <errno.h>

#include "base/atomic.h"
#include "crew.h"
#include "sync/wordlock.h"
#include "whole.h"

#define LATER 1000000

static thrum_barrier *barrier;
static int data[4]; /* plain: each thread's writes before it came */
static int codes[4];
static uint32_t xlast; /* parts that have yet to come back */
static uint32_t xgo;

static void make(unsigned n) {
    barrier = sim_alloc(sizeof *barrier);
    thrum_barrier_init(barrier, n);
}

static void end(void) {
    thrum_barrier *gone = barrier;
    sim_check(thrum_barrier_destroy(gone) == 0);
    sim_free(gone);
    crew_scrub();
}

static void make_two(void) {
    make(2);
}

/* ---- two ---- */

/* The woken one frees it: the last to come must have touched it for the last time. */
static void come_and_free(unsigned me) {
    data[me] = 1;
    int result = thrum_barrier_wait(barrier);
    sim_check(result == 0 || result == 1);
    sim_check(data[0] == 1 && data[1] == 1);
    crew_scrub();
    if (result == 0) {
        end();
    }
}

static void come_a(void *unused) {
    (void)unused;
    come_and_free(0);
}

static void come_b(void *unused) {
    (void)unused;
    come_and_free(1);
}

static const crew_play two = {make_two, NULL, 2, {come_a, come_b}};
CREW_WORLDS(barrier_two, two, .exhaustive = true)
CREW_WORLD_SCHED(barrier_two, two)

/* ---- three, and again ---- */

static void make_three(void) {
    make(3);
    xlast = 3;
}

static void come_last_frees(unsigned me) {
    data[me] = 1;
    codes[me] = thrum_barrier_wait(barrier);
    sim_check(data[0] == 1 && data[1] == 1 && data[2] == 1);
    crew_scrub();
    if (th_sub_acq_rel(&xlast, 1u) == 1) {
        sim_check(codes[0] + codes[1] + codes[2] == 1);
        end();
    }
}

static void last_a(void *unused) {
    (void)unused;
    come_last_frees(0);
}

static void last_b(void *unused) {
    (void)unused;
    come_last_frees(1);
}

static void last_c(void *unused) {
    (void)unused;
    come_last_frees(2);
}

/* All see all writes; one of them learns that it was the last. */
static const crew_play three = {make_three, NULL, 3, {last_a, last_b, last_c}};
CREW_WORLDS(barrier_three, three, .exhaustive = true)

static void make_again(void) {
    make(2);
    xlast = 2;
}

static void come_again(unsigned me) {
    for (int round = 1; round <= 3; round++) {
        data[me] = round;
        codes[me] += thrum_barrier_wait(barrier);
        sim_check(data[1 - me] == round);
        codes[me] += thrum_barrier_wait(barrier);
        crew_scrub();
    }
    if (th_sub_acq_rel(&xlast, 1u) == 1) {
        sim_check(codes[0] + codes[1] == 6);
        end();
    }
}

static void again_a(void *unused) {
    (void)unused;
    come_again(0);
}

static void again_b(void *unused) {
    (void)unused;
    come_again(1);
}

/* It begins anew: a thread that is let through and comes again waits for the next round. */
static const crew_play again = {make_again, NULL, 2, {again_a, again_b}};
CREW_WORLDS(barrier_again, again, .exhaustive = true)
CREW_WORLD_SCHED(barrier_again, again)

/* ---- with a deadline ---- */

static void come_or_late(unsigned me, thrum_time after) {
    data[me] = 1;
    codes[me] = thrum_barrier_wait_until(barrier, thrum_after(after));
    crew_scrub();
    sim_check(codes[me] == 0 || codes[me] == 1 || codes[me] == -ETIMEDOUT);
}

static void late_a(void *unused) {
    (void)unused;
    come_or_late(0, LATER);
    sim_check(codes[0] < 0 || data[1] == 1);
}

static void late_b(void *unused) {
    (void)unused;
    come_or_late(1, 2 * LATER);
    sim_check(codes[1] < 0 || data[0] == 1);
}

static void late_c(void *unused) {
    (void)unused;
    come_or_late(2, 2 * LATER);
}

/* Both are let through, or none is. */
static void both_or_none(void) {
    sim_check(codes[0] + codes[1] == 1 || (codes[0] < 0 && codes[1] < 0));
    end();
}

static const crew_play timed = {make_two, both_or_none, 2, {late_a, late_b}};
CREW_WORLDS(barrier_timed, timed, .exhaustive = true, .timers_max = 2)
CREW_WORLD_SCHED(barrier_timed, timed)

/* Three come for two places: two go on and one is late, or all are late. */
static void two_or_none(void) {
    int passed = 0;
    int last = 0;
    for (unsigned i = 0; i < 3; i++) {
        passed += codes[i] >= 0;
        last += codes[i] == 1;
    }
    sim_check((passed == 2 && last == 1) || (passed == 0 && last == 0));
    end();
}

static void late_a_only(void *unused) {
    (void)unused;
    come_or_late(0, LATER);
}

static void late_b_only(void *unused) {
    (void)unused;
    come_or_late(1, 2 * LATER);
}

static const crew_play timed_three = {make_two, two_or_none, 3, {late_a_only, late_b_only, late_c}};
CREW_WORLDS(barrier_timed_three, timed_three, .exhaustive = true, .timers_max = 3)

/* ---- cancelled ---- */

static thrum_sched *sched;

static int comes(void *arg) {
    int *code = arg;
    *code = thrum_barrier_wait(barrier);
    crew_scrub();
    return 0;
}

static void go(thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, fn, arg) == 0);
}

/* stop_until against the last to come: both go on, or both are cancelled and none has arrived. */
SIM_WORLD(barrier_cancelled, .heavy = true) {
    thrum_config config = whole_config(2);
    sched = whole_start(&config);
    make(2);
    go(comes, &codes[0]);
    go(comes, &codes[1]);
    int code = thrum_sched_stop_until(sched, thrum_now());
    sim_check(code == 0 || code == -ETIMEDOUT);
    if (code) {
        whole_stop(sched);
    }
    sim_check(codes[0] + codes[1] == 1 || (codes[0] == -ECANCELED && codes[1] == -ECANCELED));
    end();
}

/* ---- destroying ---- */

/* relaxed: no thread learns anything else by it */
static bool is_waited_for(void) {
    return (th_load_relaxed(&barrier->reserved_word) & TH_WORD_WAITERS) != 0;
}

static void come_only(void *unused) {
    (void)unused;
    data[0] = 1;
    sim_check(thrum_barrier_wait(barrier) == 0);
    crew_scrub();
}

static void come_when_told(void *unused) {
    (void)unused;
    crew_until(th_load_relaxed(&xgo) == 1);
    data[1] = 1;
    sim_check(thrum_barrier_wait(barrier) == 1);
}

static void destroy_when_open(void *unused) {
    (void)unused;
    crew_until(is_waited_for());
    sim_check(thrum_barrier_destroy(barrier) == -EBUSY);
    th_store_relaxed(&xgo, 1);
    crew_until(thrum_barrier_destroy(barrier) == 0);
    sim_check(data[0] == 1 && data[1] == 1);
    sim_free(barrier);
}

/* It is destroyed as soon as no thread waits. */
static const crew_play destroyed = {
    make_two, NULL, 3, {destroy_when_open, come_only, come_when_told}};
CREW_WORLDS(barrier_destroyed, destroyed, .exhaustive = true)
