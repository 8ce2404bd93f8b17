/*
 * dag.c: graphs (src/parallel/README.md, "The graph"): strands on two workers, the end of a run
 * against whoever waits for it and frees the graph at once.
 */
#include <errno.h>

#include "crew.h"
#include "parallel/dag.h"
#include "platform/platform.h"
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

/* The last one: all that came before is there. */
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

/* One, two beside each other, one. */
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

/* Three roots, nothing after them: whoever is last wakes the caller. */
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

/* Two fail beside each other, and what comes after is left out. */
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

/* ---- by plain threads ---- */

static thrum_dag *shared;

static void run_shared_once(void *arg) {
    (void)arg;
    int result;
    while ((result = thrum_dag_run(shared)) == -EBUSY) {
        th_os_relax();
    }
    sim_check(result == 0);
}

static void grow_shared(void *arg) {
    (void)arg;
    int number;
    while ((number = thrum_dag_node(shared, node, &seen[2])) == -EBUSY) {
        th_os_relax();
    }
    sim_check(number == 2);
}

/* Two run it, one adds to it: one after the other. */
SIM_WORLD(dag_busy, .exhaustive = true) {
    sim_check(thrum_dag_create(&shared) == 0);
    for (int i = 0; i < 2; i++) {
        sim_check(thrum_dag_node(shared, node, &seen[i]) == i);
    }
    int runner = sim_spawn(run_shared_once, NULL);
    int grower = sim_spawn(grow_shared, NULL);
    run_shared_once(NULL);
    sim_join(runner);
    sim_join(grower);
    sim_check(thrum_dag_destroy(shared) == 0);
    sim_check(seen[0] == 2 && seen[1] == 2 && seen[2] <= 2);
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

/* One node waits for the one beside it. */
SIM_WORLD(dag_blocks_sched, .heavy = true, .asleep = whole_asleep) {
    blocks = true;
    on_sched(diamond);
}
