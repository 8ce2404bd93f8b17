/*
 * no_stack.c: no stack can be had for a task: the program is stopped, with a line, exactly when no
 * body is left that has begun and might free one by its end.
 */
#include "support/support.h"
#include "support/times.h"

#include "core/state/worker.h"
#include "platform/faults.h"

static void refuse_maps(bool on) {
    th_os_fail(TH_OS_FAULT_MAP, 0, on ? UINT32_MAX : 0);
}

static int answer(void *arg) {
    (void)arg;
    return 42;
}

static uint32_t refused(void) {
    return UINT32_MAX - th_os_fails_left(TH_OS_FAULT_MAP);
}

static int64_t in_vain_since(thrum_sched *sched, int64_t instead) {
    th_lock_acquire(&sched->deferred_lock);
    const int64_t since = sched->deferred_since;
    sched->deferred_since = since != 0 && instead != 0 ? instead : since;
    th_lock_release(&sched->deferred_lock);
    return since;
}

/*
 * The library decides after a second for nothing: as if that had passed, with some attempts after
 * it. By a thread or a task that waits meanwhile.
 */
static void second_passes(thrum_sched *sched) {
    enum { ATTEMPTS = 20 };
    while (in_vain_since(sched, 1) == 0) {
        nap();
    }
    const uint32_t before = refused();
    while (refused() < before + ATTEMPTS) {
        nap();
    }
}

/* A task that no stack can be had for while mappings are refused. */
static thrum_handle *spawn_large(rig *r) {
    thrum_attr attr = rig_attr(r);
    thrum_handle *handle;
    attr.stack_size = 8u << 20;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, answer, NULL), 0);
    return handle;
}

static void join_large(thrum_handle *handle) {
    int result = 0;
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 42);
}

/* ---- bodies on bound threads ---- */

static const unsigned counts[] = {0, 1, 2, 4, 8};

static pthread_barrier_t step;
static atomic_int begun;

static int holds_a_stack(void *arg) {
    atomic_fetch_add(&begun, 1);
    CHECK_EQ(thrum_sem_wait(arg), 0);
    return 0;
}

static void *waits_for_a_stack(void *arg) {
    rig r;
    thrum_sem over = THRUM_SEM_INIT(0);
    thrum_attr attr = THRUM_ATTR_INIT;
    rig_init(&r);
    r.config.workers = *(const unsigned *)arg;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_go_with(&attr, holds_a_stack, &over), 0);
    thrum_yield(); /* the body begins */
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step); /* there are no stacks from here on */
    thrum_handle *large = spawn_large(&r);
    second_passes(r.sched);
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step); /* there are stacks again */
    thrum_sem_post(&over);
    join_large(large);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
    return NULL;
}

TEST(what_waits_on_a_bound_thread_may_free_a_stack) {
    /* One body that has begun there is enough, with any number of workers: nothing is stopped. */
    pthread_t threads[COUNT_OF(counts)];
    CHECK_EQ(pthread_barrier_init(&step, NULL, COUNT_OF(counts) + 1), 0);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, waits_for_a_stack, (void *)&counts[i]), 0);
    }
    pthread_barrier_wait(&step);
    CHECK_EQ(atomic_load(&begun), COUNT_OF(counts));
    refuse_maps(true);
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    refuse_maps(false);
    pthread_barrier_wait(&step);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
}

static void nothing_left_without_workers(void *arg) {
    rig r;
    thrum_sem over = THRUM_SEM_INIT(1);
    rig_init(&r);
    r.config.workers = *(const unsigned *)arg;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_go_with(&attr, holds_a_stack, &over), 0);
    CHECK_EQ(thrum_sched_unbind(), 0); /* then its counts are the scheduler's */
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    refuse_maps(true);
    thrum_handle *large = spawn_large(&r);
    while (in_vain_since(r.sched, 1) == 0) {
        nap();
    }
    join_large(large);
}

TEST(what_has_ended_on_a_bound_thread_frees_nothing) {
    /* Bodies ran there under an earlier binding: they count as begun and ended. */
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        unsigned workers = counts[i];
        check_dies(nothing_left_without_workers, &workers, "no stack can be had");
    }
}

/* ---- forks ---- */

enum { FORKS = 3 };

typedef struct forking {
    rig rig;
    holder holders[8];
    thrum_sem over;
    thrum_policy policy;
    unsigned workers;
} forking;

static int forks_and_takes_back(void *arg) {
    thrum_fork fork;
    (void)arg;
    thrum_fork_start(&fork, answer, NULL);
    CHECK_EQ(thrum_fork_join(&fork), 42);
    return 0;
}

/* No other worker is free to take what is offered: FORKS are offered, and taken back. */
static void forking_begin(forking *f, unsigned workers, thrum_policy policy) {
    memset(f, 0, sizeof(*f));
    thrum_sem_init(&f->over, 0);
    rig_init(&f->rig);
    f->rig.config.workers = workers;
    f->rig.config.policy = policy;
    rig_start(&f->rig);
    for (unsigned i = 1; i < workers; i++) {
        holder_begin(&f->rig, &f->holders[i], (int)i);
    }
    for (int i = 0; i < FORKS; i++) {
        CHECK_EQ(rig_run(&f->rig, forks_and_takes_back, NULL), 0);
    }
    for (unsigned i = 1; i < workers; i++) {
        holder_end(&f->holders[i]);
    }
}

static const thrum_policy policies[] = {THRUM_SHARDED, THRUM_GLOBAL, THRUM_FIFO};
static const unsigned many[] = {2, 4, 8};
#define CELLS (COUNT_OF(policies) * COUNT_OF(many))

TEST(forks_taken_back_hide_no_body_that_waits) {
    /* There are as many of these bodies as of those forks. */
    static forking f[CELLS];
    thrum_handle *large[CELLS];
    for (size_t i = 0; i < CELLS; i++) {
        forking *at = &f[i];
        forking_begin(at, many[i % COUNT_OF(many)], policies[i / COUNT_OF(many)]);
        for (int n = 0; n < FORKS; n++) {
            rig_go(&at->rig, holds_a_stack, &at->over);
        }
        CHECK_EQ(thrum_sched_wait_idle(at->rig.sched, THRUM_FOREVER), 0);
    }
    refuse_maps(true);
    for (size_t i = 0; i < CELLS; i++) {
        large[i] = spawn_large(&f[i].rig);
    }
    for (size_t i = 0; i < CELLS; i++) {
        second_passes(f[i].rig.sched);
    }
    refuse_maps(false);
    for (size_t i = 0; i < CELLS; i++) {
        forking *at = &f[i];
        for (int n = 0; n < FORKS; n++) {
            thrum_sem_post(&at->over);
        }
        join_large(large[i]);
        rig_stop(&at->rig);
    }
}

static void nothing_left_behind_forks(void *arg) {
    const forking *how = arg;
    forking f;
    forking_begin(&f, how->workers, how->policy);
    refuse_maps(true);
    join_large(spawn_large(&f.rig));
}

TEST(forks_taken_back_are_no_bodies_that_wait) {
    /* So nothing is left that could free a stack, and the program is stopped. */
    for (size_t p = 0; p < COUNT_OF(policies); p++) {
        forking how = {.workers = 2, .policy = policies[p]};
        check_dies(nothing_left_behind_forks, &how, "no stack can be had");
    }
}
