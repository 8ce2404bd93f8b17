/*
 * uv.c: libuv's thread pool, and its timers. Only the loop's thread, which is not of the pool,
 * queues work; it is also notified of each one's end, so that is in the figures.
 */
#include <uv.h>

#include "peer.h"

typedef struct work {
    uv_work_t request;
    uint32_t *slot;
    int64_t ran_ns;
} work;

static uv_loop_t *loop;

/* The pool starts with the first work, with the environment's number of threads. */
static void start(void) {
    char number[16];
    snprintf(number, sizeof(number), "%u", peer.workers);
    setenv("UV_THREADPOOL_SIZE", number, 1);
    loop = uv_default_loop();
}

static void count_run(uv_work_t *request) {
    work *w = (work *)request->data;
    ++*w->slot;
    w->ran_ns = peer_now();
}

static void count_only(uv_work_t *request) {
    ++*((work *)request->data)->slot;
}

static void ended(uv_work_t *request, int status) {
    (void)request;
    peer_check(status == 0, "cancelled");
}

static work *all;

static void queue_round(uint32_t *slots, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        all[i].slot = &slots[i];
        all[i].request.data = &all[i];
        peer_check(uv_queue_work(loop, &all[i].request, count_only, ended) == 0, "not queued");
    }
    uv_run(loop, UV_RUN_DEFAULT);
}

static void rounds(const char *name, unsigned n, unsigned times) {
    start();
    all = (work *)calloc(n, sizeof(work));
    peer_check(all != NULL, "no memory");
    peer_rounds(name, n, times, queue_round);
    free(all);
}

static void run_external(void) {
    rounds("post-external", peer_scale(1000000, 10000), 1);
}

static void run_external_rounds(void) {
    rounds("post-external-rounds", 1000, peer_scale(1000, 20));
}

static void run_many_remote(void) {
    rounds("spawn_many_remote_idle", 10000, peer_scale(100, 7));
}

/* Calls go one after the other: the end of each queues the next. The second time counts. */
static unsigned calls_left;

static void queue_call(work *w);

static void call_ended(uv_work_t *request, int status) {
    ended(request, status);
    if (--calls_left > 0) {
        queue_call((work *)request->data);
    }
}

static void queue_call(work *w) {
    peer_check(uv_queue_work(loop, &w->request, count_only, call_ended) == 0, "not queued");
}

static void run_calls(void) {
    start();
    uint32_t ran = 0;
    work w = {.slot = &ran};
    w.request.data = &w;
    unsigned n = peer_scale(10000, 1000);
    peer_span span;
    for (unsigned round = 0; round < 2; round++) {
        span = peer_begin();
        calls_left = n;
        queue_call(&w);
        uv_run(loop, UV_RUN_DEFAULT);
        peer_end(&span);
    }
    peer_check(ran == 2 * n, "%u calls ran", ran);
    peer_row_per_op("blocking-call", &span, n);
}

/* ---- timers: callbacks of the loop's thread, in whole milliseconds ---- */

static uint64_t dice = 88172645463325252u;

static uint64_t any_number(void) {
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return dice >> 11;
}

static void never(uv_timer_t *timer) {
    (void)timer;
    peer_check(false, "a timer came");
}

/* They are set a minute later than in thrum-bench, so that none comes while it is measured. */
static void set_timer(uv_timer_t *timer) {
    peer_check(uv_timer_start(timer, never, 60000 + any_number() % 10000, 0) == 0, "not set");
}

/* The loop forgets it: the next row may have the memory. */
static void forget(uv_timer_t *timer) {
    uv_close((uv_handle_t *)timer, NULL);
}

static void timers(const char *name, bool cold) {
    start();
    unsigned n = peer_scale(1000000, 10000);
    uv_timer_t *each = (uv_timer_t *)calloc(n, sizeof(uv_timer_t));
    peer_check(each != NULL, "no memory");
    for (unsigned i = 0; i < n; i++) {
        uv_timer_init(loop, &each[i]);
        set_timer(&each[i]);
    }
    peer_span span;
    for (unsigned i = 0; i < n + n / 10; i++) {
        if (i == n / 10) {
            span = peer_begin();
        }
        uv_timer_t *timer = &each[cold ? any_number() % n : i % n];
        peer_check(uv_timer_stop(timer) == 0, "not stopped");
        set_timer(timer);
    }
    peer_end(&span);
    for (unsigned i = 0; i < n; i++) {
        peer_check(uv_timer_get_due_in(&each[i]) > 0, "timer %u is not pending", i);
        forget(&each[i]);
    }
    peer_check(uv_run(loop, UV_RUN_DEFAULT) == 0, "something is pending");
    peer_row_per_op(name, &span, n);
    free(each);
}

static void run_timers(void) {
    timers("timers", false);
}

static void run_timers_cold(void) {
    timers("timers-cold", true);
}

/*
 * A crowd of timers is set again and again for 1 to 100 ms. The loop's clock is floored to
 * milliseconds, so a sleep takes one more than the next whole number, in order not to be short.
 */
typedef struct sleeper {
    uv_timer_t timer;
    int64_t until_ns;
    uint32_t random;
    unsigned rounds; /* that are left */
} sleeper;

static peer_histogram lateness;
static peer_crowd crowd;

static void sleep_once(sleeper *s);

static void slept(uv_timer_t *timer) {
    sleeper *s = (sleeper *)timer->data;
    if (crowd.rounds - s->rounds >= crowd.unnoted) {
        peer_histogram_add(&lateness, peer_now() - s->until_ns);
    }
    if (--s->rounds > 0) {
        sleep_once(s);
    }
}

static void sleep_once(sleeper *s) {
    s->random ^= s->random << 13;
    s->random ^= s->random >> 17;
    s->random ^= s->random << 5;
    int64_t us = 1000 + s->random % 99001;
    uv_update_time(loop);
    s->until_ns = peer_now() + us * 1000;
    peer_check(uv_timer_start(&s->timer, slept, (uint64_t)(us + 999) / 1000 + 1, 0) == 0,
               "not set");
}

static void sleep_all(peer_crowd all) {
    start();
    crowd = all;
    unsigned n = crowd.sleepers;
    sleeper *sleepers = (sleeper *)calloc(n, sizeof(sleeper));
    peer_check(sleepers != NULL, "no memory");
    double cpu = peer_process_cpu_us();
    peer_span span = peer_begin();
    for (unsigned i = 0; i < n; i++) {
        uv_timer_init(loop, &sleepers[i].timer);
        sleepers[i].timer.data = &sleepers[i];
        sleepers[i].random = i * 2654435761u + 1;
        sleepers[i].rounds = crowd.rounds;
        sleep_once(&sleepers[i]);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    peer_end(&span);
    cpu = peer_process_cpu_us() - cpu;
    for (unsigned i = 0; i < n; i++) {
        forget(&sleepers[i].timer);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    peer_sleeps(&crowd, &lateness, 1, cpu, &span);
    free(sleepers);
}

static void run_sleeps(void) {
    sleep_all(peer_crowd_full());
}

static void run_sleeps_half(void) {
    sleep_all(peer_crowd_half());
}

static int64_t wake_once(void) {
    uint32_t slot = 0;
    work w = {.slot = &slot};
    w.request.data = &w;
    int64_t sent = peer_now();
    peer_check(uv_queue_work(loop, &w.request, count_run, ended) == 0, "not queued");
    uv_run(loop, UV_RUN_DEFAULT);
    peer_check(slot == 1, "ran %u times", slot);
    return w.ran_ns - sent;
}

static void run_wake(void) {
    start();
    peer_wake(wake_once);
}

static void run_idle(void) {
    start();
    wake_once();
    peer_idle();
}

int main(int argc, char **argv) {
    static const peer_work works[] = {
        {"post-external", run_external},
        {"post-external-rounds", run_external_rounds},
        {"spawn_many_remote_idle", run_many_remote},
        {"blocking-call", run_calls},
        {"timers", run_timers},
        {"timers-cold", run_timers_cold},
        {"sleeps sleeps-late-p50 sleeps-late-p99 sleeps-late-max", run_sleeps},
        {"sleeps-half sleeps-half-late-p50 sleeps-half-late-p99 sleeps-half-late-max",
         run_sleeps_half},
        {"wake-p50 wake-p99", run_wake},
        {"idle", run_idle},
    };
    return peer_main("libuv", uv_version_string(), works, sizeof(works) / sizeof(works[0]), argc,
                     argv);
}
