/*
 * dag.c: graphs (src/parallel/README.md, "The graph"): strands on two workers, and the end of a run
 * against its caller, which frees the graph at once.
 */
#include <errno.h>

#include "core/state/worker.h"
#include "crew.h"
#include "parallel/dag.h"
#include "whole.h"

#define NODES 6

static int seen[NODES]; /* plain: the edges order it */
static thrum_sem sem;
static bool blocks;

static int node(void *arg) {
    int *place = arg;
    *place += 1;
    if (blocks && place == &seen[1]) {
        sim_check(thrum_sem_wait(&sem) == 0);
    } else if (blocks && place == &seen[2]) {
        thrum_sem_post(&sem);
    }
    return 0;
}

/* The last node: all that came before is there. */
static int last(void *arg) {
    int *place = arg;
    for (int *i = seen; i < place; i++) {
        sim_check(*i == *place + 1);
    }
    *place += 1;
    return 0;
}

static void edge(thrum_dag *dag, int before, int after) {
    sim_check(thrum_dag_edge(dag, before, after) == 0);
}

static void run_and_free(thrum_dag *dag, int result) {
    for (int i = 0; i < 2; i++) {
        sim_check(thrum_dag_run(dag) == result);
    }
    sim_check(thrum_dag_destroy(dag) == 0);
    crew_scrub();
}

static thrum_dag *make(int middle) {
    thrum_dag *dag;
    sim_check(thrum_dag_create(&dag) == 0);
    for (int i = 0; i <= middle; i++) {
        sim_check(thrum_dag_node(dag, node, &seen[i]) == i);
    }
    sim_check(thrum_dag_node(dag, last, &seen[middle + 1]) == middle + 1);
    return dag;
}

/* One node, then two beside each other, then one. */
static int diamond(void *arg) {
    (void)arg;
    thrum_dag *dag = make(2);
    edge(dag, 0, 1);
    edge(dag, 0, 2);
    edge(dag, 1, 3);
    edge(dag, 2, 3);
    run_and_free(dag, 0);
    sim_check(seen[3] == 2);
    return 0;
}

/* Three roots with nothing after them: the last to end wakes the caller. */
static int roots(void *arg) {
    (void)arg;
    thrum_dag *dag;
    sim_check(thrum_dag_create(&dag) == 0);
    for (int i = 0; i < 3; i++) {
        sim_check(thrum_dag_node(dag, node, &seen[i]) == i);
    }
    run_and_free(dag, 0);
    sim_check(seen[0] == 2 && seen[1] == 2 && seen[2] == 2);
    return 0;
}

static int fails(void *arg) {
    *(int *)arg += 1;
    return -5;
}

/* Two nodes fail beside each other, and their successors are skipped. */
static int failing(void *arg) {
    (void)arg;
    thrum_dag *dag;
    sim_check(thrum_dag_create(&dag) == 0);
    for (int i = 0; i < 3; i++) {
        sim_check(thrum_dag_node(dag, i ? fails : node, &seen[i]) == i);
    }
    sim_check(thrum_dag_node(dag, last, &seen[3]) == 3);
    edge(dag, 0, 3);
    edge(dag, 1, 3);
    edge(dag, 2, 3);
    run_and_free(dag, -5);
    sim_check(seen[1] == 2 && seen[2] == 2 && seen[3] == 0);
    return 0;
}

/*
 * One of two nodes fails, and its successors are skipped: the strand of the other one, which may be
 * the last to count it down, must see the mark. (If both fail, the last to count down has marked
 * it.)
 */
static int skipping(void *arg) {
    (void)arg;
    thrum_dag *dag;
    sim_check(thrum_dag_create(&dag) == 0);
    sim_check(thrum_dag_node(dag, node, &seen[0]) == 0);
    sim_check(thrum_dag_node(dag, fails, &seen[1]) == 1);
    sim_check(thrum_dag_node(dag, last, &seen[2]) == 2);
    edge(dag, 0, 2);
    edge(dag, 1, 2);
    run_and_free(dag, -5);
    sim_check(seen[0] == 2 && seen[1] == 2 && seen[2] == 0);
    return 0;
}

/* ---- several runs at a time ---- */

typedef struct counts {
    int at[3]; /* plain: a run's edges order it, and no other run touches it */
} counts;

static int both(void *arg, void *run_arg) {
    counts *mine = run_arg;
    mine->at[(int *)arg - seen] += 1;
    return 0;
}

static int after_both(void *arg, void *run_arg) {
    counts *mine = run_arg;
    (void)arg;
    sim_check(mine->at[0] == mine->at[2] + 1 && mine->at[1] == mine->at[2] + 1);
    mine->at[2] += 1;
    return 0;
}

static thrum_dag *two_at_once;
static thrum_waitgroup left_to_run;

static int run_twice(void *arg) {
    (void)arg;
    counts mine = {{0, 0, 0}};
    for (int i = 1; i <= 2; i++) {
        sim_check(thrum_dag_run_with(two_at_once, &mine) == 0);
        sim_check(mine.at[0] == i && mine.at[1] == i && mine.at[2] == i);
    }
    thrum_waitgroup_done(&left_to_run);
    return 0;
}

/* Two tasks run it, and the other takes up nodes that one gives up; then it is freed. */
static int runs_at_once(void *arg) {
    (void)arg;
    sim_check(thrum_dag_create(&two_at_once) == 0);
    sim_check(thrum_dag_node_with(two_at_once, both, &seen[0]) == 0);
    sim_check(thrum_dag_node_with(two_at_once, both, &seen[1]) == 1);
    sim_check(thrum_dag_node_with(two_at_once, after_both, &seen[2]) == 2);
    edge(two_at_once, 0, 2);
    edge(two_at_once, 1, 2);
    thrum_waitgroup_init(&left_to_run, 2);
    sim_check(thrum_go(run_twice, NULL) == 0);
    (void)run_twice(NULL);
    sim_check(thrum_waitgroup_wait(&left_to_run) == 0);
    sim_check(thrum_dag_destroy(two_at_once) == 0);
    seen[0] = 2; /* on_sched expects this */
    return 0;
}

/* ---- by plain threads ---- */

static thrum_dag *shared;

static void run_shared_once(void *arg) {
    (void)arg;
    counts mine = {{0, 0, 0}};
    sim_check(thrum_dag_run_with(shared, &mine) == 0);
    sim_check(mine.at[0] == 1 && mine.at[1] == 1 && mine.at[2] <= 1);
}

static void grow_shared(void *arg) {
    (void)arg;
    int number = thrum_dag_node_with(shared, both, &seen[2]);
    sim_check(number == 2 || number == -EBUSY);
}

/*
 * Two threads run it, at once or in turn; a third one adds to it, or gets the error that it
 * runs.
 */
SIM_WORLD(dag_busy) {
    sim_check(thrum_dag_create(&shared) == 0);
    for (int i = 0; i < 2; i++) {
        sim_check(thrum_dag_node_with(shared, both, &seen[i]) == i);
    }
    int runner = sim_spawn(run_shared_once, NULL);
    int grower = sim_spawn(grow_shared, NULL);
    run_shared_once(NULL);
    sim_join(runner);
    sim_join(grower);
    sim_check(thrum_dag_destroy(shared) == 0);
}

/* ---- on a scheduler ---- */

static void on_sched(thrum_fn fn) {
    thrum_config config = whole_config(2);
    thrum_sched *sched = whole_start(&config);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    thrum_sem_init(&sem, 0);
    sim_check(thrum_go_with(&attr, fn, NULL) == 0);
    whole_stop(sched);
    sim_check(seen[0] == 2);
}

SIM_WORLD(dag_diamond_sched, .heavy = true, .asleep = whole_asleep) {
    on_sched(diamond);
}

SIM_WORLD(dag_roots_sched, .heavy = true, .asleep = whole_asleep) {
    on_sched(roots);
}

SIM_WORLD(dag_failing_sched, .heavy = true, .asleep = whole_asleep) {
    on_sched(failing);
}

SIM_WORLD(dag_skips_sched, .heavy = true, .asleep = whole_asleep) {
    on_sched(skipping);
}

SIM_WORLD(dag_runs_sched, .heavy = true, .asleep = whole_asleep) {
    on_sched(runs_at_once);
}

/* One node waits for the one beside it. */
SIM_WORLD(dag_blocks_sched, .heavy = true, .asleep = whole_asleep) {
    blocks = true;
    on_sched(diamond);
}
