/*
 * mutex.c: the mutex (src/sync/LOCKS.md, "Mutex"): a running caller that passes the queue, the one
 * woken waiter, the hand-over after 1 ms, unlock against free.
 */
#include <thrum/mutex.h>

#include "base/atomic.h"
#include "crew.h"
#include "platform/sim/controller.h"
#include "sync/wordlock.h"

#define MS ((int64_t)1000000)

static thrum_mutex *mutex;
static unsigned counter; /* plain: under the mutex */
static unsigned users;
static uint32_t xgo;

static void make(void) {
    mutex = sim_alloc(sizeof *mutex);
    thrum_mutex_init(mutex);
    users = 3;
}

static void end(void) {
    thrum_mutex *gone = mutex;
    sim_check(thrum_mutex_destroy(gone) == 0);
    sim_free(gone);
    crew_scrub();
}

static uint32_t word(void) {
    return th_load_relaxed(&mutex->reserved_word); /* relaxed: a look */
}

static void lock(void) {
    thrum_mutex_lock(mutex);
}

/* ---- exclusion ---- */

static void count_once(void *unused) {
    (void)unused;
    lock();
    counter++; /* two owners would race on it */
    thrum_mutex_unlock(mutex);
    crew_scrub();
}

static void count_twice(void *unused) {
    count_once(unused);
    count_once(unused);
}

static void count_if_free(void *unused) {
    (void)unused;
    int code = thrum_mutex_try_lock(mutex);
    sim_check(code == 0 || code == -EBUSY);
    if (code == 0) {
        counter++;
        sim_check(thrum_mutex_try_lock(mutex) == -EBUSY);
        sim_check(thrum_mutex_destroy(mutex) == -EBUSY);
        thrum_mutex_unlock(mutex);
    }
}

static void two_counted(void) {
    sim_check(counter == 2);
    end();
}

static void four_counted(void) {
    sim_check(counter == 4);
    end();
}

static void some_counted(void) {
    sim_check(counter >= 3 && counter <= 4);
    end();
}

/* Two threads meet: the smallest world, for the exhaustive search. */
static const crew_play pair = {make, two_counted, 2, {count_once, count_once}};
CREW_WORLDS(mutex_pair, pair, .exhaustive = true)

/* Overtaking: the thread that unlocks comes back at once, past the woken waiter. */
static const crew_play rounds = {make, four_counted, 2, {count_twice, count_twice}};
CREW_WORLDS(mutex_rounds, rounds, .exhaustive = true)
CREW_WORLD_SCHED(mutex_rounds, rounds)

/* A queue of two is behind the owner, and another thread only tries. */
static const crew_play queue = {
    make, some_counted, 4, {count_once, count_once, count_once, count_if_free}};
CREW_WORLDS(mutex_queue, queue)

/* ---- freed by the next owner ---- */

static void leave_last_frees(void *unused) {
    (void)unused;
    lock();
    bool last = --users == 0;
    thrum_mutex_unlock(mutex);
    if (last) {
        end();
    }
    crew_scrub();
}

/*
 * A count under the mutex shows which owner is the last, which frees it; the one before may still
 * be unlocking.
 */
static const crew_play last_frees = {
    make, NULL, 3, {leave_last_frees, leave_last_frees, leave_last_frees}};
CREW_WORLDS(mutex_last_frees, last_frees, .exhaustive = true)
CREW_WORLD_SCHED(mutex_last_frees, last_frees)

static void try_and_free(void *unused) {
    (void)unused;
    crew_until(th_load_relaxed(&xgo) == 1);
    crew_until(thrum_mutex_try_lock(mutex) == 0);
    sim_check(counter == 1);
    thrum_mutex_unlock(mutex);
    end();
}

static void lock_and_tell(void *unused) {
    (void)unused;
    lock();
    th_store_release(&xgo, 1); /* it was locked before: no try may find it free from then on */
    counter = 1;
    thrum_mutex_unlock(mutex);
}

/* The same, with a thread that only tries. */
static const crew_play tried = {make, NULL, 2, {try_and_free, lock_and_tell}};
CREW_WORLDS(mutex_tried, tried, .exhaustive = true)

static void destroy_when_free(void *unused) {
    (void)unused;
    crew_until(th_load_acquire(&xgo) == 1);
    crew_until(thrum_mutex_destroy(mutex) == 0);
    sim_check(counter == 1);
    sim_free(mutex);
}

/* It is destroyed as soon as it is not held: the last owner's writes are visible. */
static const crew_play destroyed = {make, NULL, 2, {destroy_when_free, lock_and_tell}};
CREW_WORLDS(mutex_destroyed, destroyed, .exhaustive = true)

/* ---- the limit ---- */

static void count_when_told(void *unused) {
    crew_until(th_load_relaxed(&xgo) == 1);
    count_once(unused);
}

static void let_in(void *unused) {
    (void)unused;
    lock();
    th_store_relaxed(&xgo, 1);
    crew_until((word() & TH_WORD_WAITERS) != 0);
    sim_pass(2 * MS);
    thrum_mutex_unlock(mutex);
    lock(); /* not before the waiter that has waited for so long */
    sim_check(counter == 1);
    thrum_mutex_unlock(mutex);
    crew_scrub();
}

static void one_counted(void) {
    sim_check(counter == 1);
    end();
}

/* The first waiter has waited for more than 1 ms: the unlock makes it the owner. */
static const crew_play handoff = {make, one_counted, 2, {let_in, count_when_told}};
CREW_WORLDS(mutex_handoff, handoff, .exhaustive = true)
CREW_WORLD_SCHED(mutex_handoff, handoff)

static void make_about_to_look(void) {
    make();
    mutex->reserved_pad = 30; /* every 32nd unlock checks the woken waiter */
}

static void overtake_then_let_in(void *unused) {
    (void)unused;
    lock();
    th_store_relaxed(&xgo, 1);
    crew_until((word() & TH_WORD_WAITERS) != 0);
    thrum_mutex_unlock(mutex); /* wakes it */
    lock();                    /* this may pass it */
    sim_pass(2 * MS);
    bool was_passed = counter == 0;
    thrum_mutex_unlock(mutex); /* this hands over, even if that waiter has been woken */
    lock();
    sim_check(!was_passed || counter == 1);
    thrum_mutex_unlock(mutex);
    crew_scrub();
}

/* It is handed over to a waiter that was woken before and has not come yet. */
static const crew_play handoff_on_its_way = {
    make_about_to_look, one_counted, 2, {overtake_then_let_in, count_when_told}};
CREW_WORLDS(mutex_handoff_on_its_way, handoff_on_its_way, .exhaustive = true)

/* It is handed over with a queue behind it: each has its turn, none is left. */
static void three_counted(void) {
    sim_check(counter == 3);
    end();
}
static void keep_long(void *unused) {
    (void)unused;
    lock();
    counter++;
    sim_pass(2 * MS);
    thrum_mutex_unlock(mutex);
    crew_scrub();
}
static const crew_play convoy = {make, three_counted, 3, {keep_long, keep_long, keep_long}};
CREW_WORLDS(mutex_convoy, convoy, .exhaustive = true)
