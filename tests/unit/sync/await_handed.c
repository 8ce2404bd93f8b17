/*
 * await_handed.c: the turn of a once and the objects of a pool, where something crosses their
 * hand-over to an intrusive task that waits (thrum/await.h): the task cannot be posted, or its wait
 * is cancelled, or its deadline comes. What is handed over is the wait's, or goes on to the next.
 */
/* matrix: policy workers */
/* wrap: thrum_task_post_until */
#include "support/sync/awaits.h"

int __real_thrum_task_post_until(thrum_sched *sched, thrum_task *task, thrum_time deadline);
int __wrap_thrum_task_post_until(thrum_sched *sched, thrum_task *task, thrum_time deadline);

/* What comes between the moment at which a wait stands in line and the post of its task. */
static void (*between)(void);

int __wrap_thrum_task_post_until(thrum_sched *sched, thrum_task *task, thrum_time deadline) {
    if (between) {
        void (*comes)(void) = between;
        between = NULL;
        comes();
    }
    return __real_thrum_task_post_until(sched, task, deadline);
}

static thrum_once once;
static thrum_pool *pool;
static void *lent;
static int constructed, refuses;

static int construct(void *item, void *ctx) {
    (void)ctx;
    if (refuses) {
        return -EIO;
    }
    *(int *)item = ++constructed;
    return 0;
}

/* No worker has that number: the task cannot be posted. */
static void put_nowhere(place *p) {
    thrum_task_set_worker(&p->task, 1000);
}

static int on_once(place *p) {
    return thrum_once_on_until(&once, &p->await, &p->task, p->deadline);
}

static int on_once_refused(place *p) {
    put_nowhere(p);
    return on_once(p);
}

static int on_pool(place *p) {
    return thrum_pool_borrow_on_until(pool, p->items, 1, &p->await, &p->task, p->deadline);
}

static int on_pool_refused(place *p) {
    put_nowhere(p);
    return on_pool(p);
}

/* The turn is the test's, and the only object is lent. */
static void start(void) {
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    config.item_size = sizeof(int);
    config.capacity = 1;
    config.construct = construct;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_pool_create(&pool, &config), 0);
    CHECK_EQ(thrum_pool_borrow(pool, &lent), 0);
    thrum_once_init(&once);
    place p;
    CHECK_EQ(begin(&p, on_once, NULL, THRUM_FOREVER), 2);
}

/* Nothing is lost, and nobody waits: the object can be borrowed, the turn be had. */
static void end(bool done) {
    place p;
    void *object;
    CHECK_EQ(thrum_pool_try_borrow(pool, &object), 0);
    thrum_pool_give_back(pool, object);
    CHECK_EQ(thrum_pool_destroy(pool), 0);
    CHECK_EQ(begin(&p, on_once, NULL, THRUM_FOREVER), done ? 1 : 2);
    if (!done) {
        thrum_once_finish(&once, 0);
    }
    CHECK_EQ(thrum_once_destroy(&once), 0);
    rig_stop(&r);
}

/* ---- nobody has the turn ---- */

static void finish(void *arg) {
    thrum_once_finish(arg, 0);
}

static int finish_in_fiber(void *arg) {
    thrum_set_name("stranger");
    finish(arg);
    return 0;
}

static void finish_by_fiber(void *arg) {
    rig_do(0, finish_in_fiber, arg);
}

static int fails(void *arg) {
    (void)arg;
    return -EIO;
}

static int does_nothing(void *arg) {
    (void)arg;
    return 0;
}

TEST(ending_a_turn_that_nobody_has_aborts) {
    /* It was never taken, or it has ended, well or not. The line names call, object and fiber. */
    thrum_once is_new = THRUM_ONCE_INIT, failed = THRUM_ONCE_INIT, done = THRUM_ONCE_INIT;
    char line[100];
    CHECK_EQ(thrum_once_run(&failed, fails, NULL), -EIO);
    CHECK_EQ(thrum_once_run(&done, does_nothing, NULL), 0);
    thrum_once *const all[] = {&is_new, &failed, &done};
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "thrum: thrum_once_finish: nobody has the turn (object 0x%llx",
                 (unsigned long long)(uintptr_t)all[i]);
        check_dies(finish, all[i], line);
        check_dies(finish_by_fiber, all[i], line);
        check_dies(finish_by_fiber, all[i], "fiber stranger");
    }
}

/* ---- the task cannot be posted ---- */

TEST(a_refused_wait_stands_in_no_line) {
    /* What is given afterwards goes to the next who wait. */
    place p, next;
    start();
    CHECK_EQ(begin(&p, on_once_refused, NULL, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(ONCE_WAITING(&once), 0);
    CHECK_EQ(begin(&next, on_once, NULL, THRUM_FOREVER), 0);
    thrum_once_finish(&once, -EIO);
    await_run(&next);
    CHECK_EQ(next.ended, 2);
    CHECK_EQ(begin(&p, on_pool_refused, NULL, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(POOL_WAITING(pool), 0);
    CHECK_EQ(begin(&next, on_pool, NULL, THRUM_FOREVER), 0);
    thrum_pool_give_back(pool, lent);
    await_run(&next);
    CHECK_EQ(next.ended, 0);
    thrum_pool_give_back(pool, next.items[0]);
    thrum_once_finish(&once, -EIO);
    CHECK_EQ(atomic_load(&p.runs), 0);
    end(false);
}

static void fail_turn(void) {
    thrum_once_finish(&once, -EIO);
}

static void end_turn(void) {
    plain = 7;
    thrum_once_finish(&once, 0);
}

static void give_back(void) {
    thrum_pool_give_back(pool, lent);
}

static void give_back_and_refuse(void) {
    give_back();
    refuses = 1;
}

TEST(a_turn_that_came_before_the_refusal_is_the_callers) {
    /* The call returns as if it had not had to wait, and the task was not posted. */
    place p;
    start();
    between = fail_turn;
    CHECK_EQ(begin(&p, on_once_refused, NULL, THRUM_FOREVER), 2);
    between = end_turn;
    place other;
    CHECK_EQ(begin(&other, on_once_refused, NULL, THRUM_FOREVER), 1);
    CHECK(thrum_once_is_done(&once));
    CHECK_EQ(plain, 7);
    CHECK_EQ(atomic_load(&p.runs) + atomic_load(&other.runs), 0);
    give_back();
    end(true);
}

TEST(an_object_that_came_before_the_refusal_is_the_callers) {
    /* It is constructed; where that fails the call says why, and the object is the pool's. */
    place p;
    start();
    between = give_back;
    CHECK_EQ(begin(&p, on_pool_refused, NULL, THRUM_FOREVER), 1);
    CHECK_EQ(*(int *)p.items[0], 2);
    lent = p.items[0];
    between = give_back_and_refuse;
    CHECK_EQ(begin(&p, on_pool_refused, NULL, THRUM_FOREVER), -EIO);
    refuses = 0;
    CHECK_EQ(atomic_load(&p.runs), 0);
    fail_turn();
    end(false);
}

/* ---- a cancel, or a deadline, beside the hand-over ---- */

enum { WAITS = 8 };

static place waits[WAITS];
static atomic_int turns, objects; /* how often they were had */

/* Has the turn, or the object, if the wait says so, and passes it on. */
static void passes_on(thrum_task *self, void *arg) {
    (void)self;
    place *p = arg;
    p->ended = thrum_await_end(&p->await);
    memset(&p->await, 0xab, sizeof p->await); /* it stands in no line any more */
    if (p->on == on_once && p->ended == 2) {
        atomic_fetch_add(&turns, 1);
        thrum_once_finish(&once, -EIO);
    } else if (p->on == on_pool && p->ended == 0) {
        atomic_fetch_add(&objects, 1);
        thrum_pool_give_back(pool, p->items[0]);
    } else {
        CHECK(p->ended == -ECANCELED || p->ended == -ETIMEDOUT);
    }
    atomic_fetch_add(&p->runs, 1);
}

static int begins_all(void *arg) {
    const thrum_time deadline = *(thrum_time *)arg;
    for (int i = 0; i < WAITS; i++) {
        place *p = &waits[i];
        memset(p, 0, sizeof *p);
        p->on = i % 2 ? on_once : on_pool;
        p->deadline = i < WAITS / 2 ? THRUM_FOREVER : deadline;
        thrum_task_init(&p->task, passes_on, p);
        const int code = p->on(p);
        if (code) {
            CHECK_EQ(code, -ETIMEDOUT); /* it had passed before */
            atomic_store(&p->runs, 1);
        }
    }
    return 0;
}

/* Cancels those of the waits that wait for nothing else, while the test gives. */
static int cancels(void *arg) {
    for (int i = *(int *)arg % 4; i < WAITS; i += 2) {
        (void)!thrum_task_cancel(&waits[i].task);
    }
    return 0;
}

TEST(a_cancel_beside_the_hand_over_loses_nothing) {
    /* Each wait has it, or is cancelled or late; then it has come to the next, or back. */
    start();
    const int rounds = SCALED(500) + 1; /* in two of them both are had for certain */
    for (int round = 0; round < rounds; round++) {
        const thrum_time ns = 20000 + round % 50 * 1000;
        thrum_time deadline = thrum_after(ns);
        CHECK_EQ(rig_run(&r, begins_all, &deadline), 0);
        thrum_handle *handle;
        thrum_attr attr = rig_attr(&r);
        CHECK_EQ(thrum_spawn_with(&handle, &attr, cancels, &round), 0);
        thrum_once_finish(&once, -EIO);
        give_back();
        for (int i = 0; i < WAITS; i++) {
            await_run(&waits[i]);
        }
        CHECK_EQ(thrum_join(handle, NULL), 0);
        rig_wait_done(&r);
        CHECK_EQ(thrum_pool_try_borrow(pool, &lent), 0); /* it is there for the next round */
        place p;
        CHECK_EQ(begin(&p, on_once, NULL, THRUM_FOREVER), 2);
    }
    CHECK(atomic_load(&turns) > 0 && atomic_load(&objects) > 0);
    give_back();
    fail_turn();
    end(false);
}
