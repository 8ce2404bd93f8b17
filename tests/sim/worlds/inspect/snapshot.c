/*
 * snapshot.c: snapshots of all fibers, which run, wait and end meanwhile (core/watch/DEADLOCK.md,
 * "Holding a fiber that waits"). The object of a held fiber's wait is freed as soon as the wait has
 * returned, and its frame is written over: a snapshot that still reads then has touched freed
 * memory, or races.
 *
 * The snapshots are brief: for fibers that do not wait they leave out fields that are only for
 * show, and unordered.
 */
#include "core/inspect/snapshot.h"

#include <errno.h>

#include <thrum.h>

#include "core/state/handle.h"
#include "crew.h"
#include "whole.h"

static thrum_sched *sched;
static thrum_sem stays_on;   /* its waiter waits all along */
static thrum_mutex *mutex;   /* the last of its users frees it at once */
static thrum_handle *looked; /* a task that is joined while a snapshot is taken */
static whole_gate ended;
static bool staying; /* plain: only the body uses it */

static void start(unsigned workers) {
    thrum_config config = whole_config(workers);
    thrum_sem_init(&stays_on, 0);
    sched = whole_start(&config);
}

static void go(thrum_fn entry) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, entry, NULL) == 0);
}

/* A piece holds `max` fibers at most. Returns how many of them wait for the semaphore. */
static unsigned snapshot_once(unsigned max) {
    th_seen seen[2];
    th_snapshot snapshot;
    unsigned n;
    unsigned stays = 0;
    th_snapshot_begin(&snapshot, sched);
    sim_check(snapshot.held);
    snapshot.brief = true;
    while ((n = th_snapshot_some(&snapshot, seen, max))) {
        for (unsigned i = 0; i < n; i++) {
            const th_seen *s = &seen[i];
            bool blocked = s->held && s->state == TH_SEEN_BLOCKED;
            stays += blocked && s->on == TH_ON_SEM && s->object == &stays_on;
            sim_check(s->held || s->state != TH_SEEN_BLOCKED);
            sim_check(!s->held || s->deadline == THRUM_FOREVER);
        }
    }
    th_snapshot_end(&snapshot);
    return stays;
}

static int stays(void *arg) {
    (void)arg;
    sim_check(thrum_sem_wait(&stays_on) == 0);
    return 0;
}

/* From here on each snapshot must find the waiter, once. */
static void start_staying(void) {
    go(stays);
    crew_until(snapshot_once(1) == 1);
    staying = true;
}

static void looks(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        sim_check(snapshot_once(1 + sim_pick(2)) == staying);
    }
}

static void stop(void) {
    whole_pass(&ended);
    if (staying) {
        thrum_sem_post(&stays_on);
    }
    whole_stop(sched);
}

/* ---- a mutex: the snapshot reads its owner ---- */

static int locks(void *arg) {
    (void)arg;
    thrum_mutex_lock(mutex);
    crew_scrub();
    thrum_mutex_unlock(mutex);
    return 0;
}

static int owns(void *arg) {
    (void)arg;
    thrum_handle *other = NULL;
    mutex = sim_alloc(sizeof *mutex);
    thrum_mutex_init(mutex);
    thrum_mutex_lock(mutex);
    sim_check(thrum_spawn(&other, locks, NULL) == 0);
    thrum_yield();
    thrum_mutex_unlock(mutex);
    thrum_mutex_lock(mutex);
    thrum_mutex_unlock(mutex);
    sim_check(thrum_join(other, NULL) == 0); /* a snapshot may just read the task's name */
    crew_scrub();
    sim_free(mutex);
    whole_open(&ended);
    return 0;
}

SIM_WORLD(snapshot_mutex, .heavy = true) {
    start(1 + sim_pick(2));
    go(owns);
    looks(NULL);
    stop();
}

/* Two snapshots at once: the first to end must not let go the other one's fibers. */
SIM_WORLD(snapshot_twice, .heavy = true) {
    start(1);
    go(owns);
    int t = sim_spawn(looks, NULL);
    looks(NULL);
    sim_join(t);
    stop();
}

/* A fiber waits all along, beside others that come and go: no snapshot misses it. */
SIM_WORLD(snapshot_stays, .heavy = true) {
    start(1 + sim_pick(2));
    start_staying();
    go(owns);
    looks(NULL);
    stop();
}

/* ---- a cancel, which uses the same lock and words ---- */

static int waits(void *arg) {
    thrum_sem *sem = arg;
    int code = thrum_sem_wait(sem);
    crew_scrub();
    return code;
}

static int cancels(void *arg) {
    (void)arg;
    thrum_sem *sem = sim_alloc(sizeof *sem);
    thrum_sem_init(sem, 0);
    int code = 0;
    sim_check(thrum_spawn(&looked, waits, sem) == 0);
    thrum_yield();
    thrum_cancel(looked);
    sim_check(thrum_join(looked, &code) == 0 && code == -ECANCELED);
    sim_free(sem);
    whole_open(&ended);
    return 0;
}

SIM_WORLD(snapshot_cancelled, .heavy = true) {
    start(1 + sim_pick(2));
    go(cancels);
    looks(NULL);
    stop();
}

/* ---- a bound thread, which comes, waits and goes ---- */

static void root(void *arg) {
    (void)arg;
    thrum_handle *other = NULL;
    sim_check(thrum_sched_bind(sched) == 0);
    mutex = sim_alloc(sizeof *mutex);
    thrum_mutex_init(mutex);
    sim_check(thrum_spawn(&other, locks, NULL) == 0);
    thrum_mutex_lock(mutex);
    thrum_mutex_unlock(mutex);
    sim_check(thrum_join(other, NULL) == 0);
    crew_scrub();
    sim_free(mutex);
    sim_check(thrum_sched_unbind() == 0);
    whole_open(&ended);
}

SIM_WORLD(snapshot_root, .heavy = true) {
    start(1);
    int t = sim_spawn(root, NULL);
    looks(NULL);
    sim_join(t);
    stop();
}
