/*
 * turn_passed.c: who fails or gives up passes the turn on.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

/* ---- a once that failed ---- */

typedef struct tries {
    thrum_once once;
    thrum_sem fail; /* what the first call waits for */
    atomic_int calls;
} tries;

static int never_called(void *arg) {
    (void)arg;
    check_failed(__FILE__, __LINE__, "a call from within has begun");
}

/* The first call fails; each one asks from within for the same once. */
static int try_it(void *arg) {
    tries *t = arg;
    int call = atomic_fetch_add(&t->calls, 1);
    CHECK_EQ(thrum_once_run_until(&t->once, never_called, NULL, past()), -EDEADLK);
    if (call == 0) {
        CHECK_EQ(thrum_sem_wait(&t->fail), 0);
        return -EIO;
    }
    return 0;
}

static int run_once(void *arg) {
    actor *a = arg;
    tries *t = a->arg;
    CHECK_EQ(thrum_once_run(&t->once, try_it, t), a->index == 0 ? -EIO : 0);
    return 0;
}

TEST(the_next_caller_of_a_failed_once_is_its_owner) {
    /* It waited, the first call fails, and what it calls from within is a deadlock for it, too. */
    rig r;
    rig_begin(&r, 0);
    for (int fiber = 0; fiber < 2; fiber++) {
        cast *c = cast_new(&r);
        tries t = {.once = THRUM_ONCE_INIT};
        thrum_sem_init(&t.fail, 0);
        cast_add(c, true, run_once, &t);
        SPIN_UNTIL(atomic_load(&t.calls) == 1);
        cast_add(c, fiber != 0, run_once, &t);
        SPIN_UNTIL(ONCE_WAITING(&t.once) == 1);
        thrum_sem_post(&t.fail);
        cast_join(c);
        CHECK_EQ(atomic_load(&t.calls), 2);
        CHECK_EQ(thrum_once_destroy(&t.once), 0);
    }
    rig_stop(&r);
}

/* ---- a writer that gives up ---- */

typedef struct writer {
    thrum_rwlock lock;
    thrum_task task;
    thrum_await await;
    atomic_int reads;
    int code; /* of thrum_await_end */
    atomic_bool ended;
} writer;

static void writer_ends(thrum_task *self, void *arg) {
    (void)self;
    writer *w = arg;
    w->code = thrum_await_end(&w->await);
    atomic_store(&w->ended, true);
}

static int writer_begins(void *arg) {
    writer *w = arg;
    thrum_task_init(&w->task, writer_ends, w);
    CHECK_EQ(thrum_rwlock_wrlock_on_until(&w->lock, &w->await, &w->task, THRUM_FOREVER), 0);
    return 0;
}

static int read_once(void *arg) {
    writer *w = ((actor *)arg)->arg;
    thrum_rwlock_rdlock(&w->lock);
    atomic_fetch_add(&w->reads, 1);
    thrum_rwlock_unlock(&w->lock);
    return 0;
}

TEST(a_writer_that_gives_up_lets_the_readers_behind_it_in) {
    /* They wait behind it for certain, and another reader keeps the lock all the while. */
    rig r;
    rig_begin(&r, 0);
    for (int round = 0; round < 2; round++) {
        cast *c = cast_new(&r);
        writer w = {.lock = THRUM_RWLOCK_INIT};
        thrum_rwlock_rdlock(&w.lock);
        CHECK_EQ(rig_run(&r, writer_begins, &w), 0);
        SPIN_UNTIL(WRITERS_WAITING(&w.lock) == 1);
        cast_add_mixed(c, round ? 3 : 0, round ? 0 : 3, read_once, &w);
        SPIN_UNTIL(READERS_WAITING(&w.lock) == 3);
        CHECK_EQ(atomic_load(&w.reads), 0);
        CHECK_EQ(thrum_task_cancel(&w.task), 0);
        SPIN_UNTIL(atomic_load(&w.ended));
        CHECK_EQ(w.code, -ECANCELED);
        CHECK_EQ(READERS_WAITING(&w.lock), 0);
        cast_join(c);
        CHECK_EQ(atomic_load(&w.reads), 3);
        thrum_rwlock_unlock(&w.lock);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_rwlock_destroy(&w.lock), 0);
    }
    rig_stop(&r);
}

/* ---- a waiter that is woken too late ---- */

typedef struct late {
    thrum_mutex mutex;
    thrum_time deadline;
    atomic_int ended;
} late;

static int lock_late(void *arg) {
    late *l = arg;
    int code = thrum_mutex_lock_until(&l->mutex, l->deadline);
    CHECK(code == 0 || code == -ETIMEDOUT);
    if (code == 0) {
        thrum_mutex_unlock(&l->mutex);
    }
    atomic_fetch_add(&l->ended, 1);
    return 0;
}

static int lock_and_unlock(void *arg) {
    late *l = arg;
    thrum_mutex_lock(&l->mutex);
    thrum_mutex_unlock(&l->mutex);
    atomic_fetch_add(&l->ended, 1);
    return 0;
}

/* It is woken, but the mutex is taken again until its deadline has passed. */
static int pass_it_by(void *arg) {
    late *l = arg;
    thrum_mutex_lock(&l->mutex);
    l->deadline = soon();
    CHECK_EQ(thrum_go(lock_late, l), 0);
    YIELD_UNTIL(MUTEX_WAITING(&l->mutex) == 1 || atomic_load(&l->ended) == 1);
    thrum_mutex_unlock(&l->mutex);
    if (thrum_mutex_try_lock(&l->mutex) == 0) { /* else it waited so long that it is the owner */
        await_passed(l->deadline);
        YIELD_UNTIL(atomic_load(&l->ended) == 1);
        CHECK_EQ(thrum_go(lock_and_unlock, l), 0);
        YIELD_UNTIL(MUTEX_WAITING(&l->mutex) == 1);
        thrum_mutex_unlock(&l->mutex);
        YIELD_UNTIL(atomic_load(&l->ended) == 2);
    }
    return 0;
}

TEST(a_woken_waiter_that_is_late_leaves_the_mutex_to_the_next) {
    /* One worker, so that it is passed by before it runs. */
    for (int i = 0; i < 20; i++) {
        late l = {.mutex = THRUM_MUTEX_INIT};
        rig_do(1, pass_it_by, &l);
        CHECK_EQ(thrum_mutex_destroy(&l.mutex), 0);
    }
}
