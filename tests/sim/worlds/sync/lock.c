/*
 * lock.c: the library's own lock (core/basis/lock.h), which sleeps in the kernel, and the list lock
 * that shares its word with a primitive's state (sync/wordlock.h).
 */
#include "core/basis/lock.h"

#include "platform/platform.h"
#include "sim.h"
#include "sync/wordlock.h"

static th_lock lock;
static unsigned inside;  /* protected by the lock */
static unsigned entered; /* protected by the lock */

static void enter(void) {
    th_lock_acquire(&lock);
    unsigned before = inside++;
    sim_check(before == 0);
    entered++;
    inside--;
    th_lock_release(&lock);
}

static void twice(void *arg) {
    (void)arg;
    enter();
    enter();
}

/*
 * Two threads, of which one sleeps while the other holds it: 0, 1 and 2 of the word, spurious
 * wakes.
 */
SIM_WORLD(lock_two, .exhaustive = true, .preemptions = 4, .spurious = 3) {
    int t = sim_spawn(twice, NULL);
    twice(NULL);
    sim_join(t);
    sim_check(entered == 4 && lock.xword == 0);
}

/*
 * Three threads: a thread that takes it after waiting keeps the mark, or a third one sleeps for
 * ever.
 */
SIM_WORLD(lock_three, .exhaustive = true, .spurious = 3) {
    int a = sim_spawn(twice, NULL);
    int b = sim_spawn(twice, NULL);
    twice(NULL);
    sim_join(a);
    sim_join(b);
    sim_check(entered == 6 && lock.xword == 0);
}

static void try_twice(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        if (th_lock_try(&lock)) {
            unsigned before = inside++;
            sim_check(before == 0);
            inside--;
            th_lock_release(&lock);
        }
    }
}

/* Tries give up, beside a thread that waits. */
SIM_WORLD(lock_try, .exhaustive = true) {
    int a = sim_spawn(try_twice, NULL);
    int b = sim_spawn(twice, NULL);
    try_twice(NULL);
    sim_join(a);
    sim_join(b);
    sim_check(entered == 2);
}

/*
 * The last thread to take the lock may free the word: the exchange of a release is its last access
 * to it; the wake that follows on the stale word does no harm.
 */
typedef struct object {
    th_lock lock;
    unsigned users;
} object;

static void leave(void *arg) {
    object *o = arg;
    th_lock_acquire(&o->lock);
    bool last = --o->users == 0;
    th_lock_release(&o->lock);
    if (last) {
        sim_free(o);
    }
}

SIM_WORLD(lock_freed_by_last, .exhaustive = true, .preemptions = 3) {
    object *o = sim_alloc(sizeof *o);
    *o = (object){.users = 3};
    int a = sim_spawn(leave, o);
    int b = sim_spawn(leave, o);
    leave(o);
    sim_join(a);
    sim_join(b);
}

/* ---- the word lock ---- */

/* A primitive of one count above the two bits, which a fast path changes only without LOCKED, and a
 * list under the lock. */
static uint32_t xword32;
static uint64_t xword64;
static unsigned listed; /* protected by the list lock */

#define ONE (1u << TH_WORD_SHIFT)

static void count_32(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t word = th_load_relaxed(&xword32);
        while ((word & TH_WORD_LOCKED) || !th_word32_lock(&xword32, word)) {
            th_os_relax();
            word = th_load_relaxed(&xword32);
        }
        sim_check(word >> TH_WORD_SHIFT == listed); /* the holder knows the word */
        listed++;
        th_word32_publish(&xword32, (word + ONE) & ~TH_WORD_LOCKED);
    }
}

static void count_64(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t word = th_load_relaxed(&xword64);
        while ((word & TH_WORD_LOCKED) || !th_word64_lock(&xword64, word)) {
            th_os_relax();
            word = th_load_relaxed(&xword64);
        }
        sim_check(word >> TH_WORD_SHIFT == listed);
        listed++;
        th_word64_publish(&xword64, (word + ONE) & ~(uint64_t)TH_WORD_LOCKED);
    }
}

/* State and list change together: the store that publishes the word also unlocks the list. */
SIM_WORLD(lock_word32, .exhaustive = true) {
    int a = sim_spawn(count_32, NULL);
    int b = sim_spawn(count_32, NULL);
    count_32(NULL);
    sim_join(a);
    sim_join(b);
    sim_check(listed == 6 && xword32 == 6 * ONE);
}

/* The same for a word of 64 bits. */
SIM_WORLD(lock_word64, .exhaustive = true) {
    int a = sim_spawn(count_64, NULL);
    int b = sim_spawn(count_64, NULL);
    count_64(NULL);
    sim_join(a);
    sim_join(b);
    sim_check(listed == 6 && xword64 == 6 * (uint64_t)ONE);
}
