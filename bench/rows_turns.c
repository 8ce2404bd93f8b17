/*
 * rows_turns.c: fibers that wait for their turn: a readers-writer lock, events in a chain and as a
 * baton, tickets, a pool.
 *
 * All fibers of a row wait at a gate first, so that their stacks exist before the clock runs.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "base/cc.h"
#include "harness.h"

/* ---- a crowd that counts for itself ---- */

#define CROWD_MAX 1000

typedef struct crowd crowd;

typedef struct seat {
    _Alignas(TH_CACHE_LINE) crowd *c;
    unsigned index;
    uint64_t count; /* its own */
} seat;

struct crowd {
    bench_sample *out;
    unsigned fibers, steps;
    void (*work)(seat *s); /* does all steps of one fiber */
    thrum_waitgroup waiting, running;
    thrum_event gate;
    seat *seats;
};

static int sit(void *arg) {
    seat *s = arg;
    thrum_waitgroup_done(&s->c->waiting);
    bench_ok(thrum_event_wait(&s->c->gate));
    s->c->work(s);
    thrum_waitgroup_done(&s->c->running);
    return 0;
}

static int time_crowd(void *arg) {
    crowd *c = arg;
    for (unsigned i = 0; i < c->fibers; i++) {
        bench_ok(thrum_go(sit, &c->seats[i]));
    }
    bench_ok(thrum_waitgroup_wait(&c->waiting));
    bench_span span;
    bench_span_begin(&span, thrum_sched_current());
    thrum_event_signal(&c->gate);
    bench_ok(thrum_waitgroup_wait(&c->running));
    bench_span_end(&span);
    *c->out = bench_span_per_op(&span, (uint64_t)c->fibers * c->steps);
    return 0;
}

/* Runs a crowd, each fiber of which must have counted each step. */
static void run_crowd(const bench_args *args, bench_sample *out, unsigned fibers, unsigned steps,
                      void (*work)(seat *s)) {
    static seat seats[CROWD_MAX];
    crowd c = {.out = out,
               .fibers = fibers,
               .steps = steps,
               .work = work,
               .waiting = THRUM_WAITGROUP_INIT(fibers),
               .running = THRUM_WAITGROUP_INIT(fibers),
               .gate = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false),
               .seats = seats};
    for (unsigned i = 0; i < fibers; i++) {
        seats[i] = (seat){.c = &c, .index = i};
    }
    bench_inside(args, time_crowd, &c);
    for (unsigned i = 0; i < fibers; i++) {
        bench_check(seats[i].count == steps, "fiber %u counted %llu of %u", i,
                    (unsigned long long)seats[i].count, steps);
    }
}

/* ---- rwlock ---- */

/* It has its own lines, with the protected data. */
static struct {
    _Alignas(TH_CACHE_LINE) thrum_rwlock lock;
    uint64_t one;
} shared = {THRUM_RWLOCK_INIT, 1};

static void read_shared(seat *s) {
    for (unsigned i = 0; i < s->c->steps; i++) {
        thrum_rwlock_rdlock(&shared.lock);
        s->count += *(volatile uint64_t *)&shared.one;
        thrum_rwlock_unlock(&shared.lock);
    }
}

static void run_rwlock_read(const bench_args *args, bench_sample *out, unsigned fibers) {
    run_crowd(args, out, fibers, bench_scale(args, 5000000, 200000) / fibers, read_shared);
    bench_check(thrum_rwlock_destroy(&shared.lock) == 0, "a reader is left");
}

static void run_rwlock_read_2(const bench_args *args, bench_sample *out) {
    run_rwlock_read(args, out, 2);
}

static void run_rwlock_read_100(const bench_args *args, bench_sample *out) {
    run_rwlock_read(args, out, 100);
}

static void run_rwlock_read_1000(const bench_args *args, bench_sample *out) {
    run_rwlock_read(args, out, 1000);
}

/* Writes at each hundredth step, and reads at the others. */
static void read_mostly(seat *s) {
    for (unsigned i = 0; i < s->c->steps; i++) {
        bool writes = (i + s->index) % 100 == 99;
        if (writes) {
            thrum_rwlock_wrlock(&shared.lock);
        } else {
            thrum_rwlock_rdlock(&shared.lock);
        }
        if (writes) {
            *(volatile uint64_t *)&shared.one = shared.one;
        }
        s->count += *(volatile uint64_t *)&shared.one;
        thrum_rwlock_unlock(&shared.lock);
    }
}

static void run_rwlock_mixed(const bench_args *args, bench_sample *out) {
    run_crowd(args, out, 100, bench_scale(args, 2000000, 100000) / 100, read_mostly);
    bench_check(thrum_rwlock_destroy(&shared.lock) == 0, "the lock is still held");
}

typedef struct plain_readers {
    pthread_rwlock_t lock;
    unsigned steps;
    bool writes;
} plain_readers;

static void *read_plainly(void *arg) {
    plain_readers *r = arg;
    uint64_t count = 0;
    for (unsigned i = 0; i < r->steps; i++) {
        bool writes = r->writes && i % 100 == 99;
        bench_ok(writes ? pthread_rwlock_wrlock(&r->lock) : pthread_rwlock_rdlock(&r->lock));
        count += *(volatile uint64_t *)&shared.one;
        pthread_rwlock_unlock(&r->lock);
    }
    bench_check(count == r->steps, "reads were left out");
    return NULL;
}

/* Uses threads in the fibers' place; their start is in the time. */
static void base_rwlock(const bench_args *args, bench_sample *out, unsigned threads, unsigned full,
                        bool writes) {
    plain_readers r = {.steps = bench_scale(args, full, 200000) / threads, .writes = writes};
    bench_ok(pthread_rwlock_init(&r.lock, NULL));
    bench_span span;
    bench_span_begin(&span, NULL);
    bench_threads(threads, read_plainly, &r);
    bench_span_end(&span);
    out[0] = bench_span_per_op(&span, (uint64_t)r.steps * threads);
}

static void base_rwlock_2(const bench_args *args, bench_sample *out) {
    base_rwlock(args, out, 2, 5000000, false);
}

static void base_rwlock_100(const bench_args *args, bench_sample *out) {
    base_rwlock(args, out, 100, 5000000, false);
}

static void base_rwlock_mixed(const bench_args *args, bench_sample *out) {
    base_rwlock(args, out, 100, 2000000, true);
}

/* ---- events ---- */

#define CHAIN 512

static struct {
    thrum_event events[CHAIN + 1];
    uint64_t passed; /* written by the fiber that was let through */
    unsigned rounds;
} chain;

/* Each fiber is let through by the one before, and lets the next one through. */
static int link_of_chain(void *arg) {
    uintptr_t i = (uintptr_t)arg;
    for (unsigned round = 0; round < chain.rounds; round++) {
        bench_ok(thrum_event_wait(&chain.events[i]));
        chain.passed++;
        thrum_event_signal(&chain.events[i + 1]);
    }
    return 0;
}

static int time_chain(void *arg) {
    for (uintptr_t i = 0; i <= CHAIN; i++) {
        thrum_event_init(&chain.events[i], THRUM_EVENT_AUTO, false);
    }
    for (uintptr_t i = 0; i < CHAIN; i++) {
        bench_ok(thrum_go(link_of_chain, (void *)i));
    }
    bench_span span;
    unsigned warm = chain.rounds / 10;
    for (unsigned round = 0; round < chain.rounds; round++) {
        if (round == warm) {
            bench_span_begin(&span, thrum_sched_current());
        }
        thrum_event_signal(&chain.events[0]);
        bench_ok(thrum_event_wait(&chain.events[CHAIN]));
    }
    bench_span_end(&span);
    *(bench_sample *)arg = bench_span_per_op(&span, (uint64_t)(chain.rounds - warm) * CHAIN);
    return 0;
}

static void run_event_chain(const bench_args *args, bench_sample *out) {
    chain.rounds = bench_scale(args, 1000, 50);
    chain.passed = 0;
    bench_inside(args, time_chain, out);
    bench_check(chain.passed == (uint64_t)chain.rounds * CHAIN, "%llu links passed",
                (unsigned long long)chain.passed);
}

typedef struct baton {
    bench_sample *out;
    thrum_event mine[2];
    unsigned passes; /* passes of each fiber */
    uint64_t passed;
    thrum_waitgroup ended;
} baton;

static int run_second(void *arg) {
    baton *b = arg;
    for (unsigned i = 0; i < b->passes; i++) {
        bench_ok(thrum_event_wait(&b->mine[1]));
        b->passed++;
        thrum_event_signal(&b->mine[0]);
    }
    thrum_waitgroup_done(&b->ended);
    return 0;
}

static int run_first(void *arg) {
    baton *b = arg;
    bench_ok(thrum_go(run_second, b));
    bench_span span;
    bench_span_begin(&span, thrum_sched_current());
    for (unsigned i = 0; i < b->passes; i++) {
        b->passed++;
        thrum_event_signal(&b->mine[1]);
        bench_ok(thrum_event_wait(&b->mine[0]));
    }
    bench_span_end(&span);
    *b->out = bench_span_per_op(&span, 2 * (uint64_t)b->passes);
    return thrum_waitgroup_wait(&b->ended);
}

static void run_event_baton(const bench_args *args, bench_sample *out) {
    baton b = {.out = out,
               .mine = {THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false),
                        THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false)},
               .passes = bench_scale(args, 262144, 20000) / 2,
               .ended = THRUM_WAITGROUP_INIT(1)};
    bench_inside(args, run_first, &b);
    bench_check(b.passed == 2 * (uint64_t)b.passes, "the baton was lost");
}

/* ---- tickets ---- */

#define TICKETS 512

static struct {
    thrum_tickets tickets;
    thrum_ticket each[TICKETS];
    thrum_waitgroup left;
    bool on_call;
    unsigned rounds;
    uint64_t turn; /* written in a turn: which one it is */
} booth = {.tickets = THRUM_TICKETS_INIT};

static int have_turn(void *arg) {
    uintptr_t i = (uintptr_t)arg;
    bench_ok(thrum_ticket_wait(&booth.each[i]));
    bench_check(booth.turn % TICKETS == i, "out of order");
    booth.turn++;
    thrum_ticket_done(&booth.each[i]);
    thrum_waitgroup_done(&booth.left);
    return 0;
}

/* Takes tickets in order, starts their tasks in the opposite order, and waits for all. */
static void booth_round(void) {
    thrum_waitgroup_add(&booth.left, TICKETS);
    thrum_tickets_take_n(&booth.tickets, booth.each, TICKETS);
    for (uintptr_t i = TICKETS; i > 0; i--) {
        void *number = (void *)(i - 1);
        bench_ok(booth.on_call ? thrum_ticket_on_call(&booth.each[i - 1], have_turn, number)
                               : thrum_go(have_turn, number));
    }
    bench_ok(thrum_waitgroup_wait(&booth.left));
}

static int time_tickets(void *arg) {
    unsigned warm = booth.rounds / 10;
    bench_span span;
    for (unsigned round = 0; round < booth.rounds; round++) {
        if (round == warm) {
            bench_span_begin(&span, thrum_sched_current());
        }
        booth_round();
    }
    bench_span_end(&span);
    *(bench_sample *)arg = bench_span_per_op(&span, (uint64_t)(booth.rounds - warm) * TICKETS);
    return 0;
}

static void run_booth(const bench_args *args, bench_sample *out, bool on_call) {
    booth.rounds = bench_scale(args, 1000, 50);
    booth.on_call = on_call;
    booth.turn = 0;
    bench_inside(args, time_tickets, out);
    bench_check(booth.turn == (uint64_t)booth.rounds * TICKETS, "%llu turns",
                (unsigned long long)booth.turn);
}

static void run_tickets(const bench_args *args, bench_sample *out) {
    run_booth(args, out, false);
}

static void run_tickets_call(const bench_args *args, bench_sample *out) {
    run_booth(args, out, true);
}

/* ---- pool ---- */

static thrum_pool *pool;

static void borrow_and_count(seat *s) {
    for (unsigned i = 0; i < s->c->steps; i++) {
        void *item;
        bench_ok(thrum_pool_borrow(pool, &item));
        ++*(uint64_t *)item;
        s->count++;
        thrum_pool_give_back(pool, item);
    }
}

/* The objects count, too. */
static void run_pool(const bench_args *args, bench_sample *out, unsigned fibers) {
    enum { OBJECTS = 10 };
    thrum_pool_config config = THRUM_POOL_CONFIG_INIT;
    config.item_size = sizeof(uint64_t);
    config.capacity = OBJECTS;
    config.preserve = true;
    bench_ok(thrum_pool_create(&pool, &config));
    run_crowd(args, out, fibers, bench_scale(args, 5000000, 200000) / fibers, borrow_and_count);
    void *items[OBJECTS];
    uint64_t sum = 0;
    bench_ok(thrum_pool_borrow_n(pool, items, OBJECTS));
    for (unsigned i = 0; i < OBJECTS; i++) {
        sum += *(uint64_t *)items[i];
        thrum_pool_give_back(pool, items[i]);
    }
    bench_check(sum == out->ops, "%llu uses were counted", (unsigned long long)sum);
    bench_ok(thrum_pool_destroy(pool));
}

static void run_pool_alone(const bench_args *args, bench_sample *out) {
    run_pool(args, out, 1);
}

static void run_pool_100(const bench_args *args, bench_sample *out) {
    run_pool(args, out, 100);
}

static const bench_case cases[] = {
    {.what = "2 fibers read under a readers-writer lock",
     .rows = {{.name = "rwlock-read-2", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_rwlock_read_2,
     .baseline = base_rwlock_2,
     .baseline_what = "pthread_rwlock, 2 threads"},
    {.what = "100 fibers read under a readers-writer lock",
     .rows = {{.name = "rwlock-read-100", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_rwlock_read_100,
     .baseline = base_rwlock_100,
     .baseline_what = "pthread_rwlock, 100 threads"},
    {.what = "1000 fibers read under a readers-writer lock",
     .rows = {{.name = "rwlock-read-1000", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_rwlock_read_1000},
    {.what = "100 fibers, one in a hundred times to write",
     .rows = {{.name = "rwlock-mixed", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_rwlock_mixed,
     .baseline = base_rwlock_mixed,
     .baseline_what = "pthread_rwlock, 100 threads"},
    {.what = "512 fibers in a chain over auto events: one link",
     .rows = {{.name = "event-chain", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_event_chain},
    {.what = "two fibers hand a baton over by auto events: one of 262,144 hand-overs",
     .rows = {{.name = "event-baton", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_event_baton},
    {.what = "512 tickets, taken in order, waited for by as many tasks: one of them",
     .rows = {{.name = "tickets", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_tickets},
    {.what = "the same on call",
     .rows = {{.name = "tickets-call", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_tickets_call},
    {.what = "one fiber borrows one of ten objects and gives it back",
     .rows = {{.name = "pool-alone", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_pool_alone},
    {.what = "100 fibers borrow from ten objects",
     .rows = {{.name = "pool-100", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_pool_100},
};

const bench_theme bench_turns = {cases, sizeof(cases) / sizeof(cases[0])};
