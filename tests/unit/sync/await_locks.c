/*
 * await_locks.c: waits of intrusive tasks (thrum/await.h) for mutexes, rwlocks, conditions and
 * barriers.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

typedef struct place place;

/* What a task waits for, and what its run was told. */
struct place {
    thrum_task task;
    thrum_await await;
    int (*on)(place *p);
    void (*has)(place *p); /* what it does with what it got, at once or in its run */
    thrum_time deadline;
    void *of;
    int code;  /* of the call that began the wait */
    int ended; /* of thrum_await_end */
    atomic_int runs;
};

static rig r;
static thrum_mutex mutex = THRUM_MUTEX_INIT;
static thrum_rwlock rwlock = THRUM_RWLOCK_INIT;
static thrum_cond cond = THRUM_COND_INIT;

static int on_mutex(place *p) {
    return thrum_mutex_on_until(&mutex, &p->await, &p->task, p->deadline);
}

static int on_read(place *p) {
    return thrum_rwlock_rdlock_on_until(&rwlock, &p->await, &p->task, p->deadline);
}

static int on_write(place *p) {
    return thrum_rwlock_wrlock_on_until(&rwlock, &p->await, &p->task, p->deadline);
}

static int on_barrier(place *p) {
    return thrum_barrier_on_until(p->of, &p->await, &p->task, p->deadline);
}

static void has_mutex(place *p) {
    (void)p;
    CHECK_EQ(thrum_mutex_try_lock(&mutex), -EBUSY);
    thrum_mutex_unlock(&mutex);
}

static void has_rwlock(place *p) {
    CHECK_EQ(thrum_rwlock_try_wrlock(&rwlock), -EBUSY);
    if (p->on == on_write) {
        CHECK_EQ(thrum_rwlock_try_rdlock(&rwlock), -EBUSY);
    }
    thrum_rwlock_unlock(&rwlock);
}

static void ends(thrum_task *self, void *arg) {
    (void)self;
    place *p = arg;
    p->ended = thrum_await_end(&p->await);
    if (p->ended == 0 && p->has) {
        p->has(p);
    }
    atomic_fetch_add(&p->runs, 1);
}

static int begins(void *arg) {
    place *p = arg;
    int code = p->on(p);
    if (code == 1 && p->has) {
        p->has(p);
    }
    p->code = code; /* it may have run already: the test reads this when both have ended */
    return 0;
}

static int begin(place *p, int (*on)(place *p), void *of, thrum_time deadline) {
    memset(p, 0, sizeof *p);
    thrum_task_init(&p->task, ends, p);
    p->on = on;
    p->has = on == on_mutex ? has_mutex : on == on_barrier ? NULL : has_rwlock;
    p->of = of;
    p->deadline = deadline;
    CHECK_EQ(rig_run(&r, begins, p), 0);
    return p->code;
}

static void await_run(place *p) {
    SPIN_UNTIL(atomic_load(&p->runs) == 1);
}

/* The mutex, and the rwlock for writing, by the test's thread. */
static void lock_all(void) {
    thrum_mutex_lock(&mutex);
    thrum_rwlock_wrlock(&rwlock);
}

static void unlock_all(void) {
    thrum_mutex_unlock(&mutex);
    thrum_rwlock_unlock(&rwlock);
}

static void end_all(void) {
    rig_stop(&r);
    CHECK_EQ(thrum_mutex_destroy(&mutex), 0);
    CHECK_EQ(thrum_rwlock_destroy(&rwlock), 0);
    CHECK_EQ(thrum_cond_destroy(&cond), 0);
}

TEST(a_free_lock_is_the_callers_at_once) {
    /* Nothing is posted; the caller unlocks it, and another may have it. */
    place p;
    rig_begin(&r, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(begin(&p, on_mutex, NULL, 0), 1);
        CHECK_EQ(begin(&p, on_read, NULL, 0), 1);
        CHECK_EQ(begin(&p, on_write, NULL, THRUM_FOREVER), 1);
    }
    CHECK_EQ(atomic_load(&p.runs), 0);
    end_all();
}

TEST(an_unlock_hands_the_lock_to_the_run) {
    /* No other caller takes it in between, and the run owns it: it can unlock. */
    place p[4];
    rig_begin(&r, 0);
    lock_all();
    CHECK_EQ(begin(&p[0], on_mutex, NULL, THRUM_FOREVER), 0);
    CHECK_EQ(begin(&p[1], on_mutex, NULL, far_off()), 0);
    CHECK_EQ(begin(&p[2], on_write, NULL, THRUM_FOREVER), 0);
    CHECK_EQ(begin(&p[3], on_read, NULL, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_rwlock_try_rdlock(&rwlock), -EBUSY);
    unlock_all();
    for (int i = 0; i < 4; i++) {
        await_run(&p[i]);
        CHECK_EQ(p[i].ended, 0);
    }
    end_all();
}

static int holds_until_told(void *told) {
    thrum_mutex_lock(&mutex);
    int code = thrum_event_wait(told);
    thrum_mutex_unlock(&mutex);
    return code;
}

TEST(a_task_stands_in_line_with_fibers) {
    /* A fiber that holds, a task, a fiber that wants: each has it once, and none is forgotten. */
    thrum_event told = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    place p;
    rig_begin(&r, 0);
    rig_go(&r, holds_until_told, &told);
    SPIN_UNTIL(thrum_mutex_try_lock(&mutex) == -EBUSY || (thrum_mutex_unlock(&mutex), false));
    CHECK_EQ(begin(&p, on_mutex, NULL, THRUM_FOREVER), 0);
    rig_go(&r, holds_until_told, &told);
    rig_go(&r, holds_until_told, &told);
    thrum_event_signal(&told);
    await_run(&p);
    CHECK_EQ(p.ended, 0);
    rig_wait_done(&r);
    end_all();
}

TEST(a_lock_that_is_not_waited_for_any_more_is_not_taken) {
    /* A deadline, a cancel, a wakeup: afterwards whoever holds it unlocks, and it is free. */
    static const int codes[] = {-ETIMEDOUT, -ECANCELED, -EAGAIN};
    int (*const on[])(place * p) = {on_mutex, on_read, on_write};
    place p;
    rig_begin(&r, 0);
    for (int how = 0; how < 3; how++) {
        for (int i = 0; i < 3; i++) {
            lock_all();
            CHECK_EQ(begin(&p, on[i], NULL, past()), -ETIMEDOUT);
            int code = begin(&p, on[i], NULL, how ? THRUM_FOREVER : soon());
            if (code == 0) {
                if (how == 1) {
                    CHECK_EQ(thrum_task_cancel(&p.task), 0);
                } else if (how == 2) {
                    thrum_task_wakeup(&p.task);
                }
                await_run(&p);
                CHECK_EQ(p.ended, codes[how]);
            } else {
                CHECK_EQ(code, -ETIMEDOUT); /* it came before the wait */
                CHECK_EQ(how, 0);
            }
            unlock_all();
        }
    }
    end_all();
}

TEST(a_writer_that_gives_up_lets_readers_in) {
    /* They waited only behind it. */
    place writer;
    place reader;
    rig_begin(&r, 0);
    thrum_rwlock_rdlock(&rwlock);
    CHECK_EQ(begin(&writer, on_write, NULL, THRUM_FOREVER), 0);
    CHECK_EQ(begin(&reader, on_read, NULL, THRUM_FOREVER), 0);
    reader.has = NULL;
    CHECK_EQ(thrum_task_cancel(&writer.task), 0);
    await_run(&writer);
    CHECK_EQ(writer.ended, -ECANCELED);
    await_run(&reader);
    CHECK_EQ(reader.ended, 0);
    thrum_rwlock_unlock(&rwlock);
    thrum_rwlock_unlock(&rwlock); /* the reader's, which no one owns */
    end_all();
}

/* ---- conditions ---- */

/* Waits for the condition, and then for the mutex, by one task after the other. */
typedef struct condition {
    place p;
    bool *holds;
    int waits; /* how often it began to */
    atomic_int over;
} condition;

static void looks(condition *c);

static void has_the_mutex(condition *c) {
    if (!*c->holds && c->p.ended == 0) {
        looks(c);
        return;
    }
    thrum_mutex_unlock(&mutex);
    atomic_store(&c->over, 1);
}

static void is_locked(thrum_task *self, void *arg) {
    (void)self;
    condition *c = arg;
    CHECK_EQ(thrum_await_end(&c->p.await), 0);
    has_the_mutex(c);
}

static void is_told(thrum_task *self, void *arg) {
    (void)self;
    condition *c = arg;
    c->p.ended = thrum_await_end(&c->p.await);
    thrum_task_init(&c->p.task, is_locked, c);
    int code = thrum_mutex_on_until(&mutex, &c->p.await, &c->p.task, THRUM_FOREVER);
    if (code) {
        CHECK_EQ(code, 1);
        has_the_mutex(c);
    }
}

/* With the mutex. */
static void looks(condition *c) {
    c->waits++;
    thrum_task_init(&c->p.task, is_told, c);
    int code = thrum_cond_on_until(&cond, &mutex, &c->p.await, &c->p.task, c->p.deadline);
    if (code) {
        c->p.ended = code == 1 ? 0 : code;
        has_the_mutex(c);
    }
}

static int locks_and_looks(void *arg) {
    thrum_mutex_lock(&mutex);
    looks(arg);
    return 0;
}

TEST(a_condition_is_waited_for_again_and_again) {
    /* A signal too early, then one with the condition; a deadline comes to one that waits on. */
    bool holds = false;
    condition c = {.holds = &holds, .p.deadline = THRUM_FOREVER};
    condition late = {.holds = &holds, .p.deadline = past()};
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, locks_and_looks, &late), 0);
    SPIN_UNTIL(atomic_load(&late.over));
    CHECK_EQ(late.p.ended, -ETIMEDOUT);
    late.p.deadline = soon();
    atomic_store(&late.over, 0);
    CHECK_EQ(rig_run(&r, locks_and_looks, &late), 0);
    SPIN_UNTIL(atomic_load(&late.over));
    CHECK_EQ(late.p.ended, -ETIMEDOUT);
    CHECK_EQ(rig_run(&r, locks_and_looks, &c), 0);
    for (int waits = 1; waits < 2;) {
        thrum_cond_signal(&cond);
        thrum_mutex_lock(&mutex);
        waits = c.waits;
        thrum_mutex_unlock(&mutex);
    }
    thrum_mutex_lock(&mutex);
    holds = true;
    thrum_mutex_unlock(&mutex);
    thrum_cond_broadcast(&cond);
    SPIN_UNTIL(atomic_load(&c.over));
    CHECK_EQ(c.p.ended, 0);
    end_all();
}

/* ---- barriers ---- */

static int waits_at(void *barrier) {
    return thrum_barrier_wait(barrier);
}

TEST(a_barrier_opens_for_tasks_and_fibers) {
    /* One that gave up counts no more; the last to come is told so. */
    thrum_barrier barrier = THRUM_BARRIER_INIT(3);
    thrum_barrier alone = THRUM_BARRIER_INIT(1);
    place p[3];
    int last = 0;
    thrum_handle *handle;
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    CHECK_EQ(begin(&p[0], on_barrier, &alone, 0), 1);
    CHECK_EQ(begin(&p[0], on_barrier, &barrier, past()), -ETIMEDOUT);
    CHECK_EQ(begin(&p[0], on_barrier, &barrier, THRUM_FOREVER), 0);
    CHECK_EQ(begin(&p[1], on_barrier, &barrier, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_task_cancel(&p[0].task), 0);
    await_run(&p[0]);
    CHECK_EQ(p[0].ended, -ECANCELED);
    CHECK_EQ(begin(&p[0], on_barrier, &barrier, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, waits_at, &barrier), 0);
    CHECK_EQ(thrum_join(handle, &last), 0);
    CHECK_EQ(last, 1);
    for (int i = 0; i < 2; i++) {
        await_run(&p[i]);
        CHECK_EQ(p[i].ended, 0);
    }
    CHECK_EQ(thrum_barrier_destroy(&barrier), 0);
    end_all();
}

/* ---- many ---- */

enum { LOOPS = 16, ROUNDS = 200 };

typedef struct loop {
    thrum_task task;
    thrum_await await;
    unsigned random;
    int rounds;
    int what;
} loop;

static long written; /* plain, under the mutex */
static long pair[2]; /* plain, under the rwlock: equal while no one writes */
static atomic_int done;
static atomic_long got;

static void goes_on(loop *l);

static void uses(loop *l) {
    if (l->what == 0) {
        written++;
        thrum_mutex_unlock(&mutex);
    } else {
        CHECK_EQ(pair[0], pair[1]);
        if (l->what == 1) {
            pair[0]++;
            pair[1]++;
        }
        thrum_rwlock_unlock(&rwlock);
    }
    atomic_fetch_add(&got, l->what < 2);
}

static void is_woken(thrum_task *self, void *arg) {
    (void)self;
    loop *l = arg;
    int code = thrum_await_end(&l->await);
    CHECK(code == 0 || code == -ETIMEDOUT);
    if (code == 0) {
        uses(l);
    }
    goes_on(l);
}

/* Wants one lock after the other, until one has to be waited for. */
static void goes_on(loop *l) {
    while (l->rounds-- > 0) {
        l->random = l->random * 1103515245u + 12345u;
        thrum_time deadline = l->random >> 30 ? THRUM_FOREVER : thrum_after(l->random >> 16);
        l->what = (int)((l->random >> 20) % 3);
        thrum_task_init(&l->task, is_woken, l);
        int code = l->what == 0 ? thrum_mutex_on_until(&mutex, &l->await, &l->task, deadline)
                   : l->what == 1
                       ? thrum_rwlock_wrlock_on_until(&rwlock, &l->await, &l->task, deadline)
                       : thrum_rwlock_rdlock_on_until(&rwlock, &l->await, &l->task, deadline);
        if (code == 0) {
            return;
        }
        CHECK(code == 1 || code == -ETIMEDOUT);
        if (code == 1) {
            uses(l);
        }
    }
    atomic_fetch_add(&done, 1);
}

static int begins_loop(void *arg) {
    goes_on(arg);
    return 0;
}

static int fiber_loop(void *arg) {
    for (int i = 0; i < *(int *)arg; i++) {
        thrum_mutex_lock(&mutex);
        written++;
        if (i % 8 == 0) {
            thrum_yield();
        }
        thrum_mutex_unlock(&mutex);
        thrum_rwlock_wrlock(&rwlock);
        pair[0]++;
        if (i % 8 == 1) {
            thrum_yield();
        }
        pair[1]++;
        thrum_rwlock_unlock(&rwlock);
    }
    atomic_fetch_add(&done, 1);
    return 0;
}

TEST(tasks_and_fibers_share_locks) {
    /* Some waits end before: each that got a lock had it alone, and all come to their end. */
    loop *loops = calloc(LOOPS, sizeof *loops);
    int rounds = SCALED(ROUNDS);
    CHECK(loops != NULL);
    rig_begin(&r, 0);
    for (int i = 0; i < LOOPS; i++) {
        loops[i] = (loop){.random = (unsigned)i, .rounds = rounds};
        rig_go(&r, begins_loop, &loops[i]);
    }
    for (int i = 0; i < 4; i++) {
        rig_go(&r, fiber_loop, &rounds);
    }
    SPIN_UNTIL(atomic_load(&done) == LOOPS + 4);
    CHECK_EQ(written + pair[0], atomic_load(&got) + 8 * rounds);
    end_all();
    free(loops);
}
