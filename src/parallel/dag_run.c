/*
 * dag_run.c: running a graph. src/parallel/README.md, "The graph", has the argument.
 *
 * Words:      a *strand* is a task that calls a node, then one of those that became ready by it,
 * and so on; the others that became ready are queued first, each to be a strand. So a chain is one
 * strand, however long, and nothing recurses. Invariants: a node is called once xpending is 0, by
 * whoever made it so, and puts xpending and xskip back for the next run. xstrands counts those that
 * have not ended; a strand counts another before it queues it, so it is 0 once: when all is done.
 */
#include "parallel/dag_run.h"

#include "base/atomic.h"
#include "core/fork.h"
#include "core/helper.h"
#include "core/run.h"
#include "core/wait.h"
#include "core/worker.h"

static void note_failure(th_dag_node *node, int result) {
    thrum_dag *dag = node->dag;
    uint64_t number = (uint64_t)(node - dag->nodes);
    uint64_t lowest = th_load_relaxed(&dag->xfailed); /* relaxed: the exchange decides */
    node->result = result;
    while (number < lowest) {
        /* lock-free: it fails only when another failure was noted */
        /* relaxed: read when all is done, which is published by the strands' ends */
        if (th_cas_relaxed(&dag->xfailed, &lowest, number)) {
            return;
        }
    }
}

/* True: what comes after it is to be left out. */
static bool call_node(th_dag_node *node) {
    /* relaxed: all that came before has come; ordered as xpending is (comes) */
    bool skip = th_load_relaxed(&node->xskip) != 0;
    th_store_relaxed(&node->xskip, 0u); /* relaxed: the next run is ordered by this one's end */
    th_store_relaxed(&node->xpending, node->preds); /* relaxed: as above */
    int result = skip ? 0 : node->fn(node->arg);
    if (th_unlikely(result != 0)) {
        note_failure(node, result);
    }
    return skip || result;
}

/* One that comes before it has ended: true for the last of them. */
static bool comes(th_dag_node *node, bool failed) {
    if (th_unlikely(failed)) {
        th_store_relaxed(&node->xskip, 1u); /* relaxed: published by the next step */
    }
    /* pairs: comes; what the others before it did, for whoever calls it */
    return node->preds == 1 || th_sub_acq_rel(&node->xpending, 1u) == 1;
}

static void queue(th_dag_node *node) {
    /* relaxed: our own strand is counted, so it is not 0 meanwhile */
    th_add_relaxed(&node->dag->xstrands, 1u);
    th_call_submit(th_here(), &node->call);
}

static void run_strand(th_dag_node *node) {
    while (node) {
        const thrum_dag *dag = node->dag;
        bool failed = call_node(node);
        th_dag_node *next = NULL;
        for (uint32_t i = 0; i < node->count; i++) {
            th_dag_node *after = &dag->nodes[dag->after[node->first + i]];
            if (!comes(after, failed)) {
                continue;
            }
            if (next) {
                queue(after);
            } else {
                next = after;
            }
        }
        node = next;
    }
}

/* True for the last one: all nodes have been called. */
static bool end_strand(thrum_dag *dag) {
    /* pairs: end_strand; what the others did, for the last one */
    return th_sub_acq_rel(&dag->xstrands, 1u) == 1;
}

void th_dag_strand(th_call *call) {
    th_dag_node *node = th_container(call, th_dag_node, call);
    thrum_dag *dag = node->dag;
    th_help_begin(&dag->heritage);
    run_strand(node);
    th_run_undo();
    th_help_end();
    if (end_strand(dag)) {
        /* pairs: th_dag_run; publishes what all did, takes the waiter */
        uintptr_t old = th_xchg_acq_rel(&dag->xend, TH_FORK_DONE);
        if (old != TH_FORK_OPEN) {
            th_waiter_wake((th_waiter *)old); /* the graph may be gone by now */
        }
    }
}

static void run_shared(thrum_dag *dag) {
    /* relaxed: published with the first strand that is queued */
    th_store_relaxed(&dag->xstrands, 1u);
    th_store_relaxed(&dag->xend, TH_FORK_OPEN); /* relaxed: as above */
    dag->heritage = th_fiber_self()->heritage;
    for (size_t i = 1; i < dag->roots; i++) {
        queue(&dag->nodes[dag->order[i]]);
    }
    run_strand(&dag->nodes[dag->order[0]]);
    if (end_strand(dag)) {
        return;
    }
    th_waiter waiter;
    th_waiter_init(&waiter, TH_ON_DAG, dag);
    waiter.shielded = true; /* the nodes may use the caller's frame: they are cancelled */
    uintptr_t state = TH_FORK_OPEN;
    /* pairs: th_dag_strand; hands the waiter over, or acquires what all did */
    if (th_cas_acq_rel_acquire_both(&dag->xend, &state, (uintptr_t)&waiter)) {
        (void)th_waiter_wait(&waiter);
    }
}

static void run_alone(thrum_dag *dag) {
    for (size_t i = 0; i < dag->nodes_count; i++) {
        th_dag_node *node = &dag->nodes[dag->order[i]];
        bool failed = call_node(node);
        for (uint32_t j = 0; failed && j < node->count; j++) {
            /* relaxed: nobody else is here */
            th_store_relaxed(&dag->nodes[dag->after[node->first + j]].xskip, 1u);
        }
    }
}

int th_dag_run(thrum_dag *dag) {
    /* relaxed: published with the first strand that is queued */
    th_store_relaxed(&dag->xfailed, (uint64_t)dag->nodes_count);
    if (th_fiber_self()) {
        run_shared(dag);
    } else {
        run_alone(dag);
    }
    /* relaxed: ordered by the strands' ends */
    uint64_t failed = th_load_relaxed(&dag->xfailed);
    return failed < dag->nodes_count ? dag->nodes[failed].result : 0;
}
