/*
 * cond.c: the condition variable (src/sync/LOCKS.md, "Cond"): a signal after the unlock is not
 * missed, two signals wake two, the cond is gone when its wait returns.
 */
#include <thrum/cond.h>
#include <thrum/mutex.h>

#include "base/atomic.h"
#include "crew.h"
#include "sync/wordlock.h"

static thrum_mutex *mutex;
static thrum_cond *cond;
static thrum_cond *other;
static unsigned tokens; /* plain: under the mutex, as all that follows */
static unsigned users;
static unsigned turn;
static uint32_t xgo;

static void make(void) {
    mutex = sim_alloc(sizeof *mutex);
    cond = sim_alloc(sizeof *cond);
    other = sim_alloc(sizeof *other);
    thrum_mutex_init(mutex);
    thrum_cond_init(cond);
    thrum_cond_init(other);
    users = 2;
}

static void end_conds(void) {
    sim_check(thrum_cond_destroy(cond) == 0);
    sim_check(thrum_cond_destroy(other) == 0);
    sim_free(cond);
    sim_free(other);
}

static void end(void) {
    end_conds();
    sim_check(thrum_mutex_destroy(mutex) == 0);
    sim_free(mutex);
    crew_scrub();
}

static void lock(void) {
    thrum_mutex_lock(mutex);
}

static void take_token(void) {
    while (tokens == 0) {
        sim_check(thrum_cond_wait(cond, mutex) == 0);
        crew_scrub();
    }
    tokens--;
}

/* ---- a signal ---- */

static void wait_and_free(void *unused) {
    (void)unused;
    lock();
    take_token();
    end_conds();
    thrum_mutex_unlock(mutex);
    sim_check(thrum_mutex_destroy(mutex) == 0);
    sim_free(mutex);
}

static void signal_inside(void *unused) {
    (void)unused;
    lock();
    tokens++;
    thrum_cond_signal(cond);
    thrum_mutex_unlock(mutex);
}

/* It is signaled under the mutex: the wait that returns may free both. */
static const crew_play handover = {make, NULL, 2, {wait_and_free, signal_inside}};
CREW_WORLDS(cond_handover, handover, .exhaustive = true)
CREW_WORLD_SCHED(cond_handover, handover)

static void wait_only(void *unused) {
    (void)unused;
    lock();
    take_token();
    thrum_mutex_unlock(mutex);
}

static void signal_external(void *unused) {
    (void)unused;
    lock();
    tokens++;
    thrum_mutex_unlock(mutex);
    thrum_cond_signal(cond);
}

/* It is signaled after the unlock: the look without a lock must not miss the waiter. */
static const crew_play external = {make, end, 2, {wait_only, signal_external}};
CREW_WORLDS(cond_external, external, .exhaustive = true)

static void wait_once_and_free(void *unused) {
    (void)unused;
    lock();
    turn = 1;
    sim_check(thrum_cond_wait(cond, mutex) == 0); /* no wake is spurious */
    sim_check(turn == 2);
    thrum_mutex_unlock(mutex);
    end();
}

static bool pass_turn(void) {
    lock();
    bool mine = turn == 1;
    turn += mine;
    thrum_mutex_unlock(mutex);
    return mine;
}

static void signal_waiting(void *unused) {
    (void)unused;
    crew_until(pass_turn());
    thrum_cond_signal(cond);
}

static void broadcast_waiting(void *unused) {
    (void)unused;
    crew_until(pass_turn());
    thrum_cond_broadcast(cond);
}

/* The mutex is free, so the woken one frees the cond at once. */
static const crew_play freed_by_woken = {make, NULL, 2, {wait_once_and_free, signal_waiting}};
CREW_WORLDS(cond_freed_by_woken, freed_by_woken, .exhaustive = true)

static const crew_play freed_by_all = {make, NULL, 2, {wait_once_and_free, broadcast_waiting}};
CREW_WORLDS(cond_freed_by_all, freed_by_all, .exhaustive = true)

/* ---- several waiters ---- */

static void signal_twice(void *unused) {
    (void)unused;
    lock();
    tokens += 2;
    bool inside = sim_pick(2) != 0;
    if (!inside) {
        thrum_mutex_unlock(mutex);
    }
    thrum_cond_signal(cond);
    thrum_cond_signal(cond);
    if (inside) {
        thrum_mutex_unlock(mutex);
    }
}

/*
 * Two signals, one right after the other, wake two: the second must not go to the first's waiter.
 */
static const crew_play two_signals = {make, end, 3, {wait_only, wait_only, signal_twice}};
CREW_WORLDS(cond_two_signals, two_signals)
CREW_WORLD_SCHED(cond_two_signals, two_signals)

/* Two callers do the same at once. */
static const crew_play two_signalers = {
    make, end, 4, {wait_only, wait_only, signal_external, signal_external}};
CREW_WORLDS(cond_two_signalers, two_signalers)

static void wait_last_frees(void *unused) {
    (void)unused;
    lock();
    take_token();
    bool last = --users == 0;
    thrum_mutex_unlock(mutex);
    if (last) {
        end();
    }
}

static void broadcast_inside(void *unused) {
    (void)unused;
    lock();
    tokens += 2;
    thrum_cond_broadcast(cond);
    thrum_mutex_unlock(mutex);
}

/* All are woken by one broadcast; the last of them frees the cond and the mutex. */
static const crew_play broadcast = {
    make, NULL, 3, {wait_last_frees, wait_last_frees, broadcast_inside}};
CREW_WORLDS(cond_broadcast, broadcast)
CREW_WORLD_SCHED(cond_broadcast, broadcast)

static void broadcast_external(void *unused) {
    (void)unused;
    lock();
    tokens += 2;
    thrum_mutex_unlock(mutex);
    thrum_cond_broadcast(cond);
}

static const crew_play broadcast_after = {make, end, 3, {wait_only, wait_only, broadcast_external}};
CREW_WORLDS(cond_broadcast_external, broadcast_after)

/* ---- in turns ---- */

static void take_turns(unsigned mine, thrum_cond *here, thrum_cond *there) {
    for (unsigned round = 0; round < 2; round++) {
        lock();
        while (turn != mine) {
            sim_check(thrum_cond_wait(here, mutex) == 0);
        }
        turn = !mine;
        thrum_cond_signal(there);
        thrum_mutex_unlock(mutex);
        crew_scrub();
    }
}

static void ping(void *unused) {
    (void)unused;
    take_turns(0, cond, other);
}

static void pong(void *unused) {
    (void)unused;
    take_turns(1, other, cond);
}

/* Each waits for the other, four times in all. */
static const crew_play turns = {make, end, 2, {ping, pong}};
CREW_WORLDS(cond_turns, turns, .exhaustive = true)

/* ---- destroying ---- */

static bool is_waited_for(void) {
    return (th_load_relaxed(&cond->reserved_word) & TH_WORD_WAITERS) != 0;
}

static void signal_when_told(void *unused) {
    crew_until(th_load_relaxed(&xgo) == 1);
    signal_inside(unused);
}

static void destroy_when_free(void *unused) {
    (void)unused;
    crew_until(is_waited_for());
    sim_check(thrum_cond_destroy(cond) == -EBUSY);
    th_store_relaxed(&xgo, 1);
    crew_until(thrum_cond_destroy(cond) == 0);
    sim_free(cond);
}

static void end_rest(void) {
    sim_check(thrum_mutex_destroy(mutex) == 0);
    sim_free(mutex);
    sim_free(other);
}

/* It is destroyed as soon as no thread waits: the woken one needs only the mutex. */
static const crew_play destroyed = {
    make, end_rest, 3, {destroy_when_free, wait_only, signal_when_told}};
CREW_WORLDS(cond_destroyed, destroyed)
