/*
 * dag.c: thrum/dag.h: building a graph and putting it in order. dag_run.c runs it.
 */
#include "parallel/dag.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/atomic.h"
#include "core/worker.h"
#include "parallel/dag_run.h"
#include "platform/platform.h"

#define ROOM_FIRST TH_LIMIT((size_t)16, (size_t)2)

static void *system_alloc(void *ctx, size_t size) {
    (void)ctx;
    return th_os_alloc(size);
}

static void system_free(void *ctx, void *ptr) {
    (void)ctx;
    th_os_free(ptr);
}

int thrum_dag_create(thrum_dag **out) {
    if (!out) {
        return -EINVAL;
    }
    thrum_dag made = {.alloc = system_alloc, .free = system_free};
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

/* ---- who may change it ---- */

static bool begin(thrum_dag *dag) {
    uint32_t busy = 0;
    /* pairs: end; what the last run or change has left */
    return th_cas_acquire(&dag->xbusy, &busy, 1u);
}

static void end(thrum_dag *dag) {
    /* pairs: begin; what was changed */
    th_store_release(&dag->xbusy, 0u);
}

static void forget_order(thrum_dag *dag) {
    dag->sorted = false;
    dag->free(dag->ctx, dag->order);
    dag->free(dag->ctx, dag->after);
    dag->order = NULL;
    dag->after = NULL;
}

int thrum_dag_destroy(thrum_dag *dag) {
    if (!dag) {
        return 0;
    }
    if (!begin(dag)) {
        return -EBUSY;
    }
    forget_order(dag);
    dag->free(dag->ctx, dag->nodes);
    dag->free(dag->ctx, dag->edges);
    dag->free(dag->ctx, dag);
    return 0;
}

/* Room for one more; false: there is no memory, and nothing has changed. */
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
    dag->free(dag->ctx, *items);
    *items = grown;
    *room = more;
    return true;
}

static int add_node(thrum_dag *dag, thrum_fn fn, void *arg) {
    void *nodes = dag->nodes;
    if (dag->nodes_count == INT_MAX ||
        !make_room(dag, &nodes, dag->nodes_count, &dag->nodes_room, sizeof *dag->nodes)) {
        return -ENOMEM;
    }
    dag->nodes = nodes;
    dag->nodes[dag->nodes_count] = (th_dag_node){
        .call = {.work = {.kind = TH_WORK_CALL, .worker = -1}, .fn = th_dag_strand},
        .fn = fn,
        .arg = arg,
        .dag = dag,
    };
    forget_order(dag);
    return (int)dag->nodes_count++;
}

int thrum_dag_node(thrum_dag *dag, thrum_fn fn, void *arg) {
    if (!dag || !fn) {
        return -EINVAL;
    }
    if (!begin(dag)) {
        return -EBUSY;
    }
    int result = add_node(dag, fn, arg);
    end(dag);
    return result;
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
    if (!dag) {
        return -EINVAL;
    }
    if (!begin(dag)) {
        return -EBUSY;
    }
    int result = add_edge(dag, before, after);
    end(dag);
    return result;
}

/* ---- the order ---- */

/* Successors grouped by node, from the list of edges: two passes over it. */
static void group_edges(thrum_dag *dag) {
    for (size_t i = 0; i < dag->nodes_count; i++) {
        dag->nodes[i].count = 0;
        dag->nodes[i].preds = 0;
        dag->nodes[i].xskip = 0; /* plain: nobody else is here */
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
        node->xpending = node->preds; /* plain: nobody else is here */
    }
    for (size_t i = 0; i < dag->edges_count; i++) {
        th_dag_node *node = &dag->nodes[dag->edges[i].before];
        dag->after[node->first + node->count++] = dag->edges[i].after;
    }
}

/* Each node behind all that come before it; false if that cannot be: there is a cycle. */
static bool sort_nodes(thrum_dag *dag) {
    size_t placed = 0;
    for (size_t i = 0; i < dag->nodes_count; i++) {
        if (!dag->nodes[i].preds) {
            dag->order[placed++] = (uint32_t)i;
        }
    }
    dag->roots = placed;
    for (size_t i = 0; i < placed; i++) {
        const th_dag_node *node = &dag->nodes[dag->order[i]];
        for (uint32_t j = 0; j < node->count; j++) {
            uint32_t next = dag->after[node->first + j];
            if (--dag->nodes[next].xpending == 0) { /* plain: nobody else is here */
                dag->order[placed++] = next;
            }
        }
    }
    for (size_t i = 0; i < dag->nodes_count; i++) {
        dag->nodes[i].xpending = dag->nodes[i].preds; /* plain: nobody else is here */
    }
    return placed == dag->nodes_count;
}

static int put_in_order(thrum_dag *dag) {
    if (dag->sorted) {
        return 0;
    }
    dag->order = dag->alloc(dag->ctx, (dag->nodes_count + 1) * sizeof *dag->order);
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

int thrum_dag_run(thrum_dag *dag) {
    if (!dag) {
        return -EINVAL;
    }
    if (!begin(dag)) {
        return -EBUSY;
    }
    int result = put_in_order(dag);
    if (!result && dag->nodes_count) {
        result = th_dag_run(dag);
    }
    end(dag);
    return result;
}
