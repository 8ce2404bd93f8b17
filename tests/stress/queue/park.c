/*
 * park.c: parking against submitting: a wake that is lost hangs the test.
 */
/* matrix: policy workers */
/* variants: */
#include "support/support.h"

typedef struct knock {
    thrum_task task;
    thrum_sem done;
    rig *r;
    int answers;
} knock;

static void answer(thrum_task *self, void *arg) {
    knock *k = arg;
    (void)self;
    k->answers++;
    thrum_sem_post(&k->done);
}

static void knock_once(knock *k, int worker) {
    thrum_task_init(&k->task, answer, k);
    thrum_task_set_worker(&k->task, worker);
    CHECK_EQ(thrum_task_post(k->r->sched, &k->task), 0);
    CHECK_EQ(thrum_sem_wait(&k->done), 0);
}

TEST(one_external_thread_knocks) {
    /* A thread posts one task at a time and waits until it has run: workers park in between. */
    rig r;
    knock k = {.r = &r, .done = THRUM_SEM_INIT(0)};
    const int rounds = SCALED(20000);
    rig_begin(&r, 0);
    for (int i = 0; i < rounds; i++) {
        knock_once(&k, -1);
    }
    CHECK_EQ(k.answers, rounds);
    rig_stop(&r);
}

static int knocks;

static void *knock_often(void *seat) {
    const crew_seat *s = seat;
    knock k = {.r = s->arg, .done = THRUM_SEM_INIT(0)};
    for (int i = 0; i < knocks; i++) {
        knock_once(&k, -1);
    }
    CHECK_EQ(k.answers, knocks);
    return NULL;
}

TEST(several_external_threads_knock) {
    /* Each thread waits for its own task; all workers are busy, some, or none. */
    rig r;
    crew c;
    knocks = SCALED(6000);
    rig_begin(&r, 0);
    crew_start(&c, 4, knock_often, &r);
    crew_join(&c);
    rig_stop(&r);
}

static void *knock_pinned(void *seat) {
    const crew_seat *s = seat;
    rig *r = s->arg;
    knock k = {.r = r, .done = THRUM_SEM_INIT(0)};
    for (int i = 0; i < knocks; i++) {
        knock_once(&k, (i + s->index) % (int)thrum_sched_parallelism(r->sched));
    }
    CHECK_EQ(k.answers, knocks);
    return NULL;
}

TEST(external_threads_knock_at_each_worker) {
    /* Pinned work wakes exactly the one worker that may run it. */
    rig r;
    crew c;
    knocks = SCALED(5000);
    rig_begin(&r, 0);
    crew_start(&c, 3, knock_pinned, &r);
    crew_join(&c);
    rig_stop(&r);
}

static void *knock_mixed(void *seat) {
    const crew_seat *s = seat;
    rig *r = s->arg;
    knock k = {.r = r, .done = THRUM_SEM_INIT(0)};
    unsigned random = 77u + (unsigned)s->index;
    for (int i = 0; i < knocks; i++) {
        random = random * 1103515245u + 12345u;
        const unsigned dice = random >> 16;
        knock_once(&k, dice % 3 == 0 ? (int)(dice % thrum_sched_parallelism(r->sched)) : -1);
    }
    return NULL;
}

TEST(pinned_and_free_work_are_mixed) {
    /* A sleeper may be popped for free work and wanted for pinned work at the same time. */
    rig r;
    crew c;
    knocks = SCALED(6000);
    rig_begin(&r, 0);
    crew_start(&c, 4, knock_mixed, &r);
    crew_join(&c);
    rig_stop(&r);
}

/* ---- a fiber that sleeps, woken by an external thread ---- */

typedef struct bell {
    thrum_sem there, back;
    int rounds;
} bell;

static int ring_back(void *arg) {
    bell *b = arg;
    for (int i = 0; i < b->rounds; i++) {
        CHECK_EQ(thrum_sem_wait(&b->there), 0);
        thrum_sem_post(&b->back);
    }
    return 0;
}

static void *ring_bell(void *seat) {
    bell *b = (bell *)((crew_seat *)seat)->arg + ((crew_seat *)seat)->index;
    for (int i = 0; i < b->rounds; i++) {
        thrum_sem_post(&b->there);
        CHECK_EQ(thrum_sem_wait(&b->back), 0);
    }
    return NULL;
}

TEST(threads_and_fibers_wake_each_other) {
    /* A plain thread and a fiber wake each other; each wake comes while the other goes to sleep. */
    rig r;
    crew c;
    bell bells[3];
    rig_begin(&r, 0);
    for (int i = 0; i < 3; i++) {
        bells[i].rounds = SCALED(8000);
        thrum_sem_init(&bells[i].there, 0);
        thrum_sem_init(&bells[i].back, 0);
        rig_go(&r, ring_back, &bells[i]);
    }
    crew_start(&c, 3, ring_bell, bells);
    crew_join(&c);
    rig_stop(&r);
}

/* ---- bursts: enough work to wake more than one ---- */

typedef struct burst {
    rig *r;
    thrum_task tasks[64];
    thrum_waitgroup left;
} burst;

static void burst_task(thrum_task *self, void *arg) {
    (void)self;
    thrum_waitgroup_done(&((burst *)arg)->left);
}

TEST(bursts_wake_several) {
    /* Batches of every size run, each posted while all workers sleep. */
    rig r;
    static burst b;
    thrum_task *list[64];
    rig_begin(&r, 0);
    b.r = &r;
    for (int i = 0; i < SCALED(4000); i++) {
        const int n = i % 64 + 1;
        thrum_waitgroup_init(&b.left, (unsigned)n);
        for (int k = 0; k < n; k++) {
            thrum_task_init(&b.tasks[k], burst_task, &b);
            list[k] = &b.tasks[k];
        }
        CHECK_EQ(thrum_task_post_batch(r.sched, list, (size_t)n), 0);
        CHECK_EQ(thrum_waitgroup_wait(&b.left), 0);
    }
    rig_stop(&r);
}

static void *wait_idle_often(void *seat) {
    rig *r = ((crew_seat *)seat)->arg;
    for (int i = 0; i < knocks; i++) {
        CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_sched_wait_done(r->sched, THRUM_FOREVER), 0);
    }
    return NULL;
}

TEST(waiters_for_idleness_are_woken) {
    /* No thread that waits for idleness hangs beside one that keeps starting work. */
    rig r;
    crew c;
    knock k = {.r = &r, .done = THRUM_SEM_INIT(0)};
    knocks = SCALED(3000);
    rig_begin(&r, 0);
    crew_start(&c, 3, wait_idle_often, &r);
    for (int i = 0; i < knocks; i++) {
        knock_once(&k, -1);
    }
    crew_join(&c);
    rig_stop(&r);
}
