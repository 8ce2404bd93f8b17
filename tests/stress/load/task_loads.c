/*
 * task_loads.c: the loads of the scheduler that tasks were modelled on: tens of millions of runs,
 * with exact counts, and no more memory at the end than at the beginning.
 */
/* matrix: policy workers */
/* alone: */
#include "support/support.h"

#include <sys/resource.h>

/* How much more may be resident at a load's end than after its first tenth; a leak takes more. */
#define SLACK_KIB (16 * 1024)

static long peak_kib(void) {
    struct rusage usage;
    CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* What is measured at a load's first tenth, and again when it is over. */
typedef struct footprint {
    long kib;
    long blocks; /* the scheduler's */
} footprint;

static footprint footprint_of(rig *r) {
    return (footprint){peak_kib(), atomic_load(&r->live)};
}

static void check_footprint(rig *r, footprint before) {
    CHECK_EQ(atomic_load(&r->live), before.blocks);
    if (!UNDER_ASAN && !UNDER_TSAN) { /* the sanitizers keep what was freed */
        CHECK(peak_kib() <= before.kib + SLACK_KIB);
    }
}

/* ---- plain tasks ---- */

typedef struct plain {
    thrum_task task;
    int runs; /* plain: a task's runs are ordered, and wait_done comes after them */
} plain;

static void run_plain(thrum_task *self, void *arg) {
    (void)self;
    ((plain *)arg)->runs++;
}

/* Posts a pool of tasks again and again, each round after the end of the one before. */
static void post_pool(int total, bool batches) {
    enum { POOL = 10000 };
    static plain pool[POOL];
    static thrum_task *all[POOL];
    const int rounds = total / POOL < 1 ? 1 : total / POOL;
    footprint before = {0};
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < POOL; i++) {
        pool[i].runs = 0;
        thrum_task_init(&pool[i].task, run_plain, &pool[i]);
        all[i] = &pool[i].task;
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < POOL && !batches; i++) {
            CHECK_EQ(thrum_task_post(r.sched, all[i]), 0);
        }
        if (batches) {
            CHECK_EQ(thrum_task_post_batch(r.sched, all, POOL), 0);
        }
        rig_wait_done(&r);
        if (round == rounds / 10) {
            before = footprint_of(&r);
        }
    }
    check_footprint(&r, before);
    rig_stop(&r);
    for (int i = 0; i < POOL; i++) {
        CHECK_EQ(pool[i].runs, rounds);
    }
}

TEST(plain_tasks_posted_again_and_again) {
    /* Ten million runs of a pool of ten thousand; each task runs once a round. */
    post_pool(SCALED(10000000), false);
}

TEST(plain_tasks_in_batches) {
    /* Each task runs once a round when the whole pool is posted in one call. */
    post_pool(SCALED(10000000), true);
}

/* ---- new tasks ---- */

typedef struct fresh {
    thrum_task task;
    int left; /* generations to come */
} fresh;

static struct {
    rig *r;
    atomic_int ran;
} st;

static fresh *fresh_new(thrum_task_fn fn, int left) {
    fresh *f = malloc(sizeof(*f));
    CHECK(f != NULL);
    thrum_task_init(&f->task, fn, f);
    f->left = left;
    return f;
}

static void free_fresh(thrum_task *self, void *arg) {
    (void)self;
    free(arg);
    atomic_fetch_add(&st.ran, 1);
}

TEST(a_new_task_a_post) {
    /* Ten million tasks are allocated by a poster and freed by their bodies, some thousands at a
     * time. */
    const int n = SCALED(10000000);
    footprint before = {0};
    rig r;
    rig_begin(&r, 0);
    st.r = &r;
    for (int i = 0; i < n; i++) {
        if (i % 2000 == 0) {
            SPIN_UNTIL(i - atomic_load(&st.ran) <= 8000);
        }
        if (i == n / 10) {
            before = footprint_of(&r);
        }
        CHECK_EQ(thrum_task_post(r.sched, &fresh_new(free_fresh, 0)->task), 0);
    }
    rig_wait_done(&r);
    check_footprint(&r, before);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&st.ran), n);
}

/* Frees itself, makes the next one and posts it. */
static void one_shot(thrum_task *self, void *arg) {
    fresh *f = arg;
    const int left = f->left;
    (void)self;
    free(f);
    if (left > 0) {
        CHECK_EQ(thrum_task_post(st.r->sched, &fresh_new(one_shot, left - 1)->task), 0);
    }
    atomic_fetch_add(&st.ran, 1);
}

TEST(one_shot_tasks_start_each_other) {
    /* A thousand lines of tasks, three million in all, are each made and freed in a body. */
    enum { LINES = 1000 };
    const int length = SCALED(3000);
    rig r;
    rig_begin(&r, 0);
    st.r = &r;
    CHECK_EQ(thrum_task_post(r.sched, &fresh_new(one_shot, 0)->task), 0);
    rig_wait_done(&r);
    const footprint before = footprint_of(&r);
    for (int i = 0; i < LINES; i++) {
        CHECK_EQ(thrum_task_post(r.sched, &fresh_new(one_shot, length - 1)->task), 0);
    }
    rig_wait_done(&r);
    check_footprint(&r, before);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&st.ran), LINES * length + 1);
}
