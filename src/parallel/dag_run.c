/*
 * dag_run.c: running a graph. src/parallel/README.md, "The graph", has the argument.
 *
 * A run has a place for each node. A *strand* is a task that calls a node, then one of the nodes
 * that became ready by it, and so on; the other ready nodes are queued first, each as its own
 * strand. So a chain is one strand, however long, and nothing recurses.
 *
 * Invariants: a node is called once its xpending is 0, by the strand that made it so, which resets
 * xpending and xskip for the next run in this memory. xstrands counts the strands that have not
 * ended; a strand counts another before it queues it, so xstrands becomes 0 once, when all nodes
 * were called. Runs share nothing that changes.
 */
#include "parallel/dag_run.h"

#include "base/atomic.h"
#include "core/ready/submit.h"
#include "core/ready/waiter.h"
#include "core/state/worker.h"
#include "core/task/run.h"
#include "core/wait/delegated.h"
#include "core/wait/wait.h"

static void note_failure(th_dag_place *place, int result) {
    th_dag_run *run = place->run;
    uint64_t number = (uint64_t)(place - run->places);
    uint64_t lowest = th_load_relaxed(&run->xfailed); /* relaxed: the exchange decides */
    place->result = result;
    while (number < lowest) {
        /* lock-free: it fails only when another failure was noted */
        /* relaxed: it is read when all strands have ended, which publishes it */
        if (th_cas_relaxed(&run->xfailed, &lowest, number)) {
            return;
        }
    }
}

/* True: the node's successors are to be skipped. */
static bool call_node(th_dag_place *place) {
    const th_dag_node *node = &place->node;
    /* relaxed: all predecessors have ended; ordered by xpending (comes) */
    bool skip = th_load_relaxed(&place->xskip) != 0;
    th_store_relaxed(&place->xskip, 0u); /* relaxed: the next run is ordered by this one's end */
    th_store_relaxed(&place->xpending, node->preds); /* relaxed: as above */
    int result = 0;
    if (th_likely(!skip)) {
        result = node->told_of_run ? node->fn.with(node->arg, place->run->arg)
                                   : node->fn.plain(node->arg);
    }
    if (th_unlikely(result != 0)) {
        note_failure(place, result);
    }
    return skip || result;
}

/* To be called when a predecessor of the node has ended. True: it was the last. */
static bool comes(th_dag_place *place, bool failed) {
    if (th_unlikely(failed)) {
        th_store_relaxed(&place->xskip, 1u); /* relaxed: published by the next step */
    }
    /* pairs: comes; the predecessors' writes, for the strand that calls the node */
    return place->node.preds == 1 || th_sub_acq_rel(&place->xpending, 1u) == 1;
}

static void queue(th_dag_place *place) {
    /* relaxed: the caller's own strand is counted, so the count is not 0 */
    th_add_relaxed(&place->run->xstrands, 1u);
    th_call_submit(th_here(), &place->call);
}

static void run_strand(th_dag_place *place) {
    th_dag_run *run = place->run;
    const uint32_t *after = run->dag->after;
    while (place) {
        bool failed = call_node(place);
        if (th_unlikely(!th_here())) {
            th_thread_body_ends(failed); /* in a forked child; the parent does the rest */
        }
        th_dag_place *next = NULL;
        for (uint32_t i = 0; i < place->node.count; i++) {
            th_dag_place *ready = &run->places[after[place->node.first + i]];
            if (!comes(ready, failed)) {
                continue;
            }
            if (next) {
                queue(ready);
            } else {
                next = ready;
            }
        }
        place = next;
    }
}

/* True: it was the last strand, and all nodes have been called. */
static bool end_strand(th_dag_run *run) {
    /* pairs: end_strand; the other strands' writes, for the last one */
    return th_sub_acq_rel(&run->xstrands, 1u) == 1;
}

void th_dag_strand(th_call *call) {
    th_dag_place *place = th_container(call, th_dag_place, call);
    th_dag_run *run = place->run;
    th_delegated_begin(&run->inherited, TH_BODY_OTHER);
    run_strand(place);
    th_run_undo();
    th_delegated_end();
    if (end_strand(run)) {
        th_delegated_tell(&run->xend); /* afterwards run and graph may be gone */
    }
}

static void run_shared(th_dag_run *run) {
    const thrum_dag *dag = run->dag;
    /* relaxed: published with the first strand that is queued */
    th_store_relaxed(&run->xstrands, 1u);
    th_store_relaxed(&run->xend, TH_FORK_OPEN); /* relaxed: as above */
    run->inherited = th_fiber_self()->inherited;
    for (size_t i = 1; i < dag->roots; i++) {
        queue(&run->places[dag->order[i]]);
    }
    run_strand(&run->places[dag->order[0]]);
    if (!end_strand(run)) {
        th_delegated_wait(&run->xend, TH_ON_DAG, run->dag);
    }
}

static void run_alone(th_dag_run *run) {
    const thrum_dag *dag = run->dag;
    for (size_t i = 0; i < dag->nodes_count; i++) {
        th_dag_place *place = &run->places[dag->order[i]];
        bool failed = call_node(place);
        for (uint32_t j = 0; failed && j < place->node.count; j++) {
            /* relaxed: no other thread takes part */
            th_store_relaxed(&run->places[dag->after[place->node.first + j]].xskip, 1u);
        }
    }
}

int th_dag_run_all(th_dag_run *run) {
    /* relaxed: published with the first strand that is queued */
    th_store_relaxed(&run->xfailed, (uint64_t)run->dag->nodes_count);
    if (th_fiber_self()) {
        run_shared(run);
    } else {
        run_alone(run);
    }
    /* relaxed: ordered by the strands' ends */
    uint64_t failed = th_load_relaxed(&run->xfailed);
    return failed < run->dag->nodes_count ? run->places[failed].result : 0;
}
