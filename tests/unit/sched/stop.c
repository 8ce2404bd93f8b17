/*
 * stop.c: what thrum_sched_stop waits for, which tasks and threads it refuses, and which calls are
 * refused meanwhile.
 */
/* matrix: policy workers */
#include "support/support.h"

typedef struct counter {
    rig *r;
    atomic_int runs;
} counter;

/* ---- draining ---- */

typedef struct spawn_chain {
    counter *c;
    int left;
} spawn_chain;

static int chain_go(void *arg) {
    spawn_chain *l = arg;
    atomic_fetch_add(&l->c->runs, 1);
    if (l->left-- > 0) {
        CHECK_EQ(thrum_go(chain_go, l), 0);
    }
    return 0;
}

TEST(stop_drains_a_chain_of_spawns) {
    /* Each task spawns the next, long after stop has begun. */
    rig r;
    counter c = {&r, 0};
    const int length = SCALED(10000);
    spawn_chain l = {&c, length};
    rig_begin(&r, 0);
    rig_go(&r, chain_go, &l);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&c.runs), length + 1);
}

typedef struct chain_task {
    thrum_task task;
    counter *c;
    int left;
    int worker;
} chain_task;

static void chain_body(thrum_task *self, void *arg) {
    chain_task *t = arg;
    atomic_fetch_add(&t->c->runs, 1);
    if (t->left-- > 0) {
        if (t->worker >= 0) {
            t->worker = (t->worker + 1) % (int)thrum_sched_parallelism(t->c->r->sched);
            thrum_task_set_worker(self, t->worker);
        }
        CHECK_EQ(thrum_task_post(t->c->r->sched, self), 0);
    }
}

TEST(stop_drains_a_chain_of_reposts) {
    /* A task that posts itself again and again is run to its end. */
    rig r;
    counter c = {&r, 0};
    const int length = SCALED(10000);
    chain_task t = {.c = &c, .left = length, .worker = -1};
    rig_begin(&r, 0);
    thrum_task_init(&t.task, chain_body, &t);
    CHECK_EQ(thrum_task_post(r.sched, &t.task), 0);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&c.runs), length + 1);
}

TEST(stop_drains_a_chain_of_pinned_reposts) {
    /* The task goes from one worker's inbox into the next one's. */
    rig r;
    counter c = {&r, 0};
    const int length = SCALED(2000);
    chain_task t = {.c = &c, .left = length, .worker = 0};
    rig_begin(&r, 0);
    thrum_task_init(&t.task, chain_body, &t);
    thrum_task_set_worker(&t.task, 0);
    CHECK_EQ(thrum_task_post(r.sched, &t.task), 0);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&c.runs), length + 1);
}

static counter tree;

static int tree_node(void *arg) {
    const intptr_t depth = (intptr_t)arg;
    atomic_fetch_add(&tree.runs, 1);
    if (depth > 0) {
        CHECK_EQ(thrum_go(tree_node, (void *)(depth - 1)), 0);
        CHECK_EQ(thrum_go(tree_node, (void *)(depth - 1)), 0);
    }
    return 0;
}

TEST(stop_drains_a_tree_of_spawns) {
    /* A tree that grows while stop waits. */
    rig r;
    const int depth = UNDER_TSAN ? 9 : 13;
    rig_begin(&r, 0);
    rig_go(&r, tree_node, (void *)(intptr_t)depth);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&tree.runs), (2 << depth) - 1);
}

static int yield_much(void *arg) {
    counter *c = arg;
    for (int i = 0; i < 200; i++) {
        thrum_yield();
    }
    atomic_fetch_add(&c->runs, 1);
    return 0;
}

TEST(stop_waits_for_fibers_that_yield) {
    /* A yielding fiber is not done. */
    rig r;
    counter c = {&r, 0};
    rig_begin(&r, 0);
    for (int i = 0; i < 30; i++) {
        rig_go(&r, yield_much, &c);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&c.runs), 30);
}

/* ---- refusals, seen from external threads ---- */

static void nothing(thrum_task *self, void *arg) {
    (void)self;
    if (arg) {
        atomic_fetch_add(&((counter *)arg)->runs, 1);
    }
}

/* Posts until it is refused; returns how often it was not. A gate must be closed meanwhile. */
static int post_until_refused(rig *r, counter *c) {
    int accepted = 0;
    for (;;) {
        thrum_task *task = malloc(sizeof(*task));
        CHECK(task != NULL);
        thrum_task_init(task, nothing, c);
        const int error = thrum_task_post(r->sched, task);
        if (error != 0) {
            CHECK_EQ(error, -ESHUTDOWN);
            free(task); /* it is still ours */
            return accepted;
        }
        accepted++;
        CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), 0);
        free(task);
    }
}

typedef struct closer {
    rig *r;
    gate *g;
    counter *c;
    int accepted;
} closer;

static void *refused_then_open(void *arg) {
    closer *k = ((crew_seat *)arg)->arg;
    k->accepted = post_until_refused(k->r, k->c);
    gate_open(k->g);
    return NULL;
}

TEST(stop_waits_for_a_blocked_fiber) {
    /* It waits as long as a fiber is blocked; external threads are refused from the moment it
     * begins. */
    rig r;
    gate g;
    crew c;
    counter n = {&r, 0};
    closer k = {&r, &g, &n, 0};
    rig_begin(&r, 0);
    gate_begin(&r, &g);
    crew_start(&c, 1, refused_then_open, &k);
    rig_stop(&r);
    crew_join(&c);
    CHECK_EQ(atomic_load(&n.runs), k.accepted);
}

static int never_started(void *arg) {
    (void)arg;
    CHECK(false);
    return 0;
}

static void *refused_each_way(void *arg) {
    closer *k = ((crew_seat *)arg)->arg;
    const thrum_attr attr = rig_attr(k->r);
    thrum_task one = THRUM_TASK_INIT(nothing, NULL), two = THRUM_TASK_INIT(nothing, NULL);
    thrum_task *const both[] = {&one, &two};
    thrum_handle *handle = NULL;
    post_until_refused(k->r, k->c);
    CHECK_EQ(thrum_task_post_hint(k->r->sched, &one, THRUM_HINT_NEXT), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post_hint(k->r->sched, &one, THRUM_HINT_YIELD), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post_batch(k->r->sched, both, 2), -ESHUTDOWN);
    CHECK_EQ(thrum_go_with(&attr, never_started, NULL), -ESHUTDOWN);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, never_started, NULL), -ESHUTDOWN);
    thrum_task_set_worker(&one, 0);
    CHECK_EQ(thrum_task_post(k->r->sched, &one), -ESHUTDOWN);
    gate_open(k->g);
    return NULL;
}

TEST(each_way_to_post_is_refused_while_it_stops) {
    /*
     * External threads' posts, hints, batches, pinned ones, go and spawn get -ESHUTDOWN, and
     * nothing starts.
     */
    rig r;
    gate g;
    crew c;
    counter n = {&r, 0};
    closer k = {&r, &g, &n, 0};
    rig_begin(&r, 0);
    gate_begin(&r, &g);
    crew_start(&c, 1, refused_each_way, &k);
    rig_stop(&r);
    crew_join(&c);
}

static void *stop_second(void *arg) {
    closer *k = ((crew_seat *)arg)->arg;
    post_until_refused(k->r, k->c);
    CHECK_EQ(thrum_sched_stop(k->r->sched), -EBUSY);
    gate_open(k->g);
    return NULL;
}

TEST(second_stop_is_busy) {
    /* While one thread stops it, another one's stop returns -EBUSY and changes nothing. */
    rig r;
    gate g;
    crew c;
    counter n = {&r, 0};
    closer k = {&r, &g, &n, 0};
    rig_begin(&r, 0);
    gate_begin(&r, &g);
    crew_start(&c, 1, stop_second, &k);
    rig_stop(&r);
    crew_join(&c);
}

/* ---- refusals, seen from inside ---- */

static int stop_own(void *arg) {
    rig *r = arg;
    CHECK_EQ(thrum_sched_stop(r->sched), -EDEADLK);
    thrum_yield();
    CHECK_EQ(thrum_sched_stop(r->sched), -EDEADLK);
    return 0;
}

TEST(stop_from_own_task_is_a_deadlock) {
    /* It is refused, and the scheduler goes on. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, stop_own, &r), 0);
    CHECK_EQ(rig_run(&r, stop_own, &r), 0);
    rig_stop(&r);
}

TEST(stop_without_a_scheduler_is_invalid) {
    /* NULL is a bad argument. */
    CHECK_EQ(thrum_sched_stop(NULL), -EINVAL);
}

static int stop_other(void *arg) {
    rig_stop(arg);
    return 0;
}

TEST(stop_from_a_task_of_another_scheduler) {
    /* A task may stop a scheduler that is not its own. */
    rig r1, r2;
    counter c = {&r2, 0};
    rig_begin(&r1, 0);
    rig_begin(&r2, 0);
    for (int i = 0; i < 10; i++) {
        rig_go(&r2, yield_much, &c);
    }
    CHECK_EQ(rig_run(&r1, stop_other, &r2), 0);
    CHECK_EQ(atomic_load(&c.runs), 10);
    rig_stop(&r1);
}

typedef struct inner {
    rig *r;
    closer *k;
    thrum_sem refused;
    atomic_int ran;
} inner;

static int inner_leaf(void *arg) {
    inner *in = arg;
    atomic_fetch_add(&in->ran, 1);
    return 0;
}

static void inner_task(thrum_task *self, void *arg) {
    (void)self;
    inner_leaf(arg);
}

/* Blocks until stop has begun, then starts things in every way. */
static int inner_body(void *arg) {
    inner *in = arg;
    static thrum_task posted, next, last, batch[2];
    thrum_task *const both[] = {&batch[0], &batch[1]};
    thrum_handle *handle = NULL;
    CHECK_EQ(thrum_sem_wait(&in->refused), 0);
    CHECK_EQ(thrum_go(inner_leaf, in), 0);
    CHECK_EQ(thrum_spawn(&handle, inner_leaf, in), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    thrum_task_init(&posted, inner_task, in);
    thrum_task_init(&next, inner_task, in);
    thrum_task_init(&last, inner_task, in);
    thrum_task_init(&batch[0], inner_task, in);
    thrum_task_init(&batch[1], inner_task, in);
    CHECK_EQ(thrum_task_post(in->r->sched, &posted), 0);
    CHECK_EQ(thrum_task_post_hint(in->r->sched, &next, THRUM_HINT_NEXT), 0);
    CHECK_EQ(thrum_task_post_hint(in->r->sched, &last, THRUM_HINT_YIELD), 0);
    CHECK_EQ(thrum_task_post_batch(in->r->sched, both, 2), 0);
    return 0;
}

static void *refused_then_wake(void *arg) {
    inner *in = ((crew_seat *)arg)->arg;
    post_until_refused(in->r, NULL);
    thrum_sem_post(&in->refused);
    return NULL;
}

TEST(tasks_start_more_while_it_stops) {
    /* What is refused to external threads its own tasks may still do, in every way. */
    rig r;
    crew c;
    inner in = {.r = &r, .refused = THRUM_SEM_INIT(0)};
    rig_begin(&r, 0);
    rig_go(&r, inner_body, &in);
    crew_start(&c, 1, refused_then_wake, &in);
    rig_stop(&r);
    crew_join(&c);
    CHECK_EQ(atomic_load(&in.ran), 7);
}

/* ---- never lost ---- */

typedef struct flood {
    rig *r;
    gate *g;
    atomic_int accepted;
    atomic_int ran;
    atomic_int posting; /* threads that have not been refused yet */
} flood;

static void flood_body(thrum_task *self, void *arg) {
    flood *f = arg;
    free(self);
    atomic_fetch_add(&f->ran, 1);
}

static void *flood_thread(void *arg) {
    flood *f = ((crew_seat *)arg)->arg;
    for (;;) {
        thrum_task *task = malloc(sizeof(*task));
        CHECK(task != NULL);
        thrum_task_init(task, flood_body, f);
        const int error = thrum_task_post(f->r->sched, task);
        if (error != 0) {
            CHECK_EQ(error, -ESHUTDOWN);
            free(task);
            break;
        }
        atomic_fetch_add(&f->accepted, 1);
        if (atomic_load(&f->accepted) - atomic_load(&f->ran) > 10000) {
            sched_yield(); /* this bounds the memory */
        }
    }
    if (atomic_fetch_sub(&f->posting, 1) == 1) {
        gate_open(f->g);
    }
    return NULL;
}

TEST(external_threads_are_refused_or_run_never_lost) {
    /* Threads that flood it while it stops: each post either got -ESHUTDOWN or is run. */
    for (int round = 0; round < SCALED(20); round++) {
        rig r;
        gate g;
        crew c;
        flood f = {.r = &r, .g = &g, .posting = 3};
        rig_begin(&r, 0);
        gate_begin(&r, &g);
        crew_start(&c, 3, flood_thread, &f);
        SPIN_UNTIL(atomic_load(&f.accepted) > 100);
        rig_stop(&r);
        crew_join(&c);
        CHECK_EQ(atomic_load(&f.ran), atomic_load(&f.accepted));
    }
}
