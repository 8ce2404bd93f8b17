/*
 * thrum/dag.h: functions with an order between some of them: a graph that is built once and run
 * again and again, several runs at a time if need be, each with an argument of its own.
 *
 * A graph is built, and destroyed, by one thread or task at a time; it may be run by any number.
 */
#ifndef THRUM_DAG_H
#define THRUM_DAG_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_dag thrum_dag;

/* A node that is told of the run: `arg` is its own, `run_arg` is that of thrum_dag_run_with. */
typedef int (*thrum_dag_fn)(void *arg, void *run_arg);

/*
 * Makes an empty graph, which is the caller's until thrum_dag_destroy. Its memory comes from the
 * allocator of the scheduler that the caller runs on (thrum_config), else from malloc, and goes
 * back there: destroy it before that allocator goes. Any thread may call it. It never suspends. It
 * returns 0, -ENOMEM, or -EINVAL for NULL.
 */
THRUM_API THRUM_NODISCARD int thrum_dag_create(thrum_dag **out);

/*
 * Frees the graph. Any thread may call it. It never suspends. It returns 0, also for NULL, or
 * -EBUSY with the graph unchanged while it runs.
 */
THRUM_API int thrum_dag_destroy(thrum_dag *dag);

/*
 * Adds a node and returns its number, which counts from 0. The node of the second form is told of
 * the run. `arg` stays the program's. Any thread may call it. It never suspends. Errors, with
 * nothing changed: -EINVAL for NULL, -ENOMEM, -EBUSY while a run is on.
 */
THRUM_API THRUM_NODISCARD int thrum_dag_node(thrum_dag *dag, thrum_fn fn, void *arg);
THRUM_API THRUM_NODISCARD int thrum_dag_node_with(thrum_dag *dag, thrum_dag_fn fn, void *arg);

/*
 * Adds an edge: from now on `before` has returned when `after` is called, and what it wrote is
 * visible there. An edge may be there twice. Any thread may call it. It never suspends. It returns
 * 0, -EINVAL for numbers that are no nodes, or the codes of thrum_dag_node.
 */
THRUM_API int thrum_dag_edge(thrum_dag *dag, int before, int after);

/*
 * Calls every node's fn(arg) once, in an order that the edges allow, several at a time as workers
 * are free, and waits until all is done. What the nodes wrote is visible afterwards. Any thread may
 * call it; for a plain thread the nodes are called by the caller, one after the other. It may
 * suspend. A cancel of the caller ends the waits of the nodes, and all are called nevertheless.
 *
 * Nodes may block, and run graphs; so one worker is enough. Nodes without a path between them must
 * not count on running at the same time, nor on a name or values under keys of their own: some run
 * one after the other as one task.
 *
 * Several runs of one graph may go on at the same time, begun by any threads and tasks, its own
 * nodes too. They know nothing of each other: order, failures and results are each run's own. Only
 * the nodes' arguments are the same, so what a run works on belongs behind its `run_arg`, which
 * thrum_dag_run_with gives to the nodes of thrum_dag_node_with (thrum_dag_run gives NULL).
 *
 * It returns 0 when every node returned 0. When a node returns something else, those that come
 * after it, directly or not, are not called; all others are. Then the result is that of the failed
 * node with the lowest number. Errors, with no node called: -EINVAL for NULL; -ELOOP when the edges
 * form a cycle; -ENOMEM, only at the first run after a change, and when more runs go on at a time
 * than ever since then: the memory of each is kept for later ones, until the graph is changed or
 * destroyed.
 */
THRUM_API int thrum_dag_run(thrum_dag *dag);
THRUM_API int thrum_dag_run_with(thrum_dag *dag, void *run_arg);

THRUM_END_DECLS

#endif
