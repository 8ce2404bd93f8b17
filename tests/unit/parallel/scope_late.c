/*
 * scope_late.c: deadlines of scopes that no worker is free to see, or that had passed before.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

static thrum_sem never;

static int waits(void *arg) {
    (void)arg;
    return thrum_sem_wait(&never);
}

/* Computes, and asks now and then: where all tasks compute nothing else sees the deadline. */
static int computes(void *arg) {
    (void)arg;
    while (!thrum_cancelled()) {
    }
    return 0;
}

/* Runs a test in a task, and in a thread that is bound to a scheduler without workers. */
static void in_task(thrum_fn fn) {
    rig r;
    thrum_sem_init(&never, 0);
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, fn, &r), 0);
    rig_stop(&r);
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(rig_run(&r, fn, &r), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

/* ---- all workers compute ---- */

static int crowd(const rig *r) {
    return 2 * (int)thrum_sched_parallelism(r->sched) + 2;
}

static int all_compute(void *arg) {
    thrum_scope scope;
    const thrum_time when = soon();
    CHECK_EQ(thrum_scope_open(&scope, when), 0);
    for (int i = 0; i < crowd(arg); i++) {
        CHECK_EQ(thrum_scope_go(&scope, computes, NULL), 0);
    }
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    CHECK_PASSED(when);
    CHECK(!thrum_cancelled());
    return 0;
}

TEST(a_deadline_is_seen_while_all_workers_compute) {
    /* It is seen by the task that asks whether it is cancelled. */
    in_task(all_compute);
}

static int forks_one(void *arg) {
    thrum_fork fork;
    thrum_fork_start(&fork, computes, NULL);
    computes(arg);
    return thrum_fork_join(&fork);
}

static int all_fork(void *arg) {
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, soon()), 0);
    for (int i = 0; i < crowd(arg); i++) {
        CHECK_EQ(thrum_scope_go(&scope, forks_one, NULL), 0);
    }
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    return 0;
}

TEST(a_deadline_is_seen_in_calls_made_for_a_child) {
    /* Forks have their task's deadline. */
    in_task(all_fork);
}

/* ---- the outermost one ---- */

typedef struct levels {
    rig *r;
    int depth;
    int codes[8];
} levels;

static int goes_deeper(void *arg) {
    levels *l = arg;
    const int depth = l->depth++;
    thrum_scope scope;
    if (depth == (int)COUNT_OF(l->codes)) {
        return computes(NULL);
    }
    CHECK_EQ(thrum_scope_open(&scope, depth % 2 ? THRUM_FOREVER : far_off()), 0);
    CHECK_EQ(thrum_scope_go(&scope, goes_deeper, l), 0);
    l->codes[depth] = thrum_scope_join(&scope);
    return 0;
}

static int has_levels(void *arg) {
    levels l = {.r = arg};
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, soon()), 0);
    CHECK_EQ(thrum_scope_go(&scope, waits, NULL), 0); /* in the outermost one: it ends, too */
    CHECK_EQ(thrum_scope_go(&scope, goes_deeper, &l), 0);
    for (int i = 0; i < crowd(arg); i++) {
        CHECK_EQ(thrum_scope_go(&scope, computes, NULL), 0);
    }
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    for (size_t i = 0; i < COUNT_OF(l.codes); i++) {
        CHECK_EQ(l.codes[i], l.depth > (int)i ? -ETIMEDOUT : 0);
    }
    return 0;
}

TEST(the_outermost_scope_that_is_late_is_cancelled) {
    /* With it all below it are cancelled, whichever task was the first to ask. */
    in_task(has_levels);
}

static int is_not_its_child(void *arg) {
    thrum_scope outer, inner;
    const thrum_time when = soon();
    (void)arg;
    CHECK_EQ(thrum_scope_open(&outer, when), 0);
    CHECK_EQ(thrum_scope_open(&inner, THRUM_FOREVER), 0);
    await_passed(when);
    CHECK(!thrum_cancelled());
    CHECK_EQ(thrum_scope_go(&inner, waits, NULL), 0);
    CHECK_EQ(thrum_scope_join(&inner), -ETIMEDOUT);
    CHECK_EQ(thrum_scope_go(&outer, computes, NULL), 0);
    CHECK_EQ(thrum_scope_join(&outer), -ETIMEDOUT);
    CHECK(!thrum_cancelled());
    return 0;
}

TEST(the_owner_is_not_cancelled_by_its_own_scopes) {
    /*
     * The owner's deadline is that of its children, also of those in scopes that it opens within.
     */
    in_task(is_not_its_child);
}

/* ---- late from the start ---- */

static int is_cancelled(void *arg) {
    (void)arg;
    CHECK(thrum_cancelled());
    CHECK_EQ(thrum_sem_wait(&never), -ECANCELED);
    return 0;
}

static int opens_within(void *arg) {
    thrum_scope scope;
    CHECK(thrum_cancelled());
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, is_cancelled, NULL), 0);
    *(int *)arg = thrum_scope_join(&scope);
    return 0;
}

static int opens_late(void *arg) {
    int within = 0;
    thrum_scope scope;
    (void)arg;
    const thrum_time late[] = {INT64_MIN, 0, past(), past() + 1};
    for (size_t i = 0; i < COUNT_OF(late); i++) {
        CHECK_EQ(thrum_scope_open(&scope, late[i]), 0);
        CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT); /* an empty scope */
        CHECK_EQ(thrum_scope_open(&scope, late[i]), 0);
        CHECK_EQ(thrum_scope_go(&scope, is_cancelled, NULL), 0);
        CHECK_EQ(thrum_scope_go(&scope, opens_within, &within), 0);
        CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
        CHECK_EQ(within, -ETIMEDOUT);
    }
    return 0;
}

TEST(a_scope_opened_past_its_deadline_is_born_cancelled) {
    /* All children see it from their first step, and the join says why. */
    in_task(opens_late);
}

static int opens_until_late(void *arg) {
    thrum_scope scope;
    int code = 0;
    (void)arg;
    while (!code) {
        CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
        code = thrum_scope_join(&scope);
    }
    CHECK_EQ(code, -ETIMEDOUT);
    return 0;
}

static int has_children_that_open(void *arg) {
    for (int round = 0; round < SCALED(50); round++) {
        thrum_scope scope;
        CHECK_EQ(thrum_scope_open(&scope, soon()), 0);
        for (int i = 0; i < crowd(arg); i++) {
            CHECK_EQ(thrum_scope_go(&scope, opens_until_late, NULL), 0);
        }
        CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    }
    return 0;
}

TEST(a_scope_that_is_opened_as_it_gets_late_says_why) {
    /* Another worker may cancel the owner while it opens one. */
    in_task(has_children_that_open);
}

/* ---- passed while the worker computed ---- */

static int ends(void *arg) {
    (void)arg;
    return 0;
}

static int passes_time(void *arg) {
    await_passed(*(thrum_time *)arg);
    return 0;
}

static int tells_whether(void *arg) {
    *(bool *)arg = thrum_cancelled();
    return 0;
}

static int joins_late(void *arg) {
    thrum_scope scope;
    thrum_time when = soon();
    bool cancelled = false;
    (void)arg;
    CHECK_EQ(thrum_scope_open(&scope, when), 0);
    await_passed(when);
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT); /* without children */
    when = soon();
    CHECK_EQ(thrum_scope_open(&scope, when), 0);
    CHECK_EQ(thrum_scope_go(&scope, ends, NULL), 0);
    await_passed(when);
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT); /* perhaps it has ended in time */
    when = soon();
    CHECK_EQ(thrum_scope_open(&scope, when), 0);
    CHECK_EQ(thrum_scope_go(&scope, passes_time, &when), 0);
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    CHECK_EQ(thrum_scope_open(&scope, far_off()), 0);
    CHECK_EQ(thrum_scope_go(&scope, ends, NULL), 0);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    CHECK_EQ(thrum_with_deadline(far_off(), ends, NULL, NULL), 0);
    when = soon();
    CHECK_EQ(thrum_with_deadline(when, passes_time, &when, NULL), -ETIMEDOUT);
    when = soon();
    CHECK_EQ(thrum_scope_open(&scope, when), 0);
    await_passed(when);
    CHECK_EQ(thrum_scope_go(&scope, tells_whether, &cancelled), 0);
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    CHECK(cancelled);
    CHECK(!thrum_cancelled());
    return 0;
}

TEST(a_deadline_counts_that_nothing_else_has_seen) {
    /* The join looks at the clock, also if every worker was busy until then. */
    in_task(joins_late);
}

/* ---- a cancel that is late ---- */

static int cancels_it(void *arg) {
    thrum_scope_cancel(arg);
    return 0;
}

static int gives_way(void *arg) {
    for (intptr_t n = (intptr_t)arg; n > 0; n--) {
        thrum_yield();
    }
    return 0;
}

static int joins_beside_a_cancel(void *arg) {
    (void)arg;
    for (int i = 0; i < check_scaled(50); i++) {
        thrum_scope scope;
        CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
        thrum_handle *canceller;
        CHECK_EQ(thrum_spawn(&canceller, cancels_it, &scope), 0);
        for (intptr_t k = 0; k < 300; k++) { /* a cancel of so many lets others run meanwhile */
            CHECK_EQ(thrum_scope_go(&scope, gives_way, (void *)(k % (i + 1))), 0);
        }
        int err = thrum_scope_join(&scope);
        CHECK(err == 0 || err == -ECANCELED);
        CHECK_EQ(thrum_join(canceller, NULL), 0);
        thrum_scope_cancel(&scope); /* there is nothing left */
    }
    return 0;
}

TEST(a_cancel_may_come_while_its_scope_is_joined) {
    /* Before the join, in the middle of it, behind it: the scope's memory is there all the time. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, joins_beside_a_cancel, NULL), 0);
    rig_stop(&r);
}
