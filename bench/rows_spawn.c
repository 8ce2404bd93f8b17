/*
 * rows_spawn.c: starting small tasks, spawned and intrusive, and waiting for their end, by fibers
 * and by external threads.
 *
 * Every task counts itself in a slot of its own, so that a task that ran twice, or not at all, is
 * found at the end. It does nothing else but count down the waitgroup.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cc.h"
#include "harness.h"

#define ROUND 1000      /* tasks that are started before the first is waited for */
#define MILLION 1000000 /* tasks of the bursts */
#define FAN 10000       /* tasks of a fan-out */

/* The data of one sample. */
typedef struct spawn_work {
    bench_sample *out;
    uint32_t *slots;   /* one for each task of a round */
    thrum_task *tasks; /* the tasks, where they are posted */
    unsigned tasks_count;
    unsigned rounds;
    thrum_sched *sched;
} spawn_work;

/* It has lines of its own: all workers count it down. */
static struct { _Alignas(TH_CACHE_LINE) thrum_waitgroup group; } done = {THRUM_WAITGROUP_INIT(0)};

/* ---- tasks ---- */

static int count_run(void *arg) {
    uint32_t *slot = arg;
    ++*slot;
    thrum_waitgroup_done(&done.group);
    return 0;
}

static void count_post(thrum_task *self, void *arg) {
    (void)self;
    count_run(arg);
}

static int return_one(void *arg) {
    uint32_t *slot = arg;
    ++*slot;
    return 1;
}

static spawn_work make_work(bench_sample *out, unsigned tasks, unsigned rounds, bool posted) {
    spawn_work work = {.out = out, .tasks_count = tasks, .rounds = rounds};
    work.slots = calloc(tasks, sizeof(work.slots[0]));
    work.tasks = posted ? calloc(tasks, sizeof(work.tasks[0])) : NULL;
    bench_check(work.slots && (!posted || work.tasks), "no memory");
    memset(work.slots, 0, tasks * sizeof(work.slots[0])); /* touched, before the clock runs */
    for (unsigned i = 0; posted && i < tasks; i++) {
        thrum_task_init(&work.tasks[i], count_post, &work.slots[i]);
    }
    return work;
}

/* Checks that each task has run so many times. */
static void end_work(spawn_work *work, unsigned runs) {
    for (unsigned i = 0; i < work->tasks_count; i++) {
        bench_check(work->slots[i] == runs, "task %u ran %u times, not %u", i, work->slots[i],
                    runs);
    }
    free(work->slots);
    free(work->tasks);
}

/* Runs and times rounds, after a tenth of them to warm up; returns the rounds in all. */
static unsigned time_rounds(spawn_work *work, void (*round)(spawn_work *)) {
    unsigned warm = work->rounds / 10 + 1;
    for (unsigned i = 0; i < warm; i++) {
        round(work);
    }
    bench_span span;
    bench_span_begin(&span, work->sched);
    for (unsigned i = 0; i < work->rounds; i++) {
        round(work);
    }
    bench_span_end(&span);
    *work->out = bench_span_per_op(&span, (uint64_t)work->rounds * work->tasks_count);
    return warm + work->rounds;
}

/* ---- from inside ---- */

static void spawn_round(spawn_work *work) {
    thrum_waitgroup_add(&done.group, (int)work->tasks_count);
    for (unsigned i = 0; i < work->tasks_count; i++) {
        bench_ok(thrum_go(count_run, &work->slots[i]));
    }
    bench_ok(thrum_waitgroup_wait(&done.group));
}

static void join_round(spawn_work *work) {
    thrum_handle *handles[ROUND];
    for (unsigned i = 0; i < ROUND; i++) {
        bench_ok(thrum_spawn(&handles[i], return_one, &work->slots[i]));
    }
    for (unsigned i = 0; i < ROUND; i++) {
        int result = 0;
        bench_ok(thrum_join(handles[i], &result));
        bench_check(result == 1, "a joined task returned %d", result);
    }
}

static void post_round(spawn_work *work) {
    thrum_waitgroup_add(&done.group, (int)work->tasks_count);
    for (unsigned i = 0; i < work->tasks_count; i++) {
        bench_ok(thrum_task_post(work->sched, &work->tasks[i]));
    }
    bench_ok(thrum_waitgroup_wait(&done.group));
}

static int spawn_inside(void *arg) {
    spawn_work *work = arg;
    work->sched = thrum_sched_current();
    end_work(work, time_rounds(work, spawn_round));
    return 0;
}

static int join_inside(void *arg) {
    spawn_work *work = arg;
    work->sched = thrum_sched_current();
    end_work(work, time_rounds(work, join_round));
    return 0;
}

static int post_inside(void *arg) {
    spawn_work *work = arg;
    work->sched = thrum_sched_current();
    end_work(work, time_rounds(work, post_round));
    return 0;
}

static void run_spawn(const bench_args *args, bench_sample *out) {
    spawn_work work = make_work(out, ROUND, bench_scale(args, 1000, 20), false);
    bench_inside(args, spawn_inside, &work);
}

static void run_joined(const bench_args *args, bench_sample *out) {
    spawn_work work = make_work(out, ROUND, bench_scale(args, 1000, 20), false);
    bench_inside(args, join_inside, &work);
}

static void run_post(const bench_args *args, bench_sample *out) {
    spawn_work work = make_work(out, ROUND, bench_scale(args, 1000, 20), true);
    bench_inside(args, post_inside, &work);
}

/* The first burst finds all memory untouched, the next ones use the first one's. */
static int burst_inside(void *arg) {
    spawn_work *work = arg;
    work->sched = thrum_sched_current();
    for (unsigned i = 0; i < 3; i++) {
        bench_span span;
        bench_span_begin(&span, work->sched);
        spawn_round(work);
        bench_span_end(&span);
        if (i != 1) { /* the first is cold, the third warm; in the second memory still grows */
            work->out[i == 0] = bench_span_per_op(&span, work->tasks_count);
        }
    }
    end_work(work, 3);
    return 0;
}

static void run_burst(const bench_args *args, bench_sample *out) {
    spawn_work work = make_work(out, bench_scale(args, MILLION, 10000), 1, false);
    bench_inside(args, burst_inside, &work);
}

/* ---- from external threads ---- */

static void go_external(spawn_work *work) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = work->sched;
    thrum_waitgroup_add(&done.group, (int)work->tasks_count);
    for (unsigned i = 0; i < work->tasks_count; i++) {
        bench_ok(thrum_go_with(&attr, count_run, &work->slots[i]));
    }
    bench_ok(thrum_waitgroup_wait(&done.group));
}

static void run_external(const bench_args *args, spawn_work work, void (*round)(spawn_work *)) {
    work.sched = bench_start(args);
    unsigned runs = time_rounds(&work, round);
    bench_stop(work.sched);
    end_work(&work, runs);
}

/* A stream of a million: the poster waits once, at the end. */
static void run_post_external(const bench_args *args, bench_sample *out) {
    unsigned tasks = bench_scale(args, MILLION, 10000);
    run_external(args, make_work(out, tasks, 1, true), post_round);
}

static void run_post_external_rounds(const bench_args *args, bench_sample *out) {
    unsigned rounds = bench_scale(args, 1000, 20);
    run_external(args, make_work(out, ROUND, rounds, true), post_round);
}

static void run_spawn_external(const bench_args *args, bench_sample *out) {
    unsigned tasks = bench_scale(args, MILLION, 10000);
    run_external(args, make_work(out, tasks, 1, false), go_external);
}

/* ---- fan-out ---- */

typedef struct fan_work {
    spawn_work *work;
    bench_span all; /* their sums */
    uint64_t futex_wakes;
    thrum_event ended;
} fan_work;

static int fan_inside(void *arg) {
    fan_work *fan = arg;
    bench_span span;
    uint64_t wakes = bench_metrics(fan->work->sched).futex_wakes;
    bench_span_begin(&span, fan->work->sched);
    spawn_round(fan->work);
    bench_span_end(&span);
    fan->futex_wakes += bench_metrics(fan->work->sched).futex_wakes - wakes;
    fan->all.futex_calls += span.futex_calls;
    fan->all.context_switches += span.context_switches;
    fan->all.fiber_switches += span.fiber_switches;
    fan->all.steals += span.steals;
    fan->all.wakes += span.wakes;
    fan->all.parks += span.parks;
    fan->all.ns += span.ns;
    thrum_event_signal(&fan->ended);
    return 0;
}

/* Each fan-out finds the other workers asleep: it begins 2 ms after the last one ended. */
static void run_fanout(const bench_args *args, bench_sample *out) {
    unsigned repeats = bench_scale(args, 50, 5);
    spawn_work work = make_work(out, FAN, repeats, false);
    work.sched = bench_start(args);
    fan_work fan = {.work = &work, .ended = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false)};
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = work.sched;
    for (unsigned i = 0; i < repeats; i++) {
        bench_sleep_us(2000);
        bench_ok(thrum_go_with(&attr, fan_inside, &fan));
        bench_ok(thrum_event_wait(&fan.ended));
    }
    bench_stop(work.sched);
    end_work(&work, repeats);
    uint64_t ops = (uint64_t)repeats * FAN;
    out[0] = bench_span_per_op(&fan.all, ops);
    out[1] = out[0];
    out[1].value = (double)fan.futex_wakes / repeats;
}

/* ---- baselines ---- */

/* Hides the called function from the compiler. */
static int (*volatile plain_call)(void *) = return_one;

static void base_calls(const bench_args *args, bench_sample *out) {
    unsigned rounds = bench_scale(args, 10000, 1000);
    spawn_work work = make_work(out, ROUND, rounds, false);
    unsigned results = 0;
    bench_span span;
    bench_span_begin(&span, NULL);
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned j = 0; j < ROUND; j++) {
            results += (unsigned)plain_call(&work.slots[j]);
        }
    }
    bench_span_end(&span);
    bench_check(results == rounds * ROUND, "calls were left out");
    out[0] = bench_span_per_op(&span, (uint64_t)rounds * ROUND);
    out[1] = out[0];
    end_work(&work, rounds);
}

static void base_calls_only(const bench_args *args, bench_sample *out) {
    base_calls(args, out);
    out[1].value = 0; /* a call wakes no thread */
}

static void *thread_body(void *arg) {
    uint32_t *slot = arg;
    ++*slot;
    return arg;
}

static void base_threads(const bench_args *args, bench_sample *out) {
    unsigned n = bench_scale(args, 2000, 200);
    uint32_t ran = 0;
    bench_span span;
    bench_span_begin(&span, NULL);
    for (unsigned i = 0; i < n; i++) {
        bench_threads(1, thread_body, &ran);
    }
    bench_span_end(&span);
    bench_check(ran == n, "threads were left out");
    out[0] = bench_span_per_op(&span, n);
}

static const bench_case cases[] = {
    {.what = "1000 rounds of 1000 tasks: thrum_go from a fiber, which waits for each round",
     .rows = {{.name = "spawn", .unit = "ns/op", .must = BENCH_SCALED, .limit = {22, 25}}},
     .count = 1,
     .workers_min = 1,
     .run = run_spawn,
     .baseline = base_calls,
     .baseline_what = "a call"},
    {.what = "the same with thrum_spawn and thrum_join",
     .rows = {{.name = "spawn-joined", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_joined,
     .baseline = base_threads,
     .baseline_what = "pthread_create and pthread_join"},
    {.what = "a million tasks at once by thrum_go; cold: the first time, memory untouched",
     .rows = {{.name = "spawn-burst", .unit = "ns/op", .must = BENCH_SCALED, .limit = {45, 50}},
              {.name = "spawn-burst-cold", .unit = "ns/op"}},
     .count = 2,
     .workers_min = 1,
     .run = run_burst,
     .baseline = base_calls,
     .baseline_what = "a call"},
    {.what = "1000 rounds of 1000 intrusive tasks, posted by a fiber, which waits for each round",
     .rows = {{.name = "post", .unit = "ns/op", .must = BENCH_SCALED, .limit = {16, 18}}},
     .count = 1,
     .workers_min = 1,
     .run = run_post,
     .baseline = base_calls,
     .baseline_what = "a call"},
    {.what = "a million intrusive tasks posted by a plain thread, until the last has run",
     .rows = {{.name = "post-external", .unit = "ns/op", .must = BENCH_SCALED, .limit = {35, 35}}},
     .count = 1,
     .workers_min = 1,
     .run = run_post_external,
     .baseline = base_calls,
     .baseline_what = "a call"},
    {.what = "1000 rounds of 1000 of them: the thread waits for each round",
     .rows = {{.name = "post-external-rounds", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_post_external_rounds,
     .baseline = base_calls,
     .baseline_what = "a call"},
    {.what = "a million tasks by thrum_go_with from a plain thread, until the last has run",
     .rows = {{.name = "spawn-external", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_spawn_external,
     .baseline = base_calls,
     .baseline_what = "a call"},
    {.what =
         "a fiber starts 10,000 tasks while the other workers sleep; wakes sent for all of them",
     .rows = {{.name = "fanout", .unit = "ns/op"},
              {.name = "fanout-wakes", .unit = "count", .must = BENCH_FIXED, .limit = {2, 2}}},
     .count = 2,
     .workers_min = 1,
     .run = run_fanout,
     .baseline = base_calls_only,
     .baseline_what = "a call"},
};

const bench_theme bench_spawn = {cases, sizeof(cases) / sizeof(cases[0])};
