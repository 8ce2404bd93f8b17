/*
 * fork.c: forks under load: stolen, rescued from a worker that does not come round, given away by a
 * task that suspends, on more workers than cores.
 */
/* matrix: policy workers */
/* variants: */
#include "support/support.h"
#include "support/times.h"

#include "core/state/worker.h"

/* ---- rescued ---- */

static int add_one(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    return 3;
}

#define LEFT 5

static int forks_and_spins(void *arg) {
    (void)arg;
    atomic_int called = 0;
    thrum_fork forks[LEFT];
    for (int i = 0; i < LEFT; i++) {
        thrum_fork_start(&forks[i], add_one, &called);
    }
    SPIN_UNTIL(atomic_load(&called) == LEFT);
    for (int i = LEFT - 1; i >= 0; i--) {
        CHECK_EQ(thrum_fork_join(&forks[i]), 3);
    }
    return 0;
}

TEST(forks_of_one_that_does_not_come_round) {
    /* A task spins until all of its forks were called: the private ones, too, are taken from it. */
    rig r;
    if (check_env("THRUM_WORKERS", 2) < 2) {
        CHECK_SKIP("one worker cannot help itself");
    }
    rig_begin(&r, 0);
    if (!r.sched->can_order) {
        CHECK_SKIP("the system cannot order processors");
    }
    for (int i = 0; i < SCALED(300); i++) {
        CHECK_EQ(rig_run(&r, forks_and_spins, NULL), 0);
    }
    rig_stop(&r);
}

/* ---- a tree that does everything ---- */

typedef struct node {
    unsigned seed;
    int depth;
    long sum;
} node;

static unsigned draw(unsigned *seed) {
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

static int grow(void *arg) {
    node *n = arg;
    unsigned seed = n->seed;
    n->sum = 1;
    if (n->depth == 0) {
        return 0;
    }
    node children[4];
    thrum_fork forks[4];
    const unsigned count = 1 + draw(&seed) % 4;
    const unsigned habit = draw(&seed) % 32;
    for (unsigned i = 0; i < count; i++) {
        const int depth = n->depth - 1 - (int)(draw(&seed) % 2);
        children[i] = (node){draw(&seed), depth < 0 ? 0 : depth, 0};
        thrum_fork_start(&forks[i], grow, &children[i]);
        if (habit == 1) {
            thrum_yield();
        }
    }
    if (habit == 2) {
        nap();
    }
    for (unsigned i = count; i-- > 0;) {
        CHECK_EQ(thrum_fork_join(&forks[i]), 0);
        n->sum += children[i].sum;
    }
    return 0;
}

static long expected(unsigned seed, int depth) {
    long sum = 1;
    if (depth == 0) {
        return sum;
    }
    const unsigned count = 1 + draw(&seed) % 4;
    draw(&seed);
    for (unsigned i = 0; i < count; i++) {
        const int child = depth - 1 - (int)(draw(&seed) % 2);
        sum += expected(draw(&seed), child < 0 ? 0 : child);
    }
    return sum;
}

static int grow_one(void *arg) {
    node *n = arg;
    return grow(n);
}

TEST(random_trees_that_yield_and_sleep) {
    /* Each node is counted once, while several tasks walk the tree. */
    rig r;
    rig_begin(&r, 0);
    for (int round = 0; round < SCALED(60); round++) {
        node nodes[4];
        thrum_handle *handles[4];
        for (int i = 0; i < 4; i++) {
            nodes[i] = (node){(unsigned)(round * 4 + i) * 2654435761u, UNDER_TSAN ? 6 : 10, 0};
            const thrum_attr attr = rig_attr(&r);
            CHECK_EQ(thrum_spawn_with(&handles[i], &attr, grow_one, &nodes[i]), 0);
        }
        for (int i = 0; i < 4; i++) {
            int result = -1;
            CHECK_EQ(thrum_join(handles[i], &result), 0);
            CHECK_EQ(result, 0);
            CHECK_EQ(nodes[i].sum, expected(nodes[i].seed, nodes[i].depth));
        }
    }
    rig_stop(&r);
}

/* ---- short forks, at the same place again and again ---- */

static int short_entry(void *arg) {
    (void)arg;
    atomic_int called = 0;
    const int n = SCALED(100000);
    for (int i = 0; i < n; i++) {
        thrum_fork forks[2];
        thrum_fork_start(&forks[0], add_one, &called);
        thrum_fork_start(&forks[1], add_one, &called);
        CHECK_EQ(thrum_fork_join(&forks[1]), 3);
        CHECK_EQ(thrum_fork_join(&forks[0]), 3);
    }
    CHECK_EQ(atomic_load(&called), 2 * n);
    return 0;
}

TEST(short_forks_in_one_frame) {
    /* A fork is offered, and taken back or stolen, at the same address each time. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, short_entry, NULL), 0);
    rig_stop(&r);
}

/* ---- graphs ---- */

static atomic_int nodes_run;

static int run_node(void *arg) {
    const int i = (int)(intptr_t)arg;
    atomic_fetch_add(&nodes_run, 1);
    if (i % 97 == 0) {
        thrum_yield();
    }
    return 0;
}

static int graph_entry(void *arg) {
    (void)arg;
    const int layers = 20;
    const int width = 50;
    thrum_dag *dag;
    CHECK_EQ(thrum_dag_create(&dag), 0);
    for (int i = 0; i < layers * width; i++) {
        CHECK_EQ(thrum_dag_node(dag, run_node, (void *)(intptr_t)i), i);
        for (int j = 0; i >= width && j < 3; j++) {
            CHECK_EQ(thrum_dag_edge(dag, (i / width - 1) * width + (i * 7 + j * 13) % width, i), 0);
        }
    }
    const int rounds = SCALED(300);
    atomic_store(&nodes_run, 0);
    for (int i = 0; i < rounds; i++) {
        CHECK_EQ(thrum_dag_run(dag), 0);
    }
    CHECK_EQ(atomic_load(&nodes_run), rounds * layers * width);
    return thrum_dag_destroy(dag);
}

TEST(layers_of_a_graph_again_and_again) {
    /* Each of 1000 nodes, with 2850 edges, runs once a run of the graph. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, graph_entry, NULL), 0);
    rig_stop(&r);
}
