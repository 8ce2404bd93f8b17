/*
 * rows_timers.c: the deadline queue alone (queue/wheel.h), without a scheduler, with a million
 * timers pending at random deadlines within ten seconds. Each lies in an object of a task's size.
 *
 * The baseline is a binary heap of pointers, each timer knowing its place in it.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "base/random.h"
#include "harness.h"
#include "queue/wheel.h"

#define PENDING 1000000u
#define SPAN_NS (INT64_C(10) * 1000000000)
#define STEP_NS (INT64_C(1000000)) /* the interval at which due timers are taken */
#define MOST 64u

typedef struct object {
    char task[40]; /* as much as a thrum_task has before its reserved words */
    th_timer timer;
} object;

static object *objects;
static unsigned count;
static int64_t start;
static th_random dice;

/* ---- the queue under measurement: one of two ---- */

typedef struct queue {
    void (*insert)(th_timer *timer, int64_t deadline);
    void (*remove)(th_timer *timer);
    uint64_t (*expire)(int64_t now); /* takes due timers, in order; returns their number */
} queue;

static th_wheel wheel;

static void wheel_insert(th_timer *timer, int64_t deadline) {
    th_wheel_insert(&wheel, timer, deadline);
}

static void wheel_remove(th_timer *timer) {
    th_wheel_remove(&wheel, timer);
}

static uint64_t wheel_expire(int64_t now) {
    uint64_t n = 0;
    while (th_wheel_turn(&wheel, now, MOST)) {
        continue;
    }
    while (th_wheel_pop(&wheel, now)) {
        n++;
    }
    return n;
}

static const queue of_wheel = {wheel_insert, wheel_remove, wheel_expire};

/* The heap's places begin at 1; a timer's place is kept in its hint. */
static th_timer **heap;
static size_t heap_count;

static void heap_put(size_t at, th_timer *timer) {
    heap[at] = timer;
    timer->hint = at;
}

/* Finds a timer's place, up or down from a free one. */
static void heap_settle(size_t at, th_timer *timer) {
    while (at > 1 && heap[at / 2]->deadline > timer->deadline) {
        heap_put(at, heap[at / 2]);
        at /= 2;
    }
    for (size_t child = 2 * at; child <= heap_count; at = child, child = 2 * at) {
        child += child < heap_count && heap[child + 1]->deadline < heap[child]->deadline;
        if (timer->deadline <= heap[child]->deadline) {
            break;
        }
        heap_put(at, heap[child]);
    }
    heap_put(at, timer);
}

static void heap_insert(th_timer *timer, int64_t deadline) {
    timer->deadline = deadline;
    heap_settle(++heap_count, timer);
}

static void heap_remove(th_timer *timer) {
    th_timer *last = heap[heap_count--];
    if (last != timer) {
        heap_settle(timer->hint, last);
    }
}

static uint64_t heap_expire(int64_t now) {
    uint64_t n = 0;
    for (; heap_count > 0 && heap[1]->deadline <= now; n++) {
        heap_remove(heap[1]);
    }
    return n;
}

static const queue of_heap = {heap_insert, heap_remove, heap_expire};

/* ---- the rows ---- */

static int64_t any_deadline(void) {
    return start + (int64_t)(((uint64_t)th_random_next(&dice) * (uint64_t)(SPAN_NS >> 10)) >> 22);
}

static void fill(const bench_args *args, const queue *q) {
    count = bench_scale(args, PENDING, 10000);
    objects = calloc(count, sizeof(objects[0]));
    heap = calloc((size_t)count + 1, sizeof(heap[0]));
    bench_check(objects && heap, "no memory for %u timers", count);
    start = bench_now();
    th_random_seed(&dice, 1);
    th_wheel_init(&wheel, start);
    for (unsigned i = 0; i < count; i++) {
        q->insert(&objects[i].timer, any_deadline());
    }
}

/* Takes all that is pending, and checks that each timer comes once. */
static void drain(const queue *q) {
    uint64_t n = q->expire(start + SPAN_NS);
    bench_check(n == count, "%u timers were pending, %u came", count, (unsigned)n);
    free(objects);
    free(heap);
}

static void renew(const queue *q, unsigned i) {
    q->remove(&objects[i].timer);
    q->insert(&objects[i].timer, any_deadline());
}

static void measure_in_turn(const bench_args *args, const queue *q, bench_sample *out) {
    bench_span span;
    fill(args, q);
    for (unsigned i = 0; i < count / 10; i++) {
        renew(q, i);
    }
    bench_span_begin(&span, NULL);
    for (unsigned i = 0; i < count; i++) {
        renew(q, i);
    }
    bench_span_end(&span);
    *out = bench_span_per_op(&span, count);
    drain(q);
}

static void measure_at_random(const bench_args *args, const queue *q, bench_sample *out) {
    bench_span span;
    fill(args, q);
    bench_span_begin(&span, NULL);
    for (unsigned i = 0; i < count; i++) {
        renew(q, th_random_below(&dice, count));
    }
    bench_span_end(&span);
    *out = bench_span_per_op(&span, count);
    drain(q);
}

static void measure_expire(const bench_args *args, const queue *q, bench_sample *out) {
    uint64_t n = 0;
    bench_span span;
    fill(args, q);
    bench_span_begin(&span, NULL);
    for (int64_t now = start; now <= start + SPAN_NS; now += STEP_NS) {
        n += q->expire(now);
    }
    bench_span_end(&span);
    bench_check(n == count, "%u timers were pending, %u came", count, (unsigned)n);
    *out = bench_span_per_op(&span, count);
}

static void run_in_turn(const bench_args *args, bench_sample *out) {
    measure_in_turn(args, &of_wheel, out);
}

static void run_at_random(const bench_args *args, bench_sample *out) {
    measure_at_random(args, &of_wheel, out);
}

static void run_expire(const bench_args *args, bench_sample *out) {
    measure_expire(args, &of_wheel, out);
}

static void heap_in_turn(const bench_args *args, bench_sample *out) {
    measure_in_turn(args, &of_heap, out);
}

static void heap_at_random(const bench_args *args, bench_sample *out) {
    measure_at_random(args, &of_heap, out);
}

static void heap_all_expire(const bench_args *args, bench_sample *out) {
    measure_expire(args, &of_heap, out);
}

static const bench_case cases[] = {
    {.what = "a million pending: a timer is cancelled and inserted anew, one after the other",
     .rows = {{.name = "timers", .unit = "ns/op", .must = BENCH_SCALED, .limit = {80, 80}}},
     .count = 1,
     .workers_min = 1,
     .workers_same = true,
     .run = run_in_turn,
     .baseline = heap_in_turn,
     .baseline_what = "binary heap"},
    {.what = "the same with the timers in random order, so that each is cold",
     .rows = {{.name = "timers-cold", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .workers_same = true,
     .run = run_at_random,
     .baseline = heap_at_random,
     .baseline_what = "binary heap"},
    {.what = "a million come due, looked after every millisecond of ten seconds",
     .rows = {{.name = "timers-expire", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .workers_same = true,
     .run = run_expire,
     .baseline = heap_all_expire,
     .baseline_what = "binary heap"},
};

const bench_theme bench_timers = {cases, sizeof(cases) / sizeof(cases[0])};
