/*
 * waitgroup.c: the waitgroup (src/sync/COUNTERS.md, "Waitgroup"): a done under the holder of the
 * list, the waking state, raising from zero, the last done against free.
 */
#include <thrum/waitgroup.h>

#include "base/atomic.h"
#include "crew.h"
#include "sync/wordlock.h"

static thrum_waitgroup *wg;
static int data[3]; /* plain: published by the dones */
static uint32_t xleft;
static uint32_t xgo;

static void make(unsigned count) {
    wg = sim_alloc(sizeof *wg);
    thrum_waitgroup_init(wg, count);
    xleft = 2;
}

static void make_1(void) {
    make(1);
}

static void make_2(void) {
    make(2);
}

static void end(void) {
    thrum_waitgroup *gone = wg;
    sim_check(thrum_waitgroup_destroy(gone) == 0);
    sim_free(gone);
    crew_scrub();
}

static void first_done(void *unused) {
    (void)unused;
    data[0] = 1;
    thrum_waitgroup_done(wg);
}

static void second_done(void *unused) {
    (void)unused;
    data[1] = 1;
    thrum_waitgroup_done(wg);
}

/* ---- waiting, and freeing it at once ---- */

static void wait_and_free(void *unused) {
    (void)unused;
    sim_check(thrum_waitgroup_wait(wg) == 0);
    sim_check(data[0] == 1 && data[1] == 1);
    end();
}

/* Each done has touched the waitgroup for the last time, and all writes are visible. */
static const crew_play handover = {make_2, NULL, 3, {wait_and_free, first_done, second_done}};
CREW_WORLDS(waitgroup_handover, handover, .exhaustive = true)
CREW_WORLD_SCHED(waitgroup_handover, handover)

static void wait_last_frees(void *unused) {
    (void)unused;
    sim_check(thrum_waitgroup_wait(wg) == 0);
    sim_check(data[0] == 1);
    crew_scrub();
    if (th_sub_acq_rel(&xleft, 1u) == 1) {
        end();
    }
}

/* One done meets two waits: the holder of the list when the count falls wakes the other. */
static const crew_play two_waiters = {
    make_1, NULL, 3, {wait_last_frees, wait_last_frees, first_done}};
CREW_WORLDS(waitgroup_two_waiters, two_waiters)
CREW_WORLD_SCHED(waitgroup_two_waiters, two_waiters)

/* The smallest of these worlds, for the exhaustive search. */
static void wait_one_and_free(void *unused) {
    (void)unused;
    sim_check(thrum_waitgroup_wait(wg) == 0);
    sim_check(data[0] == 1);
    end();
}
static const crew_play single = {make_1, NULL, 2, {wait_one_and_free, first_done}};
CREW_WORLDS(waitgroup_single, single, .exhaustive = true)

static void wait_for_both_last_frees(void *unused) {
    sim_check(thrum_waitgroup_wait(wg) == 0);
    sim_check(data[1] == 1);
    wait_last_frees(unused);
}

/* Two dones meet two waits. */
static const crew_play crowd = {
    make_2, NULL, 4, {wait_for_both_last_frees, wait_for_both_last_frees, first_done, second_done}};
CREW_WORLDS(waitgroup_crowd, crowd)

/* ---- raising ---- */

static void raise_then_done(void *unused) {
    thrum_waitgroup_add(wg, 2);
    data[2] = 1;
    thrum_waitgroup_add(wg, -2);
    first_done(unused);
}

static void wait_for_three_and_free(void *unused) {
    (void)unused;
    sim_check(thrum_waitgroup_wait(wg) == 0);
    sim_check(data[0] == 1 && data[1] == 1 && data[2] == 1);
    end();
}

/* It is raised while it counts: the wait ends once, when all has come down. */
static const crew_play raised = {
    make_2, NULL, 3, {wait_for_three_and_free, raise_then_done, second_done}};
CREW_WORLDS(waitgroup_raised, raised, .exhaustive = true)

static void raise_any_time(void *unused) {
    (void)unused;
    thrum_waitgroup_add(wg, 1);
    thrum_waitgroup_done(wg);
}

static void wait_only(void *unused) {
    (void)unused;
    sim_check(thrum_waitgroup_wait(wg) == 0);
    sim_check(data[0] == 1);
    crew_scrub();
}

/* It is raised from zero while waiters are woken: the raise waits until that is over. */
static const crew_play raised_from_zero = {
    make_1, end, 4, {wait_only, wait_only, raise_any_time, first_done}};
CREW_WORLDS(waitgroup_raised_from_zero, raised_from_zero)

static void wait_raise_wait(void *unused) {
    sim_check(thrum_waitgroup_wait(wg) == 0);
    thrum_waitgroup_add(wg, 1);
    second_done(unused);
    sim_check(thrum_waitgroup_wait(wg) == 0);
    crew_scrub();
}

/* A waiter that was let through uses it again, while the other one may still be waking up. */
static const crew_play reused = {make_1, end, 3, {wait_raise_wait, wait_only, first_done}};
CREW_WORLDS(waitgroup_reused, reused)

/* ---- destroying ---- */

static bool is_waited_for(void) {
    return (th_load_relaxed(&wg->reserved_word) & TH_WORD_WAITERS) != 0;
}

static void done_when_told(void *unused) {
    crew_until(th_load_relaxed(&xgo) == 1);
    first_done(unused);
}

static void destroy_when_free(void *unused) {
    (void)unused;
    crew_until(is_waited_for());
    sim_check(thrum_waitgroup_destroy(wg) == -EBUSY);
    th_store_relaxed(&xgo, 1);
    crew_until(thrum_waitgroup_destroy(wg) == 0);
    sim_free(wg);
}

/* It is destroyed as soon as no thread waits: the list belongs to the destroyer. */
static const crew_play destroyed = {
    make_1, NULL, 3, {destroy_when_free, wait_only, done_when_told}};
CREW_WORLDS(waitgroup_destroyed, destroyed)
