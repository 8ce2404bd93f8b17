/*
 * fifo.c: the parts of the fifo policy (front, ready queue, combiner with its signal), and the
 * whole of it with two and three workers.
 */
#include <thrum.h>

#include "queue/mcsp.h"
#include "queue/mpsc.h"
#include "queue/combiner.h"
#include "whole.h"

#define ITEMS 4

static th_work items[ITEMS];
static unsigned taken[ITEMS];

static unsigned number(const th_work *work) {
    unsigned i = (unsigned)(work - items);
    sim_check(i < ITEMS);
    return i;
}

static void take(th_work *work) {
    unsigned before = taken[number(work)]++; /* plain: two takers would race */
    sim_check(before == 0);
}

static void all_taken(void) {
    for (unsigned i = 0; i < ITEMS; i++) {
        sim_check(taken[i] == 1);
    }
}

/* ---- the front ---- */

static th_mpsc front;

/* 0, then 1 and 2 as a chain; the other producer has 3. */
static void push_three(void *arg) {
    (void)arg;
    th_mpsc_push(&front, &items[0], 1);
    th_work_link(&items[1], &items[2]);
    th_mpsc_push(&front, &items[1], 2);
}

static void push_one(void *arg) {
    (void)arg;
    th_mpsc_push(&front, &items[3], 1);
}

/* Takes everything there; 0, 1, 2 come in this order, 2 right behind 1. */
static void drain(unsigned *next) {
    th_chain chain = th_mpsc_drain(&front);
    size_t count = 0;
    for (th_work *work; (work = th_chain_take(&chain)); count++) {
        if (number(work) != 3) {
            sim_check(number(work) == *next);
            ++*next;
        } else {
            sim_check(*next != 2); /* nothing comes between the links of a chain */
        }
        take(work);
    }
}

/*
 * Two producers push while a third thread drains: each item comes once, in the order of the pushes.
 */
SIM_WORLD(fifo_front, .exhaustive = true) {
    unsigned next = 0;
    int a = sim_spawn(push_three, NULL);
    int b = sim_spawn(push_one, NULL);
    drain(&next);
    drain(&next);
    sim_join(a);
    sim_join(b);
    drain(&next);
    all_taken();
}

static unsigned next_drained; /* the combiner's alone */
static th_combiner combiner;

static void drain_as_combiner(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        if (th_combiner_take(&combiner)) {
            drain(&next_drained);
            th_combiner_give(&combiner);
        }
    }
}

/* Freed memory comes back: work that was drained, run and pushed anew is the very top again. */
SIM_WORLD(fifo_front_again, .exhaustive = true) {
    int t = sim_spawn(push_one, NULL);
    th_mpsc_push(&front, &items[0], 1);
    th_chain chain = th_mpsc_drain(&front);
    for (th_work *work; (work = th_chain_take(&chain));) {
        if (number(work) == 0) {
            th_mpsc_push(&front, &items[0], 1);
        } else {
            take(work);
        }
    }
    sim_join(t);
    chain = th_mpsc_drain(&front);
    for (th_work *work; (work = th_chain_take(&chain));) {
        take(work);
    }
    sim_check(taken[0] == 1 && taken[3] == 1);
}

/* ---- the ready queue ---- */

static th_mcsp ready;
static th_work *slots[2];
static th_chain rest; /* the combiner's alone */

static void fill_rest(void) {
    for (unsigned i = 0; i < ITEMS; i++) {
        th_chain_append(&rest, &items[i]);
    }
}

/* A worker: it takes ready work, or publishes the next block. */
static void consume(void *arg) {
    (void)arg;
    unsigned last = 0;
    for (unsigned i = 0; i < 2 * ITEMS; i++) {
        th_work *work = th_mcsp_take(&ready);
        if (work) {
            sim_check(number(work) + 1 > last); /* in order, for each consumer */
            last = number(work) + 1;
            take(work);
        } else if (th_combiner_take(&combiner)) {
            th_mcsp_publish(&ready, &rest);
            th_combiner_give(&combiner);
        }
    }
}

static void consume_in_order(uint64_t capacity, unsigned consumers) {
    th_mcsp_init(&ready, slots, capacity);
    fill_rest();
    int threads[2];
    for (unsigned i = 0; i < consumers; i++) {
        threads[i] = sim_spawn(consume, NULL);
    }
    for (unsigned i = 0; i < consumers; i++) {
        sim_join(threads[i]);
    }
    consume(NULL);
    all_taken();
}

/* The combiner's place goes from worker to worker, a block of one: no livelock. */
SIM_WORLD(fifo_ready_block_1, .exhaustive = true) {
    consume_in_order(1, 2);
}

SIM_WORLD(fifo_ready_block_2, .exhaustive = true) {
    consume_in_order(2, 2);
}

static void produce(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < ITEMS; i++) {
        th_mcsp_publish(&ready, &rest);
    }
}

static void take_next(unsigned *next) {
    th_work *work = th_mcsp_take(&ready);
    if (work) {
        sim_check(number(work) == *next);
        take(work);
        ++*next;
    }
}

/* One producer, one consumer, blocks of one: a slot is written again right after it was read. */
SIM_WORLD(fifo_ready_wrap, .exhaustive = true) {
    th_mcsp_init(&ready, slots, 1);
    fill_rest();
    int t = sim_spawn(produce, NULL);
    unsigned next = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        take_next(&next);
    }
    sim_join(t);
    for (unsigned i = 0; i < ITEMS; i++) {
        produce(NULL);
        take_next(&next);
    }
    all_taken();
}

/* Work that a consumer has freed is not touched by another one that copied its pointer. */
static th_work *made[3];

static void consume_and_free(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        th_work *work = th_mcsp_take(&ready);
        if (work) {
            th_work_link(work, NULL);
            sim_free(work);
        }
    }
}

SIM_WORLD(fifo_ready_freed, .exhaustive = true) {
    th_mcsp_init(&ready, slots, 2);
    for (unsigned i = 0; i < 3; i++) {
        made[i] = sim_alloc(sizeof *made[i]);
        th_chain_append(&rest, made[i]);
    }
    th_mcsp_publish(&ready, &rest);
    int t = sim_spawn(consume_and_free, NULL);
    consume_and_free(NULL);
    th_mcsp_publish(&ready, &rest);
    sim_join(t);
    consume_and_free(NULL);
    consume_and_free(NULL);
    sim_check(!rest.first && !th_mcsp_size(&ready));
}

/* ---- the combiner and its signal ---- */

static unsigned held; /* plain: the combiner's alone */
static unsigned done;
static unsigned xasked[3]; /* each one's request; the combiner does it */
static unsigned served[3]; /* the combiner's alone */

static void serve(void) {
    for (unsigned i = 0; i < 3; i++) {
        if (th_load_relaxed(&xasked[i]) && !served[i]) {
            served[i] = 1;
            done++;
        }
    }
}

/*
 * Asks, and becomes the combiner or leaves the request to the combiner; a combiner that gives its
 * place up signalled looks again. Both sides have a fence: a thread that finds the signal set
 * already publishes nothing by it.
 */
static void ask(void *arg) {
    th_store_relaxed(&xasked[(uintptr_t)arg], 1u);
    th_fence_seq();
    while (th_combiner_take(&combiner)) {
        sim_check(held++ == 0);
        serve();
        sim_check(--held == 0);
        if (!th_combiner_give(&combiner)) {
            return;
        }
        th_fence_seq();
    }
}

/* Three come to combine: each request is served, by its thread or by the combiner. */
SIM_WORLD(fifo_combiner, .exhaustive = true) {
    int a = sim_spawn(ask, (void *)1);
    int b = sim_spawn(ask, (void *)2);
    ask((void *)0);
    sim_join(a);
    sim_join(b);
    sim_check(th_combiner_take(&combiner));
    sim_check(done == 3);
}

static uint32_t xasleep;
static uint32_t xwoken;
static uint32_t xwork;

/* The combiner, which looks again after it has given it up signalled. */
static void hold(void *arg) {
    (void)arg;
    if (th_combiner_take(&combiner)) {
        if (th_combiner_give(&combiner)) {
            th_fence_seq();
            if (th_load_relaxed(&xwork) && th_load_relaxed(&xasleep)) {
                th_store_relaxed(&xwoken, 1u);
            }
        }
    }
}

/* A parker: announces, fences, looks, signals. */
static void park(void *arg) {
    uint32_t *slept = arg;
    th_store_seq(&xasleep, 1u);
    th_fence_seq();
    if (th_load_relaxed(&xwork) && th_combiner_signal(&combiner)) {
        *slept = 1;
    }
}

/* A worker that sleeps because another is the combiner is woken by that one. */
SIM_WORLD(fifo_signal, .exhaustive = true) {
    uint32_t slept = 0;
    th_store_relaxed(&xwork, 1u);
    int t = sim_spawn(hold, NULL);
    park(&slept);
    sim_join(t);
    sim_check(!slept || th_load_relaxed(&xwoken));
}

/* Two sleepers and one signal: the second one finds it set, and does not send it again. */
SIM_WORLD(fifo_signal_twice, .exhaustive = true) {
    uint32_t slept[2] = {0, 0};
    th_store_relaxed(&xwork, 1u);
    int t = sim_spawn(hold, NULL);
    int u = sim_spawn(park, &slept[0]);
    park(&slept[1]);
    sim_join(t);
    sim_join(u);
    sim_check(!(slept[0] || slept[1]) || th_load_relaxed(&xwoken));
}

/* Each combiner drains the front. */
SIM_WORLD(fifo_front_combiner, .exhaustive = true) {
    int a = sim_spawn(push_three, NULL);
    int b = sim_spawn(drain_as_combiner, NULL);
    push_one(NULL);
    drain_as_combiner(NULL);
    sim_join(a);
    sim_join(b);
    drain_as_combiner(NULL);
    all_taken();
}

/* ---- the whole scheduler ---- */

#define TASKS 4

static thrum_task tasks[TASKS];
static unsigned ran[TASKS];
static unsigned order[TASKS];
static unsigned xcount;
static thrum_sched *sched;

static void body(thrum_task *self, void *arg) {
    (void)arg;
    unsigned i = (unsigned)(self - tasks);
    ran[i]++;
    order[th_add_relaxed(&xcount, 1u)] = i;
}

static void start_as(unsigned workers, unsigned block, bool bare) {
    thrum_config config = whole_config(workers);
    config.policy = THRUM_FIFO;
    config.fifo_block = block;
    sched = bare ? whole_start_bare(&config) : whole_start(&config);
    for (unsigned i = 0; i < TASKS; i++) {
        thrum_task_init(&tasks[i], body, NULL);
    }
}

static void start(unsigned workers, unsigned block) {
    start_as(workers, block, true);
}

static void all_ran(void) {
    for (unsigned i = 0; i < TASKS; i++) {
        sim_check(ran[i] == 1);
    }
}

/* Tasks come from external threads, then stop: each ran once; on one worker in the order posted. */
static void external(unsigned workers, unsigned block) {
    start(workers, block);
    for (unsigned i = 0; i < TASKS; i++) {
        sim_check(thrum_task_post(sched, &tasks[i]) == 0);
    }
    whole_stop(sched);
    all_ran();
    for (unsigned i = 0; workers == 1 && i < TASKS; i++) {
        sim_check(order[i] == i);
    }
}

SIM_WORLD(fifo_external_1, .asleep = whole_asleep) {
    external(1, 1);
}

SIM_WORLD(fifo_external_2, .asleep = whole_asleep) {
    external(2, 2);
}

SIM_WORLD(fifo_external_2_block_1, .asleep = whole_asleep) {
    external(2, 1);
}

SIM_WORLD(fifo_external_3, .asleep = whole_asleep) {
    external(3, 1);
}

/* A batch comes from an external thread while all workers sleep. */
SIM_WORLD(fifo_batch_3, .asleep = whole_asleep) {
    start(3, 2);
    thrum_task *batch[TASKS] = {&tasks[0], &tasks[1], &tasks[2], &tasks[3]};
    sim_check(thrum_task_post_batch(sched, batch, TASKS) == 0);
    whole_stop(sched);
    all_ran();
}

static void post_two(thrum_task *self, void *arg) {
    (void)arg;
    unsigned first = self == &tasks[0] ? 1 : 3;
    ran[self - tasks]++;
    sim_check(thrum_task_post(sched, &tasks[first]) == 0);
    if (first == 1) {
        sim_check(thrum_task_post(sched, &tasks[2]) == 0);
    }
}

/* Tasks post: one posts two, of which one posts one more. */
static void inside(unsigned workers) {
    start(workers, 1);
    thrum_task_set_body(&tasks[0], post_two, NULL);
    thrum_task_set_body(&tasks[2], post_two, NULL);
    sim_check(thrum_task_post(sched, &tasks[0]) == 0);
    whole_stop(sched);
    all_ran();
}

SIM_WORLD(fifo_inside_2, .asleep = whole_asleep) {
    inside(2);
}

SIM_WORLD(fifo_inside_3, .asleep = whole_asleep) {
    inside(3);
}

/*
 * Two tasks hold their workers until both run: the worker that has one must have woken another for
 * the second. A lost wake is a deadlock.
 */
static uint32_t xmet;

static void meet(thrum_task *self, void *arg) {
    (void)arg;
    ran[self - tasks]++;
    th_add_relaxed(&xmet, 1u);
}

static void post_one(void *arg) {
    thrum_task *task = arg;
    sim_check(thrum_task_post(sched, task) == 0);
}

/* Two threads post one task each, while the workers fall asleep. */
SIM_WORLD(fifo_two_posters, .asleep = whole_asleep) {
    start(2, 1);
    thrum_task_set_body(&tasks[0], meet, NULL);
    int t = sim_spawn(post_one, &tasks[1]);
    sim_check(thrum_task_post(sched, &tasks[0]) == 0);
    sim_check(thrum_task_post(sched, &tasks[2]) == 0);
    sim_join(t);
    sim_check(thrum_task_post(sched, &tasks[3]) == 0);
    whole_stop(sched);
    all_ran();
}

/* A fiber waits and is woken: it queues like a post. */
static thrum_sem sem;

static void waits(thrum_task *self, void *arg) {
    (void)arg;
    sim_check(thrum_sem_wait(&sem) == 0);
    ran[self - tasks]++;
}

static void wakes(thrum_task *self, void *arg) {
    (void)arg;
    ran[self - tasks]++;
    thrum_sem_post(&sem);
}

SIM_WORLD(fifo_fiber_2, .heavy = true, .asleep = whole_asleep) {
    start_as(2, 2, false);
    thrum_sem_init(&sem, 0);
    thrum_task_set_body(&tasks[0], waits, NULL);
    thrum_task_set_body(&tasks[1], wakes, NULL);
    for (unsigned i = 0; i < TASKS; i++) {
        sim_check(thrum_task_post(sched, &tasks[i]) == 0);
    }
    whole_stop(sched);
    all_ran();
}
