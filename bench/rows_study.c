/*
 * rows_study.c: the workloads of the study of variants: the distribution of resting and yielding
 * fibers over workers. Made for four workers (`spawners`: eight), and run on every variant by
 * compare.py.
 *
 * Each is there twice: the fibers rest by a sleep of their thread, as in the study that these come
 * from, or by spinning. A sleep of 2 ns takes the kernel some 50 us, and one of 200 ns no longer,
 * so the sleeping ones show the kernel's behaviour, and the spinning ones the scheduler's.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cc.h"
#include "harness.h"

/* ---- rests ---- */

#define SLEEP_NS 2
#define SPIN_NS 2000
#define SLOW 100 /* how many times as long a rest takes on the slow worker */

static bool spinning;
static bool slow_first; /* whether worker 0 is slow */

static void rest(void) {
    int64_t times = slow_first && thrum_worker_id() == 0 ? SLOW : 1;
    if (spinning) {
        int64_t until = bench_now() + times * SPIN_NS;
        while (bench_now() < until) {
            continue;
        }
        return;
    }
    struct timespec nap = {.tv_nsec = (long)times * SLEEP_NS};
    nanosleep(&nap, NULL);
}

/* ---- fibers that rest and yield ---- */

typedef struct resting {
    unsigned steps;
    unsigned count; /* steps made so far */
} resting;

static thrum_waitgroup left;

static int rest_and_yield(void *arg) {
    resting *r = arg;
    for (unsigned i = 0; i < r->steps; i++) {
        rest();
        r->count++;
        thrum_yield();
    }
    thrum_waitgroup_done(&left);
    return 0;
}

/* A spawner starts its fibers one by one. */
typedef struct spawner {
    resting *fibers;
    unsigned count;
} spawner;

static int spawn_all(void *arg) {
    spawner *s = arg;
    for (unsigned i = 0; i < s->count; i++) {
        bench_ok(thrum_go(rest_and_yield, &s->fibers[i]));
    }
    return 0;
}

static spawner make_spawner(unsigned count, unsigned steps) {
    spawner s = {calloc(count, sizeof(resting)), count};
    bench_check(s.fibers != NULL, "no memory");
    for (unsigned i = 0; i < count; i++) {
        s.fibers[i].steps = steps;
    }
    return s;
}

static void end_spawner(spawner *s) {
    for (unsigned i = 0; i < s->count; i++) {
        bench_check(s->fibers[i].count == s->fibers[i].steps, "fiber %u made %u of %u steps", i,
                    s->fibers[i].count, s->fibers[i].steps);
    }
    free(s->fibers);
}

/* Runs the spawners, each on a worker of its own if there are several, until all has ended. */
static void run_spawners(const bench_args *args, bench_sample *out, spawner *spawners, int n) {
    bench_span span;
    thrum_sched *sched = bench_start(args);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    attr.flags = n > 1 ? THRUM_PINNED : 0;
    unsigned fibers = 0;
    for (int i = 0; i < n; i++) {
        fibers += spawners[i].count;
    }
    thrum_waitgroup_init(&left, fibers);
    bench_span_begin(&span, sched);
    for (int i = 0; i < n; i++) {
        attr.worker = n > 1 ? i : -1;
        bench_ok(thrum_go_with(&attr, spawn_all, &spawners[i]));
    }
    bench_ok(thrum_waitgroup_wait(&left));
    bench_span_end(&span);
    bench_stop(sched);
    uint64_t steps = 0;
    for (int i = 0; i < n; i++) {
        steps += (uint64_t)spawners[i].count * spawners[i].fibers[0].steps;
        end_spawner(&spawners[i]);
    }
    *out = bench_span_value(&span, steps, span.ns / 1e6);
}

static void single(const bench_args *args, bench_sample *out, bool spins, bool slow) {
    spinning = spins;
    slow_first = slow;
    spawner s = make_spawner(bench_scale(args, 1000, 100), 10);
    run_spawners(args, out, &s, 1);
}

static void two_spawners(const bench_args *args, bench_sample *out, bool spins, unsigned many,
                         unsigned few, unsigned steps) {
    spinning = spins;
    spawner s[2] = {make_spawner(bench_scale(args, many, 50), steps),
                    make_spawner(bench_scale(args, few, 5), steps)};
    run_spawners(args, out, s, 2);
}

static void run_single(const bench_args *args, bench_sample *out) {
    single(args, out, false, false);
}

static void run_single_spin(const bench_args *args, bench_sample *out) {
    single(args, out, true, false);
}

static void run_slow(const bench_args *args, bench_sample *out) {
    single(args, out, false, true);
}

static void run_slow_spin(const bench_args *args, bench_sample *out) {
    single(args, out, true, true);
}

static void run_two(const bench_args *args, bench_sample *out) {
    two_spawners(args, out, false, 10000, 100, 10);
}

static void run_two_spin(const bench_args *args, bench_sample *out) {
    two_spawners(args, out, true, 10000, 100, 10);
}

static void run_two_few(const bench_args *args, bench_sample *out) {
    two_spawners(args, out, false, 100, 10, 100);
}

static void run_two_few_spin(const bench_args *args, bench_sample *out) {
    two_spawners(args, out, true, 100, 10, 100);
}

static void run_two_more(const bench_args *args, bench_sample *out) {
    two_spawners(args, out, false, 1000, 100, 100);
}

static void run_two_more_spin(const bench_args *args, bench_sample *out) {
    two_spawners(args, out, true, 1000, 100, 100);
}

/* ---- one mutex ---- */

static struct {
    _Alignas(TH_CACHE_LINE) thrum_mutex lock;
    uint64_t count;
} shared = {THRUM_MUTEX_INIT, 0};

/* Rests under the lock, for which all the others wait. */
static int lock_and_rest(void *arg) {
    resting *r = arg;
    for (unsigned i = 0; i < r->steps; i++) {
        thrum_mutex_lock(&shared.lock);
        rest();
        shared.count++;
        thrum_mutex_unlock(&shared.lock);
        r->count++;
        thrum_yield();
    }
    thrum_waitgroup_done(&left);
    return 0;
}

static int spawn_lockers(void *arg) {
    spawner *s = arg;
    for (unsigned i = 0; i < s->count; i++) {
        bench_ok(thrum_go(lock_and_rest, &s->fibers[i]));
    }
    return 0;
}

static void one_mutex(const bench_args *args, bench_sample *out, bool spins) {
    spinning = spins;
    shared.count = 0;
    spawner s = make_spawner(100, bench_scale(args, 20, 2));
    bench_span span;
    thrum_sched *sched = bench_start(args);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    thrum_waitgroup_init(&left, s.count);
    bench_span_begin(&span, sched);
    bench_ok(thrum_go_with(&attr, spawn_lockers, &s));
    bench_ok(thrum_waitgroup_wait(&left));
    bench_span_end(&span);
    bench_stop(sched);
    uint64_t steps = (uint64_t)s.count * s.fibers[0].steps;
    bench_check(shared.count == steps, "%llu locks were counted", (unsigned long long)shared.count);
    end_spawner(&s);
    *out = bench_span_value(&span, steps, span.ns / 1e6);
}

static void run_mutex(const bench_args *args, bench_sample *out) {
    one_mutex(args, out, false);
}

static void run_mutex_spin(const bench_args *args, bench_sample *out) {
    one_mutex(args, out, true);
}

/* ---- merge sort, a fiber a half, down to single numbers ---- */

#define NUMBERS 1024
#define SORTS 50

static uint32_t numbers[NUMBERS];
static uint32_t spare[NUMBERS];

typedef struct half {
    unsigned first, count;
} half;

static int sort_half(void *arg) {
    half h = *(half *)arg;
    if (h.count < 2) {
        return 0;
    }
    half parts[2] = {{h.first, h.count / 2}, {h.first + h.count / 2, h.count - h.count / 2}};
    thrum_handle *fibers[2];
    for (unsigned i = 0; i < 2; i++) {
        bench_ok(thrum_spawn(&fibers[i], sort_half, &parts[i]));
    }
    for (unsigned i = 0; i < 2; i++) {
        bench_ok(thrum_join(fibers[i], NULL));
    }
    unsigned a = parts[0].first, a_end = parts[1].first;
    unsigned b = parts[1].first, b_end = h.first + h.count;
    for (unsigned i = h.first; i < b_end; i++) {
        bool second = a == a_end || (b < b_end && numbers[b] < numbers[a]);
        spare[i] = second ? numbers[b++] : numbers[a++];
    }
    memcpy(&numbers[h.first], &spare[h.first], h.count * sizeof(numbers[0]));
    return 0;
}

/* Shuffles the numbers by a step that meets each once. */
static void shuffle(void) {
    for (unsigned i = 0; i < NUMBERS; i++) {
        numbers[i] = i * 389 % NUMBERS;
    }
}

static void check_sorted(void) {
    for (unsigned i = 0; i < NUMBERS; i++) {
        bench_check(numbers[i] == i, "not sorted at %u", i);
    }
}

static int sort_often(void *arg) {
    bench_sample *out = arg;
    half all = {0, NUMBERS};
    bench_span span;
    double ns = 0;
    for (unsigned i = 0; i < SORTS + SORTS / 10; i++) {
        shuffle();
        bench_span_begin(&span, thrum_sched_current());
        sort_half(&all);
        bench_span_end(&span);
        check_sorted();
        ns += i >= SORTS / 10 ? span.ns : 0;
    }
    *out = bench_span_value(&span, 1, ns / SORTS / 1e6);
    return 0;
}

static void run_sort(const bench_args *args, bench_sample *out) {
    bench_inside(args, sort_often, out);
}

/* clang-format off */
#define STUDY(row, fn, least, says)                                                                \
    {.what = says, .rows = {{.name = row, .unit = "ms"}}, .count = 1, .workers_min = least,        \
     .run = fn}

static const bench_case cases[] = {
    STUDY("study-spawner", run_single, 1, "one fiber starts 1000 that sleep and yield 10 times"),
    STUDY("study-spawner-spin", run_single_spin, 1, "the same, spinning 2 us"),
    STUDY("study-slow", run_slow, 1, "the same with sleeps 100 times as long on one worker"),
    STUDY("study-slow-spin", run_slow_spin, 1, "the same, spinning 2 us, and 200 us on one worker"),
    STUDY("study-two", run_two, 2,
          "two spawners on two workers, 10,000 and 100 that sleep and yield 10 times"),
    STUDY("study-two-spin", run_two_spin, 2, "the same, spinning 2 us"),
    STUDY("study-two-100", run_two_few, 2, "the same with 100 and 10 that do it 100 times"),
    STUDY("study-two-100-spin", run_two_few_spin, 2, "the same, spinning 2 us"),
    STUDY("study-two-1000", run_two_more, 2, "the same with 1000 and 100 that do it 100 times"),
    STUDY("study-two-1000-spin", run_two_more_spin, 2, "the same, spinning 2 us"),
    STUDY("study-mutex", run_mutex, 1, "100 that sleep under one mutex 20 times"),
    STUDY("study-mutex-spin", run_mutex_spin, 1, "the same, spinning 2 us"),
    STUDY("study-sort", run_sort, 1, "merge sort of 1024 numbers, a fiber a half"),
};
/* clang-format on */

const bench_theme bench_study = {cases, sizeof(cases) / sizeof(cases[0])};
