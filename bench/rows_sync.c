/*
 * rows_sync.c: fibers that give way to each other: yield, ping-pong over semaphores, a shared
 * mutex.
 *
 * All fibers of a row wait at a gate first, so that their stacks exist before the clock runs.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "base/cc.h"
#include "harness.h"

/* ---- a crowd of fibers behind a gate ---- */

typedef struct crowd {
    bench_sample *out;
    unsigned fibers;
    unsigned steps;          /* of each fiber */
    void (*step)(void);      /* one operation */
    thrum_waitgroup waiting; /* fibers not yet at the gate */
    thrum_waitgroup running; /* fibers not yet done */
    thrum_event gate;
    uint64_t yields; /* the scheduler's count */
} crowd;

static int stand_in_crowd(void *arg) {
    crowd *c = arg;
    unsigned steps = c->steps;
    void (*step)(void) = c->step;
    thrum_waitgroup_done(&c->waiting);
    bench_ok(thrum_event_wait(&c->gate));
    for (unsigned i = 0; i < steps; i++) {
        step();
    }
    thrum_waitgroup_done(&c->running);
    return 0;
}

static int time_crowd(void *arg) {
    crowd *c = arg;
    const thrum_sched *sched = thrum_sched_current();
    for (unsigned i = 0; i < c->fibers; i++) {
        bench_ok(thrum_go(stand_in_crowd, c));
    }
    bench_ok(thrum_waitgroup_wait(&c->waiting));
    uint64_t yields = bench_metrics(sched).yields;
    bench_span span;
    bench_span_begin(&span, sched);
    thrum_event_signal(&c->gate);
    bench_ok(thrum_waitgroup_wait(&c->running));
    bench_span_end(&span);
    c->yields = bench_metrics(sched).yields - yields;
    *c->out = bench_span_per_op(&span, (uint64_t)c->fibers * c->steps);
    return 0;
}

static crowd run_crowd(const bench_args *args, bench_sample *out, unsigned fibers, unsigned steps,
                       void (*step)(void)) {
    crowd c = {.out = out,
               .fibers = fibers,
               .steps = steps,
               .step = step,
               .waiting = THRUM_WAITGROUP_INIT(fibers),
               .running = THRUM_WAITGROUP_INIT(fibers),
               .gate = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false)};
    bench_inside(args, time_crowd, &c);
    return c;
}

/* ---- yield ---- */

/*
 * A yield may return at once when its worker has nothing else to run. Such yields are not measured:
 * only yields that gave way count, by the scheduler's counter; most must have.
 */
static void run_yield(const bench_args *args, bench_sample *out) {
    unsigned steps = bench_scale(args, 1000, 50);
    crowd c = run_crowd(args, out, 1000, steps, thrum_yield);
    bench_check(c.yields <= out->ops && c.yields >= out->ops / 2, "%llu of %llu yields gave way",
                (unsigned long long)c.yields, (unsigned long long)out->ops);
    out->value *= (double)out->ops / (double)c.yields;
    out->ops = c.yields;
}

static void base_sched_yield(const bench_args *args, bench_sample *out) {
    unsigned n = bench_scale(args, 1000000, 50000);
    bench_span span;
    bench_span_begin(&span, NULL);
    for (unsigned i = 0; i < n; i++) {
        sched_yield();
    }
    bench_span_end(&span);
    out[0] = bench_span_per_op(&span, n);
}

/* ---- mutex ---- */

/* It has its own lines, with the protected data. */
static struct {
    _Alignas(TH_CACHE_LINE) thrum_mutex mutex;
    uint64_t count;
} shared = {THRUM_MUTEX_INIT, 0};

static void lock_and_count(void) {
    thrum_mutex_lock(&shared.mutex);
    shared.count++;
    thrum_mutex_unlock(&shared.mutex);
}

static void run_mutex(const bench_args *args, bench_sample *out, unsigned fibers) {
    shared.count = 0;
    unsigned steps = bench_scale(args, 5000000, 200000) / fibers;
    run_crowd(args, out, fibers, steps, lock_and_count);
    bench_check(shared.count == out->ops, "%llu locks were counted",
                (unsigned long long)shared.count);
}

static void run_mutex_alone(const bench_args *args, bench_sample *out) {
    run_mutex(args, out, 1);
}

static void run_mutex_2(const bench_args *args, bench_sample *out) {
    run_mutex(args, out, 2);
}

static void run_mutex_100(const bench_args *args, bench_sample *out) {
    run_mutex(args, out, 100);
}

static void run_mutex_1000(const bench_args *args, bench_sample *out) {
    run_mutex(args, out, 1000);
}

static pthread_mutex_t plain_mutex = PTHREAD_MUTEX_INITIALIZER;

static void *lock_plainly(void *arg) {
    const unsigned *steps = arg;
    for (unsigned i = 0; i < *steps; i++) {
        pthread_mutex_lock(&plain_mutex);
        shared.count++;
        pthread_mutex_unlock(&plain_mutex);
    }
    return NULL;
}

/* Uses threads in the fibers' place; their start is in the time, a hundredth of it at most. */
static void base_mutex(const bench_args *args, bench_sample *out, unsigned threads) {
    shared.count = 0;
    unsigned steps = bench_scale(args, 5000000, 200000) / threads;
    uint64_t ops = (uint64_t)steps * threads;
    bench_span span;
    bench_span_begin(&span, NULL);
    bench_threads(threads, lock_plainly, &steps);
    bench_span_end(&span);
    bench_check(shared.count == ops, "locks were left out");
    out[0] = bench_span_per_op(&span, ops);
}

static void base_mutex_alone(const bench_args *args, bench_sample *out) {
    base_mutex(args, out, 1);
}

static void base_mutex_2(const bench_args *args, bench_sample *out) {
    base_mutex(args, out, 2);
}

static void base_mutex_100(const bench_args *args, bench_sample *out) {
    base_mutex(args, out, 100);
}

/* ---- ping-pong ---- */

typedef struct table {
    bench_sample *out;
    unsigned rounds;
    bool apart; /* the second player is tied to another worker than the first */
    thrum_sem ping;
    thrum_sem pong;
    thrum_waitgroup ended;
    unsigned returned;
    bool tied; /* whether the second player was where it should be */
} table;

static int play_second(void *arg) {
    table *t = arg;
    t->tied = !t->apart || thrum_worker_id() == 1;
    for (unsigned i = 0; i < t->rounds; i++) {
        bench_ok(thrum_sem_wait(&t->ping));
        t->returned++;
        thrum_sem_post(&t->pong);
    }
    thrum_waitgroup_done(&t->ended);
    return 0;
}

static int play_first(void *arg) {
    table *t = arg;
    bench_check(!t->apart || thrum_worker_id() == 0, "the first fiber is on another worker");
    bench_span span;
    bench_span_begin(&span, thrum_sched_current());
    for (unsigned i = 0; i < t->rounds; i++) {
        thrum_sem_post(&t->ping);
        bench_ok(thrum_sem_wait(&t->pong));
    }
    bench_span_end(&span);
    *t->out = bench_span_per_op(&span, t->rounds);
    thrum_waitgroup_done(&t->ended);
    return 0;
}

static int play(void *arg) {
    table *t = arg;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.flags = t->apart ? THRUM_PINNED : 0;
    attr.worker = t->apart ? 1 : -1;
    bench_ok(thrum_go_with(&attr, play_second, t));
    attr.worker = t->apart ? 0 : -1;
    bench_ok(thrum_go_with(&attr, play_first, t));
    bench_ok(thrum_waitgroup_wait(&t->ended));
    return 0;
}

static void run_table(const bench_args *args, bench_sample *out, unsigned rounds, bool apart) {
    table t = {.out = out,
               .rounds = rounds,
               .apart = apart,
               .ping = THRUM_SEM_INIT(0),
               .pong = THRUM_SEM_INIT(0),
               .ended = THRUM_WAITGROUP_INIT(2)};
    bench_inside(args, play, &t);
    bench_check(t.returned == rounds, "%u of %u balls were returned", t.returned, rounds);
    bench_check(t.tied, "the second fiber is on another worker");
}

static void run_pingpong(const bench_args *args, bench_sample *out) {
    run_table(args, out, bench_scale(args, 1000000, 50000), false);
}

static void run_pingpong_apart(const bench_args *args, bench_sample *out) {
    run_table(args, out, bench_scale(args, 20000, 1000), true);
}

typedef struct plain_table {
    unsigned rounds;
    unsigned returned;
    sem_t ping;
    sem_t pong;
} plain_table;

static void *play_plainly(void *arg) {
    plain_table *t = arg;
    for (unsigned i = 0; i < t->rounds; i++) {
        while (sem_wait(&t->ping) != 0) {
            continue;
        }
        t->returned++;
        sem_post(&t->pong);
    }
    return NULL;
}

static void base_pingpong(const bench_args *args, bench_sample *out) {
    plain_table t = {.rounds = bench_scale(args, 20000, 1000)};
    pthread_t second;
    bench_ok(sem_init(&t.ping, 0, 0));
    bench_ok(sem_init(&t.pong, 0, 0));
    bench_ok(pthread_create(&second, NULL, play_plainly, &t));
    bench_span span;
    bench_span_begin(&span, NULL);
    for (unsigned i = 0; i < t.rounds; i++) {
        sem_post(&t.ping);
        while (sem_wait(&t.pong) != 0) {
            continue;
        }
    }
    bench_span_end(&span);
    bench_ok(pthread_join(second, NULL));
    bench_check(t.returned == t.rounds, "balls were lost");
    out[0] = bench_span_per_op(&span, t.rounds);
}

/* ---- many to many ---- */

#define MEMBERS 100

/* A semaphore for each member, on a line of its own. */
static struct { _Alignas(TH_CACHE_LINE) thrum_sem sem; } mailbox[MEMBERS];

typedef struct meeting {
    bench_sample *out;
    unsigned steps;
    uint64_t taken[MEMBERS]; /* units that each member took */
    thrum_waitgroup ended;
} meeting;

static meeting meet;

/*
 * In each step a member posts to one other, to each in turn, and waits for a post. The member
 * furthest behind has been sent as many as it needs, so none waits for ever.
 */
static int meet_all(void *arg) {
    uintptr_t me = (uintptr_t)arg;
    for (unsigned i = 0; i < meet.steps; i++) {
        thrum_sem_post(&mailbox[(me + 1 + i % (MEMBERS - 1)) % MEMBERS].sem);
        bench_ok(thrum_sem_wait(&mailbox[me].sem));
        meet.taken[me]++;
    }
    thrum_waitgroup_done(&meet.ended);
    return 0;
}

/* Does a tenth first, so that the stacks exist. */
static int time_meeting(void *arg) {
    unsigned steps = *(unsigned *)arg;
    bench_span span;
    for (unsigned round = 0; round < 2; round++) {
        meet.steps = round == 0 ? steps / 10 : steps;
        thrum_waitgroup_init(&meet.ended, MEMBERS);
        bench_span_begin(&span, thrum_sched_current());
        for (uintptr_t i = 0; i < MEMBERS; i++) {
            bench_ok(thrum_go(meet_all, (void *)i));
        }
        bench_ok(thrum_waitgroup_wait(&meet.ended));
        bench_span_end(&span);
    }
    *meet.out = bench_span_per_op(&span, (uint64_t)steps * MEMBERS);
    return 0;
}

static void run_many_to_many(const bench_args *args, bench_sample *out) {
    unsigned steps = bench_scale(args, 20000, 1000);
    meet = (meeting){.out = out};
    for (unsigned i = 0; i < MEMBERS; i++) {
        thrum_sem_init(&mailbox[i].sem, 0);
    }
    bench_inside(args, time_meeting, &steps);
    for (unsigned i = 0; i < MEMBERS; i++) {
        bench_check(meet.taken[i] == steps + steps / 10, "member %u took %llu of %u", i,
                    (unsigned long long)meet.taken[i], steps);
    }
}

static const bench_case cases[] = {
    {.what = "1000 fibers yield 1000 times each",
     .rows = {{.name = "yield", .unit = "ns/op", .must = BENCH_SCALED, .limit = {20, 15}}},
     .count = 1,
     .workers_min = 1,
     .run = run_yield,
     .baseline = base_sched_yield,
     .baseline_what = "sched_yield, alone"},
    {.what = "two fibers over two semaphores, a round trip",
     .rows = {{.name = "pingpong", .unit = "ns/op", .must = BENCH_SCALED, .limit = {45, 48}}},
     .count = 1,
     .workers_min = 1,
     .run = run_pingpong,
     .baseline = base_pingpong,
     .baseline_what = "two threads over sem_t"},
    {.what = "the same with the fibers tied to different workers",
     .rows = {{.name = "pingpong-apart", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 2,
     .run = run_pingpong_apart,
     .baseline = base_pingpong,
     .baseline_what = "two threads over sem_t"},
    {.what = "100 fibers, each posts to the others in turn and waits for a post: a step",
     .rows = {{.name = "many-to-many", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_many_to_many},
    {.what = "one fiber locks, counts and unlocks",
     .rows = {{.name = "mutex-alone", .unit = "ns/op", .must = BENCH_SCALED, .limit = {15, 15}}},
     .count = 1,
     .workers_min = 1,
     .run = run_mutex_alone,
     .baseline = base_mutex_alone,
     .baseline_what = "pthread_mutex, a thread"},
    {.what = "two fibers share a mutex",
     .rows = {{.name = "mutex-2", .unit = "ns/op", .must = BENCH_SCALED, .limit = {0, 15}}},
     .count = 1,
     .workers_min = 1,
     .run = run_mutex_2,
     .baseline = base_mutex_2,
     .baseline_what = "pthread_mutex, 2 threads"},
    {.what = "100 fibers share a mutex",
     .rows = {{.name = "mutex-100", .unit = "ns/op", .must = BENCH_SCALED, .limit = {0, 17}}},
     .count = 1,
     .workers_min = 1,
     .run = run_mutex_100,
     .baseline = base_mutex_100,
     .baseline_what = "pthread_mutex, 100 threads"},
    {.what = "1000 fibers share a mutex",
     .rows = {{.name = "mutex-1000", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_mutex_1000},
};

const bench_theme bench_sync = {cases, sizeof(cases) / sizeof(cases[0])};
