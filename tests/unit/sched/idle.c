/*
 * idle.c: thrum_sched_wait_idle and thrum_sched_wait_done.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

TEST(fresh_scheduler_is_idle_and_done) {
    /* It was given nothing, so nothing is waited for. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, 0), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, 0), 0);
    rig_stop(&r);
}

TEST(running_task_is_not_idle) {
    /* While a body runs both waits time out; once it has ended both return. */
    rig r;
    holder h;
    rig_begin(&r, 0);
    holder_begin(&r, &h, -1);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, 0), -ETIMEDOUT);
    CHECK_EQ(thrum_sched_wait_done(r.sched, 0), -ETIMEDOUT);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_sched_wait_done(r.sched, soon()), -ETIMEDOUT);
    holder_end(&h);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    rig_stop(&r);
}

TEST(timed_wait_waits_until_the_deadline) {
    /* -ETIMEDOUT never comes early. */
    rig r;
    holder h;
    rig_begin(&r, 0);
    holder_begin(&r, &h, -1);
    thrum_time deadline = soon();
    CHECK_EQ(thrum_sched_wait_idle(r.sched, deadline), -ETIMEDOUT);
    CHECK_PASSED(deadline);
    deadline = soon();
    CHECK_EQ(thrum_sched_wait_done(r.sched, deadline), -ETIMEDOUT);
    CHECK_PASSED(deadline);
    holder_end(&h);
    rig_stop(&r);
}

static int spin_then_leave(void *arg) {
    SPIN_UNTIL(atomic_load((atomic_bool *)arg));
    return 0;
}

static void *let_go(void *arg) {
    atomic_store((atomic_bool *)((crew_seat *)arg)->arg, true);
    return NULL;
}

TEST(timed_wait_ends_when_it_is_idle) {
    /* With a deadline far ahead both waits return as soon as there is nothing more. */
    rig r;
    crew c;
    atomic_bool go = false;
    rig_begin(&r, 0);
    rig_go(&r, spin_then_leave, &go);
    crew_start(&c, 1, let_go, &go);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, far_off()), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, far_off()), 0);
    crew_join(&c);
    rig_stop(&r);
}

TEST(blocked_fiber_is_idle_but_not_done) {
    /* wait_idle does not count blocked fibers, wait_done does. */
    rig r;
    gate g;
    rig_begin(&r, 0);
    gate_begin(&r, &g);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, 0), -ETIMEDOUT);
    CHECK_EQ(thrum_sched_wait_done(r.sched, soon()), -ETIMEDOUT);
    gate_open(&g);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    rig_stop(&r);
}

static int end_at_once(void *arg) {
    (void)arg;
    return 9;
}

TEST(ended_task_is_done_before_it_is_joined) {
    /* A handle that was not joined yet is no live fiber. */
    rig r;
    int result = 0;
    thrum_handle *handle = NULL;
    rig_begin(&r, 0);
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, end_at_once, NULL), 0);
    rig_wait_done(&r);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 9);
    rig_stop(&r);
}

/* ---- what it must not miss ---- */

typedef struct chain {
    thrum_task task;
    rig *r;
    int left;
    int runs; /* plain: what tasks wrote must be visible after the wait */
} chain;

static void chain_body(thrum_task *self, void *arg) {
    chain *c = arg;
    c->runs++;
    if (--c->left > 0) {
        CHECK_EQ(thrum_task_post(c->r->sched, self), 0);
    }
}

TEST(chain_of_reposts_has_no_quiet_instant) {
    /*
     * Between a run and the next there is always something runnable; what the runs wrote is seen.
     */
    rig r;
    static chain chains[4];
    const int length = SCALED(5000);
    rig_begin(&r, 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            chains[i] = (chain){.r = &r, .left = length};
            thrum_task_init(&chains[i].task, chain_body, &chains[i]);
            CHECK_EQ(thrum_task_post(r.sched, &chains[i].task), 0);
        }
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(chains[i].runs, length);
        }
    }
    rig_stop(&r);
}

typedef struct pair {
    thrum_sem a, b;
    int turns;
    int done;
} pair;

static int ping(void *arg) {
    pair *p = arg;
    for (int i = 0; i < p->turns; i++) {
        thrum_sem_post(&p->b);
        CHECK_EQ(thrum_sem_wait(&p->a), 0);
    }
    p->done++;
    return 0;
}

static int pong(void *arg) {
    pair *p = arg;
    for (int i = 0; i < p->turns; i++) {
        CHECK_EQ(thrum_sem_wait(&p->b), 0);
        thrum_sem_post(&p->a);
    }
    return 0;
}

static int start_pair(void *arg) {
    CHECK_EQ(thrum_go(pong, arg), 0);
    return ping(arg);
}

TEST(handoffs_between_fibers_have_no_quiet_instant) {
    /*
     * A fiber that wakes another before it blocks hands the work on: it is never quiet meanwhile.
     */
    rig r;
    rig_begin(&r, 0);
    for (int round = 0; round < 5; round++) {
        pair p = {.a = THRUM_SEM_INIT(0), .b = THRUM_SEM_INIT(0), .turns = SCALED(2000)};
        rig_go(&r, start_pair, &p);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(p.done, 1);
    }
    rig_stop(&r);
}

static int yields(void *arg) {
    for (int i = 0; i < 300; i++) {
        thrum_yield();
    }
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

TEST(yielding_fibers_have_no_quiet_instant) {
    /* A fiber that yields is runnable. */
    rig r;
    rig_begin(&r, 0);
    for (int round = 0; round < 5; round++) {
        atomic_int ended = 0;
        for (int i = 0; i < 8; i++) {
            rig_go(&r, yields, &ended);
        }
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(atomic_load(&ended), 8);
    }
    rig_stop(&r);
}

static int fan(void *arg) {
    atomic_int *ended = arg;
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(thrum_go(yields, ended), 0);
    }
    return 0;
}

TEST(wait_done_sees_what_was_spawned_inside) {
    /* Fibers started by a fiber that has ended count. */
    rig r;
    atomic_int ended = 0;
    rig_begin(&r, 0);
    rig_go(&r, fan, &ended);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&ended), 100);
    rig_stop(&r);
}

/* ---- which threads may call ---- */

static int wait_own(void *arg) {
    rig *r = arg;
    CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), -EDEADLK);
    CHECK_EQ(thrum_sched_wait_done(r->sched, THRUM_FOREVER), -EDEADLK);
    CHECK_EQ(thrum_sched_wait_idle(r->sched, 0), -EDEADLK);
    return 0;
}

TEST(waiting_for_oneself_is_a_deadlock) {
    /* A task of the scheduler is refused. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, wait_own, &r), 0);
    rig_stop(&r);
}

typedef struct other {
    rig *r;
    gate g;
} other;

static int wait_other(void *arg) {
    other *o = arg;
    CHECK_EQ(thrum_sched_wait_idle(o->r->sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_wait_done(o->r->sched, 0), -ETIMEDOUT);
    gate_open(&o->g);
    CHECK_EQ(thrum_sched_wait_done(o->r->sched, THRUM_FOREVER), 0);
    return 0;
}

TEST(fiber_of_another_scheduler_waits) {
    /* A fiber may wait for a scheduler that is not its own, without blocking its worker for good.
     */
    rig r1, r2;
    other o = {.r = &r2};
    rig_begin(&r1, 0);
    rig_begin(&r2, 0);
    gate_begin(&r2, &o.g);
    CHECK_EQ(rig_run(&r1, wait_other, &o), 0);
    rig_stop(&r2);
    rig_stop(&r1);
}

static int let_go_in_fiber(void *arg) {
    atomic_store((atomic_bool *)arg, true);
    return 0;
}

typedef struct beside {
    rig *waited;
    atomic_bool go;
} beside;

static int wait_beside(void *arg) {
    beside *b = arg;
    CHECK_EQ(thrum_go(let_go_in_fiber, &b->go), 0); /* it runs only while we wait, on one worker */
    CHECK_EQ(thrum_sched_wait_idle(b->waited->sched, THRUM_FOREVER), 0);
    CHECK(atomic_load(&b->go));
    return 0;
}

TEST(fiber_that_waits_lets_its_worker_go_on) {
    /* While it waits for another scheduler, its worker runs what that other one depends on. */
    rig r1, r2;
    beside b = {.waited = &r2};
    rig_begin(&r1, 1);
    rig_begin(&r2, 0);
    rig_go(&r2, spin_then_leave, &b.go);
    CHECK_EQ(rig_run(&r1, wait_beside, &b), 0);
    rig_stop(&r2);
    rig_stop(&r1);
}

static void *wait_both(void *arg) {
    rig *r = ((crew_seat *)arg)->arg;
    CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_wait_done(r->sched, THRUM_FOREVER), 0);
    return NULL;
}

TEST(several_threads_wait_at_once) {
    /* All of them are let go. */
    rig r;
    holder h;
    crew c;
    rig_begin(&r, 0);
    for (int round = 0; round < SCALED(50); round++) {
        holder_begin(&r, &h, -1);
        crew_start(&c, 6, wait_both, &r);
        holder_end(&h);
        crew_join(&c);
    }
    rig_stop(&r);
}

typedef struct leavers {
    rig *r;
    atomic_int ended;
} leavers;

static void *post_and_leave(void *arg) {
    leavers *l = ((crew_seat *)arg)->arg;
    for (int i = 0; i < 5; i++) {
        rig_go(l->r, yields, &l->ended);
    }
    return NULL;
}

TEST(thread_that_posted_and_ended_is_counted) {
    /* What a thread posted counts after the thread is gone, for both waits. */
    rig r;
    crew c;
    leavers l = {.r = &r};
    const int rounds = SCALED(50);
    rig_begin(&r, 0);
    for (int round = 1; round <= rounds; round++) {
        crew_start(&c, 4, post_and_leave, &l);
        crew_join(&c);
        if (round % 2 == 0) {
            CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        } else {
            CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
        }
        CHECK_EQ(atomic_load(&l.ended), round * 20);
    }
    rig_stop(&r);
}
