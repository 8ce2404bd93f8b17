/*
 * task_body.c: actions of bodies on their own intrusive task (core/task/TASKS.md): free it, post it
 * again to wait, move it to another scheduler; and wakers, senders and cancels at that moment. The
 * memory is watched: a thread that still touches a task that its body has freed is found.
 */
#include <errno.h>

#include "base/atomic.h"
#include "platform/platform.h"
#include "whole.h"

#define SOON 300      /* about as long as a few steps take */
#define LATER 1000000 /* far off: the clock must jump */

static thrum_sched *sched;
static thrum_sched *other;
static thrum_task *task;
static unsigned runs;
static int told; /* plain: written before the call that begins the run that reads it */
static bool saw_cancelled;

static void begin(unsigned workers) {
    thrum_config config = whole_config(workers);
    sched = whole_start_bare(&config);
}

static void make_task(thrum_task_fn fn) {
    task = sim_alloc(sizeof *task);
    thrum_task_init(task, fn, NULL);
}

static void wakes(void *arg) {
    (void)arg;
    told = 7;
    thrum_task_wakeup(task);
}

static void signals(void *arg) {
    (void)arg;
    told = 7;
    thrum_task_signal(task);
}

/* A decision: to be run at once, soon, later, or when it is woken. */
static void post_somehow(void) {
    static const thrum_time after[] = {0, SOON, LATER};
    unsigned how = sim_pick(4);
    int result = how == 3 ? thrum_task_post_wait(sched, task)
                 : how    ? thrum_task_post_after(sched, task, after[how])
                          : thrum_task_post(sched, task);
    sim_check(result == 0);
}

/* ---- the body frees it ---- */

static uint32_t xfreed; /* how many tasks were freed; there are several at a time */

static void frees(thrum_task *self, void *arg) {
    (void)arg;
    th_add_relaxed(&xfreed, 1u); /* relaxed: stop orders it */
    sim_free(self);
}

static void frees_told(thrum_task *self, void *arg) {
    sim_check(told == 7);
    frees(self, arg);
}

static void all_freed(unsigned n) {
    whole_stop(sched);
    sim_check(th_load_relaxed(&xfreed) == n); /* relaxed: as above */
}

/* The only waker of a task that waits does not touch it once it is queued. */
static void wakeup_frees(unsigned workers) {
    begin(workers);
    make_task(frees_told);
    int t = sim_spawn(wakes, NULL);
    sim_check(thrum_task_post_wait(sched, task) == 0);
    sim_join(t);
    all_freed(1);
}

SIM_WORLD(task_freed_wakeup, .asleep = whole_asleep) {
    wakeup_frees(1);
}

SIM_WORLD(task_freed_wakeup_2, .asleep = whole_asleep) {
    wakeup_frees(2);
}

/* The timers that fired it do not touch it either, the owner's or a delegated call's. */
SIM_WORLD(task_freed_deadline, .asleep = whole_asleep) {
    begin(2);
    for (unsigned i = 0; i < 2; i++) {
        make_task(frees);
        sim_check(thrum_task_post_after(sched, task, sim_pick(2) ? SOON : LATER) == 0);
    }
    all_freed(2);
}

/* Stop, which cancels it, does not touch it either. */
SIM_WORLD(task_freed_cancelled, .asleep = whole_asleep) {
    begin(2);
    for (unsigned i = 0; i < 2; i++) {
        make_task(frees);
        sim_check(thrum_task_post_wait(sched, task) == 0);
    }
    all_freed(2);
}

/* Frees it at the signal; until then it waits for that, for a time or for ever. */
static void frees_at_signal(thrum_task *self, void *arg) {
    runs++;
    sim_check(runs < 20);
    if (thrum_task_receive_signal(self)) {
        sim_check(told == 7);
        sim_free(self);
        return;
    }
    sim_check(!thrum_task_is_cancelled(self));
    int result = arg ? thrum_task_post_after(sched, self, SOON) : thrum_task_post_wait(sched, self);
    sim_check(result == 0);
}

static void signal_frees(unsigned workers, bool timed) {
    begin(workers);
    make_task(frees_at_signal);
    thrum_task_set_body(task, frees_at_signal, timed ? &runs : NULL);
    int t = sim_spawn(signals, NULL);
    post_somehow();
    sim_join(t);
    whole_stop(sched);
}

/* The sender's step is its last access, unless it makes the task due. */
SIM_WORLD(task_freed_signal, .asleep = whole_asleep) {
    signal_frees(1, false);
}

SIM_WORLD(task_freed_signal_2, .asleep = whole_asleep) {
    signal_frees(2, false);
}

SIM_WORLD(task_freed_signal_timed, .asleep = whole_asleep) {
    signal_frees(2, true);
}

/* The signal is looked for in the middle of a run, and then taken. */
static void looks_for_signal(thrum_task *self, void *arg) {
    (void)arg;
    runs++;
    while (!thrum_task_is_signaled(self)) {
        th_os_relax();
    }
    sim_check(told == 7);
    sim_check(thrum_task_receive_signal(self) && !thrum_task_is_signaled(self));
    sim_free(self);
}

SIM_WORLD(task_signal_seen) {
    begin(1);
    make_task(looks_for_signal);
    int t = sim_spawn(signals, NULL);
    sim_check(thrum_task_post(sched, task) == 0);
    sim_join(t);
    whole_stop(sched);
}

static void takes_signal(thrum_task *self, void *arg) {
    (void)arg;
    runs++;
    while (!thrum_task_receive_signal(self)) {
        th_os_relax();
    }
    sim_check(told == 7);
    sim_free(self);
}

SIM_WORLD(task_signal_taken) {
    begin(1);
    make_task(takes_signal);
    int t = sim_spawn(signals, NULL);
    sim_check(thrum_task_post(sched, task) == 0);
    sim_join(t);
    whole_stop(sched);
}

/* ---- between the body's own post and its end ---- */

static whole_gate gate;
static int cancel_result;
static uint32_t xposted;

static void waits_again(thrum_task *self, void *arg) {
    (void)arg;
    if (++runs == 1) {
        sim_check(thrum_task_post_wait(sched, self) == 0);
        th_store_release(&xposted, 1u); /* the user's order: it is posted */
        return;
    }
    saw_cancelled = thrum_task_is_cancelled(self);
    sim_check(saw_cancelled == (told == 0));
    sim_check(!thrum_task_is_expired(self));
}

static void await_posted(void) {
    while (!th_load_acquire(&xposted)) {
        th_os_relax();
    }
}

static void cancels(void *arg) {
    (void)arg;
    await_posted();
    cancel_result = thrum_task_cancel(task);
}

static void wakes_posted(void *arg) {
    await_posted();
    wakes(arg);
}

static void between(unsigned workers, void (*with)(void *)) {
    begin(workers);
    make_task(waits_again);
    int t = sim_spawn(with, NULL);
    sim_check(thrum_task_post(sched, task) == 0);
    sim_join(t);
    /* Our cancel makes it due, not stop's. */
    sim_check(thrum_sched_wait_done(sched, THRUM_FOREVER) == 0);
    sim_check(runs == 2);
    whole_stop(sched);
    sim_check(runs == 2 && cancel_result == 0);
    sim_free(task);
}

/* A cancel comes between a body's own post and its end, or after that: the run comes at once. */
SIM_WORLD(task_cancel_own_post, .asleep = whole_asleep) {
    between(1, cancels);
}

SIM_WORLD(task_cancel_own_post_2, .asleep = whole_asleep) {
    between(2, cancels);
}

/* A wakeup comes there. */
SIM_WORLD(task_wake_own_post, .asleep = whole_asleep) {
    between(2, wakes_posted);
}

/* The body itself cancels its own new post, or wakes itself. */
static void posts_and_undoes(thrum_task *self, void *arg) {
    if (++runs == 1) {
        sim_check(thrum_task_post_after(sched, self, LATER) == 0);
        sim_check(thrum_task_post(sched, self) == -EBUSY);
        if (arg) {
            sim_check(thrum_task_cancel(self) == 0);
        } else {
            thrum_task_wakeup(self);
        }
        return;
    }
    sim_check(thrum_task_is_cancelled(self) == (arg != NULL));
    sim_check(!thrum_task_is_expired(self));
    sim_free(self);
}

SIM_WORLD(task_undone, .asleep = whole_asleep) {
    begin(1);
    make_task(posts_and_undoes);
    thrum_task_set_body(task, posts_and_undoes, sim_pick(2) ? &gate : NULL);
    sim_check(thrum_task_post(sched, task) == 0);
    whole_stop(sched);
    sim_check(runs == 2);
}

/* ---- posted again and again ---- */

static int64_t due;

static void ticks(thrum_task *self, void *arg) {
    (void)arg;
    sim_check(thrum_task_is_expired(self) && thrum_now() >= due);
    if (++runs < 4) {
        due = thrum_after(runs == 2 ? LATER : SOON);
        sim_check(thrum_task_post_until(sched, self, due) == 0);
    } else {
        sim_free(self);
    }
}

static void tick(unsigned workers, thrum_policy policy) {
    thrum_config config = whole_config(workers);
    config.policy = policy;
    sched = whole_start_bare(&config);
    make_task(ticks);
    sim_check(thrum_task_post(sched, task) == 0);
    whole_stop(sched);
    sim_check(runs == 4);
}

/* Each run sets the next deadline: its worker fires it, or another one does. */
SIM_WORLD(task_ticks, .asleep = whole_asleep) {
    tick(1, THRUM_SHARDED);
}

SIM_WORLD(task_ticks_2, .asleep = whole_asleep) {
    tick(2, THRUM_SHARDED);
}

SIM_WORLD(task_ticks_global, .asleep = whole_asleep) {
    tick(2, THRUM_GLOBAL);
}

SIM_WORLD(task_ticks_fifo, .asleep = whole_asleep) {
    tick(2, THRUM_FIFO);
}

/* ---- moved to another scheduler ---- */

static void moves(thrum_task *self, void *arg) {
    unsigned how = *(const unsigned *)arg;
    if (++runs == 1) {
        int result = how == 0   ? thrum_task_post(other, self)
                     : how == 1 ? thrum_task_post_after(other, self, SOON)
                                : thrum_task_post_wait(other, self);
        sim_check(result == 0);
        sim_check(thrum_sched_current() == sched);
        return;
    }
    sim_check(thrum_sched_current() == other);
    sim_check(how == 2 || thrum_task_is_expired(self) || told == 7);
    sim_check(how != 2 || thrum_task_is_cancelled(self) || told == 7);
    sim_free(self);
}

static void two_scheds(unsigned how, bool woken, bool first) {
    thrum_config config = whole_config(1);
    other = whole_start_bare(&config);
    sched = whole_start_bare(&config);
    make_task(moves);
    thrum_task_set_body(task, moves, &how);
    int t = woken ? sim_spawn(wakes, NULL) : 0;
    sim_check(thrum_task_post_wait(sched, task) == 0);
    if (woken) {
        sim_join(t);
    }
    whole_stop(first ? sched : other);
    whole_stop(first ? other : sched);
    sim_check(runs == 2);
}

/* A body posts its task to another scheduler, where it runs at once, or waits. */
SIM_WORLD(task_moved, .asleep = whole_asleep) {
    two_scheds(sim_pick(3), false, true);
}

/* The same, with a wakeup from an external thread that begins the first run. */
SIM_WORLD(task_moved_woken, .asleep = whole_asleep) {
    two_scheds(sim_pick(3), true, true);
}

static void moves_waiting(thrum_task *self, void *arg) {
    (void)arg;
    if (++runs == 1) {
        sim_check(thrum_task_post_wait(other, self) == 0);
        th_store_release(&xposted, 1u); /* the user's order: it is posted */
        return;
    }
    sim_check(thrum_sched_current() == other);
    sim_check(told == 7 && !thrum_task_is_cancelled(self));
    sim_free(self);
}

/*
 * A wakeup comes between the post to the other scheduler and its arrival there: that one's stop
 * waits.
 */
SIM_WORLD(task_moved_and_woken, .asleep = whole_asleep) {
    thrum_config config = whole_config(1);
    other = whole_start_bare(&config);
    sched = whole_start_bare(&config);
    make_task(moves_waiting);
    int t = sim_spawn(wakes_posted, NULL);
    sim_check(thrum_task_post(sched, task) == 0);
    sim_join(t);
    whole_stop(other);
    whole_stop(sched);
    sim_check(runs == 2);
}

/*
 * Deadlines in one scheduler, wakeups from a body in another: from its worker, which is an external
 * thread there.
 */
static void wakes_other(thrum_task *self, void *arg) {
    (void)self;
    wakes(arg);
}

SIM_WORLD(task_woken_by_other, .asleep = whole_asleep) {
    thrum_config config = whole_config(1);
    thrum_task waker;
    other = whole_start_bare(&config);
    sched = whole_start_bare(&config);
    make_task(frees_told);
    thrum_task_init(&waker, wakes_other, NULL);
    sim_check(thrum_task_post_wait(sched, task) == 0);
    sim_check(thrum_task_post(other, &waker) == 0);
    whole_stop(other);
    all_freed(1);
}
