/*
 * dag.c: thrum/dag.h: building a graph and putting it in order. dag_run.c runs it.
 */
#include "parallel/dag.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "core/basis/config.h"
#include "core/state/worker.h"
#include "parallel/dag_run.h"
#include "platform/platform.h"

#define ROOM_FIRST TH_LIMIT((size_t)16, (size_t)2)

int thrum_dag_create(thrum_dag **out) {
    if (!out) {
        return -EINVAL;
    }
    thrum_dag made = {.alloc = th_alloc_default, .free = th_free_default};
    const th_worker *worker = th_here();
    if (worker) {
        const thrum_config *config = &worker->sched->config;
        made.alloc = config->alloc;
        made.free = config->free;
        made.ctx = config->hook_ctx;
    }
    thrum_dag *dag = made.alloc(made.ctx, sizeof *dag);
    if (!dag) {
        return -ENOMEM;
    }
    *dag = made;
    *out = dag;
    return 0;
}

/* ---- locking out runs ---- */

/* 0, with the lock; -EINVAL: there is no graph; -EBUSY: it runs. */
static int begin_change(thrum_dag *dag) {
    if (!dag) {
        return -EINVAL;
    }
    th_lock_acquire(&dag->lock);
    if (dag->runs_count) {
        th_lock_release(&dag->lock);
        return -EBUSY;
    }
    return 0;
}

static void give_up(thrum_dag *dag, void *ptr) {
    if (ptr) {
        dag->free(dag->ctx, ptr);
    }
}

static void forget_order(thrum_dag *dag) {
    dag->sorted = false;
    give_up(dag, dag->order);
    give_up(dag, dag->after);
    dag->order = NULL;
    dag->after = NULL;
    while (dag->spares) {
        th_dag_run *spare = dag->spares;
        dag->spares = spare->next;
        dag->free(dag->ctx, spare);
    }
}

int thrum_dag_destroy(thrum_dag *dag) {
    const int code = dag ? begin_change(dag) : 0;
    if (code || !dag) {
        return code;
    }
    /* The user must not begin a run of a graph that is being destroyed. */
    th_lock_release(&dag->lock);
    forget_order(dag);
    give_up(dag, dag->nodes);
    give_up(dag, dag->edges);
    dag->free(dag->ctx, dag);
    return 0;
}

/* Makes room for one more item. False: there is no memory, and nothing has changed. */
static bool make_room(thrum_dag *dag, void **items, size_t count, size_t *room, size_t size) {
    if (count < *room) {
        return true;
    }
    size_t more = *room ? 2 * *room : ROOM_FIRST;
    void *grown = dag->alloc(dag->ctx, more * size);
    if (!grown) {
        return false;
    }
    if (count) {
        memcpy(grown, *items, count * size);
    }
    give_up(dag, *items);
    *items = grown;
    *room = more;
    return true;
}

static int add_node(thrum_dag *dag, th_dag_node node) {
    void *nodes = dag->nodes;
    if (dag->nodes_count == INT_MAX ||
        !make_room(dag, &nodes, dag->nodes_count, &dag->nodes_room, sizeof *dag->nodes)) {
        return -ENOMEM;
    }
    dag->nodes = nodes;
    dag->nodes[dag->nodes_count] = node;
    forget_order(dag);
    return (int)dag->nodes_count++;
}

static int node(thrum_dag *dag, th_dag_node added) {
    int result = begin_change(dag);
    if (!result) {
        result = add_node(dag, added);
        th_lock_release(&dag->lock);
    }
    return result;
}

int thrum_dag_node(thrum_dag *dag, thrum_fn fn, void *arg) {
    return fn ? node(dag, (th_dag_node){.fn.plain = fn, .arg = arg}) : -EINVAL;
}

int thrum_dag_node_with(thrum_dag *dag, thrum_dag_fn fn, void *arg) {
    return fn ? node(dag, (th_dag_node){.fn.with = fn, .arg = arg, .told_of_run = true}) : -EINVAL;
}

static int add_edge(thrum_dag *dag, int before, int after) {
    void *edges = dag->edges;
    if (before < 0 || after < 0 || (size_t)before >= dag->nodes_count ||
        (size_t)after >= dag->nodes_count) {
        return -EINVAL;
    }
    if (dag->edges_count == UINT32_MAX ||
        !make_room(dag, &edges, dag->edges_count, &dag->edges_room, sizeof *dag->edges)) {
        return -ENOMEM;
    }
    dag->edges = edges;
    dag->edges[dag->edges_count++] = (th_dag_edge){(uint32_t)before, (uint32_t)after};
    forget_order(dag);
    return 0;
}

int thrum_dag_edge(thrum_dag *dag, int before, int after) {
    int result = begin_change(dag);
    if (!result) {
        result = add_edge(dag, before, after);
        th_lock_release(&dag->lock);
    }
    return result;
}

/* ---- the order ---- */

/* Groups the successors by node, in two passes over the list of edges. */
static void group_edges(thrum_dag *dag) {
    for (size_t i = 0; i < dag->nodes_count; i++) {
        dag->nodes[i].count = 0;
        dag->nodes[i].preds = 0;
    }
    for (size_t i = 0; i < dag->edges_count; i++) {
        dag->nodes[dag->edges[i].before].count++;
        dag->nodes[dag->edges[i].after].preds++;
    }
    uint32_t first = 0;
    for (size_t i = 0; i < dag->nodes_count; i++) {
        th_dag_node *node = &dag->nodes[i];
        node->first = first;
        first += node->count;
        node->count = 0;
    }
    for (size_t i = 0; i < dag->edges_count; i++) {
        th_dag_node *node = &dag->nodes[dag->edges[i].before];
        dag->after[node->first + node->count++] = dag->edges[i].after;
    }
}

/* Puts each node behind all its predecessors. False: that is impossible, since there is a cycle. */
static bool sort_nodes(thrum_dag *dag) {
    size_t placed = 0;
    uint32_t *left = dag->order + dag->nodes_count; /* each node's predecessors not yet placed */
    for (size_t i = 0; i < dag->nodes_count; i++) {
        left[i] = dag->nodes[i].preds;
        if (!left[i]) {
            dag->order[placed++] = (uint32_t)i;
        }
    }
    dag->roots = placed;
    for (size_t i = 0; i < placed; i++) {
        const th_dag_node *node = &dag->nodes[dag->order[i]];
        for (uint32_t j = 0; j < node->count; j++) {
            uint32_t next = dag->after[node->first + j];
            if (--left[next] == 0) {
                dag->order[placed++] = next;
            }
        }
    }
    return placed == dag->nodes_count;
}

static int put_in_order(thrum_dag *dag) {
    if (dag->sorted) {
        return 0;
    }
    dag->order = dag->alloc(dag->ctx, (2 * dag->nodes_count + 1) * sizeof *dag->order);
    dag->after = dag->alloc(dag->ctx, (dag->edges_count + 1) * sizeof *dag->after);
    int failed = -ENOMEM;
    if (dag->order && dag->after) {
        group_edges(dag);
        failed = sort_nodes(dag) ? 0 : -ELOOP;
    }
    if (failed) {
        forget_order(dag);
    }
    dag->sorted = !failed;
    return failed;
}

/* ---- runs ---- */

/* With the lock. Allocates the memory of another run. */
static th_dag_run *new_run(thrum_dag *dag) {
    size_t size = sizeof(th_dag_run) + dag->nodes_count * sizeof(th_dag_place);
    th_dag_run *run = dag->alloc(dag->ctx, size);
    if (!run) {
        return NULL;
    }
    *run = (th_dag_run){.dag = dag};
    for (size_t i = 0; i < dag->nodes_count; i++) {
        run->places[i] = (th_dag_place){
            .call = {.work = {.kind = TH_WORK_CALL, .worker = -1}, .fn = th_dag_strand},
            .run = run,
            .node = dag->nodes[i],
            .xpending = dag->nodes[i].preds,
        };
    }
    return run;
}

/* Returns 0 and the caller's own run, which is NULL for a graph without nodes; or an error. */
static int begin_run(thrum_dag *dag, th_dag_run **out) {
    TH_LOCKED(&dag->lock);
    int failed = put_in_order(dag);
    *out = NULL;
    if (!failed && dag->nodes_count) {
        th_dag_run *run = dag->spares;
        if (run) {
            dag->spares = run->next;
        } else {
            run = new_run(dag);
        }
        dag->runs_count += run != NULL;
        failed = run ? 0 : -ENOMEM;
        *out = run;
    }
    return failed;
}

/* From now on the graph may be changed, or destroyed. */
static void end_run(thrum_dag *dag, th_dag_run *run) {
    TH_LOCKED(&dag->lock);
    run->next = dag->spares;
    dag->spares = run;
    dag->runs_count--;
}

int thrum_dag_run_with(thrum_dag *dag, void *run_arg) {
    if (!dag) {
        return -EINVAL;
    }
    th_dag_run *run;
    int result = begin_run(dag, &run);
    if (!result && run) {
        run->arg = run_arg;
        result = th_dag_run_all(run);
        end_run(dag, run);
    }
    return result;
}

int thrum_dag_run(thrum_dag *dag) {
    return thrum_dag_run_with(dag, NULL);
}
