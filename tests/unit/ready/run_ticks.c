/*
 * run_ticks.c: by whichever way a worker gets work, the run begins with a pick that is counted.
 * spares.c checks the same of what spares take over.
 */
/* matrix: policy workers */
#include "support/ticks.h"
#include "support/times.h"

enum { FIBERS = 12, ROUNDS = 40 };

typedef struct crowd {
    rig r;
    ticks ticks;
    thrum_sem sems[2];
    thrum_task tasks[FIBERS];
} crowd;

static crowd a_crowd;

static void body(thrum_task *self, void *arg) {
    crowd *w = arg;
    (void)self;
    ticks_check(&w->ticks);
}

static int child(void *arg) {
    crowd *w = arg;
    ticks_check(&w->ticks);
    thrum_yield();
    ticks_check(&w->ticks);
    return 0;
}

/* Begins and goes on in all ways that a task alone has. */
static int wanders(void *arg) {
    crowd *w = arg;
    ticks_check(&w->ticks);
    for (int i = 0; i < SCALED(ROUNDS); i++) {
        thrum_handle *handle;
        int result = 1;
        thrum_yield();
        ticks_check(&w->ticks);
        nap();
        CHECK_EQ(thrum_spawn(&handle, child, w), 0);
        CHECK_EQ(thrum_join(handle, &result), 0);
        CHECK_EQ(result, 0);
    }
    return 0;
}

/* One of two that wake each other. */
static int wakes_the_other(crowd *w, int mine) {
    ticks_check(&w->ticks);
    for (int i = 0; i < SCALED(ROUNDS); i++) {
        CHECK_EQ(thrum_sem_wait(&w->sems[mine]), 0);
        thrum_sem_post(&w->sems[1 - mine]);
    }
    return 0;
}

static int first(void *arg) {
    return wakes_the_other(arg, 0);
}

static int second(void *arg) {
    return wakes_the_other(arg, 1);
}

static void *posts(void *arg) {
    const crew_seat *seat = arg;
    crowd *w = seat->arg;
    thrum_task *batch[FIBERS];
    for (int i = 0; i < FIBERS; i++) {
        thrum_task_init(&w->tasks[i], body, w);
        if (i % 3 == 0) {
            thrum_task_set_worker(&w->tasks[i], 0);
        }
        batch[i] = &w->tasks[i];
    }
    CHECK_EQ(thrum_task_post_batch(w->r.sched, batch, FIBERS / 2), 0);
    for (int i = FIBERS / 2; i < FIBERS; i++) {
        CHECK_EQ(i % 2 ? thrum_task_post(w->r.sched, batch[i])
                       : thrum_task_post_until(w->r.sched, batch[i], soon()),
                 0);
    }
    return NULL;
}

static void check_crowd(bool bound, bool helps) {
    crowd *w = &a_crowd;
    crew c;
    memset(w, 0, sizeof(*w));
    rig_init(&w->r);
    w->r.config.help_when_bound = helps;
    rig_start(&w->r);
    thrum_sem_init(&w->sems[0], 0);
    thrum_sem_init(&w->sems[1], 0);
    if (bound) {
        CHECK_EQ(thrum_sched_bind(w->r.sched), 0);
    }
    thrum_attr attr = rig_attr(&w->r);
    for (int i = 0; i < FIBERS; i++) {
        attr.flags = i % 2 ? THRUM_PINNED : 0;
        attr.worker = bound ? -1 : 0;
        CHECK_EQ(thrum_go_with(&attr, wanders, w), 0);
    }
    CHECK_EQ(thrum_go_with(&attr, second, w), 0);
    rig_go(&w->r, first, w);
    crew_start(&c, 1, posts, w);
    thrum_sem_post(&w->sems[0]);
    rig_wait_done(&w->r);
    crew_join(&c);
    if (bound) {
        CHECK_EQ(thrum_sched_unbind(), 0);
    }
    rig_stop(&w->r);
}

TEST(each_run_on_a_worker_begins_with_a_pick) {
    /* Tasks of all kinds, tied to a worker and not, woken by each other, by time and by threads. */
    check_crowd(false, false);
}

TEST(each_run_on_a_bound_thread_begins_with_a_pick) {
    /* What is tied to it, and what it helps with. */
    check_crowd(true, false);
    check_crowd(true, true);
}
