/*
 * dag.h: what a graph is made of (src/parallel/README.md, "The graph").
 */
#ifndef TH_DAG_H
#define TH_DAG_H

#include "core/state/fiber_state.h"
#include "core/state/lock.h"
#include "queue/work.h"
#include "thrum/dag.h"

/* A node as it was built; nothing of it changes while the graph runs. */
typedef struct th_dag_node {
    union {
        thrum_fn plain;
        thrum_dag_fn with; /* told_of_run */
    } fn;
    void *arg;
    uint32_t first; /* its successors are [first, first + count) of dag->after */
    uint32_t count;
    uint32_t preds; /* edges that end here */
    bool told_of_run;
} th_dag_node;

typedef struct th_dag_edge {
    uint32_t before;
    uint32_t after;
} th_dag_edge;

/* A node in a run. */
typedef struct th_dag_place {
    th_call call; /* for when it is queued */
    struct th_dag_run *run;
    th_dag_node node;  /* a copy: beside what a run changes */
    uint32_t xpending; /* preds that have not come yet in a run; else preds */
    uint32_t xskip;    /* one that came before has failed; in a run; else 0 */
    int32_t result;    /* of the last call that failed */
} th_dag_place;

/* One run, and what it needs: the caller's from its beginning to its end, then one of the spares.
 */
typedef struct th_dag_run {
    thrum_dag *dag;
    struct th_dag_run *next; /* of the spares */
    void *arg;
    th_heritage heritage; /* the runner's */
    uint64_t xstrands;    /* runs of nodes one after the other that have not ended */
    uintptr_t xend;       /* TH_FORK_OPEN, the waiter, TH_FORK_DONE: as a fork's */
    uint64_t xfailed;     /* the lowest number that failed; else nodes_count */
    th_dag_place places[];
} th_dag_run;

struct thrum_dag {
    void *(*alloc)(void *ctx, size_t size); /* constant */
    void (*free)(void *ctx, void *ptr);
    void *ctx;

    th_lock lock; /* of all below; what stands from `nodes` on is only read while runs_count > 0 */
    size_t runs_count; /* runs that go on */
    th_dag_run *spares;

    th_dag_node *nodes;
    size_t nodes_count;
    size_t nodes_room;
    th_dag_edge *edges;
    size_t edges_count;
    size_t edges_room;

    /* Made from the edges by the first run after a change. */
    bool sorted;
    size_t roots;    /* order[0 .. roots) have nothing before them */
    uint32_t *order; /* every node behind those before it; then as many words for the sort */
    uint32_t *after; /* successors, grouped by node */
};

#endif
