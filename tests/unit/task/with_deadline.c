/*
 * with_deadline.c: a deadline for the caller itself.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

static thrum_sem never;
static thrum_sem begun;

/* Runs a test in a task with a handle, one without, an intrusive one, and on a bound thread. */
typedef struct call {
    thrum_fn fn;
    rig *r;
    thrum_event done;
    thrum_task task;
} call;

static int called(void *arg) {
    call *c = arg;
    CHECK_EQ(c->fn(c->r), 0);
    CHECK(!thrum_cancelled());
    CHECK_EQ(thrum_deadline(), THRUM_FOREVER);
    nap();
    thrum_event_signal(&c->done);
    return 0;
}

static void called_by_task(thrum_task *self, void *arg) {
    (void)self;
    called(arg);
}

static void each_way(rig *r, thrum_fn fn) {
    call c = {.fn = fn, .r = r};
    thrum_event_init(&c.done, THRUM_EVENT_AUTO, false);
    CHECK_EQ(rig_run(r, called, &c), 0);
    CHECK_EQ(thrum_event_wait(&c.done), 0);
    rig_go(r, called, &c);
    CHECK_EQ(thrum_event_wait(&c.done), 0);
    thrum_task_init(&c.task, called_by_task, &c);
    CHECK_EQ(thrum_task_post(r->sched, &c.task), 0);
    CHECK_EQ(thrum_event_wait(&c.done), 0);
}

static void everywhere(thrum_fn fn) {
    rig r;
    thrum_sem_init(&never, 0);
    rig_begin(&r, 0);
    each_way(&r, fn);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(fn(&r), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    each_way(&r, fn);
    CHECK_EQ(fn(&r), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

static int returns(void *arg) {
    return (int)(intptr_t)arg;
}

static int waits(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_sem_wait(&never), -ECANCELED);
    CHECK(thrum_cancelled());
    return 7;
}

/* ---- what it returns ---- */

static int ends_in_time(void *arg) {
    int result = 0;
    (void)arg;
    CHECK_EQ(thrum_with_deadline(far_off(), returns, (void *)5, &result), 0);
    CHECK_EQ(result, 5);
    CHECK_EQ(thrum_with_deadline(THRUM_FOREVER, returns, (void *)-6, &result), 0);
    CHECK_EQ(result, -6); /* its failure is no cancel */
    CHECK_EQ(thrum_with_deadline(THRUM_FOREVER, returns, NULL, NULL), 0);
    CHECK_EQ(thrum_with_deadline(THRUM_FOREVER, NULL, NULL, &result), -EINVAL);
    return 0;
}

TEST(it_returns_what_the_function_did) {
    /* It does so when it ends in time, wherever it is called. */
    everywhere(ends_in_time);
}

static int computes(void *arg) {
    (void)arg;
    while (!thrum_cancelled()) {
    }
    CHECK_EQ(sleep_until_cancelled(), -ECANCELED);
    return 8;
}

static int computes_late(void *arg) {
    int result = 0;
    (void)arg;
    CHECK_EQ(thrum_with_deadline(soon(), computes, NULL, &result), -ETIMEDOUT);
    CHECK_EQ(result, 8);
    return 0;
}

TEST(it_is_seen_by_a_task_that_computes) {
    /* No other worker needs to be free. */
    everywhere(computes_late);
}

static int is_cancelled(void *arg) {
    CHECK(thrum_cancelled());
    return waits(arg);
}

static int is_past(void *arg) {
    int result = 0;
    (void)arg;
    CHECK_EQ(thrum_with_deadline(past(), is_cancelled, NULL, &result), -ETIMEDOUT);
    CHECK_EQ(result, 7);
    CHECK_EQ(thrum_with_deadline(INT64_MIN, is_cancelled, NULL, &result), -ETIMEDOUT);
    return 0;
}

TEST(past_the_deadline_it_is_called_cancelled) {
    /* The function must see that itself. */
    everywhere(is_past);
}

TEST(off_a_task_there_is_none) {
    /* It is -ESRCH, and nothing is called. */
    int result = 3;
    CHECK_EQ(thrum_with_deadline(THRUM_FOREVER, returns, NULL, &result), -ESRCH);
    CHECK_EQ(result, 3);
}

/* ---- scopes, forks ---- */

static int has_a_scope(void *arg) {
    thrum_scope scope;
    (void)arg;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, waits, NULL), 0);
    CHECK_EQ(thrum_scope_go(&scope, computes, NULL), 0);
    return thrum_scope_join(&scope);
}

static int has_forks(void *arg) {
    thrum_fork forks[3];
    (void)arg;
    for (size_t i = 0; i < COUNT_OF(forks); i++) {
        thrum_fork_start(&forks[i], i == 1 ? computes : waits, NULL);
    }
    for (size_t i = COUNT_OF(forks); i-- > 0;) {
        CHECK_EQ(thrum_fork_join(&forks[i]), i == 1 ? 8 : 7);
    }
    return 4;
}

static int has_others(void *arg) {
    int result = 0;
    (void)arg;
    CHECK_EQ(thrum_with_deadline(soon(), has_a_scope, NULL, &result), -ETIMEDOUT);
    CHECK_EQ(result, -ETIMEDOUT);
    CHECK_EQ(thrum_with_deadline(soon(), has_forks, NULL, &result), -ETIMEDOUT);
    CHECK_EQ(result, 4);
    return 0;
}

TEST(what_it_starts_is_cancelled_with_it) {
    /* It opens scopes, and others make its forks. */
    everywhere(has_others);
}

static int opens_late(void *arg) {
    thrum_scope scope;
    await_passed(*(thrum_time *)arg);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, waits, NULL), 0);
    return thrum_scope_join(&scope);
}

static int tells_it(void *arg) {
    int result = 0;
    thrum_time when = soon();
    (void)arg;
    CHECK_EQ(thrum_with_deadline(when, opens_late, &when, &result), -ETIMEDOUT);
    CHECK_EQ(result, -ETIMEDOUT);
    return 0;
}

TEST(a_scope_that_is_opened_past_the_deadline_tells_it) {
    /* The worker is busy, so the deadline's own timer has not been looked at. */
    everywhere(tells_it);
}

static int posts_and_ends(void *arg) {
    CHECK_EQ(thrum_sem_wait(arg), 0);
    return 0;
}

static int is_in_a_scope(void *arg) {
    thrum_scope scope;
    thrum_sem sem;
    (void)arg;
    thrum_sem_init(&sem, 0);
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, posts_and_ends, &sem), 0);
    CHECK_EQ(thrum_with_deadline(soon(), waits, NULL, NULL), -ETIMEDOUT);
    thrum_sem_post(&sem);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    return 0;
}

TEST(what_was_started_before_is_not) {
    /* A scope around it goes on, with its children. */
    everywhere(is_in_a_scope);
}

/* ---- cancelled by an external thread ---- */

static int tells_and_waits(void *arg) {
    thrum_sem_post(&begun);
    return waits(arg);
}

static int one_more(void *arg) {
    int depth = (int)(intptr_t)arg;
    int result = 0;
    if (depth == 0) {
        return tells_and_waits(NULL);
    }
    thrum_time when = depth % 2 ? THRUM_FOREVER : far_off();
    CHECK_EQ(thrum_with_deadline(when, one_more, (void *)(intptr_t)(depth - 1), &result),
             -ECANCELED);
    CHECK(thrum_cancelled());
    CHECK_EQ(sleep_until_cancelled(), -ECANCELED);
    return result;
}

static int then_again(void *arg) {
    int result = one_more(arg);
    CHECK_EQ(thrum_with_deadline(far_off(), is_cancelled, NULL, NULL), -ECANCELED);
    return result;
}

TEST(a_cancel_of_the_task_is_told_from_the_deadline) {
    /* This holds at any depth, and in a task that is cancelled already. */
    rig r;
    thrum_sem_init(&never, 0);
    thrum_sem_init(&begun, 0);
    rig_begin(&r, 0);
    for (intptr_t depth = 0; depth < 6; depth++) {
        const thrum_attr attr = rig_attr(&r);
        thrum_handle *handle;
        int result = 0;
        CHECK_EQ(thrum_spawn_with(&handle, &attr, then_again, (void *)depth), 0);
        CHECK_EQ(thrum_sem_wait(&begun), 0);
        CHECK_EQ(thrum_cancel(handle), 0);
        CHECK_EQ(thrum_join(handle, &result), 0);
        CHECK_EQ(result, 7);
    }
    rig_stop(&r);
}

static int crosses(void *arg) {
    int depth = (int)(intptr_t)arg;
    thrum_fork fork;
    if (depth == 0) {
        return thrum_sem_wait(&never);
    }
    thrum_fork_start(&fork, crosses, (void *)(intptr_t)(depth / 2));
    int code = thrum_with_deadline(thrum_after_us(depth * 31 % 97), crosses,
                                   (void *)(intptr_t)(depth - 1), NULL);
    CHECK(code == -ECANCELED || code == -ETIMEDOUT);
    code = depth % 3 ? thrum_cancelled() : thrum_sem_wait_until(&never, soon());
    CHECK(code == 0 || code == 1 || code == -ECANCELED || code == -ETIMEDOUT);
    code = thrum_fork_join(&fork);
    return code ? -ECANCELED : 0;
}

TEST(cancels_and_deadlines_cross) {
    /* Wherever they meet, all return, and nothing that is gone is touched. */
    rig r;
    thrum_sem_init(&never, 0);
    rig_begin(&r, 0);
    for (int i = 0; i < SCALED(300); i++) {
        const thrum_attr attr = rig_attr(&r);
        thrum_handle *handle;
        CHECK_EQ(thrum_spawn_with(&handle, &attr, crosses, (void *)(intptr_t)(1 + i % 5)), 0);
        for (volatile int turns = i * 37 % 3000 * 30; turns > 0; turns--) {
        }
        CHECK_EQ(thrum_cancel(handle), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
    }
    rig_stop(&r);
}

static int is_stopped(void *arg) {
    CHECK_EQ(thrum_with_deadline(far_off(), tells_and_waits, arg, NULL), -ECANCELED);
    return 0;
}

TEST(a_stop_cancels_it) {
    /* It cancels it like all waits. */
    rig r;
    thrum_sem_init(&never, 0);
    thrum_sem_init(&begun, 0);
    rig_begin(&r, 0);
    rig_go(&r, is_stopped, NULL);
    CHECK_EQ(thrum_sem_wait(&begun), 0);
    CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
    rig_stop(&r);
}

static int joins_itself(void *arg) {
    return thrum_join(*(thrum_handle **)arg, NULL);
}

static int would_join_itself(void *arg) {
    int result = 0;
    CHECK_EQ(thrum_sem_wait(&begun), 0);
    CHECK_EQ(thrum_with_deadline(far_off(), joins_itself, arg, &result), 0);
    return result;
}

TEST(a_task_is_itself_in_there) {
    /* Joining itself is -EDEADLK. */
    rig r;
    thrum_handle *handle;
    int result = 0;
    thrum_sem_init(&begun, 0);
    rig_begin(&r, 0);
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, would_join_itself, &handle), 0);
    thrum_sem_post(&begun);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -EDEADLK);
    rig_stop(&r);
}

static void run_left_open(void *arg);

static int leaves_a_scope_open(void *arg) {
    return thrum_scope_open(arg, THRUM_FOREVER);
}

static int leaves_one(void *arg) {
    return thrum_with_deadline(THRUM_FOREVER, leaves_a_scope_open, arg, NULL);
}

static void run_left_open(void *arg) {
    static thrum_scope scope;
    rig r;
    (void)arg;
    rig_begin(&r, 0);
    (void)rig_run(&r, leaves_one, &scope);
}

TEST(a_scope_left_open_in_it_aborts) {
    /* The scope lay in a frame that is gone. */
    check_dies(run_left_open, NULL, "thrum_with_deadline: a scope that the function has opened");
}
