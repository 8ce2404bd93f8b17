/*
 * delegated.c: calls that other threads make in a task's place (forks, loops, nodes of graphs)
 * inherit what it has to keep to, and are cancelled with it.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

#define CALLS 8

static thrum_sem never;
static thrum_sem begun; /* one unit for each call that is about to wait */
static atomic_int cancelled_calls;

/* The wait that only a cancel ends. */
static int waits(void *arg) {
    (void)arg;
    thrum_sem_post(&begun);
    int code = thrum_sem_wait(&never);
    if (code == -ECANCELED && thrum_cancelled()) {
        atomic_fetch_add(&cancelled_calls, 1);
    }
    return code;
}

static int sleeps(void *arg) {
    (void)arg;
    thrum_sem_post(&begun);
    int code = sleep_until_cancelled();
    atomic_fetch_add(&cancelled_calls, code == -ECANCELED);
    return code;
}

static thrum_handle *spawn(rig *r, thrum_fn fn) {
    thrum_handle *handle;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = r->sched;
    thrum_sem_init(&never, 0);
    thrum_sem_init(&begun, 0);
    atomic_store(&cancelled_calls, 0);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, NULL), 0);
    return handle;
}

/* Cancels the task once `calls` of its calls are about to wait; all of them end by that. */
static void cancel_waiting(rig *r, thrum_fn fn, int calls) {
    thrum_handle *handle = spawn(r, fn);
    int result = 1;
    for (int i = 0; i < calls; i++) {
        CHECK_EQ(thrum_sem_wait(&begun), 0);
    }
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -ECANCELED);
    CHECK_EQ(atomic_load(&cancelled_calls), calls);
}

/* ---- each kind of call ---- */

static int forks(void *arg) {
    (void)arg;
    thrum_fork calls[CALLS];
    int result = 0;
    for (int i = 0; i < CALLS; i++) {
        thrum_fork_start(&calls[i], i % 2 ? waits : sleeps, NULL);
    }
    thrum_yield(); /* they are delegated calls now */
    for (int i = CALLS; i-- > 0;) {
        CHECK_EQ(thrum_fork_join(&calls[i]), -ECANCELED);
        result = -ECANCELED;
    }
    return result;
}

static int invokes(void *arg) {
    (void)arg;
    thrum_fn fns[CALLS];
    for (int i = 0; i < CALLS; i++) {
        fns[i] = i % 2 ? waits : sleeps;
    }
    return thrum_invoke(CALLS, fns, NULL);
}

static void wait_each(size_t begin, size_t end, void *ctx) {
    for (; begin < end; begin++) {
        CHECK_EQ(waits(ctx), -ECANCELED);
    }
}

static int loops(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_parallel_for(0, CALLS, 1, wait_each, NULL), 0);
    return thrum_cancelled() ? -ECANCELED : 0;
}

static int runs_a_graph(void *arg) {
    (void)arg;
    thrum_dag *dag;
    CHECK_EQ(thrum_dag_create(&dag), 0);
    for (int i = 0; i < CALLS; i++) {
        CHECK_EQ(thrum_dag_node(dag, i % 2 ? waits : sleeps, NULL), i);
    }
    int result = thrum_dag_run(dag);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    return result;
}

TEST(a_cancel_ends_what_others_do_for_the_task) {
    /*
     * In forks, invoke, a loop and a graph all calls wait, wherever they are made, and all are
     * cancelled.
     */
    static const thrum_fn fns[] = {forks, invokes, loops, runs_a_graph};
    rig r;
    rig_begin(&r, 0);
    for (size_t i = 0; i < COUNT_OF(fns); i++) {
        cancel_waiting(&r, fns[i], CALLS);
    }
    rig_stop(&r);
}

/* ---- deeper ---- */

static int waits_in_a_scope(void *arg) {
    (void)arg;
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, waits, NULL), 0);
    CHECK_EQ(thrum_scope_go(&scope, invokes, NULL), 0); /* this task has delegated calls itself */
    return thrum_scope_join(&scope);
}

static int forks_scopes(void *arg) {
    (void)arg;
    thrum_fn fns[] = {waits_in_a_scope, invokes, waits_in_a_scope};
    return thrum_invoke(COUNT_OF(fns), fns, NULL);
}

TEST(a_cancel_goes_down_through_delegated_calls) {
    /* Calls make calls, and open scopes whose tasks make calls. */
    rig r;
    rig_begin(&r, 0);
    cancel_waiting(&r, forks_scopes, 2 * (1 + CALLS) + CALLS);
    rig_stop(&r);
}

static int fails(void *arg) {
    (void)arg;
    for (int i = 0; i < CALLS; i++) {
        CHECK_EQ(thrum_sem_wait(&begun), 0);
    }
    return -EIO;
}

static int sibling_fails(void *arg) {
    (void)arg;
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, invokes, NULL), 0);
    CHECK_EQ(thrum_scope_go(&scope, fails, NULL), 0);
    return thrum_scope_join(&scope);
}

TEST(a_siblings_failure_reaches_delegated_calls) {
    /* The first error of a scope ends the children's delegated calls. */
    rig r;
    rig_begin(&r, 0);
    thrum_handle *handle = spawn(&r, sibling_fails);
    int result = 1;
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -EIO);
    CHECK_EQ(atomic_load(&cancelled_calls), CALLS);
    rig_stop(&r);
}

/* ---- what is inherited, and ends ---- */

static thrum_time the_deadline;

static int sees_the_deadline(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_deadline(), the_deadline);
    return 0;
}

static int sees_none(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_deadline(), THRUM_FOREVER);
    CHECK(!thrum_cancelled());
    return 0;
}

static int forks_in_a_scope(void *arg) {
    (void)arg;
    thrum_scope scope;
    thrum_fork before;
    thrum_fork inside;
    the_deadline = far_off();
    thrum_fork_start(&before, sees_none, NULL);
    CHECK_EQ(thrum_scope_open(&scope, the_deadline), 0);
    thrum_fork_start(&inside, sees_the_deadline, NULL);
    CHECK_EQ(thrum_scope_go(&scope, sees_the_deadline, NULL), 0);
    thrum_yield();
    CHECK_EQ(thrum_fork_join(&inside), 0);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    CHECK_EQ(thrum_fork_join(&before), 0);
    CHECK_EQ(thrum_deadline(), THRUM_FOREVER);
    for (int i = 0; i < 100; i++) { /* these run on the fibers that made those calls */
        CHECK_EQ(thrum_go(sees_none, NULL), 0);
    }
    return 0;
}

TEST(a_call_has_the_deadline_of_where_it_was_forked) {
    /* This holds whichever thread makes it, and nothing of that is left for the next task. */
    rig_do(0, forks_in_a_scope, NULL);
}

static int takes_a_unit(void *arg) {
    (void)arg;
    thrum_sem_post(&begun);
    return thrum_sem_wait(&never);
}

static int forks_behind_a_shield(void *arg) {
    (void)arg;
    thrum_fork call;
    thrum_shield_begin();
    thrum_fork_start(&call, takes_a_unit, NULL);
    thrum_yield();
    thrum_shield_end();
    return thrum_fork_join(&call);
}

TEST(a_call_forked_behind_a_shield_is_behind_it) {
    /* A cancel does not end its wait, whichever thread makes the call. */
    rig r;
    rig_begin(&r, 0);
    thrum_handle *handle = spawn(&r, forks_behind_a_shield);
    int result = 1;
    CHECK_EQ(thrum_sem_wait(&begun), 0);
    CHECK_EQ(thrum_cancel(handle), 0);
    thrum_sem_post(&never);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 0);
    rig_stop(&r);
}
