/*
 * priority_bounds.c: no priority keeps another from running for ever, and work of each priority
 * wakes a worker that sleeps.
 */
/* matrix: policy workers */
#include "support/support.h"

static const thrum_policy policies[] = {THRUM_SHARDED, THRUM_FIFO, THRUM_GLOBAL};
static const unsigned levels[] = {THRUM_HIGH, THRUM_NORMAL, THRUM_LOW};

/* ---- neither starves ---- */

/* The place of all tasks of the test. */
typedef enum placing { LOOSE, PINNED, ALONE, PLACES } placing;

typedef struct flood {
    rig r;
    placing place;
    thrum_task task;
    thrum_task stopper;
    bool fibers; /* the flood is a fiber that yields */
    atomic_bool stop;
    atomic_bool running;
} flood;

static flood the_flood;

static void floods(thrum_task *self, void *arg) {
    flood *f = arg;
    atomic_store(&f->running, true);
    while (f->fibers && !atomic_load(&f->stop)) {
        thrum_yield();
    }
    if (!atomic_load(&f->stop)) {
        CHECK_EQ(thrum_task_post(f->r.sched, self), 0);
    }
}

static void stops(thrum_task *self, void *arg) {
    (void)self;
    atomic_store(&((flood *)arg)->stop, true);
}

static void post(flood *f, thrum_task *task, thrum_task_fn fn, unsigned level) {
    thrum_task_init(task, fn, f);
    CHECK_EQ(thrum_task_set_priority(task, level), 0);
    if (f->place == PINNED) {
        thrum_task_set_worker(task, 0);
    }
    CHECK_EQ(thrum_task_post(f->r.sched, task), 0);
}

static void check_gets_through(unsigned flood_level, unsigned level) {
    for (size_t i = 0; i < 2 * COUNT_OF(policies) * PLACES; i++) {
        flood *f = &the_flood;
        memset(f, 0, sizeof *f);
        f->fibers = i % 2;
        f->place = (placing)(i / 2 % PLACES);
        rig_init(&f->r);
        f->r.config.policy = policies[i / 2 / PLACES];
        f->r.config.workers = f->place == ALONE ? 0 : 1;
        rig_start(&f->r);
        if (f->place == ALONE) {
            CHECK_EQ(thrum_sched_bind(f->r.sched), 0);
        }
        post(f, &f->task, floods, flood_level);
        if (f->place != ALONE) {
            SPIN_UNTIL(atomic_load(&f->running));
        }
        post(f, &f->stopper, stops, level);
        CHECK_EQ(thrum_sched_wait_done(f->r.sched, THRUM_FOREVER), 0);
        if (f->place == ALONE) {
            CHECK_EQ(thrum_sched_unbind(), 0);
        }
        rig_stop(&f->r);
    }
}

TEST(high_tasks_let_normal_ones_run) {
    /* A high task that posts itself, or yields, for ever lets a normal one run. */
    check_gets_through(THRUM_HIGH, THRUM_NORMAL);
}

TEST(high_tasks_let_low_ones_run) {
    /* It lets a low one run as well. */
    check_gets_through(THRUM_HIGH, THRUM_LOW);
}

TEST(normal_tasks_let_low_ones_run) {
    /* So do normal tasks. */
    check_gets_through(THRUM_NORMAL, THRUM_LOW);
}

TEST(low_tasks_let_all_others_run) {
    /* Low tasks give way at once. */
    check_gets_through(THRUM_LOW, THRUM_NORMAL);
    check_gets_through(THRUM_LOW, THRUM_HIGH);
}

/* ---- the configured bounds ---- */

enum { LIMIT = 5, MANY = 200, FEW = 20 };

static order the_log;

static int notes(void *arg) {
    order_add(&the_log, (int)(uintptr_t)arg);
    return 0;
}

/* Many of one priority and few of another, on one worker, which is held up meanwhile. */
static void run_both(thrum_policy policy, size_t many, size_t few) {
    rig r;
    holder h;
    rig_init(&r);
    memset(&the_log, 0, sizeof the_log);
    r.config.workers = 1;
    r.config.policy = policy;
    r.config.high_limit = LIMIT;
    r.config.low_interval = LIMIT;
    rig_start(&r);
    holder_begin(&r, &h, -1);
    for (int i = 0; i < MANY + FEW; i++) {
        thrum_attr attr = rig_attr(&r);
        const size_t level = i < MANY ? many : few;
        attr.flags = levels[level];
        CHECK_EQ(thrum_go_with(&attr, notes, (void *)level), 0);
    }
    holder_end(&h);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&the_log.count), MANY + FEW);
}

/* Between two of the few come exactly so many of the others, until there are no few left. */
static void check_share(size_t few, int others) {
    int row = 0;
    int seen = 0;
    for (int i = 0; i < MANY + FEW; i++) {
        if (atomic_load(&the_log.seen[i]) != (int)few) {
            row++;
            continue;
        }
        CHECK(seen == 0 ? row <= others : row == others);
        seen++;
        row = 0;
    }
    CHECK_EQ(seen, FEW);
}

TEST(after_so_many_high_tasks_another_one_comes_once) {
    /* high_limit of them come in a row. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        run_both(policies[i], 0, 1);
        check_share(1, LIMIT);
    }
}

TEST(low_tasks_get_their_share) {
    /* One of low_interval picks takes a low task, beside normal ones. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        run_both(policies[i], 1, 2);
        check_share(2, LIMIT - 1);
    }
}

/* Endless tasks of each priority, for all workers and pinned, until each has run so often. */
static atomic_int turns[6];
static thrum_task endless[6];

static void takes_turns(thrum_task *self, void *arg) {
    const int number = (int)(uintptr_t)arg;
    atomic_fetch_add(&turns[number], 1);
    for (size_t i = 0; i < COUNT_OF(turns); i++) {
        if (atomic_load(&turns[i]) < FEW) {
            CHECK_EQ(thrum_task_post(thrum_sched_current(), self), 0);
            return;
        }
    }
}

TEST(each_of_six_floods_gets_its_turn) {
    /* With any bounds: high and low tasks together leave room for normal ones, and so on. Pinned
     * tasks of one priority keep nothing from those of another, nor from those that are not. */
    static const unsigned bounds[] = {1, 2, 3, 7};
    for (size_t i = 0; i < COUNT_OF(policies) * COUNT_OF(bounds) * COUNT_OF(bounds); i++) {
        rig r;
        rig_init(&r);
        r.config.workers = 1;
        r.config.policy = policies[i % COUNT_OF(policies)];
        r.config.high_limit = bounds[i / COUNT_OF(policies) % COUNT_OF(bounds)];
        r.config.low_interval = bounds[i / COUNT_OF(policies) / COUNT_OF(bounds)];
        rig_start(&r);
        memset(turns, 0, sizeof turns);
        for (size_t number = 0; number < COUNT_OF(endless); number++) {
            thrum_task *task = &endless[number];
            thrum_task_init(task, takes_turns, (void *)number);
            CHECK_EQ(thrum_task_set_priority(task, levels[number % 3]), 0);
            thrum_task_set_worker(task, number < 3 ? -1 : 0);
            CHECK_EQ(thrum_task_post(r.sched, task), 0);
        }
        rig_stop(&r);
    }
}

static atomic_bool is_over;
static atomic_int yielding;
static thrum_event call;

static int yields(void *arg) {
    (void)arg;
    atomic_fetch_add(&yielding, 1);
    while (!atomic_load(&is_over)) {
        thrum_yield();
    }
    return 0;
}

static int waits_for_the_call(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_event_wait(&call), 0);
    atomic_store(&is_over, true);
    return 0;
}

TEST(ready_high_fibers_pass_those_that_yield) {
    /* Also if every pick is to be a fair one. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        rig_init(&r);
        r.config.workers = 1;
        r.config.policy = policies[i];
        r.config.global_interval = 1;
        rig_start(&r);
        atomic_store(&is_over, false);
        atomic_store(&yielding, 0);
        thrum_event_init(&call, THRUM_EVENT_AUTO, false);
        thrum_attr attr = rig_attr(&r);
        attr.flags = THRUM_HIGH;
        CHECK_EQ(thrum_go_with(&attr, waits_for_the_call, NULL), 0);
        CHECK_EQ(thrum_go_with(&attr, yields, NULL), 0);
        CHECK_EQ(thrum_go_with(&attr, yields, NULL), 0);
        SPIN_UNTIL(atomic_load(&yielding) == 2);
        thrum_event_signal(&call);
        rig_stop(&r);
    }
}

TEST(a_bound_thread_that_helps_leaves_though_low_work_goes_on) {
    /* What all share is the workers'. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        flood *f = &the_flood;
        memset(f, 0, sizeof *f);
        rig_init(&f->r);
        f->r.config.policy = policies[i];
        f->r.config.workers = 1;
        f->r.config.help_when_bound = true;
        rig_start(&f->r);
        post(f, &f->task, floods, THRUM_LOW);
        SPIN_UNTIL(atomic_load(&f->running));
        CHECK_EQ(thrum_sched_bind(f->r.sched), 0);
        CHECK_EQ(thrum_sched_unbind(), 0);
        atomic_store(&f->stop, true);
        rig_stop(&f->r);
    }
}

/* ---- deadlines without workers ---- */

static void starts_two(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    thrum_attr normal;
    thrum_attr_init(&normal);
    normal.flags = THRUM_NORMAL;
    CHECK_EQ(thrum_go_with(&normal, notes, (void *)1), 0);
    CHECK_EQ(thrum_go(notes, (void *)0), 0); /* it inherits the priority */
}

TEST(a_high_task_keeps_its_priority_until_its_deadline) {
    /* Also without workers: the task that it starts comes before a normal one. */
    rig r;
    thrum_task task = THRUM_TASK_INIT(starts_two, NULL);
    rig_init(&r);
    memset(&the_log, 0, sizeof the_log);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(thrum_task_set_priority(&task, THRUM_HIGH), 0);
    CHECK_EQ(thrum_task_post_after(r.sched, &task, THRUM_MS(1)), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&the_log.count), 2);
    CHECK_EQ(atomic_load(&the_log.seen[0]), 0);
    CHECK_EQ(atomic_load(&the_log.seen[1]), 1);
}

/* ---- sleepers ---- */

static atomic_int ran;

static void counts(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    atomic_fetch_add(&ran, 1);
}

TEST(a_task_of_each_priority_wakes_a_sleeper) {
    /* One at a time, so that all workers may sleep in between. */
    rig r;
    thrum_task task = THRUM_TASK_INIT(counts, NULL);
    atomic_store(&ran, 0);
    rig_begin(&r, 0);
    const int workers = (int)thrum_sched_parallelism(r.sched);
    for (int i = 0; i < SCALED(3000); i++) {
        CHECK_EQ(thrum_task_set_priority(&task, levels[i % 3]), 0);
        thrum_task_set_worker(&task, i % 2 ? i % workers : -1);
        CHECK_EQ(thrum_task_post(r.sched, &task), 0);
        SPIN_UNTIL(atomic_load(&ran) == i + 1);
        CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    }
    rig_stop(&r);
}

/* Holds its worker until another one has run what it starts. */
static int starts_and_holds(void *arg) {
    const int before = atomic_load(&ran);
    thrum_task *task = arg;
    CHECK_EQ(thrum_task_post(thrum_sched_current(), task), 0);
    SPIN_UNTIL(atomic_load(&ran) > before);
    return 0;
}

TEST(another_worker_takes_what_a_held_up_one_has_started) {
    /* Its worker does not come back until it has run. */
    rig r;
    thrum_task task = THRUM_TASK_INIT(counts, NULL);
    atomic_store(&ran, 0);
    rig_init(&r);
    r.config.workers = r.config.workers < 2 ? 2 : r.config.workers;
    rig_start(&r);
    for (int i = 0; i < SCALED(600); i++) {
        CHECK_EQ(thrum_task_set_priority(&task, i % 2 ? THRUM_LOW : THRUM_HIGH), 0);
        CHECK_EQ(rig_run(&r, starts_and_holds, &task), 0);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&ran), SCALED(600));
}

/* ---- many at once ---- */

enum { TASKS = 3000 };

static int begins(void *arg) {
    thrum_yield();
    atomic_fetch_add(&ran, 1);
    (void)arg;
    return 0;
}

static int starts_mixed(void *arg) {
    (void)arg;
    for (int i = 0; i < SCALED(TASKS); i++) {
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.flags = levels[i % 3] | (i % 5 ? 0 : THRUM_PINNED) | (i % 7 ? 0 : THRUM_NEXT);
        CHECK_EQ(thrum_go_with(&attr, begins, NULL), 0);
    }
    return 0;
}

TEST(each_task_of_a_mixed_crowd_runs_once) {
    /* Pinned ones and hints among them, started by tasks of all priorities. */
    rig r;
    atomic_store(&ran, 0);
    rig_begin(&r, 0);
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        thrum_attr attr = rig_attr(&r);
        attr.flags = levels[i];
        CHECK_EQ(thrum_go_with(&attr, starts_mixed, NULL), 0);
    }
    rig_wait_done(&r);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&ran), 3 * SCALED(TASKS));
}
