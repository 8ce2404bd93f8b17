/*
 * parallel.c: forks, invoke, loops and scopes, on the thread's own stack and in a task.
 */
/* matrix: bound */
#include "support/sync/bound.h"
#include "support/times.h"

enum { N = 1000 };

/* Runs fn(arg) on the thread itself, then as a task. */
static void in_both(rig *r, thrum_fn fn, void *arg) {
    CHECK_EQ(fn(arg), 0);
    CHECK_EQ(rig_run(r, fn, arg), 0);
}

/* ---- forks ---- */

typedef struct fib {
    int n;
    int result;
} fib;

static int computes(void *arg) {
    fib *f = arg;
    if (f->n < 2) {
        f->result = f->n;
        if (f->n == 1) {
            thrum_yield();
        }
        return 0;
    }
    fib left = {f->n - 1, 0};
    fib right = {f->n - 2, 0};
    thrum_fork fork;
    thrum_fork_start(&fork, computes, &left);
    CHECK_EQ(computes(&right), 0);
    CHECK_EQ(thrum_fork_join(&fork), 0);
    f->result = left.result + right.result;
    return 0;
}

static int computes_fib_of_12(void *arg) {
    fib f = {12, 0};
    (void)arg;
    CHECK_EQ(computes(&f), 0);
    CHECK_EQ(f.result, 144);
    return 0;
}

TEST(a_tree_of_forks) {
    /* The leaves of the tree yield. */
    rig r;
    bound_begin(&r);
    in_both(&r, computes_fib_of_12, NULL);
    bound_end(&r);
}

static int answers(void *arg) {
    thrum_yield();
    return ++*(int *)arg;
}

TEST(the_thread_waits_with_forks_open) {
    /* The thread waits for idleness and for time between start and join; all forks are done. */
    rig r;
    bound_begin(&r);
    for (int i = 0; i < 20; i++) {
        thrum_fork forks[3];
        int values[3] = {10, 20, 30};
        for (int k = 0; k < 3; k++) {
            thrum_fork_start(&forks[k], answers, &values[k]);
        }
        if (i % 2 == 0) {
            CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        } else {
            nap();
        }
        for (int k = 2; k >= 0; k--) {
            CHECK_EQ(thrum_fork_join(&forks[k]), 10 * k + 11);
            CHECK_EQ(values[k], 10 * k + 11);
        }
    }
    bound_end(&r);
}

/* ---- invoke, parallel_for ---- */

static int meets(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    thrum_yield();
    return 0;
}

static int fails(void *arg) {
    nap();
    atomic_fetch_add((atomic_int *)arg, 1);
    return -EIO;
}

static int invokes(void *arg) {
    atomic_int ran = 0;
    const thrum_fn all[] = {meets, fails, meets, meets, fails, meets};
    void *const args[] = {&ran, &ran, &ran, &ran, &ran, &ran};
    (void)arg;
    CHECK_EQ(thrum_invoke(COUNT_OF(all), all, args), -EIO);
    CHECK_EQ(atomic_load(&ran), 6);
    CHECK_EQ(thrum_invoke(1, all, args), 0);
    return 0;
}

TEST(invoke_calls_all) {
    /* invoke calls all, also beside failures, the first of which it returns. */
    rig r;
    bound_begin(&r);
    in_both(&r, invokes, NULL);
    bound_end(&r);
}

static void marks(size_t begin, size_t end, void *ctx) {
    atomic_int *done = ctx;
    for (size_t i = begin; i < end; i++) {
        atomic_fetch_add(&done[i], 1);
        if (i % 97 == 0) {
            thrum_yield();
        }
    }
}

static int loops(void *arg) {
    static atomic_int done[N];
    const size_t grains[] = {0, 1, 33, N};
    (void)arg;
    for (size_t g = 0; g < COUNT_OF(grains); g++) {
        memset(done, 0, sizeof(done));
        CHECK_EQ(thrum_parallel_for(0, N, grains[g], marks, done), 0);
        for (int i = 0; i < N; i++) {
            CHECK_EQ(atomic_load(&done[i]), 1);
        }
    }
    return 0;
}

TEST(a_loop_does_each_once) {
    /* Each index is done once with every kind of grain. */
    rig r;
    bound_begin(&r);
    in_both(&r, loops, NULL);
    bound_end(&r);
}

/* ---- scopes ---- */

typedef struct family {
    atomic_int ended, begun, cancelled;
    thrum_event never;
} family;

static int ends_well(void *arg) {
    family *f = arg;
    thrum_yield();
    atomic_fetch_add(&f->ended, 1);
    return 0;
}

static int waits_for_ever(void *arg) {
    family *f = arg;
    atomic_fetch_add(&f->begun, 1);
    CHECK_EQ(thrum_event_wait(&f->never), -ECANCELED);
    atomic_fetch_add(&f->cancelled, 1);
    return 0;
}

static int fails_soon(void *arg) {
    (void)arg;
    nap();
    return -EIO;
}

static int has_children(void *arg) {
    family f = {.never = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false)};
    thrum_scope scope;
    (void)arg;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(thrum_scope_go(&scope, ends_well, &f), 0);
    }
    CHECK_EQ(thrum_scope_join(&scope), 0);
    CHECK_EQ(atomic_load(&f.ended), 100);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(thrum_scope_go(&scope, waits_for_ever, &f), 0);
    }
    CHECK_EQ(thrum_scope_go(&scope, fails_soon, &f), 0);
    CHECK_EQ(thrum_scope_join(&scope), -EIO);
    CHECK_EQ(atomic_load(&f.cancelled), 100);
    CHECK_EQ(thrum_scope_open(&scope, soon()), 0);
    CHECK_EQ(thrum_scope_go(&scope, waits_for_ever, &f), 0);
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    CHECK_EQ(atomic_load(&f.cancelled), 101);
    CHECK(!thrum_event_is_signaled(&f.never));
    return 0;
}

TEST(a_scope_waits_for_all_and_cancels_the_rest) {
    /* It cancels the rest when one fails, and at its deadline. */
    rig r;
    bound_begin(&r);
    if (bound_cell()) {
        CHECK_EQ(has_children(NULL), 0);
    } else {
        thrum_scope scope;
        CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), -ESRCH); /* only tasks have scopes */
    }
    CHECK_EQ(rig_run(&r, has_children, NULL), 0);
    bound_end(&r);
}

static int opens_one_within(void *arg) {
    family *f = arg;
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_scope_go(&scope, waits_for_ever, f), 0);
    }
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    return 0;
}

static int cancels_all_within(void *arg) {
    family f = {.never = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false)};
    thrum_scope scope;
    (void)arg;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_scope_go(&scope, opens_one_within, &f), 0);
    }
    YIELD_UNTIL(atomic_load(&f.begun) == 100);
    thrum_scope_cancel(&scope);
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    CHECK_EQ(atomic_load(&f.cancelled), 100);
    CHECK(!thrum_cancelled());
    nap(); /* the caller itself is not cancelled */
    return 0;
}

TEST(a_cancel_reaches_scopes_within) {
    /* A cancel reaches a scope and those that its children have open. */
    rig r;
    bound_begin(&r);
    CHECK_EQ(bound_cell() ? cancels_all_within(NULL) : rig_run(&r, cancels_all_within, NULL), 0);
    bound_end(&r);
}
