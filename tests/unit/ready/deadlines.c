/*
 * deadlines.c: deadlines beside other work: their order, when they are met, what they wake.
 */
/* matrix: policy workers */
/* wrap: th_os_now */
#include "support/support.h"

#include "support/sync/stopped_clock.h"

#define US ((thrum_time)1000)

static order seen;

static void note(thrum_task *self, void *arg) {
    (void)self;
    order_add(&seen, (int)(intptr_t)arg);
}

/* One worker whatever the environment says; the policy is the environment's, or fifo. */
static void begin_alone(rig *r, bool fifo) {
    rig_init(r);
    r->config.workers = 1;
    if (fifo) {
        r->config.policy = THRUM_FIFO;
    }
    rig_start(r);
}

/*
 * For the calling thread time stands still until begin_to_pass, so that all it posts is posted
 * before this deadline.
 */
static thrum_time stop_before(void) {
    return clock_stop() + 1000 * US;
}

static void begin_to_pass(void) {
    clock_set(0);
}

/* ---- order ---- */

static void check_order_of_deadlines(thrum_time apart) {
    enum { N = 200 };
    static thrum_task tasks[N];
    rig r;
    holder h;
    begin_alone(&r, false);
    holder_begin(&r, &h, -1); /* no worker looks at deadlines before all are there */
    const thrum_time base = stop_before();
    for (int i = 0; i < N; i++) {
        const int k = i * 77 % N; /* in no order */
        thrum_task_init(&tasks[k], note, (void *)(intptr_t)k);
        CHECK_EQ(thrum_task_post_until(r.sched, &tasks[k], base + k * apart), 0);
    }
    begin_to_pass();
    holder_end(&h);
    rig_stop(&r);
    order_check_counts_up(&seen, N);
}

TEST(close_deadlines_keep_their_order) {
    /*
     * They are 50 us, 1 us and 1 ns apart, which coarse clocks cannot tell; on one worker the order
     * is exact.
     */
    check_order_of_deadlines(50 * US);
    check_order_of_deadlines(1 * US);
    check_order_of_deadlines(1);
}

TEST(equal_deadlines_keep_the_order_of_the_posts) {
    /* They are posted before their instant and past it. */
    enum { N = 200 };
    static thrum_task tasks[N];
    for (int late = 0; late < 2; late++) {
        rig r;
        holder h;
        begin_alone(&r, false);
        holder_begin(&r, &h, -1);
        const thrum_time when = late ? past() : stop_before();
        for (int i = 0; i < N; i++) {
            thrum_task_init(&tasks[i], note, (void *)(intptr_t)i);
            CHECK_EQ(thrum_task_post_until(r.sched, &tasks[i], when), 0);
        }
        begin_to_pass();
        await_passed(when + 1);
        holder_end(&h);
        rig_stop(&r);
        order_check_counts_up(&seen, N);
    }
}

TEST(fifo_runs_deadlines_behind_what_was_posted_before_them) {
    /* They run by their deadlines, in whatever order they were set, if they were set in time. */
    enum { PLAIN = 300, DUE = 150 };
    static thrum_task plain[PLAIN], due[DUE];
    rig r;
    holder h;
    begin_alone(&r, true);
    holder_begin(&r, &h, -1);
    const thrum_time base = stop_before();
    for (int i = 0; i < PLAIN; i++) {
        thrum_task_init(&plain[i], note, (void *)(intptr_t)i);
        CHECK_EQ(thrum_task_post(r.sched, &plain[i]), 0);
        if (i < DUE) {
            const int k = i * 77 % DUE;
            thrum_task_init(&due[k], note, (void *)(intptr_t)(PLAIN + k));
            CHECK_EQ(thrum_task_post_until(r.sched, &due[k], base + k * US), 0);
        }
    }
    begin_to_pass();
    await_passed(base + DUE * US);
    holder_end(&h);
    rig_stop(&r);
    order_check_counts_up(&seen, PLAIN + DUE);
}

TEST(fifo_queues_what_is_woken_as_if_posted) {
    /* A wakeup comes before the deadline: the task runs behind what was queued by then. */
    enum { N = 60 };
    static thrum_task tasks[N];
    rig r;
    holder h;
    begin_alone(&r, true);
    holder_begin(&r, &h, -1);
    for (int i = 0; i < N; i++) {
        thrum_task_init(&tasks[i], note, (void *)(intptr_t)i);
        if (i % 3) {
            CHECK_EQ(thrum_task_post_until(r.sched, &tasks[i],
                                           i % 3 == 1 ? far_off() - i * US : THRUM_FOREVER),
                     0);
        }
    }
    for (int i = 0; i < N; i++) {
        if (i % 3) {
            thrum_task_wakeup(&tasks[i]);
        } else {
            CHECK_EQ(thrum_task_post(r.sched, &tasks[i]), 0);
        }
    }
    holder_end(&h);
    rig_stop(&r);
    order_check_counts_up(&seen, N);
}

/* ---- while much else is ready ---- */

enum { BATCH = 6000, PASSES = 100, LATER = 200 };

static struct {
    rig *r;
    thrum_time deadline;
    atomic_int begun, at_due, at_later; /* of one worker, so atomic only for the thread sanitizer */
    thrum_task later;
} busy;

static void run_due(thrum_task *self, void *arg) {
    (void)arg;
    CHECK(thrum_task_is_expired(self));
    busy.at_due = busy.begun;
}

static void run_later(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    busy.at_later = busy.begun;
}

static void run_of_batch(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    busy.begun++;
    if (busy.begun == PASSES) {
        await_passed(busy.deadline + 1);
    } else if (busy.begun == PASSES + LATER) {
        thrum_task_init(&busy.later, run_later, NULL);
        CHECK_EQ(thrum_task_post(busy.r->sched, &busy.later), 0);
    }
}

TEST(a_deadline_that_passes_amid_a_batch) {
    /*
     * The worker looks at its deadlines between the tasks of a long batch: what is due is queued
     * before what is posted a little later. On sharded it stands in the worker's own queue, which
     * is short; on fifo and global, at the end of the one queue.
     */
    enum { PICKS = 64, OWN = 256 }; /* picks between two looks at the clock; own queue */
    static thrum_task batch[BATCH];
    static thrum_task *all[BATCH];
    rig r;
    holder h;
    begin_alone(&r, false);
    busy.r = &r;
    holder_begin(&r, &h, -1);
    for (int i = 0; i < BATCH; i++) {
        thrum_task_init(&batch[i], run_of_batch, NULL);
        all[i] = &batch[i];
    }
    busy.deadline = stop_before();
    CHECK_EQ(thrum_task_post_batch(r.sched, all, BATCH), 0);
    thrum_task due = THRUM_TASK_INIT(run_due, NULL);
    CHECK_EQ(thrum_task_post_until(r.sched, &due, busy.deadline), 0);
    begin_to_pass(); /* the deadline may pass before the batch begins, too */
    holder_end(&h);
    rig_stop(&r);
    CHECK_EQ(busy.begun, BATCH);
    CHECK(busy.at_due <= busy.at_later);
    if (r.config.policy == THRUM_FIFO) {
        CHECK_EQ(busy.at_due, BATCH);
    } else if (r.config.policy == THRUM_SHARDED) {
        CHECK(busy.at_due <= PASSES + PICKS + OWN);
    }
}

static atomic_bool over;

static void end_it(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_store(&over, true);
}

/* Keeps every queue full until it is over. */
static void run_on(thrum_task *self, void *arg) {
    if (!atomic_load(&over)) {
        CHECK_EQ(thrum_task_post(((rig *)arg)->sched, self), 0);
    }
}

TEST(a_deadline_beside_tasks_that_never_end) {
    /* It is met, although something is always ready. */
    enum { N = 100 };
    static thrum_task tasks[N];
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < N; i++) {
        thrum_task_init(&tasks[i], run_on, &r);
        CHECK_EQ(thrum_task_post(r.sched, &tasks[i]), 0);
    }
    thrum_task due = THRUM_TASK_INIT(end_it, NULL);
    CHECK_EQ(thrum_task_post_after(r.sched, &due, 3000 * US), 0);
    rig_stop(&r);
    CHECK(atomic_load(&over));
}

/* It is overdue whenever it is looked at, until it is over. */
static void overdue_again(thrum_task *self, void *arg) {
    if (!atomic_load(&over)) {
        CHECK_EQ(thrum_task_post_until(((rig *)arg)->sched, self, 0), 0);
    }
}

TEST(what_is_overdue_does_not_starve_the_rest) {
    /* A stream of deadlines that have passed lets others run: one task ends it. */
    enum { N = 100 };
    static thrum_task tasks[N];
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < N; i++) {
        thrum_task_init(&tasks[i], overdue_again, &r);
        CHECK_EQ(thrum_task_post(r.sched, &tasks[i]), 0);
    }
    thrum_task last = THRUM_TASK_INIT(end_it, NULL);
    CHECK_EQ(thrum_task_post(r.sched, &last), 0);
    rig_stop(&r);
    CHECK(atomic_load(&over));
}

/* ---- what they wake ---- */

typedef struct meeting {
    rig *r;
    int expected;
    atomic_int there;
    thrum_task tasks[64];
} meeting;

/* Holds its worker until all tasks have begun. */
static void meet(thrum_task *self, void *arg) {
    meeting *m = arg;
    (void)self;
    atomic_fetch_add(&m->there, 1);
    SPIN_UNTIL(atomic_load(&m->there) == m->expected);
}

static void wake_all_and_meet(thrum_task *self, void *arg) {
    meeting *m = arg;
    for (int i = 1; i < m->expected; i++) {
        thrum_task_wakeup(&m->tasks[i]);
    }
    meet(self, m);
}

TEST(as_many_workers_as_deadlines_that_pass_at_once) {
    /* All workers sleep; at one instant there is work for each, and each piece holds its worker. */
    rig r;
    meeting m;
    rig_begin(&r, 0);
    m.r = &r;
    m.expected = (int)thrum_sched_parallelism(r.sched);
    for (int round = 0; round < SCALED(50); round++) {
        atomic_store(&m.there, 0);
        const thrum_time when = soon();
        for (int i = 0; i < m.expected; i++) {
            thrum_task_init(&m.tasks[i], meet, &m);
            CHECK_EQ(thrum_task_post_until(r.sched, &m.tasks[i], when), 0);
        }
        rig_wait_done(&r);
        CHECK_EQ(atomic_load(&m.there), m.expected);
    }
    rig_stop(&r);
}

TEST(as_many_workers_as_tasks_that_one_wakes) {
    /*
     * They are woken by a body that then holds its own worker, by a thread, and by a stop that
     * cancels them.
     */
    for (int round = 0; round < SCALED(60); round++) {
        rig r;
        meeting m;
        rig_begin(&r, 0);
        m.r = &r;
        m.expected = (int)thrum_sched_parallelism(r.sched);
        atomic_store(&m.there, 0);
        for (int i = 0; i < m.expected; i++) {
            thrum_task_init(&m.tasks[i], i == 0 ? wake_all_and_meet : meet, &m);
            CHECK_EQ(thrum_task_post_wait(r.sched, &m.tasks[i]), 0);
        }
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        for (int i = 0; i < m.expected && round % 3 == 1; i++) {
            thrum_task_wakeup(&m.tasks[i]);
        }
        if (round % 3 == 2) {
            thrum_task_wakeup(&m.tasks[0]);
        }
        rig_stop(&r);
        CHECK_EQ(atomic_load(&m.there), m.expected);
    }
}

/* ---- the smallest block ---- */

typedef struct worn {
    thrum_task task;
    rig *r;
    int runs;
} worn;

static void wear(thrum_task *self, void *arg) {
    worn *w = arg;
    if (++w->runs == 100) {
        return;
    }
    switch (w->runs % 4) {
    case 0:
        CHECK_EQ(thrum_task_post_after(w->r->sched, self, w->runs * US), 0);
        break;
    case 1:
        CHECK_EQ(thrum_task_post_wait(w->r->sched, self), 0);
        thrum_task_signal(self);
        break;
    case 2:
        CHECK(thrum_task_receive_signal(self));
        CHECK_EQ(thrum_task_post_until(w->r->sched, self, 0), 0);
        break;
    default:
        CHECK_EQ(thrum_task_post(w->r->sched, self), 0);
        thrum_yield();
    }
}

TEST(fifo_with_a_block_of_one) {
    /* With a ready queue that holds a single task deadlines, wakeups and yields all go on. */
    enum { N = 200 };
    static worn all[N];
    thrum_task *batch[N];
    rig r;
    rig_init(&r);
    r.config.policy = THRUM_FIFO;
    r.config.fifo_block = 1;
    rig_start(&r);
    for (int i = 0; i < N; i++) {
        all[i].r = &r;
        thrum_task_init(&all[i].task, wear, &all[i]);
        batch[i] = &all[i].task;
    }
    CHECK_EQ(thrum_task_post_batch(r.sched, batch, N / 2), 0);
    for (int i = N / 2; i < N; i++) {
        CHECK_EQ(thrum_task_post_after(r.sched, batch[i], i * US), 0);
    }
    rig_stop(&r);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(all[i].runs, 100);
    }
}
