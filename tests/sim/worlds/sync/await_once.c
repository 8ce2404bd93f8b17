/*
 * await_once.c: waits of tasks for a once (core/wait/WAITING.md, "Waits of tasks"), on a bare
 * scheduler: beside a thread whose function succeeds or fails, before, while and after the wait
 * begins; with a deadline, a cancel, or a task that cannot be posted. A task that has the turn ends
 * it in another run.
 */
#include <errno.h>

#include <thrum/await.h>

#include "whole.h"

#define SOON 300 /* about as long as a few steps take */

typedef struct place {
    thrum_task task;
    thrum_task doing; /* the run that has the turn */
    thrum_await await;
} place;

static thrum_sched *sched;
static place *of_wait;
static thrum_once *once;
static whole_gate ended;
static int made;     /* plain: written by the owner of the turn, once */
static int theirs;   /* constant: the result of the thread's function */
static int failed;   /* plain: of the thread's function */
static int outcome;  /* plain: of the wait */
static bool keeps;   /* constant: another thread uses the task, so it is freed behind that one */
static bool nowhere; /* constant: the task is for a worker that there is not */
static int64_t deadline = THRUM_FOREVER;

static void is_over(place *p, int code) {
    outcome = code;
    if (code == 0) {
        sim_check(made == 1);
    }
    if (!keeps) {
        sim_free(p);
    }
    whole_open(&ended);
}

/* In its own run: the work of the once. */
static void does(thrum_task *self, void *arg) {
    (void)self;
    made++;
    thrum_once_finish(once, 0);
    is_over(arg, 0);
}

static void goes_on(place *p, int code) {
    if (code == 2) {
        thrum_task_init(&p->doing, does, p);
        sim_check(thrum_task_post(sched, &p->doing) == 0);
    } else {
        is_over(p, code == 1 ? 0 : code);
    }
}

static void body(thrum_task *self, void *arg) {
    (void)self;
    place *p = arg;
    goes_on(p, thrum_await_end(&p->await));
}

static void begins(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    place *p = of_wait;
    const int code = thrum_once_on_until(once, &p->await, &p->task, deadline);
    if (code) {
        goes_on(p, code);
    }
}

static int makes(void *arg) {
    (void)arg;
    if (theirs == 0) {
        made++;
    } else {
        failed++;
    }
    return theirs;
}

static void calls(void *arg) {
    (void)arg;
    const int code = thrum_once_run(once, makes, NULL);
    sim_check(code == 0 || code == theirs);
    sim_check(code != 0 || made == 1);
}

static void cancels(void *arg) {
    (void)arg;
    const int code = thrum_task_cancel(&of_wait->task);
    sim_check(code == 0 || code == -EBUSY);
}

static void play(void) {
    thrum_config config = whole_config(1);
    sched = whole_start_bare(&config);
    of_wait = sim_alloc(sizeof *of_wait);
    thrum_task_init(&of_wait->task, body, of_wait);
    if (nowhere) {
        thrum_task_set_worker(&of_wait->task, 1000);
    }
    once = sim_alloc(sizeof *once);
    thrum_once_init(once);
    int t = sim_spawn(calls, NULL);
    int c = keeps ? sim_spawn(cancels, NULL) : 0;
    whole_post(sched, 0, begins, NULL);
    sim_join(t);
    whole_pass(&ended);
    whole_stop(sched);
    if (keeps) {
        sim_join(c);
        sim_free(of_wait);
    }
    sim_check(thrum_once_destroy(once) == 0);
    sim_free(once);
}

/* One of the two does it, and the other sees its writes. */
SIM_WORLD(await_once, .asleep = whole_asleep) {
    play();
    sim_check(outcome == 0 && failed == 0);
}

/* The thread's function fails, if it is called: then the task has the turn. */
SIM_WORLD(await_once_fails, .asleep = whole_asleep) {
    theirs = -EIO;
    play();
    sim_check(outcome == 0);
}

/* The deadline may come while the thread's function runs. */
SIM_WORLD(await_once_late, .asleep = whole_asleep, .timers_max = 2) {
    deadline = thrum_after(SOON);
    play();
    sim_check(outcome == 0 || outcome == -ETIMEDOUT);
}

/* The thread fails, or is late: the turn is neither lost nor given to a wait that is over. */
SIM_WORLD(await_once_fails_late, .asleep = whole_asleep, .timers_max = 2) {
    theirs = -EIO;
    deadline = thrum_after(SOON);
    play();
    sim_check(outcome == 0 || outcome == -ETIMEDOUT);
    sim_check(made == (outcome == 0));
}

/* ---- a cancel ---- */

/* It may come before, while or after the thread succeeds or fails, or the task has the turn. */
SIM_WORLD(await_once_cancelled, .asleep = whole_asleep) {
    keeps = true;
    play();
    sim_check(outcome == 0 || outcome == -ECANCELED);
    sim_check(made == 1);
}

SIM_WORLD(await_once_fails_cancelled, .asleep = whole_asleep) {
    keeps = true;
    theirs = -EIO;
    play();
    sim_check(outcome == 0 || outcome == -ECANCELED);
    sim_check(made == (outcome == 0));
}

/* ---- a task that cannot be posted ---- */

/* The call that begins the wait returns the refusal, or the result from before it. */
SIM_WORLD(await_once_refused, .asleep = whole_asleep) {
    nowhere = true;
    play();
    sim_check(outcome == 0 || outcome == -EINVAL);
    sim_check(made == 1);
}

SIM_WORLD(await_once_fails_refused, .asleep = whole_asleep) {
    nowhere = true;
    theirs = -EIO;
    play();
    sim_check(outcome == 0 || outcome == -EINVAL);
    sim_check(made == (outcome == 0));
}
