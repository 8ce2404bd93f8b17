/*
 * hints.c: where tasks are queued and found on a sharded scheduler, with any config: forks that
 * overflow rings of two, hints, batches, moves by thieves, rescuers and takers. Bare schedulers:
 * each task runs exactly once, and sees its poster's writes.
 */
#include "base/atomic.h"
#include "core/state/worker.h"
#include "crew.h"
#include "platform/platform.h"
#include "whole.h"

static thrum_sched *sched;
static int told[WHOLE_TASKS]; /* plain: from the poster to the run */

/* A config whose values are decisions of the run. */
static thrum_config any_config(unsigned workers) {
    thrum_config config = whole_config(workers);
    config.local_capacity = sim_pick(2) ? 4 : 2;
    config.lifo_limit = sim_pick(3);
    config.global_interval = sim_pick(2) ? 3 : 1;
    config.searchers_max = sim_pick(2) ? 2 : 0;
    return config;
}

static void begin(unsigned workers) {
    thrum_config config = any_config(workers);
    sched = whole_start_bare(&config);
}

static void end(unsigned tasks) {
    whole_stop(sched);
    whole_ran_once(0, tasks);
}

static void leaf(thrum_task *self, void *arg) {
    unsigned i = whole_number(self);
    (void)arg;
    sim_check(told[i] == (int)i + 1);
    whole_ran[i]++;
}

static void post(unsigned i, thrum_task_fn fn, thrum_hint hint) {
    thrum_task_init(&whole_tasks[i], fn, NULL);
    told[i] = (int)i + 1;
    sim_check(thrum_task_post_hint(sched, &whole_tasks[i], hint) == 0);
}

/* Posts three at a time into a ring of two, some with a hint. */
static void fork_any(thrum_task *self, void *arg) {
    leaf(self, arg);
    unsigned first = 3 * whole_number(self) + 1;
    for (unsigned i = first; i < first + 3 && i < 7; i++) {
        post(i, i == 1 ? fork_any : leaf, (thrum_hint)sim_pick(3));
    }
}

/* Posts a tree of seven. */
SIM_WORLD(hints_tree, .asleep = whole_asleep) {
    begin(2);
    post(0, fork_any, THRUM_HINT_NONE);
    end(7);
}

SIM_WORLD(hints_tree_3, .asleep = whole_asleep) {
    begin(3);
    post(0, fork_any, THRUM_HINT_NONE);
    end(7);
}

/* The same where all is one queue. */
SIM_WORLD(hints_tree_global, .asleep = whole_asleep) {
    thrum_config config = any_config(2);
    config.policy = THRUM_GLOBAL;
    sched = whole_start_bare(&config);
    post(0, fork_any, THRUM_HINT_NONE);
    end(7);
}

/* ---- batches ---- */

static void post_batch(unsigned from, unsigned to) {
    thrum_task *list[WHOLE_TASKS];
    for (unsigned i = from; i < to; i++) {
        thrum_task_init(&whole_tasks[i], leaf, NULL);
        told[i] = (int)i + 1;
        list[i - from] = &whole_tasks[i];
    }
    sim_check(thrum_task_post_batch(sched, list, to - from) == 0);
}

static void posts_batch(thrum_task *self, void *arg) {
    leaf(self, arg);
    post_batch(1, 5);
}

/*
 * A batch goes into the own queue, and its rest into the inject queue; another one comes from an
 * external thread.
 */
SIM_WORLD(hints_batch, .asleep = whole_asleep) {
    begin(2);
    post(0, posts_batch, THRUM_HINT_NONE);
    post_batch(5, 8);
    end(8);
}

/* ---- order, on one worker ---- */

static unsigned order[WHOLE_TASKS];
static unsigned place;

static void in_turn(thrum_task *self, void *arg) {
    (void)arg;
    order[place++] = whole_number(self);
}

/* One thread's posts begin in their order, with any config. */
SIM_WORLD(hints_order_external, .asleep = whole_asleep) {
    begin(1);
    for (unsigned i = 0; i < 5; i++) {
        post(i, in_turn, THRUM_HINT_NONE);
    }
    whole_stop(sched);
    for (unsigned i = 0; i < 5; i++) {
        sim_check(order[i] == i);
    }
}

static void posts_in_order(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    post(1, in_turn, THRUM_HINT_NONE);
    post(2, in_turn, THRUM_HINT_YIELD);
    post(3, in_turn, THRUM_HINT_NONE);
    post(4, in_turn, THRUM_HINT_NEXT);
}

/* NEXT is next; YIELD comes behind queued work. */
SIM_WORLD(hints_order_inside, .asleep = whole_asleep) {
    thrum_config config = whole_config(1);
    config.local_capacity = 4;
    sched = whole_start_bare(&config);
    post(0, posts_in_order, THRUM_HINT_NONE);
    whole_stop(sched);
    static const unsigned expected[] = {4, 1, 3, 2};
    for (unsigned i = 0; i < 4; i++) {
        sim_check(order[i] == expected[i]);
    }
}

/* ---- nothing starves ---- */

static uint32_t xenough;

/* Posts itself until another one has run. */
static void stream_on(thrum_task *self, void *arg) {
    (void)arg;
    th_os_relax(); /* an external thread that posts goes on as well */
    /* relaxed: it orders nothing */
    if (!th_load_relaxed(&xenough)) {
        thrum_hint hint = (thrum_hint)told[whole_number(self)];
        sim_check(thrum_task_post_hint(sched, self, hint) == 0);
    }
}

static void enough(thrum_task *self, void *arg) {
    whole_count(self, arg);
    th_store_relaxed(&xenough, 1u); /* relaxed: it orders nothing */
}

static void post_enough(thrum_task *self, void *arg) {
    (void)arg;
    (void)self;
    thrum_task_init(&whole_tasks[0], enough, NULL);
    thrum_task_set_worker(&whole_tasks[0], (int)sim_pick(2) - 1);
    sim_check(thrum_task_post(sched, &whole_tasks[0]) == 0);
}

/*
 * One worker and two streams, with any hint, pinned or not. The limit of the slot, that of pinned
 * runs in a row, and the interval of the inject queue let the other task come, wherever it is
 * queued.
 */
SIM_WORLD(hints_streams, .asleep = whole_asleep) {
    thrum_config config = any_config(1);
    config.policy = sim_pick(2) ? THRUM_GLOBAL : THRUM_SHARDED;
    sched = whole_start_bare(&config);
    for (unsigned i = 1; i < 3; i++) {
        thrum_task_init(&whole_tasks[i], stream_on, NULL);
        thrum_task_set_worker(&whole_tasks[i], (int)sim_pick(2) - 1);
        told[i] = (int)sim_pick(3);
        sim_check(thrum_task_post(sched, &whole_tasks[i]) == 0);
    }
    if (sim_pick(2)) {
        whole_post(sched, 3, post_enough, NULL);
    } else {
        post_enough(NULL, NULL);
    }
    end(1);
}

/* ---- work behind the asymmetric fence, while its owner comes and goes ---- */

static whole_gate gate;

static void opens(thrum_task *self, void *arg) {
    leaf(self, arg);
    whole_open(&gate);
}

/*
 * Fills the ring, so that the next pick takes a batch of two, and the slot; one of the tasks holds
 * the thread.
 */
static void holds(thrum_task *self, void *arg) {
    leaf(self, arg);
    whole_pass(&gate);
}

static void batches(thrum_task *self, void *arg) {
    leaf(self, arg);
    post(1, holds, THRUM_HINT_NONE);
    post(2, leaf, THRUM_HINT_NONE);
    post(3, leaf, THRUM_HINT_NONE);
    post(4, opens, THRUM_HINT_NONE);
    post(5, leaf, THRUM_HINT_NEXT);
}

/* The batch and the slot are rescued from a worker that does not come round. */
SIM_WORLD(hints_batches_rescued, .asleep = whole_asleep_shared) {
    thrum_config config = whole_config(2);
    config.local_capacity = 4;
    config.lifo_limit = 1;
    sched = whole_start_bare(&config);
    post(0, batches, THRUM_HINT_NONE);
    end(6);
}

/* The same with barriers refused at times: then the rescuer goes away and comes again. */
SIM_WORLD(hints_rescue_refused, .asleep = whole_asleep_shared, .refusals = 2) {
    thrum_config config = whole_config(2);
    config.local_capacity = 4;
    sched = whole_start_bare(&config);
    post(0, batches, THRUM_HINT_NONE);
    end(6);
}

/* ---- back-offs ---- */

/* Short runs follow each other on one worker: a thief of one backs off, and comes back. */
static void stream(thrum_task *self, void *arg) {
    (void)arg;
    unsigned i = whole_number(self);
    told[i]++;
    if (told[i] < 12) {
        sim_check(thrum_task_post(sched, self) == 0);
    } else {
        whole_ran[i]++;
    }
}

SIM_WORLD(hints_backoff, .asleep = whole_asleep) {
    thrum_config config = whole_config(2);
    config.local_capacity = 4;
    sched = whole_start_bare(&config);
    for (unsigned i = 0; i < 4; i++) {
        whole_post(sched, i, stream, NULL);
    }
    end(4);
}

/* While back-offs go on, external threads post, some of it for one worker. */
static void posts_more(void *arg) {
    (void)arg;
    whole_post(sched, 4, whole_count, NULL);
    thrum_task_init(&whole_tasks[5], whole_count, NULL);
    thrum_task_set_worker(&whole_tasks[5], 1);
    sim_check(thrum_task_post(sched, &whole_tasks[5]) == 0);
}

SIM_WORLD(hints_backoff_beside, .asleep = whole_asleep) {
    thrum_config config = whole_config(3);
    sched = whole_start_bare(&config);
    for (unsigned i = 0; i < 4; i++) {
        whole_post(sched, i, stream, NULL);
    }
    int t = sim_spawn(posts_more, NULL);
    sim_join(t);
    end(6);
}

static uint32_t xheld;

/* A run that is long enough: its thief does not back off for it, but only as described below. */
static void long_leaf(thrum_task *self, void *arg) {
    whole_count(self, arg);
    th_here()->backoff.at = 0;
}

/*
 * Acts like a thief that backs off from it. Wakes a worker by two in its queue, and holds the
 * thread.
 */
static void is_left_alone(thrum_task *self, void *arg) {
    th_worker *worker = th_here();
    long_leaf(self, arg);
    th_store_relaxed(&worker->xalone_ns, 200000);        /* relaxed: as in back-off */
    th_store_relaxed(&worker->xalone_at, th_os_ticks()); /* relaxed: as in back-off */
    th_store_relaxed(&xheld, 1u); /* relaxed: it only lets the poster begin */
    post(1, long_leaf, THRUM_HINT_NONE);
    post(2, long_leaf, THRUM_HINT_NONE);
    whole_pass(&gate);
}

static void lets_go(thrum_task *self, void *arg) {
    long_leaf(self, arg);
    whole_open(&gate);
}

/*
 * A worker that finds only work that is left alone gives its token back, and backs off. A post from
 * an external thread that saw the token left the work to it. It has looked by then, so no worker
 * sleeps while that work is in the inject queue, not even for a back-off.
 */
SIM_WORLD(hints_backoff_with_token, .asleep = whole_asleep_inject) {
    thrum_config config = whole_config(3);
    config.local_capacity = 4;
    sched = whole_start_bare(&config);
    whole_post(sched, 0, is_left_alone, NULL);
    crew_until(th_load_relaxed(&xheld));
    whole_post(sched, 3, lets_go, NULL);
    end(4);
}
