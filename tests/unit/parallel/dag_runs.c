/*
 * dag_runs.c: runs of a graph with an argument, and several runs of one graph at a time.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"

static thrum_dag *new_dag(void) {
    thrum_dag *dag = NULL;
    CHECK_EQ(thrum_dag_create(&dag), 0);
    return dag;
}

static atomic_int calls;

static int count_call(void *arg) {
    (void)arg;
    atomic_fetch_add(&calls, 1);
    return 0;
}

#define WIDTH 6

typedef struct job {
    int shared;                 /* what all of its nodes add to, plainly: its edges order them */
    atomic_int seen;            /* calls of the nodes in the middle */
    int failing;                /* the number of the node that fails, or -1 */
    int at_end;                 /* runs of the last node */
    thrum_sem *pause, *resumed; /* of the first node, or NULL */
} job;

static int numbers[WIDTH + 2];

static int begin_order(void *arg, void *run_arg) {
    job *o = run_arg;
    CHECK(arg == &numbers[0]);
    o->shared += 1;
    if (o->pause) {
        thrum_sem_post(o->pause);
        CHECK_EQ(thrum_sem_wait(o->resumed), 0);
    }
    return 0;
}

static int middle_of_order(void *arg, void *run_arg) {
    job *o = run_arg;
    const int number = (int)((int *)arg - numbers);
    CHECK_EQ(o->shared % 2, 1);
    atomic_fetch_add(&o->seen, number);
    if (number % 2) {
        thrum_yield();
    }
    return o->failing == number ? -number : 0;
}

static int end_order(void *arg, void *run_arg) {
    job *o = run_arg;
    CHECK(arg == &numbers[WIDTH + 1]);
    CHECK_EQ(atomic_load(&o->seen) % (WIDTH * (WIDTH + 1) / 2), 0);
    o->shared += 1;
    o->at_end++;
    return 0;
}

static thrum_dag *order_dag(void) {
    thrum_dag *dag = new_dag();
    CHECK_EQ(thrum_dag_node_with(dag, begin_order, &numbers[0]), 0);
    for (int i = 1; i <= WIDTH; i++) {
        CHECK_EQ(thrum_dag_node_with(dag, middle_of_order, &numbers[i]), i);
    }
    CHECK_EQ(thrum_dag_node_with(dag, end_order, &numbers[WIDTH + 1]), WIDTH + 1);
    for (int i = 1; i <= WIDTH; i++) {
        CHECK_EQ(thrum_dag_edge(dag, 0, i), 0);
        CHECK_EQ(thrum_dag_edge(dag, i, WIDTH + 1), 0);
    }
    return dag;
}

static int arg_entry(void *arg) {
    (void)arg;
    thrum_dag *dag = order_dag();
    job o[3] = {{.failing = -1}, {.failing = 4}, {.failing = -1}};
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_dag_run_with(dag, &o[i]), i == 1 ? -4 : 0);
    }
    CHECK(o[0].at_end == 1 && o[1].at_end == 0 && o[2].at_end == 1);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    dag = new_dag();
    CHECK_EQ(thrum_dag_node(dag, count_call, NULL), 0); /* this node does not ask for it */
    atomic_store(&calls, 0);
    CHECK_EQ(thrum_dag_run_with(dag, &o), 0);
    CHECK_EQ(atomic_load(&calls), 1);
    CHECK_EQ(thrum_dag_node_with(dag, NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_dag_node_with(NULL, end_order, NULL), -EINVAL);
    CHECK_EQ(thrum_dag_run_with(NULL, &o), -EINVAL);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    return 0;
}

TEST(a_run_has_an_argument_beside_those_of_the_nodes) {
    /* Each run has its own, with its own failure; on a fiber, and on a plain thread. */
    rig_do(0, arg_entry, NULL);
    CHECK_EQ(arg_entry(NULL), 0);
}

static thrum_dag *orders;

static int run_orders(void *arg) {
    const int which = (int)(intptr_t)arg;
    for (int i = 0; i < SCALED(200); i++) {
        job o = {.failing = which % 3 == 0 ? 1 + (which + i) % WIDTH : -1};
        CHECK_EQ(thrum_dag_run_with(orders, &o), which % 3 == 0 ? -o.failing : 0);
        CHECK_EQ(o.at_end, which % 3 != 0);
        CHECK_EQ(atomic_load(&o.seen), WIDTH * (WIDTH + 1) / 2);
    }
    return 0;
}

static void *run_orders_external(void *arg) {
    run_orders(arg);
    return NULL;
}

TEST(many_run_it_at_a_time) {
    /* Tasks and plain threads run it; each run keeps its edges, its failures and its result. */
    rig r;
    thrum_handle *handles[9];
    pthread_t threads[3];
    rig_begin(&r, 0);
    orders = order_dag();
    const thrum_attr attr = rig_attr(&r);
    for (intptr_t i = 0; i < 9; i++) {
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, run_orders, (void *)i), 0);
    }
    for (intptr_t i = 0; i < 3; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, run_orders_external, (void *)i), 0);
    }
    for (int i = 0; i < 9; i++) {
        int result = -1;
        CHECK_EQ(thrum_join(handles[i], &result), 0);
        CHECK_EQ(result, 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQ(thrum_dag_destroy(orders), 0);
    rig_stop(&r);
}

static int run_order(void *arg) {
    return thrum_dag_run_with(orders, arg);
}

static int inside_each_other_entry(void *arg) {
    rig *r = arg;
    thrum_sem pause = THRUM_SEM_INIT(0), resumed = THRUM_SEM_INIT(0);
    job slow = {.failing = 2, .pause = &pause, .resumed = &resumed};
    job quick = {.failing = -1};
    thrum_handle *handle;
    int result = 0;
    orders = order_dag();
    CHECK_EQ(thrum_spawn(&handle, run_order, &slow), 0);
    CHECK_EQ(thrum_sem_wait(&pause), 0);
    atomic_store(&r->fail_all, true);
    CHECK_EQ(thrum_dag_run_with(orders, &quick), -ENOMEM); /* the first run beside another */
    CHECK_EQ(quick.shared, 0);
    atomic_store(&r->fail_all, false);
    CHECK_EQ(thrum_dag_run_with(orders, &quick), 0); /* from its beginning to its end */
    atomic_store(&r->fail_all, true);
    CHECK_EQ(thrum_dag_run_with(orders, &quick), 0); /* in the memory of the run before */
    atomic_store(&r->fail_all, false);
    CHECK_EQ(quick.at_end, 2);
    CHECK_EQ(atomic_load(&slow.seen), 0);
    thrum_sem_post(&resumed);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -2);
    CHECK_EQ(slow.at_end, 0);
    CHECK_EQ(thrum_dag_destroy(orders), 0);
    return 0;
}

TEST(a_run_begins_and_ends_while_another_waits) {
    /* Its memory is asked for when it is needed, and kept. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, inside_each_other_entry, &r), 0);
    rig_stop(&r);
}
