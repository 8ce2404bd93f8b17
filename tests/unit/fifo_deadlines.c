/*
 * fifo_deadlines.c: the fifo policy: deadlines stand in one order with what is posted.
 */
#include "support/support.h"

static void begin(rig *r, unsigned workers, unsigned block) {
    rig_init(r);
    r->config.workers = workers;
    r->config.policy = THRUM_FIFO;
    r->config.fifo_block = block;
    rig_start(r);
}

static order seen;

static void note(thrum_task *self, void *arg) {
    (void)self;
    order_add(&seen, (int)(intptr_t)arg);
}

/* ---- one worker: the exact order ---- */

static void check_letters(const char *expected) {
    char text[16] = "";
    const int n = atomic_load(&seen.count);
    for (int i = 0; i < n && i < 15; i++) {
        text[i] = (char)atomic_load(&seen.seen[i]);
    }
    CHECK_STR(text, expected);
    atomic_store(&seen.count, 0);
}

static void letter_init(thrum_task *task, char letter) {
    thrum_task_init(task, note, (void *)(intptr_t)letter);
}

static void await_time(thrum_time until) {
    SPIN_UNTIL(thrum_now() >= until);
}

/* Posts while the one worker is held: from an external thread, or in the task that holds it. */
static void post_letters(thrum_sched *sched, thrum_task letters[7]) {
    for (int i = 0; i < 7; i++) {
        letter_init(&letters[i], (char)('A' + i));
    }
    CHECK_EQ(thrum_task_post(sched, &letters[0]), 0);
    const thrum_time soon = thrum_after_ms(1);
    CHECK_EQ(thrum_task_post_until(sched, &letters[4], soon + 10), 0);
    CHECK_EQ(thrum_task_post_until(sched, &letters[3], soon), 0);
    CHECK_EQ(thrum_task_post_until(sched, &letters[1], 5), 0); /* it has passed: its post counts */
    CHECK_EQ(thrum_task_post_until(sched, &letters[2], 3), 0);
    await_time(soon + 10);
    CHECK_EQ(thrum_task_post(sched, &letters[5]), 0); /* behind those whose deadline has passed */
    CHECK_EQ(thrum_task_post_after(sched, &letters[6], 1000), 0);
}

TEST(deadlines_and_posts_are_one_order) {
    /*
     * They run by the later of post and deadline, posted from an external thread while the worker
     * is held.
     */
    thrum_task letters[7];
    for (int i = 0; i < 20; i++) {
        rig r;
        holder h;
        begin(&r, 1, 1 + (unsigned)i % 4);
        holder_begin(&r, &h, -1);
        post_letters(r.sched, letters);
        holder_end(&h);
        rig_stop(&r);
        check_letters("ABCDEFG");
    }
}

static void post_letters_inside(thrum_task *self, void *arg) {
    (void)self;
    post_letters(thrum_sched_current(), arg);
}

TEST(deadlines_and_posts_from_inside_are_one_order) {
    /* The same holds for posts of the task that holds the worker. */
    thrum_task letters[7];
    for (int i = 0; i < 20; i++) {
        rig r;
        thrum_task first;
        begin(&r, 1, 1 + (unsigned)i % 4);
        thrum_task_init(&first, post_letters_inside, letters);
        CHECK_EQ(thrum_task_post(r.sched, &first), 0);
        rig_stop(&r);
        check_letters("ABCDEFG");
    }
}

static void post_and_compute(thrum_task *self, void *arg) {
    thrum_task *letters = arg;
    (void)self;
    letter_init(&letters[0], 'A');
    letter_init(&letters[1], 'B');
    CHECK_EQ(thrum_task_post(thrum_sched_current(), &letters[0]), 0);
    CHECK_EQ(thrum_task_post_after(thrum_sched_current(), &letters[1], 1000000), 0);
    await_time(thrum_after_ms(5));
}

TEST(a_deadline_does_not_overtake_what_was_posted_before_it) {
    /* Both are due when the worker comes round. */
    thrum_task letters[2];
    rig r;
    thrum_task first;
    begin(&r, 1, 16);
    thrum_task_init(&first, post_and_compute, letters);
    CHECK_EQ(thrum_task_post(r.sched, &first), 0);
    rig_stop(&r);
    check_letters("AB");
}

static int sleeps_until(void *arg) {
    CHECK_EQ(thrum_sleep_until(*(thrum_time *)arg), 0);
    order_add(&seen, 'B');
    return 0;
}

TEST(a_timed_wait_ends_in_the_order) {
    /*
     * A sleeper whose time has come stands behind what was posted before that, and before the rest.
     */
    thrum_task a = THRUM_TASK_INIT(note, (void *)'A');
    thrum_task c = THRUM_TASK_INIT(note, (void *)'C');
    rig r;
    holder h;
    begin(&r, 1, 16);
    const thrum_time until = thrum_after_ms(20);
    thrum_time time = until;
    rig_go(&r, sleeps_until, &time);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    holder_begin(&r, &h, -1);
    const bool before = thrum_now() < until; /* otherwise B has run, or stands before A */
    CHECK_EQ(thrum_task_post(r.sched, &a), 0);
    const bool posted = before && thrum_now() < until;
    await_time(until);
    CHECK_EQ(thrum_task_post(r.sched, &c), 0);
    holder_end(&h);
    rig_stop(&r);
    if (posted) {
        check_letters("ABC");
    }
}

/* ---- several workers: the order of taking ---- */

#define BATCH 8 /* the most that a worker takes at a time while runs are short */

static atomic_int begun;
static int slack; /* how many may have been taken before, and not begun */

typedef struct dated {
    thrum_task task;
    int number;
} dated;

static void begin_dated(thrum_task *self, void *arg) {
    const dated *d = arg;
    (void)self;
    CHECK(atomic_fetch_add(&begun, 1) >= d->number - slack);
}

TEST(many_workers_take_deadlines_and_posts_in_one_order) {
    /* Posts and deadlines take turns, each a step later than the one before. */
    for (unsigned workers = 1; workers <= 4; workers++) {
        enum { N = 400 };
        static dated all[N];
        rig r;
        begin(&r, workers, workers % 2 ? 4 : 64);
        slack = ((int)workers - 1) * BATCH;
        atomic_store(&begun, 0);
        for (int i = 0; i < N; i++) {
            all[i].number = i;
            thrum_task_init(&all[i].task, begin_dated, &all[i]);
        }
        for (int i = 0; i < N; i += 2) { /* the deadline passes between two posts */
            const thrum_time until = thrum_after(2000);
            CHECK_EQ(thrum_task_post_until(r.sched, &all[i].task, until), 0);
            await_time(until);
            CHECK_EQ(thrum_task_post(r.sched, &all[i + 1].task), 0);
        }
        rig_stop(&r);
        CHECK_EQ(atomic_load(&begun), N);
    }
}
