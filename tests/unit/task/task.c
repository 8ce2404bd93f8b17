/*
 * task.c: intrusive tasks: posts, hints, order, batches. What a body may do is in task_body.c.
 */
/* matrix: policy workers */
#include "support/support.h"

typedef struct probe {
    thrum_task task;
    rig *r;
    void *expected_arg;
    atomic_int runs;
    atomic_int inside; /* runs that are under way */
    int left;
    thrum_sem sem;
} probe;

static order seen;

static void note(thrum_task *self, void *arg) {
    (void)self;
    order_add(&seen, (int)(intptr_t)arg);
}

static void check_order(const int *expected, int n) {
    CHECK_EQ(atomic_load(&seen.count), n);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(seen.seen[i], expected ? expected[i] : i);
    }
}

/* ---- the simple things ---- */

static void see_self(thrum_task *self, void *arg) {
    probe *p = arg;
    CHECK(self == &p->task);
    atomic_fetch_add(&p->runs, 1);
}

TEST(body_gets_its_task_and_argument) {
    /* The initializer and the call make such a task. */
    rig r;
    static probe p;
    const thrum_task constant = THRUM_TASK_INIT(see_self, &p);
    p.task = constant;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), 1);
    memset(&p.task, 0x5a, sizeof(p.task));
    thrum_task_init(&p.task, see_self, &p);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), 2);
    rig_stop(&r);
}

TEST(task_is_posted_again_by_its_owner) {
    /* After a run the same object is posted again, without another init. */
    rig r;
    probe p = {.runs = 0};
    rig_begin(&r, 0);
    thrum_task_init(&p.task, see_self, &p);
    for (int i = 1; i <= 100; i++) {
        CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
        rig_wait_done(&r);
        CHECK_EQ(atomic_load(&p.runs), i);
    }
    rig_stop(&r);
}

TEST(bad_posts_are_invalid) {
    /* There is no scheduler, no task, or an unknown hint; the task stays the caller's. */
    rig r;
    probe p = {.runs = 0};
    rig_begin(&r, 0);
    thrum_task_init(&p.task, see_self, &p);
    CHECK_EQ(thrum_task_post(NULL, &p.task), -EINVAL);
    CHECK_EQ(thrum_task_post(r.sched, NULL), -EINVAL);
    CHECK_EQ(thrum_task_post_hint(r.sched, &p.task, (thrum_hint)17), -EINVAL);
    CHECK_EQ(thrum_task_post_batch(r.sched, NULL, 1), -EINVAL);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&p.runs), 1);
}

TEST(posted_task_is_busy) {
    /* A second post is refused while the first is queued, and changes nothing. */
    rig r;
    holder h;
    probe p = {.runs = 0};
    thrum_task *const alone[] = {&p.task};
    rig_begin(&r, 1);
    holder_begin(&r, &h, -1);
    thrum_task_init(&p.task, see_self, &p);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), -EBUSY);
    CHECK_EQ(thrum_task_post_hint(r.sched, &p.task, THRUM_HINT_NEXT), -EBUSY);
    CHECK_EQ(thrum_task_post_batch(r.sched, alone, 1), -EBUSY);
    holder_end(&h);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), 1);
    rig_stop(&r);
}

/* ---- order ---- */

static thrum_task notes[1000];

static int post_with_hints(void *arg) {
    rig *r = arg;
    static const thrum_hint hints[] = {THRUM_HINT_YIELD, THRUM_HINT_NONE, THRUM_HINT_NEXT,
                                       THRUM_HINT_NEXT, THRUM_HINT_NONE};
    for (int i = 0; i < 5; i++) {
        thrum_task_init(&notes[i], note, (void *)(intptr_t)i);
        CHECK_EQ(thrum_task_post_hint(r->sched, &notes[i], hints[i]), 0);
    }
    return 0;
}

TEST(hints_order_tasks_on_one_worker) {
    /* NEXT comes before all, what it displaces behind the local queue, YIELD behind everything. */
    static const int expected[] = {3, 1, 2, 4, 0};
    rig r;
    rig_init(&r);
    r.config.workers = 1;
    r.config.policy = THRUM_SHARDED;
    rig_start(&r);
    CHECK_EQ(rig_run(&r, post_with_hints, &r), 0);
    rig_wait_done(&r);
    check_order(expected, 5);
    rig_stop(&r);
}

TEST(hints_lose_nothing) {
    /* On every policy and from external threads all of them run. */
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < 300; i++) {
        thrum_task_init(&notes[i], note, (void *)(intptr_t)i);
        CHECK_EQ(thrum_task_post_hint(r.sched, &notes[i], (thrum_hint)(i % 3)), 0);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&seen.count), 300);
    rig_stop(&r);
}

static int post_in_order(void *arg) {
    rig *r = arg;
    for (int i = 0; i < 200; i++) {
        thrum_task_init(&notes[i], note, (void *)(intptr_t)i);
        CHECK_EQ(thrum_task_post(r->sched, &notes[i]), 0);
    }
    return 0;
}

TEST(tasks_posted_inside_run_in_order_on_one_worker) {
    /* They run first in, first out, as long as the local queue holds them. */
    rig r;
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, post_in_order, &r), 0);
    rig_wait_done(&r);
    check_order(NULL, 200);
    rig_stop(&r);
}

TEST(tasks_posted_externally_run_in_order_on_one_worker) {
    /* They go through the inject queue, any number of them. */
    rig r;
    holder h;
    rig_begin(&r, 1);
    holder_begin(&r, &h, -1);
    for (int i = 0; i < 1000; i++) {
        thrum_task_init(&notes[i], note, (void *)(intptr_t)i);
        CHECK_EQ(thrum_task_post(r.sched, &notes[i]), 0);
    }
    holder_end(&h);
    rig_wait_done(&r);
    check_order(NULL, 1000);
    rig_stop(&r);
}

TEST(pinned_tasks_run_in_order) {
    /* A worker's inbox is first in, first out. */
    rig r;
    holder h;
    rig_begin(&r, 0);
    holder_begin(&r, &h, 0);
    for (int i = 0; i < 1000; i++) {
        thrum_task_init(&notes[i], note, (void *)(intptr_t)i);
        thrum_task_set_worker(&notes[i], 0);
        CHECK_EQ(thrum_task_post(r.sched, &notes[i]), 0);
    }
    holder_end(&h);
    rig_wait_done(&r);
    check_order(NULL, 1000);
    rig_stop(&r);
}

/* ---- batches ---- */

static void fill(thrum_task **tasks, int n) {
    for (int i = 0; i < n; i++) {
        thrum_task_init(&notes[i], note, (void *)(intptr_t)i);
        tasks[i] = &notes[i];
    }
}

TEST(batch_runs_in_order_on_one_worker) {
    /* An external thread posts it, longer than a local queue, and behind what was posted before. */
    rig r;
    holder h;
    static thrum_task *tasks[999];
    thrum_task first = THRUM_TASK_INIT(note, (void *)(intptr_t)-1);
    rig_begin(&r, 1);
    holder_begin(&r, &h, -1);
    fill(tasks, 999);
    CHECK_EQ(thrum_task_post(r.sched, &first), 0);
    CHECK_EQ(thrum_task_post_batch(r.sched, tasks, 999), 0);
    holder_end(&h);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&seen.count), 1000);
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(seen.seen[i], i - 1);
    }
    rig_stop(&r);
}

static int batch_inside(void *arg) {
    rig *r = arg;
    static thrum_task *tasks[1000];
    fill(tasks, 1000);
    CHECK_EQ(thrum_task_post_batch(r->sched, tasks, 1000), 0);
    return 0;
}

TEST(batch_from_a_task_runs_in_order_on_one_worker) {
    /* The same holds for a batch from a task. */
    rig r;
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, batch_inside, &r), 0);
    rig_wait_done(&r);
    check_order(NULL, 1000);
    rig_stop(&r);
}

TEST(batch_of_none_is_fine) {
    /* Zero tasks are posted. */
    rig r;
    thrum_task *const none[] = {NULL};
    rig_begin(&r, 0);
    CHECK_EQ(thrum_task_post_batch(r.sched, none, 0), 0);
    CHECK_EQ(thrum_task_post_batch(r.sched, NULL, 0), 0);
    rig_stop(&r);
}

TEST(batch_is_all_or_none) {
    /* One task is busy, or tied to no worker, and none of them is posted. */
    rig r;
    holder h;
    thrum_task *tasks[5];
    rig_begin(&r, 1);
    holder_begin(&r, &h, -1);
    fill(tasks, 5);
    CHECK_EQ(thrum_task_post(r.sched, tasks[3]), 0);
    CHECK_EQ(thrum_task_post_batch(r.sched, tasks, 5), -EBUSY);
    CHECK_EQ(thrum_task_post_batch(r.sched, tasks, 3), 0); /* 0 to 2 were left alone */
    holder_end(&h);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&seen.count), 4);

    atomic_store(&seen.count, 0);
    fill(tasks, 5);
    thrum_task_set_worker(tasks[4], 1); /* there is only worker 0 */
    CHECK_EQ(thrum_task_post_batch(r.sched, tasks, 5), -EINVAL);
    thrum_task_set_worker(tasks[4], -1);
    CHECK_EQ(thrum_task_post_batch(r.sched, tasks, 5), 0);
    rig_wait_done(&r);
    check_order(NULL, 5);
    tasks[2] = NULL;
    CHECK_EQ(thrum_task_post_batch(r.sched, tasks, 5), -EINVAL);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&seen.count), 5);
}

TEST(batch_with_pinned_tasks) {
    /* Pinned tasks may stand between free ones; all run. */
    rig r;
    thrum_task *tasks[100];
    rig_begin(&r, 0);
    fill(tasks, 100);
    for (int i = 0; i < 100; i += 3) {
        thrum_task_set_worker(tasks[i], i % (int)thrum_sched_parallelism(r.sched));
    }
    CHECK_EQ(thrum_task_post_batch(r.sched, tasks, 100), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&seen.count), 100);
    rig_stop(&r);
}

/* ---- what a task cannot post ---- */

static void count_run(thrum_task *self, void *arg) {
    (void)self;
    atomic_fetch_add((atomic_int *)arg, 1);
}

static int post_beyond(void *arg) {
    rig *r = arg;
    atomic_int runs = 0;
    thrum_task tasks[2];
    thrum_task *batch[2] = {&tasks[0], &tasks[1]};
    thrum_task_init(&tasks[0], count_run, &runs);
    thrum_task_init(&tasks[1], count_run, &runs);
    const int bad[] = {(int)thrum_sched_parallelism(r->sched), INT_MAX, -2, INT_MIN};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        thrum_task_set_worker(&tasks[1], bad[i]);
        CHECK_EQ(thrum_task_post_batch(r->sched, batch, 2), -EINVAL);
        CHECK_EQ(thrum_task_post(r->sched, &tasks[1]), -EINVAL);
        CHECK_EQ(thrum_task_post_hint(r->sched, &tasks[1], THRUM_HINT_NEXT), -EINVAL);
        CHECK_EQ(thrum_task_post_wait(r->sched, &tasks[1]), -EINVAL);
    }
    thrum_task_set_worker(&tasks[1], -1);
    CHECK_EQ(thrum_task_post_batch(r->sched, batch, 2), 0); /* the refused ones left no mark */
    YIELD_UNTIL(atomic_load(&runs) == 2);
    return 0;
}

TEST(worker_that_is_not_there) {
    /* A task tied to it is refused inside the scheduler, too, alone and in a batch. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, post_beyond, &r), 0);
    rig_stop(&r);
}

static void repost_beyond(thrum_task *self, void *arg) {
    probe *p = arg;
    thrum_task other;
    thrum_task *batch[2] = {&other, self};
    thrum_task_init(&other, see_self, p);
    thrum_task_set_worker(self, (int)thrum_sched_parallelism(p->r->sched));
    CHECK_EQ(thrum_task_post(p->r->sched, self), -EINVAL);
    thrum_task_set_worker(self, -2);
    CHECK_EQ(thrum_task_post(p->r->sched, self), -EINVAL);
    thrum_task_set_worker(self, -1);
    CHECK_EQ(thrum_task_post_batch(p->r->sched, batch, 2), -EINVAL); /* never its own task */
    atomic_fetch_add(&p->runs, 1);
    if (atomic_load(&p->runs) == 1) {
        CHECK_EQ(thrum_task_post(p->r->sched, self), 0);
    }
}

TEST(body_cannot_post_its_task_to_nowhere) {
    /* It cannot do so in a batch either; what was refused left the task as it was. */
    rig r;
    static probe p;
    rig_begin(&r, 0);
    p.r = &r;
    thrum_task_init(&p.task, repost_beyond, &p);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), 2);
    rig_stop(&r);
}

static void run_a_corrupt_task(void *arg) {
    rig r;
    holder h;
    thrum_task task;
    (void)arg;
    rig_begin(&r, 1);
    holder_begin(&r, &h, -1);
    thrum_task_init(&task, see_self, NULL);
    CHECK_EQ(thrum_task_post(r.sched, &task), 0);
    task.reserved_kind = 0x77;
    holder_end(&h);
    rig_wait_done(&r);
}

TEST(task_overwritten_while_posted_is_told) {
    /* A posted task belongs to the scheduler: one that is overwritten stops the program. */
    if (UNDER_TSAN) {
        CHECK_SKIP("it is a race, and the sanitizer says so first");
    }
    check_dies(run_a_corrupt_task, NULL, "thrum: run: a corrupt object in a run queue");
}
