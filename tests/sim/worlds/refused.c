/*
 * refused.c: memory, threads and stacks refused in all places, to whole schedulers: a scheduler
 * that starts works; no wait fails; tasks that got no stack stay queued until one comes free;
 * nothing leaks.
 */
#include "base/atomic.h"
#include "whole.h"

static thrum_sched *sched;
static unsigned ran[WHOLE_TASKS];
static unsigned started;

/* It starts, or returns the reason why not. */
static bool start(const thrum_config *config) {
    int result = thrum_sched_start(&sched, config);
    sim_check(result == 0 || result == -ENOMEM || result == -EAGAIN);
    return result == 0;
}

static void *granted(void *ctx, size_t size) {
    (void)ctx;
    return sim_alloc(size);
}

static void given_back(void *ctx, void *ptr) {
    (void)ctx;
    sim_free(ptr);
}

/* Threads, memory and mappings refused while it starts: with fewer workers, or not at all. */
SIM_WORLD(refused_start, .heavy = true, .refusals = 3) {
    thrum_config config = whole_config(3);
    if (sim_pick(2)) { /* its own memory is never refused */
        config.alloc = granted;
        config.free = given_back;
    }
    if (!start(&config)) {
        return;
    }
    sim_check(thrum_sched_parallelism(sched) >= 1 && thrum_sched_parallelism(sched) <= 3);
    whole_post(sched, 0, whole_count, NULL);
    thrum_task_init(&whole_tasks[1], whole_count, NULL);
    thrum_task_set_worker(&whole_tasks[1], 2);
    int result = thrum_task_post(sched, &whole_tasks[1]);
    sim_check(result == (thrum_sched_parallelism(sched) == 3 ? 0 : -EINVAL));
    sim_check(thrum_sched_stop(sched) == 0);
    sim_check(whole_ran[0] == 1 && whole_ran[1] == (result == 0));
}

/* ---- stacks ---- */

static thrum_event event;
static thrum_sem sem;

static int waits(void *arg) {
    unsigned i = (unsigned)(uintptr_t)arg;
    ran[i]++;
    sim_check(thrum_event_wait(&event) == 0);
    ran[i]++;
    return 0;
}

static void go(unsigned i, thrum_fn fn) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    if (thrum_go_with(&attr, fn, (void *)(uintptr_t)i) == 0) {
        started |= 1u << i;
    }
}

static void all_ran(unsigned times) {
    for (unsigned i = 0; i < WHOLE_TASKS; i++) {
        sim_check(ran[i] == (started >> i & 1 ? times : 0));
    }
}

/*
 * D9: each worker has one spare stack; a third task that wants to block needs a stack, which is
 * refused. It stays queued, until it is granted or another one ends.
 */
static void stacks(unsigned workers, thrum_policy policy) {
    thrum_config config = whole_config(workers);
    config.policy = policy;
    sched = whole_start(&config);
    thrum_event_init(&event, THRUM_EVENT_MANUAL, false);
    for (unsigned i = 0; i < 4; i++) {
        go(i, waits);
    }
    if (sim_pick(2)) {
        sim_check(thrum_sched_wait_idle(sched, thrum_after_ms(3)) != -EINVAL);
    }
    thrum_event_signal(&event);
    whole_stop(sched);
    all_ran(2);
}

SIM_WORLD(refused_stacks, .heavy = true, .asleep = whole_asleep, .refusals = 4) {
    stacks(1, THRUM_SHARDED);
}

SIM_WORLD(refused_stacks_2, .heavy = true, .asleep = whole_asleep, .refusals = 4) {
    stacks(2, THRUM_SHARDED);
}

SIM_WORLD(refused_stacks_global, .heavy = true, .asleep = whole_asleep, .refusals = 4) {
    stacks(2, THRUM_GLOBAL);
}

/* ---- pinned ones ---- */

static int waits_there(void *arg) {
    int worker = (int)(uintptr_t)arg;
    sim_check(thrum_worker_id() == worker % 2);
    ran[worker]++;
    sim_check(thrum_sem_wait(&sem) == 0);
    sim_check(thrum_worker_id() == worker % 2);
    return 0;
}

/* A deferred task is tied to a worker: another worker, with a stack to spare, gives it that. */
SIM_WORLD(refused_pinned, .heavy = true, .asleep = whole_asleep, .refusals = 4) {
    thrum_config config = whole_config(2);
    config.alloc = granted;
    config.free = given_back;
    sched = whole_start(&config);
    thrum_sem_init(&sem, 0);
    for (unsigned i = 0; i < 5; i++) {
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.sched = sched;
        attr.flags = THRUM_PINNED;
        attr.worker = (int)i % 2;
        if (thrum_go_with(&attr, waits_there, (void *)(uintptr_t)i) == 0) {
            started |= 1u << i;
        }
    }
    for (unsigned i = 0; i < 5; i++) {
        thrum_sem_post(&sem);
    }
    whole_stop(sched);
    all_ran(1);
}

/* ---- stacks of their own size ---- */

static int counts(void *arg) {
    ran[(unsigned)(uintptr_t)arg]++;
    thrum_yield();
    return 0;
}

/* It runs apart from the loop, on a fiber that is freed at the end, and may be refused as well. */
SIM_WORLD(refused_large, .heavy = true, .asleep = whole_asleep, .refusals = 3) {
    thrum_config config = whole_config(2);
    sched = whole_start(&config);
    for (unsigned i = 0; i < 3; i++) {
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.sched = sched;
        attr.stack_size = i == 1 ? 0 : 32768;
        if (thrum_go_with(&attr, counts, (void *)(uintptr_t)i) == 0) {
            started |= 1u << i;
        }
    }
    whole_stop(sched);
    all_ran(1);
}

/* ---- memory for tasks ---- */

static unsigned children_started;

static int children(void *arg) {
    (void)arg;
    ran[0]++;
    thrum_handle *handle[3];
    for (unsigned i = 0; i < 3; i++) {
        handle[i] = NULL;
        int result = thrum_spawn(&handle[i], counts, (void *)(uintptr_t)(i + 1));
        sim_check(result == 0 || result == -ENOMEM);
        children_started += result == 0;
    }
    for (unsigned i = 0; i < 3; i++) {
        if (handle[i]) {
            sim_check(thrum_join(handle[i], NULL) == 0);
            sim_check(ran[i + 1] == 1);
        }
    }
    return 0;
}

/* A spawn that gets no memory starts nothing; the others go on. */
SIM_WORLD(refused_spawn, .heavy = true, .asleep = whole_asleep, .refusals = 3) {
    thrum_config config = whole_config(2);
    sched = whole_start(&config);
    go(0, children);
    whole_stop(sched);
    sim_check(ran[0] == started && ran[1] + ran[2] + ran[3] == children_started);
}
