/*
 * cancel.c: stop_until past its deadline against waits that begin, are woken, or end meanwhile
 * (core/wait/WAITING.md, "Cancelling").
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/state/handle.h"
#include "core/state/worker.h"
#include "whole.h"

static thrum_sched *sched;
static int codes[4];
static int told; /* plain */

static void begin(unsigned workers) {
    thrum_config config = whole_config(workers);
    sched = whole_start(&config);
}

static void go(thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, fn, arg) == 0);
}

/* Whether something was left to be cancelled. */
static bool stop_late(void) {
    int code = thrum_sched_stop_until(sched, thrum_now());
    sim_check(code == 0 || code == -ETIMEDOUT);
    if (code) {
        whole_stop(sched);
    }
    return code != 0;
}

/* ---- waits that nothing else ends ---- */

/* Frees its object as soon as the wait has returned: no thread may still touch it. */
static int waits_and_frees(void *arg) {
    thrum_sem *sem = arg;
    codes[0] = thrum_sem_wait(sem);
    sim_free(sem);
    return 0;
}

/* The fiber is about to wait, waits, or has not begun. */
SIM_WORLD(cancel_sem, .heavy = true) {
    begin(1);
    thrum_sem *sem = sim_alloc(sizeof *sem);
    thrum_sem_init(sem, 0);
    go(waits_and_frees, sem);
    sim_check(stop_late());
    sim_check(codes[0] == -ECANCELED);
}

/*
 * The same where the system cannot order processors: the fiber fences, and so does the canceller.
 */
SIM_WORLD(cancel_without_barrier, .heavy = true) {
    begin(1);
    sched->can_order = false;
    thrum_sem *sem = sim_alloc(sizeof *sem);
    thrum_sem_init(sem, 0);
    go(waits_and_frees, sem);
    sim_check(stop_late());
    sim_check(codes[0] == -ECANCELED);
}

static int waits_for_group(void *arg) {
    thrum_waitgroup *wg = arg;
    codes[1] = thrum_waitgroup_wait(wg);
    sim_free(wg);
    return 0;
}

/* The same with a wait that commits after its list was unlocked, and a second worker. */
SIM_WORLD(cancel_waitgroup, .heavy = true) {
    begin(2);
    thrum_waitgroup *wg = sim_alloc(sizeof *wg);
    thrum_waitgroup_init(wg, 1);
    go(waits_for_group, wg);
    sim_check(stop_late());
    sim_check(codes[1] == -ECANCELED);
}

/* ---- against a wake ---- */

static thrum_sem shared_sem;
static thrum_event event;
static thrum_mutex mutex;
static thrum_cond cond;

static int waits_for_unit(void *arg) {
    int *code = arg;
    *code = thrum_sem_wait(&shared_sem);
    sim_check(*code || told == 7);
    return 0;
}

static void posts_two(void *arg) {
    (void)arg;
    told = 7;
    thrum_sem_post(&shared_sem);
    thrum_sem_post(&shared_sem);
}

/*
 * A unit goes to the wait that reports one, or stays; its giver's writes come with it.
 */
SIM_WORLD(cancel_against_post, .heavy = true) {
    begin(1);
    thrum_sem_init(&shared_sem, 0);
    go(waits_for_unit, &codes[0]);
    go(waits_for_unit, &codes[1]);
    int t = sim_spawn(posts_two, NULL);
    stop_late();
    sim_join(t);
    unsigned left = 2;
    for (unsigned i = 0; i < 2; i++) {
        sim_check(codes[i] == 0 || codes[i] == -ECANCELED);
        left -= codes[i] == 0;
    }
    for (; left; left--) {
        sim_check(thrum_sem_try_wait(&shared_sem) == 0);
    }
    sim_check(thrum_sem_try_wait(&shared_sem) == -EAGAIN);
}

static int waits_for_event(void *arg) {
    (void)arg;
    codes[0] = thrum_event_wait(&event);
    sim_check(codes[0] || told == 7);
    return 0;
}

static void signals(void *arg) {
    (void)arg;
    told = 7;
    thrum_event_signal(&event);
}

/* The same with an event that one waiter takes. */
SIM_WORLD(cancel_against_signal, .heavy = true) {
    begin(2);
    thrum_event_init(&event, THRUM_EVENT_AUTO, false);
    go(waits_for_event, NULL);
    int t = sim_spawn(signals, NULL);
    stop_late();
    sim_join(t);
    sim_check(codes[0] == 0 || codes[0] == -ECANCELED);
    sim_check(thrum_event_test(&event) == (codes[0] != 0));
}

/* ---- the mutex of a cond ---- */

static int waits_for_told(void *arg) {
    (void)arg;
    int code = 0;
    thrum_mutex_lock(&mutex);
    while (!told && !code) {
        code = thrum_cond_wait(&cond, &mutex);
    }
    sim_check(code || told == 7); /* it has the mutex in any case, or there would be a race */
    codes[2]++;
    thrum_mutex_unlock(&mutex);
    return 0;
}

static void tells(void *arg) {
    (void)arg;
    thrum_mutex_lock(&mutex);
    told = 7;
    codes[2]++;
    thrum_cond_signal(&cond);
    thrum_mutex_unlock(&mutex);
}

/* A cancelled wait comes back with the mutex. */
SIM_WORLD(cancel_cond, .heavy = true) {
    begin(1);
    thrum_mutex_init(&mutex);
    thrum_cond_init(&cond);
    go(waits_for_told, NULL);
    int t = sim_spawn(tells, NULL);
    stop_late();
    sim_join(t);
    sim_check(codes[2] == 2);
}

/* ---- join, sleep ---- */

static int seven(void *arg) {
    (void)arg;
    told = 7;
    return 7;
}

static int joins(void *arg) {
    (void)arg;
    thrum_handle *child;
    int result = 0;
    sim_check(thrum_spawn(&child, seven, NULL) == 0);
    codes[0] = thrum_join(child, &result);
    if (codes[0]) {
        sim_check(codes[0] == -ECANCELED);
        sim_check(thrum_detach(child) == 0);
    } else {
        sim_check(result == 7 && told == 7);
    }
    codes[1] = thrum_sleep(1000000);
    sim_check(codes[1] == 0 || codes[1] == -ECANCELED);
    return 0;
}

/* The end of the task meets the cancel: the handle is spent, or still the joiner's. */
SIM_WORLD(cancel_join, .heavy = true) {
    begin(2);
    go(joins, NULL);
    stop_late();
}

/* ---- scopes that are open ---- */

static thrum_sem nobody_posts;

static int forgives(void *arg) {
    (void)arg;
    sim_check(thrum_sem_wait(&nobody_posts) == -ECANCELED);
    return 0; /* this is no failure: the scope's reason is the stop's */
}

/* The scope's memory is gone as soon as it is joined. */
static int opens_one(void *arg) {
    thrum_scope *scope = sim_alloc(sizeof *scope);
    sim_check(thrum_scope_open(scope, THRUM_FOREVER) == 0);
    sim_check(thrum_scope_go(scope, arg ? (thrum_fn)opens_one : forgives, NULL) == 0);
    codes[arg != NULL] = thrum_scope_join(scope);
    sim_free(scope);
    return 0;
}

static void cancel_scopes(unsigned workers, bool can_order, bool nested) {
    begin(workers);
    if (!can_order) {
        sched->can_order = false;
    }
    thrum_sem_init(&nobody_posts, 0);
    go(opens_one, nested ? &nobody_posts : NULL);
    sim_check(stop_late());
    sim_check(codes[0] == -ECANCELED);
    sim_check(codes[1] == (nested ? -ECANCELED : 0));
}

/* A task opens a scope, fills it and joins it: the join reports the stop. */
SIM_WORLD(cancel_open_scope, .heavy = true) {
    cancel_scopes(1, true, false);
}

SIM_WORLD(cancel_open_scope_2, .heavy = true) {
    cancel_scopes(2, true, false);
}

SIM_WORLD(cancel_open_scope_without_barrier, .heavy = true) {
    cancel_scopes(1, false, false);
}

/* A child opens a scope of its own in it. */
SIM_WORLD(cancel_open_scopes, .heavy = true) {
    cancel_scopes(2, true, true);
}
