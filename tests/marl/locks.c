/*
 * locks.c: primitives shared by tasks and the thread: mutex, rwlock, cond, semaphore, waitgroup,
 * once, barrier.
 */
/* matrix: bound */
#include "support/sync/bound.h"
#include "support/times.h"

enum { TASKS = 100, ROUNDS = 20 };

typedef struct room {
    rig r; /* first: the allocator's ctx */
    thrum_mutex mutex;
    thrum_rwlock lock;
    thrum_cond not_empty, not_full;
    thrum_sem sem;
    thrum_waitgroup left;
    thrum_once once;
    thrum_barrier barrier;
    int plain[2]; /* under a lock, or before the wait that shows them */
    int items, taken;
    atomic_int inside, most, last, ended;
} room;

static room *room_new(void) {
    room *o = calloc(1, sizeof(*o));
    CHECK(o != NULL);
    bound_begin(&o->r);
    thrum_mutex_init(&o->mutex);
    thrum_rwlock_init(&o->lock);
    thrum_cond_init(&o->not_empty);
    thrum_cond_init(&o->not_full);
    thrum_once_init(&o->once);
    return o;
}

/* Destroys the primitives: no waiter is left at any of them. */
static void room_end(room *o) {
    CHECK_EQ(thrum_mutex_destroy(&o->mutex), 0);
    CHECK_EQ(thrum_rwlock_destroy(&o->lock), 0);
    CHECK_EQ(thrum_cond_destroy(&o->not_empty), 0);
    CHECK_EQ(thrum_cond_destroy(&o->not_full), 0);
    CHECK_EQ(thrum_once_destroy(&o->once), 0);
    bound_end(&o->r);
    free(o);
}

/* Runs fn(room) in a hundred tasks, and in the thread beside them. */
static void by_all(room *o, thrum_fn fn) {
    for (int i = 0; i < TASKS; i++) {
        rig_go(&o->r, fn, o);
    }
    CHECK_EQ(fn(o), 0);
    rig_wait_done(&o->r);
}

/* ---- locks ---- */

static int counts_alone(void *arg) {
    room *o = arg;
    for (int i = 0; i < ROUNDS; i++) {
        thrum_mutex_lock(&o->mutex);
        CHECK_EQ(thrum_mutex_try_lock(&o->mutex), -EBUSY);
        const int seen = o->plain[0];
        if (i % 4 == 0) {
            thrum_yield(); /* with the mutex held */
        }
        o->plain[0] = seen + 1;
        thrum_mutex_unlock(&o->mutex);
    }
    return 0;
}

TEST(a_mutex_lets_one_in) {
    /* The mutex lets one in although its owner suspends. */
    room *o = room_new();
    by_all(o, counts_alone);
    CHECK_EQ(o->plain[0], (TASKS + 1) * ROUNDS);
    room_end(o);
}

static int gives_up(void *arg) {
    room *o = arg;
    const thrum_time deadline = soon();
    CHECK_EQ(thrum_mutex_try_lock(&o->mutex), -EBUSY);
    CHECK_EQ(thrum_mutex_lock_until(&o->mutex, deadline), -ETIMEDOUT);
    CHECK_PASSED(deadline);
    CHECK_EQ(thrum_rwlock_try_rdlock(&o->lock), -EBUSY);
    CHECK_EQ(thrum_rwlock_rdlock_until(&o->lock, deadline), -ETIMEDOUT);
    CHECK_EQ(thrum_rwlock_wrlock_until(&o->lock, deadline), -ETIMEDOUT);
    return 0;
}

TEST(a_late_waiter_has_no_lock) {
    /* Waits with a deadline end without the locks, which the thread holds. */
    room *o = room_new();
    thrum_mutex_lock(&o->mutex);
    thrum_rwlock_wrlock(&o->lock);
    bound_run_all(&o->r, TASKS, gives_up, o);
    thrum_rwlock_unlock(&o->lock);
    thrum_mutex_unlock(&o->mutex);
    room_end(o);
}

static int reads_or_writes(void *arg) {
    room *o = arg;
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 5 == 0) {
            thrum_rwlock_wrlock(&o->lock);
            CHECK_EQ(atomic_fetch_add(&o->inside, 1), 0);
            o->plain[0]++;
            thrum_yield();
            o->plain[1]++;
        } else {
            thrum_rwlock_rdlock(&o->lock);
            atomic_fetch_add(&o->inside, 1);
            CHECK_EQ(o->plain[0], o->plain[1]);
            thrum_yield();
            CHECK_EQ(o->plain[0], o->plain[1]);
        }
        atomic_fetch_sub(&o->inside, 1);
        thrum_rwlock_unlock(&o->lock);
    }
    return 0;
}

TEST(an_rwlock_lets_one_writer_in) {
    /* Readers never see a change half done. */
    room *o = room_new();
    by_all(o, reads_or_writes);
    CHECK_EQ(o->plain[0], (TASKS + 1) * ROUNDS / 5);
    CHECK_EQ(o->plain[1], o->plain[0]);
    room_end(o);
}

static int reads_with_the_others(void *arg) {
    room *o = arg;
    thrum_rwlock_rdlock(&o->lock);
    CHECK(thrum_barrier_wait(&o->barrier) >= 0);
    thrum_rwlock_unlock(&o->lock);
    return 0;
}

TEST(an_rwlock_lets_readers_in_together) {
    /* All readers meet inside. */
    room *o = room_new();
    thrum_barrier_init(&o->barrier, TASKS + 1);
    by_all(o, reads_with_the_others);
    CHECK_EQ(thrum_barrier_destroy(&o->barrier), 0);
    room_end(o);
}

/* ---- cond ---- */

static int produces(void *arg) {
    room *o = arg;
    for (int i = 0; i < ROUNDS; i++) {
        thrum_mutex_lock(&o->mutex);
        while (o->items == 3) {
            CHECK_EQ(thrum_cond_wait(&o->not_full, &o->mutex), 0);
        }
        o->items++;
        thrum_cond_signal(&o->not_empty);
        thrum_mutex_unlock(&o->mutex);
    }
    return 0;
}

static int consumes(void *arg) {
    room *o = arg;
    for (int i = 0; i < ROUNDS; i++) {
        thrum_mutex_lock(&o->mutex);
        while (o->items == 0) {
            CHECK_EQ(thrum_cond_wait(&o->not_empty, &o->mutex), 0);
        }
        o->items--;
        o->taken++;
        thrum_cond_signal(&o->not_full);
        thrum_mutex_unlock(&o->mutex);
    }
    return 0;
}

TEST(conds_guard_a_buffer_of_three) {
    /* As many take as put; the thread takes, too. */
    room *o = room_new();
    for (int i = 0; i < TASKS / 2; i++) {
        rig_go(&o->r, produces, o);
        if (i > 0) {
            rig_go(&o->r, consumes, o);
        }
    }
    CHECK_EQ(consumes(o), 0);
    rig_wait_done(&o->r);
    CHECK_EQ(o->items, 0);
    CHECK_EQ(o->taken, TASKS / 2 * ROUNDS);
    room_end(o);
}

/* ---- counts ---- */

static int has_a_place(void *arg) {
    room *o = arg;
    CHECK_EQ(thrum_sem_wait(&o->sem), 0);
    const int now = atomic_fetch_add(&o->inside, 1) + 1;
    CHECK(now <= 3);
    thrum_yield();
    atomic_fetch_sub(&o->inside, 1);
    thrum_sem_post(&o->sem);
    return 0;
}

TEST(a_semaphore_of_three_has_three_places) {
    /* Never more than three are inside, and all three places are free afterwards. */
    room *o = room_new();
    thrum_sem_init(&o->sem, 3);
    by_all(o, has_a_place);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_sem_try_wait(&o->sem), 0);
    }
    CHECK_EQ(thrum_sem_try_wait(&o->sem), -EAGAIN);
    CHECK_EQ(thrum_sem_destroy(&o->sem), 0);
    room_end(o);
}

static int is_counted(void *arg) {
    room *o = arg;
    thrum_yield();
    atomic_fetch_add(&o->ended, 1);
    thrum_waitgroup_done(&o->left);
    return 0;
}

static int waits_for_all(void *arg) {
    room *o = arg;
    CHECK_EQ(thrum_waitgroup_wait(&o->left), 0);
    CHECK_EQ(atomic_load(&o->ended), TASKS);
    atomic_fetch_add(&o->most, 1);
    return 0;
}

TEST(a_waitgroup_waits_for_all) {
    /* The thread and tasks wait for the same hundred; a wait before that times out. */
    room *o = room_new();
    thrum_waitgroup_init(&o->left, TASKS);
    CHECK_EQ(thrum_waitgroup_wait_until(&o->left, soon()), -ETIMEDOUT);
    for (int i = 0; i < TASKS; i++) {
        rig_go(&o->r, waits_for_all, o);
        rig_go(&o->r, is_counted, o);
    }
    CHECK_EQ(waits_for_all(o), 0);
    rig_wait_done(&o->r);
    CHECK_EQ(atomic_load(&o->most), TASKS + 1);
    CHECK_EQ(thrum_waitgroup_destroy(&o->left), 0);
    room_end(o);
}

/* ---- once, barrier ---- */

static int is_done_once(void *arg) {
    room *o = arg;
    o->plain[0]++;
    nap();
    o->plain[1]++;
    return 0;
}

static int has_it_done(void *arg) {
    room *o = arg;
    CHECK_EQ(thrum_once_run(&o->once, is_done_once, o), 0);
    CHECK(thrum_once_is_done(&o->once));
    CHECK_EQ(o->plain[0], 1);
    CHECK_EQ(o->plain[1], 1);
    return 0;
}

TEST(once_is_once) {
    /* Callers that come while it is being done wait. */
    room *o = room_new();
    by_all(o, has_it_done);
    CHECK_EQ(o->plain[1], 1);
    room_end(o);
}

static int meets_the_others(void *arg) {
    room *o = arg;
    for (int i = 0; i < ROUNDS; i++) {
        atomic_fetch_add(&o->inside, 1);
        const int last = thrum_barrier_wait(&o->barrier);
        CHECK(last == 0 || last == 1);
        CHECK(atomic_load(&o->inside) >= (i + 1) * (TASKS + 1));
        atomic_fetch_add(&o->last, last);
    }
    return 0;
}

TEST(a_barrier_is_passed_together) {
    /* A hundred tasks and the thread pass round after round; one of them is the last. */
    room *o = room_new();
    thrum_barrier_init(&o->barrier, TASKS + 1);
    by_all(o, meets_the_others);
    CHECK_EQ(atomic_load(&o->last), ROUNDS);
    CHECK_EQ(thrum_barrier_destroy(&o->barrier), 0);
    room_end(o);
}
