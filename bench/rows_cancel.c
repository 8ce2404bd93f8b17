/*
 * rows_cancel.c: the cost of cancelling a scope with many children that wait for their turn in the
 * blocking pool, and how late other sleeps end meanwhile.
 */
#include <errno.h>
#include <stdatomic.h>

#include "harness.h"

#define IDLE_SLEEPS 200 /* the sleeps that nothing disturbs */
#define NAP_US 1000

typedef struct hall {
    unsigned children;
    uint32_t held;     /* the pool's one thread waits until it is 1 */
    thrum_sem holds;   /* a unit once it does */
    atomic_bool begun; /* the cancel has begun; `done`: it is over */
    atomic_bool done;
    thrum_sem rested;    /* a unit when the sleeper has slept undisturbed; when it ends */
    atomic_uint reached; /* children on their way to the call */
    bench_span span;
    bench_histogram idle;
    bench_histogram between; /* while the children are started */
    bench_histogram late;
} hall;

static hall h;

static int holds_the_thread(void *arg) {
    (void)arg;
    thrum_sem_post(&h.holds);
    bench_futex_wait(&h.held, 0);
    return 0;
}

static int never_called(void *arg) {
    bench_fail("a call was begun that should have waited for its turn, %p", arg);
}

static int waits_for_its_turn(void *arg) {
    atomic_fetch_add_explicit(&h.reached, 1, memory_order_relaxed);
    return thrum_blocking(never_called, arg, NULL);
}

static int calls_the_holder(void *arg) {
    bench_ok(thrum_blocking(holds_the_thread, arg, NULL));
    return 0;
}

static void nap(bench_histogram *late) {
    thrum_time until = thrum_after_us(NAP_US);
    bench_ok(thrum_sleep_until(until));
    bench_histogram_add(late, (uint64_t)(thrum_now() - until));
}

/* Sleeps again and again, and has nothing to do with the scope. */
static int sleeps_on(void *arg) {
    (void)arg;
    for (int i = 0; i < IDLE_SLEEPS; i++) {
        nap(&h.idle);
    }
    thrum_sem_post(&h.rested);
    while (!atomic_load(&h.done)) {
        nap(atomic_load(&h.begun) ? &h.late : &h.between);
    }
    thrum_sem_post(&h.rested);
    return 0;
}

static int cancels_all(void *arg) {
    thrum_scope scope;
    thrum_sched *sched = arg;
    bench_ok(thrum_go(calls_the_holder, NULL));
    bench_ok(thrum_sem_wait(&h.holds));
    bench_ok(thrum_go(sleeps_on, NULL));
    bench_ok(thrum_sem_wait(&h.rested)); /* the sleeper goes on */
    bench_ok(thrum_scope_open(&scope, THRUM_FOREVER));
    for (unsigned i = 0; i < h.children; i++) {
        bench_ok(thrum_scope_go(&scope, waits_for_its_turn, NULL));
    }
    while (atomic_load(&h.reached) < h.children) {
        thrum_yield();
    }
    bench_ok(thrum_sleep(5000000)); /* until the last of them is queued, and the sleeper on time */
    atomic_store(&h.begun, true);
    bench_span_begin(&h.span, sched);
    thrum_scope_cancel(&scope);
    bench_check(thrum_scope_join(&scope) == -ECANCELED, "the scope was not cancelled");
    bench_span_end(&h.span);
    atomic_store(&h.done, true);
    bench_ok(thrum_sem_wait(&h.rested));
    __atomic_store_n(&h.held, 1, __ATOMIC_RELEASE);
    bench_futex_wake(&h.held);
    return 0;
}

static void run_cancel(const bench_args *args, bench_sample *out, unsigned children) {
    thrum_config config = bench_config(args);
    thrum_sched *sched;
    thrum_handle *handle;
    thrum_attr attr = THRUM_ATTR_INIT;
    h = (hall){.children = children};
    thrum_sem_init(&h.holds, 0);
    thrum_sem_init(&h.rested, 0);
    config.blocking_threads_max = 1;
    bench_ok(thrum_sched_start(&sched, &config));
    attr.sched = sched;
    bench_ok(thrum_spawn_with(&handle, &attr, cancels_all, sched));
    bench_ok(thrum_join(handle, NULL));
    bench_ok(thrum_sched_stop(sched));
    out[0] = bench_span_per_op(&h.span, children);
    out[1] = bench_span_value(&h.span, children, bench_histogram_quantile(&h.late, 1.0));
    out[2] = bench_span_value(&h.span, children, bench_histogram_quantile(&h.idle, 0.99));
    bench_keep_histogram(1, &h.late);
}

static void run_5k(const bench_args *args, bench_sample *out) {
    run_cancel(args, out, bench_scale(args, 5000, 500));
}

static void run_20k(const bench_args *args, bench_sample *out) {
    run_cancel(args, out, bench_scale(args, 20000, 2000));
}

static const bench_case cases[] = {
    {.what =
         "a scope whose 5,000 children wait for the blocking pool is cancelled: ns a child; how "
         "late sleeps of 1 ms are, at worst meanwhile, and before (p99)",
     .rows = {{.name = "cancel-queued-5k", .unit = "ns"},
              {.name = "cancel-queued-5k-late", .unit = "us"},
              {.name = "cancel-queued-5k-idle", .unit = "us"}},
     .count = 3,
     .workers_min = 2,
     .run = run_5k},
    {.what = "the same with 20,000 children",
     .rows = {{.name = "cancel-queued-20k", .unit = "ns"},
              {.name = "cancel-queued-20k-late", .unit = "us"},
              {.name = "cancel-queued-20k-idle", .unit = "us"}},
     .count = 3,
     .workers_min = 2,
     .run = run_20k},
};

const bench_theme bench_cancel = {cases, sizeof(cases) / sizeof(cases[0])};
