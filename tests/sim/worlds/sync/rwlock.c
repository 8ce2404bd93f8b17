/*
 * rwlock.c: the readers-writer lock (src/sync/LOCKS.md, "Rwlock"): handing over between readers
 * and writers, giving up, freeing.
 */
#include <errno.h>

#include <thrum/rwlock.h>

#include "base/atomic.h"
#include "crew.h"
#include "sync/wordlock.h"

#define LATER 1000000

static thrum_rwlock *lock;
static unsigned a, b;    /* plain, under the lock: equal while no thread writes */
static unsigned late[2]; /* how many gave up */
static uint32_t xlast;   /* parts that have yet to come back */
static uint32_t xgo;

static void make(void) {
    lock = sim_alloc(sizeof *lock);
    thrum_rwlock_init(lock);
}

static void end(void) {
    thrum_rwlock *gone = lock;
    sim_check(thrum_rwlock_destroy(gone) == 0);
    sim_free(gone);
    crew_scrub();
}

static void change(void) {
    sim_check(a == b);
    a++;
    b++;
    thrum_rwlock_unlock(lock);
    crew_scrub();
}

static void look(void) {
    sim_check(a == b);
    thrum_rwlock_unlock(lock);
    crew_scrub();
}

static void write_once(void *unused) {
    (void)unused;
    thrum_rwlock_wrlock(lock);
    change();
}

static void read_once(void *unused) {
    (void)unused;
    thrum_rwlock_rdlock(lock);
    look();
}

static void write_twice(void *unused) {
    write_once(unused);
    write_once(unused);
}

static void read_twice(void *unused) {
    read_once(unused);
    read_once(unused);
}

static void one_written(void) {
    sim_check(a == 1 && b == 1);
    end();
}

static void three_written(void) {
    sim_check(a == 3 && b == 3);
    end();
}

/* ---- in any mixture ---- */

static const crew_play pair = {make, one_written, 2, {write_once, read_once}};
CREW_WORLDS(rwlock_pair, pair, .exhaustive = true)

static const crew_play writers = {make, three_written, 2, {write_twice, write_once}};
CREW_WORLDS(rwlock_writers, writers, .exhaustive = true)
CREW_WORLD_SCHED(rwlock_writers, writers)

static const crew_play readers = {
    make, one_written, 4, {read_once, read_once, write_once, read_once}};
CREW_WORLDS(rwlock_readers, readers)
CREW_WORLD_SCHED(rwlock_readers, readers)

static const crew_play mixture = {make, three_written, 3, {read_twice, write_twice, write_once}};
CREW_WORLDS(rwlock_mixture, mixture, .exhaustive = true)

/*
 * Rounds of readers that others join (src/sync/LOCKS.md, "Rounds"): a reader that comes back joins
 * one.
 */
static void two_written(void) {
    sim_check(a == 2 && b == 2);
    end();
}

static const crew_play rounds = {
    make, two_written, 4, {write_once, read_twice, write_once, read_twice}};
CREW_WORLDS(rwlock_rounds, rounds)
CREW_WORLD_SCHED(rwlock_rounds, rounds)

/* A writer that goes on as a reader: nobody writes between the two. */
static void write_and_look(void *unused) {
    (void)unused;
    thrum_rwlock_wrlock(lock);
    sim_check(a == b);
    a++;
    b++;
    const unsigned mine = a;
    thrum_rwlock_downgrade(lock);
    sim_check(a == mine);
    look();
}

static const crew_play downgraded = {make, two_written, 3, {write_and_look, read_once, write_once}};
CREW_WORLDS(rwlock_downgraded, downgraded, .exhaustive = true)
CREW_WORLD_SCHED(rwlock_downgraded, downgraded)

static const crew_play downgraded_round = {
    make, two_written, 4, {write_and_look, read_twice, write_and_look, read_twice}};
CREW_WORLDS(rwlock_downgraded_round, downgraded_round)

static void try_both(void *unused) {
    (void)unused;
    if (thrum_rwlock_try_rdlock(lock) == 0) {
        look();
    }
    if (thrum_rwlock_try_wrlock(lock) == 0) {
        late[0] = 1;
        change();
    }
}

static void tried_after(void) {
    sim_check(a == b && a == 1 + late[0]);
    end();
}

static const crew_play tried = {make, tried_after, 3, {try_both, write_once, read_once}};
CREW_WORLDS(rwlock_tried, tried, .exhaustive = true)

/* ---- freed by the last owner ---- */

static void make_for_three(void) {
    make();
    xlast = 3;
}

/* Counted under the lock: the last to have it may free it at once. */
static void free_if_last(bool writes) {
    if (writes) {
        thrum_rwlock_wrlock(lock);
    } else {
        thrum_rwlock_rdlock(lock);
    }
    /* relaxed: the lock must order it */
    bool last = th_sub_relaxed(&xlast, 1u) == 1;
    thrum_rwlock_unlock(lock);
    crew_scrub();
    if (last) {
        end();
    }
}

static void last_writes(void *unused) {
    (void)unused;
    free_if_last(true);
}

/* The unlock of the owner before has touched it for the last time. */
static const crew_play freed = {make_for_three, NULL, 3, {last_writes, last_writes, last_writes}};
CREW_WORLDS(rwlock_freed, freed, .exhaustive = true)
CREW_WORLD_SCHED(rwlock_freed, freed)

/* A writer frees it, after all readers. */
static void write_and_free(void *unused) {
    (void)unused;
    crew_until(th_load_relaxed(&xgo) == 2);
    thrum_rwlock_wrlock(lock);
    a++;
    thrum_rwlock_unlock(lock);
    crew_scrub();
    end();
}

static void read_and_tell(void *unused) {
    (void)unused;
    thrum_rwlock_rdlock(lock);
    th_add_relaxed(&xgo, 1u);
    sim_check(a == 0);
    thrum_rwlock_unlock(lock);
    crew_scrub();
}

static const crew_play freed_by_writer = {
    make, NULL, 3, {write_and_free, read_and_tell, read_and_tell}};
CREW_WORLDS(rwlock_freed_by_writer, freed_by_writer, .exhaustive = true)

/* ---- with a deadline ---- */

static void write_or_late(void *unused) {
    (void)unused;
    int result = thrum_rwlock_wrlock_until(lock, thrum_after(LATER));
    crew_scrub();
    sim_check(result == 0 || result == -ETIMEDOUT);
    late[0] = result != 0;
    if (!result) {
        change();
    }
}

static void read_or_late(void *unused) {
    (void)unused;
    int result = thrum_rwlock_rdlock_until(lock, thrum_after(2 * LATER));
    crew_scrub();
    sim_check(result == 0 || result == -ETIMEDOUT);
    late[1] = result != 0;
    if (!result) {
        look();
    }
}

static void late_after(void) {
    sim_check(a == b && a == 1 - late[0]);
    end();
}

static void late_after_write(void) {
    sim_check(a == b && a == 2 - late[0]);
    end();
}

/* A reader that waits only for a writer goes on when the writer gives up. */
static const crew_play timed_writer = {make, late_after, 3, {read_once, write_or_late, read_once}};
CREW_WORLDS(rwlock_timed_writer, timed_writer, .exhaustive = true, .timers_max = 2)
CREW_WORLD_SCHED(rwlock_timed_writer, timed_writer)

static thrum_event second_is_in;

static void make_with_event(void) {
    make();
    thrum_event_init(&second_is_in, THRUM_EVENT_MANUAL, false);
}

static void read_until_second(void *unused) {
    (void)unused;
    thrum_rwlock_rdlock(lock);
    sim_check(thrum_event_wait(&second_is_in) == 0);
    look();
}

static void read_second(void *unused) {
    (void)unused;
    thrum_rwlock_rdlock(lock);
    thrum_event_signal(&second_is_in);
    look();
}

static void late_after_event(void) {
    sim_check(thrum_event_destroy(&second_is_in) == 0);
    late_after();
}

/* It goes on at once, beside a reader that does not unlock before that. */
static const crew_play late_writer = {
    make_with_event, late_after_event, 3, {read_until_second, write_or_late, read_second}};
CREW_WORLDS(rwlock_late_writer, late_writer, .timers_max = 2)

/* A late one neither takes a hold with it that it was not given, nor leaves one behind. */
static const crew_play timed = {
    make, late_after_write, 4, {write_once, write_or_late, read_or_late, read_once}};
CREW_WORLDS(rwlock_timed, timed, .timers_max = 3)

/* A writer that a round has passed gives up. */
static const crew_play timed_round = {
    make, late_after_write, 4, {write_once, write_or_late, read_twice, read_twice}};
CREW_WORLDS(rwlock_timed_round, timed_round, .timers_max = 2)

/* ---- destroying ---- */

/* relaxed: no thread learns anything else by it */
static bool is_held(void) {
    return th_load_relaxed(&lock->reserved_word) != 0;
}

static void read_until_told(void *unused) {
    (void)unused;
    thrum_rwlock_rdlock(lock);
    crew_until(th_load_relaxed(&xgo) == 1);
    look();
}

static void write_until_told(void *unused) {
    (void)unused;
    thrum_rwlock_wrlock(lock);
    crew_until(th_load_relaxed(&xgo) == 1);
    change();
}

static void destroy_when_free(void *unused) {
    (void)unused;
    crew_until(is_held());
    sim_check(thrum_rwlock_destroy(lock) == -EBUSY);
    th_store_relaxed(&xgo, 1);
    crew_until(thrum_rwlock_destroy(lock) == 0);
    sim_check(a == b);
    sim_free(lock);
}

/* It is destroyed as soon as no thread has it. */
static const crew_play destroyed = {make, NULL, 2, {destroy_when_free, read_until_told}};
CREW_WORLDS(rwlock_destroyed, destroyed, .exhaustive = true)

static const crew_play destroyed_after_write = {
    make, NULL, 2, {destroy_when_free, write_until_told}};
CREW_WORLDS(rwlock_destroyed_after_write, destroyed_after_write, .exhaustive = true)
