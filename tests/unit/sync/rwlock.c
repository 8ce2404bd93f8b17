/*
 * rwlock.c: the readers-writer lock, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

typedef struct stage {
    thrum_rwlock lock;
    order log;
    atomic_int readers, most, late, done;
    atomic_bool let_go;
    int plain, twin; /* they are equal while no thread writes */
    int rounds;
} stage;

static stage *stage_new(void) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    thrum_rwlock_init(&s->lock);
    return s;
}

static void stage_free(stage *s) {
    CHECK_EQ(thrum_rwlock_destroy(&s->lock), 0);
    free(s);
}

TEST(one_caller_locks_and_unlocks) {
    /* It locks either way, and by each call; a free lock is taken at once. */
    thrum_rwlock lock = THRUM_RWLOCK_INIT;
    for (int i = 0; i < 2; i++) {
        thrum_rwlock_rdlock(&lock);
        thrum_rwlock_unlock(&lock);
        thrum_rwlock_wrlock(&lock);
        thrum_rwlock_unlock(&lock);
        CHECK_EQ(thrum_rwlock_try_rdlock(&lock), 0);
        thrum_rwlock_unlock(&lock);
        CHECK_EQ(thrum_rwlock_try_wrlock(&lock), 0);
        thrum_rwlock_unlock(&lock);
        CHECK_EQ(thrum_rwlock_rdlock_until(&lock, 0), 0);
        thrum_rwlock_unlock(&lock);
        CHECK_EQ(thrum_rwlock_wrlock_until(&lock, THRUM_FOREVER), 0);
        thrum_rwlock_unlock(&lock);
    }
    CHECK_EQ(thrum_rwlock_destroy(&lock), 0);
}

TEST(static_initializer_is_init) {
    /* Both make the same bytes. */
    static thrum_rwlock by_text = THRUM_RWLOCK_INIT;
    thrum_rwlock by_call;
    thrum_rwlock_init(&by_call);
    CHECK(memcmp(&by_text, &by_call, sizeof(by_call)) == 0);
}

TEST(readers_share_and_writers_do_not) {
    /* While others hold it, calls that do not wait are refused. */
    thrum_rwlock lock = THRUM_RWLOCK_INIT;
    thrum_rwlock_rdlock(&lock);
    CHECK_EQ(thrum_rwlock_try_rdlock(&lock), 0);
    CHECK_EQ(thrum_rwlock_try_wrlock(&lock), -EBUSY);
    CHECK_EQ(thrum_rwlock_wrlock_until(&lock, 0), -ETIMEDOUT);
    thrum_rwlock_unlock(&lock);
    CHECK_EQ(thrum_rwlock_try_wrlock(&lock), -EBUSY);
    thrum_rwlock_unlock(&lock);
    CHECK_EQ(thrum_rwlock_try_wrlock(&lock), 0);
    CHECK_EQ(thrum_rwlock_try_rdlock(&lock), -EBUSY);
    CHECK_EQ(thrum_rwlock_try_wrlock(&lock), -EBUSY);
    thrum_rwlock_unlock(&lock);
    CHECK_EQ(thrum_rwlock_destroy(&lock), 0);
}

/* ---- misuse ---- */

static void write_twice(void *arg) {
    thrum_rwlock_wrlock(arg);
    thrum_rwlock_wrlock(arg);
}

static void write_and_read(void *arg) {
    thrum_rwlock_wrlock(arg);
    thrum_rwlock_rdlock(arg);
}

static void write_until(void *arg) {
    thrum_rwlock_wrlock(arg);
    (void)!thrum_rwlock_wrlock_until(arg, THRUM_FOREVER);
}

static void read_until(void *arg) {
    thrum_rwlock_wrlock(arg);
    (void)!thrum_rwlock_rdlock_until(arg, 0);
}

static int write_twice_in_fiber(void *arg) {
    thrum_rwlock_wrlock(arg);
    thrum_yield();
    thrum_rwlock_wrlock(arg);
    return 0;
}

static void write_twice_by_fiber(void *arg) {
    rig_do(1, write_twice_in_fiber, arg);
}

TEST(a_writer_that_locks_again_aborts) {
    /*
     * It locks again for writing or reading, plainly or with a deadline; it is a thread or a fiber.
     */
    thrum_rwlock lock = THRUM_RWLOCK_INIT;
    static const char again[] = "held for writing by the caller already";
    check_dies(write_twice, &lock, again);
    check_dies(write_and_read, &lock, again);
    check_dies(write_until, &lock, again);
    check_dies(read_until, &lock, again);
    check_dies(write_twice_by_fiber, &lock, again);
}

static void unlock_free(void *arg) {
    thrum_rwlock_unlock(arg);
}

static void unlock_twice(void *arg) {
    thrum_rwlock_rdlock(arg);
    thrum_rwlock_unlock(arg);
    thrum_rwlock_unlock(arg);
}

static int unlock_anothers(void *arg) {
    thrum_rwlock_unlock(arg);
    return 0;
}

static void unlock_writers(void *arg) {
    thrum_rwlock_wrlock(arg);
    rig_do(1, unlock_anothers, arg);
}

TEST(unlocking_what_is_not_held_aborts) {
    /* A line names the call and says what is wrong. */
    thrum_rwlock lock = THRUM_RWLOCK_INIT;
    check_dies(unlock_free, &lock, "thrum_rwlock_unlock: not held");
    check_dies(unlock_twice, &lock, "thrum_rwlock_unlock: not held");
    check_dies(unlock_writers, &lock, "thrum_rwlock_unlock: another writes");
}

/* ---- many ---- */

static int read_together(void *arg) {
    stage *s = ((actor *)arg)->arg;
    thrum_rwlock_rdlock(&s->lock);
    atomic_fetch_add(&s->readers, 1);
    YIELD_UNTIL(atomic_load(&s->readers) == s->rounds);
    thrum_rwlock_unlock(&s->lock);
    return 0;
}

TEST(readers_are_inside_together) {
    /* Each waits inside until all are there. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new();
    s->rounds = 24;
    cast_add_mixed(c, 20, 4, read_together, s);
    cast_join(c);
    stage_free(s);
    rig_stop(&r);
}

static int read_or_write(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    for (int i = 0; i < s->rounds; i++) {
        if ((a->index + i) % 4 == 0) {
            thrum_rwlock_wrlock(&s->lock);
            CHECK_EQ(atomic_load(&s->readers), 0);
            int before = s->plain++;
            if (i % 16 == 0) {
                thrum_yield();
            }
            s->twin++;
            CHECK_EQ(s->plain, before + 1);
        } else {
            thrum_rwlock_rdlock(&s->lock);
            atomic_fetch_add(&s->readers, 1);
            int seen = s->plain;
            if (i % 16 == 1) {
                thrum_yield();
            }
            CHECK_EQ(s->plain, seen);
            CHECK_EQ(s->twin, seen);
            atomic_fetch_sub(&s->readers, 1);
        }
        thrum_rwlock_unlock(&s->lock);
    }
    return 0;
}

TEST(a_writer_is_alone) {
    /* Fibers and threads read and write plain data in turn. */
    rig r;
    rig_begin(&r, 0);
    for (int threads = 0; threads <= 4; threads += 4) {
        cast *c = cast_new(&r);
        stage *s = stage_new();
        s->rounds = 4 * SCALED(250);
        cast_add_mixed(c, 8, threads, read_or_write, s);
        cast_join(c);
        CHECK_EQ(s->plain, (8 + threads) * s->rounds / 4);
        CHECK_EQ(s->twin, s->plain);
        stage_free(s);
    }
    rig_stop(&r);
}

/* ---- order ---- */

static int write_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    thrum_rwlock_wrlock(&s->lock);
    order_add(&s->log, a->index);
    thrum_rwlock_unlock(&s->lock);
    return 0;
}

static int read_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    thrum_rwlock_rdlock(&s->lock);
    order_add(&s->log, 100);
    atomic_fetch_add(&s->readers, 1);
    YIELD_UNTIL(atomic_load(&s->let_go));
    thrum_rwlock_unlock(&s->lock);
    return 0;
}

TEST(writers_are_served_first_come_first_served) {
    /* Fibers and threads queue one after the other behind one that holds it. */
    enum { N = 12 };
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new();
    thrum_rwlock_rdlock(&s->lock);
    for (int i = 0; i < N; i++) {
        cast_add(c, i % 3 != 0, write_and_log, s);
        SPIN_UNTIL(WRITERS_WAITING(&s->lock) == i + 1);
    }
    thrum_rwlock_unlock(&s->lock);
    cast_join(c);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(s->log.seen[i], i);
    }
    stage_free(s);
    rig_stop(&r);
}

TEST(readers_and_writers_take_turns) {
    /* A reader does not pass a writer that waits; after the writer all readers that wait go in,
     * also past a writer that came before them, and that one is next. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new();
    thrum_rwlock_rdlock(&s->lock);
    for (int i = 0; i < 2; i++) {
        cast_add(c, i == 0, write_and_log, s);
        SPIN_UNTIL(WRITERS_WAITING(&s->lock) == i + 1);
    }
    CHECK_EQ(thrum_rwlock_try_rdlock(&s->lock), -EBUSY);
    CHECK_EQ(thrum_rwlock_rdlock_until(&s->lock, 0), -ETIMEDOUT);
    cast_add_mixed(c, 3, 2, read_and_log, s);
    SPIN_UNTIL(READERS_WAITING(&s->lock) == 5);
    thrum_rwlock_unlock(&s->lock);
    SPIN_UNTIL(atomic_load(&s->readers) == 5);
    CHECK_EQ(atomic_load(&s->log.count), 6);
    CHECK_EQ(s->log.seen[0], 0);
    CHECK_EQ(WRITERS_WAITING(&s->lock), 1);
    atomic_store(&s->let_go, true);
    cast_join(c);
    CHECK_EQ(s->log.seen[6], 1);
    stage_free(s);
    rig_stop(&r);
}

/* Takes and gives up the lock until the other kind has come in that often. */
static int read_on(void *arg) {
    stage *s = ((actor *)arg)->arg;
    while (atomic_load(&s->done) < s->rounds) {
        thrum_rwlock_rdlock(&s->lock);
        thrum_yield(); /* it is inside: there is always one */
        thrum_rwlock_unlock(&s->lock);
    }
    return 0;
}

static int write_often(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        thrum_rwlock_wrlock(&s->lock);
        atomic_fetch_add(&s->done, 1);
        thrum_rwlock_unlock(&s->lock);
    }
    return 0;
}

TEST(a_stream_of_readers_does_not_starve_a_writer) {
    /* The readers end only when the writer has been in. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new();
    s->rounds = SCALED(200);
    cast_add_mixed(c, 6, 2, read_on, s);
    cast_add(c, true, write_often, s);
    cast_join(c);
    stage_free(s);
    rig_stop(&r);
}

static int write_on(void *arg) {
    stage *s = ((actor *)arg)->arg;
    while (atomic_load(&s->done) < s->rounds) {
        thrum_rwlock_wrlock(&s->lock);
        thrum_yield();
        thrum_rwlock_unlock(&s->lock);
    }
    return 0;
}

static int read_often(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        thrum_rwlock_rdlock(&s->lock);
        atomic_fetch_add(&s->done, 1);
        thrum_rwlock_unlock(&s->lock);
    }
    return 0;
}

TEST(a_stream_of_writers_does_not_starve_a_reader) {
    /* The same holds the other way round. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new();
    s->rounds = SCALED(200);
    cast_add_mixed(c, 6, 2, write_on, s);
    cast_add(c, true, read_often, s);
    cast_join(c);
    stage_free(s);
    rig_stop(&r);
}

/* ---- late waits ---- */

static int write_in_vain(void *arg) {
    stage *s = ((actor *)arg)->arg;
    thrum_time until = soon();
    CHECK_EQ(thrum_rwlock_wrlock_until(&s->lock, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    atomic_fetch_add(&s->late, 1);
    return 0;
}

static int read_in_vain(void *arg) {
    stage *s = ((actor *)arg)->arg;
    thrum_time until = soon();
    CHECK_EQ(thrum_rwlock_rdlock_until(&s->lock, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    atomic_fetch_add(&s->late, 1);
    return 0;
}

TEST(a_held_lock_is_given_up_at_the_deadline) {
    /* It is not given up before that; and it is free when its holder unlocks. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new();
    thrum_rwlock_wrlock(&s->lock);
    cast_add_mixed(c, 4, 4, write_in_vain, s);
    cast_add_mixed(c, 4, 4, read_in_vain, s);
    SPIN_UNTIL(atomic_load(&s->late) == 16);
    thrum_rwlock_unlock(&s->lock);
    cast_join(c);
    CHECK_EQ(thrum_rwlock_try_wrlock(&s->lock), 0);
    thrum_rwlock_unlock(&s->lock);
    stage_free(s);
    rig_stop(&r);
}

TEST(readers_behind_a_late_writer_go_on) {
    /* This holds while another reads: they had waited only for that writer. */
    rig r;
    rig_begin(&r, 0);
    for (int fiber = 0; fiber < 2; fiber++) {
        cast *c = cast_new(&r);
        stage *s = stage_new();
        thrum_rwlock_rdlock(&s->lock);
        cast_add(c, fiber != 0, write_in_vain, s);
        SPIN_UNTIL(WRITERS_WAITING(&s->lock) == 1 || atomic_load(&s->late) == 1);
        cast_add_mixed(c, 2, 2, read_and_log, s);
        SPIN_UNTIL(atomic_load(&s->readers) == 4);
        atomic_store(&s->let_go, true);
        cast_join(c);
        CHECK_EQ(atomic_load(&s->late), 1); /* it had left, or the readers would still wait */
        thrum_rwlock_unlock(&s->lock);
        stage_free(s);
    }
    rig_stop(&r);
}

static int locks_in_the_end(void *arg) {
    stage *s = arg;
    thrum_rwlock_rdlock(&s->lock);
    thrum_rwlock_unlock(&s->lock);
    CHECK_EQ(thrum_rwlock_wrlock_until(&s->lock, far_off()), 0);
    s->plain++;
    thrum_rwlock_unlock(&s->lock);
    return 0;
}

TEST(locking_is_not_cancelled) {
    /* Waiters, with a deadline or without, get it when it is free. */
    enum { N = 20 };
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    thrum_rwlock_wrlock(&s->lock);
    for (int i = 0; i < N; i++) {
        rig_go(&r, locks_in_the_end, s);
    }
    SPIN_UNTIL(READERS_WAITING(&s->lock) == N);
    CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
    CHECK_EQ(READERS_WAITING(&s->lock), N);
    thrum_rwlock_unlock(&s->lock);
    rig_stop(&r);
    CHECK_EQ(s->plain, N);
    stage_free(s);
}

/* ---- the end ---- */

TEST(destroy_is_refused_while_in_use) {
    /* It is -EBUSY and changes nothing: held for reading, for writing, waited for. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new();
    thrum_rwlock_rdlock(&s->lock);
    CHECK_EQ(thrum_rwlock_destroy(&s->lock), -EBUSY);
    thrum_rwlock_unlock(&s->lock);
    thrum_rwlock_wrlock(&s->lock);
    CHECK_EQ(thrum_rwlock_destroy(&s->lock), -EBUSY);
    cast_add_mixed(c, 1, 1, write_and_log, s);
    SPIN_UNTIL(WRITERS_WAITING(&s->lock) == 2);
    const thrum_rwlock before = s->lock;
    CHECK_EQ(thrum_rwlock_destroy(&s->lock), -EBUSY);
    CHECK(memcmp(&before, &s->lock, sizeof(before)) == 0);
    thrum_rwlock_unlock(&s->lock);
    cast_join(c);
    stage_free(s);
    rig_stop(&r);
}

/* Writers count under the lock: the last one frees it. */
typedef struct shared {
    thrum_rwlock lock;
    int left;
} shared;

typedef struct handover {
    _Atomic(shared *) current;
    int parties, rounds;
    atomic_int round;
} handover;

static int use_and_free(void *arg) {
    handover *h = ((actor *)arg)->arg;
    for (int i = 0; i < h->rounds; i++) {
        YIELD_UNTIL(atomic_load(&h->round) == i && atomic_load(&h->current) != NULL);
        shared *s = atomic_load(&h->current);
        thrum_rwlock_rdlock(&s->lock);
        CHECK(s->left > 0);
        thrum_rwlock_unlock(&s->lock);
        thrum_rwlock_wrlock(&s->lock);
        bool last = --s->left == 0;
        thrum_rwlock_unlock(&s->lock);
        if (last) {
            memset(s, 0xee, sizeof(*s));
            free(s);
            shared *fresh = calloc(1, sizeof(*fresh));
            CHECK(fresh != NULL);
            fresh->left = h->parties;
            atomic_store(&h->current, fresh);
            atomic_store(&h->round, i + 1);
        } else {
            YIELD_UNTIL(atomic_load(&h->round) > i);
        }
    }
    return 0;
}

TEST(freed_by_the_last_owner_at_once) {
    /* No unlock touches it after the next owner may have freed it (address sanitizer). */
    rig r;
    rig_begin(&r, 0);
    for (int threads = 0; threads < 2; threads++) {
        cast *c = cast_new(&r);
        handover h = {.parties = 4, .rounds = SCALED(threads ? 200 : 1000)};
        shared *first = calloc(1, sizeof(*first));
        CHECK(first != NULL);
        first->left = h.parties;
        atomic_store(&h.current, first);
        cast_add_mixed(c, 4 - threads, threads, use_and_free, &h);
        cast_join(c);
        free(atomic_load(&h.current));
    }
    rig_stop(&r);
}
