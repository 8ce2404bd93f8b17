/*
 * rows_tokio.c: the benchmarks that Tokio publishes, under their own names, done as its programs do
 * them: a plain thread starts the work and waits for it. All figures are per operation.
 *
 * Those programs use four workers: `--workers 4` compares.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "base/cc.h"
#include "harness.h"

/* ---- rounds ---- */

static thrum_sched *sched;
static thrum_attr on_sched; /* names the scheduler */

/* Starts a task from the plain thread. */
static void go(thrum_fn fn, void *arg) {
    bench_ok(thrum_go_with(&on_sched, fn, arg));
}

static void start(const bench_args *args) {
    sched = bench_start(args);
    thrum_attr_init(&on_sched);
    on_sched.sched = sched;
}

/* Times so many rounds of so many operations, after a tenth of them. */
static void time_rounds(const bench_args *args, bench_sample *out, unsigned full, uint64_t ops,
                        void (*round)(void)) {
    unsigned rounds = bench_scale(args, full, full / 20 + 2);
    for (unsigned i = 0; i < rounds / 10 + 1; i++) {
        round();
    }
    bench_span span;
    bench_span_begin(&span, sched);
    for (unsigned i = 0; i < rounds; i++) {
        round();
    }
    bench_span_end(&span);
    *out = bench_span_per_op(&span, rounds * ops);
}

static void run_rounds(const bench_args *args, bench_sample *out, unsigned full, uint64_t ops,
                       void (*round)(void)) {
    start(args);
    time_rounds(args, out, full, ops, round);
    bench_stop(sched);
}

/* The tasks' counters, on separate lines. */
static struct {
    _Alignas(TH_CACHE_LINE) uint64_t xleft;
    _Alignas(TH_CACHE_LINE) uint64_t xran;
    _Alignas(TH_CACHE_LINE) thrum_event done;
    _Alignas(TH_CACHE_LINE) thrum_waitgroup group;
} shared = {.done = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false), .group = THRUM_WAITGROUP_INIT(0)};

static void count_down(void) {
    /* pairs: count_down; the last one has seen the others' writes */
    if (th_sub_acq_rel(&shared.xleft, 1) == 1) {
        thrum_event_signal(&shared.done);
    }
}

static void expect(uint64_t n) {
    th_store_relaxed(&shared.xleft, n); /* relaxed: the tasks are started after it */
}

/* ---- spawn_many ---- */

#define MANY 10000
#define REMOTE 12800 /* tasks of remote_spawn */

static int one_of_many(void *arg) {
    (void)arg;
    count_down();
    return 0;
}

static int start_many(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < MANY; i++) {
        bench_ok(thrum_go(one_of_many, NULL));
    }
    return 0;
}

static void local_round(void) {
    expect(MANY);
    go(start_many, NULL);
    bench_ok(thrum_event_wait(&shared.done));
}

static void run_local(const bench_args *args, bench_sample *out) {
    run_rounds(args, out, 100, MANY, local_round);
}

static unsigned remote_count;
static thrum_handle *remote_handles[REMOTE];
static uint64_t remote_ran;

static int joined_one(void *arg) {
    (void)arg;
    th_add_relaxed(&shared.xran, 1); /* relaxed: a count, read after the joins */
    return 0;
}

/* Checks that so many more have run. */
static void check_ran(unsigned n) {
    remote_ran += n;
    /* relaxed: all have been waited for */
    bench_check(th_load_relaxed(&shared.xran) == remote_ran, "tasks were lost");
}

static void remote_round(void) {
    for (unsigned i = 0; i < remote_count; i++) {
        bench_ok(thrum_spawn_with(&remote_handles[i], &on_sched, joined_one, NULL));
    }
    for (unsigned i = 0; i < remote_count; i++) {
        bench_ok(thrum_join(remote_handles[i], NULL));
    }
    check_ran(remote_count);
}

static void run_remote_idle(const bench_args *args, bench_sample *out) {
    remote_count = MANY;
    run_rounds(args, out, 100, MANY, remote_round);
}

static uint32_t xbusy;

static bool is_busy(void) {
    return th_load_relaxed(&xbusy) != 0; /* relaxed: sooner or later will do */
}

static void stall(void) {
    int64_t until = bench_now() + 10000;
    while (bench_now() < until) {
        sched_yield();
    }
}

static int yield_and_stall(void *arg) {
    (void)arg;
    while (is_busy()) {
        thrum_yield();
        stall();
    }
    return 0;
}

/*
 * Yields in between if configured: without that, in Tokio 1.24, no task from an external thread
 * would run.
 */
static int stall_and_respawn(void *arg) {
    stall();
    if (arg) {
        thrum_yield();
    }
    if (is_busy()) {
        bench_ok(thrum_go(stall_and_respawn, arg));
    }
    return 0;
}

static void run_remote_busy(const bench_args *args, bench_sample *out, thrum_fn busy, unsigned n,
                            void *arg, unsigned rounds) {
    start(args);
    th_store_relaxed(&xbusy, 1); /* relaxed: the tasks are started after it */
    for (unsigned i = 0; i < n; i++) {
        go(busy, arg);
    }
    time_rounds(args, out, rounds, remote_count, remote_round);
    th_store_relaxed(&xbusy, 0); /* relaxed: sooner or later will do */
    bench_stop(sched);
}

static void run_remote_busy1(const bench_args *args, bench_sample *out) {
    remote_count = MANY;
    run_remote_busy(args, out, yield_and_stall, 8, NULL, 40);
}

static void run_remote_busy2(const bench_args *args, bench_sample *out) {
    remote_count = MANY / 10;
    run_remote_busy(args, out, stall_and_respawn, 4, NULL, 4);
}

static void run_remote_busy2y(const bench_args *args, bench_sample *out) {
    remote_count = MANY / 10;
    run_remote_busy(args, out, stall_and_respawn, 4, &xbusy, 40);
}

/* ---- yield_many, ping_pong, chained_spawn ---- */

#define YIELDERS 200
#define YIELDS 1000

static int yield_often(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < YIELDS; i++) {
        thrum_yield();
    }
    count_down();
    return 0;
}

static void yield_round(void) {
    expect(YIELDERS);
    for (unsigned i = 0; i < YIELDERS; i++) {
        go(yield_often, NULL);
    }
    bench_ok(thrum_event_wait(&shared.done));
}

static void run_yield_many(const bench_args *args, bench_sample *out) {
    run_rounds(args, out, 20, YIELDERS * YIELDS, yield_round);
}

#define PINGS 1000

/* The exchange of two tasks: a value and an event each way. The last one of them frees it. */
typedef struct talk {
    uint32_t xusers;
    thrum_event there_set, back_set;
    int there, back;
} talk;

static void leave_talk(talk *t) {
    if (th_sub_acq_rel(&t->xusers, 1) == 1) { /* pairs: leave_talk; the other's uses come before */
        free(t);
    }
}

static int talk_second(void *arg) {
    talk *t = arg;
    bench_ok(thrum_event_wait(&t->there_set));
    t->back = t->there + 1;
    thrum_event_signal(&t->back_set);
    leave_talk(t);
    return 0;
}

static int talk_first(void *arg) {
    (void)arg;
    talk *t = malloc(sizeof(*t));
    bench_check(t != NULL, "no memory");
    *t = (talk){.xusers = 2,
                .there_set = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false),
                .back_set = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false)};
    bench_ok(thrum_go(talk_second, t));
    t->there = 1;
    thrum_event_signal(&t->there_set);
    bench_ok(thrum_event_wait(&t->back_set));
    bench_check(t->back == 2, "a ball was lost");
    leave_talk(t);
    count_down();
    return 0;
}

static int start_talks(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < PINGS; i++) {
        bench_ok(thrum_go(talk_first, NULL));
    }
    return 0;
}

static void talk_round(void) {
    expect(PINGS);
    go(start_talks, NULL);
    bench_ok(thrum_event_wait(&shared.done));
}

static void run_ping_pong(const bench_args *args, bench_sample *out) {
    run_rounds(args, out, 100, PINGS, talk_round);
}

#define LINKS 1000

static int next_link(void *arg) {
    uintptr_t n = (uintptr_t)arg;
    if (n < LINKS) {
        bench_ok(thrum_go(next_link, (void *)(n + 1)));
    } else {
        thrum_event_signal(&shared.done);
    }
    return 0;
}

static void chain_round(void) {
    go(next_link, (void *)(uintptr_t)1);
    bench_ok(thrum_event_wait(&shared.done));
}

static void run_chained(const bench_args *args, bench_sample *out) {
    run_rounds(args, out, 1000, LINKS, chain_round);
}

/* ---- remote_spawn: by so many threads ---- */

static struct {
    unsigned threads;
    pthread_barrier_t begin;
    uint32_t xnext; /* the number of the next thread */
} remote;

/* Each thread has a part of the handles; all begin together. */
static void *spawn_from_thread(void *arg) {
    unsigned part = REMOTE / remote.threads;
    /* relaxed: a number for each */
    thrum_handle **mine = &remote_handles[th_add_relaxed(&remote.xnext, 1) * part];
    pthread_barrier_wait(&remote.begin);
    for (unsigned i = 0; i < part; i++) {
        bench_ok(thrum_spawn_with(&mine[i], &on_sched, joined_one, NULL));
    }
    return arg;
}

static void threads_round(void) {
    th_store_relaxed(&remote.xnext, 0u); /* relaxed: the threads are started after it */
    bench_threads(remote.threads, spawn_from_thread, NULL);
    for (unsigned i = 0; i < REMOTE; i++) {
        bench_ok(thrum_join(remote_handles[i], NULL));
    }
    check_ran(REMOTE);
}

static void run_from_threads(const bench_args *args, bench_sample *out, unsigned threads) {
    remote.threads = threads;
    bench_ok(pthread_barrier_init(&remote.begin, NULL, threads));
    run_rounds(args, out, 40, REMOTE, threads_round);
}

/* ---- spawn_blocking: by so many tasks ---- */

#define BATCHES 100
#define BATCH 16

static unsigned blockers;

static int block_once(void *arg) {
    thrum_waitgroup *batch = arg;
    bench_ok(thrum_blocking(joined_one, NULL, NULL));
    thrum_waitgroup_done(batch);
    return 0;
}

/* The caller waits for its call's end, so each call of a batch has a fiber. */
static int block_batches(void *arg) {
    (void)arg;
    thrum_waitgroup batch = THRUM_WAITGROUP_INIT(0);
    for (unsigned i = 0; i < BATCHES; i++) {
        thrum_waitgroup_add(&batch, BATCH);
        for (unsigned j = 0; j < BATCH; j++) {
            bench_ok(thrum_go(block_once, &batch));
        }
        bench_ok(thrum_waitgroup_wait(&batch));
    }
    count_down();
    return 0;
}

static void blocking_round(void) {
    expect(blockers);
    for (unsigned i = 0; i < blockers; i++) {
        go(block_batches, NULL);
    }
    bench_ok(thrum_event_wait(&shared.done));
    check_ran(blockers * BATCHES * BATCH);
}

static void run_blockers(const bench_args *args, bench_sample *out, unsigned tasks) {
    blockers = tasks;
    run_rounds(args, out, tasks < 16 ? 80 / tasks : 5, tasks * BATCHES * BATCH, blocking_round);
}

/* Defines both rows' functions for n of them. */
#define BOTH_WITH(n)                                                                               \
    static void run_remote_spawn_##n(const bench_args *args, bench_sample *out) {                  \
        run_from_threads(args, out, n);                                                            \
    }                                                                                              \
    static void run_spawn_blocking_##n(const bench_args *args, bench_sample *out) {                \
        run_blockers(args, out, n);                                                                \
    }
BOTH_WITH(1)
BOTH_WITH(2)
BOTH_WITH(4)
BOTH_WITH(8)
BOTH_WITH(16)
BOTH_WITH(32)
BOTH_WITH(64)

static int call_in_turn(void *arg) {
    bench_args *args = arg;
    for (unsigned i = bench_scale(args, 10000, 1000); i > 0; i--) {
        bench_ok(thrum_blocking(joined_one, NULL, NULL));
    }
    thrum_event_signal(&shared.done);
    return 0;
}

static void run_blocking_call(const bench_args *args, bench_sample *out) {
    bench_args mine = *args;
    uint64_t calls = bench_scale(args, 10000, 1000);
    bench_span span;
    start(args);
    for (unsigned round = 0; round < 2; round++) {
        bench_span_begin(&span, sched);
        go(call_in_turn, &mine);
        bench_ok(thrum_event_wait(&shared.done));
        bench_span_end(&span);
    }
    bench_stop(sched);
    /* relaxed: no task runs any longer */
    bench_check(th_load_relaxed(&shared.xran) == 2 * calls, "calls were lost");
    *out = bench_span_per_op(&span, calls);
}

/* ---- chan_contended ---- */

#define SENDERS 5
#define SENT 1000

static int send_numbers(void *arg) {
    thrum_chan *chan = arg;
    for (uint64_t i = 0; i < SENT; i++) {
        bench_ok(thrum_chan_send(chan, &i));
    }
    return 0;
}

static int receive_all(void *arg) {
    uint64_t sum = 0;
    uint64_t elem;
    thrum_chan *chan;
    thrum_handle *senders[SENDERS];
    (void)arg;
    bench_ok(thrum_chan_create(&chan, sizeof(uint64_t), 1000));
    for (unsigned i = 0; i < SENDERS; i++) {
        bench_ok(thrum_spawn(&senders[i], send_numbers, chan));
    }
    for (unsigned i = 0; i < SENDERS * SENT; i++) {
        bench_ok(thrum_chan_recv(chan, &elem));
        sum += elem;
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        bench_ok(thrum_join(senders[i], NULL));
    }
    bench_check(sum == SENDERS * (SENT - 1) * SENT / 2, "the sum is wrong");
    bench_ok(thrum_chan_destroy(chan));
    thrum_event_signal(&shared.done);
    return 0;
}

static void contended_round(void) {
    go(receive_all, NULL);
    bench_ok(thrum_event_wait(&shared.done));
}

static void run_contended(const bench_args *args, bench_sample *out) {
    run_rounds(args, out, 200, SENDERS * SENT, contended_round);
}

/* clang-format off */
#define TOKIO(row, fn, says)                                                                     \
    {.what = says, .rows = {{.name = row, .unit = "ns/op"}}, .count = 1, .workers_min = 1,         \
     .run = fn}
#define REMOTE_SPAWN(row, n)                                                                       \
    TOKIO(row, run_remote_spawn_##n, "Tokio's: 12,800 started by " #n " threads, then joined")
#define SPAWN_BLOCKING(row, n)                                                                     \
    TOKIO(row, run_spawn_blocking_##n,                                                             \
          "Tokio's: " #n " tasks, each a hundred times 16 blocking calls at once")

static const bench_case cases[] = {
    TOKIO("spawn_many_local", run_local, "Tokio's: a task starts 10,000, a plain thread waits"),
    TOKIO("spawn_many_remote_idle", run_remote_idle,
          "Tokio's: a plain thread starts 10,000 and joins them"),
    TOKIO("spawn_many_remote_busy1", run_remote_busy1,
          "the same beside eight tasks that yield and stall 10 us"),
    TOKIO("spawn_many_remote_busy2", run_remote_busy2,
          "1000 of them beside four tasks that stall 10 us and start themselves anew"),
    TOKIO("spawn_many_remote_busy2y", run_remote_busy2y, "the same with tasks that also yield"),
    TOKIO("yield_many", run_yield_many, "Tokio's: 200 tasks yield 1000 times each"),
    TOKIO("ping_pong", run_ping_pong, "Tokio's: 1000 times two tasks that exchange two values"),
    TOKIO("chained_spawn", run_chained, "Tokio's: each of 1000 tasks starts the next one"),
    REMOTE_SPAWN("remote_spawn_1", 1),
    REMOTE_SPAWN("remote_spawn_2", 2),
    REMOTE_SPAWN("remote_spawn_4", 4),
    REMOTE_SPAWN("remote_spawn", 8),
    REMOTE_SPAWN("remote_spawn_16", 16),
    REMOTE_SPAWN("remote_spawn_32", 32),
    REMOTE_SPAWN("remote_spawn_64", 64),
    SPAWN_BLOCKING("spawn_blocking_1", 1),
    SPAWN_BLOCKING("spawn_blocking_2", 2),
    SPAWN_BLOCKING("spawn_blocking_4", 4),
    SPAWN_BLOCKING("spawn_blocking_8", 8),
    SPAWN_BLOCKING("spawn_blocking", 16),
    SPAWN_BLOCKING("spawn_blocking_32", 32),
    SPAWN_BLOCKING("spawn_blocking_64", 64),
    TOKIO("chan_contended", run_contended,
          "Tokio's: five send 1000 each through one channel of 1000"),
    TOKIO("blocking-call", run_blocking_call,
          "a fiber makes 10,000 blocking calls, one after the other"),
};
/* clang-format on */

const bench_theme bench_tokio = {cases, sizeof(cases) / sizeof(cases[0])};
