/*
 * awaits.h: one wait of an intrusive task (thrum/await.h), begun in a run of the rig's, and the
 * results that the task's body saw.
 */
#ifndef AWAITS_H
#define AWAITS_H

#include "support/sync/actors.h"

typedef struct place place;
typedef int (*on_fn)(place *p);

/* A task's wait, and the results that its run saw. */
struct place {
    thrum_task task;
    thrum_await await;
    on_fn on;
    thrum_time deadline;
    void *of;
    int value;      /* of a channel's element */
    void *items[2]; /* of a pool */
    int code;       /* of the call that began the wait */
    int ended;      /* of thrum_await_end */
    int plain;      /* the other side's writes, as the body sees them */
    atomic_int runs;
};

static rig r;
static int plain; /* the other side's first write */

static void ends(thrum_task *self, void *arg) {
    (void)self;
    place *p = arg;
    p->ended = thrum_await_end(&p->await);
    p->plain = p->ended >= 0 ? plain : 0;
    atomic_fetch_add(&p->runs, 1);
}

static int begins(void *arg) {
    place *p = arg;
    int code = p->on(p);
    p->code = code; /* it may have run already: the test reads this when both have ended */
    return 0;
}

static int begin(place *p, on_fn on, void *of, thrum_time deadline) {
    memset(p, 0, sizeof *p);
    thrum_task_init(&p->task, ends, p);
    p->on = on;
    p->of = of;
    p->deadline = deadline;
    CHECK_EQ(rig_run(&r, begins, p), 0);
    return p->code;
}

static void await_run(place *p) {
    SPIN_UNTIL(atomic_load(&p->runs) == 1);
}

#endif
