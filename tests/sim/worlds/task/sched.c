/*
 * sched.c: a whole scheduler: started, used, stopped. Tasks that fork, join, block on each other
 * and come back on another worker; two schedulers that post to each other; metrics read meanwhile.
 */
#include "base/atomic.h"
#include "whole.h"

static thrum_sched *sched;
static unsigned ran[16]; /* plain */

static void begin(unsigned workers, thrum_policy policy) {
    thrum_config config = whole_config(workers);
    config.policy = policy;
    sched = whole_start(&config);
}

/* Tasks come from external threads, then stop: each ran once. */
static void external(unsigned workers, thrum_policy policy) {
    begin(workers, policy);
    for (unsigned i = 0; i < 3; i++) {
        whole_post(sched, i, whole_count, NULL);
    }
    whole_stop(sched);
    whole_ran_once(0, 3);
}

SIM_WORLD(sched_external_2, .heavy = true, .asleep = whole_asleep) {
    external(2, THRUM_SHARDED);
}

SIM_WORLD(sched_external_3, .heavy = true, .asleep = whole_asleep) {
    external(3, THRUM_SHARDED);
}

SIM_WORLD(sched_external_global, .heavy = true, .asleep = whole_asleep) {
    external(2, THRUM_GLOBAL);
}

/* ---- fork and join ---- */

static void go(thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, fn, arg) == 0);
}

/* Node i has the children 2i and 2i + 1; their writes are there after the joins. */
static int tree(void *arg) {
    unsigned i = (unsigned)(uintptr_t)arg;
    if (i < 4) {
        thrum_handle *left;
        thrum_handle *right;
        int sum = 0;
        int result;
        sim_check(thrum_spawn(&left, tree, (void *)(uintptr_t)(2 * i)) == 0);
        sim_check(thrum_spawn(&right, tree, (void *)(uintptr_t)(2 * i + 1)) == 0);
        sim_check(thrum_join(left, &result) == 0);
        sum += result;
        sim_check(thrum_join(right, &result) == 0);
        sum += result;
        sim_check(sum == (i == 1 ? 4 : 2));
        sim_check(ran[2 * i] == 1 && ran[2 * i + 1] == 1);
        ran[i]++;
        return sum;
    }
    ran[i]++;
    return 1;
}

static void fork_join(unsigned workers, thrum_policy policy) {
    begin(workers, policy);
    go(tree, (void *)1);
    whole_stop(sched);
    for (unsigned i = 1; i < 8; i++) {
        sim_check(ran[i] == 1);
    }
}

SIM_WORLD(sched_tree, .heavy = true, .asleep = whole_asleep) {
    fork_join(2, THRUM_SHARDED);
}

SIM_WORLD(sched_tree_3, .heavy = true, .asleep = whole_asleep) {
    fork_join(3, THRUM_SHARDED);
}

SIM_WORLD(sched_tree_global, .heavy = true, .asleep = whole_asleep) {
    fork_join(2, THRUM_GLOBAL);
}

/* Detached tasks, more than a magazine of them: objects go to the depot and come from there. */
static int spreads(void *arg) {
    unsigned i = (unsigned)(uintptr_t)arg;
    ran[i]++;
    if (i < 5) {
        sim_check(thrum_go(spreads, (void *)(uintptr_t)(2 * i)) == 0);
        sim_check(thrum_go(spreads, (void *)(uintptr_t)(2 * i + 1)) == 0);
    }
    return 0;
}

SIM_WORLD(sched_detached, .heavy = true, .asleep = whole_asleep) {
    begin(2, THRUM_SHARDED);
    go(spreads, (void *)1);
    whole_stop(sched);
    for (unsigned i = 1; i < 10; i++) {
        sim_check(ran[i] == 1);
    }
}

/* ---- tasks that wait for each other ---- */

static thrum_event there;
static thrum_event back;

static int ping(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        ran[0]++;
        thrum_event_signal(&there);
        sim_check(thrum_event_wait(&back) == 0);
        sim_check(ran[0] == ran[1]);
    }
    return 0;
}

static int pong(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        sim_check(thrum_event_wait(&there) == 0);
        sim_check(ran[0] == ran[1] + 1);
        ran[1]++;
        thrum_event_signal(&back);
    }
    return 0;
}

static void ping_pong(thrum_policy policy, bool wake_hint) {
    thrum_config config = whole_config(2);
    config.policy = policy;
    config.wake_hint = wake_hint;
    sched = whole_start(&config);
    thrum_event_init(&there, THRUM_EVENT_AUTO, false);
    thrum_event_init(&back, THRUM_EVENT_AUTO, false);
    go(ping, NULL);
    go(pong, NULL);
    whole_stop(sched);
    sim_check(ran[0] == 2 && ran[1] == 2);
}

SIM_WORLD(sched_ping_pong, .heavy = true, .asleep = whole_asleep) {
    ping_pong(THRUM_SHARDED, true);
}

SIM_WORLD(sched_ping_pong_queued, .heavy = true, .asleep = whole_asleep) {
    ping_pong(THRUM_SHARDED, false);
}

SIM_WORLD(sched_ping_pong_global, .heavy = true, .asleep = whole_asleep) {
    ping_pong(THRUM_GLOBAL, true);
}

/* All block at once, so that each leaves a stack behind; then all go on, on either worker. */
static int blocks(void *arg) {
    unsigned i = (unsigned)(uintptr_t)arg;
    ran[i]++;
    sim_check(thrum_event_wait(&there) == 0);
    ran[i]++;
    thrum_yield();
    ran[i]++;
    return 0;
}

/* Spare fibers go to the scheduler's list and come back from it, and yields overflow. */
SIM_WORLD(sched_crowd, .heavy = true, .asleep = whole_asleep) {
    begin(2, THRUM_SHARDED);
    thrum_event_init(&there, THRUM_EVENT_MANUAL, false);
    for (unsigned i = 0; i < 5; i++) {
        go(blocks, (void *)(uintptr_t)i);
    }
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
    thrum_event_signal(&there);
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
    for (unsigned i = 0; i < 5; i++) {
        sim_check(ran[i] == 3);
    }
    whole_stop(sched);
}

/* ---- yields ---- */

static int gives_way(void *arg) {
    unsigned i = (unsigned)(uintptr_t)arg;
    for (unsigned turn = 0; turn < 4; turn++) {
        ran[i]++;
        thrum_yield();
    }
    return 0;
}

/* Fibers yield, with tasks between them, all on two workers: they are stolen, or rescued. */
SIM_WORLD(sched_yields, .heavy = true, .asleep = whole_asleep) {
    begin(2, THRUM_SHARDED);
    for (unsigned i = 0; i < 3; i++) {
        go(gives_way, (void *)(uintptr_t)i);
    }
    whole_post(sched, 0, whole_count, NULL);
    whole_stop(sched);
    whole_ran_once(0, 1);
    for (unsigned i = 0; i < 3; i++) {
        sim_check(ran[i] == 4);
    }
}

/*
 * Posts two to its own queue, one to the inject queue, and yields: all three run before it goes on.
 */
static int yields_behind(void *arg) {
    (void)arg;
    for (unsigned turn = 0; turn < 2; turn++) {
        whole_post(sched, 0, whole_count, NULL);
        whole_post(sched, 1, whole_count, NULL);
        thrum_task_init(&whole_tasks[2], whole_count, NULL);
        sim_check(thrum_task_post_hint(sched, &whole_tasks[2], THRUM_HINT_YIELD) == 0);
        thrum_yield();
        for (unsigned i = 0; i < 3; i++) {
            sim_check(whole_ran[i] == turn + 1);
        }
    }
    return 0;
}

/*
 * A fiber that yields comes behind the work queued then; also a pinned one, and beside a polling
 * one.
 */
SIM_WORLD(sched_yield_order, .heavy = true, .asleep = whole_asleep) {
    begin(1, sim_pick(2) ? THRUM_GLOBAL : THRUM_SHARDED);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    attr.flags = sim_pick(2) ? THRUM_PINNED : 0;
    attr.worker = 0;
    if (sim_pick(2)) {
        go(gives_way, (void *)0);
    }
    sim_check(thrum_go_with(&attr, yields_behind, NULL) == 0);
    whole_stop(sched);
}

/* ---- beside it ---- */

static void reads_metrics(void *arg) {
    uint64_t before = 0;
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        thrum_metrics m = THRUM_METRICS_INIT;
        sim_check(thrum_metrics_read(sched, THRUM_ALL_WORKERS, &m) == 0);
        sim_check(m.tasks_started >= before && m.tasks_started <= 3);
        before = m.tasks_started;
    }
}

/* Metrics are read meanwhile: each figure is a value that it had; they never go back. */
SIM_WORLD(sched_metrics, .heavy = true, .asleep = whole_asleep) {
    begin(2, THRUM_SHARDED);
    int t = sim_spawn(reads_metrics, NULL);
    for (unsigned i = 0; i < 3; i++) {
        whole_post(sched, i, whole_count, NULL);
    }
    sim_join(t);
    whole_stop(sched);
}

/* ---- two schedulers ---- */

static thrum_sched *other;
static whole_gate arrived[2];

/* Goes from one scheduler to the other and back: its own body posts it, each time to the other. */
static void travels(thrum_task *self, void *arg) {
    unsigned i = whole_number(self);
    (void)arg;
    if (++whole_ran[i] < 4) {
        thrum_sched *to = thrum_sched_current() == sched ? other : sched;
        sim_check(thrum_task_post(to, self) == 0);
    } else {
        whole_open(&arrived[i]);
    }
}

/*
 * Each scheduler counts work from the other as an external thread's; neither rests before all have
 * ended.
 */
SIM_WORLD(sched_two, .asleep = whole_asleep) {
    thrum_config config = whole_config(1);
    sched = whole_start_bare(&config);
    other = whole_start_bare(&config);
    whole_post(sched, 0, travels, NULL);
    whole_post(other, 1, travels, NULL);
    whole_pass(&arrived[0]);
    whole_pass(&arrived[1]);
    whole_stop(sched);
    whole_stop(other);
    sim_check(whole_ran[0] == 4 && whole_ran[1] == 4);
}

/* Fibers of two schedulers wake each other. */
SIM_WORLD(sched_two_ping_pong, .heavy = true, .asleep = whole_asleep) {
    thrum_config config = whole_config(1);
    sched = whole_start(&config);
    other = whole_start(&config);
    thrum_event_init(&there, THRUM_EVENT_AUTO, false);
    thrum_event_init(&back, THRUM_EVENT_AUTO, false);
    go(ping, NULL);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = other;
    sim_check(thrum_go_with(&attr, pong, NULL) == 0);
    whole_stop(other);
    whole_stop(sched);
    sim_check(ran[0] == 2 && ran[1] == 2);
}
