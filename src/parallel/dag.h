/*
 * dag.h: the structs of a graph (src/parallel/README.md, "The graph").
 */
#ifndef TH_DAG_H
#define TH_DAG_H

#include "core/state/fiber_state.h"
#include "core/basis/lock.h"
#include "queue/work.h"
#include "thrum/dag.h"

/* A node as it was built; it does not change while the graph runs. */
typedef struct th_dag_node {
    union {
        thrum_fn plain;
        thrum_dag_fn with; /* the function that is also given the run's argument */
    } fn;
    void *arg;
    uint32_t first; /* the node's successors are [first, first + count) of dag->after */
    uint32_t count;
    uint32_t preds;   /* the number of edges that end here */
    bool told_of_run; /* true: `with` is called; false: `plain` */
} th_dag_node;

typedef struct th_dag_edge {
    uint32_t before;
    uint32_t after;
} th_dag_edge;

/* A node in a run. */
typedef struct th_dag_place {
    th_call call; /* the work queued for the node */
    struct th_dag_run *run;
    th_dag_node node;  /* a copy, beside the fields that a run changes */
    uint32_t xpending; /* the predecessors that have not ended; between runs all of them */
    uint32_t xskip;    /* 1 when a predecessor has failed or was skipped; between runs 0 */
    int32_t result;    /* the result of the last call that failed */
} th_dag_place;

/* One run and its memory: its caller's from the beginning to the end, then one of the spares. */
typedef struct th_dag_run {
    thrum_dag *dag;
    struct th_dag_run *next; /* the link in the list of spares */
    void *arg;
    th_inherited inherited; /* the inherited context of the run's caller */
    uint64_t xstrands;      /* the number of strands (dag_run.c) that have not ended */
    uintptr_t xend;         /* TH_FORK_OPEN, the waiter, or TH_FORK_DONE, as in a fork */
    uint64_t xfailed;       /* the lowest number of a failed node; nodes_count while none has */
    th_dag_place places[];
} th_dag_run;

struct thrum_dag {
    void *(*alloc)(void *ctx, size_t size); /* constant */
    void (*free)(void *ctx, void *ptr);
    void *ctx;

    th_lock lock; /* protects all below; from `nodes` on nothing changes while runs_count > 0 */
    size_t runs_count; /* the number of runs that have not ended */
    th_dag_run *spares;

    th_dag_node *nodes;
    size_t nodes_count;
    size_t nodes_room;
    th_dag_edge *edges;
    size_t edges_count;
    size_t edges_room;

    /* Made from the edges by the first run after a change. */
    bool sorted;
    size_t roots;    /* the nodes order[0 .. roots) have no predecessors */
    uint32_t *order; /* all nodes, each behind its predecessors; then as many words for the sort */
    uint32_t *after; /* the successors, grouped by node */
};

#endif
