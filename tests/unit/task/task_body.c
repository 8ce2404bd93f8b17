/*
 * task_body.c: what the body of an intrusive task may do: post its own task, free or reuse it,
 * block.
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

static void see_self(thrum_task *self, void *arg) {
    probe *p = arg;
    CHECK(self == &p->task);
    atomic_fetch_add(&p->runs, 1);
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
    /* The same holds in a worker's inbox. */
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
    /* The fiber that the body got still knows which task it runs; this is so with each hint. */
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
    /* The body itself changes it, or the owner between runs. */
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
    thrum_task_init(self, wake_probe, p); /* a new task, at the old one's place */
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
        heaped *next = malloc(sizeof(*next)); /* this often lies where the last one was */
        CHECK(next != NULL);
        thrum_task_init(&next->task, post_next, p);
        CHECK_EQ(thrum_task_post(p->r->sched, &next->task), 0);
    }
    free(self);
}

TEST(body_posts_a_new_task_and_frees_its_own) {
    /* In a chain of tasks each lives just as long as its run. */
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
