/*
 * dag.h: what a graph is made of (src/parallel/README.md, "The graph").
 */
#ifndef TH_DAG_H
#define TH_DAG_H

#include "core/fiber.h"
#include "queue/work.h"
#include "thrum/dag.h"

typedef struct th_dag_node {
    th_call call; /* for when it is queued */
    thrum_fn fn;
    void *arg;
    thrum_dag *dag;
    uint32_t first;    /* its successors are [first, first + count) of dag->after */
    uint32_t count;    /* ... */
    uint32_t preds;    /* edges that end here */
    uint32_t xpending; /* of those, how many have not come yet; in a run; else preds */
    uint32_t xskip;    /* one that came before has failed; in a run; else 0 */
    int32_t result;    /* of the last call that failed */
} th_dag_node;

typedef struct th_dag_edge {
    uint32_t before;
    uint32_t after;
} th_dag_edge;

struct thrum_dag {
    void *(*alloc)(void *ctx, size_t size); /* constant */
    void (*free)(void *ctx, void *ptr);
    void *ctx;

    uint32_t xbusy; /* 1: it runs, and nothing below changes but what a run changes */

    th_dag_node *nodes;
    size_t nodes_count;
    size_t nodes_room;
    th_dag_edge *edges;
    size_t edges_count;
    size_t edges_room;

    /* Made from the edges by the first run after a change. */
    bool sorted;
    size_t roots;    /* order[0 .. roots) have nothing before them */
    uint32_t *order; /* every node behind those before it */
    uint32_t *after; /* successors, grouped by node */

    /* A run's. */
    th_heritage heritage; /* of who runs it */
    uint64_t xstrands;    /* runs of nodes one after the other that have not ended */
    uintptr_t xend;       /* TH_FORK_OPEN, the waiter, TH_FORK_DONE: as a fork's */
    uint64_t xfailed;     /* the lowest number that failed; else nodes_count */
};

#endif
