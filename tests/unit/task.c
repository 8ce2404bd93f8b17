/*
 * task.c: intrusive tasks: posts, hints, batches, repeated posts, and what a body may do with its
 * task.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 */
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
        CHECK_EQ(seen.seen[i], expected != NULL ? expected[i] : i);
    }
}

/* ---- the simple things ---- */

static void see_self(thrum_task *self, void *arg) {
    probe *p = arg;
    CHECK(self == &p->task);
    atomic_fetch_add(&p->runs, 1);
}

TEST(body_gets_its_task_and_argument) {
    /* By the initializer and by the call. */
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
    /* No scheduler, no task, an unknown hint; the task stays the caller's. */
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
    /* NEXT before all, what it displaces behind the local queue, YIELD behind everything. */
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
    /* On every policy and from outside all of them run. */
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
    /* First in, first out, as long as the local queue holds them. */
    rig r;
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, post_in_order, &r), 0);
    rig_wait_done(&r);
    check_order(NULL, 200);
    rig_stop(&r);
}

TEST(tasks_posted_outside_run_in_order_on_one_worker) {
    /* Through the shared queue, any number. */
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
    /* From outside, longer than a local queue, and behind what was posted before. */
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
    /* The same from inside. */
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
    /* One task that is busy, or tied to no worker, and none of them is posted. */
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
    thrum_task_set_worker(tasks[4], 1); /* there is only 0 */
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
        thrum_task_set_worker(tasks[i], i % (int)thrum_sched_workers(r.sched));
    }
    CHECK_EQ(thrum_task_post_batch(r.sched, tasks, 100), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&seen.count), 100);
    rig_stop(&r);
}

/* ---- posting one's own task ---- */

static void enter(probe *p) {
    CHECK_EQ(atomic_fetch_add(&p->inside, 1), 0); /* never two at a time */
    atomic_fetch_add(&p->runs, 1);
}

static void leave(probe *p) {
    CHECK_EQ(atomic_fetch_sub(&p->inside, 1), 1);
}

static void repost_first(thrum_task *self, void *arg) {
    probe *p = arg;
    enter(p);
    if (--p->left > 0) {
        CHECK_EQ(thrum_task_post(p->r->sched, self), 0);
        CHECK_EQ(thrum_task_post(p->r->sched, self), -EBUSY);
        if (p->left % 2 == 0) {
            thrum_yield();
            thrum_yield();
        }
    }
    leave(p);
}

static void check_reposts(thrum_task_fn body, int runs, int worker) {
    rig r;
    probe p = {.r = &r, .left = runs, .sem = THRUM_SEM_INIT(0)};
    rig_begin(&r, 0);
    thrum_task_init(&p.task, body, &p);
    thrum_task_set_worker(&p.task, worker);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), runs);
    CHECK_EQ(atomic_load(&p.inside), 0);
    rig_stop(&r);
}

TEST(runs_of_one_task_never_overlap) {
    /* A body that posts itself and then still runs, or yields, is run again only after it returned.
     */
    check_reposts(repost_first, SCALED(2000), -1);
}

TEST(runs_of_one_pinned_task_never_overlap) {
    /* The same in a worker's inbox. */
    check_reposts(repost_first, SCALED(2000), 0);
}

static void wake_probe(thrum_task *self, void *arg) {
    (void)self;
    thrum_sem_post(&((probe *)arg)->sem);
}

static void repost_then_block(thrum_task *self, void *arg) {
    probe *p = arg;
    thrum_task waker;
    enter(p);
    if (--p->left > 0) {
        CHECK_EQ(thrum_task_post(p->r->sched, self), 0);
    }
    thrum_task_init(&waker, wake_probe, p);
    CHECK_EQ(thrum_task_post(p->r->sched, &waker), 0);
    CHECK_EQ(thrum_sem_wait(&p->sem), 0);
    leave(p);
}

TEST(repost_takes_effect_when_a_blocked_body_returns) {
    /* A body that blocks after it has posted itself keeps the next run away until it is through. */
    check_reposts(repost_then_block, SCALED(1000), -1);
}

static void block_then_repost(thrum_task *self, void *arg) {
    probe *p = arg;
    thrum_task waker;
    enter(p);
    thrum_task_init(&waker, wake_probe, p);
    CHECK_EQ(thrum_task_post(p->r->sched, &waker), 0);
    CHECK_EQ(thrum_sem_wait(&p->sem), 0);
    if (--p->left > 0) {
        CHECK_EQ(thrum_task_post_hint(p->r->sched, self, (thrum_hint)(p->left % 3)), 0);
    }
    leave(p);
}

TEST(body_reposts_itself_after_it_blocked) {
    /* The fiber that the body got still knows which task it runs; with each hint. */
    check_reposts(block_then_repost, SCALED(1000), -1);
}

static void second_body(thrum_task *self, void *arg) {
    probe *p = arg;
    enter(p);
    CHECK_EQ(p->left, 1);
    p->left = 0;
    (void)self;
    leave(p);
}

static void first_body(thrum_task *self, void *arg) {
    probe *p = arg;
    enter(p);
    p->left--;
    thrum_task_set_body(self, second_body, p);
    CHECK_EQ(thrum_task_post(p->r->sched, self), 0);
    leave(p);
}

TEST(set_body_changes_the_next_run) {
    /* From the body itself, and by the owner between runs. */
    rig r;
    probe p = {.r = &r, .left = 2};
    rig_begin(&r, 0);
    thrum_task_init(&p.task, first_body, &p);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), 2);
    CHECK_EQ(p.left, 0);
    p.left = 1;
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), 3);
    thrum_task_set_body(&p.task, see_self, &p);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), 4);
    rig_stop(&r);
}

/* ---- a body owns its task ---- */

typedef struct heaped {
    thrum_task task;
    rig *r;
    atomic_int *runs;
} heaped;

static void free_then_yield(thrum_task *self, void *arg) {
    heaped *p = arg;
    atomic_int *runs = p->runs;
    CHECK(self == &p->task);
    memset(p, 0xee, sizeof(*p));
    free(p);
    for (int i = 0; i < 5; i++) {
        thrum_yield();
    }
    atomic_fetch_add(runs, 1);
}

TEST(body_frees_its_task_and_blocks) {
    /* The scheduler never touches a task after its body has begun. */
    rig r;
    atomic_int runs = 0;
    const int count = SCALED(2000);
    rig_begin(&r, 0);
    for (int i = 0; i < count; i++) {
        heaped *p = malloc(sizeof(*p));
        CHECK(p != NULL);
        p->r = &r;
        p->runs = &runs;
        thrum_task_init(&p->task, free_then_yield, p);
        if (i % 4 == 0) {
            thrum_task_set_worker(&p->task, 0);
        }
        CHECK_EQ(thrum_task_post_hint(r.sched, &p->task, (thrum_hint)(i % 3)), 0);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&runs), count);
    rig_stop(&r);
}

static void reuse_as_waker(thrum_task *self, void *arg) {
    probe *p = arg;
    atomic_fetch_add(&p->runs, 1);
    thrum_task_init(self, wake_probe, p); /* a new task, in the old one's place */
    CHECK_EQ(thrum_task_post(p->r->sched, self), 0);
    CHECK_EQ(thrum_sem_wait(&p->sem), 0);
    atomic_fetch_add(&p->runs, 1);
}

TEST(body_reuses_its_task_as_another) {
    /* Made anew by init it is another task: it runs while the body that posted it waits for it. */
    rig r;
    probe p = {.r = &r, .sem = THRUM_SEM_INIT(0)};
    rig_begin(&r, 0);
    thrum_task_init(&p.task, reuse_as_waker, &p);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), 2);
    rig_stop(&r);
}

static void post_next(thrum_task *self, void *arg) {
    probe *p = arg;
    atomic_fetch_add(&p->runs, 1);
    if (--p->left > 0) {
        heaped *next = malloc(sizeof(*next)); /* often where the last one was */
        CHECK(next != NULL);
        thrum_task_init(&next->task, post_next, p);
        CHECK_EQ(thrum_task_post(p->r->sched, &next->task), 0);
    }
    free(self);
}

TEST(body_posts_a_new_task_and_frees_its_own) {
    /* A chain of tasks of which each lives just as long as its run. */
    rig r;
    probe p = {.r = &r, .left = SCALED(5000)};
    const int runs = p.left;
    heaped *first = malloc(sizeof(*first));
    CHECK(first != NULL);
    rig_begin(&r, 0);
    thrum_task_init(&first->task, post_next, &p);
    CHECK_EQ(thrum_task_post(r.sched, &first->task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), runs);
    rig_stop(&r);
}

/* ---- blocking inside ---- */

static void wait_for_sem(thrum_task *self, void *arg) {
    probe *p = arg;
    (void)self;
    CHECK_EQ(thrum_sem_wait(&p->sem), 0);
    atomic_fetch_add(&p->runs, 1);
}

TEST(bodies_may_block) {
    /* Many tasks wait at once; each has become a fiber of its own by then. */
    rig r;
    enum { COUNT = 300 };
    static thrum_task tasks[COUNT];
    probe p = {.r = &r, .sem = THRUM_SEM_INIT(0)};
    rig_begin(&r, 0);
    for (int i = 0; i < COUNT; i++) {
        thrum_task_init(&tasks[i], wait_for_sem, &p);
        CHECK_EQ(thrum_task_post(r.sched, &tasks[i]), 0);
    }
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&p.runs), 0);
    for (int i = 0; i < COUNT; i++) {
        thrum_sem_post(&p.sem);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), COUNT);
    rig_stop(&r);
}

static int echo(void *arg) {
    return *(int *)arg;
}

static void spawn_and_join(thrum_task *self, void *arg) {
    probe *p = arg;
    int value = 5, result = 0;
    thrum_handle *handle = NULL;
    (void)self;
    CHECK_EQ(thrum_spawn(&handle, echo, &value), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 5);
    atomic_fetch_add(&p->runs, 1);
}

TEST(bodies_spawn_and_join) {
    /* A posted task is a task like any other. */
    rig r;
    probe p = {.r = &r};
    rig_begin(&r, 0);
    thrum_task_init(&p.task, spawn_and_join, &p);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), 1);
    rig_stop(&r);
}

typedef struct written {
    thrum_task task;
    int values[16]; /* plain */
    atomic_int ok;
} written;

static void read_written(thrum_task *self, void *arg) {
    written *w = arg;
    (void)self;
    for (int i = 0; i < 16; i++) {
        CHECK_EQ(w->values[i], i * 3);
        w->values[i] = i * 5;
    }
    atomic_fetch_add(&w->ok, 1);
}

TEST(what_the_poster_wrote_is_visible) {
    /* Plain data goes to the body, and back through the wait. */
    rig r;
    static written all[50];
    rig_begin(&r, 0);
    for (int k = 0; k < 50; k++) {
        for (int i = 0; i < 16; i++) {
            all[k].values[i] = i * 3;
        }
        thrum_task_init(&all[k].task, read_written, &all[k]);
        CHECK_EQ(thrum_task_post(r.sched, &all[k].task), 0);
    }
    rig_wait_done(&r);
    for (int k = 0; k < 50; k++) {
        CHECK_EQ(atomic_load(&all[k].ok), 1);
        for (int i = 0; i < 16; i++) {
            CHECK_EQ(all[k].values[i], i * 5);
        }
    }
    rig_stop(&r);
}
