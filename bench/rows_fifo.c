/*
 * rows_fifo.c: tasks posted one by one from external threads, as the fifo policy is made for, on
 * any policy; the scenarios that TaskScheduler publishes; and the ready queue of that policy by
 * itself.
 *
 * A nano task counts one; a micro task draws 100 random numbers and stores each with sequential
 * consistency; a heavy one 500, then it posts itself with or without a deadline and sometimes wakes
 * others. Each counts in its own object, so that a run too many or too few is found, and nothing is
 * shared but what the scheduler shares. wait_done waits for the end, which costs the tasks nothing.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "base/random.h"
#include "harness.h"
#include "queue/mcsp.h"
#include "queue/combiner.h"
#include "queue/mpsc.h"

#define NANOS 1000000
#define MICROS 200000
#define MICRO_STEPS 100
#define HEAVY_STEPS 500
#define READY 2000000
#define PUSHED 1000000
#define POPPERS 6

typedef struct fifo_task {
    thrum_task task;
    uint64_t xvalue; /* the value that a micro task stores */
    uint32_t runs;
    uint32_t runs_end; /* how often it runs; it posts itself until then */
    thrum_sched *sched;
    struct fifo_work *work;
} fifo_task;

typedef struct fifo_work {
    fifo_task *tasks;
    unsigned count;
    unsigned runs;   /* of each task in each round */
    unsigned rounds; /* rounds that each task has had */
} fifo_work;

static inline void again(fifo_task *t) {
    if (++t->runs < t->runs_end) {
        bench_ok(thrum_task_post(t->sched, &t->task));
    }
}

static void nano(thrum_task *self, void *arg) {
    (void)self;
    again(arg);
}

static inline void draw(fifo_task *t, th_random *random, unsigned steps) {
    for (unsigned i = 0; i < steps; i++) {
        th_store_seq(&t->xvalue, th_random_next(random)); /* seq: this is being measured */
    }
}

static void micro(thrum_task *self, void *arg) {
    fifo_task *t = arg;
    th_random random;
    (void)self;
    th_random_seed(&random, t->runs + 1);
    draw(t, &random, MICRO_STEPS);
    again(t);
}

static thrum_task *any_of(const fifo_work *work, th_random *random) {
    return &work->tasks[th_random_next(random) % work->count].task;
}

/* Every tenth run wakes two others and signals two; of the rest, two thirds wait 1 or 2 ms. */
static void heavy(thrum_task *self, void *arg) {
    fifo_task *t = arg;
    const thrum_time ms = 1000000;
    th_random random;
    th_random_seed(&random, (uintptr_t)t + t->runs);
    (void)thrum_task_receive_signal(self);
    draw(t, &random, HEAVY_STEPS);
    uint32_t run = ++t->runs;
    if (run % 10 == 0) {
        for (unsigned i = 0; i < 2; i++) {
            thrum_task_wakeup(any_of(t->work, &random));
            thrum_task_signal(any_of(t->work, &random));
        }
    }
    if (run >= t->runs_end) {
        return;
    }
    thrum_time wait = run % 10 == 0 ? 0 : run % 3 == 0 ? 2 * ms : run % 2 == 0 ? ms : 0;
    bench_ok(wait > 0 ? thrum_task_post_after(t->sched, self, wait)
                      : thrum_task_post(t->sched, self));
}

static fifo_work make_tasks(const bench_args *args, thrum_task_fn body, unsigned n, unsigned runs) {
    fifo_work work = {.count = bench_scale(args, n, 1000), .runs = runs};
    work.tasks = calloc(work.count, sizeof(work.tasks[0]));
    bench_check(work.tasks != NULL, "no memory");
    for (unsigned i = 0; i < work.count; i++) {
        thrum_task_init(&work.tasks[i].task, body, &work.tasks[i]);
    }
    return work;
}

static void end_tasks(fifo_work *work) {
    for (unsigned i = 0; i < work->count; i++) {
        bench_check(work->tasks[i].runs == work->rounds * work->runs,
                    "task %u ran %u times, not %u", i, work->tasks[i].runs,
                    work->rounds * work->runs);
    }
    free(work->tasks);
}

static void post_all(fifo_work *work, thrum_sched *sched) {
    work->rounds++;
    for (unsigned i = 0; i < work->count; i++) {
        work->tasks[i].sched = sched;
        work->tasks[i].work = work;
        work->tasks[i].runs_end = work->rounds * work->runs;
        bench_ok(thrum_task_post(sched, &work->tasks[i].task));
    }
    bench_ok(thrum_sched_wait_done(sched, THRUM_FOREVER));
}

/* Returns millions a second. The first round, which touches all the memory, is not timed. */
static bench_sample run_rounds(const bench_args *args, fifo_work *work) {
    thrum_sched *sched = bench_start(args);
    bench_span span;
    post_all(work, sched);
    bench_span_begin(&span, sched);
    post_all(work, sched);
    bench_span_end(&span);
    bench_stop(sched);
    uint64_t ops = (uint64_t)work->count * work->runs;
    return bench_span_value(&span, ops, 1e3 * (double)ops / span.ns);
}

static void run(const bench_args *args, bench_sample *out, thrum_task_fn body, unsigned n,
                unsigned runs) {
    fifo_work work = make_tasks(args, body, n, runs);
    out[0] = run_rounds(args, &work);
    end_tasks(&work);
}

static void run_nano(const bench_args *args, bench_sample *out) {
    run(args, out, nano, NANOS, 1);
}

static void run_nano_x10(const bench_args *args, bench_sample *out) {
    run(args, out, nano, NANOS, 10);
}

static void run_micro(const bench_args *args, bench_sample *out) {
    run(args, out, micro, MICROS, 1);
}

/* How many times faster it is than one worker: both in one sample, one right after the other. */
static void run_micro_over_one(const bench_args *args, bench_sample *out) {
    bench_args one = *args;
    one.workers = 1;
    fifo_work work = make_tasks(args, micro, MICROS, 1);
    double alone = run_rounds(&one, &work).value;
    out[0] = run_rounds(args, &work);
    out[0].value /= alone;
    end_tasks(&work);
}

/* ---- TaskScheduler's scenarios, a tenth of the tasks each ---- */

/* Far more threads than cores: TaskScheduler has other sizes for fifty. */
static bool is_crowded(const bench_args *args) {
    return args->workers >= 50;
}

static void run_ts_nano(const bench_args *args, bench_sample *out) {
    run(args, out, nano, is_crowded(args) ? 5000000 : 1000000, 1);
}

static void run_ts_nano_again(const bench_args *args, bench_sample *out) {
    run(args, out, nano, is_crowded(args) ? 1000000 : 500000, is_crowded(args) ? 5 : 10);
}

static void run_ts_micro(const bench_args *args, bench_sample *out) {
    run(args, out, micro, is_crowded(args) ? 5000000 : 100000 * args->workers, 1);
}

static void run_ts_micro_again(const bench_args *args, bench_sample *out) {
    run(args, out, micro, is_crowded(args) ? 1000000 : 10000 * args->workers,
        is_crowded(args) ? 5 : 10);
}

static void run_ts_heavy(const bench_args *args, bench_sample *out) {
    run(args, out, heavy, 10000 * (args->workers < 10 ? args->workers : 10), 10);
}

/* ---- baselines ---- */

/* The bodies, called by a loop. */
static void base_calls(const bench_args *args, bench_sample *out, thrum_task_fn body, unsigned n) {
    fifo_work work = make_tasks(args, body, n, 1);
    bench_span span;
    for (unsigned round = 0; round < 2; round++) {
        work.rounds++;
        bench_span_begin(&span, NULL);
        for (unsigned i = 0; i < work.count; i++) {
            body(&work.tasks[i].task, &work.tasks[i]);
        }
        bench_span_end(&span);
    }
    end_tasks(&work);
    out[0] = bench_span_value(&span, work.count, 1e3 * (double)work.count / span.ns);
}

static void base_nano(const bench_args *args, bench_sample *out) {
    base_calls(args, out, nano, NANOS);
}

static void base_micro(const bench_args *args, bench_sample *out) {
    base_calls(args, out, micro, MICROS);
}

/* ---- the ready queue ---- */

typedef struct ready_bench {
    th_mpsc front; /* what is pushed while others take */
    th_mcsp queue;
    th_combiner combiner;
    th_chain rest; /* with the role, or under the mutex */
    pthread_mutex_t mutex;
    uint32_t xstart;
    uint64_t xtaken;
    bool locked; /* the baseline: the list under the mutex */
} ready_bench;

static th_work *take_locked(ready_bench *r) {
    pthread_mutex_lock(&r->mutex);
    th_work *work = th_chain_take(&r->rest);
    pthread_mutex_unlock(&r->mutex);
    return work;
}

/* Takes the oldest that is ready, or publishes the next block; false when there is none. */
static bool take_ready(ready_bench *r, th_work **work) {
    *work = th_mcsp_take(&r->queue);
    if (*work) {
        return true;
    }
    if (!th_combiner_take(&r->combiner)) {
        sched_yield();
        return true;
    }
    th_chain_join(&r->rest, th_mpsc_drain(&r->front));
    bool some = th_mcsp_publish(&r->queue, &r->rest) || th_mcsp_size(&r->queue);
    th_combiner_give(&r->combiner);
    return some;
}

static void *consume(void *arg) {
    ready_bench *r = arg;
    uint64_t taken = 0;
    th_work *work = NULL;
    while (!th_load_acquire(&r->xstart)) {
    }
    if (r->locked) {
        while (take_locked(r)) {
            taken++;
        }
    } else {
        while (take_ready(r, &work)) {
            taken += work != NULL;
        }
    }
    th_add_relaxed(&r->xtaken, taken);
    return NULL;
}

static void consume_all(const bench_args *args, bench_sample *out, bool locked) {
    static th_work *slots[1024];
    unsigned count = bench_scale(args, READY, 10000);
    th_work *works = calloc(count, sizeof(works[0]));
    ready_bench r = {.mutex = PTHREAD_MUTEX_INITIALIZER, .locked = locked};
    bench_check(works != NULL, "no memory");
    th_mcsp_init(&r.queue, slots, 1024);
    for (unsigned i = 0; i < count; i++) {
        th_chain_append(&r.rest, &works[i]);
    }
    bench_span span;
    pthread_t threads[64];
    bench_check(args->workers <= 64, "at most 64 consumers");
    for (unsigned i = 0; i < args->workers; i++) {
        bench_ok(pthread_create(&threads[i], NULL, consume, &r));
    }
    bench_span_begin(&span, NULL);
    th_store_release(&r.xstart, 1u);
    for (unsigned i = 0; i < args->workers; i++) {
        bench_ok(pthread_join(threads[i], NULL));
    }
    bench_span_end(&span);
    bench_check(r.xtaken == count, "%llu taken, not %u", (unsigned long long)r.xtaken, count);
    free(works);
    out[0] = bench_span_value(&span, count, 1e3 * count / span.ns);
}

static void run_ready(const bench_args *args, bench_sample *out) {
    consume_all(args, out, false);
}

static void base_ready(const bench_args *args, bench_sample *out) {
    consume_all(args, out, true);
}

/* ---- one thread pushes, six pop ---- */

/*
 * TaskScheduler's own benchmark of its queue, which it sets beside a list under a mutex. Here the
 * pushes go to the front, as posts do, and a popper that finds nothing publishes the next block. If
 * only the producer published, all would wait for it whenever a block is used up.
 */
typedef struct push_bench {
    ready_bench ready;
    th_work *works;
    unsigned count;
    uint32_t xpushed; /* the producer is done: nothing more comes */
} push_bench;

static void push_all(push_bench *p) {
    ready_bench *r = &p->ready;
    for (unsigned i = 0; i < p->count; i++) {
        if (r->locked) {
            pthread_mutex_lock(&r->mutex);
            th_chain_append(&r->rest, &p->works[i]);
            pthread_mutex_unlock(&r->mutex);
        } else {
            (void)th_mpsc_push(&r->front, &p->works[i], 1);
        }
    }
    th_store_release(&p->xpushed, 1u);
}

static void *pop(void *arg) {
    push_bench *p = arg;
    ready_bench *r = &p->ready;
    uint64_t taken = 0;
    th_work *work = NULL;
    while (!th_load_acquire(&r->xstart)) {
    }
    for (;;) {
        bool last = th_load_acquire(&p->xpushed); /* before the take: what comes is there then */
        bool some = r->locked ? (work = take_locked(r)) != NULL : take_ready(r, &work);
        taken += work != NULL;
        if (!some && last) {
            break;
        }
        if (!some) {
            sched_yield();
        }
    }
    th_add_relaxed(&r->xtaken, taken);
    return NULL;
}

static void push_and_pop(const bench_args *args, bench_sample *out, bool locked) {
    static th_work *slots[1024];
    push_bench p = {.ready = {.mutex = PTHREAD_MUTEX_INITIALIZER, .locked = locked}};
    p.count = bench_scale(args, PUSHED, 10000);
    p.works = calloc(p.count, sizeof(p.works[0]));
    bench_check(p.works != NULL, "no memory");
    th_mcsp_init(&p.ready.queue, slots, 1024);
    bench_span span;
    pthread_t threads[POPPERS];
    for (unsigned i = 0; i < POPPERS; i++) {
        bench_ok(pthread_create(&threads[i], NULL, pop, &p));
    }
    bench_span_begin(&span, NULL);
    th_store_release(&p.ready.xstart, 1u);
    push_all(&p);
    for (unsigned i = 0; i < POPPERS; i++) {
        bench_ok(pthread_join(threads[i], NULL));
    }
    bench_span_end(&span);
    bench_check(p.ready.xtaken == p.count, "%llu taken, not %u", (unsigned long long)p.ready.xtaken,
                p.count);
    free(p.works);
    out[0] = bench_span_value(&span, p.count, 1e3 * p.count / span.ns);
}

static void run_push(const bench_args *args, bench_sample *out) {
    push_and_pop(args, out, false);
}

static void base_push(const bench_args *args, bench_sample *out) {
    push_and_pop(args, out, true);
}

/* The threads of the row above are its own, whatever the number of workers. */
static const unsigned push_workers[] = {1, 0};

/* The numbers of threads that TaskScheduler publishes; fifo, made for it, is measured, too. */
static const unsigned ts_workers[] = {1, 2, 3, 5, 10, 50, 0};

/* clang-format off */
#define TS_CASE(row, fn)                                                                           \
    .rows = {{.name = row, .unit = "Mop/s"}}, .count = 1, .workers_min = 1,                        \
    .workers_own = ts_workers, .fifo_too = true, .run = fn
/* clang-format on */

static const bench_case cases[] = {
    {.what = "a million tasks that count one, posted by a plain thread",
     .rows = {{.name = "nano", .unit = "Mop/s", .must = BENCH_RATE_FIFO, .limit = {20, 15}}},
     .count = 1,
     .workers_min = 1,
     .run = run_nano,
     .baseline = base_nano,
     .baseline_what = "a call"},
    {.what = "the same, each posting itself until it has run ten times",
     .rows = {{.name = "nano-x10", .unit = "Mop/s", .must = BENCH_RATE_FIFO, .limit = {30, 25}}},
     .count = 1,
     .workers_min = 1,
     .run = run_nano_x10,
     .baseline = base_nano,
     .baseline_what = "a call"},
    {.what = "200,000 tasks of 100 random numbers and seq_cst stores, posted by a plain thread",
     .rows = {{.name = "micro", .unit = "Mop/s"}},
     .count = 1,
     .workers_min = 1,
     .run = run_micro,
     .baseline = base_micro,
     .baseline_what = "a call"},
    {.what = "how many times faster these are done than by one worker",
     .rows = {{.name = "micro-over-one",
               .unit = "times",
               .must = BENCH_FIXED_LEAST,
               .limit = {1.95, 1.95}}},
     .count = 1,
     .workers_min = 2,
     .run = run_micro_over_one},
    {.what = "the ready queue alone, two million in it, so many consumers as workers are asked for",
     .rows = {{.name = "ready-queue", .unit = "Mop/s"}},
     .count = 1,
     .workers_min = 1,
     .run = run_ready,
     .baseline = base_ready,
     .baseline_what = "a list under a mutex"},
    {.what = "TaskScheduler's: one thread pushes a million into the queues of fifo alone, six pop",
     .rows = {{.name = "ready-push", .unit = "Mop/s"}},
     .count = 1,
     .workers_min = 1,
     .workers_own = push_workers,
     .run = run_push,
     .baseline = base_push,
     .baseline_what = "a list under a mutex"},
    {.what = "TaskScheduler's: a million nano tasks (5 million with 50 workers), one run each",
     TS_CASE("ts-nano", run_ts_nano)},
    {.what = "TaskScheduler's: 500,000 nano tasks, ten runs each (50 workers: a million, five)",
     TS_CASE("ts-nano-again", run_ts_nano_again)},
    {.what = "TaskScheduler's: 100,000 micro tasks a worker (50 workers: 5 million), one run each",
     TS_CASE("ts-micro", run_ts_micro)},
    {.what = "TaskScheduler's: 10,000 micro tasks a worker, ten runs (50 workers: a million, five)",
     TS_CASE("ts-micro-again", run_ts_micro_again)},
    {.what = "TaskScheduler's load beyond these: 10,000 tasks a worker (at most 100,000), ten runs"
             " with deadlines, wakeups, signals",
     TS_CASE("ts-heavy", run_ts_heavy)},
};

const bench_theme bench_fifo = {cases, sizeof(cases) / sizeof(cases[0])};
