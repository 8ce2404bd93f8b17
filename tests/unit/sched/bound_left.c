/*
 * bound_left.c: without workers: what is left when a thread unbinds, or when none is bound.
 */
#include "support/sync/actors.h"
#include "support/times.h"

static void begin(rig *r) {
    rig_init(r);
    r->config.workers = 0;
    rig_start(r);
}

/* ---- tasks that wait, posted by a thread that is not bound ---- */

typedef struct waits {
    thrum_task task;
    int runs;
    bool cancelled;
} waits;

static void note_run(thrum_task *self, void *arg) {
    waits *w = arg;
    w->cancelled = thrum_task_is_cancelled(self);
    w->runs++;
}

TEST(a_stop_wakes_a_task_that_waits_for_ever) {
    /* It belongs to no thread; the stop runs it, cancelled. */
    rig r;
    waits w = {.runs = 0};
    begin(&r);
    thrum_task_init(&w.task, note_run, &w);
    CHECK_EQ(thrum_task_post_wait(r.sched, &w.task), 0);
    rig_stop(&r);
    CHECK_EQ(w.runs, 1);
    CHECK(w.cancelled);
}

TEST(a_late_stop_cancels_a_task_whose_deadline_is_far_off) {
    /* The next stop finds nothing left to wait for. */
    rig r;
    waits w = {.runs = 0};
    begin(&r);
    thrum_task_init(&w.task, note_run, &w);
    CHECK_EQ(thrum_task_post_until(r.sched, &w.task, far_off()), 0);
    CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
    rig_stop(&r);
    CHECK_EQ(w.runs, 1);
    CHECK(w.cancelled);
}

/* ---- a fiber that only the bound thread can run ---- */

typedef struct tied {
    thrum_sem sem;
    atomic_bool unbinds;
    atomic_int ended;
} tied;

static int wait_tied(void *arg) {
    tied *t = arg;
    CHECK_EQ(thrum_sem_wait(&t->sem), 0);
    atomic_fetch_add(&t->ended, 1);
    return 0;
}

/* Nothing depends on when the thread has got into the unbind: later shows more. */
static void *post_later(void *seat) {
    tied *t = ((crew_seat *)seat)->arg;
    SPIN_UNTIL(atomic_load(&t->unbinds));
    for (int i = 0; i < 1000; i++) {
        sched_yield();
    }
    thrum_sem_post(&t->sem);
    return NULL;
}

TEST(unbinding_waits_for_a_suspended_fiber) {
    /* The fiber is suspended, nothing is queued, and another thread wakes it in the end. */
    rig r;
    crew c;
    tied t = {.sem = THRUM_SEM_INIT(0)};
    begin(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_go_with(&attr, wait_tied, &t), 0);
    YIELD_UNTIL(SEM_WAITING(&t.sem) == 1);
    crew_start(&c, 1, post_later, &t);
    atomic_store(&t.unbinds, true);
    CHECK_EQ(thrum_sched_unbind(), 0);
    CHECK_EQ(atomic_load(&t.ended), 1);
    crew_join(&c);
    rig_stop(&r);
}
