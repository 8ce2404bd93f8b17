/*
 * variant.c: the variant named by THRUM_STUDY is the running one, by the scheduler's counters.
 */
#include "study.h"

#include "support/support.h"

#define TASKS 1000

static void count_run(thrum_task *self, void *arg) {
    atomic_int *ran = arg;
    (void)self;
    atomic_fetch_add(ran, 1);
}

static thrum_task tasks[TASKS];
static atomic_int ran;

static void post_all(thrum_sched *sched) {
    for (int i = 0; i < TASKS; i++) {
        thrum_task_init(&tasks[i], count_run, &ran);
        CHECK_EQ(thrum_task_post(sched, &tasks[i]), 0);
    }
}

static int post_inside(void *arg) {
    post_all(arg);
    return 0;
}

/* ---- ready fibers and tasks that have not begun ---- */

#define EACH 16

static order begun;
static thrum_event go_on;
static atomic_int waiting;

static int wait_and_note(void *arg) {
    (void)arg;
    atomic_fetch_add(&waiting, 1);
    CHECK_EQ(thrum_event_wait(&go_on), 0);
    order_add(&begun, 1);
    return 0;
}

static void note_new(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    order_add(&begun, 0);
}

/* Queues tasks, and then makes as many fibers ready. */
static int queue_both(void *arg) {
    for (int i = 0; i < EACH; i++) {
        CHECK_EQ(thrum_go(wait_and_note, NULL), 0);
    }
    YIELD_UNTIL(atomic_load(&waiting) == EACH);
    for (int i = 0; i < EACH; i++) {
        thrum_task_init(&tasks[i], note_new, NULL);
        CHECK_EQ(thrum_task_post(arg, &tasks[i]), 0);
    }
    thrum_event_signal(&go_on);
    return 0;
}

/* ---- counters ---- */

static thrum_metrics metrics_at_end(unsigned workers, bool inside) {
    rig r;
    rig_init(&r);
    r.config.workers = workers;
    r.config.workers_spare = 0;
    r.config.local_capacity = 64;
    rig_start(&r);
    if (inside) {
        CHECK_EQ(rig_run(&r, post_inside, r.sched), 0);
    } else {
        post_all(r.sched);
    }
    SPIN_UNTIL(atomic_load(&ran) == TASKS);
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(r.sched, THRUM_ALL_WORKERS, &m), 0);
    rig_stop(&r);
    return m;
}

TEST(a_full_queue_spills_as_much_as_the_variant_says) {
    /* Each time one task leaves a full queue, or half of the queue with it. */
    thrum_metrics m = metrics_at_end(1, true);
    CHECK(th_study_variant.unbounded ? m.offloads == 0 : m.offloads > 0);
    CHECK_EQ(m.offloaded, m.offloads * (th_study_variant.overflow_one ? 1 : 33));
}

TEST(a_thief_takes_as_much_as_the_variant_says) {
    /* One task at a time. Without the variant it may be more, if a thief comes in time. */
    thrum_metrics m = metrics_at_end(2, true);
    CHECK(th_study_variant.steal_one ? m.stolen == m.steals_done : m.stolen >= m.steals_done);
}

TEST(a_worker_grabs_as_much_as_the_variant_says) {
    /* Only the first of a batch is counted as run from the inject queue. */
    thrum_metrics m = metrics_at_end(1, false);
    CHECK(th_study_variant.grab_one ? m.runs_inject == TASKS : m.runs_inject <= TASKS);
}

TEST(a_worker_takes_as_much_of_the_inject_queue_as_the_variant_says) {
    /* All fits, at once. Else it is at most 128 at a time, and half of what is left. */
    rig r;
    rig_init(&r);
    r.config.workers = 2;
    r.config.workers_spare = 0;
    r.config.local_capacity = 1024;
    rig_start(&r);
    holder held[2];
    holder_begin(&r, &held[0], 0);
    holder_begin(&r, &held[1], 1);
    post_all(r.sched);
    holder_end(&held[0]);
    SPIN_UNTIL(atomic_load(&ran) == TASKS);
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(r.sched, THRUM_ALL_WORKERS, &m), 0);
    if (th_study_variant.take_all) {
        CHECK(m.runs_inject <= 2); /* a pick at the interval takes one task alone */
    } else {
        CHECK(m.runs_inject >= 8);
    }
    holder_end(&held[1]);
    rig_stop(&r);
}

TEST(ready_fibers_come_first_as_often_as_the_variant_says) {
    /* At each pick but those at intervals, of which there are few here; or at every second pick. */
    rig r;
    rig_init(&r);
    r.config.workers = 1;
    r.config.workers_spare = 0;
    r.config.wake_hint = false;
    rig_start(&r);
    thrum_event_init(&go_on, THRUM_EVENT_MANUAL, false);
    CHECK_EQ(rig_run(&r, queue_both, r.sched), 0);
    SPIN_UNTIL(atomic_load(&begun.count) == 2 * EACH);
    int ready = 0;
    for (int i = 0; i < EACH; i++) {
        ready += atomic_load(&begun.seen[i]);
    }
    CHECK(th_study_variant.alternate ? ready <= EACH / 2 : ready > EACH / 2);
    rig_stop(&r);
}
