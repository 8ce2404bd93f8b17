/*
 * scope.c: tasks that are waited for and cancelled together.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

/* Runs a test in the rig's first fiber. */
static void in_task(thrum_fn fn, void *arg) {
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, fn, arg), 0);
    rig_stop(&r);
}

static thrum_sem never;

static int waits(void *arg) {
    (void)arg;
    return thrum_sem_wait(&never);
}

static int returns(void *arg) {
    return (int)(intptr_t)arg;
}

static int sleeps_a_little(void *arg) {
    atomic_int *count = arg;
    nap();
    atomic_fetch_add(count, 1);
    return 3; /* this is no failure */
}

static int opens_and_joins(void *arg) {
    atomic_int count = 0;
    thrum_scope scope;
    (void)arg;
    for (int round = 0; round < 3; round++) { /* in the same memory again and again */
        CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
        for (int i = 0; i < 100; i++) {
            CHECK_EQ(thrum_scope_go(&scope, sleeps_a_little, &count), 0);
        }
        CHECK_EQ(thrum_scope_join(&scope), 0);
        CHECK_EQ(atomic_load(&count), 100 * (round + 1));
    }
    CHECK_EQ(thrum_scope_open(&scope, far_off()), 0);
    CHECK_EQ(thrum_scope_join(&scope), 0); /* an empty one, with a deadline far off */
    return 0;
}

TEST(join_waits_for_all) {
    /* Children wait, in a scope that is opened again and again. */
    in_task(opens_and_joins, NULL);
}

/* ---- the first failure ---- */

static int fails_first(void *arg) {
    thrum_scope scope;
    (void)arg;
    thrum_sem_init(&never, 0);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(thrum_scope_go(&scope, waits, NULL), 0);
    }
    thrum_yield();
    CHECK_EQ(thrum_scope_go(&scope, returns, (void *)(intptr_t)-5), 0);
    CHECK_EQ(thrum_scope_join(&scope), -5);
    CHECK(!thrum_cancelled()); /* the caller is not its child */
    return 0;
}

TEST(the_first_failure_cancels_the_others) {
    /* The others then return -ECANCELED; the join returns what came first. */
    in_task(fails_first, NULL);
}

static int cancels_its_scope(void *arg) {
    thrum_scope_cancel(arg);
    return thrum_sem_wait(&never) == -ECANCELED ? 0 : 1;
}

static int cancelled_from_inside(void *arg) {
    thrum_scope scope;
    (void)arg;
    thrum_sem_init(&never, 0);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, waits, NULL), 0);
    CHECK_EQ(thrum_scope_go(&scope, cancels_its_scope, &scope), 0);
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    thrum_scope_cancel(&scope);
    thrum_scope_cancel(&scope);
    CHECK_EQ(thrum_scope_go(&scope, waits, NULL), 0); /* it is cancelled from its beginning */
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    return 0;
}

TEST(cancel_from_a_child_or_before_there_are_any) {
    /* What is started afterwards is cancelled as well. */
    in_task(cancelled_from_inside, NULL);
}

static int cannot_start(void *arg) {
    thrum_scope scope;
    rig *r = arg;
    thrum_sem_init(&never, 0);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, waits, NULL), 0);
    CHECK_EQ(thrum_scope_go(&scope, NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_scope_join(&scope), -EINVAL);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    atomic_store(&r->fail_all, true);
    int code = 0;
    while (!code) {
        code = thrum_scope_go(&scope, waits, NULL); /* until the slab is empty */
    }
    atomic_store(&r->fail_all, false);
    CHECK_EQ(code, -ENOMEM);
    CHECK_EQ(thrum_scope_join(&scope), -ENOMEM);
    return 0;
}

TEST(what_cannot_start_fails_the_scope) {
    /* It has no function, or no memory: the siblings are cancelled, and the join reports it. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, cannot_start, &r), 0);
    rig_stop(&r);
}

TEST(off_a_task_there_are_no_scopes) {
    /* -EINVAL on a plain thread. */
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), -ESRCH);
    CHECK_EQ(thrum_scope_go(NULL, waits, NULL), -EINVAL);
    CHECK_EQ(thrum_deadline(), THRUM_FOREVER);
}

/* ---- deadlines ---- */

static int asks_deadline(void *arg) {
    CHECK_EQ(thrum_deadline(), *(thrum_time *)arg);
    return 0;
}

static int nests_deadlines(void *arg) {
    thrum_time when = *(thrum_time *)arg;
    thrum_time sooner = when - 1000000;
    thrum_scope scope;
    CHECK_EQ(thrum_deadline(), when); /* as a child */
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_deadline(), when); /* inherited */
    CHECK_EQ(thrum_scope_go(&scope, asks_deadline, &when), 0);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    CHECK_EQ(thrum_scope_open(&scope, sooner), 0);
    CHECK_EQ(thrum_scope_go(&scope, asks_deadline, &sooner), 0);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    CHECK_EQ(thrum_deadline(), when);
    return 0;
}

static int has_deadlines(void *arg) {
    thrum_scope scope;
    thrum_time far = far_off();
    (void)arg;
    CHECK_EQ(thrum_deadline(), THRUM_FOREVER);
    CHECK_EQ(thrum_scope_open(&scope, far), 0);
    CHECK_EQ(thrum_deadline(), far);
    CHECK_EQ(thrum_scope_go(&scope, nests_deadlines, &far), 0);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    CHECK_EQ(thrum_deadline(), THRUM_FOREVER);
    return 0;
}

TEST(deadlines_are_inherited) {
    /* A task inherits the earliest of all around it. */
    in_task(has_deadlines, NULL);
}

/* ---- trees ---- */

typedef struct tree {
    int depth, width;
    atomic_int *leaves;
} tree;

static int grows(void *arg) {
    tree t = *(tree *)arg;
    thrum_scope scope;
    if (t.depth-- == 0) {
        atomic_fetch_add(t.leaves, 1);
        CHECK_EQ(thrum_sem_wait(&never), -ECANCELED);
        return 0;
    }
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    for (int i = 0; i < t.width; i++) {
        CHECK_EQ(thrum_scope_go(&scope, grows, &t), 0);
    }
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED); /* it was waited for, and cancelled */
    CHECK_EQ(thrum_sem_wait(&never), -ECANCELED);
    return 0;
}

TEST(cancelling_a_task_cancels_all_below_it) {
    /* There are scopes in scopes, of different shapes. The joins are not cut short. */
    rig r;
    atomic_int leaves = 0;
    const tree shapes[] = {{1, 64, &leaves}, {3, 4, &leaves}, {6, 2, &leaves}, {40, 1, &leaves}};
    const int expected[] = {64, 64, 64, 1};
    rig_begin(&r, 0);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        thrum_attr attr = THRUM_ATTR_INIT;
        thrum_handle *handle;
        tree t = shapes[i];
        attr.sched = r.sched;
        thrum_sem_init(&never, 0);
        atomic_store(&leaves, 0);
        CHECK_EQ(thrum_spawn_with(&handle, &attr, grows, &t), 0);
        SPIN_UNTIL(atomic_load(&leaves) == expected[i]);
        CHECK_EQ(thrum_cancel(handle), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
    }
    rig_stop(&r);
}

TEST(cancelling_a_tree_that_still_grows) {
    /* The cancel comes wherever the tree is just then: nothing hangs, and no child is left. */
    rig r;
    atomic_int leaves = 0;
    rig_begin(&r, 0);
    thrum_sem_init(&never, 0);
    for (int i = 0; i < SCALED(300); i++) {
        thrum_attr attr = THRUM_ATTR_INIT;
        thrum_handle *handle;
        tree t = {i % 5, 1 + i % 3, &leaves};
        attr.sched = r.sched;
        CHECK_EQ(thrum_spawn_with(&handle, &attr, grows, &t), 0);
        for (int spin = 0; spin < i * 37 % 3000; spin++) {
            (void)atomic_load(&leaves);
        }
        CHECK_EQ(thrum_cancel(handle), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
    }
    rig_stop(&r);
}

static int adds_a_sibling(void *arg);

typedef struct chain {
    thrum_scope *scope;
    atomic_int left;
} chain;

static int adds_a_sibling(void *arg) {
    chain *c = arg;
    if (atomic_fetch_sub(&c->left, 1) > 0) {
        CHECK_EQ(thrum_scope_go(c->scope, adds_a_sibling, c), 0);
    }
    return 0;
}

static int chains(void *arg) {
    thrum_scope scope;
    chain c = {&scope, 1000};
    (void)arg;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, adds_a_sibling, &c), 0);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    CHECK_EQ(atomic_load(&c.left), -1);
    return 0;
}

TEST(children_may_add_children) {
    /* The join waits for those, too. */
    in_task(chains, NULL);
}

/* ---- reasons below ---- */

typedef struct below {
    thrum_sem opened;
    int inner;
} below;

static int opens_and_waits(void *arg) {
    below *b = arg;
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    thrum_sem_post(&b->opened);
    CHECK_EQ(thrum_sem_wait(&never), -ECANCELED);
    b->inner = thrum_scope_join(&scope);
    return 0;
}

static int fails_when_opened(void *arg) {
    below *b = arg;
    CHECK_EQ(thrum_sem_wait(&b->opened), 0);
    return -EIO;
}

static int reasons(void *arg) {
    below b;
    thrum_scope scope;
    (void)arg;
    thrum_sem_init(&b.opened, 0);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, opens_and_waits, &b), 0);
    CHECK_EQ(thrum_scope_go(&scope, fails_when_opened, &b), 0);
    CHECK_EQ(thrum_scope_join(&scope), -EIO);
    CHECK_EQ(b.inner, -ECANCELED); /* no child of its own has failed */
    CHECK_EQ(thrum_scope_open(&scope, soon()), 0);
    CHECK_EQ(thrum_scope_go(&scope, opens_and_waits, &b), 0);
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    CHECK_EQ(b.inner, -ETIMEDOUT); /* the deadline was its own as well */
    return 0;
}

TEST(scopes_below_do_not_fail_for_another_ones_child) {
    /* A scope inside a cancelled one says that its owner was cancelled, or that time is out. */
    in_task(reasons, NULL);
}

/* ---- misuse ---- */

static int ends_with_one_open(void *arg) {
    thrum_scope *scope = arg;
    CHECK_EQ(thrum_scope_open(scope, THRUM_FOREVER), 0);
    return 0;
}

static int joins_the_outer_first(void *arg) {
    thrum_scope *scopes = arg;
    CHECK_EQ(thrum_scope_open(&scopes[0], THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_open(&scopes[1], THRUM_FOREVER), 0);
    return thrum_scope_join(&scopes[0]);
}

static int goes_after_the_join(void *arg) {
    thrum_scope *scope = arg;
    CHECK_EQ(thrum_scope_open(scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_join(scope), 0);
    return thrum_scope_go(scope, ends_with_one_open, scope);
}

static int joins_twice(void *arg) {
    thrum_scope *scope = arg;
    CHECK_EQ(thrum_scope_open(scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_join(scope), 0);
    return thrum_scope_join(scope);
}

static void run_late(void *twice) {
    static thrum_scope scope;
    rig r;
    rig_begin(&r, 0);
    (void)rig_run(&r, twice ? joins_twice : goes_after_the_join, &scope);
}

TEST(a_joined_scope_takes_no_children) {
    /* Nor is it joined once more. */
    check_dies(run_late, NULL, "thrum_scope_go: the scope is joined");
    check_dies(run_late, &never,
               "thrum_scope_join: not the innermost scope that the caller has open");
}

static void run_misuse(void *fn) {
    static thrum_scope scopes[2];
    rig r;
    thrum_fn misuse = !fn ? ends_with_one_open : joins_the_outer_first;
    rig_begin(&r, 0);
    (void)rig_run(&r, misuse, scopes);
}

TEST(a_scope_left_open_or_joined_out_of_turn_aborts) {
    /* The lines say which. */
    check_dies(run_misuse, NULL, "thrum_scope_join: missing: the task has ended with a scope open");
    check_dies(run_misuse, &never,
               "thrum_scope_join: not the innermost scope that the caller has open");
}

/* ---- a stop ---- */

typedef struct stopped {
    thrum_sem opened;
    thrum_mutex gate; /* held until the stop has cancelled all */
    atomic_int said;
} stopped;

static int waits_and_forgives(void *arg) {
    (void)arg;
    return thrum_sem_wait(&never) == -ECANCELED ? 0 : 1;
}

/*
 * Opens a scope in another one; `joins`: it is in the join before the stop, otherwise behind the
 * gate.
 */
static int has_scopes(stopped *s, bool joins) {
    thrum_scope outer, inner;
    CHECK_EQ(thrum_scope_open(&outer, far_off()), 0);
    CHECK_EQ(thrum_scope_open(&inner, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&inner, waits_and_forgives, NULL), 0);
    thrum_sem_post(&s->opened);
    if (!joins) {
        thrum_mutex_lock(&s->gate);
        thrum_mutex_unlock(&s->gate);
    }
    CHECK_EQ(thrum_scope_join(&inner), -ECANCELED);
    CHECK_EQ(thrum_scope_join(&outer), -ECANCELED);
    atomic_fetch_add(&s->said, 1);
    return 0;
}

static int has_joined(void *arg) {
    return has_scopes(arg, true);
}

static int joins_behind_the_gate(void *arg) {
    return has_scopes(arg, false);
}

TEST(a_stop_cancels_scopes_that_are_open) {
    /*
     * Their joins return that, as after a cancel of their task: those that wait and those that
     * come.
     */
    enum { EACH = 20 };
    for (int round = 0; round < check_scaled(20); round++) {
        stopped s = {.said = 0};
        rig r;
        rig_begin(&r, 0);
        thrum_sem_init(&never, 0);
        thrum_sem_init(&s.opened, 0);
        thrum_mutex_init(&s.gate);
        thrum_mutex_lock(&s.gate);
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.sched = r.sched;
        for (int i = 0; i < EACH; i++) {
            CHECK_EQ(thrum_go_with(&attr, has_joined, &s), 0);
            CHECK_EQ(thrum_go_with(&attr, joins_behind_the_gate, &s), 0);
        }
        for (int i = 0; i < 2 * EACH; i++) {
            CHECK_EQ(thrum_sem_wait(&s.opened), 0);
        }
        CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
        thrum_mutex_unlock(&s.gate);
        rig_stop(&r);
        CHECK_EQ(atomic_load(&s.said), 2 * EACH);
    }
}

static int fails_behind_the_gate(void *arg) {
    thrum_mutex *closed = arg;
    thrum_mutex_lock(closed);
    thrum_mutex_unlock(closed);
    return -EIO;
}

static int joins_what_fails(void *arg) {
    stopped *s = arg;
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, fails_behind_the_gate, &s->gate), 0);
    thrum_sem_post(&s->opened);
    CHECK_EQ(thrum_scope_join(&scope), -ECANCELED);
    atomic_fetch_add(&s->said, 1);
    return 0;
}

TEST(a_failure_after_a_stop_is_not_the_reason) {
    /* The stop has cancelled the scope's task before; the join returns what came first. */
    stopped s = {.said = 0};
    rig r;
    rig_begin(&r, 0);
    thrum_sem_init(&s.opened, 0);
    thrum_mutex_init(&s.gate);
    thrum_mutex_lock(&s.gate);
    rig_go(&r, joins_what_fails, &s);
    CHECK_EQ(thrum_sem_wait(&s.opened), 0);
    CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
    thrum_mutex_unlock(&s.gate);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&s.said), 1);
}

static int opens_nothing(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_scope_open(NULL, THRUM_FOREVER), -EINVAL);
    return 0;
}

TEST(scope_that_is_none) {
    /* It is -EINVAL in a task, too. */
    in_task(opens_nothing, NULL);
}
