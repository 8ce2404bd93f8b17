/*
 * rows_marl.c: marl's benchmarks that have no row elsewhere, done as its programs do them: a thread
 * that is bound to the scheduler starts the tasks and waits for them. Its largest sizes; the others
 * of its set are the rows event-chain, event-baton, tickets and blocking-call.
 *
 * Each task leaves a result in a slot of its own, which is compared with the expected one: so a
 * task that did not run, or ran with another's argument, is found; a task that ran twice is found
 * by the count.
 */
#include <stdlib.h>

#include "base/cc.h"
#include "harness.h"

#define MANY 262144
#define FEW 512
#define WORK_STEPS 64 /* takes 0.1 us */
#define LONG_WORK 256 /* how many times as much a fork does */
#define ROUNDS 20

typedef struct marl_slot {
    uint32_t result;
    uint32_t runs;
} marl_slot;

static struct {
    marl_slot *slots;
    unsigned count;
    unsigned batch; /* forks between two joins */
    thrum_sched *sched;
} set;

/* It has a line of its own: all workers count it down. */
static struct { _Alignas(TH_CACHE_LINE) thrum_waitgroup group; } left = {THRUM_WAITGROUP_INIT(0)};

/* ---- tasks ---- */

static uint32_t some_work(uint32_t x) {
    for (unsigned i = 0; i < WORK_STEPS; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    return x;
}

static uint32_t long_work(uint32_t x) {
    for (unsigned i = 0; i < LONG_WORK; i++) {
        x = some_work(x);
    }
    return x;
}

/* The result for a task's number; never 0, so that it differs from an empty slot. */
static uint32_t number(const marl_slot *slot) {
    return (uint32_t)(slot - set.slots) + 1;
}

static void leave(marl_slot *slot, uint32_t result) {
    slot->result = result;
    slot->runs++;
}

static int do_nothing(void *arg) {
    leave(arg, number(arg));
    return 0;
}

static int do_nothing_and_tell(void *arg) {
    leave(arg, number(arg));
    thrum_waitgroup_done(&left.group);
    return 0;
}

static int do_some_work(void *arg) {
    leave(arg, some_work(number(arg)));
    thrum_waitgroup_done(&left.group);
    return 0;
}

static int do_long_work(void *arg) {
    leave(arg, long_work(number(arg)));
    thrum_waitgroup_done(&left.group);
    return 0;
}

static int block(void *arg) {
    bench_ok(thrum_blocking(do_nothing, arg, NULL));
    thrum_waitgroup_done(&left.group);
    return 0;
}

/* ---- rounds, by the bound thread ---- */

static void empty_round(void) {
    for (unsigned i = 0; i < set.count; i++) {
        bench_ok(thrum_go(do_nothing, &set.slots[i]));
    }
    bench_ok(thrum_sched_wait_idle(set.sched, THRUM_FOREVER));
}

static void group_round(thrum_fn fn) {
    thrum_waitgroup_add(&left.group, (int)set.count);
    for (unsigned i = 0; i < set.count; i++) {
        bench_ok(thrum_go(fn, &set.slots[i]));
    }
    bench_ok(thrum_waitgroup_wait(&left.group));
}

static void waitgroup_round(void) {
    group_round(do_nothing_and_tell);
}

static void work_round(void) {
    group_round(do_some_work);
}

static void blocking_round(void) {
    group_round(block);
}

static void fork_round(void) {
    for (unsigned i = 0; i < set.count; i++) {
        thrum_waitgroup_add(&left.group, 1);
        bench_ok(thrum_go(do_long_work, &set.slots[i]));
        if ((i + 1) % set.batch == 0) {
            bench_ok(thrum_waitgroup_wait(&left.group));
        }
    }
    bench_ok(thrum_waitgroup_wait(&left.group));
}

static void make_slots(unsigned count) {
    set.count = count;
    set.slots = calloc(count, sizeof(set.slots[0]));
    bench_check(set.slots != NULL, "no memory");
}

static uint32_t same(uint32_t x) {
    return x;
}

static void check_slots(unsigned runs, uint32_t (*expected)(uint32_t)) {
    for (unsigned i = 0; i < set.count; i++) {
        bench_check(set.slots[i].runs == runs, "task %u ran %u times, not %u", i, set.slots[i].runs,
                    runs);
        bench_check(set.slots[i].result == expected(i + 1), "task %u did another's work", i);
    }
    free(set.slots);
}

/* Does so many rounds, after an untimed one; each of their tasks is an operation. */
static void run_rounds(const bench_args *args, bench_sample *out, unsigned count,
                       void (*round)(void), uint32_t (*expected)(uint32_t)) {
    unsigned rounds = bench_scale(args, ROUNDS, 2);
    make_slots(count);
    set.sched = bench_start(args);
    set.batch = args->workers;
    bench_ok(thrum_sched_bind(set.sched));
    round();
    bench_span span;
    bench_span_begin(&span, set.sched);
    for (unsigned i = 0; i < rounds; i++) {
        round();
    }
    bench_span_end(&span);
    bench_ok(thrum_sched_unbind());
    bench_stop(set.sched);
    check_slots(1 + rounds, expected);
    *out = bench_span_per_op(&span, (uint64_t)rounds * count);
}

static void run_empty(const bench_args *args, bench_sample *out) {
    run_rounds(args, out, MANY, empty_round, same);
}

static void run_waitgroup(const bench_args *args, bench_sample *out) {
    run_rounds(args, out, MANY, waitgroup_round, same);
}

static void run_work(const bench_args *args, bench_sample *out) {
    run_rounds(args, out, MANY, work_round, some_work);
}

static void run_fork_join(const bench_args *args, bench_sample *out) {
    run_rounds(args, out, FEW, fork_round, long_work);
}

static void run_blocking(const bench_args *args, bench_sample *out) {
    run_rounds(args, out, FEW, blocking_round, same);
}

/* ---- baselines ---- */

static uint32_t (*volatile called)(uint32_t);

static void base_loop(const bench_args *args, bench_sample *out, unsigned count,
                      uint32_t (*work)(uint32_t)) {
    unsigned rounds = bench_scale(args, ROUNDS, 2);
    make_slots(count);
    called = work;
    bench_span span;
    bench_span_begin(&span, NULL);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < count; i++) {
            leave(&set.slots[i], called(i + 1));
        }
    }
    bench_span_end(&span);
    check_slots(rounds, work);
    *out = bench_span_per_op(&span, (uint64_t)rounds * count);
}

static void base_empty(const bench_args *args, bench_sample *out) {
    base_loop(args, out, MANY, same);
}

static void base_work(const bench_args *args, bench_sample *out) {
    base_loop(args, out, MANY, some_work);
}

static void base_fork_join(const bench_args *args, bench_sample *out) {
    base_loop(args, out, FEW, long_work);
}

static const bench_case cases[] = {
    {.what = "marl's: a bound thread starts 262,144 tasks that do nothing, until none is left",
     .rows = {{.name = "marl-empty", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_empty,
     .baseline = base_empty,
     .baseline_what = "a call"},
    {.what = "marl's: 262,144 that count down a waitgroup, which it waits for",
     .rows = {{.name = "marl-waitgroup", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_waitgroup,
     .baseline = base_empty,
     .baseline_what = "a call"},
    {.what = "marl's: the same with some work in each",
     .rows = {{.name = "marl-work", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_work,
     .baseline = base_work,
     .baseline_what = "a call"},
    {.what = "marl's: 512 with 256 times that work, joined whenever there is one for each worker",
     .rows = {{.name = "marl-fork-join", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_fork_join,
     .baseline = base_fork_join,
     .baseline_what = "a call"},
    {.what = "marl's: 512 tasks at once, each makes a blocking call that does nothing",
     .rows = {{.name = "marl-blocking", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_blocking},
};

const bench_theme bench_marl = {cases, sizeof(cases) / sizeof(cases[0])};
