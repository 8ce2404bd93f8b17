/*
 * await.c: waits of tasks (core/wait/WAITING.md, "Waits of tasks"), on a bare scheduler: the waker
 * against the beginning of the wait, its deadline, a cancel and another waiter. The body frees the
 * task, the wait and its object, so any later access to one of them uses freed memory.
 */
#include <errno.h>

#include <thrum/await.h>

#include "core/state/slab.h"
#include "core/state/worker.h"
#include "core/task/run.h"
#include "platform/platform.h"
#include "whole.h"

#define SOON 300 /* about as long as a few steps take */

typedef struct place {
    thrum_task task;
    thrum_await await;
    int value;
} place;

static thrum_sched *sched;
static place *of_wait;
static thrum_sem *sem;
static thrum_event *event;
static thrum_chan *chan;
static whole_gate begun, ended;
static int data;    /* plain: the waker's earlier writes */
static int outcome; /* plain: of the wait */
static bool keeps;  /* constant: the test checks the object afterwards */
static int64_t deadline = THRUM_FOREVER;

static void start(void) {
    thrum_config config = whole_config(1);
    sched = whole_start_bare(&config);
    of_wait = sim_alloc(sizeof *of_wait);
}

static void is_over(int code) {
    outcome = code;
    sim_check(code != 0 || data == 1);
    sim_free(of_wait);
    if (!keeps && !chan) {
        sim_free(sem ? (void *)sem : (void *)event);
    }
    whole_open(&ended);
}

static void body(thrum_task *self, void *arg) {
    (void)self;
    place *p = arg;
    int code = thrum_await_end(&p->await);
    sim_check(!chan || code != 0 || p->value == 5);
    is_over(code);
}

/* Begins the wait in a task; an object that is there is taken at once. */
static void begins(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    place *p = of_wait;
    thrum_task_init(&p->task, body, p);
    int code = sem     ? thrum_sem_on_until(sem, &p->await, &p->task, deadline)
               : event ? thrum_event_on_until(event, &p->await, &p->task, deadline)
                       : thrum_chan_recv_on_until(chan, &p->value, &p->await, &p->task, deadline);
    if (code) {
        is_over(code == 1 ? 0 : code);
    }
}

static void gives(void *arg) {
    (void)arg;
    data = 1;
    if (sem) {
        thrum_sem_post(sem);
    } else if (event) {
        thrum_event_signal(event);
    } else {
        int value = 5;
        sim_check(thrum_chan_try_send(chan, &value) == 0);
    }
}

static thrum_sem *make_sem(void) {
    thrum_sem *made = sim_alloc(sizeof *made);
    thrum_sem_init(made, 0);
    return made;
}

static thrum_event *make_event(thrum_event_mode mode) {
    thrum_event *made = sim_alloc(sizeof *made);
    thrum_event_init(made, mode, false);
    return made;
}

static void play(void) {
    int t = sim_spawn(gives, NULL);
    whole_post(sched, 0, begins, NULL);
    sim_join(t);
    whole_pass(&ended);
    whole_stop(sched);
}

/* One waker comes before, while or after the wait begins. All is freed at once. */
SIM_WORLD(await_sem, .asleep = whole_asleep) {
    start();
    sem = make_sem();
    play();
    sim_check(outcome == 0);
}

SIM_WORLD(await_event, .asleep = whole_asleep) {
    start();
    event = make_event(THRUM_EVENT_AUTO);
    play();
    sim_check(outcome == 0);
}

SIM_WORLD(await_event_manual, .asleep = whole_asleep) {
    start();
    event = make_event(THRUM_EVENT_MANUAL);
    play();
    sim_check(outcome == 0);
}

SIM_WORLD(await_chan, .asleep = whole_asleep) {
    start();
    sim_check(thrum_chan_create(&chan, sizeof(int), 1) == 0);
    play();
    sim_check(outcome == 0 && thrum_chan_len(chan) == 0);
    sim_check(thrum_chan_destroy(chan) == 0);
}

/* ---- against an early end ---- */

/* The unit was taken, or it is still there: never both, never neither. */
static void accounted_for(void) {
    sim_check(outcome == 0 || outcome == -ETIMEDOUT || outcome == -ECANCELED);
    if (sem) {
        sim_check((thrum_sem_try_wait(sem) == 0) == (outcome != 0));
        sim_check(thrum_sem_destroy(sem) == 0);
        sim_free(sem);
    } else {
        sim_check(thrum_event_test(event) == (outcome != 0));
        sim_check(thrum_event_destroy(event) == 0);
        sim_free(event);
    }
}

SIM_WORLD(await_sem_late, .asleep = whole_asleep, .timers_max = 2) {
    start();
    keeps = true;
    sem = make_sem();
    deadline = thrum_after(SOON);
    play();
    accounted_for();
}

SIM_WORLD(await_event_late, .asleep = whole_asleep, .timers_max = 2) {
    start();
    keeps = true;
    event = make_event(THRUM_EVENT_AUTO);
    deadline = thrum_after(SOON);
    play();
    accounted_for();
}

static void begins_and_tells(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    place *p = of_wait;
    thrum_task_init(&p->task, body, p);
    sim_check(thrum_sem_on_until(sem, &p->await, &p->task, THRUM_FOREVER) == 0);
    whole_open(&begun);
}

/* Its deadline has passed: it cancels waiters. */
static void stops(void) {
    int code = thrum_sched_stop_until(sched, 1);
    sim_check(code == 0 || code == -ETIMEDOUT);
    if (code) {
        whole_stop(sched);
    } else {
        whole_forget(sched);
    }
}

/* A stop that cancels all meets the waker: one of them ends the wait. */
SIM_WORLD(await_sem_stopped) {
    start();
    keeps = true;
    sem = make_sem();
    whole_post(sched, 0, begins_and_tells, NULL);
    whole_pass(&begun);
    int t = sim_spawn(gives, NULL);
    stops();
    sim_join(t);
    accounted_for();
}

/* ---- beside another waiter ---- */

static int other; /* plain: the result of the thread's wait */

static void waits(void *arg) {
    (void)arg;
    other = thrum_sem_wait_until(sem, thrum_after(SOON));
}

/* A task and a thread, both with a deadline, and one unit: it comes to one of them, or is left. */
SIM_WORLD(await_sem_beside, .asleep = whole_asleep, .timers_max = 3) {
    start();
    keeps = true;
    sem = make_sem();
    deadline = thrum_after(SOON);
    int t = sim_spawn(waits, NULL);
    play();
    sim_join(t);
    const int left = thrum_sem_try_wait(sem) == 0;
    sim_check((outcome == 0) + (other == 0) + left == 1);
    sim_check(thrum_sem_destroy(sem) == 0);
    sim_free(sem);
}

/* ---- the end of a task ---- */

static th_slab *slab;
static thrum_handle *handle;

static void *alloc(void *ctx, size_t size) {
    (void)ctx;
    return th_os_alloc(size);
}

static void free_it(void *ctx, void *ptr) {
    (void)ctx;
    th_os_free(ptr);
}

/* As a task's end, by another thread. */
static void finishes(void *arg) {
    (void)arg;
    data = 1;
    th_handle_finish(handle, 42);
}

/* The wait is over, one way or the other. If the task has ended the handle is joined, and gone. */
static void joined(int code) {
    int result = 0;
    outcome = code;
    if (code == 0) {
        sim_check(data == 1); /* visible before the join */
        sim_check(thrum_join(handle, &result) == 0);
        sim_check(result == 42);
    }
    sim_free(of_wait);
    whole_open(&ended);
}

static void joined_later(thrum_task *self, void *arg) {
    (void)self;
    joined(thrum_await_end(&((place *)arg)->await));
}

static void joins(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    place *p = of_wait;
    thrum_task_init(&p->task, joined_later, p);
    const int code = thrum_join_on_until(handle, &p->await, &p->task, deadline);
    if (code) {
        joined(code == 1 ? 0 : code);
    }
}

static void play_join(void) {
    start();
    slab = th_slab_new(sizeof(thrum_handle), alloc, free_it, NULL);
    handle = th_slab_get_external(slab);
    *handle = (thrum_handle){.slab = slab};
    int t = sim_spawn(finishes, NULL);
    whole_post(sched, 0, joins, NULL);
    sim_join(t);
    whole_pass(&ended);
    whole_stop(sched);
}

/* It ends before, while or after the wait begins. */
SIM_WORLD(await_join, .asleep = whole_asleep) {
    play_join();
    sim_check(outcome == 0);
    th_slab_close(slab);
}

/* The deadline comes before or after that: then the handle is still to be joined. */
SIM_WORLD(await_join_late, .asleep = whole_asleep, .timers_max = 2) {
    int result = 0;
    deadline = thrum_after(SOON);
    play_join();
    sim_check(outcome == 0 || outcome == -ETIMEDOUT);
    sim_check(outcome == 0 || thrum_join(handle, &result) == 0);
    th_slab_close(slab);
}

/* With no time to wait it is joined if the task has ended before. */
SIM_WORLD(await_join_at_once, .asleep = whole_asleep) {
    int result = 0;
    deadline = thrum_now();
    play_join();
    sim_check(outcome == 0 || outcome == -ETIMEDOUT);
    sim_check(outcome == 0 || thrum_join(handle, &result) == 0);
    th_slab_close(slab);
}
