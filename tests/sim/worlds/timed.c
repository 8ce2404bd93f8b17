/*
 * timed.c: waits with a deadline against the wake that races with it. What was handed over was
 * taken, what was not is still there, and the primitive may go once every wait has returned.
 */
#include <errno.h>
#include <thrum.h>

#include "sim.h"

#define LATER 1000000

typedef struct stage {
    thrum_sem *sem;
    thrum_mutex *mutex;
    thrum_event *event;
    thrum_waitgroup *wg;
    unsigned got, late;
} stage;

static stage s;

/* ---- the semaphore ---- */

static void post_one(void *arg) {
    (void)arg;
    thrum_sem_post(s.sem);
}

static void take_until(void *arg) {
    unsigned *got = arg;
    int result = thrum_sem_wait_until(s.sem, thrum_after(LATER));
    sim_check(result == 0 || result == -ETIMEDOUT);
    *got = result == 0;
}

/* A post, and a wait whose time may be out: the unit is taken or left. */
SIM_WORLD(timed_sem, .timers_max = 2) {
    s.sem = sim_alloc(sizeof *s.sem);
    thrum_sem_init(s.sem, 0);
    unsigned got = 0;
    int a = sim_spawn(take_until, &got);
    thrum_sem_post(s.sem);
    sim_join(a);
    sim_check((thrum_sem_trywait(s.sem) == 0) == !got);
    sim_free(s.sem);
}

/* Two waits and two posts. */
SIM_WORLD(timed_sem_two, .timers_max = 3) {
    s.sem = sim_alloc(sizeof *s.sem);
    thrum_sem_init(s.sem, 0);
    unsigned got[2] = {0, 0};
    int a = sim_spawn(take_until, &got[0]);
    int b = sim_spawn(take_until, &got[1]);
    int c = sim_spawn(post_one, NULL);
    thrum_sem_post(s.sem);
    sim_join(a);
    sim_join(b);
    sim_join(c);
    unsigned left = 0;
    while (thrum_sem_trywait(s.sem) == 0) {
        left++;
    }
    sim_check(got[0] + got[1] + left == 2);
    sim_free(s.sem);
}

/* ---- the mutex ---- */

static unsigned inside;

static void hold(void *arg) {
    (void)arg;
    sim_check(thrum_mutex_lock(s.mutex) == 0);
    inside++;
    thrum_mutex_unlock(s.mutex);
}

static void try_hold(void *arg) {
    (void)arg;
    int result = thrum_mutex_lock_until(s.mutex, thrum_after(LATER));
    sim_check(result == 0 || result == -ETIMEDOUT);
    if (result == 0) {
        inside++;
        thrum_mutex_unlock(s.mutex);
    }
}

/* Who is late does not take the wake of another with it. */
SIM_WORLD(timed_mutex, .timers_max = 3) {
    s.mutex = sim_alloc(sizeof *s.mutex);
    thrum_mutex_init(s.mutex);
    int a = sim_spawn(try_hold, NULL);
    int b = sim_spawn(hold, NULL);
    hold(NULL);
    sim_join(a);
    sim_join(b);
    sim_check(inside == 2 || inside == 3);
    sim_check(thrum_mutex_destroy(s.mutex) == 0);
    sim_free(s.mutex);
}

/* ---- the event ---- */

static void await_until(void *arg) {
    unsigned *got = arg;
    *got = thrum_event_wait_until(s.event, thrum_after(LATER)) == 0;
}

/* One signal of an auto event: one of the two has it, or it is still there. */
SIM_WORLD(timed_event_auto, .timers_max = 3) {
    s.event = sim_alloc(sizeof *s.event);
    thrum_event_init(s.event, THRUM_EVENT_AUTO, false);
    unsigned got[2] = {0, 0};
    int a = sim_spawn(await_until, &got[0]);
    int b = sim_spawn(await_until, &got[1]);
    thrum_event_signal(s.event);
    sim_join(a);
    sim_join(b);
    unsigned left = thrum_event_test(s.event);
    sim_check(got[0] + got[1] + left == 1);
    sim_free(s.event);
}

/* A manual one lets all through who are not late, and stays. */
SIM_WORLD(timed_event_manual, .timers_max = 3) {
    s.event = sim_alloc(sizeof *s.event);
    thrum_event_init(s.event, THRUM_EVENT_MANUAL, false);
    unsigned got[2] = {0, 0};
    int a = sim_spawn(await_until, &got[0]);
    int b = sim_spawn(await_until, &got[1]);
    thrum_event_signal(s.event);
    sim_join(a);
    sim_join(b);
    sim_check(thrum_event_is_signaled(s.event));
    sim_free(s.event);
}

/* ---- the waitgroup ---- */

static void wait_until(void *arg) {
    unsigned *got = arg;
    *got = thrum_waitgroup_wait_until(s.wg, thrum_after(LATER)) == 0;
}

static void done(void *arg) {
    (void)arg;
    thrum_waitgroup_done(s.wg);
}

/* The last done against a wait that gives up. */
SIM_WORLD(timed_waitgroup, .timers_max = 3) {
    s.wg = sim_alloc(sizeof *s.wg);
    thrum_waitgroup_init(s.wg, 2);
    unsigned got[2] = {0, 0};
    int a = sim_spawn(wait_until, &got[0]);
    int b = sim_spawn(wait_until, &got[1]);
    int c = sim_spawn(done, NULL);
    thrum_waitgroup_done(s.wg);
    sim_join(a);
    sim_join(b);
    sim_join(c);
    sim_check(thrum_waitgroup_wait(s.wg) == 0);
    sim_free(s.wg);
}
