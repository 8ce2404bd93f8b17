/*
 * search.c: work that a worker finds in a search begins with a pick of its own (tick_marks.h). Else
 * a report of a stall would count the time of the search as time of the run: under load a search
 * with its locks may take a second.
 */
#include "core/worker/find.h"
#include "whole.h"

#define WORKERS 2

static thrum_sched *sched;
static whole_gate gate;
static th_policy searched;               /* the scheduler's policy, and its steal notes the tick */
static uint64_t ticks_searched[WORKERS]; /* the tick of each worker's latest search */
static th_work *(*steal)(th_worker *worker);

SIM_UNSEEN static th_work *notes_tick(th_worker *worker) {
    ticks_searched[worker->index] = worker->xtick;
    return steal(worker);
}

SIM_UNSEEN static void picked(void) {
    const th_worker *worker = th_here();
    sim_check(worker->xtick != ticks_searched[worker->index]);
    whole_open(&gate);
}

static void other(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    picked();
}

static int other_call(void *arg) {
    (void)arg;
    picked();
    return 7;
}

/* Hold their worker up until another one has run what they have started. */

static void starts_tasks(thrum_task *self, void *arg) {
    const unsigned tasks = (unsigned)(uintptr_t)arg;
    whole_count(self, NULL);
    for (unsigned i = 1; i <= tasks; i++) {
        thrum_task_init(&whole_tasks[i], other, NULL);
        sim_check(thrum_task_post(sched, &whole_tasks[i]) == 0);
    }
    whole_pass(&gate);
}

static void starts_fork(thrum_task *self, void *arg) {
    thrum_fork fork;
    (void)arg;
    whole_count(self, NULL);
    thrum_fork_start(&fork, other_call, NULL);
    whole_pass(&gate);
    sim_check(thrum_fork_join(&fork) == 7);
}

SIM_UNSEEN static void watch(void) {
    searched = *sched->policy;
    steal = searched.steal;
    searched.steal = notes_tick;
    sched->policy = &searched;
    for (unsigned i = 0; i < WORKERS; i++) {
        sched->workers[i].policy = &searched;
        ticks_searched[i] = UINT64_MAX;
    }
}

static void found(thrum_task_fn fn, unsigned tasks) {
    thrum_config config = whole_config(WORKERS);
    sched = fn == starts_fork ? whole_start(&config) : whole_start_bare(&config);
    watch();
    whole_post(sched, 0, fn, (void *)(uintptr_t)tasks);
    whole_stop(sched);
    whole_ran_once(0, 1 + tasks);
}

SIM_WORLD(search_steals, .asleep = whole_asleep_shared) {
    found(starts_tasks, 3);
}

/* No thief may take a single task at once: a worker is woken for it. */
SIM_WORLD(search_told, .asleep = whole_asleep_shared) {
    found(starts_tasks, 1);
}

SIM_WORLD(search_fork, .heavy = true, .asleep = whole_asleep_shared) {
    found(starts_fork, 0);
}
