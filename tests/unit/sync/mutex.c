/*
 * mutex.c: the mutex, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "core/state/self_id.h"
#include "support/sync/actors.h"
#include "support/times.h"
#include "thrum/mutex.h"

typedef struct stage {
    thrum_mutex mutex;
    thrum_sem sem;
    order log;
    atomic_int in;
    atomic_int begun;
    atomic_bool flag;
    int plain; /* protected by the mutex */
    int rounds;
} stage;

static stage *stage_new(void) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    thrum_mutex_init(&s->mutex);
    thrum_sem_init(&s->sem, 0);
    return s;
}

static void lock(thrum_mutex *mutex) {
    thrum_mutex_lock(mutex);
}

/* ---- alone ---- */

static int alone(void *arg) {
    thrum_mutex *mutex = arg;
    for (int i = 0; i < 3; i++) {
        lock(mutex);
        CHECK_EQ(thrum_mutex_try_lock(mutex), -EBUSY);
        CHECK_EQ(thrum_mutex_destroy(mutex), -EBUSY);
        thrum_mutex_unlock(mutex);
        CHECK_EQ(thrum_mutex_try_lock(mutex), 0);
        CHECK_EQ(thrum_mutex_try_lock(mutex), -EBUSY);
        thrum_mutex_unlock(mutex);
    }
    return 0;
}

TEST(one_caller_locks_and_unlocks) {
    /* Thread and fiber alike get -EBUSY when they try their own mutex. */
    thrum_mutex mutex;
    thrum_mutex_init(&mutex);
    CHECK_EQ(alone(&mutex), 0);
    rig_do(0, alone, &mutex);
    CHECK_EQ(thrum_mutex_destroy(&mutex), 0);
}

TEST(static_initializer_is_init) {
    /* Both make the same bytes. */
    static thrum_mutex by_text = THRUM_MUTEX_INIT;
    thrum_mutex by_call;
    thrum_mutex_init(&by_call);
    CHECK(memcmp(&by_text, &by_call, sizeof(by_call)) == 0);
}

static int try_it(void *arg) {
    stage *s = ((actor *)arg)->arg;
    CHECK_EQ(thrum_mutex_try_lock(&s->mutex), -EBUSY);
    return 0;
}

TEST(others_cannot_take_a_held_mutex) {
    /* try_lock of a held mutex is -EBUSY, for fibers and threads, and never waits. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    cast *c = cast_new(&r);
    lock(&s->mutex);
    cast_add_mixed(c, 2, 2, try_it, s);
    cast_join(c);
    thrum_mutex_unlock(&s->mutex);
    free(s);
    rig_stop(&r);
}

/* ---- misuse ---- */

static void unlock_it(void *arg) {
    thrum_mutex_unlock(arg);
}

static void *unlock_in_thread(void *seat) {
    unlock_it(((crew_seat *)seat)->arg);
    return NULL;
}

static void unlock_by_stranger(void *arg) {
    crew c;
    lock(arg);
    crew_start(&c, 1, unlock_in_thread, arg);
    crew_join(&c);
}

static int unlock_in_fiber(void *arg) {
    thrum_set_name("stranger");
    unlock_it(arg);
    return 0;
}

static void unlock_by_fiber(void *arg) {
    lock(arg);
    rig_do(0, unlock_in_fiber, arg);
}

static void unlock_twice(void *arg) {
    lock(arg);
    thrum_mutex_unlock(arg);
    thrum_mutex_unlock(arg);
}

TEST(unlock_by_another_than_the_owner_aborts) {
    /*
     * It is free, unlocked twice, held by another thread, or held by a thread and unlocked by a
     * fiber.
     */
    static const char line[] = "thrum_mutex_unlock: not held by the caller";
    thrum_mutex mutex = THRUM_MUTEX_INIT;
    check_dies(unlock_it, &mutex, line);
    check_dies(unlock_twice, &mutex, line);
    check_dies(unlock_by_stranger, &mutex, line);
    check_dies(unlock_by_fiber, &mutex, line);
}

static void relock(void *arg) {
    lock(arg);
    lock(arg);
}

static void relock_until(void *arg) {
    lock(arg);
    (void)!thrum_mutex_lock_until(arg, THRUM_FOREVER - 1);
}

static void relock_late(void *arg) {
    lock(arg);
    (void)!thrum_mutex_lock_until(arg, 0);
}

static int relock_in_fiber(void *arg) {
    thrum_set_name("again");
    relock(arg);
    return 0;
}

static void relock_by_fiber(void *arg) {
    rig_do(1, relock_in_fiber, arg);
}

TEST(relocking_ones_own_aborts) {
    /* A thread does it, a fiber that the line names, with a deadline, with one that has passed. */
    thrum_mutex mutex = THRUM_MUTEX_INIT;
    check_dies(relock, &mutex, "thrum_mutex_lock: held by the caller already");
    check_dies(relock_by_fiber, &mutex, "again");
    check_dies(relock_until, &mutex, "thrum_mutex_lock_until: held by the caller already");
    check_dies(relock_late, &mutex, "thrum_mutex_lock_until: held by the caller already");
}

static int lock_and_leave(void *arg) {
    thrum_mutex_lock(arg);
    return 0;
}

static int unlock_as_next_task(void *arg) {
    thrum_mutex_unlock(arg);
    return 0;
}

static int hand_on_by_mistake(void *arg) {
    thrum_handle *h;
    CHECK_EQ(thrum_spawn(&h, lock_and_leave, arg), 0);
    CHECK_EQ(thrum_join(h, NULL), 0);
    CHECK_EQ(thrum_spawn(&h, unlock_as_next_task, arg), 0);
    return thrum_join(h, NULL);
}

static void unlock_by_the_next_task(void *arg) {
    rig_do(1, hand_on_by_mistake, arg);
}

TEST(owner_is_the_task_not_its_fiber) {
    /* A task that ends while it holds the mutex does not leave it to the next on the same fiber. */
    thrum_mutex mutex = THRUM_MUTEX_INIT;
    check_dies(unlock_by_the_next_task, &mutex, "thrum_mutex_unlock: not held by the caller");
}

/* ---- exclusion ---- */

static int count_under_lock(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    for (int i = 0; i < s->rounds; i++) {
        if (i % 5 == a->index % 5) {
            while (thrum_mutex_try_lock(&s->mutex) != 0) {
                thrum_yield();
            }
        } else {
            lock(&s->mutex);
        }
        CHECK_EQ(atomic_fetch_add(&s->in, 1), 0);
        s->plain++;
        if (i % 8 == 0) {
            thrum_yield(); /* it may go on on another worker, still the owner */
        }
        atomic_fetch_sub(&s->in, 1);
        thrum_mutex_unlock(&s->mutex);
        if (i % 64 == 0) {
            thrum_yield();
        }
    }
    return 0;
}

TEST(one_at_a_time_and_each_sees_the_one_before) {
    /* Fibers and threads count under the lock, and some yield with it held. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    cast *c = cast_new(&r);
    s->rounds = SCALED(2000);
    cast_add_mixed(c, 6, 3, count_under_lock, s);
    cast_join(c);
    CHECK_EQ(s->plain, 9 * s->rounds);
    CHECK_EQ(thrum_mutex_destroy(&s->mutex), 0);
    free(s);
    rig_stop(&r);
}

static int short_lock(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        lock(&s->mutex);
        s->plain++;
        thrum_mutex_unlock(&s->mutex);
    }
    return 0;
}

TEST(short_locks_of_fibers_alone) {
    /* There are a hundred fibers that never yield by themselves. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    cast *c = cast_new(&r);
    s->rounds = SCALED(2000);
    cast_add_mixed(c, 100, 0, short_lock, s);
    cast_join(c);
    CHECK_EQ(s->plain, 100 * s->rounds);
    free(s);
    rig_stop(&r);
}

TEST(short_locks_of_threads_alone) {
    /* The threads have nothing to do with any scheduler. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    cast *c = cast_new(&r);
    s->rounds = SCALED(20000);
    cast_add_mixed(c, 0, 4, short_lock, s);
    cast_join(c);
    CHECK_EQ(s->plain, 4 * s->rounds);
    free(s);
    rig_stop(&r);
}

/* ---- order ---- */

static int lock_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    lock(&s->mutex);
    order_add(&s->log, a->index);
    thrum_mutex_unlock(&s->mutex);
    return 0;
}

TEST(waiters_are_served_first_come_first_served) {
    /*
     * Fibers and threads queue one after the other behind a held mutex, and get it in that order.
     */
    enum { WAITERS = 12 };
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    cast *c = cast_new(&r);
    lock(&s->mutex);
    for (int i = 0; i < WAITERS; i++) {
        cast_add(c, i % 3 != 0, lock_and_log, s);
        YIELD_UNTIL(MUTEX_WAITING(&s->mutex) == i + 1);
    }
    thrum_mutex_unlock(&s->mutex);
    cast_join(c);
    for (int i = 0; i < WAITERS; i++) {
        CHECK_EQ(s->log.seen[i], i);
    }
    CHECK_EQ(thrum_mutex_destroy(&s->mutex), 0);
    free(s);
    rig_stop(&r);
}

static int lock_in_turn(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    atomic_fetch_add(&s->begun, 1);
    YIELD_UNTIL(atomic_load(&s->in) > a->index);
    return lock_and_log(arg);
}

TEST(a_passed_waiter_keeps_its_place) {
    /*
     * A running caller takes the mutex past two waiters; they still get it in the order they came.
     * They have begun before one of them waits: after 1 ms it would be handed the mutex.
     */
    rig r;
    rig_begin(&r, 0);
    for (bool passed = false; !passed;) {
        stage *s = stage_new();
        cast *c = cast_new(&r);
        lock(&s->mutex);
        cast_add(c, true, lock_in_turn, s);
        cast_add(c, false, lock_in_turn, s);
        YIELD_UNTIL(atomic_load(&s->begun) == 2);
        for (int i = 0; i < 2; i++) {
            atomic_store(&s->in, i + 1);
            YIELD_UNTIL(MUTEX_WAITING(&s->mutex) == i + 1);
        }
        thrum_mutex_unlock(&s->mutex);
        passed = thrum_mutex_try_lock(&s->mutex) == 0 && MUTEX_WAITING(&s->mutex) == 2;
        if (passed) {
            /* WOKEN, bit 3, goes out when the first has come, has found it taken and waits again */
            YIELD_UNTIL((th_load_relaxed(&s->mutex.reserved_word) & 8u) == 0);
            CHECK_EQ(MUTEX_WAITING(&s->mutex), 2);
        }
        if (th_load_relaxed(&s->mutex.reserved_owner) == th_self_id()) {
            thrum_mutex_unlock(&s->mutex);
        }
        cast_join(c);
        CHECK_EQ(s->log.seen[0], 0);
        CHECK_EQ(s->log.seen[1], 1);
        free(s);
    }
    rig_stop(&r);
}

static int hold_until_told(void *arg) {
    stage *s = ((actor *)arg)->arg;
    lock(&s->mutex);
    CHECK_EQ(thrum_sem_wait(&s->sem), 0);
    thrum_mutex_unlock(&s->mutex);
    return 0;
}

TEST(an_old_waiter_is_handed_the_mutex) {
    /* After more than 1 ms of waiting it is the owner as soon as the unlock returns. */
    rig r;
    rig_begin(&r, 0);
    for (int kind = 0; kind < 2; kind++) {
        stage *s = stage_new();
        cast *c = cast_new(&r);
        lock(&s->mutex);
        cast_add(c, kind == 0, hold_until_told, s);
        YIELD_UNTIL(MUTEX_WAITING(&s->mutex) == 1);
        await_passed(soon());
        thrum_mutex_unlock(&s->mutex);
        CHECK_EQ(thrum_mutex_try_lock(&s->mutex), -EBUSY);
        CHECK(th_load_relaxed(&s->mutex.reserved_owner) != 0);
        thrum_sem_post(&s->sem);
        cast_join(c);
        CHECK_EQ(thrum_mutex_destroy(&s->mutex), 0);
        free(s);
    }
    rig_stop(&r);
}

static int set_flag_under_lock(void *arg) {
    stage *s = arg;
    lock(&s->mutex);
    s->plain = 1;
    thrum_mutex_unlock(&s->mutex);
    return 0;
}

static int lock_greedily(void *arg) {
    stage *s = arg;
    thrum_handle *h;
    lock(&s->mutex);
    CHECK_EQ(thrum_spawn(&h, set_flag_under_lock, s), 0);
    YIELD_UNTIL(MUTEX_WAITING(&s->mutex) == 1);
    thrum_mutex_unlock(&s->mutex);
    for (bool set = false; !set;) { /* it never yields, and mostly holds it */
        lock(&s->mutex);
        set = s->plain != 0;
        thrum_mutex_unlock(&s->mutex);
    }
    return thrum_join(h, NULL);
}

TEST(a_greedy_fiber_does_not_starve_a_waiter) {
    /*
     * This holds on the worker that both share, too: the greedy one must wait once it has handed
     * over.
     */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    CHECK_EQ(rig_run(&r, lock_greedily, s), 0);
    CHECK_EQ(thrum_mutex_destroy(&s->mutex), 0);
    free(s);
    rig_stop(&r);
}

TEST(a_crowd_waits_and_gets_it) {
    /* A thousand fibers queue behind one holder. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    cast *c = cast_new(&r);
    const int n = SCALED(1000);
    s->rounds = 1;
    lock(&s->mutex);
    cast_add_mixed(c, n, 0, short_lock, s);
    YIELD_UNTIL(MUTEX_WAITING(&s->mutex) == n);
    CHECK_EQ(s->plain, 0);
    thrum_mutex_unlock(&s->mutex);
    cast_join(c);
    CHECK_EQ(s->plain, n);
    free(s);
    rig_stop(&r);
}

/* ---- the end of a mutex ---- */

TEST(destroy_is_refused_while_in_use) {
    /* Held, or waited for, it is -EBUSY and unchanged. Then it is zero, and can be used again. */
    static const thrum_mutex zero;
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    cast *c = cast_new(&r);
    lock(&s->mutex);
    cast_add_mixed(c, 1, 1, lock_and_log, s);
    YIELD_UNTIL(MUTEX_WAITING(&s->mutex) == 2);
    const thrum_mutex before = s->mutex;
    CHECK_EQ(thrum_mutex_destroy(&s->mutex), -EBUSY);
    CHECK(memcmp(&before, &s->mutex, sizeof(before)) == 0);
    thrum_mutex_unlock(&s->mutex);
    cast_join(c);
    CHECK_EQ(thrum_mutex_destroy(&s->mutex), 0);
    CHECK(memcmp(&zero, &s->mutex, sizeof(zero)) == 0);
    lock(&s->mutex);
    thrum_mutex_unlock(&s->mutex);
    free(s);
    rig_stop(&r);
}

/*
 * What several share until the last one frees it: the mutex protects the count that tells which is
 * the last.
 */
typedef struct shared {
    thrum_mutex mutex;
    int users;
} shared;

typedef struct lottery {
    _Atomic(shared *) *drawn; /* one for each round */
    int users;
    int rounds;
    atomic_int freed;
} lottery;

static int last_one_frees(void *arg) {
    lottery *l = ((actor *)arg)->arg;
    for (int i = 0; i < l->rounds; i++) {
        shared *mine = malloc(sizeof(*mine));
        CHECK(mine != NULL);
        *mine = (shared){.mutex = THRUM_MUTEX_INIT, .users = l->users};
        shared *s = NULL;
        if (atomic_compare_exchange_strong(&l->drawn[i], &s, mine)) {
            s = mine;
        } else {
            free(mine);
        }
        lock(&s->mutex);
        const bool last = --s->users == 0;
        if (i % 8 == 0) {
            thrum_yield(); /* with the mutex held: the others queue */
        }
        thrum_mutex_unlock(&s->mutex);
        if (last) {
            CHECK_EQ(thrum_mutex_destroy(&s->mutex), 0);
            memset(s, 0xee, sizeof(*s));
            free(s);
            atomic_fetch_add(&l->freed, 1);
        }
    }
    return 0;
}

TEST(freed_by_the_last_owner_at_once) {
    /* No unlock touches the mutex after another may have it (address sanitizer). */
    rig r;
    rig_begin(&r, 0);
    for (int kinds = 0; kinds < 3; kinds++) {
        const int fibers = kinds == 0 ? 4 : kinds == 1 ? 0 : 2;
        lottery l = {.users = 4, .rounds = SCALED(kinds == 0 ? 4000 : 1000)};
        l.drawn = calloc((size_t)l.rounds, sizeof(*l.drawn));
        CHECK(l.drawn != NULL);
        cast *c = cast_new(&r);
        cast_add_mixed(c, fibers, 4 - fibers, last_one_frees, &l);
        cast_join(c);
        CHECK_EQ(atomic_load(&l.freed), l.rounds);
        free(l.drawn);
    }
    rig_stop(&r);
}
