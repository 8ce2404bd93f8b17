/*
 * dag.c: graphs: built once, run again and again.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

static thrum_dag *new_dag(void) {
    thrum_dag *dag = NULL;
    CHECK_EQ(thrum_dag_create(&dag), 0);
    return dag;
}

/* Runs a test on a fiber, and on a plain thread. */
static void by_both(thrum_fn entry) {
    rig_do(0, entry, NULL);
    CHECK_EQ(entry(NULL), 0);
}

/* ---- shapes ---- */

static long chain_count; /* plain: the edges order it */

static int next_of_chain(void *arg) {
    const long number = (long)(intptr_t)arg;
    CHECK_EQ(chain_count, number);
    chain_count = number + 1;
    return 0;
}

static int chain_entry(void *arg) {
    (void)arg;
    const int n = SCALED(1000000);
    thrum_dag *dag = new_dag();
    for (int i = 0; i < n; i++) {
        CHECK_EQ(thrum_dag_node(dag, next_of_chain, (void *)(intptr_t)i), i);
    }
    for (int i = 1; i < n; i++) {
        CHECK_EQ(thrum_dag_edge(dag, i - 1, i), 0);
    }
    for (int i = 0; i < 2; i++) {
        chain_count = 0;
        CHECK_EQ(thrum_dag_run(dag), 0);
        CHECK_EQ(chain_count, n);
    }
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    return 0;
}

TEST(a_chain_of_a_million_does_not_recurse) {
    /* It runs on a stack of the usual size, in order, twice. */
    by_both(chain_entry);
}

static atomic_int leaves;
static int opened; /* plain: the edges order it */

static int open_it(void *arg) {
    (void)arg;
    CHECK_EQ(atomic_load(&leaves), 0);
    opened++;
    return 0;
}

static int leaf(void *arg) {
    CHECK_EQ(opened, 1);
    if ((intptr_t)arg % 5 == 0) {
        thrum_yield();
    }
    atomic_fetch_add(&leaves, 1);
    return 0;
}

static int close_it(void *arg) {
    const int n = (int)(intptr_t)arg;
    CHECK_EQ(atomic_load(&leaves), n);
    atomic_store(&leaves, 0);
    opened--;
    return 0;
}

static int fan_entry(void *arg) {
    (void)arg;
    const int n = SCALED(5000);
    thrum_dag *dag = new_dag();
    const int first = thrum_dag_node(dag, open_it, NULL);
    const int last = thrum_dag_node(dag, close_it, (void *)(intptr_t)n);
    for (int i = 0; i < n; i++) {
        const int node = thrum_dag_node(dag, leaf, (void *)(intptr_t)i);
        CHECK_EQ(thrum_dag_edge(dag, first, node), 0);
        CHECK_EQ(thrum_dag_edge(dag, node, last), 0);
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_dag_run(dag), 0);
    }
    CHECK_EQ(opened, 0);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    return 0;
}

TEST(fan_out_and_fan_in) {
    /* One node, then many, then one; each sees what came before. */
    by_both(fan_entry);
}

static int sums[4]; /* plain: the edges order them */

static int diamond_node(void *arg) {
    const int i = (int)((int *)arg - sums);
    sums[i] = i == 0 ? sums[0] + 1 : i == 3 ? sums[1] + sums[2] : 2 * sums[0] + i;
    return 0;
}

static int diamond_entry(void *arg) {
    (void)arg;
    thrum_dag *dag = new_dag();
    sums[0] = 0;
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(thrum_dag_node(dag, diamond_node, &sums[i]), i);
    }
    CHECK_EQ(thrum_dag_edge(dag, 1, 3), 0);
    CHECK_EQ(thrum_dag_edge(dag, 0, 2), 0);
    CHECK_EQ(thrum_dag_edge(dag, 0, 1), 0);
    CHECK_EQ(thrum_dag_edge(dag, 2, 3), 0);
    CHECK_EQ(thrum_dag_edge(dag, 2, 3), 0); /* an edge that is added twice is one */
    for (int i = 1; i <= 1000; i++) {
        CHECK_EQ(thrum_dag_run(dag), 0);
        CHECK_EQ(sums[0], i);
        CHECK_EQ(sums[3], 4 * i + 3);
    }
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    return 0;
}

TEST(a_diamond_a_thousand_times) {
    /* It is built once; an edge that is there twice does no harm. */
    by_both(diamond_entry);
}

static atomic_int ran;

static int count_run(void *arg) {
    (void)arg;
    atomic_fetch_add(&ran, 1);
    return 0;
}

static int roots_entry(void *arg) {
    (void)arg;
    thrum_dag *dag = new_dag();
    CHECK_EQ(thrum_dag_run(dag), 0); /* it is empty */
    atomic_store(&ran, 0);
    for (int i = 0; i < 300; i++) {
        CHECK_EQ(thrum_dag_node(dag, count_run, NULL), i);
        CHECK_EQ(thrum_dag_run(dag), 0); /* it grows between runs */
    }
    CHECK_EQ(atomic_load(&ran), 300 * 301 / 2);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    return 0;
}

TEST(nodes_without_edges_and_a_graph_that_grows) {
    /* A graph is empty, has one node, has many. */
    by_both(roots_entry);
}

/* ---- a random graph ---- */

#define RANDOM_NODES 200

static atomic_int stamp;
static int stamps[RANDOM_NODES]; /* plain: read when all is done */

static int take_stamp(void *arg) {
    *(int *)arg = atomic_fetch_add(&stamp, 1);
    return 0;
}

static int random_entry(void *arg) {
    (void)arg;
    unsigned seed = 12345;
    static int edges[3 * RANDOM_NODES][2];
    thrum_dag *dag = new_dag();
    for (int i = 0; i < RANDOM_NODES; i++) {
        CHECK_EQ(thrum_dag_node(dag, take_stamp, &stamps[i]), i);
    }
    for (size_t i = 0; i < COUNT_OF(edges); i++) {
        seed = seed * 1103515245 + 12345;
        const int a = (int)(seed >> 16) % RANDOM_NODES;
        seed = seed * 1103515245 + 12345;
        const int b = (int)(seed >> 16) % RANDOM_NODES;
        edges[i][0] = a < b ? a : b;
        edges[i][1] = a == b ? (a + 1) % RANDOM_NODES : a < b ? b : a;
        if (edges[i][0] > edges[i][1]) {
            edges[i][0] = edges[i][1] - (edges[i][1] > 0);
        }
        if (edges[i][0] == edges[i][1]) {
            edges[i][1]++;
        }
        CHECK_EQ(thrum_dag_edge(dag, edges[i][0], edges[i][1]), 0);
    }
    for (int round = 0; round < 50; round++) {
        atomic_store(&stamp, 0);
        CHECK_EQ(thrum_dag_run(dag), 0);
        CHECK_EQ(atomic_load(&stamp), RANDOM_NODES);
        for (size_t i = 0; i < COUNT_OF(edges); i++) {
            CHECK(stamps[edges[i][0]] < stamps[edges[i][1]]);
        }
    }
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    return 0;
}

TEST(every_edge_of_a_random_graph_is_kept) {
    /* It has 200 nodes and 600 edges, and runs 50 times. */
    by_both(random_entry);
}

/* ---- failures ---- */

static int fails(void *arg) {
    atomic_fetch_add(&ran, 1);
    return *(int *)arg;
}

static int failure_entry(void *arg) {
    (void)arg;
    static int codes[6];
    thrum_dag *dag = new_dag();
    for (int i = 0; i < 6; i++) {
        CHECK_EQ(thrum_dag_node(dag, fails, &codes[i]), i);
    }
    /* 0 -> 1 -> 2, 3 -> 2, 4 -> 5 */
    CHECK_EQ(thrum_dag_edge(dag, 0, 1), 0);
    CHECK_EQ(thrum_dag_edge(dag, 1, 2), 0);
    CHECK_EQ(thrum_dag_edge(dag, 3, 2), 0);
    CHECK_EQ(thrum_dag_edge(dag, 4, 5), 0);
    atomic_store(&ran, 0);
    codes[4] = -4;
    CHECK_EQ(thrum_dag_run(dag), -4);
    CHECK_EQ(atomic_load(&ran), 5);
    codes[3] = 3;
    CHECK_EQ(thrum_dag_run(dag), 3);
    CHECK_EQ(atomic_load(&ran), 5 + 4);
    codes[0] = -1;
    CHECK_EQ(thrum_dag_run(dag), -1);
    CHECK_EQ(atomic_load(&ran), 5 + 4 + 3);
    memset(codes, 0, sizeof(codes));
    CHECK_EQ(thrum_dag_run(dag), 0); /* nothing of the failure is left */
    CHECK_EQ(atomic_load(&ran), 5 + 4 + 3 + 6);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    return 0;
}

TEST(what_comes_after_a_failure_is_left_out) {
    /* All else is called, and the lowest number's failure is returned. */
    by_both(failure_entry);
}

static int cycle_entry(void *arg) {
    (void)arg;
    thrum_dag *dag = new_dag();
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(thrum_dag_node(dag, count_run, NULL), i);
    }
    atomic_store(&ran, 0);
    CHECK_EQ(thrum_dag_edge(dag, 0, 1), 0);
    CHECK_EQ(thrum_dag_edge(dag, 1, 2), 0);
    CHECK_EQ(thrum_dag_run(dag), 0);
    CHECK_EQ(atomic_load(&ran), 4);
    CHECK_EQ(thrum_dag_edge(dag, 2, 1), 0);
    CHECK_EQ(thrum_dag_run(dag), -ELOOP);
    CHECK_EQ(thrum_dag_run(dag), -ELOOP);
    CHECK_EQ(atomic_load(&ran), 4);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    dag = new_dag();
    CHECK_EQ(thrum_dag_node(dag, count_run, NULL), 0);
    CHECK_EQ(thrum_dag_edge(dag, 0, 0), 0);
    CHECK_EQ(thrum_dag_run(dag), -ELOOP);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    return 0;
}

TEST(a_cycle_is_told_and_nothing_called) {
    /* The cycle stands among others, or is one node with itself. */
    by_both(cycle_entry);
}

TEST(what_is_no_node_or_no_graph_is_refused) {
    /* Nothing has changed afterwards. */
    thrum_dag *dag = new_dag();
    CHECK_EQ(thrum_dag_create(NULL), -EINVAL);
    CHECK_EQ(thrum_dag_node(dag, NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_dag_node(NULL, nothing, NULL), -EINVAL);
    CHECK_EQ(thrum_dag_node(dag, nothing, NULL), 0);
    CHECK_EQ(thrum_dag_edge(dag, 0, 1), -EINVAL);
    CHECK_EQ(thrum_dag_edge(dag, -1, 0), -EINVAL);
    CHECK_EQ(thrum_dag_edge(NULL, 0, 0), -EINVAL);
    CHECK_EQ(thrum_dag_run(NULL), -EINVAL);
    CHECK_EQ(thrum_dag_run(dag), 0);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    CHECK_EQ(thrum_dag_destroy(NULL), 0);
}

/* ---- while it runs ---- */

static thrum_dag *running;
static thrum_sem at_node;
static thrum_sem go_on;

static atomic_int inner;

static int asks_itself(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_dag_node(running, nothing, NULL), -EBUSY);
    CHECK_EQ(thrum_dag_edge(running, 0, 0), -EBUSY);
    CHECK_EQ(thrum_dag_destroy(running), -EBUSY);
    if (atomic_fetch_add(&inner, 1) > 0) {
        return 0;
    }
    CHECK_EQ(thrum_dag_run(running), 0); /* one more run, in a node of the first */
    CHECK_EQ(atomic_load(&inner), 2);
    thrum_sem_post(&at_node);
    return thrum_sem_wait(&go_on);
}

static int run_running(void *arg) {
    (void)arg;
    return thrum_dag_run(running);
}

static int busy_entry(void *arg) {
    (void)arg;
    thrum_sem_init(&at_node, 0);
    thrum_sem_init(&go_on, 0);
    running = new_dag();
    CHECK_EQ(thrum_dag_node(running, asks_itself, NULL), 0);
    thrum_handle *handle;
    int result = -1;
    CHECK_EQ(thrum_spawn(&handle, run_running, NULL), 0);
    CHECK_EQ(thrum_sem_wait(&at_node), 0);
    CHECK_EQ(thrum_dag_run(running), 0); /* beside the first one */
    CHECK_EQ(thrum_dag_node(running, nothing, NULL), -EBUSY);
    CHECK_EQ(thrum_dag_destroy(running), -EBUSY);
    thrum_sem_post(&go_on);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 0);
    CHECK_EQ(thrum_dag_node(running, nothing, NULL), 1); /* all runs from now on have a new shape */
    CHECK_EQ(thrum_dag_run(running), 0);
    CHECK_EQ(thrum_dag_destroy(running), 0);
    return 0;
}

TEST(it_is_not_changed_while_it_runs) {
    /* Changes by others and by its own nodes are refused; they may run it once more meanwhile. */
    rig_do(0, busy_entry, NULL);
}

static thrum_sem relay[4];

static int waits_and_posts(void *arg) {
    const ptrdiff_t i = (thrum_sem *)arg - relay;
    if (i < 3) {
        CHECK_EQ(thrum_sem_wait(&relay[i + 1]), 0);
    }
    thrum_sem_post(&relay[i]);
    return 0;
}

static int blocking_entry(void *arg) {
    (void)arg;
    thrum_dag *dag = new_dag();
    const int first = thrum_dag_node(dag, nothing, NULL);
    for (int i = 0; i < 4; i++) {
        thrum_sem_init(&relay[i], 0);
        CHECK_EQ(thrum_dag_edge(dag, first, thrum_dag_node(dag, waits_and_posts, &relay[i])), 0);
    }
    CHECK_EQ(thrum_dag_run(dag), 0);
    CHECK_EQ(thrum_sem_wait(&relay[0]), 0);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    return 0;
}

TEST(nodes_that_block_let_the_others_run) {
    /* Each node waits for the one behind it. */
    rig_do(0, blocking_entry, NULL);
}

static int runs_a_graph(void *arg) {
    const int depth = *(int *)arg;
    atomic_fetch_add(&ran, 1);
    if (depth == 0) {
        return 0;
    }
    int next = depth - 1;
    thrum_dag *dag = new_dag();
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_dag_node(dag, runs_a_graph, &next), i);
    }
    CHECK_EQ(thrum_dag_edge(dag, 0, 2), 0);
    CHECK_EQ(thrum_dag_run(dag), 0);
    return thrum_dag_destroy(dag);
}

static int nested_entry(void *arg) {
    (void)arg;
    int depth = 4;
    atomic_store(&ran, 0);
    CHECK_EQ(runs_a_graph(&depth), 0);
    CHECK_EQ(atomic_load(&ran), 1 + 3 + 9 + 27 + 81);
    return 0;
}

TEST(graphs_run_graphs) {
    /* Each is freed as soon as its run has returned. */
    by_both(nested_entry);
}

/* ---- no memory ---- */

static int refused_entry(void *arg) {
    rig *r = arg;
    thrum_dag *dag = NULL;
    atomic_store(&r->fail_all, true);
    CHECK_EQ(thrum_dag_create(&dag), -ENOMEM);
    atomic_store(&r->fail_all, false);
    CHECK_EQ(thrum_dag_create(&dag), 0);
    atomic_store(&r->fail_all, true);
    CHECK_EQ(thrum_dag_node(dag, count_run, NULL), -ENOMEM);
    atomic_store(&r->fail_all, false);
    atomic_store(&ran, 0);
    CHECK_EQ(thrum_dag_node(dag, count_run, NULL), 0);
    CHECK_EQ(thrum_dag_node(dag, count_run, NULL), 1);
    atomic_store(&r->fail_all, true);
    CHECK_EQ(thrum_dag_edge(dag, 0, 1), -ENOMEM);
    CHECK_EQ(thrum_dag_run(dag), -ENOMEM);
    CHECK_EQ(atomic_load(&ran), 0);
    atomic_store(&r->fail_all, false);
    CHECK_EQ(thrum_dag_edge(dag, 0, 1), 0);
    for (long i = 1; i <= 3; i++) { /* the run's memory, then each of the two tables */
        atomic_store(&r->fail_at, atomic_load(&r->calls) + (i == 1 ? 3 : 4 - i));
        CHECK_EQ(thrum_dag_run(dag), -ENOMEM);
        if (i == 1) { /* a change gives up the tables, which are kept otherwise */
            CHECK_EQ(thrum_dag_edge(dag, 0, 1), 0);
        }
    }
    atomic_store(&r->fail_at, 0);
    CHECK_EQ(thrum_dag_run(dag), 0);
    CHECK_EQ(atomic_load(&ran), 2);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    return 0;
}

TEST(without_memory_nothing_changes) {
    /* Each allocation is refused once; the rig counts what is left behind. */
    rig r;
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, refused_entry, &r), 0);
    rig_stop(&r);
}
