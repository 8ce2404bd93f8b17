/*
 * dag_run.h: one run of a graph that is in order.
 */
#ifndef TH_DAG_RUN_H
#define TH_DAG_RUN_H

#include "parallel/dag.h"

/* Calls all nodes, and waits; 0, or what the failed node with the lowest number returned. */
int th_dag_run_all(th_dag_run *run);

/* The call of a node that was queued: it, and what becomes ready by it, one after the other. */
void th_dag_strand(th_call *call);

#endif
