/*
 * fifo.c: the fifo policy: its order, and the faults of the scheduler that it was modelled on.
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

#define NOTES 1000

static thrum_task notes[NOTES];

static void init_notes(void) {
    for (int i = 0; i < NOTES; i++) {
        thrum_task_init(&notes[i], note, (void *)(intptr_t)i);
    }
}

static void post_batch(rig *r, int from, int n) {
    thrum_task *batch[NOTES];
    for (int i = 0; i < n; i++) {
        batch[i] = &notes[from + i];
    }
    CHECK_EQ(thrum_task_post_batch(r->sched, batch, (size_t)n), 0);
}

TEST(one_worker_runs_in_the_order_posted) {
    /* They come one by one and in batches, from an external thread, while the worker is held. */
    rig r;
    holder h;
    begin(&r, 1, 4);
    init_notes();
    holder_begin(&r, &h, -1);
    for (int i = 0; i < NOTES;) {
        const int n = i % 7 == 0 ? 3 : 1;
        if (n > 1 && i + n <= NOTES) {
            post_batch(&r, i, n);
            i += n;
        } else {
            CHECK_EQ(thrum_task_post(r.sched, &notes[i++]), 0);
        }
    }
    holder_end(&h);
    rig_stop(&r);
    order_check_counts_up(&seen, NOTES);
}

typedef struct poster {
    thrum_task task;
    rig *r;
    int from;
    int n;
    thrum_hint hint;
} poster;

static void post_some(thrum_task *self, void *arg) {
    const poster *p = arg;
    (void)self;
    for (int i = 0; i < p->n; i++) {
        CHECK_EQ(thrum_task_post_hint(p->r->sched, &notes[p->from + i], p->hint), 0);
    }
}

static void init_poster(poster *p, rig *r, int from, int n, thrum_hint hint) {
    *p = (poster){.r = r, .from = from, .n = n, .hint = hint};
    thrum_task_init(&p->task, post_some, p);
}

TEST(posts_from_inside_and_from_external_threads_are_one_order) {
    /* Tasks post behind what came from external threads before them, whatever hint they give. */
    rig r;
    holder h;
    poster posters[3];
    begin(&r, 1, 1);
    init_notes();
    for (int i = 0; i < 3; i++) {
        init_poster(&posters[i], &r, 10 + 10 * i, 10, (thrum_hint)i);
    }
    holder_begin(&r, &h, -1);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_task_post(r.sched, &posters[i].task), 0);
    }
    post_batch(&r, 0, 10);
    holder_end(&h);
    rig_stop(&r);
    order_check_counts_up(&seen, 40);
}

static thrum_sem sem;

/* Logs 0, waits, and logs 4 when it goes on. */
static int waits(void *arg) {
    (void)arg;
    order_add(&seen, 0);
    CHECK_EQ(thrum_sem_wait(&sem), 0);
    order_add(&seen, 4);
    return 0;
}

static void wakes(thrum_task *self, void *arg) {
    order_add(&seen, (int)(intptr_t)arg);
    (void)self;
    thrum_sem_post(&sem);
}

TEST(a_resumed_fiber_goes_on_before_what_was_posted) {
    /* It comes before what has not begun, not at the waker's place. */
    rig r;
    holder h;
    begin(&r, 1, 2);
    init_notes();
    thrum_sem_init(&sem, 0);
    thrum_task_init(&notes[1], wakes, (void *)1);
    holder_begin(&r, &h, -1);
    rig_go(&r, waits, NULL);
    post_batch(&r, 1, 3);
    holder_end(&h);
    rig_stop(&r);
    static const int expected[] = {0, 1, 4, 2, 3};
    CHECK_EQ(atomic_load(&seen.count), 5);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(atomic_load(&seen.seen[i]), expected[i]);
    }
}

static int yields(void *arg) {
    (void)arg;
    order_add(&seen, 0);
    thrum_yield();
    order_add(&seen, 4);
    thrum_yield();
    order_add(&seen, 5);
    return 0;
}

TEST(a_yield_queues_like_a_post) {
    /* It lets everything run that is queued by then. */
    rig r;
    holder h;
    begin(&r, 1, 2);
    init_notes();
    holder_begin(&r, &h, -1);
    rig_go(&r, yields, NULL);
    post_batch(&r, 1, 3);
    holder_end(&h);
    rig_stop(&r);
    order_check_counts_up(&seen, 6);
}

static void note_and_repost(thrum_task *self, void *arg) {
    rig *r = arg;
    const int count = atomic_load(&seen.count);
    order_add(&seen, count);
    if (count < 4) {
        CHECK_EQ(thrum_task_post(r->sched, self), 0);
        CHECK_EQ(thrum_task_post(r->sched, &notes[1]), 0);
    }
}

TEST(a_task_that_posts_itself_comes_behind_what_it_posts) {
    /* Its own post takes effect when the body returns. */
    rig r;
    holder h;
    begin(&r, 1, 2);
    init_notes();
    thrum_task_init(&notes[0], note_and_repost, &r);
    holder_begin(&r, &h, -1);
    atomic_store(&seen.count, 3);
    for (int i = 0; i < 3; i++) {
        atomic_store(&seen.seen[i], i);
    }
    thrum_task_init(&notes[1], note, (void *)4);
    CHECK_EQ(thrum_task_post(r.sched, &notes[0]), 0);
    holder_end(&h);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&seen.seen[3]), 3);
    CHECK_EQ(atomic_load(&seen.seen[4]), 4);
    CHECK_EQ(atomic_load(&seen.seen[5]), 5);
    CHECK_EQ(atomic_load(&seen.count), 6);
}

TEST(pinned_work_stands_outside_the_order) {
    /* It comes first, and what is not pinned keeps its order. */
    rig r;
    holder h;
    begin(&r, 1, 2);
    init_notes();
    holder_begin(&r, &h, -1);
    thrum_task_set_worker(&notes[0], 0);
    post_batch(&r, 1, 20);
    CHECK_EQ(thrum_task_post(r.sched, &notes[0]), 0);
    holder_end(&h);
    rig_stop(&r);
    order_check_counts_up(&seen, 21);
}

/* ---- several workers: the order of taking ---- */

#define BATCH 8 /* the most that a worker takes at a time while runs are short */

typedef struct many {
    thrum_task task;
    int number;
} many;

#define MANY 20000

static many *tasks;
static atomic_int begun;
static int slack; /* how many may have been taken before, and not begun */

/*
 * At least as many as were posted before have been taken before. Each of the other workers may have
 * some that it has taken, and not begun.
 */
static void begin_in_order(thrum_task *self, void *arg) {
    const many *m = arg;
    (void)self;
    CHECK(atomic_fetch_add(&begun, 1) >= m->number - slack);
}

static void init_many(int n, thrum_task_fn body) {
    tasks = calloc((size_t)n, sizeof(tasks[0]));
    CHECK(tasks != NULL);
    atomic_store(&begun, 0);
    for (int i = 0; i < n; i++) {
        tasks[i].number = i;
        thrum_task_init(&tasks[i].task, body, &tasks[i]);
    }
}

static void check_order_of_taking(unsigned workers, unsigned block) {
    const int n = SCALED(MANY);
    rig r;
    begin(&r, workers, block);
    slack = ((int)workers - 1) * BATCH;
    init_many(n, begin_in_order);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(thrum_task_post(r.sched, &tasks[i].task), 0);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&begun), n);
    free(tasks);
}

TEST(many_workers_take_in_the_order_posted) {
    /* Nothing begins before what was posted earlier has been taken, with any size of block. */
    for (unsigned workers = 1; workers <= 5; workers++) {
        check_order_of_taking(workers, 1024);
        check_order_of_taking(workers, 64);
        check_order_of_taking(workers, 1);
    }
}

/* ---- faults of the original ---- */

typedef struct meeting {
    rig *r;
    int expected;
    atomic_int there;
    thrum_task tasks[8];
} meeting;

static void meet(thrum_task *self, void *arg) {
    meeting *m = arg;
    (void)self;
    atomic_fetch_add(&m->there, 1);
    SPIN_UNTIL(atomic_load(&m->there) >= m->expected);
}

static void meeting_init(meeting *m, rig *r, int n) {
    m->r = r;
    m->expected = n;
    atomic_store(&m->there, 0);
    for (int i = 0; i < n; i++) {
        thrum_task_init(&m->tasks[i], meet, m);
    }
}

static void post_meeting(meeting *m, int from, bool batch) {
    thrum_task *all[8];
    for (int i = from; i < m->expected; i++) {
        all[i - from] = &m->tasks[i];
        if (!batch) {
            CHECK_EQ(thrum_task_post(m->r->sched, &m->tasks[i]), 0);
        }
    }
    if (batch) {
        CHECK_EQ(thrum_task_post_batch(m->r->sched, all, (size_t)(m->expected - from)), 0);
    }
}

static void meet_others(thrum_task *self, void *arg) {
    meeting *m = arg;
    post_meeting(m, 1, false);
    meet(self, m);
}

static void wait_idle(rig *r) {
    CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), 0);
}

TEST(all_workers_are_reached_while_bodies_hold_theirs) {
    /* There are as many bodies as workers, each of which holds its worker until all are there. */
    for (int n = 1; n <= 5; n++) {
        rig r;
        begin(&r, (unsigned)n, n % 2 ? 1 : 64);
        for (int i = 0; i < SCALED(100); i++) {
            meeting m;
            meeting_init(&m, &r, n);
            if (i % 3 == 2) { /* from inside: one by one, by a body that then holds its worker */
                thrum_task_init(&m.tasks[0], meet_others, &m);
                CHECK_EQ(thrum_task_post(r.sched, &m.tasks[0]), 0);
            } else {
                post_meeting(&m, 0, i % 3 == 1);
            }
            wait_idle(&r);
            CHECK_EQ(atomic_load(&m.there), n);
        }
        rig_stop(&r);
    }
}

static uint64_t parks(const rig *r) {
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(r->sched, THRUM_ALL_WORKERS, &m), 0);
    return m.parks;
}

static atomic_bool was_due;

static void note_due(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_store(&was_due, true);
}

static void wait_for_due(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    SPIN_UNTIL(atomic_load(&was_due));
}

TEST(a_deadline_is_met_beside_pinned_work) {
    /*
     * All workers sleep; one is woken by two deadlines, and first runs the pinned task, which is
     * long.
     */
    for (unsigned workers = 2; workers <= 3; workers++) {
        rig r;
        thrum_task due = THRUM_TASK_INIT(note_due, NULL);
        thrum_task pinned = THRUM_TASK_INIT(wait_for_due, NULL);
        begin(&r, workers, 16);
        atomic_store(&was_due, false);
        SPIN_UNTIL(parks(&r) >= workers);
        const thrum_time until = soon();
        thrum_task_set_worker(&pinned, 0);
        CHECK_EQ(thrum_task_post_until(r.sched, &pinned, until), 0);
        CHECK_EQ(thrum_task_post_until(r.sched, &due, until), 0);
        rig_stop(&r);
    }
}

static void post_until_noted(thrum_task *self, void *arg) {
    const rig *r = arg;
    if (!atomic_load(&was_due)) {
        CHECK_EQ(thrum_task_post(r->sched, self), 0);
    }
}

TEST(pinned_work_comes_with_an_interval_of_1) {
    /* Every pick would be the fair one, which leaves out pinned work. */
    rig r;
    thrum_task pinned = THRUM_TASK_INIT(note_due, NULL);
    thrum_task endless = THRUM_TASK_INIT(post_until_noted, &r);
    rig_init(&r);
    r.config.workers = 1;
    r.config.policy = THRUM_FIFO;
    r.config.global_interval = 1;
    rig_start(&r);
    atomic_store(&was_due, false);
    thrum_task_set_worker(&pinned, 0);
    CHECK_EQ(thrum_task_post(r.sched, &endless), 0);
    CHECK_EQ(thrum_task_post(r.sched, &pinned), 0);
    rig_stop(&r);
}

static uint64_t most_wakes(const rig *r, uint64_t before[8]) {
    uint64_t most = 0;
    for (int i = 0; i < (int)thrum_sched_parallelism(r->sched); i++) {
        thrum_metrics m = THRUM_METRICS_INIT;
        CHECK_EQ(thrum_metrics_read(r->sched, i, &m), 0);
        const uint64_t sent = m.wakes_chain - before[i];
        before[i] = m.wakes_chain;
        most = sent > most ? sent : most;
    }
    return most;
}

TEST(a_worker_that_finds_work_for_all_wakes_them_all) {
    /*
     * They do not wake one after the other: a worker that publishes a batch wakes as many as there
     * is work for.
     */
    rig r;
    uint64_t before[8] = {0};
    begin(&r, 4, 64);
    uint64_t most = 0;
    for (int i = 0; most < 3; i++) { /* the post wakes the fourth one */
        const uint64_t parked = parks(&r);
        meeting m;
        meeting_init(&m, &r, 4);
        post_meeting(&m, 0, true);
        wait_idle(&r);
        SPIN_UNTIL(parks(&r) >= parked + 4 || i == 0);
        const uint64_t sent = most_wakes(&r, before);
        most = sent > most ? sent : most;
    }
    rig_stop(&r);
}

TEST(idle_is_not_reported_between_the_queues) {
    /* A task counts that is neither in the front nor ready, but in a worker's hands. */
    for (unsigned workers = 1; workers <= 4; workers++) {
        rig r;
        begin(&r, workers, 1);
        init_notes();
        for (int i = 0; i < SCALED(2000); i++) {
            atomic_store(&seen.count, 0);
            post_batch(&r, 0, 3);
            CHECK_EQ(thrum_task_post(r.sched, &notes[3]), 0);
            wait_idle(&r);
            CHECK_EQ(atomic_load(&seen.count), 4);
        }
        rig_stop(&r);
    }
    atomic_store(&seen.count, 0);
}

TEST(stops_with_tasks_queued) {
    /* All that was posted runs and nothing hangs, whatever is still between the queues. */
    for (int i = 0; i < SCALED(300); i++) {
        rig r;
        begin(&r, (unsigned)(1 + i % 5), i % 2 ? 1 : 16);
        init_notes();
        atomic_store(&seen.count, 0);
        for (int k = 0; k < 100; k++) {
            CHECK_EQ(thrum_task_post(r.sched, &notes[k]), 0);
        }
        post_batch(&r, 100, 100);
        rig_stop(&r);
        CHECK_EQ(atomic_load(&seen.count), 200);
    }
}

TEST(what_was_run_came_from_the_inject_queue) {
    /* In the metrics the inject queue is the source of everything that is not pinned. */
    rig r;
    begin(&r, 2, 16);
    init_notes();
    atomic_store(&seen.count, 0);
    thrum_task_set_worker(&notes[0], 1);
    post_batch(&r, 0, 100);
    rig_wait_done(&r);
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(r.sched, THRUM_ALL_WORKERS, &m), 0);
    CHECK_EQ(m.tasks_started, 100);
    const uint64_t rescued = m.runs_stolen; /* from another worker's batch */
    CHECK_EQ(m.runs_inject + rescued, 99);
    CHECK_EQ(m.runs_pinned, 1);
    CHECK_EQ(m.runs_lifo + m.runs_ring, 0);
    rig_stop(&r);
}
