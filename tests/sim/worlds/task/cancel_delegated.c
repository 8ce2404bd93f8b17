/*
 * cancel_delegated.c: thrum_cancel against calls that others make for a task: before they are made,
 * as they begin to wait, as they end, and while another task runs on the delegated call's fiber
 * already (core/wait/WAITING.md, "Delegated calls").
 */
#include <errno.h>

#include "core/state/handle.h"
#include "core/state/worker.h"
#include "whole.h"

static thrum_sched *sched;
static thrum_sem shared_sem;

static thrum_handle *spawn(thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *handle;
    attr.sched = sched;
    sim_check(thrum_spawn_with(&handle, &attr, fn, arg) == 0);
    return handle;
}

static int join(thrum_handle *handle) {
    int result = 1;
    sim_check(thrum_join(handle, &result) == 0);
    return result;
}

static void begin(unsigned workers, bool can_order) {
    thrum_config config = whole_config(workers);
    sched = whole_start(&config);
    if (!can_order) {
        sched->can_order = false; /* no thread has asked yet */
    }
    thrum_sem_init(&shared_sem, 0);
}

/* Frees its object as soon as the wait has returned: no thread may still touch it. */
static int waits_and_frees(void *arg) {
    thrum_sem *sem = arg;
    int code = thrum_sem_wait(sem);
    sim_free(sem);
    return code;
}

static thrum_sem *fresh_sem(void) {
    thrum_sem *sem = sim_alloc(sizeof *sem);
    thrum_sem_init(sem, 0);
    return sem;
}

static int forks_waits(void *arg) {
    thrum_fork calls[2];
    unsigned count = (unsigned)(uintptr_t)arg;
    for (unsigned i = 0; i < count; i++) {
        thrum_fork_start(&calls[i], waits_and_frees, fresh_sem());
    }
    thrum_yield();
    for (unsigned i = count; i-- > 0;) {
        sim_check(thrum_fork_join(&calls[i]) == -ECANCELED);
    }
    return 7;
}

static void cancel_calls(unsigned workers, bool can_order, unsigned count) {
    begin(workers, can_order);
    thrum_handle *handle = spawn(forks_waits, (void *)(uintptr_t)count);
    sim_check(thrum_cancel(handle) == 0);
    sim_check(join(handle) == 7);
    whole_stop(sched);
}

/* The call is not forked yet, given away, about to wait, or waiting. */
SIM_WORLD(cancel_delegated_one, .heavy = true) {
    cancel_calls(1, true, 1);
}
SIM_WORLD(cancel_delegated_without_barrier, .heavy = true) {
    cancel_calls(1, false, 1);
}

/* Two calls of two workers are on the list: one leaves it while the other is visited. */
SIM_WORLD(cancel_delegated_two, .heavy = true) {
    cancel_calls(2, true, 2);
}

static whole_gate taken;

static int takes_and_tells(void *arg) {
    (void)arg;
    int code = thrum_sem_wait(&shared_sem);
    whole_open(&taken);
    return code;
}

static int forks_a_taker_and_a_waiter(void *arg) {
    thrum_fork calls[2];
    unsigned taker = (unsigned)(uintptr_t)arg;
    thrum_fork_start(&calls[taker], takes_and_tells, NULL);
    thrum_fork_start(&calls[1 - taker], waits_and_frees, fresh_sem());
    thrum_yield();
    int codes[2];
    codes[1 - taker] = thrum_fork_join(&calls[1 - taker]);
    codes[taker] = thrum_fork_join(&calls[taker]);
    sim_check(codes[taker] == 0 && codes[1 - taker] == -ECANCELED);
    return 7;
}

/* One of two on the list goes, whichever is first: the other one must still be found. */
SIM_WORLD(cancel_delegated_left, .heavy = true) {
    begin(1 + sim_pick(2), true);
    thrum_handle *handle = spawn(forks_a_taker_and_a_waiter, (void *)(uintptr_t)sim_pick(2));
    thrum_sem_post(&shared_sem);
    whole_pass(&taken);
    sim_check(thrum_cancel(handle) == 0);
    sim_check(join(handle) == 7);
    whole_stop(sched);
}

/* ---- a delegated call that opens a scope ---- */

static int opens_a_scope(void *arg) {
    thrum_scope scope;
    sim_check(thrum_scope_open(&scope, THRUM_FOREVER) == 0);
    sim_check(thrum_scope_go(&scope, waits_and_frees, arg) == 0);
    return thrum_scope_join(&scope);
}

static int forks_a_scope(void *arg) {
    thrum_fork call;
    thrum_fork_start(&call, opens_a_scope, arg);
    thrum_yield();
    return thrum_fork_join(&call);
}

/* The call is found before it waits for anything. */
SIM_WORLD(cancel_delegated_scope, .heavy = true) {
    begin(1, true);
    thrum_handle *handle = spawn(forks_a_scope, fresh_sem());
    sim_check(thrum_cancel(handle) == 0);
    sim_check(join(handle) == -ECANCELED);
    whole_stop(sched);
}

/* ---- a delegated call that ends ---- */

static int takes_a_unit(void *arg) {
    (void)arg;
    return thrum_sem_wait(&shared_sem);
}

static int forks_a_taker(void *arg) {
    (void)arg;
    thrum_fork call;
    thrum_fork_start(&call, takes_a_unit, NULL);
    thrum_yield();
    return thrum_fork_join(&call);
}

static void cancels(void *arg) {
    sim_check(thrum_cancel(arg) == 0);
}

/*
 * The call ends as its task is cancelled, and another task waits on its fiber next. The cancel must
 * not take that task for it: the task gets a unit, and a unit that the cancelled call did not take
 * is left.
 */
SIM_WORLD(cancel_delegated_against_end, .heavy = true) {
    begin(1, true);
    thrum_handle *handle = spawn(forks_a_taker, NULL);
    thrum_handle *next = spawn(takes_a_unit, NULL);
    int t = sim_spawn(cancels, handle);
    thrum_sem_post(&shared_sem);
    thrum_sem_post(&shared_sem);
    sim_check(join(next) == 0);
    sim_join(t);
    int code = join(handle);
    sim_check(code == 0 || code == -ECANCELED);
    sim_check(thrum_sem_try_wait(&shared_sem) == (code ? 0 : -EAGAIN));
    whole_stop(sched);
}

/* ---- a graph ---- */

static int runs_a_graph(void *arg) {
    thrum_dag *dag;
    (void)arg;
    sim_check(thrum_dag_create(&dag) == 0);
    sim_check(thrum_dag_node(dag, waits_and_frees, fresh_sem()) == 0);
    sim_check(thrum_dag_node(dag, waits_and_frees, fresh_sem()) == 1);
    int code = thrum_dag_run(dag);
    sim_check(thrum_dag_destroy(dag) == 0); /* this frees its strands' inherited state */
    return code;
}

/* One node is the task's own to call; the other one becomes a delegated call. */
SIM_WORLD(cancel_delegated_graph, .heavy = true) {
    begin(1, true);
    thrum_handle *handle = spawn(runs_a_graph, NULL);
    sim_check(thrum_cancel(handle) == 0);
    sim_check(join(handle) == -ECANCELED);
    whole_stop(sched);
}
