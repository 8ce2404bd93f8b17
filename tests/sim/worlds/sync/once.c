/*
 * once.c: done once (src/sync/LOCKS.md, "Once"): the end of the function against callers that
 * come, wait, give up, and free.
 */
#include <errno.h>

#include <thrum/once.h>

#include "base/atomic.h"
#include "crew.h"
#include "sync/wordlock.h"

#define LATER 1000000

static thrum_once *once;
static unsigned calls; /* plain: the functions' writes, one after the other */
static unsigned fails;
static unsigned refused; /* calls whose functions failed, counted by the last one */
static unsigned late[2];
static uint32_t xlast; /* parts that have yet to come back */
static uint32_t xgo;

static void make(void) {
    once = sim_alloc(sizeof *once);
    thrum_once_init(once);
}

static void end(void) {
    thrum_once *gone = once;
    sim_check(thrum_once_destroy(gone) == 0);
    sim_free(gone);
    crew_scrub();
}

static int function(void *mine) {
    calls++;
    *(bool *)mine = true;
    return 1;
}

/* ---- two come ---- */

/* A caller that found it done frees it: the other is still in its call. */
static void run_and_free(void *unused) {
    (void)unused;
    bool mine = false;
    sim_check(thrum_once_run(once, function, &mine) == 0);
    sim_check(calls == 1);
    crew_scrub();
    if (!mine) {
        end();
    }
}

static const crew_play two = {make, NULL, 2, {run_and_free, run_and_free}};
CREW_WORLDS(once_two, two, .exhaustive = true)
CREW_WORLD_SCHED(once_two, two)

/* The same, for a thread that only looks. */
static void look_and_free(void *unused) {
    (void)unused;
    crew_until(thrum_once_is_done(once));
    sim_check(calls == 1);
    end();
}

static void run(void *unused) {
    (void)unused;
    bool mine = false;
    sim_check(thrum_once_run(once, function, &mine) == 0);
    crew_scrub();
}

static const crew_play looked_at = {make, NULL, 2, {look_and_free, run}};
CREW_WORLDS(once_looked_at, looked_at, .exhaustive = true)

/* ---- one fails ---- */

static void make_for_three(void) {
    make();
    fails = 1;
    xlast = 3;
}

static int function_that_fails(void *mine) {
    calls++;
    *(bool *)mine = true;
    return calls <= fails ? -EIO : 0;
}

static void run_last_frees(void *unused) {
    (void)unused;
    bool mine = false;
    int result = thrum_once_run(once, function_that_fails, &mine);
    sim_check(result == 0 || (result == -EIO && mine));
    sim_check(result || calls == 2);
    crew_scrub();
    if (th_sub_acq_rel(&xlast, 1u) == 1) {
        sim_check(calls == 2);
        end();
    }
}

/*
 * The first call fails; a waiter, or the next to come, makes it, and sees the first one's
 * writes.
 */
static const crew_play fail = {
    make_for_three, NULL, 3, {run_last_frees, run_last_frees, run_last_frees}};
CREW_WORLDS(once_fails, fail, .exhaustive = true)
CREW_WORLD_SCHED(once_fails, fail)

static int function_that_asks(void *mine) {
    sim_check(thrum_once_run(once, function_that_asks, mine) == -EDEADLK);
    return function_that_fails(mine);
}

static void make_for_two(void) {
    make();
    fails = 1;
}

static void run_asking(void *unused) {
    (void)unused;
    bool mine = false;
    int result = thrum_once_run(once, function_that_asks, &mine);
    sim_check(mine && (result == 0 || result == -EIO));
    crew_scrub();
}

static void asked_after(void) {
    sim_check(calls == 2);
    end();
}

/* The next to try is the owner, and gets an error if its function calls the same once again. */
static const crew_play asks = {make_for_two, asked_after, 2, {run_asking, run_asking}};
CREW_WORLDS(once_fails_asking, asks, .exhaustive = true)

/* ---- with a deadline ---- */

static void run_or_late(unsigned i, thrum_time after) {
    bool mine = false;
    int result = thrum_once_run_until(once, function_that_fails, &mine, thrum_after(after));
    crew_scrub();
    sim_check(result == 0 || (result == -EIO && mine) || (result == -ETIMEDOUT && !mine));
    late[i] = result == -ETIMEDOUT;
}

static void run_or_late_a(void *unused) {
    (void)unused;
    run_or_late(0, LATER);
}

static void run_or_late_b(void *unused) {
    (void)unused;
    run_or_late(1, 2 * LATER);
}

static void run_it(void *unused) {
    (void)unused;
    bool mine = false;
    int result = thrum_once_run(once, function_that_fails, &mine);
    sim_check(result == 0 || (result == -EIO && mine));
    refused += result != 0;
    crew_scrub();
}

static void make_failing(void) {
    make();
    fails = 1;
}

/* A late caller was not called, and the failing one's turn went to another. */
static void late_after(void) {
    bool done = thrum_once_is_done(once);
    sim_check(calls == (done ? 2 : 1));
    bool mine = false;
    sim_check(thrum_once_run(once, function_that_fails, &mine) == 0 && mine == !done);
    end();
}

static const crew_play timed = {
    make_failing, late_after, 3, {run_it, run_or_late_a, run_or_late_b}};
CREW_WORLDS(once_timed, timed, .exhaustive = true, .timers_max = 3)
CREW_WORLD_SCHED(once_timed, timed)

/* ---- destroying ---- */

/* relaxed: no thread learns anything else by it */
static bool is_running(void) {
    return th_load_relaxed(&once->reserved_word) != 0;
}

static int function_when_told(void *mine) {
    crew_until(th_load_relaxed(&xgo) == 1);
    return function(mine);
}

static void run_when_told(void *unused) {
    (void)unused;
    bool mine = false;
    sim_check(thrum_once_run(once, function_when_told, &mine) == 0 && mine);
}

static void destroy_when_done(void *unused) {
    (void)unused;
    crew_until(is_running());
    sim_check(thrum_once_destroy(once) == -EBUSY);
    th_store_relaxed(&xgo, 1);
    crew_until(thrum_once_destroy(once) == 0);
    sim_check(calls == 1);
    sim_free(once);
}

/* It is destroyed as soon as the function has ended. */
static const crew_play destroyed = {make, NULL, 2, {destroy_when_done, run_when_told}};
CREW_WORLDS(once_destroyed, destroyed, .exhaustive = true)
