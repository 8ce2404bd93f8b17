/*
 * dag_run.h: one run of a sorted graph.
 */
#ifndef TH_DAG_RUN_H
#define TH_DAG_RUN_H

#include "parallel/dag.h"

/* Calls all nodes, and waits. Returns 0, or the result of the lowest-numbered node that failed. */
int th_dag_run_all(th_dag_run *run);

/* The function of a queued node: calls it, then a node that becomes ready by it, and so on. */
void th_dag_strand(th_call *call);

#endif
