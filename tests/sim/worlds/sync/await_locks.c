/*
 * await_locks.c: waits of tasks for locks, conditions and barriers (core/wait/WAITING.md, "Waits of
 * tasks"), on a bare scheduler: against the unlock, the signal and the last to come, deadlines, and
 * threads that want the same. The body frees the object if nobody else needs it.
 */
#include <errno.h>

#include <thrum/await.h>

#include "whole.h"

#define SOON 300 /* about as long as a few steps take */

typedef struct place {
    thrum_task task;
    thrum_await await;
} place;

static thrum_sched *sched;
static place *of_wait;
static thrum_mutex *mutex;
static thrum_rwlock *rwlock;
static thrum_cond *cond;
static thrum_barrier *barrier;
static whole_gate held, begins_now, ended; /* begins_now: the task is about to begin its wait */
static unsigned a, b; /* plain, under the lock: equal while no one changes them */
static bool flag;     /* plain, under the mutex */
static int outcome;   /* plain: of the wait */
static int other;     /* plain: of the thread's */
static bool reads;    /* constant */
static bool frees;    /* constant: the body frees its object */
static int64_t deadline = THRUM_FOREVER;

static void start(void) {
    thrum_config config = whole_config(1);
    sched = whole_start_bare(&config);
    of_wait = sim_alloc(sizeof *of_wait);
}

static void make_mutex(void) {
    mutex = sim_alloc(sizeof *mutex);
    thrum_mutex_init(mutex);
}

static void free_mutex(void) {
    sim_check(thrum_mutex_destroy(mutex) == 0);
    sim_free(mutex);
}

static void make_rwlock(void) {
    rwlock = sim_alloc(sizeof *rwlock);
    thrum_rwlock_init(rwlock);
}

static void free_rwlock(void) {
    sim_check(thrum_rwlock_destroy(rwlock) == 0);
    sim_free(rwlock);
}

/* ---- actions under the lock ---- */

static void change(void) {
    sim_check(a == b);
    a++;
    b++;
}

static void change_and_unlock(void) {
    if (mutex) {
        change();
        thrum_mutex_unlock(mutex);
    } else {
        if (reads) {
            sim_check(a == b);
        } else {
            change();
        }
        thrum_rwlock_unlock(rwlock);
    }
}

static void is_over(int code) {
    outcome = code;
    if (code == 0) {
        change_and_unlock();
    }
    if (frees && mutex) {
        free_mutex();
    } else if (frees) {
        free_rwlock();
    }
    sim_free(of_wait);
    whole_open(&ended);
}

static void body(thrum_task *self, void *arg) {
    (void)self;
    is_over(thrum_await_end(&((place *)arg)->await));
}

/* Begins the wait in a task; a lock that is free is taken at once. */
static void begins(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    place *p = of_wait;
    thrum_task_init(&p->task, body, p);
    whole_open(&begins_now);
    int code = mutex   ? thrum_mutex_on_until(mutex, &p->await, &p->task, deadline)
               : reads ? thrum_rwlock_rdlock_on_until(rwlock, &p->await, &p->task, deadline)
                       : thrum_rwlock_wrlock_on_until(rwlock, &p->await, &p->task, deadline);
    if (code) {
        is_over(code == 1 ? 0 : code);
    }
}

/* ---- threads beside it ---- */

static void locks_once(void *unused) {
    (void)unused;
    thrum_mutex_lock(mutex);
    change();
    whole_open(&held);
    whole_pass(&begins_now);
    thrum_mutex_unlock(mutex);
}

static void writes_once(void *unused) {
    (void)unused;
    thrum_rwlock_wrlock(rwlock);
    change();
    whole_open(&held);
    whole_pass(&begins_now);
    thrum_rwlock_unlock(rwlock);
}

static void reads_once(void *unused) {
    (void)unused;
    thrum_rwlock_rdlock(rwlock);
    sim_check(a == b);
    whole_open(&held);
    whole_pass(&begins_now);
    thrum_rwlock_unlock(rwlock);
}

/* The wait begins once one of the threads has the lock, which it keeps so long; two may be NULL. */
static void play(void (*one)(void *), void (*two)(void *)) {
    int t = sim_spawn(one, NULL);
    int u = two ? sim_spawn(two, NULL) : 0;
    whole_pass(&held);
    whole_post(sched, 0, begins, NULL);
    sim_join(t);
    if (two) {
        sim_join(u);
    }
    whole_pass(&ended);
    whole_stop(sched);
}

/* ---- mutexes ---- */

/* A thread has it, and unlocks while or after the wait begins. The body frees it. */
SIM_WORLD(await_mutex, .asleep = whole_asleep) {
    start();
    make_mutex();
    frees = true;
    play(locks_once, NULL);
    sim_check(outcome == 0 && a == 2 && b == 2);
}

/* Two threads want it as well: no one is passed by for ever, and no two have it. */
SIM_WORLD(await_mutex_beside, .asleep = whole_asleep) {
    start();
    make_mutex();
    play(locks_once, locks_once);
    sim_check(outcome == 0 && a == 3 && b == 3);
    free_mutex();
}

/* The deadline against the unlock: the task has had it, or it is free. */
SIM_WORLD(await_mutex_late, .asleep = whole_asleep, .timers_max = 2) {
    start();
    make_mutex();
    deadline = thrum_after(SOON);
    play(locks_once, locks_once);
    sim_check(outcome == 0 || outcome == -ETIMEDOUT);
    sim_check(a == (outcome ? 2u : 3u));
    free_mutex();
}

/* ---- readers and writers ---- */

SIM_WORLD(await_write, .asleep = whole_asleep) {
    start();
    make_rwlock();
    frees = true;
    play(writes_once, NULL);
    sim_check(outcome == 0 && a == 2 && b == 2);
}

SIM_WORLD(await_read, .asleep = whole_asleep) {
    start();
    make_rwlock();
    reads = true;
    frees = true;
    play(writes_once, NULL);
    sim_check(outcome == 0 && a == 1 && b == 1);
}

/* A writer that gives up between a reader that holds the lock and a reader that wants it. */
SIM_WORLD(await_write_late, .asleep = whole_asleep, .timers_max = 2) {
    start();
    make_rwlock();
    deadline = thrum_after(SOON);
    play(reads_once, writes_once);
    sim_check(outcome == 0 || outcome == -ETIMEDOUT);
    sim_check(a == (outcome ? 1u : 2u));
    free_rwlock();
}

/* ---- conditions ---- */

static void looks(place *p);

/* With the mutex, behind a wait that ended with `outcome`, or before the first. */
static void has_mutex(place *p) {
    if (!flag && outcome == 0) {
        looks(p);
        return;
    }
    sim_check(flag || outcome == -ETIMEDOUT);
    thrum_mutex_unlock(mutex);
    sim_free(p);
    whole_open(&ended);
}

static void is_locked(thrum_task *self, void *arg) {
    (void)self;
    place *p = arg;
    sim_check(thrum_await_end(&p->await) == 0);
    has_mutex(p);
}

/* In a task: locks the mutex. */
static void locks(place *p) {
    thrum_task_init(&p->task, is_locked, p);
    int code = thrum_mutex_on_until(mutex, &p->await, &p->task, THRUM_FOREVER);
    if (code) {
        sim_check(code == 1);
        has_mutex(p);
    }
}

static void is_told(thrum_task *self, void *arg) {
    (void)self;
    place *p = arg;
    outcome = thrum_await_end(&p->await);
    locks(p);
}

static void looks(place *p) {
    thrum_task_init(&p->task, is_told, p);
    whole_open(&begins_now);
    int code = thrum_cond_on_until(cond, mutex, &p->await, &p->task, deadline);
    if (code) {
        sim_check(code == -ETIMEDOUT);
        outcome = code;
        has_mutex(p);
    }
}

static void begins_to_look(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    locks(of_wait);
}

static void sets_flag(void *unused) {
    (void)unused;
    whole_pass(&begins_now);
    thrum_mutex_lock(mutex);
    flag = true;
    thrum_mutex_unlock(mutex);
    thrum_cond_signal(cond);
}

static void play_cond(void) {
    make_mutex();
    cond = sim_alloc(sizeof *cond);
    thrum_cond_init(cond);
    int t = sim_spawn(sets_flag, NULL);
    whole_post(sched, 0, begins_to_look, NULL);
    sim_join(t);
    whole_pass(&ended);
    whole_stop(sched);
    sim_check(thrum_cond_destroy(cond) == 0);
    sim_free(cond);
    free_mutex();
}

/* A change and its signal come while or after the wait begins: it is never missed. */
SIM_WORLD(await_cond, .asleep = whole_asleep) {
    start();
    play_cond();
    sim_check(outcome == 0);
}

/* The deadline may come before the mutex is unlocked: the body waits for that. */
SIM_WORLD(await_cond_late, .asleep = whole_asleep, .timers_max = 2) {
    start();
    deadline = thrum_after(SOON);
    play_cond();
}

/* ---- barriers ---- */

static void at_barrier(int code) {
    outcome = code;
    sim_check(code < 0 || b == 1); /* the other's writes before it came */
    sim_free(of_wait);
    whole_open(&ended);
}

static void passes(thrum_task *self, void *arg) {
    (void)self;
    at_barrier(thrum_await_end(&((place *)arg)->await));
}

static void comes(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    place *p = of_wait;
    a = 1;
    thrum_task_init(&p->task, passes, p);
    whole_open(&begins_now);
    int code = thrum_barrier_on_until(barrier, &p->await, &p->task, deadline);
    if (code) {
        at_barrier(code);
    }
}

static void comes_too(void *unused) {
    (void)unused;
    b = 1;
    whole_pass(&begins_now);
    other = thrum_barrier_wait_until(barrier, deadline);
    sim_check(other < 0 || a == 1);
}

static void play_barrier(void) {
    barrier = sim_alloc(sizeof *barrier);
    thrum_barrier_init(barrier, 2);
    int t = sim_spawn(comes_too, NULL);
    whole_post(sched, 0, comes, NULL);
    sim_join(t);
    whole_pass(&ended);
    whole_stop(sched);
    sim_check(thrum_barrier_destroy(barrier) == 0);
    sim_free(barrier);
}

/* One of the two is the last. */
SIM_WORLD(await_barrier, .asleep = whole_asleep) {
    start();
    play_barrier();
    sim_check(outcome + other == 1);
}

/* Both have arrived, or none has. */
SIM_WORLD(await_barrier_late, .asleep = whole_asleep, .timers_max = 3) {
    start();
    deadline = thrum_after(SOON);
    play_barrier();
    sim_check(outcome + other == 1 || (outcome == -ETIMEDOUT && other == -ETIMEDOUT));
}
