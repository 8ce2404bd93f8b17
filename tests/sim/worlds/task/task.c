/*
 * task.c: the states of an intrusive task (core/task/TASKS.md): posts, wakeups, signals, deadlines
 * and cancels that meet, on a bare scheduler. Each world names its race; in all of them a thread's
 * writes before it woke the task are plain data, and the run that it woke reads them. A lost run
 * shows as a task that stop had to cancel. Actions of bodies on their own task are in task_body.c.
 */
#include <errno.h>

#include "base/atomic.h"
#include "platform/platform.h"
#include "whole.h"

#define SOON 300      /* about as long as a few steps take */
#define LATER 1000000 /* far off: the clock must jump */
#define WHILE 4       /* runs that a world can distinguish */

static thrum_sched *sched;
static thrum_task *task;

/* The findings of each run. The runs of one task come one after the other. */
static unsigned runs;
static bool expired[WHILE], cancelled[WHILE], signaled[WHILE];
static int64_t due; /* the deadline of the only post */

static void begin(unsigned workers) {
    thrum_config config = whole_config(workers);
    sched = whole_start_bare(&config);
}

static void make_task(thrum_task_fn fn) {
    task = sim_alloc(sizeof *task);
    thrum_task_init(task, fn, NULL);
}

static void end(void) {
    whole_stop(sched);
    sim_free(task);
}

/* Returns the run's number, from 0. */
static unsigned look(thrum_task *self) {
    unsigned n = runs++;
    sim_check(n < WHILE);
    expired[n] = thrum_task_is_expired(self);
    cancelled[n] = thrum_task_is_cancelled(self);
    signaled[n] = thrum_task_receive_signal(self);
    return n;
}

static void waits(void *arg) {
    (void)arg;
    sim_check(thrum_task_post_wait(sched, task) == 0);
}

static void posts(void *arg) {
    (void)arg;
    sim_check(thrum_task_post(sched, task) == 0);
}

static void until_later(void *arg) {
    (void)arg;
    due = thrum_after(LATER);
    sim_check(thrum_task_post_until(sched, task, due) == 0);
}

/* ---- data published before a wakeup ---- */

static int told;
static uint32_t xcame; /* the same for a run that may not know whether it was woken */

static void tell(void) {
    told = 7;
    th_store_relaxed(&xcame, 1u); /* relaxed: the following calls order it */
}

static void wakes(void *arg) {
    (void)arg;
    tell();
    thrum_task_wakeup(task);
}

static void signals(void *arg) {
    (void)arg;
    tell();
    thrum_task_signal(task);
}

/* Whichever run it is, the wakeup began it. */
static void is_told(thrum_task *self, void *arg) {
    (void)arg;
    look(self);
    sim_check(told == 7);
}

static void post_beside(unsigned workers, void (*with)(void *)) {
    begin(workers);
    make_task(is_told);
    int t = sim_spawn(with, NULL);
    waits(NULL);
    sim_join(t);
    end();
    sim_check(runs == 1 && !expired[0] && !cancelled[0]);
    sim_check(signaled[0] == (with == signals));
}

/* A wakeup comes before, during or after the post: one run, which was woken. */
SIM_WORLD(task_wakeup, .asleep = whole_asleep) {
    post_beside(1, wakes);
}

SIM_WORLD(task_wakeup_2, .asleep = whole_asleep) {
    post_beside(2, wakes);
}

SIM_WORLD(task_signal, .asleep = whole_asleep) {
    post_beside(1, signals);
}

SIM_WORLD(task_signal_2, .asleep = whole_asleep) {
    post_beside(2, signals);
}

/* The same with a post to run at once: wakeups meanwhile are remembered for the next one. */
static void reads_if_woken(thrum_task *self, void *arg) {
    (void)arg;
    unsigned n = look(self);
    if (!expired[n] || signaled[n]) {
        sim_check(told == 7);
    }
}

static uint32_t xbegun; /* how many runs may be posted again: the user's order */

static bool saw[WHILE];

static void reads_and_tells(thrum_task *self, void *arg) {
    reads_if_woken(self, arg);
    saw[runs - 1] = th_load_relaxed(&xcame) != 0; /* relaxed: the wakeup orders it */
    th_add_release(&xbegun, 1u);
}

static void await_begun(unsigned n) {
    while (th_load_acquire(&xbegun) < n) {
        th_os_relax();
    }
}

/*
 * One wakeup and two posts, the second once the first run has begun: the wakeup is absorbed by that
 * run, which then sees the waker's data, or it is remembered for the second post.
 */
static void once_of_two(unsigned workers, void (*with)(void *)) {
    begin(workers);
    make_task(reads_and_tells);
    int t = sim_spawn(with, NULL);
    posts(NULL);
    await_begun(1);
    waits(NULL);
    sim_join(t);
    end();
    sim_check(runs == 2);
    sim_check(!cancelled[1] || saw[0]);
    if (with == signals) {
        sim_check(signaled[0] + signaled[1] == 1);
        sim_check(signaled[1] != cancelled[1]);
    }
}

SIM_WORLD(task_remembered, .asleep = whole_asleep) {
    once_of_two(1, wakes);
}

SIM_WORLD(task_remembered_2, .asleep = whole_asleep) {
    once_of_two(2, wakes);
}

SIM_WORLD(task_remembered_signal, .asleep = whole_asleep) {
    once_of_two(1, signals);
}

SIM_WORLD(task_remembered_signal_2, .asleep = whole_asleep) {
    once_of_two(2, signals);
}

/* ---- two wakers ---- */

static uint32_t xtold[2];

static void wakes_as(unsigned i) {
    th_store_relaxed(&xtold[i], 1u); /* relaxed: the wakeup orders it */
    thrum_task_wakeup(task);
}

static void wakes_0(void *arg) {
    (void)arg;
    wakes_as(0);
}

static void wakes_1(void *arg) {
    (void)arg;
    wakes_as(1);
}

/* Waits again until both have come: each wakeup has a run that sees its data. */
static void until_both(thrum_task *self, void *arg) {
    (void)arg;
    unsigned n = look(self);
    sim_check(!cancelled[n] && !expired[n]);
    /* relaxed: the wakeup orders it */
    if (!th_load_relaxed(&xtold[0]) || !th_load_relaxed(&xtold[1])) {
        sim_check(thrum_task_post_wait(sched, self) == 0);
    }
}

static void two_wakers(unsigned workers) {
    begin(workers);
    make_task(until_both);
    waits(NULL);
    int a = sim_spawn(wakes_0, NULL);
    wakes_1(NULL);
    sim_join(a);
    end();
    sim_check(runs == 1 || runs == 2);
}

/*
 * Two wakeups come at once, and the body waits again: one makes it due, the other is seen as well.
 */
SIM_WORLD(task_two_wakers, .asleep = whole_asleep) {
    two_wakers(1);
}

SIM_WORLD(task_two_wakers_2, .asleep = whole_asleep) {
    two_wakers(2);
}

/* The same before and during the post. */
SIM_WORLD(task_two_wakers_post, .asleep = whole_asleep) {
    begin(1);
    make_task(until_both);
    int a = sim_spawn(wakes_0, NULL);
    int b = sim_spawn(wakes_1, NULL);
    waits(NULL);
    sim_join(a);
    sim_join(b);
    end();
}

/* A wakeup meets a signal: one of them makes it due, neither is lost. */
static void signal_stays(thrum_task *self, void *arg) {
    (void)arg;
    unsigned n = look(self);
    sim_check(!cancelled[n] && !expired[n]);
    if (signaled[n]) {
        sim_check(told == 7);
    } else {
        sim_check(thrum_task_post_wait(sched, self) == 0);
    }
}

SIM_WORLD(task_wakeup_and_signal, .asleep = whole_asleep) {
    begin(2);
    make_task(signal_stays);
    waits(NULL);
    int a = sim_spawn(wakes_0, NULL);
    signals(NULL);
    sim_join(a);
    end();
    sim_check(runs == 1 || runs == 2);
}

/*
 * The same, but the sender of the signal publishes data, too. The wakeup may come while the signal
 * is pending, and adds nothing then: so the receiver of the signal must see the wakeup's data.
 */
static void signals_1(void *arg) {
    (void)arg;
    th_store_relaxed(&xtold[1], 1u); /* relaxed: the signal orders it */
    thrum_task_signal(task);
}

static void wakeup_beside_signal(unsigned workers, void (*post_it)(void *)) {
    begin(workers);
    make_task(until_both);
    post_it(NULL);
    int a = sim_spawn(wakes_0, NULL);
    signals_1(NULL);
    sim_join(a);
    end();
    sim_check(runs >= 1 && runs <= 3);
}

SIM_WORLD(task_wakeup_beside_signal, .asleep = whole_asleep) {
    wakeup_beside_signal(1, waits);
}

SIM_WORLD(task_wakeup_beside_signal_2, .asleep = whole_asleep) {
    wakeup_beside_signal(2, waits);
}

/* ---- against the deadline ---- */

static void never_early(thrum_task *self, void *arg) {
    (void)arg;
    unsigned n = look(self);
    if (expired[n]) {
        sim_check(thrum_now() >= due);
    } else if (!cancelled[n]) {
        sim_check(told == 7);
    }
}

static void deadline_beside(unsigned workers, void (*with)(void *), thrum_time after) {
    begin(workers);
    make_task(never_early);
    due = thrum_after(after);
    int t = sim_spawn(with, NULL);
    sim_check(thrum_task_post_until(sched, task, due) == 0);
    sim_join(t);
    end();
    sim_check(runs == 1 && !cancelled[0]);
    sim_check(!signaled[0] || with == signals);
    sim_check(expired[0] || with == wakes || signaled[0]);
}

/* The wakeup meets the deadline: one of them makes it due, and the cause shows which. */
SIM_WORLD(task_wakeup_deadline, .asleep = whole_asleep, .timers_max = 3) {
    deadline_beside(1, wakes, LATER);
}

SIM_WORLD(task_wakeup_deadline_2, .asleep = whole_asleep, .timers_max = 3) {
    deadline_beside(2, wakes, LATER);
}

SIM_WORLD(task_wakeup_deadline_soon, .asleep = whole_asleep) {
    deadline_beside(2, wakes, SOON);
}

SIM_WORLD(task_signal_deadline, .asleep = whole_asleep, .timers_max = 3) {
    deadline_beside(2, signals, LATER);
}

SIM_WORLD(task_signal_deadline_soon, .asleep = whole_asleep) {
    deadline_beside(1, signals, SOON);
}

/* There is only the deadline: one run, in time; the clock stops for nothing else. */
SIM_WORLD(task_deadline, .asleep = whole_asleep) {
    begin(2);
    make_task(never_early);
    until_later(NULL);
    end();
    sim_check(runs == 1 && expired[0] && !cancelled[0]);
}

/* ---- cancelling ---- */

static int cancel_result;

static void cancels(void *arg) {
    (void)arg;
    cancel_result = thrum_task_cancel(task);
}

static void cancel_beside(unsigned workers, void (*post_it)(void *), void (*with)(void *)) {
    begin(workers);
    make_task(never_early);
    post_it(NULL);
    int t = sim_spawn(cancels, NULL);
    if (with) {
        with(NULL);
    }
    sim_join(t);
    sim_check(cancel_result == 0 || cancel_result == -EBUSY);
    sim_check(thrum_sched_wait_done(sched, THRUM_FOREVER) == 0);
    sim_check(runs == 1);
    sim_check(!cancelled[0] || cancel_result == 0);
    due = 0;
    /* A cancel that came too late has nothing to do with the next post. */
    posts(NULL);
    end();
    sim_check(runs == 2 && !cancelled[1]);
}

/* Only a cancel makes it due. */
SIM_WORLD(task_cancel, .asleep = whole_asleep) {
    cancel_beside(1, waits, NULL);
    sim_check(cancelled[0] && !expired[0]);
}

/* A cancel meets its deadline. */
SIM_WORLD(task_cancel_deadline, .asleep = whole_asleep, .timers_max = 3) {
    cancel_beside(2, until_later, NULL);
}

/* A cancel meets a wakeup. */
SIM_WORLD(task_cancel_wakeup, .asleep = whole_asleep) {
    cancel_beside(2, waits, wakes);
}

/* A cancel meets a signal and a deadline. */
SIM_WORLD(task_cancel_signal, .asleep = whole_asleep, .timers_max = 3) {
    cancel_beside(1, until_later, signals);
}

/* A cancel meets the beginning of a run that waits for nothing: it is seen, or has no effect. */
SIM_WORLD(task_cancel_run, .asleep = whole_asleep) {
    cancel_beside(1, posts, NULL);
}

static void look_only(thrum_task *self, void *arg) {
    (void)arg;
    look(self);
}

static void only_signals(void *arg) {
    (void)arg;
    thrum_task_signal(task);
}

/* Everything comes at once: one run, caused by the first of them. */
SIM_WORLD(task_everything, .asleep = whole_asleep, .timers_max = 3) {
    begin(2);
    make_task(look_only);
    until_later(NULL);
    int a = sim_spawn(wakes, NULL);
    int b = sim_spawn(cancels, NULL);
    int c = sim_spawn(only_signals, NULL);
    sim_join(a);
    sim_join(b);
    sim_join(c);
    end();
    sim_check(runs == 1);
}
