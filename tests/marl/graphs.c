/*
 * graphs.c: marl's tests of its graphs, restated: chain, fan-out, fan-in, run by the thread and by
 * a task.
 */
/* matrix: bound */
#include "support/sync/bound.h"

enum { N = 100 };

typedef struct drawing {
    thrum_dag *dag;
    order log;
    atomic_int ran;
} drawing;

typedef struct spot {
    drawing *d;
    int number;
} spot;

static drawing board;
static spot spots[N + 2];

static int draws(void *arg) {
    spot *s = arg;
    if (s->number % 3 == 0) {
        thrum_yield();
    }
    order_add(&s->d->log, s->number);
    atomic_fetch_add(&s->d->ran, 1);
    return 0;
}

static int node(int number) {
    spots[number] = (spot){&board, number};
    const int made = thrum_dag_node(board.dag, draws, &spots[number]);
    CHECK_EQ(made, number);
    return made;
}

static int runs(void *arg) {
    return thrum_dag_run(arg);
}

/* Runs the graph on this thread, in a task, and both again. */
static void run_each_way(rig *r, void (*look)(void)) {
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(i % 2 == 0 ? thrum_dag_run(board.dag) : rig_run(r, runs, board.dag), 0);
        look();
        atomic_store(&board.log.count, 0);
        atomic_store(&board.ran, 0);
    }
    CHECK_EQ(thrum_dag_destroy(board.dag), 0);
    bound_end(r);
}

static void in_order(void) {
    order_check_counts_up(&board.log, N);
}

TEST(a_chain) {
    /* Each node runs after the one before it. */
    rig r;
    bound_begin(&r);
    CHECK_EQ(thrum_dag_create(&board.dag), 0);
    for (int i = 0; i < N; i++) {
        node(i);
        CHECK_EQ(i == 0 ? 0 : thrum_dag_edge(board.dag, i - 1, i), 0);
    }
    run_each_way(&r, in_order);
}

static void first_then_the_rest(void) {
    CHECK_EQ(atomic_load(&board.ran), N + 1);
    CHECK_EQ(atomic_load(&board.log.seen[0]), 0);
}

TEST(fan_out) {
    /* One node runs before a hundred. */
    rig r;
    bound_begin(&r);
    CHECK_EQ(thrum_dag_create(&board.dag), 0);
    node(0);
    for (int i = 1; i <= N; i++) {
        CHECK_EQ(thrum_dag_edge(board.dag, 0, node(i)), 0);
    }
    run_each_way(&r, first_then_the_rest);
}

static void the_rest_then_the_last(void) {
    CHECK_EQ(atomic_load(&board.ran), N + 1);
    CHECK_EQ(atomic_load(&board.log.seen[N]), 0);
}

TEST(fan_in) {
    /* A hundred nodes run before one. */
    rig r;
    bound_begin(&r);
    CHECK_EQ(thrum_dag_create(&board.dag), 0);
    node(0);
    for (int i = 1; i <= N; i++) {
        CHECK_EQ(thrum_dag_edge(board.dag, node(i), 0), 0);
    }
    run_each_way(&r, the_rest_then_the_last);
}

static void out_and_in(void) {
    CHECK_EQ(atomic_load(&board.ran), N + 2);
    CHECK_EQ(atomic_load(&board.log.seen[0]), 0);
    CHECK_EQ(atomic_load(&board.log.seen[N + 1]), 1);
}

TEST(fan_out_and_fan_in) {
    /* One node runs, then a hundred, then one. */
    rig r;
    bound_begin(&r);
    CHECK_EQ(thrum_dag_create(&board.dag), 0);
    node(0);
    node(1);
    for (int i = 2; i < N + 2; i++) {
        node(i);
        CHECK_EQ(thrum_dag_edge(board.dag, 0, i), 0);
        CHECK_EQ(thrum_dag_edge(board.dag, i, 1), 0);
    }
    run_each_way(&r, out_and_in);
}
