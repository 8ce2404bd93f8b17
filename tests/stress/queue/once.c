/*
 * once.c: every task runs exactly once, whichever thread posts it, in whichever way.
 */
/* matrix: policy workers */
/* variants: */
#include "support/support.h"

typedef struct item {
    thrum_task task;
    atomic_int runs;
} item;

typedef struct load {
    rig *r;
    item *items;
    int count;
    atomic_int next; /* the next to be posted */
    atomic_int ran;
} load;

static void load_begin(load *l, rig *r, int count) {
    memset(l, 0, sizeof(*l));
    l->r = r;
    l->count = count;
    l->items = calloc((size_t)count, sizeof(item));
    CHECK(l->items != NULL);
}

static void load_end(load *l) {
    CHECK_EQ(atomic_load(&l->ran), l->count);
    for (int i = 0; i < l->count; i++) {
        CHECK_EQ(atomic_load(&l->items[i].runs), 1);
    }
    free(l->items);
}

static void run_item(thrum_task *self, void *arg) {
    load *l = arg;
    item *it = (item *)(void *)self;
    CHECK_EQ(atomic_fetch_add(&it->runs, 1), 0);
    atomic_fetch_add(&l->ran, 1);
}

/* Posts items until none is left, in each way that there is. */
static void post_all(load *l) {
    for (;;) {
        const int i = atomic_fetch_add(&l->next, 1);
        if (i >= l->count) {
            return;
        }
        thrum_task *task = &l->items[i].task;
        thrum_task_init(task, run_item, l);
        if (i % 11 == 0) {
            thrum_task_set_worker(task, i % (int)thrum_sched_parallelism(l->r->sched));
        }
        CHECK_EQ(thrum_task_post_hint(l->r->sched, task, (thrum_hint)(i % 7 % 3)), 0);
    }
}

static int post_inside(void *arg) {
    post_all(arg);
    return 0;
}

static void *post_external(void *seat) {
    post_all(((crew_seat *)seat)->arg);
    return NULL;
}

TEST(posted_inside) {
    /* Fibers on all workers post. */
    rig r;
    load l;
    rig_begin(&r, 0);
    load_begin(&l, &r, SCALED(100000));
    for (int i = 0; i < 8; i++) {
        rig_go(&r, post_inside, &l);
    }
    rig_stop(&r);
    load_end(&l);
}

TEST(posted_external) {
    /* Plain threads post. */
    rig r;
    load l;
    crew c;
    rig_begin(&r, 0);
    load_begin(&l, &r, SCALED(100000));
    crew_start(&c, 4, post_external, &l);
    crew_join(&c);
    rig_stop(&r);
    load_end(&l);
}

TEST(posted_from_both_sides) {
    /* Fibers and plain threads post at once. */
    rig r;
    load l;
    crew c;
    rig_begin(&r, 0);
    load_begin(&l, &r, SCALED(100000));
    crew_start(&c, 3, post_external, &l);
    for (int i = 0; i < 4; i++) {
        rig_go(&r, post_inside, &l);
    }
    crew_join(&c);
    rig_wait_done(&r);
    rig_stop(&r);
    load_end(&l);
}

/* ---- batches ---- */

static void post_batches(load *l) {
    thrum_task *batch[300];
    for (;;) {
        const int first = atomic_fetch_add(&l->next, 300);
        int n = 0;
        for (int i = first; i < first + 300 && i < l->count; i++) {
            batch[n] = &l->items[i].task;
            thrum_task_init(batch[n], run_item, l);
            n++;
        }
        if (n == 0) {
            return;
        }
        CHECK_EQ(thrum_task_post_batch(l->r->sched, batch, (size_t)n), 0);
    }
}

static int batches_inside(void *arg) {
    post_batches(arg);
    return 0;
}

static void *batches_external(void *seat) {
    post_batches(((crew_seat *)seat)->arg);
    return NULL;
}

TEST(posted_in_batches) {
    /* Fibers and plain threads post batches that are longer than a local queue. */
    rig r;
    load l;
    crew c;
    rig_begin(&r, 0);
    load_begin(&l, &r, SCALED(150000));
    crew_start(&c, 2, batches_external, &l);
    rig_go(&r, batches_inside, &l);
    rig_go(&r, batches_inside, &l);
    crew_join(&c);
    rig_stop(&r);
    load_end(&l);
}

/* ---- fibers ---- */

typedef struct fibers {
    load *l;
    int index;
} fibers;

static int run_fiber(void *arg) {
    atomic_int *runs = arg;
    CHECK_EQ(atomic_fetch_add(runs, 1), 0);
    thrum_yield();
    CHECK_EQ(atomic_fetch_add(runs, 1), 1);
    return 0;
}

static int go_all(void *arg) {
    load *l = arg;
    for (;;) {
        const int i = atomic_fetch_add(&l->next, 1);
        if (i >= l->count) {
            return 0;
        }
        CHECK_EQ(thrum_go(run_fiber, &l->items[i].runs), 0);
        if (i % 64 == 0) {
            thrum_yield();
        }
    }
}

TEST(fibers_go_on_exactly_once) {
    /* Each fiber starts once and is resumed once from its yield. */
    rig r;
    load l;
    rig_begin(&r, 0);
    load_begin(&l, &r, SCALED(40000));
    for (int i = 0; i < 4; i++) {
        rig_go(&r, go_all, &l);
    }
    rig_stop(&r);
    for (int i = 0; i < l.count; i++) {
        CHECK_EQ(atomic_load(&l.items[i].runs), 2);
    }
    free(l.items);
}

/* ---- trees ---- */

static atomic_int nodes;

static int node(void *arg) {
    const intptr_t depth = (intptr_t)arg;
    atomic_fetch_add(&nodes, 1);
    for (int i = 0; depth > 0 && i < 4; i++) {
        CHECK_EQ(thrum_go(node, (void *)(depth - 1)), 0);
    }
    return 0;
}

TEST(tree_fans_out) {
    /* Each task starts four more; the last level has 4^7. */
    rig r;
    const int depth = UNDER_TSAN ? 5 : UNDER_ASAN ? 6 : 7;
    int expected = 0;
    for (int i = 0, level = 1; i <= depth; i++, level *= 4) {
        expected += level;
    }
    rig_begin(&r, 0);
    rig_go(&r, node, (void *)(intptr_t)depth);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&nodes), expected);
    rig_stop(&r);
}

static int joined_node(void *arg) {
    const intptr_t depth = (intptr_t)arg;
    thrum_handle *children[3];
    int sum = 1, result = 0;
    if (depth == 0) {
        return 1;
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_spawn(&children[i], joined_node, (void *)(depth - 1)), 0);
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_join(children[i], &result), 0);
        sum += result;
    }
    return sum;
}

TEST(tree_is_joined) {
    /* Each task waits for its three children and adds up what they return. */
    rig r;
    const int depth = UNDER_TSAN ? 5 : 8;
    int expected = 0;
    for (int i = 0, level = 1; i <= depth; i++, level *= 3) {
        expected += level;
    }
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, joined_node, (void *)(intptr_t)depth), expected);
    rig_stop(&r);
}

/* ---- tasks that post themselves ---- */

typedef struct repeater {
    thrum_task task;
    rig *r;
    int left; /* plain: runs of one task are ordered */
    atomic_int inside;
} repeater;

static void repeat(thrum_task *self, void *arg) {
    repeater *p = arg;
    CHECK_EQ(atomic_fetch_add(&p->inside, 1), 0);
    if (--p->left > 0) {
        CHECK_EQ(thrum_task_post_hint(p->r->sched, self, (thrum_hint)(p->left % 3)), 0);
        if (p->left % 16 == 0) {
            thrum_yield();
        }
    }
    CHECK_EQ(atomic_fetch_sub(&p->inside, 1), 1);
}

TEST(reposting_tasks_never_overlap) {
    /* Many tasks post themselves at once; each comes to its end. */
    rig r;
    static repeater all[64];
    const int turns = SCALED(2000);
    rig_begin(&r, 0);
    for (int i = 0; i < 64; i++) {
        all[i] = (repeater){.r = &r, .left = turns};
        thrum_task_init(&all[i].task, repeat, &all[i]);
        CHECK_EQ(thrum_task_post(r.sched, &all[i].task), 0);
    }
    rig_wait_done(&r);
    for (int i = 0; i < 64; i++) {
        CHECK_EQ(all[i].left, 0);
    }
    rig_stop(&r);
}
