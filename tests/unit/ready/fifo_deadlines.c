/*
 * fifo_deadlines.c: the fifo policy: deadlines stand in one order with what is posted.
 */
#include "support/support.h"
#include "support/times.h"

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

/* Whether a deadline is still to come: then all that has been posted so far comes before it. */
static bool is_ahead(thrum_time deadline) {
    return thrum_now() < deadline;
}

#define AHEAD 1000000 /* at first; a test that came too late for its deadline doubles it */

typedef struct letters {
    thrum_task tasks[7];
    int64_t ahead;
    bool in_time; /* B and C were posted before the deadline of D */
} letters;

/* Posts while the one worker is held: from an external thread, or in the task that holds it. */
static void post_letters(thrum_sched *sched, letters *l) {
    thrum_task *tasks = l->tasks;
    for (int i = 0; i < 7; i++) {
        letter_init(&tasks[i], (char)('A' + i));
    }
    CHECK_EQ(thrum_task_post(sched, &tasks[0]), 0);
    const thrum_time until = thrum_after(l->ahead);
    CHECK_EQ(thrum_task_post_until(sched, &tasks[4], until + 10), 0);
    CHECK_EQ(thrum_task_post_until(sched, &tasks[3], until), 0);
    CHECK_EQ(thrum_task_post_until(sched, &tasks[1], 5), 0); /* it has passed: its post counts */
    CHECK_EQ(thrum_task_post_until(sched, &tasks[2], 3), 0);
    l->in_time = is_ahead(until);
    await_passed(until + 10);
    CHECK_EQ(thrum_task_post(sched, &tasks[5]), 0); /* behind those whose deadline has passed */
    CHECK_EQ(thrum_task_post_after(sched, &tasks[6], 1000), 0);
}

/* After the stop: the order, if it is known. Returns whether it is. */
static bool check_order(letters *l) {
    if (l->in_time) {
        check_letters("ABCDEFG");
    } else {
        atomic_store(&seen.count, 0);
        l->ahead *= 2;
    }
    return l->in_time;
}

TEST(deadlines_and_posts_are_one_order) {
    /*
     * They run by the later of post and deadline, posted from an external thread while the worker
     * is held.
     */
    letters l = {.ahead = AHEAD};
    for (int i = 0; i < 20;) {
        rig r;
        holder h;
        begin(&r, 1, 1 + (unsigned)i % 4);
        holder_begin(&r, &h, -1);
        post_letters(r.sched, &l);
        holder_end(&h);
        rig_stop(&r);
        i += check_order(&l);
    }
}

static void post_letters_inside(thrum_task *self, void *arg) {
    (void)self;
    post_letters(thrum_sched_current(), arg);
}

TEST(deadlines_and_posts_from_inside_are_one_order) {
    /* The same holds for posts of the task that holds the worker. */
    letters l = {.ahead = AHEAD};
    for (int i = 0; i < 20;) {
        rig r;
        thrum_task first;
        begin(&r, 1, 1 + (unsigned)i % 4);
        thrum_task_init(&first, post_letters_inside, &l);
        CHECK_EQ(thrum_task_post(r.sched, &first), 0);
        rig_stop(&r);
        i += check_order(&l);
    }
}

static void post_and_compute(thrum_task *self, void *arg) {
    thrum_task *tasks = arg;
    const thrum_time until = soon();
    (void)self;
    letter_init(&tasks[0], 'A');
    letter_init(&tasks[1], 'B');
    CHECK_EQ(thrum_task_post(thrum_sched_current(), &tasks[0]), 0);
    CHECK_EQ(thrum_task_post_until(thrum_sched_current(), &tasks[1], until), 0);
    await_passed(until);
}

TEST(a_deadline_does_not_overtake_what_was_posted_before_it) {
    /* Both are due when the worker comes round. */
    thrum_task tasks[2];
    rig r;
    thrum_task first;
    begin(&r, 1, 16);
    thrum_task_init(&first, post_and_compute, tasks);
    CHECK_EQ(thrum_task_post(r.sched, &first), 0);
    rig_stop(&r);
    check_letters("AB");
}

static int waits_until(void *arg) {
    thrum_sem never = THRUM_SEM_INIT(0);
    CHECK_EQ(thrum_sem_wait_until(&never, *(thrum_time *)arg), -ETIMEDOUT);
    order_add(&seen, 'B');
    return 0;
}

/* Returns whether A was posted before the deadline of B. */
static bool timed_wait_ends(int64_t ahead) {
    thrum_task a = THRUM_TASK_INIT(note, (void *)'A');
    thrum_task c = THRUM_TASK_INIT(note, (void *)'C');
    rig r;
    holder h;
    begin(&r, 1, 16);
    thrum_time until = thrum_after(ahead);
    rig_go(&r, waits_until, &until);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    holder_begin(&r, &h, -1);
    CHECK_EQ(thrum_task_post(r.sched, &a), 0);
    const bool in_time = is_ahead(until); /* otherwise B has run, or comes before A */
    await_passed(until);
    CHECK_EQ(thrum_task_post(r.sched, &c), 0);
    holder_end(&h);
    rig_stop(&r);
    if (in_time) {
        check_letters("BAC");
    } else {
        atomic_store(&seen.count, 0);
    }
    return in_time;
}

TEST(a_timed_wait_ends_before_what_was_posted) {
    /* A fiber whose deadline has passed goes on before tasks that have not begun. */
    for (int64_t ahead = AHEAD; !timed_wait_ends(ahead); ahead *= 2) {
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
            const thrum_time until = soon();
            CHECK_EQ(thrum_task_post_until(r.sched, &all[i].task, until), 0);
            await_passed(until);
            CHECK_EQ(thrum_task_post(r.sched, &all[i + 1].task), 0);
        }
        rig_stop(&r);
        CHECK_EQ(atomic_load(&begun), N);
    }
}
