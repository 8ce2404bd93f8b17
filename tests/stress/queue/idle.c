/*
 * idle.c: waits for idleness beside everything that moves work around return neither too early nor
 * never.
 */
/* matrix: policy workers */
/* variants: */
#include "support/support.h"

/* A baton that is handed on in a random way, so that at no instant nothing is runnable. */
typedef struct baton {
    thrum_task task;
    rig *r;
    thrum_sem sem;
    unsigned random;
    int left;
    atomic_int *arrived;
} baton;

static int carry_on(void *arg);

static void carry_as_task(thrum_task *self, void *arg) {
    (void)self;
    carry_on(arg);
}

static int wake_carrier(void *arg) {
    baton *b = arg;
    thrum_sem_post(&b->sem);
    return 0;
}

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

/* Does one step; the next carrier of the baton does the rest. */
static int carry_on(void *arg) {
    baton *b = arg;
    thrum_attr attr = rig_attr(b->r);
    thrum_handle *handle = NULL;
    for (;;) {
        if (b->left-- == 0) {
            atomic_fetch_add(b->arrived, 1);
            return 0;
        }
        b->random = b->random * 1103515245u + 12345u;
        const unsigned dice = b->random >> 16;
        switch (dice % 8) {
        case 0:
            CHECK_EQ(thrum_go(carry_on, b), 0);
            return 0;
        case 1:
            attr.flags = THRUM_NEXT;
            CHECK_EQ(thrum_go_with(&attr, carry_on, b), 0);
            return 0;
        case 2:
            attr.flags = THRUM_PINNED;
            attr.worker = (int)(dice / 8 % thrum_sched_parallelism(b->r->sched));
            CHECK_EQ(thrum_go_with(&attr, carry_on, b), 0);
            return 0;
        case 3:
            thrum_task_init(&b->task, carry_as_task, b);
            CHECK_EQ(thrum_task_post_hint(b->r->sched, &b->task, (thrum_hint)(dice / 8 % 3)), 0);
            return 0;
        case 4:
            thrum_yield();
            break;
        case 5:
            CHECK_EQ(thrum_go(wake_carrier, b), 0);
            CHECK_EQ(thrum_sem_wait(&b->sem), 0);
            break;
        case 6:
            CHECK_EQ(thrum_spawn(&handle, nothing, NULL), 0);
            CHECK_EQ(thrum_join(handle, NULL), 0);
            break;
        default:
            break;
        }
    }
}

#define BATONS 12

typedef struct race {
    rig r;
    baton batons[BATONS];
    atomic_int arrived;
} race;

static void race_start(race *c, int steps) {
    atomic_store(&c->arrived, 0);
    for (int i = 0; i < BATONS; i++) {
        baton *b = &c->batons[i];
        b->r = &c->r;
        b->left = steps;
        b->random = (unsigned)(i * 7919 + steps);
        b->arrived = &c->arrived;
        thrum_sem_init(&b->sem, 0);
        rig_go(&c->r, carry_on, b);
    }
}

TEST(idle_only_when_all_have_arrived) {
    /* Batons change hands in every way; a wait that returned early would find one under way. */
    static race c;
    rig_begin(&c.r, 0);
    for (int round = 0; round < SCALED(60); round++) {
        race_start(&c, 200 + round);
        CHECK_EQ(thrum_sched_wait_idle(c.r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(atomic_load(&c.arrived), BATONS);
    }
    rig_stop(&c.r);
}

TEST(done_only_when_all_have_arrived) {
    /* wait_done does not return early either. */
    static race c;
    rig_begin(&c.r, 0);
    for (int round = 0; round < SCALED(60); round++) {
        race_start(&c, 200 + round);
        CHECK_EQ(thrum_sched_wait_done(c.r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(atomic_load(&c.arrived), BATONS);
    }
    rig_stop(&c.r);
}

TEST(stop_only_when_all_have_arrived) {
    /* A stop does not return early either. */
    const int rounds = SCALED(check_env("THRUM_WORKERS", 2) > 8 ? 10 : 60);
    for (int round = 0; round < rounds; round++) {
        static race c;
        rig_begin(&c.r, 0);
        race_start(&c, 200 + round);
        rig_stop(&c.r);
        CHECK_EQ(atomic_load(&c.arrived), BATONS);
    }
}

static void *wait_for_all(void *seat) {
    race *c = ((crew_seat *)seat)->arg;
    const int index = ((crew_seat *)seat)->index;
    const int error = index % 2 == 0 ? thrum_sched_wait_idle(c->r.sched, THRUM_FOREVER)
                                     : thrum_sched_wait_done(c->r.sched, THRUM_FOREVER);
    CHECK_EQ(error, 0);
    CHECK_EQ(atomic_load(&c->arrived), BATONS);
    return NULL;
}

TEST(several_wait_for_all_to_arrive) {
    /* All threads that wait side by side are let go, none early. */
    static race c;
    crew waiters;
    rig_begin(&c.r, 0);
    for (int round = 0; round < SCALED(40); round++) {
        race_start(&c, 100 + round);
        crew_start(&waiters, 6, wait_for_all, &c);
        crew_join(&waiters);
    }
    rig_stop(&c.r);
}

/* ---- handed on by external threads ---- */

typedef struct relay {
    rig *r;
    thrum_sem fiber_sem, thread_sem;
    int rounds;
    atomic_int done;
} relay;

static int relay_fiber(void *arg) {
    relay *l = arg;
    for (int i = 0; i < l->rounds; i++) {
        thrum_sem_post(&l->thread_sem);
        CHECK_EQ(thrum_sem_wait(&l->fiber_sem), 0);
    }
    atomic_store(&l->done, 1);
    return 0;
}

static void *relay_thread(void *seat) {
    relay *l = ((crew_seat *)seat)->arg;
    for (int i = 0; i < l->rounds; i++) {
        CHECK_EQ(thrum_sem_wait(&l->thread_sem), 0);
        thrum_sem_post(&l->fiber_sem);
    }
    return NULL;
}

TEST(done_waits_for_a_fiber_woken_by_external_threads) {
    /* The scheduler is idle again and again while a relay waits, and done only at its end. */
    rig r;
    crew c;
    rig_begin(&r, 0);
    for (int round = 0; round < SCALED(40); round++) {
        relay l = {.r = &r,
                   .fiber_sem = THRUM_SEM_INIT(0),
                   .thread_sem = THRUM_SEM_INIT(0),
                   .rounds = 100};
        rig_go(&r, relay_fiber, &l);
        crew_start(&c, 1, relay_thread, &l);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(atomic_load(&l.done), 1);
        crew_join(&c);
    }
    rig_stop(&r);
}
