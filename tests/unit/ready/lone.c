/*
 * lone.c: one task, or one fork, or one deadline, behind a body that computes on, while another
 * worker sleeps: another worker comes for it, also when nothing had happened for a while.
 *
 * Bodies compute until the other one has begun: if no worker comes they never end. What the
 * sentinel does in between is looked at inside (core/basis/parkword.h); no test asks how long
 * anything took.
 */
/* matrix: policy workers */
#include "core/basis/parkword.h"
#include "core/state/worker.h"
#include "platform/faults.h"
#include "support/sync/actors.h"

enum { MANY = 20 };

typedef struct lone {
    thrum_sched *sched;
    thrum_task starter;
    thrum_task others[MANY];
    unsigned posted;
    thrum_hint hint;
    atomic_bool begun;
    bool refused; /* no worker may begin to sleep long while another one runs */
} lone;

static uint64_t park_word(const lone *l) {
    return th_load_acquire(&l->sched->xpark);
}

/* How often the sentinel has come round. */
static uint64_t rounds(const lone *l) {
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(l->sched, THRUM_ALL_WORKERS, &m), 0);
    return m.wakes_timer;
}

static void other_body(thrum_task *self, void *arg) {
    lone *l = arg;
    (void)self;
    atomic_store(&l->begun, true);
}

static int other_call(void *arg) {
    lone *l = arg;
    atomic_store(&l->begun, true);
    return 7;
}

/* All others sleep, and none comes round soon: a worker that queues something must wake one. */
static bool nobody_comes(const lone *l) {
    const uint64_t word = park_word(l);
    return !(word & TH_PARK_WATCH) && !th_park_searchers(word) &&
           th_park_parked(word) == l->sched->workers_count - 1;
}

/* Computes until the others have nothing to do any more, and sleep accordingly. */
static void compute_first(lone *l) {
    if (l->refused) {
        const bool long_sleep = th_park_long(park_word(l)); /* it began while this one slept, too */
        const uint64_t end = rounds(l) + 30;
        while (!long_sleep && rounds(l) < end && th_park_sentinel(park_word(l))) {
            CHECK(!th_park_long(park_word(l)));
        }
    } else {
        SPIN_UNTIL(nobody_comes(l));
    }
}

static void begin_as(lone *l, thrum_task_fn starter, thrum_hint hint, bool refused) {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = config.workers < 2 ? 2 : config.workers;
    *l = (lone){.hint = hint, .refused = refused};
    CHECK_EQ(thrum_sched_start(&l->sched, &config), 0);
    if (!refused && !l->sched->can_order) {
        CHECK_SKIP("the system has no barrier: no worker sleeps long");
    }
    thrum_task_init(&l->starter, starter, l);
    CHECK_EQ(thrum_task_post(l->sched, &l->starter), 0);
    CHECK_EQ(thrum_sched_stop(l->sched), 0);
    CHECK(atomic_load(&l->begun));
}

/* ---- tasks ---- */

static void posts_other(thrum_task *self, void *arg) {
    lone *l = arg;
    (void)self;
    compute_first(l);
    thrum_task *other = &l->others[l->posted++];
    thrum_task_init(other, other_body, l);
    CHECK_EQ(thrum_task_post_hint(l->sched, other, l->hint), 0);
    SPIN_UNTIL(atomic_load(&l->begun));
}

TEST(a_lone_task_is_begun_by_another_worker) {
    /* The sentinel sleeps long, and the post wakes it. */
    lone l;
    begin_as(&l, posts_other, THRUM_HINT_NONE, false);
}

TEST(a_lone_task_in_the_slot_is_begun_by_another_worker) {
    /* No thief may take it: the woken worker is told that its owner has not come. */
    lone l;
    begin_as(&l, posts_other, THRUM_HINT_NEXT, false);
}

TEST(a_lone_task_is_begun_where_the_system_has_no_barrier) {
    /* No worker begins to sleep long then while another one runs, however long nothing happens. */
    lone l;
    th_os_fail(TH_OS_FAULT_BARRIER, 0, UINT32_MAX);
    begin_as(&l, posts_other, THRUM_HINT_NONE, true);
    begin_as(&l, posts_other, THRUM_HINT_NEXT, true);
    th_os_fail(TH_OS_FAULT_BARRIER, 0, 0);
}

static void posts_many(thrum_task *self, void *arg) {
    lone *l = arg;
    for (int i = 0; i < MANY; i++) {
        atomic_store(&l->begun, false);
        posts_other(self, l);
    }
}

TEST(each_lone_task_is_begun_by_another_worker) {
    /* The worker that came for one sleeps again, and long. */
    lone l;
    begin_as(&l, posts_many, THRUM_HINT_NONE, false);
}

/* ---- forks ---- */

static void forks_other(thrum_task *self, void *arg) {
    lone *l = arg;
    thrum_fork fork;
    (void)self;
    compute_first(l);
    thrum_fork_start(&fork, other_call, l);
    SPIN_UNTIL(atomic_load(&l->begun));
    CHECK_EQ(thrum_fork_join(&fork), 7);
}

TEST(a_lone_fork_is_called_by_another_worker) {
    /* A fork is called as a task is begun. */
    lone l;
    begin_as(&l, forks_other, THRUM_HINT_NONE, false);
}

TEST(a_lone_fork_is_called_where_the_system_has_no_barrier) {
    /* A fork is called as a task is begun. */
    lone l;
    th_os_fail(TH_OS_FAULT_BARRIER, 0, UINT32_MAX);
    begin_as(&l, forks_other, THRUM_HINT_NONE, true);
    th_os_fail(TH_OS_FAULT_BARRIER, 0, 0);
}

/* ---- deadlines ---- */

static void posts_for_later(thrum_task *self, void *arg) {
    lone *l = arg;
    (void)self;
    compute_first(l);
    thrum_task_init(&l->others[0], other_body, l);
    CHECK_EQ(thrum_task_post_after(l->sched, &l->others[0], 1000000), 0);
    SPIN_UNTIL(atomic_load(&l->begun));
}

TEST(a_lone_deadline_is_met_by_another_worker) {
    /* A body sets it and computes on past it: the sentinel must sleep until then, not longer. */
    lone l;
    begin_as(&l, posts_for_later, THRUM_HINT_NONE, false);
}
