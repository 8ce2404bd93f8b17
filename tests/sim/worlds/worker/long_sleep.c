/*
 * long_sleep.c: the sentinel's long sleep (core/worker/PARKING.md, D11): a worker that goes on
 * while all others sleep sets deadlines, and wakes nobody where the sentinel comes in time. Then it
 * is held up, and the sentinel, or whoever has got its role, fires them.
 */
#include "base/atomic.h"
#include "core/ready/wake.h"
#include "core/basis/parkword.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "platform/sim/controller.h"
#include "whole.h"

#define TASKS 4
#define SOON 300
#define LATER 1000000

static thrum_sched *sched;
static thrum_task tasks[TASKS];
static int64_t due[TASKS];
static unsigned ran[TASKS];
static whole_gate gate;
static bool waits; /* the deadline of task 1, for a worker other than its own */

static void post_at(unsigned i, thrum_task_fn fn, int64_t deadline) {
    thrum_task_init(&tasks[i], fn, NULL);
    due[i] = deadline;
    sim_check(thrum_task_post_until(sched, &tasks[i], deadline) == 0);
}

static void begin(unsigned workers) {
    thrum_config config = whole_config(workers);
    sched = whole_start_bare(&config);
}

static void end(unsigned n) {
    whole_stop(sched);
    for (unsigned i = 0; i < n; i++) {
        sim_check(ran[i] == 1);
    }
}

/*
 * When all threads sleep, and one of them is a worker that is held up and has a deadline: another
 * one wakes by then, or no later than in rounds.
 */
SIM_UNSEEN static void asleep(void) {
    int64_t first = THRUM_FOREVER;
    whole_asleep_shared();
    for (unsigned i = 0; sched && i < sched->workers_count; i++) {
        const th_worker *worker = &sched->workers[i];
        const bool parked = worker->xsleep & TH_SLEEP_PARKED;
        const int64_t until = parked ? whole_sleeps_until(worker) : THRUM_FOREVER;
        first = until < first ? until : first;
    }
    /* A round may have read old values: then the next one sees the work. */
    const int64_t from = due[1] > sim_now() ? due[1] : sim_now();
    sim_check(!waits || first - th_watch_ns(sched) <= from);
}

SIM_UNSEEN static void note(bool now) {
    waits = now;
}

static void opens(thrum_task *self, void *arg) {
    (void)arg;
    note(false);
    ran[self - tasks]++;
    whole_open(&gate);
}

static void held_up(void) {
    note(true);
    post_at(1, opens, thrum_after(SOON));
    whole_pass(&gate);
}

/* Sets a deadline, and is held up until it has been served. */
static void sets_and_holds(thrum_task *self, void *arg) {
    (void)arg;
    ran[self - tasks]++;
    held_up();
}

SIM_UNSEEN static unsigned wakes(void) {
    unsigned n = (unsigned)sched->externals.counters.xwakes_submit;
    for (unsigned i = 0; i < sched->workers_count; i++) {
        n += (unsigned)sched->workers[i].counters.xfutex_wakes;
    }
    return n;
}

/* The thread's own sleep: a spurious return does not end it. */
static void sleep_until(int64_t deadline) {
    static uint32_t xnever;
    while (th_os_now() < deadline) {
        th_os_futex_wait(&xnever, 0, deadline);
    }
}

/* A deadline is served, and its task sets the next one, soon after. */
static void one_after_another(unsigned workers) {
    begin(workers);
    post_at(0, sets_and_holds, thrum_after(40 * LATER));
    end(2);
}

SIM_WORLD(long_sleep, .asleep = asleep) {
    one_after_another(2);
}

SIM_WORLD(long_sleep_3, .asleep = asleep) {
    one_after_another(3);
}

/* The long sleep ends by its time just when another worker goes on, and sets deadlines. */
static void meets(thrum_task *self, void *arg) {
    (void)arg;
    ran[self - tasks]++;
    /* The sentinel comes at this time. */
    post_at(0, sets_and_holds, due[2] + th_watch_ns(sched));
}

SIM_WORLD(long_sleep_ends, .asleep = asleep) {
    begin(2);
    post_at(2, meets, thrum_after(40 * LATER));
    end(3);
}

/* Another thread sets the deadline of a worker that goes on, or has just gone on. */
static void holds(thrum_task *self, void *arg) {
    (void)arg;
    ran[self - tasks]++;
    whole_pass(&gate);
}

SIM_WORLD(long_sleep_external, .asleep = asleep) {
    begin(2);
    post_at(0, holds, thrum_after(40 * LATER));
    sleep_until(due[0]);
    post_at(1, opens, thrum_after(SOON));
    end(2);
}

/* The sentinel is held up itself, by a task that is pinned to it, or to another one. */
static void pinned(unsigned workers) {
    begin(workers);
    post_at(0, sets_and_holds, thrum_after(40 * LATER));
    sleep_until(due[0]);
    thrum_task_init(&tasks[2], holds, NULL);
    thrum_task_set_worker(&tasks[2], (int)sim_pick(workers));
    sim_check(thrum_task_post(sched, &tasks[2]) == 0);
    end(3);
}

SIM_WORLD(long_sleep_pinned_3, .asleep = asleep) {
    pinned(3);
}

static void counts(thrum_task *self, void *arg) {
    (void)arg;
    ran[self - tasks]++;
}

/*
 * A second long sleep, for a later deadline: a sentinel woken in it does not rely on the first
 * one.
 */
SIM_WORLD(long_sleep_again, .asleep = asleep) {
    begin(2);
    const int64_t now = thrum_now();
    post_at(0, counts, now + 10 * LATER);
    post_at(3, counts, now + 100 * LATER);
    sleep_until(now + 40 * LATER);
    thrum_task_init(&tasks[2], sets_and_holds, NULL);
    thrum_task_set_worker(&tasks[2], (int)sim_pick(2));
    sim_check(thrum_task_post(sched, &tasks[2]) == 0);
    end(4);
}

/* The same where two search at a time: the first of them to find something fences nothing. */
SIM_WORLD(long_sleep_again_3, .asleep = asleep) {
    begin(3);
    const int64_t now = thrum_now();
    post_at(0, counts, now + 10 * LATER);
    post_at(3, counts, now + 100 * LATER);
    sleep_until(now + 40 * LATER);
    thrum_task_init(&whole_tasks[0], whole_count, NULL);
    thrum_task_set_worker(&whole_tasks[0], (int)sim_pick(3));
    sim_check(thrum_task_post(sched, &whole_tasks[0]) == 0);
    thrum_task_init(&tasks[2], sets_and_holds, NULL);
    sim_check(thrum_task_post(sched, &tasks[2]) == 0);
    whole_post(sched, 1, whole_count, NULL);
    end(4);
    whole_ran_once(0, 2);
}

/* A deadline so far off that nothing can be added to it: all sleep, and nobody turns round. */
SIM_WORLD(long_sleep_far, .asleep = whole_asleep_shared) {
    begin(2);
    post_at(0, counts, THRUM_FOREVER - 1 - (int64_t)sim_pick(2) * (th_watch_ns(sched) - 2));
    sleep_until(thrum_after(40 * LATER));
    thrum_task_wakeup(&tasks[0]);
    end(1);
}

/* Long quiet: the sentinel has slept long behind a barrier before, and comes at no time then. */
static void computes(thrum_task *self, void *arg) {
    (void)arg;
    ran[self - tasks]++;
    sleep_until(thrum_after(2 * TH_WATCH_LONG_NS)); /* with its worker */
    held_up();
}

SIM_WORLD(long_sleep_long, .asleep = asleep) {
    begin(2);
    post_at(0, computes, thrum_after(4 * LATER));
    end(2);
}

/* ---- nobody is woken ---- */

static void sets_next(thrum_task *self, void *arg) {
    const unsigned i = (unsigned)(self - tasks);
    (void)arg;
    ran[i]++;
    post_at(i + 1, i == 2 ? opens : sets_next, thrum_after(40 * LATER));
}

/* The number of the sentinel that comes after the deadline of another worker, + 1, or 0. */
SIM_UNSEEN static unsigned watcher(void) {
    const unsigned sentinel = th_park_sentinel(sched->xpark);
    const th_worker *worker = &sched->workers[sentinel ? sentinel - 1 : 0];
    const bool watches = sentinel && worker->rounds.long_sleep &&
                         worker->xlong_sleep != THRUM_FOREVER &&
                         worker->own_timers.xearliest == THRUM_FOREVER;
    return watches ? sentinel : 0;
}

SIM_UNSEEN static uint64_t came(unsigned sentinel) {
    return sched->workers[sentinel - 1].counters.xwakes_timer;
}

SIM_UNSEEN static int64_t due_of(unsigned i) {
    return due[i];
}

/*
 * The first deadline finds a long sleep that knew of none, so it may wake somebody; the second not.
 */
SIM_WORLD(long_sleep_wakes_nobody, .asleep = whole_asleep) {
    begin(2);
    post_at(0, sets_next, thrum_after(40 * LATER));
    sleep_until(due[0] + 20 * LATER);
    const unsigned sentinel = watcher();
    const uint64_t comings = sentinel ? came(sentinel) : 0;
    const unsigned before = wakes();
    if (sentinel) {
        sleep_until(due_of(1) + th_watch_ns(sched) / 2);
        sim_check(came(sentinel) != comings || wakes() == before);
    }
    end(4);
}
