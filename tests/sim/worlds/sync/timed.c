/*
 * timed.c: waits with a deadline against the wake that races with it, by threads and by fibers.
 * Anything handed over was taken, the rest is still there, and the primitive may go once every wait
 * has returned: at once, if the wait that got something was the only one.
 */
#include <errno.h>

#include "base/atomic.h"
#include "crew.h"

#define LATER 1000000

static thrum_sem *sem;
static thrum_mutex *mutex;
static thrum_event *event;
static thrum_waitgroup *wg;
static thrum_cond *cond;
static unsigned got[2];

static unsigned late_or(int result) {
    crew_scrub(); /* the waiter was there */
    sim_check(result == 0 || result == -ETIMEDOUT);
    return result == 0;
}

/* ---- the semaphore ---- */

static void sem_before(void) {
    sem = sim_alloc(sizeof *sem);
    thrum_sem_init(sem, 0);
}

static unsigned units_left(void) {
    unsigned left = 0;
    while (thrum_sem_try_wait(sem) == 0) {
        left++;
    }
    return left;
}

static void sem_post(void *arg) {
    (void)arg;
    thrum_sem_post(sem);
}

static void sem_take_a(void *arg) {
    (void)arg;
    got[0] = late_or(thrum_sem_wait_until(sem, thrum_after(LATER)));
}

static void sem_take_b(void *arg) {
    (void)arg;
    got[1] = late_or(thrum_sem_wait_until(sem, thrum_after(2 * LATER)));
}

static void sem_take_and_free(void *arg) {
    sem_take_a(arg);
    if (got[0]) {
        sim_free(sem);
    }
}

static void sem_one_after(void) {
    if (!got[0]) {
        sim_check(units_left() == 1);
        sim_check(thrum_sem_destroy(sem) == 0);
        sim_free(sem);
    }
}

static void sem_two_after(void) {
    sim_check(got[0] + got[1] + units_left() == 2);
    sim_check(thrum_sem_destroy(sem) == 0);
    sim_free(sem);
}

/* A post meets a wait whose time may be out: the unit is taken or left. */
static const crew_play sem_one = {sem_before, sem_one_after, 2, {sem_take_and_free, sem_post}};
CREW_WORLDS(timed_sem, sem_one, .timers_max = 2)
CREW_WORLD_SCHED(timed_sem, sem_one)

/* Two waits meet two posts: a post that meets a late one goes on to the next. */
static const crew_play sem_two = {
    sem_before, sem_two_after, 4, {sem_take_a, sem_take_b, sem_post, sem_post}};
CREW_WORLDS(timed_sem_two, sem_two, .timers_max = 3)

static void sem_take_two(void *arg) {
    (void)arg;
    got[0] = 2 * late_or(thrum_sem_wait_n_until(sem, 2, thrum_after(LATER)));
}

/* Two units come for a wait that wants both and one behind it that wants one: none is lost. */
static const crew_play sem_n = {
    sem_before, sem_two_after, 4, {sem_take_two, sem_take_b, sem_post, sem_post}};
CREW_WORLDS(timed_sem_n, sem_n, .timers_max = 3)

static void sem_take_for_good(void *arg) {
    (void)arg;
    sim_check(thrum_sem_wait(sem) == 0);
    got[1] = 1;
}

/* A late wait is before one without a deadline: that one gets the unit. */
static void sem_passed_after(void) {
    sim_check(got[1] == 1 && got[0] + units_left() == 1);
    sim_check(thrum_sem_destroy(sem) == 0);
    sim_free(sem);
}

static const crew_play sem_passed = {
    sem_before, sem_passed_after, 4, {sem_take_a, sem_take_for_good, sem_post, sem_post}};
CREW_WORLDS(timed_sem_passed, sem_passed, .timers_max = 3)

/* ---- the mutex ---- */

static unsigned inside; /* protected by the mutex */

static void mutex_before(void) {
    mutex = sim_alloc(sizeof *mutex);
    thrum_mutex_init(mutex);
}

static void mutex_hold(void *arg) {
    (void)arg;
    thrum_mutex_lock(mutex);
    inside++;
    thrum_mutex_unlock(mutex);
}

static void mutex_try(void *arg) {
    (void)arg;
    got[0] = late_or(thrum_mutex_lock_until(mutex, thrum_after(LATER)));
    if (got[0]) {
        inside++;
        thrum_mutex_unlock(mutex);
    }
}

static void mutex_after(void) {
    sim_check(inside == 2 + got[0]);
    sim_check(thrum_mutex_destroy(mutex) == 0);
    sim_free(mutex);
}

/* A late waiter does not take the wake of another with it. */
static const crew_play mutex_late = {
    mutex_before, mutex_after, 3, {mutex_hold, mutex_try, mutex_hold}};
CREW_WORLDS(timed_mutex, mutex_late, .timers_max = 3)
CREW_WORLD_SCHED(timed_mutex, mutex_late)

/* ---- the event ---- */

static void auto_before(void) {
    event = sim_alloc(sizeof *event);
    thrum_event_init(event, THRUM_EVENT_AUTO, false);
}

static void manual_before(void) {
    event = sim_alloc(sizeof *event);
    thrum_event_init(event, THRUM_EVENT_MANUAL, false);
}

static void event_await_a(void *arg) {
    (void)arg;
    got[0] = late_or(thrum_event_wait_until(event, thrum_after(LATER)));
}

static void event_await_b(void *arg) {
    (void)arg;
    got[1] = late_or(thrum_event_wait_until(event, thrum_after(2 * LATER)));
}

static void event_signal(void *arg) {
    (void)arg;
    thrum_event_signal(event);
}

static void auto_after(void) {
    unsigned left = thrum_event_test(event);
    sim_check(got[0] + got[1] + left == 1);
    sim_check(thrum_event_destroy(event) == 0);
    sim_free(event);
}

static void manual_after(void) {
    sim_check(thrum_event_is_signaled(event));
    sim_check(thrum_event_destroy(event) == 0);
    sim_free(event);
}

/* An auto event is signaled once: one of the two has the signal, or it is still there. */
static const crew_play event_auto = {
    auto_before, auto_after, 3, {event_await_a, event_await_b, event_signal}};
CREW_WORLDS(timed_event_auto, event_auto, .timers_max = 3)
CREW_WORLD_SCHED(timed_event_auto, event_auto)

/* A manual event lets all through that are not late, and stays. */
static const crew_play event_manual = {
    manual_before, manual_after, 3, {event_await_a, event_await_b, event_signal}};
CREW_WORLDS(timed_event_manual, event_manual, .exhaustive = true, .timers_max = 3)

static void event_await_and_free(void *arg) {
    event_await_a(arg);
    if (got[0]) {
        sim_free(event);
    }
}

static void event_freed_after(void) {
    if (!got[0]) {
        manual_after();
    }
}

/* The only waiter frees it when it was let through. */
static const crew_play event_freed = {
    manual_before, event_freed_after, 2, {event_await_and_free, event_signal}};
CREW_WORLDS(timed_event_freed, event_freed, .timers_max = 2)

/* ---- the waitgroup ---- */

static void wg_before(void) {
    wg = sim_alloc(sizeof *wg);
    thrum_waitgroup_init(wg, 2);
}

static int done_a, done_b; /* plain: a waiter that is let through sees both */

static void wg_wait(unsigned i, thrum_time after) {
    got[i] = late_or(thrum_waitgroup_wait_until(wg, thrum_after(after)));
    sim_check(!got[i] || (done_a == 1 && done_b == 1));
}

static void wg_wait_a(void *arg) {
    (void)arg;
    wg_wait(0, LATER);
}

static void wg_wait_b(void *arg) {
    (void)arg;
    wg_wait(1, 2 * LATER);
}

static void wg_done_a(void *arg) {
    (void)arg;
    done_a = 1;
    thrum_waitgroup_done(wg);
}

static void wg_done_b(void *arg) {
    (void)arg;
    done_b = 1;
    thrum_waitgroup_done(wg);
}

static void wg_after(void) {
    sim_check(thrum_waitgroup_wait(wg) == 0);
    sim_check(thrum_waitgroup_destroy(wg) == 0);
    sim_free(wg);
}

/* The last done meets waits that give up. */
static const crew_play wg_late = {
    wg_before, wg_after, 4, {wg_wait_a, wg_wait_b, wg_done_a, wg_done_b}};
CREW_WORLDS(timed_waitgroup, wg_late, .timers_max = 3)
CREW_WORLD_SCHED(timed_waitgroup, wg_late)

static void wg_wait_and_free(void *arg) {
    wg_wait_a(arg);
    if (got[0]) {
        sim_free(wg);
    }
}

static void wg_freed_after(void) {
    if (!got[0]) {
        wg_after();
    }
}

static const crew_play wg_freed = {
    wg_before, wg_freed_after, 3, {wg_wait_and_free, wg_done_a, wg_done_b}};
CREW_WORLDS(timed_waitgroup_freed, wg_freed, .timers_max = 2)

/* ---- the condition variable ---- */

static bool ready; /* protected by the mutex */

static void cond_before(void) {
    mutex_before();
    cond = sim_alloc(sizeof *cond);
    thrum_cond_init(cond);
}

/* A waiter that has the signal and does not need it passes it on; a late one has none. */
static void cond_try(void *arg) {
    (void)arg;
    thrum_mutex_lock(mutex);
    if (!ready && late_or(thrum_cond_wait_until(cond, mutex, thrum_after(LATER)))) {
        sim_check(ready);
        thrum_cond_signal(cond);
    }
    thrum_mutex_unlock(mutex);
}

static void cond_await(void *arg) {
    (void)arg;
    thrum_mutex_lock(mutex);
    while (!ready) {
        sim_check(thrum_cond_wait(cond, mutex) == 0);
    }
    thrum_mutex_unlock(mutex);
}

static void cond_tell(void *arg) {
    (void)arg;
    thrum_mutex_lock(mutex);
    ready = true;
    thrum_mutex_unlock(mutex);
    thrum_cond_signal(cond);
}

static void cond_tell_all(void *arg) {
    (void)arg;
    thrum_mutex_lock(mutex);
    ready = true;
    thrum_cond_broadcast(cond);
    thrum_mutex_unlock(mutex);
}

static void cond_after(void) {
    sim_check(thrum_cond_destroy(cond) == 0);
    sim_free(cond);
    sim_check(thrum_mutex_destroy(mutex) == 0);
    sim_free(mutex);
}

/* One signal, one waiter that may be late, one without a deadline: in the end that one has it. */
static const crew_play cond_late = {cond_before, cond_after, 3, {cond_try, cond_await, cond_tell}};
CREW_WORLDS(timed_cond, cond_late, .timers_max = 3)
CREW_WORLD_SCHED(timed_cond, cond_late)

static const crew_play cond_all = {
    cond_before, cond_after, 4, {cond_try, cond_await, cond_try, cond_tell_all}};
CREW_WORLDS(timed_cond_all, cond_all, .timers_max = 3)

/* ---- sleeping ---- */

static void sleeps(void *arg) {
    (void)arg;
    int64_t until = thrum_after(LATER);
    sim_check(thrum_sleep_until(until) == 0);
    sim_check(thrum_now() >= until);
    crew_scrub();
}

static void nothing(void) {
}

/* Sleeps are never short; each is independent. */
static const crew_play sleep_two = {nothing, NULL, 2, {sleeps, sleeps}};
CREW_WORLDS(timed_sleep, sleep_two, .exhaustive = true, .timers_max = 2)
CREW_WORLD_SCHED(timed_sleep, sleep_two)

/* ---- joining ---- */

static int seven(void *arg) {
    crew_until(thrum_now() >= *(const int64_t *)arg);
    return 7;
}

static void join_at_last(thrum_handle *handle) {
    int result = 0;
    if (!late_or(thrum_join_until(handle, &result, thrum_after(300)))) {
        sim_check(result == 0);
        sim_check(thrum_join_until(handle, &result, THRUM_FOREVER) == 0);
    }
    crew_scrub();
    sim_check(result == 7);
}

static int64_t end_at;

static int joiner(void *arg) {
    (void)arg;
    thrum_handle *handle;
    sim_check(thrum_spawn(&handle, seven, &end_at) == 0);
    join_at_last(handle);
    return 0;
}

/* The end of a task meets a join that gives up, on a fiber. */
SIM_WORLD(timed_join_fiber, .heavy = true) {
    thrum_sched *sched = crew_sched_start();
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    end_at = thrum_after(300);
    sim_check(thrum_go_with(&attr, joiner, NULL) == 0);
    sim_check(thrum_sched_stop(sched) == 0);
}

/* The same on a thread. */
SIM_WORLD(timed_join_thread, .heavy = true) {
    thrum_sched *sched = crew_sched_start();
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    end_at = thrum_after(300);
    thrum_handle *handle;
    sim_check(thrum_spawn_with(&handle, &attr, seven, &end_at) == 0);
    join_at_last(handle);
    sim_check(thrum_sched_stop(sched) == 0);
}
