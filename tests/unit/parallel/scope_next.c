/*
 * scope_next.c: the results of a scope's children, in the order in which they end.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

/* Runs a test in a task, and in a thread that is bound to a scheduler without workers. */
static void in_task(thrum_fn fn) {
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, fn, &r), 0);
    rig_stop(&r);
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(fn(&r), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

/* A child that ends when its owner lets it, with a result. */
typedef struct child {
    thrum_event end;
    int result;
} child;

static int ends_when_told(void *arg) {
    child *c = arg;
    const int err = thrum_event_wait(&c->end);
    return err ? err : c->result;
}

static void start(thrum_scope *scope, child *c, int result) {
    thrum_event_init(&c->end, THRUM_EVENT_MANUAL, false);
    c->result = result;
    CHECK_EQ(thrum_scope_spawn(scope, NULL, ends_when_told, c), 0);
}

static void check_next(thrum_scope *scope, const child *who, int result) {
    void *arg = NULL;
    int value = 1000;
    CHECK_EQ(thrum_scope_next(scope, &arg, &value), 0);
    CHECK(arg == who);
    CHECK_EQ(value, result);
}

/* ---- order ---- */

static int in_order(void *unused) {
    enum { N = 5 };
    static const int ends[N] = {3, 0, 4, 1, 2};
    child children[N];
    thrum_scope scope;
    (void)unused;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_next(&scope, NULL, NULL), -ECHILD);
    for (int i = 0; i < N; i++) {
        start(&scope, &children[i], i);
    }
    for (int i = 0; i < N; i++) {
        thrum_event_signal(&children[ends[i]].end);
        check_next(&scope, &children[ends[i]], ends[i]);
    }
    CHECK_EQ(thrum_scope_next(&scope, NULL, NULL), -ECHILD);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    return 0;
}

TEST(results_come_in_the_order_of_ends) {
    /* Not in the order of starts; when all are taken there is no child to wait for. */
    in_task(in_order);
}

static uint64_t alive(const rig *r) {
    thrum_metrics metrics = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(r->sched, THRUM_ALL_WORKERS, &metrics), 0);
    return metrics.tasks_alive;
}

static int first_is_first(void *arg) {
    const rig *r = arg;
    const uint64_t before = alive(r);
    child children[2];
    thrum_scope scope;
    thrum_case next = THRUM_NEXT_CASE(&scope);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    start(&scope, &children[0], 0);
    start(&scope, &children[1], 1);
    thrum_event_signal(&children[1].end);
    CHECK_EQ(thrum_select(&next, 1, THRUM_FOREVER), 0); /* it has ended, and is not taken */
    thrum_event_signal(&children[0].end);
    YIELD_UNTIL(alive(r) == before); /* so has the other one */
    check_next(&scope, &children[1], 1);
    check_next(&scope, &children[0], 0);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    return 0;
}

TEST(results_are_kept_until_they_are_taken) {
    /* A child that ended earlier is still the first. */
    in_task(first_is_first);
}

/* ---- many ---- */

#define MANY 100000

static int squares(void *arg) {
    return (int)((intptr_t)arg % 1000);
}

static int takes_many(void *unused) {
    const int n = SCALED(MANY);
    char *seen = calloc((size_t)n, 1);
    thrum_scope scope;
    (void)unused;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    for (intptr_t i = 0; i < n; i++) {
        CHECK_EQ(thrum_scope_spawn(&scope, NULL, squares, (void *)i), 0);
    }
    for (int i = 0; i < n; i++) {
        void *arg;
        int result;
        CHECK_EQ(thrum_scope_next(&scope, &arg, &result), 0);
        CHECK_EQ(result, squares(arg));
        CHECK_EQ(seen[(intptr_t)arg]++, 0);
    }
    CHECK_EQ(thrum_scope_next(&scope, NULL, NULL), -ECHILD);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    free(seen);
    return 0;
}

TEST(each_of_many_results_comes_once) {
    /* 100,000 children. */
    in_task(takes_many);
}

typedef struct grower {
    thrum_scope scope;
    int depth[5];
} grower;

static grower *growing;

static int grows(void *arg) {
    const int depth = *(int *)arg;
    if (depth < 4) {
        CHECK_EQ(thrum_scope_spawn(&growing->scope, NULL, grows, &growing->depth[depth + 1]), 0);
        CHECK_EQ(thrum_scope_spawn(&growing->scope, NULL, grows, &growing->depth[depth + 1]), 0);
    }
    return 0;
}

static int grows_in_a_scope(void *unused) {
    grower g = {.depth = {0, 1, 2, 3, 4}};
    int count = 0;
    (void)unused;
    growing = &g;
    CHECK_EQ(thrum_scope_open(&g.scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_spawn(&g.scope, NULL, grows, &g.depth[0]), 0);
    while (thrum_scope_next(&g.scope, NULL, NULL) == 0) {
        count++;
    }
    CHECK_EQ(count, 31);
    CHECK_EQ(thrum_scope_join(&g.scope), 0);
    return 0;
}

TEST(children_add_children) {
    /* Their results come as well, before there is nothing left. */
    in_task(grows_in_a_scope);
}

/* ---- failures and cancels ---- */

static int returns(void *arg) {
    return (int)(intptr_t)arg;
}

static int fails(void *unused) {
    child other;
    thrum_scope scope;
    int result;
    (void)unused;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    start(&scope, &other, 8);
    CHECK_EQ(thrum_scope_spawn(&scope, NULL, returns, (void *)(intptr_t)-7), 0);
    CHECK_EQ(thrum_scope_next(&scope, NULL, &result), 0);
    CHECK_EQ(result, -7);
    thrum_event_signal(&other.end);
    check_next(&scope, &other, 8); /* it was not cancelled */
    CHECK_EQ(thrum_scope_join(&scope), 0);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_spawn(&scope, NULL, returns, (void *)(intptr_t)5), 0);
    CHECK_EQ(thrum_scope_spawn(&scope, NULL, returns, (void *)(intptr_t)-9), 0);
    CHECK_EQ(thrum_scope_join(&scope), -9);
    return 0;
}

TEST(a_negative_result_is_the_owners_to_judge) {
    /* It cancels nothing. If nobody takes it, the join returns it. */
    in_task(fails);
}

static int cancels(void *unused) {
    enum { N = 20 };
    child children[N];
    thrum_scope scope;
    (void)unused;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    for (int i = 0; i < N; i++) {
        start(&scope, &children[i], 0);
    }
    thrum_yield();
    thrum_event_signal(&children[4].end);
    check_next(&scope, &children[4], 0);
    thrum_scope_cancel(&scope);
    for (int i = 1; i < N; i++) {
        int result = 0;
        CHECK_EQ(thrum_scope_next(&scope, NULL, &result), 0);
        CHECK_EQ(result, -ECANCELED);
    }
    CHECK_EQ(thrum_scope_next(&scope, NULL, NULL), -ECHILD);
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    return 0;
}

TEST(the_results_of_cancelled_children_come_too) {
    /* Each one, once. */
    in_task(cancels);
}

static int passes_deadlines(void *unused) {
    child slow;
    thrum_scope scope;
    int result;
    (void)unused;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    start(&scope, &slow, 6);
    const thrum_time when = soon();
    CHECK_EQ(thrum_scope_next_until(&scope, NULL, NULL, when), -ETIMEDOUT);
    CHECK_PASSED(when);
    CHECK_EQ(thrum_scope_next_until(&scope, NULL, NULL, past()), -ETIMEDOUT);
    thrum_case next = THRUM_NEXT_CASE(&scope);
    thrum_event_signal(&slow.end);
    CHECK_EQ(thrum_select(&next, 1, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_next_until(&scope, NULL, &result, past()), 0);
    CHECK_EQ(result, 6);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    CHECK_EQ(thrum_scope_open(&scope, soon()), 0); /* a deadline of the children */
    start(&scope, &slow, 0);
    CHECK_EQ(thrum_scope_next(&scope, NULL, &result), 0);
    CHECK_EQ(result, -ECANCELED);
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    return 0;
}

TEST(a_late_call_takes_nothing) {
    /* A result that is there is taken all the same. The scope's own deadline cancels children. */
    in_task(passes_deadlines);
}

static int is_cancelled(void *unused) {
    child never;
    thrum_scope scope;
    (void)unused;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    start(&scope, &never, 0);
    CHECK_EQ(thrum_scope_next(&scope, NULL, NULL), -ECANCELED);
    int result = 0;
    thrum_shield_begin();
    CHECK_EQ(thrum_scope_next(&scope, NULL, &result), 0); /* the scope is cancelled with its task */
    thrum_shield_end();
    CHECK_EQ(result, -ECANCELED);
    return thrum_scope_join(&scope);
}

static int cancels_the_owner(void *unused) {
    thrum_handle *owner;
    int result;
    (void)unused;
    CHECK_EQ(thrum_spawn(&owner, is_cancelled, NULL), 0);
    thrum_yield();
    CHECK_EQ(thrum_cancel(owner), 0);
    CHECK_EQ(thrum_join(owner, &result), 0);
    CHECK_EQ(result, -ECANCELED);
    return 0;
}

TEST(a_cancelled_owner_takes_nothing) {
    /* Its children are cancelled with it. */
    in_task(cancels_the_owner);
}

/* ---- how children are started ---- */

static int worker_of(void *arg) {
    (void)arg;
    thrum_yield();
    return thrum_worker_id();
}

static int name_is_kept(void *arg) {
    return strcmp(thrum_name(), arg);
}

static int with_attrs(void *arg) {
    const rig *r = arg;
    thrum_scope scope;
    thrum_attr attr = THRUM_ATTR_INIT;
    int result = 1;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    attr.name = "fetch";
    attr.sched = r->sched;
    CHECK_EQ(thrum_scope_spawn(&scope, &attr, name_is_kept, "fetch"), 0);
    CHECK_EQ(thrum_scope_next(&scope, NULL, &result), 0);
    CHECK_EQ(result, 0);
    if (thrum_worker_id() >= 0) { /* not on a bound thread */
        attr.flags = THRUM_PINNED;
        attr.worker = 0;
        CHECK_EQ(thrum_scope_spawn(&scope, &attr, worker_of, NULL), 0);
        CHECK_EQ(thrum_scope_next(&scope, NULL, &result), 0);
        CHECK_EQ(result, 0);
    }
    attr.worker = 1 << 20;
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_scope_spawn(&scope, &attr, worker_of, NULL), -EINVAL);
    attr = (thrum_attr)THRUM_ATTR_INIT;
    attr.size--;
    CHECK_EQ(thrum_scope_spawn(&scope, &attr, worker_of, NULL), -EINVAL);
    attr = (thrum_attr)THRUM_ATTR_INIT;
    attr.sched = (thrum_sched *)&scope;
    CHECK_EQ(thrum_scope_spawn(&scope, &attr, worker_of, NULL), -EINVAL);
    CHECK_EQ(thrum_scope_spawn(&scope, NULL, NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_scope_spawn(NULL, NULL, worker_of, NULL), -EINVAL);
    CHECK_EQ(thrum_scope_next(NULL, NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_scope_next(&scope, NULL, NULL), -ECHILD);
    CHECK_EQ(thrum_scope_join(&scope), 0); /* none of that is a failure of the scope */
    return 0;
}

TEST(children_are_started_with_attrs) {
    /* A name and a worker are kept; wrong ones are refused, and the scope is as before. */
    in_task(with_attrs);
}

static int beside_others(void *unused) {
    thrum_scope scope;
    (void)unused;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, returns, NULL), 0);
    CHECK_EQ(thrum_scope_next(&scope, NULL, NULL), -ECHILD);
    CHECK_EQ(thrum_scope_spawn(&scope, NULL, returns, NULL), 0);
    CHECK_EQ(thrum_scope_go(&scope, returns, (void *)(intptr_t)-3), 0);
    CHECK_EQ(thrum_scope_next(&scope, NULL, NULL), 0);
    CHECK_EQ(thrum_scope_next(&scope, NULL, NULL), -ECHILD);
    CHECK_EQ(thrum_scope_join(&scope), -3);
    return 0;
}

TEST(other_children_have_no_results_to_take) {
    /* Those of thrum_scope_go: nobody waits for them but the join. */
    in_task(beside_others);
}

/* ---- misuse ---- */

static int takes_anothers(void *scope) {
    return thrum_scope_next(scope, NULL, NULL);
}

static int lets_another_take(void *arg) {
    thrum_scope *scope = arg;
    CHECK_EQ(thrum_scope_open(scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_spawn(scope, NULL, takes_anothers, scope), 0);
    return thrum_scope_next(scope, NULL, NULL);
}

static int takes_after_the_join(void *arg) {
    thrum_scope *scope = arg;
    CHECK_EQ(thrum_scope_open(scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_join(scope), 0);
    return thrum_scope_next(scope, NULL, NULL);
}

static int spawns_after_the_join(void *arg) {
    thrum_scope *scope = arg;
    CHECK_EQ(thrum_scope_open(scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_join(scope), 0);
    return thrum_scope_spawn(scope, NULL, returns, NULL);
}

static int selects_after_the_join(void *arg) {
    thrum_scope *scope = arg;
    thrum_case next = THRUM_NEXT_CASE(scope);
    CHECK_EQ(thrum_scope_open(scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_join(scope), 0);
    return thrum_select(&next, 1, THRUM_FOREVER);
}

static void run_misuse(void *fn) {
    static thrum_scope scope;
    rig r;
    rig_begin(&r, 0);
    (void)rig_run(&r, *(thrum_fn *)fn, &scope);
}

TEST(results_are_the_owners) {
    /* Another taker, or a call after the join, ends the program with a line. */
    thrum_fn fn = lets_another_take;
    check_dies(run_misuse, &fn, "thrum: thrum_scope_next: the caller has not opened the scope");
    fn = takes_after_the_join;
    check_dies(run_misuse, &fn, "thrum: thrum_scope_next: the scope is joined");
    fn = spawns_after_the_join;
    check_dies(run_misuse, &fn, "thrum: thrum_scope_spawn: the scope is joined");
    fn = selects_after_the_join;
    check_dies(run_misuse, &fn, "thrum: thrum_select: the scope is joined");
}
