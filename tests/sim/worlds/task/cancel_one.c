/*
 * cancel_one.c: thrum_cancel against waits that begin, are woken, or end meanwhile, and against the
 * end of the task; and cancels down a tree of scopes (core/wait/WAITING.md, "Cancelling",
 * "Scopes").
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/state/handle.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "whole.h"

static thrum_sched *sched;
static int codes[4];
static int told; /* plain */
static thrum_sem shared_sem;

static void begin(unsigned workers) {
    thrum_config config = whole_config(workers);
    sched = whole_start(&config);
    thrum_sem_init(&shared_sem, 0);
}

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

/* ---- one task ---- */

/* Frees its object as soon as the wait has returned: no thread may still touch it. */
static int waits_and_frees(void *arg) {
    thrum_sem *sem = arg;
    int code = thrum_sem_wait(sem);
    sim_free(sem);
    return code;
}

static int waits_until_and_frees(void *arg) {
    thrum_sem *sem = arg;
    int code = thrum_sem_wait_until(sem, THRUM_FOREVER - 1);
    sim_free(sem);
    return code;
}

static void cancel_a_wait(unsigned workers, bool can_order, thrum_fn fn) {
    begin(workers);
    sched->can_order = can_order && sched->can_order;
    thrum_sem *sem = sim_alloc(sizeof *sem);
    thrum_sem_init(sem, 0);
    thrum_handle *handle = spawn(fn, sem);
    sim_check(thrum_cancel(handle) == 0);
    sim_check(join(handle) == -ECANCELED);
    whole_stop(sched);
}

/* The task is about to wait, waits, or has not begun. */
SIM_WORLD(cancel_one_sem, .heavy = true) {
    cancel_a_wait(1, true, waits_and_frees);
}

SIM_WORLD(cancel_one_sem_until, .heavy = true) {
    cancel_a_wait(1, true, waits_until_and_frees);
}

/* The same where the system cannot order processors. */
SIM_WORLD(cancel_one_without_barrier, .heavy = true) {
    cancel_a_wait(1, false, waits_and_frees);
}

static int takes_a_unit(void *arg) {
    (void)arg;
    int code = thrum_sem_wait(&shared_sem);
    sim_check(code || told == 7);
    return code;
}

static void posts(void *arg) {
    (void)arg;
    told = 7;
    thrum_sem_post(&shared_sem);
}

/* The unit goes to the wait that reports it, or stays. */
SIM_WORLD(cancel_one_against_post, .heavy = true) {
    begin(1);
    thrum_handle *handle = spawn(takes_a_unit, NULL);
    int t = sim_spawn(posts, NULL);
    sim_check(thrum_cancel(handle) == 0);
    int code = join(handle);
    sim_join(t);
    sim_check(code == 0 || code == -ECANCELED);
    sim_check(thrum_sem_try_wait(&shared_sem) == (code ? 0 : -EAGAIN));
    whole_stop(sched);
}

static int waits_twice(void *arg) {
    (void)arg;
    codes[0] = thrum_sem_wait(&shared_sem);
    codes[1] = thrum_sem_wait(&shared_sem);
    return 0;
}

/* A wait is woken just as it is cancelled: then the next one ends. */
SIM_WORLD(cancel_one_next_wait, .heavy = true) {
    begin(1);
    thrum_handle *handle = spawn(waits_twice, NULL);
    int t = sim_spawn(posts, NULL);
    sim_check(thrum_cancel(handle) == 0);
    join(handle);
    sim_join(t);
    sim_check(codes[1] == -ECANCELED || codes[0] == -ECANCELED);
    whole_stop(sched);
}

static int ends(void *arg) {
    (void)arg;
    return 5;
}

static void cancels(void *arg) {
    sim_check(thrum_cancel(arg) == 0);
}

/* The task ends, and another runs on its fiber, which must not be taken for it. */
SIM_WORLD(cancel_one_against_end, .heavy = true) {
    begin(1);
    thrum_handle *handle = spawn(ends, NULL);
    thrum_handle *next = spawn(takes_a_unit, NULL);
    int t = sim_spawn(cancels, handle);
    posts(NULL);
    sim_check(join(next) == 0);
    sim_join(t);
    sim_check(join(handle) == 5);
    whole_stop(sched);
}

/* The same, but the other one still waits when the cancel is over: it must not be the one ended. */
SIM_WORLD(cancel_one_against_end_waits, .heavy = true, .runs = 20000) {
    begin(1);
    thrum_handle *handle = spawn(ends, NULL);
    thrum_handle *next = spawn(takes_a_unit, NULL);
    cancels(handle);
    posts(NULL);
    sim_check(join(next) == 0);
    sim_check(join(handle) == 5);
    whole_stop(sched);
}

/* ---- a fiber on which another task has waited before ---- */

static thrum_handle *late; /* the task that is cancelled */
static uint32_t xlate;     /* 1: the late task is there */
static whole_gate busy;

static void late_is_there(void) {
    th_store_release(&xlate, 1u); /* pairs: cancel_late; the handle */
    th_os_futex_wake(&xlate, 1);
}

static void cancel_late(void) {
    while (!th_load_acquire(&xlate)) { /* pairs: late_is_there; the handle */
        th_os_futex_wait(&xlate, 0, TH_FOREVER);
    }
    sim_check(thrum_cancel(late) == 0);
}

static int blocks_its_worker(void *arg) {
    (void)arg;
    whole_pass(&busy);
    return 0;
}

static void posts_then_spawns(void *arg) {
    posts(arg);
    late = spawn(waits_twice, NULL);
    late_is_there();
    whole_open(&busy);
}

/*
 * The first task waits when the cancel looks round for the late one, which then runs where the
 * first one was: the first one's object must not be taken for the late one's.
 */
SIM_WORLD(cancel_one_on_a_used_fiber, .heavy = true) {
    begin(1);
    thrum_handle *first = spawn(takes_a_unit, NULL);
    thrum_handle *second = spawn(blocks_its_worker, NULL);
    int t = sim_spawn(posts_then_spawns, NULL);
    cancel_late();
    sim_check(join(first) == 0 && join(second) == 0);
    sim_join(t);
    join(late);
    sim_check(codes[0] == -ECANCELED && codes[1] == -ECANCELED);
    whole_stop(sched);
}

static int wakes_and_spawns(void *arg) {
    posts(arg);
    sim_check(thrum_spawn(&late, waits_twice, NULL) == 0);
    late_is_there();
    return 0;
}

/* The same with everything on one worker, where no fence comes between the two runs. */
SIM_WORLD(cancel_one_after_another, .heavy = true) {
    begin(1);
    thrum_handle *first = spawn(takes_a_unit, NULL);
    thrum_handle *second = spawn(wakes_and_spawns, NULL);
    cancel_late();
    sim_check(join(first) == 0 && join(second) == 0);
    join(late);
    sim_check(codes[0] == -ECANCELED && codes[1] == -ECANCELED);
    whole_stop(sched);
}

static int waits_shielded(void *arg) {
    thrum_shield_begin();
    int code = takes_a_unit(arg);
    thrum_shield_end();
    return code;
}

/* The other task goes on waiting. */
SIM_WORLD(cancel_one_shielded, .heavy = true) {
    begin(1);
    thrum_handle *handle = spawn(waits_shielded, NULL);
    sim_check(thrum_cancel(handle) == 0);
    posts(NULL);
    sim_check(join(handle) == 0);
    whole_stop(sched);
}

/* ---- scopes ---- */

static int waits(void *arg) {
    (void)arg;
    return thrum_sem_wait(&shared_sem);
}

/* The scope's memory is gone as soon as it is joined. */
static int opens_one(void *arg) {
    thrum_scope *scope = sim_alloc(sizeof *scope);
    sim_check(thrum_scope_open(scope, THRUM_FOREVER) == 0);
    sim_check(thrum_scope_go(scope, arg ? (thrum_fn)opens_one : waits, NULL) == 0);
    int code = thrum_scope_join(scope);
    sim_free(scope);
    return code;
}

/* A task is cancelled while it opens a scope, fills it, joins it. */
SIM_WORLD(cancel_scope, .heavy = true) {
    begin(1);
    thrum_handle *handle = spawn(opens_one, NULL);
    sim_check(thrum_cancel(handle) == 0);
    sim_check(join(handle) == -ECANCELED);
    whole_stop(sched);
}

SIM_WORLD(cancel_scope_without_barrier, .heavy = true) {
    begin(1);
    sched->can_order = false;
    thrum_handle *handle = spawn(opens_one, NULL);
    sim_check(thrum_cancel(handle) == 0);
    sim_check(join(handle) == -ECANCELED);
    whole_stop(sched);
}

/* The same with a scope in a scope. */
SIM_WORLD(cancel_scope_nested, .heavy = true) {
    begin(2);
    thrum_handle *handle = spawn(opens_one, &shared_sem);
    sim_check(thrum_cancel(handle) == 0);
    sim_check(join(handle) == -ECANCELED);
    whole_stop(sched);
}

static int fails(void *arg) {
    (void)arg;
    told = 7;
    return -5;
}

static int one_fails(void *arg) {
    thrum_scope *scope = sim_alloc(sizeof *scope);
    (void)arg;
    sim_check(thrum_scope_open(scope, THRUM_FOREVER) == 0);
    sim_check(thrum_scope_go(scope, waits, NULL) == 0);
    sim_check(thrum_scope_go(scope, fails, NULL) == 0);
    int code = thrum_scope_join(scope);
    sim_free(scope);
    sim_check(told == 7);
    return code;
}

/* A child's failure cancels its sibling. */
SIM_WORLD(scope_first_failure, .heavy = true) {
    begin(2);
    sim_check(join(spawn(one_fails, NULL)) == -5);
    whole_stop(sched);
}

static int both_fail(void *arg) {
    thrum_scope *scope = sim_alloc(sizeof *scope);
    (void)arg;
    sim_check(thrum_scope_open(scope, THRUM_FOREVER) == 0);
    sim_check(thrum_scope_go(scope, fails, NULL) == 0);
    sim_check(thrum_scope_go(scope, waits, NULL) == 0);
    thrum_scope_cancel(scope);
    int code = thrum_scope_join(scope);
    sim_free(scope);
    sim_check(code == -5 || code == -ECANCELED);
    return 0;
}

/* The cancel, or the child's failure, comes first; each ends the waits. */
SIM_WORLD(scope_cancel_against_failure, .heavy = true) {
    begin(2);
    sim_check(join(spawn(both_fail, NULL)) == 0);
    whole_stop(sched);
}

static int has_a_deadline(void *arg) {
    thrum_scope *scope = sim_alloc(sizeof *scope);
    sim_check(thrum_scope_open(scope, thrum_now() + 1000) == 0);
    sim_check(thrum_scope_go(scope, arg ? waits : ends, NULL) == 0);
    int code = thrum_scope_join(scope);
    sim_free(scope);
    return code;
}

/* The scope's deadline ends the child's wait. */
SIM_WORLD(scope_deadline, .heavy = true) {
    begin(1);
    sim_check(join(spawn(has_a_deadline, &shared_sem)) == -ETIMEDOUT);
    whole_stop(sched);
}

/* The deadline meets the child's end. */
SIM_WORLD(scope_deadline_against_end, .heavy = true) {
    begin(2);
    int code = join(spawn(has_a_deadline, NULL));
    sim_check(code == 0 || code == -ETIMEDOUT);
    whole_stop(sched);
}
