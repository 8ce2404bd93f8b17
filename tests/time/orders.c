/*
 * orders.c: the fifo policy: deadlines stand in one order with what is posted.
 */
/* wrap: th_os_now */
#include "time/hours.h"

/*
 * No deadline passes between two posts. In real time, the poster stops its clock and holds the
 * worker; in virtual time, the clock stands still anyway.
 */
#ifdef TIME_IS_VIRTUAL
static thrum_time stand_still(void) {
    return thrum_now();
}

static void pass_to(thrum_time when) {
    thrum_test_advance(when - thrum_now());
}

static void hold(rig *r, holder *h) {
    (void)r, (void)h;
}

static void let_go(holder *h) {
    (void)h;
}
#else
#include "support/sync/stopped_clock.h"

static thrum_time stand_still(void) {
    return clock_stop();
}

static void pass_to(thrum_time when) {
    clock_set(0);
    await_passed(when);
}

static void hold(rig *r, holder *h) {
    holder_begin(r, h, -1);
}

static void let_go(holder *h) {
    holder_end(h);
}
#endif

static order seen;

static void note(thrum_task *self, void *arg) {
    (void)self;
    order_add(&seen, (int)(intptr_t)arg);
}

static void note_init(thrum_task *task, int what) {
    thrum_task_init(task, note, (void *)(intptr_t)what);
}

static void check_counts_up(int n) {
    CHECK_EQ(atomic_load(&seen.count), n);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(atomic_load(&seen.seen[i]), i);
    }
    atomic_store(&seen.count, 0);
}

static void begin_fifo(rig *r, unsigned workers, unsigned block) {
    rig_init(r);
    r->config.workers = workers;
    r->config.policy = THRUM_FIFO;
    r->config.fifo_block = block;
    rig_start(r);
}

/* ---- one worker: the exact order ---- */

/* Each runs by the later of its post and its deadline. */
static void post_letters(thrum_sched *sched, thrum_task *tasks) {
    const thrum_time until = stand_still() + HOUR;
    for (int i = 0; i < 7; i++) {
        note_init(&tasks[i], i);
    }
    CHECK_EQ(thrum_task_post(sched, &tasks[0]), 0);
    CHECK_EQ(thrum_task_post_until(sched, &tasks[4], until + 10), 0);
    CHECK_EQ(thrum_task_post_until(sched, &tasks[3], until), 0);
    CHECK_EQ(thrum_task_post_until(sched, &tasks[1], 5), 0); /* it has passed: its post counts */
    CHECK_EQ(thrum_task_post_until(sched, &tasks[2], 3), 0);
    pass_to(until + 11);
    CHECK_EQ(thrum_task_post(sched, &tasks[5]), 0); /* behind those whose deadline has passed */
    CHECK_EQ(thrum_task_post_after(sched, &tasks[6], 1000), 0);
}

TEST(deadlines_and_posts_are_one_order) {
    /* They are posted from outside. */
    for (unsigned block = 1; block <= 4; block++) {
        thrum_task tasks[7];
        rig r;
        holder h;
        begin_fifo(&r, 1, block);
        hold(&r, &h);
        post_letters(r.sched, tasks);
        let_go(&h);
        rig_stop(&r);
        check_counts_up(7);
    }
}

static void post_letters_inside(thrum_task *self, void *arg) {
    (void)self;
    post_letters(thrum_sched_current(), arg);
}

TEST(deadlines_and_posts_from_inside_are_one_order) {
    /* The same holds for posts of a task that runs on the worker. */
    for (unsigned block = 1; block <= 4; block++) {
        thrum_task tasks[7];
        thrum_task first;
        rig r;
        begin_fifo(&r, 1, block);
        thrum_task_init(&first, post_letters_inside, tasks);
        CHECK_EQ(thrum_task_post(r.sched, &first), 0);
        rig_stop(&r);
        check_counts_up(7);
    }
}

static int waits_until(void *arg) {
    thrum_sem never = THRUM_SEM_INIT(0);
    CHECK_EQ(thrum_sem_wait_until(&never, *(thrum_time *)arg), -ETIMEDOUT);
    order_add(&seen, 0);
    return 0;
}

TEST(a_timed_wait_ends_before_later_posts) {
    /* A fiber whose deadline has passed goes on before a task that is posted afterwards begins. */
    thrum_task last;
    rig r;
    holder h;
    begin_fifo(&r, 1, 16);
    note_init(&last, 1);
    thrum_time until = thrum_after(20 * HOUR);
    rig_go(&r, waits_until, &until);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    hold(&r, &h);
    pass_to(until);
    CHECK_EQ(thrum_task_post(r.sched, &last), 0);
    let_go(&h);
    rig_stop(&r);
    check_counts_up(2);
}

/* ---- several workers: the order of taking ---- */

#define BATCH 8 /* the most that a worker takes at a time while runs are short */

static atomic_int begun;
static int slack; /* how many may have been taken before, and not begun */

static void begin_dated(thrum_task *self, void *arg) {
    (void)self;
    CHECK(atomic_fetch_add(&begun, 1) >= (int)(intptr_t)arg - slack);
}

TEST(many_workers_take_deadlines_and_posts_in_one_order) {
    /* Posts and deadlines take turns, each a step later than the one before. */
    enum { N = 100 };
    static thrum_task all[N];
    for (unsigned workers = 1; workers <= 4; workers++) {
        rig r;
        begin_fifo(&r, workers, workers % 2 ? 4 : 64);
        slack = ((int)workers - 1) * BATCH;
        atomic_store(&begun, 0);
        for (int i = 0; i < N; i++) {
            thrum_task_init(&all[i], begin_dated, (void *)(intptr_t)i);
        }
        for (int i = 0; i < N; i += 2) { /* the deadline passes between two posts */
            const thrum_time until = thrum_after(THRUM_US(100));
            CHECK_EQ(thrum_task_post_until(r.sched, &all[i], until), 0);
            pass_to(until);
            CHECK_EQ(thrum_task_post(r.sched, &all[i + 1]), 0);
        }
        rig_stop(&r);
        CHECK_EQ(atomic_load(&begun), N);
    }
}
