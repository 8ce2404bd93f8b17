/*
 * barrier.c: a system that cannot order other threads' processors: all asymmetric fences are shut.
 */
/* matrix: policy workers */
#include "support/report/printed.h"
#include "support/support.h"
#include "support/times.h"

#include "core/state/worker.h"
#include "platform/faults.h"

static int children(void *arg) {
    const int depth = (int)(intptr_t)arg;
    if (depth == 0) {
        return 1;
    }
    thrum_handle *handles[4];
    int sum = 0;
    int result = 0;
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(thrum_spawn(&handles[i], children, (void *)(intptr_t)(depth - 1)), 0);
    }
    thrum_yield();
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(thrum_join(handles[i], &result), 0);
        sum += result;
    }
    return sum;
}

static void begin_refused(rig *r) {
    th_os_fail(TH_OS_FAULT_BARRIER, 0, UINT32_MAX);
    rig_begin(r, 0);
    CHECK(!r->sched->can_order); /* the barrier was asked for, or there is none */
}

TEST(trees_grow_without_a_barrier) {
    /* Tasks spawn, yield and join, with much to take in batches. */
    rig r;
    begin_refused(&r);
    CHECK_EQ(rig_run(&r, children, (void *)(intptr_t)7), 16384);
    rig_stop(&r);
}

typedef struct long_task {
    rig *r;
    thrum_task task;
    atomic_int ran;
} long_task;

static void run_behind(thrum_task *self, void *arg) {
    (void)self;
    atomic_fetch_add(&((long_task *)arg)->ran, 1);
}

static int post_and_spin(void *arg) {
    long_task *l = arg;
    thrum_task_init(&l->task, run_behind, l);
    CHECK_EQ(thrum_task_post_hint(l->r->sched, &l->task, THRUM_HINT_NEXT), 0);
    SPIN_UNTIL(atomic_load(&l->ran) == 1);
    return 0;
}

/*
 * ---- a barrier that is refused only after the start, as in a sandbox that is entered later ----
 */

/* Where there is none from the start, as under wine, nothing is asked that could be refused. */
static void needs_barrier(const thrum_sched *sched) {
    if (!sched->can_order) {
        CHECK_SKIP("the system has no barrier");
    }
}

typedef struct blocked {
    thrum_sem sem;
    atomic_int waiting;
    int untimed, timed;
} blocked;

static int wait_untimed(void *arg) {
    blocked *b = arg;
    atomic_fetch_add(&b->waiting, 1);
    b->untimed = thrum_sem_wait(&b->sem);
    return 0;
}

static int wait_timed(void *arg) {
    blocked *b = arg;
    atomic_fetch_add(&b->waiting, 1);
    b->timed = thrum_sem_wait_until(&b->sem, far_off());
    return 0;
}

TEST(stop_until_comes_back_though_the_barrier_is_refused_for_good) {
    /* What waits with a deadline is cancelled; what waits without one is left to its waker. */
    rig r;
    blocked b = {.untimed = 1, .timed = 1};
    thrum_attr attr = THRUM_ATTR_INIT;
    rig_begin(&r, 0);
    needs_barrier(r.sched);
    thrum_sem_init(&b.sem, 0);
    attr.sched = r.sched;
    CHECK_EQ(thrum_go_with(&attr, wait_untimed, &b), 0);
    CHECK_EQ(thrum_go_with(&attr, wait_timed, &b), 0);
    SPIN_UNTIL(atomic_load(&b.waiting) == 2);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    th_os_fail(TH_OS_FAULT_BARRIER, 0, UINT32_MAX);
    CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
    CHECK(th_os_fails_left(TH_OS_FAULT_BARRIER) < UINT32_MAX); /* the barrier was asked for */
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(b.timed, -ECANCELED);
    CHECK_EQ(b.untimed, 1); /* it still waits */
    thrum_sem_post(&b.sem);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
    CHECK_EQ(b.untimed, 0);
    th_os_fail(TH_OS_FAULT_BARRIER, 0, 0);
}

static int wait_twice(void *arg) {
    blocked *b = arg;
    atomic_fetch_add(&b->waiting, 1);
    b->untimed = thrum_sem_wait(&b->sem);
    b->timed = thrum_sem_wait(&b->sem);
    return 0;
}

TEST(cancel_though_the_barrier_is_refused_for_good) {
    /* A task that waits is left to its waker; from then on it is cancelled. */
    rig r;
    blocked b = {.untimed = 1, .timed = 1};
    thrum_handle *handle = NULL;
    rig_begin(&r, 0);
    needs_barrier(r.sched);
    thrum_sem_init(&b.sem, 0);
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, wait_twice, &b), 0);
    SPIN_UNTIL(atomic_load(&b.waiting) == 1);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    th_os_fail(TH_OS_FAULT_BARRIER, 0, UINT32_MAX);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK(th_os_fails_left(TH_OS_FAULT_BARRIER) < UINT32_MAX); /* the barrier was asked for */
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(b.untimed, 1); /* it still waits */
    thrum_sem_post(&b.sem);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(b.untimed, 0);
    CHECK_EQ(b.timed, -ECANCELED);
    rig_stop(&r);
    th_os_fail(TH_OS_FAULT_BARRIER, 0, 0);
}

typedef struct scoped {
    blocked b;
    thrum_scope scope;
} scoped;

static int cancel_scope(void *arg) {
    scoped *s = arg;
    CHECK_EQ(thrum_scope_open(&s->scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&s->scope, wait_twice, &s->b), 0);
    YIELD_UNTIL(atomic_load(&s->b.waiting) == 1);
    needs_barrier(thrum_sched_current());
    th_os_fail(TH_OS_FAULT_BARRIER, 0, UINT32_MAX);
    thrum_scope_cancel(&s->scope);
    CHECK(th_os_fails_left(TH_OS_FAULT_BARRIER) < UINT32_MAX); /* the barrier was asked for */
    thrum_sem_post(&s->b.sem);
    CHECK_EQ(thrum_scope_join(&s->scope), -ECANCELED);
    if (s->b.untimed == 0) {
        CHECK_EQ(s->b.timed, -ECANCELED);
    } else { /* it had not begun to wait; its second wait takes the unit if that is there */
        CHECK_EQ(s->b.untimed, -ECANCELED);
        CHECK(s->b.timed == 0 || s->b.timed == -ECANCELED);
    }
    th_os_fail(TH_OS_FAULT_BARRIER, 0, 0);
    return 0;
}

static void must_not_report(void *ctx, const char *report) {
    (void)ctx;
    CHECK_STR(report, "no deadlock is told");
}

TEST(dump_though_the_barrier_is_refused_for_good) {
    /*
     * No fiber can be held, so what waits is reported as ready, with a word about it; no deadlock
     * is found.
     */
    rig r;
    blocked b = {.untimed = 1, .timed = 1};
    size_t length;
    rig_init(&r);
    r.config.deadlock = must_not_report;
    rig_start(&r);
    needs_barrier(r.sched);
    th_os_fail(TH_OS_FAULT_BARRIER, 0, UINT32_MAX);
    thrum_sem_init(&b.sem, 0);
    rig_go(&r, wait_untimed, &b);
    SPIN_UNTIL(atomic_load(&b.waiting) == 1);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    FILE *out = tmpfile();
    CHECK(out != NULL);
    CHECK_EQ(thrum_dump(r.sched, out, THRUM_TEXT), 0);
    char *text = printed_end(out, &length);
    CHECK(th_os_fails_left(TH_OS_FAULT_BARRIER) < UINT32_MAX); /* the barrier was asked for */
    CHECK(strstr(text, ": 0 waiting, 1 ready, 0 running\n") != NULL);
    CHECK(
        strstr(text, "\n  the system grants no barrier: waiting fibers are reported as ready\n") !=
        NULL);
    CHECK(strstr(text, " is ready\n") != NULL);
    free(text);
    thrum_sem_post(&b.sem);
    rig_wait_done(&r);
    th_os_fail(TH_OS_FAULT_BARRIER, 0, 0); /* not earlier: a worker may look as late as it likes */
    CHECK_EQ(b.untimed, 0);
    rig_stop(&r);
}

TEST(scope_is_cancelled_though_the_barrier_is_refused_for_good) {
    /* The scope's tasks are cancelled from their next wait on, and it ends. */
    scoped s = {0};
    thrum_sem_init(&s.b.sem, 0);
    rig_do(0, cancel_scope, &s);
}

static atomic_int forks_run;

static int count_fork(void *arg) {
    (void)arg;
    return atomic_fetch_add(&forks_run, 1) * 0;
}

static int fork_and_spin(void *arg) {
    enum { FORKS = 8 };
    thrum_fork forks[FORKS];
    (void)arg;
    needs_barrier(thrum_sched_current());
    th_os_fail(TH_OS_FAULT_BARRIER, 0, UINT32_MAX);
    for (int i = 0; i < FORKS; i++) {
        thrum_fork_start(&forks[i], count_fork, NULL);
    }
    /* what is offered is stolen; then a worker tries for the others, for nothing */
    SPIN_UNTIL(th_os_fails_left(TH_OS_FAULT_BARRIER) < UINT32_MAX ||
               atomic_load(&forks_run) == FORKS);
    for (int i = FORKS - 1; i >= 0; i--) {
        CHECK_EQ(thrum_fork_join(&forks[i]), 0);
    }
    CHECK_EQ(atomic_exchange(&forks_run, 0), FORKS);
    th_os_fail(TH_OS_FAULT_BARRIER, 0, 0);
    return 0;
}

TEST(forks_stay_their_owners_without_a_barrier) {
    /* Other workers cannot take what they cannot rescue; each call is made once all the same. */
    if (check_env("THRUM_WORKERS", 2) < 2) {
        CHECK_SKIP("nobody else is there");
    }
    for (int i = 0; i < 20; i++) {
        rig_do(0, fork_and_spin, NULL);
    }
}

TEST(slot_is_rescued_without_a_barrier) {
    /* Rescuers exchange what is in the slot; the barrier is not called again. */
    rig r;
    if (check_env("THRUM_WORKERS", 2) < 2 || check_env("THRUM_PIN_ALL", 0) != 0) {
        CHECK_SKIP("nobody else may run it");
    }
    begin_refused(&r);
    const uint32_t left = th_os_fails_left(TH_OS_FAULT_BARRIER);
    for (int i = 0; i < SCALED(500); i++) {
        long_task l = {.r = &r};
        CHECK_EQ(rig_run(&r, post_and_spin, &l), 0);
    }
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_BARRIER), left);
    rig_stop(&r);
}
