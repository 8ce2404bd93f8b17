/*
 * blocking.c: the blocking pool (src/pools/README.md): no job left behind, a member that leaves
 * against a call, starts that are refused, and the pool's end.
 *
 * The small worlds use the pool without a scheduler; those on a whole one are marked.
 */
#include <thrum/blocking.h>
#include <thrum/metrics.h>
#include <thrum/sem.h>

#include "base/atomic.h"
#include "core/state/worker.h"
#include "crew.h"
#include "pools/blocking_pool.h"
#include "platform/sim/controller.h"

#define KEEPALIVE 1000

static th_blocking_pool *pool;
static int done[4]; /* plain: written by the calls, read by their callers */

static void make(unsigned threads_max) {
    thrum_sched *sched = crew_bare_sched();
    sched->config.blocking_threads_max = threads_max;
    /* A thread whose keepalive ends looks again: a job left behind shows only without an end. */
    sched->config.blocking_keepalive = sim_pick(2) ? THRUM_FOREVER : KEEPALIVE;
    pool = th_blocking_pool_new(sched);
}

static void make_one(void) {
    make(1);
}

static void make_two(void) {
    make(2);
}

static void end(void) {
    if (pool) {
        th_blocking_pool_free(pool);
    }
}

static int job(void *arg) {
    int i = (int)(intptr_t)arg;
    sim_check(!done[i]);
    done[i] = 1;
    return 10 + i;
}

/* Makes a call, and checks conditions that hold whether it could be made or not. */
static int call(int i) {
    int result = -1;
    if (!pool) {
        return -ENOMEM; /* it was refused */
    }
    int code = th_blocking_pool_run(pool, job, (void *)(intptr_t)i, &result);
    sim_check(code == 0 || code == -EAGAIN || code == -ENOMEM);
    sim_check(done[i] == (code == 0));
    sim_check(code != 0 || result == 10 + i);
    crew_scrub();
    return code;
}

static void call_0(void *unused) {
    (void)unused;
    sim_check(call(0) == 0);
}

static void call_1(void *unused) {
    (void)unused;
    sim_check(call(1) == 0);
}

static void call_2(void *unused) {
    (void)unused;
    sim_check(call(2) == 0);
}

/* ---- calls that meet ---- */

/* Two calls, one thread: the second job waits for its turn, or for a member about to look. */
static const crew_play one_thread = {make_one, end, 2, {call_0, call_1}};
CREW_WORLDS(blocking_one_thread, one_thread)

/* Three calls meet two threads. */
static const crew_play two_threads = {make_two, end, 3, {call_0, call_1, call_2}};
CREW_WORLDS(blocking_two_threads, two_threads)

/* ---- the keepalive ---- */

static void call_pause_call(void *unused) {
    call_0(unused);
    sim_pass(KEEPALIVE * sim_pick(3) / 2);
    call_1(unused);
}

/* A member whose keepalive ends while it is called: it comes, or another one is started. */
static const crew_play keepalive = {make_one, end, 1, {call_pause_call}};
CREW_WORLDS(blocking_keepalive, keepalive, .exhaustive = true, .timers_max = 3)

/* The same with two members: one leaves while the other is called, which then joins it. */
static const crew_play keepalives = {make_two, end, 2, {call_pause_call, call_2}};
CREW_WORLDS(blocking_keepalives, keepalives, .timers_max = 3)

/* ---- refusals ---- */

static void try_0(void *unused) {
    (void)unused;
    (void)call(0);
}

static void try_1(void *unused) {
    (void)unused;
    (void)call(1);
}

static void try_2(void *unused) {
    (void)unused;
    if (call(2) == 0) {
        (void)call(3);
    }
}

/* A thread or its record is refused: the job fails only when no thread could come for it. */
static const crew_play refused = {make_two, end, 3, {try_0, try_1, try_2}};
CREW_WORLDS(blocking_refused, refused, .refusals = 2, .timers_max = 3)

static thrum_sem let_go = THRUM_SEM_INIT(0);

static int waits(void *unused) {
    (void)unused;
    return thrum_sem_wait(&let_go);
}

static int lets_go(void *unused) {
    (void)unused;
    thrum_sem_post(&let_go);
    return 0;
}

/* Makes a call for which the other one waits; if it is refused, does without. */
static void try_what_is_awaited(void *unused) {
    int result = -1;
    if (!pool || th_blocking_pool_run(pool, lets_go, unused, &result)) {
        lets_go(unused);
    }
    crew_scrub();
}

static void try_to_wait(void *unused) {
    int result = -1;
    if (pool && th_blocking_pool_run(pool, waits, unused, &result) == 0) {
        sim_check(result == 0);
    }
    crew_scrub();
}

/* A member waits for the effect of a call for which there is no thread: the call ends. */
static const crew_play awaited = {make_two, end, 2, {try_to_wait, try_what_is_awaited}};
CREW_WORLDS(blocking_awaited, awaited, .refusals = 2)

/* ---- on a scheduler ---- */

static void call_from_fiber(int i) {
    int result = -1;
    sim_check(thrum_blocking(job, (void *)(intptr_t)i, &result) == 0);
    sim_check(done[i] == 1 && result == 10 + i);
    crew_scrub();
}

static int fiber(void *arg) {
    call_from_fiber((int)(intptr_t)arg);
    return 0;
}

static thrum_sched *start(thrum_time after) {
    thrum_config config;
    thrum_sched *sched = NULL;
    thrum_config_init(&config);
    config.workers = 2;
    config.local_capacity = 2;
    config.stack_size = 16384;
    config.blocking_threads_max = 1;
    config.blocking_keepalive = after;
    sim_check(thrum_sched_start(&sched, &config) == 0);
    return sched;
}

/* Two first calls make the pool at once, and metrics read it meanwhile; a stop ends it. */
SIM_WORLD(blocking_two_fibers_sched, .heavy = true) {
    thrum_sched *sched = start(sim_pick(2) ? KEEPALIVE : THRUM_FOREVER);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    for (intptr_t i = 0; i < 2; i++) {
        sim_check(thrum_go_with(&attr, fiber, (void *)i) == 0);
    }
    thrum_metrics metrics = THRUM_METRICS_INIT;
    for (int i = 0; i < 3; i++) {
        sim_check(thrum_metrics_read(sched, THRUM_ALL_WORKERS, &metrics) == 0);
        sim_check(metrics.blocking_calls <= 2 && metrics.blocking_threads <= 1);
        crew_give_way();
    }
    sim_check(thrum_sched_stop(sched) == 0);
    sim_check(done[0] == 1 && done[1] == 1);
}
