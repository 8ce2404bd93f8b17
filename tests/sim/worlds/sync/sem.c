/*
 * sem.c: the semaphore (src/sync/COUNTERS.md, "Semaphore"): post against wait, post against free.
 */
#include <errno.h>

#include <thrum/sem.h>

#include "base/atomic.h"
#include "crew.h"
#include "sync/wordlock.h"

static thrum_sem *sem;
static int data[2]; /* plain: published by the posts */
static unsigned counter;
static uint32_t xlast; /* parts that have yet to be let through */
static uint32_t xgo;

static void make(unsigned value) {
    sem = sim_alloc(sizeof *sem);
    thrum_sem_init(sem, value);
}

static void end(void) {
    thrum_sem *gone = sem;
    sim_check(thrum_sem_destroy(gone) == 0);
    sim_free(gone);
    crew_scrub();
}

static void make_empty(void) {
    make(0);
}

static void post(void *unused) {
    (void)unused;
    data[0] = 1;
    thrum_sem_post(sem);
}

/* ---- one unit ---- */

static void wait_and_free(void *unused) {
    (void)unused;
    sim_check(thrum_sem_wait(sem) == 0);
    sim_check(data[0] == 1);
    end();
}

/* A post meets a wait that frees the semaphore: the post must have touched it for the last time. */
static const crew_play handover = {make_empty, NULL, 2, {wait_and_free, post}};
CREW_WORLDS(sem_handover, handover, .exhaustive = true)
CREW_WORLD_SCHED(sem_handover, handover)

static void try_and_free(void *unused) {
    (void)unused;
    crew_until(thrum_sem_try_wait(sem) == 0);
    sim_check(data[0] == 1);
    end();
}

/* The same, for a thread that never waits. */
static const crew_play polled = {make_empty, NULL, 2, {try_and_free, post}};
CREW_WORLDS(sem_polled, polled, .exhaustive = true)

/* ---- several waiters ---- */

static void make_for_two(void) {
    make(0);
    xlast = 2;
}

static void wait_last_frees(void *unused) {
    (void)unused;
    sim_check(thrum_sem_wait(sem) == 0);
    sim_check(data[0] == 1);
    crew_scrub();
    if (th_sub_acq_rel(&xlast, 1u) == 1) {
        end();
    }
}

static void post_twice(void *unused) {
    post(unused);
    thrum_sem_post(sem);
}

/* Two wait, two units come: none is woken twice, none left behind; the last one frees. */
static const crew_play two_waiters = {
    make_for_two, NULL, 3, {wait_last_frees, wait_last_frees, post_twice}};
CREW_WORLDS(sem_two_waiters, two_waiters)
CREW_WORLD_SCHED(sem_two_waiters, two_waiters)

static void post_second(void *unused) {
    (void)unused;
    data[1] = 1;
    thrum_sem_post(sem);
}

static void wait_for_both(void *unused) {
    (void)unused;
    sim_check(thrum_sem_wait(sem) == 0);
    sim_check(thrum_sem_wait(sem) == 0);
    sim_check(data[0] == 1 && data[1] == 1);
    end();
}

/*
 * Two posts meet a wait that takes both units: both posters' writes are visible, however they
 * met.
 */
static const crew_play two_posters = {make_empty, NULL, 3, {wait_for_both, post, post_second}};
CREW_WORLDS(sem_two_posters, two_posters)

/* ---- several units at once ---- */

static void wait_for_two(void *unused) {
    (void)unused;
    sim_check(thrum_sem_wait_n(sem, 2) == 0);
    sim_check(data[0] == 1 && data[1] == 1);
    end();
}

/*
 * Two posts meet a wait for both units: both posters' writes are visible, also with a unit put
 * by.
 */
static const crew_play two_at_once = {make_empty, NULL, 3, {wait_for_two, post, post_second}};
CREW_WORLDS(sem_n, two_at_once)
CREW_WORLD_SCHED(sem_n, two_at_once)

static void post_both(void *unused) {
    (void)unused;
    data[0] = 1;
    thrum_sem_post_n(sem, 2);
}

/* One post of two lets both through; the last of them frees. */
static const crew_play two_by_one = {
    make_for_two, NULL, 3, {wait_last_frees, wait_last_frees, post_both}};
CREW_WORLDS(sem_post_n, two_by_one)

static void make_two(void) {
    make(2);
}

static void enter_alone(void *unused) {
    (void)unused;
    sim_check(thrum_sem_wait_n(sem, 2) == 0);
    counter++; /* plain: no other thread has a unit */
    thrum_sem_post_n(sem, 2);
    crew_scrub();
}

static void enter_beside(void *unused) {
    (void)unused;
    if (thrum_sem_try_wait(sem) == 0) {
        sim_check(counter <= 2);
        thrum_sem_post(sem);
    }
}

static void two_are_left(void) {
    sim_check(counter == 2);
    sim_check(thrum_sem_try_wait_n(sem, 3) == -EAGAIN);
    sim_check(thrum_sem_try_wait_n(sem, 2) == 0);
    end();
}

/* All units are taken at once, or one of them: as a lock for writers and one for readers. */
static const crew_play all_or_one = {
    make_two, two_are_left, 3, {enter_alone, enter_alone, enter_beside}};
CREW_WORLDS(sem_all_or_one, all_or_one)
CREW_WORLD_SCHED(sem_all_or_one, all_or_one)

/* ---- as a lock ---- */

static void make_full(void) {
    make(1);
}

static void enter(void *unused) {
    (void)unused;
    for (unsigned round = 0; round < 2; round++) {
        sim_check(thrum_sem_wait(sem) == 0);
        counter++; /* plain: two holders would race on it */
        thrum_sem_post(sem);
        crew_scrub();
    }
}

static void enter_if_free(void *unused) {
    (void)unused;
    if (thrum_sem_try_wait(sem) == 0) {
        counter++;
        thrum_sem_post(sem);
    }
}

static void six_entered(void) {
    sim_check(counter >= 4 && counter <= 5);
    sim_check(thrum_sem_try_wait(sem) == 0);
    sim_check(thrum_sem_try_wait(sem) == -EAGAIN);
    end();
}

/* A unit goes round: by the word, by the list, and never past the list. */
static const crew_play as_lock = {make_full, six_entered, 3, {enter, enter, enter_if_free}};
CREW_WORLDS(sem_as_lock, as_lock)
CREW_WORLD_SCHED(sem_as_lock, as_lock)

/* ---- destroying ---- */

/* relaxed: no thread learns anything else by it */
static bool is_waited_for(void) {
    return (th_load_relaxed(&sem->reserved_word) & TH_WORD_WAITERS) != 0;
}

static void wait_only(void *unused) {
    (void)unused;
    sim_check(thrum_sem_wait(sem) == 0);
    crew_scrub();
}

static void post_when_told(void *unused) {
    crew_until(th_load_relaxed(&xgo) == 1);
    post(unused);
}

static void destroy_when_free(void *unused) {
    (void)unused;
    crew_until(is_waited_for());
    sim_check(thrum_sem_destroy(sem) == -EBUSY);
    th_store_relaxed(&xgo, 1);
    crew_until(thrum_sem_destroy(sem) == 0);
    sim_free(sem);
}

/* It is destroyed as soon as no thread waits: the list belongs to the destroyer. */
static const crew_play destroyed = {
    make_empty, NULL, 3, {destroy_when_free, wait_only, post_when_told}};
CREW_WORLDS(sem_destroyed, destroyed)

/* ---- closing ---- */

static void make_for_close(void) {
    make(1);
    data[0] = 0;
}

static void close_it(void *unused) {
    (void)unused;
    data[0] = 1;
    sim_check(thrum_sem_close(sem) == 0);
}

static void wait_until_closed(void *unused) {
    (void)unused;
    sim_check(thrum_sem_wait_n(sem, 2) == -EPIPE);
    sim_check(data[0] == 1);
    crew_scrub();
}

static void poll_close(void *unused) {
    (void)unused;
    int code;
    crew_until((code = thrum_sem_try_wait_n(sem, 2)) != -EAGAIN);
    sim_check(code == -EPIPE && data[0] == 1);
    thrum_sem_post(sem);
}

/* All are turned away, those that wait and those that come later; a post after it is lost. */
static const crew_play shut = {make_for_close, end, 3, {wait_until_closed, poll_close, close_it}};
CREW_WORLDS(sem_closed, shut)
