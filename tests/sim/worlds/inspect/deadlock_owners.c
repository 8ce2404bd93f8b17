/*
 * deadlock_owners.c: plain threads that own the object of a task's wait, and go on: nothing is
 * reported, whenever the last worker looks (core/watch/DEADLOCK.md, "Owners").
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/state/worker.h"
#include "crew.h"
#include "platform/platform.h"
#include "platform/sim/controller.h"
#include "whole.h"

static thrum_sched *sched;

static void is_told(void *ctx, const char *report) {
    (void)ctx;
    (void)report;
    sim_check(false);
}

static void start(thrum_fn entry) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, entry, NULL) == 0);
}

static int brings_nothing(void *arg) {
    (void)arg;
    return 0;
}

static thrum_mutex kept;
static thrum_mutex *theirs; /* freed by the first that has it after the other */
static whole_gate has_theirs;
static th_thread *xkeeper; /* the thread that waits for the other */

static int wants_what_is_kept(void *arg) {
    (void)arg;
    thrum_mutex_lock(&kept);
    thrum_mutex_unlock(&kept);
    return 0;
}

static void goes_on(void *arg) {
    th_thread *keeper;
    (void)arg;
    start(brings_nothing); /* the scheduler knows the thread */
    thrum_mutex_lock(theirs);
    whole_open(&has_theirs);
    crew_until((keeper = th_load_acquire(&xkeeper)) != NULL); /* pairs: keeps_and_wants; it */
    crew_until(th_load_relaxed(&keeper->xwaiter)); /* relaxed: it only lets this one go on */
    thrum_mutex_unlock(theirs);
}

static void keeps_and_wants(void *arg) {
    (void)arg;
    whole_pass(&has_theirs);
    thrum_mutex_lock(&kept);
    start(wants_what_is_kept);
    th_store_release(&xkeeper, th_thread_self()); /* pairs: goes_on; its record */
    thrum_mutex_lock(theirs);
    thrum_mutex_unlock(theirs);
    sim_free(theirs);
    thrum_mutex_unlock(&kept);
}

static void keeps_long(void *arg) {
    (void)arg;
    thrum_mutex_lock(&kept);
    const uint32_t word = th_load_relaxed(&kept.reserved_word); /* relaxed: its own lock */
    start(wants_what_is_kept);
    /* relaxed: it only lets this one go on */
    crew_until(th_load_relaxed(&kept.reserved_word) != word);
    sim_pass(10000000); /* so long that the unlock hands it over */
    thrum_mutex_unlock(&kept);
}

/* A thread hands a mutex over to a task that waits for it, and wakes that only then. */
SIM_WORLD(deadlock_quiet_handed_over, .heavy = true) {
    sched = whole_start_told(1 + sim_pick(2), is_told);
    thrum_mutex_init(&kept);
    sim_join(sim_spawn(keeps_long, NULL));
    whole_stop(sched);
}

static thrum_once begun;

static int waits_for_what_has_begun(void *arg) {
    return thrum_once_run(&begun, brings_nothing, arg);
}

static int ends_after_a_waiter(void *arg) {
    const uint32_t word = th_load_relaxed(&begun.reserved_word); /* relaxed: its own turn */
    (void)arg;
    start(waits_for_what_has_begun);
    /* relaxed: it only lets this one go on */
    crew_until(th_load_relaxed(&begun.reserved_word) != word);
    return (int)sim_pick(2); /* after a failure the task tries next */
}

static void runs_once(void *arg) {
    (void)arg;
    sim_check(thrum_once_run(&begun, ends_after_a_waiter, NULL) >= 0);
}

/* A thread ends the function of a once, and only then wakes the task that waits for that. */
SIM_WORLD(deadlock_quiet_once, .heavy = true) {
    sched = whole_start_told(1 + sim_pick(2), is_told);
    thrum_once_init(&begun);
    sim_join(sim_spawn(runs_once, NULL));
    whole_stop(sched);
}

static thrum_once turns;
static uint32_t behind; /* whether the fiber is about to wait */

static int waits_behind(void *arg) {
    th_store_relaxed(&behind, 1u); /* relaxed: fails_after_two goes on, and nothing else */
    return thrum_once_run(&turns, brings_nothing, arg);
}

static struct {
    thrum_task begins, has;
    thrum_await await;
} first;

static void has_turn(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    const int code = thrum_await_end(&first.await);
    sim_check(code == 2);
    thrum_once_finish(&turns, 0);
}

/* Stands in line, and behind it a fiber. */
static void stands_in_line(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    thrum_task_init(&first.has, has_turn, NULL);
    sim_check(thrum_once_on_until(&turns, &first.await, &first.has, THRUM_FOREVER) == 0);
    start(waits_behind);
}

static int fails_after_two(void *arg) {
    (void)arg;
    thrum_task_init(&first.begins, stands_in_line, NULL);
    sim_check(thrum_task_post(sched, &first.begins) == 0);
    crew_until(th_load_relaxed(&behind)); /* relaxed: it only lets this one go on */
    return -EIO;
}

static void runs_and_fails(void *arg) {
    (void)arg;
    sim_check(thrum_once_run(&turns, fails_after_two, NULL) == -EIO);
}

/* A thread that fails hands its turn to a task, and wakes that only then; a fiber waits behind. */
SIM_WORLD(deadlock_quiet_turn, .heavy = true) {
    sched = whole_start_told(1 + sim_pick(2), is_told);
    thrum_once_init(&turns);
    sim_join(sim_spawn(runs_and_fails, NULL));
    whole_stop(sched);
}

/*
 * A task waits for a thread that waits for another one, which goes on: nothing is reported. The
 * first thread's object is freed as soon as it has it.
 */
SIM_WORLD(deadlock_quiet_threads, .heavy = true) {
    void (*const parts[])(void *) = {goes_on, keeps_and_wants};
    sched = whole_start_told(1, is_told);
    thrum_mutex_init(&kept);
    theirs = sim_alloc(sizeof *theirs);
    thrum_mutex_init(theirs);
    sim_together(2, parts, NULL);
    whole_stop(sched);
}
