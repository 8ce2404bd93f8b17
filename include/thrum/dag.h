/*
 * thrum/dag.h: graphs of functions, with an order between some of them. A graph is built once and
 * run many times, with several runs at a time if need be, each with its own argument.
 *
 * One thread or task at a time builds or destroys a graph. Any number may run it.
 */
#ifndef THRUM_DAG_H
#define THRUM_DAG_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* A graph. It belongs to the caller of thrum_dag_create until thrum_dag_destroy. */
typedef struct thrum_dag thrum_dag;

/*
 * The function of a node that gets the argument of the run: `arg` is the node's, `run_arg` that of
 * thrum_dag_run_with. It returns 0, or another number if it failed.
 */
typedef int (*thrum_dag_fn)(void *arg, void *run_arg);

/*
 * Makes an empty graph. Its memory comes from the allocator of the scheduler that the caller runs
 * on (thrum_config), otherwise from malloc, and goes back there: destroy the graph before that
 * allocator ends.
 *
 * Parameters:
 *   out  gets the graph, which is the caller's until thrum_dag_destroy
 * Returns: 0, or a negative error code with *out unchanged.
 * Errors:
 *   -EINVAL  out is NULL
 *   -ENOMEM  there is no memory
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_dag *dag;
 *    int err = thrum_dag_create(&dag);
 * See also: thrum_dag_node, thrum_dag_edge, thrum_dag_destroy
 */
THRUM_API THRUM_NODISCARD int thrum_dag_create(thrum_dag **out);

/*
 * Frees the graph. No run of it may begin meanwhile.
 *
 * Parameters:
 *   dag  the graph, or NULL
 * Returns: 0, also for NULL, or -EBUSY with the graph unchanged.
 * Errors:
 *   -EBUSY  the graph runs
 * Context: any thread; never suspends.
 * Ordering: on success, the writes of all nodes in all runs are visible.
 * See also: thrum_dag_create
 */
THRUM_API int thrum_dag_destroy(thrum_dag *dag);

/*
 * Adds a node, a function that each run calls. thrum_dag_node_with adds one that also gets the
 * argument of the run.
 *
 * Parameters:
 *   dag  the graph
 *   fn   the function
 *   arg  its argument, which stays the caller's
 * Returns: the number of the node, which counts from 0, or a negative error code with nothing
 *   changed.
 * Errors:
 *   -EINVAL  dag or fn is NULL
 *   -ENOMEM  there is no memory
 *   -EBUSY   the graph runs
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    int load = thrum_dag_node(dag, load_file, &file);
 *    int parse = thrum_dag_node(dag, parse_file, &file);
 * See also: thrum_dag_edge, thrum_dag_run_with
 */
THRUM_API THRUM_NODISCARD int thrum_dag_node(thrum_dag *dag, thrum_fn fn, void *arg);
THRUM_API THRUM_NODISCARD int thrum_dag_node_with(thrum_dag *dag, thrum_dag_fn fn, void *arg);

/*
 * Adds an edge: each run calls `after` only when `before` has returned. The same edge may be added
 * twice.
 *
 * Parameters:
 *   dag     the graph
 *   before  the number of the node that comes first
 *   after   the number of the node that comes later
 * Returns: 0, or a negative error code with nothing changed.
 * Errors:
 *   -EINVAL  dag is NULL, or a number is not that of a node
 *   -ENOMEM  there is no memory
 *   -EBUSY   the graph runs
 * Context: any thread; never suspends.
 * Ordering: none by itself. In a run, the writes of `before` are visible to `after`.
 * Example:
 *    int err = thrum_dag_edge(dag, load, parse);
 * See also: thrum_dag_node, thrum_dag_run
 */
THRUM_API int thrum_dag_edge(thrum_dag *dag, int before, int after);

/*
 * Runs the graph, and returns when all nodes have returned. Each node is called once, in an order
 * that the edges allow, several at a time if workers are free. thrum_dag_run_with gives `run_arg`
 * to the nodes of thrum_dag_node_with; thrum_dag_run gives them NULL.
 *
 * If a node returns a number other than 0, the nodes that come after it, directly or not, are not
 * called; all others are. A cancel of the caller ends the waits of the nodes, but they are called
 * all the same. If a plain thread calls, it calls the nodes itself, one after the other.
 *
 * Nodes may block and may run graphs, so one worker is enough. Nodes without a path between them
 * must not rely on running at the same time, since a task may run several of them, one after the
 * other. Nor must they rely on a task name or on values under keys of their own.
 *
 * Several runs of one graph may be in progress at the same time, also begun by its own nodes. Each
 * run has its own order, failures and result; only the nodes' arguments are shared. So the data of
 * a run belongs behind its `run_arg`. The memory of each run is kept for later runs, until the
 * graph is changed or destroyed.
 *
 * Parameters:
 *   dag      the graph
 *   run_arg  thrum_dag_run_with only: the argument of this run, used until the call returns
 * Returns: 0 if every node returned 0, otherwise the result of the failed node with the lowest
 *   number. With no node called, a negative error code.
 * Errors:
 *   -EINVAL  dag is NULL
 *   -ELOOP   the edges form a cycle
 *   -ENOMEM  there is no memory; only in the first run after a change, or if more runs are in
 *            progress than ever since the last change
 * Context: any thread; may suspend; not cancellable.
 * Ordering: the writes before the call are visible to the nodes, and the writes of the nodes are
 *   visible after it.
 * Example:
 *    int err = thrum_dag_run_with(dag, &frame);
 * See also: thrum_dag_node, thrum_dag_edge, thrum_invoke
 */
THRUM_API int thrum_dag_run(thrum_dag *dag);
THRUM_API int thrum_dag_run_with(thrum_dag *dag, void *run_arg);

THRUM_END_DECLS

#endif
