/*
 * fifo_due.c: deadlines in the fifo policy: they and posts are one order; the combiner is notified
 * of threads that came for it meanwhile; one set of timers for all workers.
 */
#include "base/atomic.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "whole.h"

#define TASKS 5
#define SOON 300
#define LATER 1000000

static thrum_sched *sched;
static thrum_task tasks[TASKS];
static int64_t due[TASKS];
static unsigned ran[TASKS];
static unsigned order[TASKS];
static uint32_t xcount;
static whole_gate gate;

static void start(unsigned workers, unsigned block) {
    thrum_config config = whole_config(workers);
    config.policy = THRUM_FIFO;
    config.fifo_block = block;
    sched = whole_start_bare(&config);
}

static void body(thrum_task *self, void *arg) {
    unsigned i = (unsigned)(self - tasks);
    (void)arg;
    ran[i]++;
    sim_check(thrum_now() >= due[i]);
    order[th_add_relaxed(&xcount, 1u)] = i; /* relaxed: stop orders it */
}

static void post(unsigned i) {
    thrum_task_init(&tasks[i], body, NULL);
    sim_check(thrum_task_post(sched, &tasks[i]) == 0);
}

static void post_at(unsigned i, int64_t deadline) {
    thrum_task_init(&tasks[i], body, NULL);
    due[i] = deadline;
    sim_check(thrum_task_post_until(sched, &tasks[i], deadline) == 0);
}

static void end(unsigned n) {
    whole_stop(sched);
    for (unsigned i = 0; i < n; i++) {
        sim_check(ran[i] == 1);
    }
}

/* ---- the order ---- */

/* Sets deadlines out of order, and posts before, between and after that. */
static void sets_all(thrum_task *self, void *arg) {
    (void)arg;
    body(self, NULL);
    post(1);
    int64_t now = thrum_now();
    post_at(3, now + LATER + SOON);
    post_at(2, now + LATER);
    while (thrum_now() < now + LATER + SOON) {
        th_os_relax();
    }
    if (sim_pick(2)) {
        post(4);
    } else {
        post_at(4, now); /* its deadline has passed, so its post counts */
    }
}

/* On one worker the order is that of the later of post and deadline. */
SIM_WORLD(fifo_due_order, .asleep = whole_asleep) {
    start(1, 1);
    thrum_task_init(&tasks[0], sets_all, NULL);
    sim_check(thrum_task_post(sched, &tasks[0]) == 0);
    end(TASKS);
    for (unsigned i = 0; i < TASKS; i++) {
        sim_check(order[i] == i);
    }
}

/* With more workers each runs once, whichever worker fires it. */
static void whoever(unsigned workers, unsigned block) {
    start(workers, block);
    thrum_task_init(&tasks[0], sets_all, NULL);
    sim_check(thrum_task_post(sched, &tasks[0]) == 0);
    end(TASKS);
}

SIM_WORLD(fifo_due_2, .asleep = whole_asleep) {
    whoever(2, 1);
}

SIM_WORLD(fifo_due_3, .asleep = whole_asleep) {
    whoever(3, 2);
}

/* More deadlines than are fired at a time are due at the same moment, while the workers sleep. */
static void at_once(unsigned workers) {
    start(workers, 2);
    int64_t at = thrum_after(LATER);
    for (unsigned i = 0; i < 4; i++) {
        post_at(i, at);
    }
    end(4);
    for (unsigned i = 0; workers == 1 && i < 4; i++) {
        sim_check(order[i] == i);
    }
}

SIM_WORLD(fifo_due_at_once_1, .asleep = whole_asleep) {
    at_once(1);
}

SIM_WORLD(fifo_due_at_once_2, .asleep = whole_asleep) {
    at_once(2);
}

SIM_WORLD(fifo_due_at_once_3, .asleep = whole_asleep) {
    at_once(3);
}

/*
 * A post from external threads brings due work with it, while a worker fires the same or picks:
 * they run in the order of the posts and deadlines, and each once. With one worker that is the
 * order of the runs.
 */
static void posts_late(void *arg) {
    int64_t at = *(const int64_t *)arg;
    while (thrum_now() < at) {
        th_os_relax();
    }
    post(3);
}

static void external_late(unsigned workers) {
    start(workers, 1);
    int64_t at = thrum_after(SOON);
    for (unsigned i = 0; i < 3; i++) {
        post_at(i, at);
    }
    int t = sim_spawn(posts_late, &at);
    sim_join(t);
    end(4);
    for (unsigned i = 0; workers == 1 && i < 4; i++) {
        sim_check(order[i] == i);
    }
}

SIM_WORLD(fifo_due_external_1, .asleep = whole_asleep) {
    external_late(1);
}

SIM_WORLD(fifo_due_external_2, .asleep = whole_asleep) {
    external_late(2);
}

static unsigned place_of(unsigned i) {
    unsigned place = 0;
    while (order[place] != i) {
        place++;
    }
    return place;
}

/* Its body posts when the deadline has passed. */
static void posts_behind(thrum_task *self, void *arg) {
    body(self, NULL);
    while (thrum_now() < *(const int64_t *)arg) {
        th_os_relax();
    }
    post(1);
}

/*
 * The only worker puts its posts behind all queued work, without a push: also behind a deadline
 * that a post from an external thread has fired just now.
 */
SIM_WORLD(fifo_due_fired_external, .asleep = whole_asleep) {
    start(1, 1);
    int64_t at = thrum_after(SOON);
    post_at(0, at);
    thrum_task_init(&tasks[2], posts_behind, &at);
    sim_check(thrum_task_post(sched, &tasks[2]) == 0);
    int t = sim_spawn(posts_late, &at);
    sim_join(t);
    end(4);
    sim_check(place_of(0) < place_of(1) && place_of(0) < place_of(3));
}

/* ---- each needs a worker of its own ---- */

static uint32_t xmet;

static void meet(thrum_task *self, void *arg) {
    body(self, NULL);
    unsigned all = (unsigned)(uintptr_t)arg;
    /* relaxed: it orders nothing */
    if (th_add_relaxed(&xmet, 1u) + 1 == all) {
        whole_open(&gate);
    }
    whole_pass(&gate);
}

static void meet_at(unsigned i, int64_t deadline, unsigned all) {
    thrum_task_init(&tasks[i], meet, (void *)(uintptr_t)all);
    due[i] = deadline;
    sim_check(thrum_task_post_until(sched, &tasks[i], deadline) == 0);
}

/*
 * Tasks that are fired together are shared out: one for the worker that fired them, a wake for each
 * other one.
 */
static void meet_all(unsigned n) {
    start(n, 1);
    int64_t at = thrum_after(LATER);
    for (unsigned i = 0; i < n; i++) {
        meet_at(i, at, n);
    }
    end(n);
}

SIM_WORLD(fifo_due_meet_2, .asleep = whole_asleep_shared) {
    meet_all(2);
}

SIM_WORLD(fifo_due_meet_3, .asleep = whole_asleep_shared) {
    meet_all(3);
}

/*
 * A deadline and a post: the combiner for the one is notified of the thread that came for the
 * other.
 */
SIM_WORLD(fifo_due_meet_post, .asleep = whole_asleep_shared) {
    start(2, 1);
    meet_at(0, thrum_after(SOON), 2);
    thrum_task_init(&tasks[1], meet, (void *)2);
    sim_check(thrum_task_post(sched, &tasks[1]) == 0);
    end(2);
}

static void posts_meet(void *arg) {
    (void)arg;
    thrum_task_init(&tasks[2], meet, (void *)3);
    sim_check(thrum_task_post(sched, &tasks[2]) == 0);
}

SIM_WORLD(fifo_due_meet_posters, .asleep = whole_asleep_shared) {
    start(3, 1);
    int t = sim_spawn(posts_meet, NULL);
    meet_at(0, thrum_after(SOON), 3);
    meet_at(1, thrum_after(SOON), 3);
    sim_join(t);
    end(3);
}

/* Two in the shared order behind a task that holds its worker belong to every worker. */
static void posts_and_holds(thrum_task *self, void *arg) {
    (void)arg;
    body(self, NULL);
    post(1);
    thrum_task_init(&tasks[2], meet, (void *)1);
    sim_check(thrum_task_post(sched, &tasks[2]) == 0);
    whole_pass(&gate);
}

SIM_WORLD(fifo_backlog, .asleep = whole_asleep_shared) {
    start(2, 1);
    thrum_task_init(&tasks[0], posts_and_holds, NULL);
    sim_check(thrum_task_post(sched, &tasks[0]) == 0);
    end(3);
}

/* A worker that has fired one may first have pinned work to run, which takes long. */
static void opens(thrum_task *self, void *arg) {
    body(self, arg);
    whole_open(&gate);
}

static void holds(thrum_task *self, void *arg) {
    body(self, arg);
    whole_pass(&gate);
}

SIM_WORLD(fifo_due_behind_pinned) {
    start(2, 1);
    thrum_task_init(&tasks[0], opens, NULL);
    thrum_task_init(&tasks[1], holds, NULL);
    thrum_task_set_worker(&tasks[1], 0);
    due[0] = thrum_after(2 * SOON);
    sim_check(thrum_task_post_until(sched, &tasks[0], due[0]) == 0);
    while (sim_pick(2) && thrum_now() < due[0]) {
        th_os_relax();
    }
    sim_check(thrum_task_post(sched, &tasks[1]) == 0);
    end(2);
}

/* ---- waiting tasks ---- */

static void woken(thrum_task *self, void *arg) {
    body(self, arg);
    sim_check(!thrum_task_is_cancelled(self) && !thrum_task_is_expired(self));
}

static void wakes(void *arg) {
    (void)arg;
    thrum_task_wakeup(&tasks[0]);
    thrum_task_wakeup(&tasks[1]);
}

/* Wakeups from external threads queue like posts. */
SIM_WORLD(fifo_due_woken, .asleep = whole_asleep) {
    start(2, 1);
    for (unsigned i = 0; i < 2; i++) {
        thrum_task_init(&tasks[i], woken, NULL);
        sim_check(thrum_task_post_wait(sched, &tasks[i]) == 0);
    }
    int t = sim_spawn(wakes, NULL);
    post_at(2, thrum_after(SOON));
    post(3);
    sim_join(t);
    end(4);
}

/* Deadlines in the past queue behind earlier posts: nothing starves. */
static unsigned streamed;

static void again(thrum_task *self, void *arg) {
    (void)arg;
    sim_check(++streamed < 40);
    if (!ran[2]) {
        sim_check(thrum_task_post_until(sched, self, 0) == 0);
    } else {
        ran[self - tasks]++;
    }
}

static void streams(thrum_task *self, void *arg) {
    (void)arg;
    ran[self - tasks]++;
    thrum_task_init(&tasks[0], again, NULL);
    thrum_task_init(&tasks[1], again, NULL);
    sim_check(thrum_task_post_until(sched, &tasks[0], 0) == 0);
    sim_check(thrum_task_post_until(sched, &tasks[1], 0) == 0);
    post(2);
}

SIM_WORLD(fifo_due_stream, .asleep = whole_asleep) {
    start(1, 1);
    thrum_task_init(&tasks[3], streams, NULL);
    sim_check(thrum_task_post(sched, &tasks[3]) == 0);
    end(4);
}
