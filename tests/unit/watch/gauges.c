/*
 * gauges.c: what the metrics say of the present: what is queued, alive, waited for.
 */
/* matrix: policy workers */
#include <semaphore.h>

#include "support/support.h"
#include "support/times.h"

typedef struct scene {
    rig r;
    atomic_int begun;
    atomic_int open;
    sem_t gate;
    thrum_event event;
    thrum_metrics seen;
} scene;

static thrum_metrics read_all(const rig *r) {
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(r->sched, THRUM_ALL_WORKERS, &m), 0);
    return m;
}

static int ends(void *arg) {
    (void)arg;
    return 0;
}

static int computes(void *arg) {
    scene *s = arg;
    const thrum_attr attr = rig_attr(&s->r);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_go_with(&attr, ends, NULL), 0);
    }
    s->seen = read_all(&s->r);
    atomic_fetch_add(&s->begun, 1);
    SPIN_UNTIL(atomic_load(&s->open));
    return 0;
}

static int spins(void *arg) {
    scene *s = arg;
    atomic_fetch_add(&s->begun, 1);
    SPIN_UNTIL(atomic_load(&s->open));
    return 0;
}

static void check_nothing(const rig *r) {
    const thrum_metrics m = read_all(r);
    CHECK_EQ(m.tasks_alive, 0);
    CHECK_EQ(m.runnable, 0);
    CHECK_EQ(m.queued_local, 0);
    CHECK_EQ(m.tasks_deferred, 0);
    CHECK_EQ(m.timers, 0);
    CHECK_EQ(m.blocking_queued, 0);
    CHECK_EQ(m.blocking_running, 0);
}

TEST(what_is_queued_behind_one_that_computes_is_counted) {
    /* Where it is queued at the worker, the worker's figure says so, too. */
    scene s = {.begun = 0};
    rig_begin(&s.r, 1);
    const thrum_attr attr = rig_attr(&s.r);
    check_nothing(&s.r);
    CHECK_EQ(thrum_go_with(&attr, computes, &s), 0);
    SPIN_UNTIL(atomic_load(&s.begun) == 1);
    for (int i = 0; i < 500; i++) {
        CHECK_EQ(thrum_go_with(&attr, ends, NULL), 0);
    }
    CHECK_EQ(s.seen.runnable, 11);
    CHECK_EQ(s.seen.tasks_alive, 11);
    CHECK(s.seen.queued_local <= 10);
    CHECK(s.r.config.policy != THRUM_SHARDED || s.seen.queued_local > 0);
    thrum_metrics m = read_all(&s.r);
    CHECK_EQ(m.runnable, 511);
    CHECK_EQ(m.tasks_alive, 511);
    CHECK(m.stacks >= 1 && m.stack_bytes >= m.stacks << 14);
    CHECK_EQ(thrum_metrics_read(s.r.sched, 0, &m), 0);
    CHECK_EQ(m.queued_local, s.seen.queued_local);
    CHECK_EQ(m.runnable, 0); /* the whole scheduler has it */
    atomic_store(&s.open, 1);
    rig_wait_done(&s.r);
    check_nothing(&s.r);
    rig_stop(&s.r);
}

/* Whether nothing runs and nothing is queued, as far as the times tell. */
static bool is_at_rest(const rig *r) {
    const thrum_metrics m = read_all(r);
    return m.running_ns == 0 && m.queued_oldest_ns == 0;
}

TEST(how_long_a_task_runs_and_what_is_behind_it_waits) {
    /* Both are found by looks, and grow; then the longest run is still known. */
    scene s = {.begun = 0};
    rig_init(&s.r);
    s.r.config.workers = 1;
    s.r.config.workers_spare = 0; /* none that would take what is queued */
    rig_start(&s.r);
    const bool queues = s.r.config.policy == THRUM_SHARDED;
    thrum_metrics m;
    CHECK(is_at_rest(&s.r));
    const thrum_attr attr = rig_attr(&s.r);
    CHECK_EQ(thrum_go_with(&attr, computes, &s), 0);
    SPIN_UNTIL(atomic_load(&s.begun) == 1);
    SPIN_UNTIL((m = read_all(&s.r)).running_ns > 0);
    SPIN_UNTIL(!queues || (m = read_all(&s.r)).queued_oldest_ns > 0);
    const thrum_metrics before = m;
    SPIN_UNTIL((m = read_all(&s.r)).running_ns > before.running_ns);
    SPIN_UNTIL(!queues || (m = read_all(&s.r)).queued_oldest_ns > before.queued_oldest_ns);
    const uint64_t ran = m.running_ns;
    uint64_t longest = m.longest_run_ns;
    CHECK(longest >= ran);
    CHECK_EQ(thrum_metrics_read(s.r.sched, 0, &m), 0);
    longest = m.running_ns;
    CHECK(longest >= ran); /* the worker's own figure, read later */
    atomic_store(&s.open, 1);
    rig_wait_done(&s.r);
    SPIN_UNTIL(is_at_rest(&s.r));
    const uint64_t after = read_all(&s.r).longest_run_ns;
    CHECK(after >= longest);
    rig_stop(&s.r);
}

/* Looks until the task has been seen to run, and lets it end. */
static void *sees_it_run(void *arg) {
    scene *s = arg;
    SPIN_UNTIL(atomic_load(&s->begun) == 1);
    SPIN_UNTIL((s->seen = read_all(&s->r)).longest_run_ns > 0);
    atomic_store(&s->open, 1);
    return NULL;
}

TEST(the_longest_run_was_on_a_thread_that_has_left) {
    /* What a bound thread has run counts on when it is bound no more. */
    scene s = {.begun = 0};
    thrum_handle *h;
    pthread_t thread;
    rig_init(&s.r);
    s.r.config.workers = 0;
    rig_start(&s.r);
    const thrum_attr attr = rig_attr(&s.r);
    CHECK_EQ(pthread_create(&thread, NULL, sees_it_run, &s), 0);
    CHECK_EQ(thrum_sched_bind(s.r.sched), 0);
    CHECK_EQ(thrum_spawn_with(&h, &attr, spins, &s), 0);
    CHECK_EQ(thrum_join(h, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    const uint64_t seen = s.seen.longest_run_ns;
    const uint64_t longest = read_all(&s.r).longest_run_ns;
    CHECK(longest >= seen); /* it never falls */
    rig_stop(&s.r);
}

static int waits_until(void *arg) {
    scene *s = arg;
    CHECK_EQ(thrum_event_wait_until(&s->event, far_off()), 0);
    return 0;
}

TEST(waits_with_a_deadline_are_timers_and_alive) {
    /* What only waits is not runnable. */
    scene s = {.begun = 0};
    rig_begin(&s.r, 0);
    const thrum_attr attr = rig_attr(&s.r);
    thrum_event_init(&s.event, THRUM_EVENT_MANUAL, false);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_go_with(&attr, waits_until, &s), 0);
    }
    CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
    SPIN_UNTIL(read_all(&s.r).timers == 20);
    const thrum_metrics m = read_all(&s.r);
    CHECK_EQ(m.tasks_alive, 20);
    CHECK_EQ(m.runnable, 0);
    CHECK(m.stacks >= 20);
    thrum_event_signal(&s.event);
    rig_wait_done(&s.r);
    check_nothing(&s.r);
    rig_stop(&s.r);
}

static int blocks(void *arg) {
    scene *s = arg;
    atomic_fetch_add(&s->begun, 1);
    while (sem_wait(&s->gate) != 0) {
    }
    return 0;
}

static int calls_blocking(void *arg) {
    int result;
    CHECK_EQ(thrum_blocking(blocks, arg, &result), 0);
    return result;
}

TEST(blocking_calls_run_or_are_queued) {
    /* With one thread for them, one runs and the others wait. */
    scene s = {.begun = 0};
    rig_init(&s.r);
    s.r.config.blocking_threads_max = 1;
    rig_start(&s.r);
    const thrum_attr attr = rig_attr(&s.r);
    CHECK_EQ(sem_init(&s.gate, 0, 0), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_go_with(&attr, calls_blocking, &s), 0);
    }
    SPIN_UNTIL(atomic_load(&s.begun) == 1);
    CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
    const thrum_metrics m = read_all(&s.r);
    CHECK_EQ(m.blocking_running, 1);
    CHECK_EQ(m.blocking_queued, 2);
    CHECK_EQ(m.tasks_alive, 3);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(sem_post(&s.gate), 0);
    }
    rig_wait_done(&s.r);
    check_nothing(&s.r);
    CHECK_EQ(sem_destroy(&s.gate), 0);
    rig_stop(&s.r);
}

static int reads_its_own(void *arg) {
    thrum_metrics *m = arg;
    CHECK_EQ(thrum_go(ends, NULL), 0);
    thrum_yield();
    CHECK_EQ(thrum_go(ends, NULL), 0);
    return thrum_metrics_read(thrum_sched_current(), THRUM_ALL_WORKERS, m);
}

TEST(without_workers_there_are_figures_too) {
    /* They were those of threads that are bound no more. */
    thrum_metrics m = THRUM_METRICS_INIT;
    rig r;
    rig_init(&r);
    r.config.workers = 0;
    CHECK_EQ(thrum_run(&r.config, reads_its_own, &m), 0);
    CHECK_EQ(m.workers, 0);
    CHECK_EQ(m.tasks_started, 2); /* the second has not begun */
    CHECK_EQ(m.tasks_alive, 2);
    CHECK_EQ(m.runnable, 2);
    const uint64_t switches = m.switches; /* the first one has run while the task yielded */
    CHECK(m.yields > 0 && switches > 0);
    rig_check_freed(&r);
}
