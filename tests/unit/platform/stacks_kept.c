/*
 * stacks_kept.c: what becomes of the pages of stacks that are kept for reuse.
 */
/* matrix: policy workers */
#include "core/fiber/stack.h"
#include "core/state/handle.h"
#include "core/state/worker.h"
#include "support/support.h"
#include "support/times.h"

#define CROWD 300
#define KEPT ((size_t)16 << 10) /* in whole pages */

typedef struct crowd {
    thrum_waitgroup ready;
    thrum_event gate;
    atomic_int shallow; /* one of so many tasks goes deep; 0: all */
    atomic_int began;
    atomic_int ended;
    int count;      /* how many tasks; 0: CROWD */
    thrum_fn stays; /* what each does; NULL: stay */
} crowd;

/* Uses 64 KiB of the stack. */
static __attribute__((noinline)) void go_deep(void) {
    volatile char block[64 << 10];
    for (size_t i = sizeof(block); i > 0; i -= 256) {
        block[i - 1] = 1;
    }
}

static int stay(void *arg) {
    crowd *c = arg;
    int one_of = atomic_load(&c->shallow);
    if (one_of == 0 || atomic_fetch_add(&c->began, 1) % one_of == 0) {
        go_deep();
    }
    thrum_waitgroup_done(&c->ready);
    return thrum_event_wait(&c->gate);
}

/* Starts a crowd that waits, each on a stack of its own, and goes. */
static int come_and_go(void *arg) {
    crowd *c = arg;
    const int count = c->count ? c->count : CROWD;
    thrum_waitgroup_init(&c->ready, (unsigned)count);
    thrum_event_init(&c->gate, THRUM_EVENT_MANUAL, false);
    for (int i = 0; i < count; i++) {
        CHECK_EQ(thrum_go(c->stays ? c->stays : stay, c), 0);
    }
    CHECK_EQ(thrum_waitgroup_wait(&c->ready), 0);
    thrum_event_signal(&c->gate);
    return 0;
}

/* How many idle stacks of the scheduler's store have more than the pages that are kept. */
static unsigned deep_in_store(rig *r, unsigned *count) {
    unsigned deep = 0;
    const size_t page = th_os_page_size();
    const size_t kept = (KEPT + page - 1) / page * page;
    th_lock_acquire(&r->sched->fibers_lock);
    *count = r->sched->fibers_count;
    for (th_fiber *f = r->sched->fibers; f; f = f->next) {
        deep += th_stack_high_water(&f->stack) > kept;
    }
    th_lock_release(&r->sched->fibers_lock);
    return deep;
}

static bool is_tidy(rig *r) {
    unsigned count;
    return deep_in_store(r, &count) == 0;
}

static void check_tidy_after(int shallow) {
    rig r;
    crowd c = {0};
    if (UNDER_TSAN) {
        CHECK_SKIP("each task has a stack of its own there, and none is kept");
    }
    atomic_init(&c.shallow, shallow);
    atomic_init(&c.began, 0);
    rig_begin(&r, 0);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(rig_run(&r, come_and_go, &c), 0);
        rig_wait_done(&r);
    }
    SPIN_UNTIL(is_tidy(&r));
    rig_stop(&r);
}

TEST(a_deep_crowd_leaves_nothing) {
    /* All went deep: when there is nothing to do, all those pages are the system's again. */
    check_tidy_after(0);
}

TEST(a_few_deep_ones_leave_nothing) {
    /*
     * One of 20 went deep, which the samples miss when stacks are put back: it is found when all is
     * quiet.
     */
    check_tidy_after(20);
}

/* Whether all of the store has been looked through. */
static bool is_measured(rig *r) {
    return !th_load_relaxed(&r->sched->xfibers_unmeasured); /* relaxed: looked at again */
}

static bool all_parked(rig *r) {
    /* relaxed: looked at again */
    return th_park_parked(th_load_relaxed(&r->sched->xpark)) == r->sched->workers_count;
}

static int do_nothing(void *arg) {
    (void)arg;
    return 0;
}

TEST(what_was_looked_through_is_left_alone) {
    /*
     * A worker that goes to sleep looks through the store once after stacks came there, not each
     * time: else each sleep costs what a thousand cold stacks cost.
     */
    rig r;
    crowd c = {0};
    if (UNDER_TSAN) {
        CHECK_SKIP("each task has a stack of its own there, and none is kept");
    }
    atomic_init(&c.shallow, CROWD + 1);
    atomic_init(&c.began, 0);
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, come_and_go, &c), 0);
    rig_wait_done(&r);
    SPIN_UNTIL(is_measured(&r) && all_parked(&r));
    /* As if it had run since, which a look through the store would note. */
    th_fiber *stored = r.sched->fibers;
    CHECK(stored != NULL);
    stored->ran = true;
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(rig_run(&r, do_nothing, NULL), 0);
        rig_wait_done(&r);
        SPIN_UNTIL(all_parked(&r));
    }
    CHECK(stored->ran);
    rig_stop(&r);
}

/* Waits until the figure is there: the worker that measures must have got so far. */
static void wait_until_seen(rig *r) {
    thrum_metrics m = THRUM_METRICS_INIT;
    do {
        sched_yield();
        CHECK_EQ(thrum_metrics_read(r->sched, THRUM_ALL_WORKERS, &m), 0);
    } while (m.stack_high_water < 64u << 10);
}

/* The worker is never idle: the one that looks lets the others run, and looks again. */
static int look_while_busy(void *arg) {
    rig *r = arg;
    static crowd c;
    unsigned count;
    atomic_init(&c.shallow, 0);
    atomic_init(&c.began, 0);
    CHECK_EQ(come_and_go(&c), 0);
    YIELD_UNTIL(deep_in_store(r, &count) == 0 && count >= 2 * TH_FIBER_CACHE_KEPT);
    return 0;
}

TEST(a_deep_crowd_goes_back_while_others_run) {
    /*
     * They go back not only when all is quiet: a worker that puts back many measures some, finds
     * one, then all.
     */
    rig r;
    if (UNDER_TSAN) {
        CHECK_SKIP("each task has a stack of its own there, and none is kept");
    }
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, look_while_busy, &r), 0);
    rig_stop(&r);
}

TEST(high_water_is_seen_of_a_few) {
    /* The figure includes those that were not among the samples. */
    rig r;
    crowd c = {0};
    if (UNDER_TSAN) {
        CHECK_SKIP("each task has a stack of its own there, and none is kept");
    }
    atomic_init(&c.shallow, CROWD);
    atomic_init(&c.began, 1);
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, come_and_go, &c), 0);
    rig_wait_done(&r);
    wait_until_seen(&r);
    rig_stop(&r);
}

static int stay_then_go_deep(void *arg) {
    crowd *c = arg;
    thrum_waitgroup_done(&c->ready);
    const int code = thrum_event_wait(&c->gate);
    if (atomic_fetch_sub(&c->began, 1) == 1) {
        go_deep();
    }
    return code;
}

TEST(high_water_is_seen_of_what_is_not_kept) {
    /*
     * A crowd leaves more stacks than the scheduler keeps, and one of it went deep. On one worker
     * that one is among those that came back last, so it is freed before the store is looked
     * through; and of three, so many places apart, two at least are no samples: each shows.
     */
    if (UNDER_TSAN) {
        CHECK_SKIP("each task has a stack of its own there, and none is kept");
    }
    for (int from_end = 40; from_end <= 50; from_end += 5) {
        rig r;
        crowd c = {.stays = stay_then_go_deep,
                   .count = TH_FIBER_CACHE_STORED + 3 * TH_FIBER_CACHE_KEPT + 8};
        atomic_init(&c.began, c.count - from_end); /* so many before the end one goes deep */
        rig_begin(&r, 0);
        CHECK_EQ(rig_run(&r, come_and_go, &c), 0);
        rig_wait_done(&r);
        wait_until_seen(&r);
        rig_stop(&r);
    }
}

static int goes_deep(void *arg) {
    (void)arg;
    go_deep();
    return 0;
}

TEST(high_water_is_seen_of_a_stack_of_its_own) {
    /* It is freed when its task ends: by then it was measured. */
    rig r;
    thrum_handle *handle;
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    attr.stack_size = 1u << 20;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, goes_deep, NULL), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    wait_until_seen(&r);
    rig_stop(&r);
}

TEST(high_water_is_seen_of_the_stack_that_a_worker_stands_on) {
    /* Its loop ran the task where it was, and nothing has waited: that stack is in no list. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, goes_deep, NULL), 0);
    wait_until_seen(&r);
    rig_stop(&r);
}

static int does_nothing(void *arg) {
    (void)arg;
    return 0;
}

TEST(what_a_bound_thread_leaves_goes_back) {
    /*
     * Its idle stacks, more than a worker takes at once, are looked through as those of workers
     * are.
     */
    rig r;
    crowd c = {.count = 60};
    thrum_attr attr = THRUM_ATTR_INIT;
    if (UNDER_TSAN) {
        CHECK_SKIP("each task has a stack of its own there, and none is kept");
    }
    rig_begin(&r, 0);
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    thrum_waitgroup_init(&c.ready, (unsigned)c.count);
    thrum_event_init(&c.gate, THRUM_EVENT_MANUAL, false);
    for (int i = 0; i < c.count; i++) {
        CHECK_EQ(thrum_go_with(&attr, stay, &c), 0);
    }
    CHECK_EQ(thrum_waitgroup_wait(&c.ready), 0);
    thrum_event_signal(&c.gate);
    CHECK_EQ(thrum_sched_unbind(), 0);
    while (!is_tidy(&r)) {
        CHECK_EQ(rig_run(&r, does_nothing, NULL), 0);
    }
    rig_stop(&r);
}

static int stay_and_tell(void *arg) {
    crowd *c = arg;
    const int code = stay(arg);
    atomic_fetch_add(&c->ended, 1);
    return code;
}

/* Whether all have ended, and a worker has begun to look through what they left. */
static bool looks_through(rig *r, crowd *c) {
    th_lock_acquire(&r->sched->fibers_lock);
    const bool looks = atomic_load(&c->ended) == c->count && !r->sched->xfibers_unmeasured;
    th_lock_release(&r->sched->fibers_lock);
    return looks;
}

TEST(a_worker_called_away_looks_through_the_rest_later) {
    /* A post that comes while a worker does so breaks it off: the store is not taken for tidy. */
    if (UNDER_TSAN) {
        CHECK_SKIP("each task has a stack of its own there, and none is kept");
    }
    for (int round = 0; round < 5; round++) {
        rig r;
        crowd c = {.count = TH_FIBER_CACHE_STORED, .stays = stay_and_tell};
        atomic_init(&c.shallow, 20);
        rig_begin(&r, 0);
        rig_go(&r, come_and_go, &c);
        SPIN_UNTIL(looks_through(&r, &c));
        rig_go(&r, does_nothing, NULL);
        rig_wait_done(&r);
        SPIN_UNTIL(is_tidy(&r));
        rig_stop(&r);
    }
}

/* The thread alone runs what there is: with workers they see to it, and to the figure. */
static void begin_alone(rig *r) {
    rig_init(r);
    r->config.workers = 0;
    rig_start(r);
    CHECK_EQ(thrum_sched_bind(r->sched), 0);
}

TEST(high_water_is_seen_of_a_bound_thread) {
    /* It is that of a task that had a stack of its own, at its end. */
    rig r;
    begin_alone(&r);
    thrum_attr attr = rig_attr(&r);
    attr.stack_size = 1u << 20;
    CHECK_EQ(thrum_go_with(&attr, goes_deep, NULL), 0);
    rig_wait_done(&r);
    wait_until_seen(&r);
    CHECK_EQ(thrum_sched_unbind(), 0);
    wait_until_seen(&r); /* it is not forgotten either */
    rig_stop(&r);
}

TEST(a_bound_thread_that_sleeps_keeps_nothing) {
    /* Without workers it looks through the idle stacks itself, before it sleeps. */
    rig r;
    crowd c = {.count = TH_FIBER_CACHE_STORED + 3 * TH_FIBER_CACHE_KEPT};
    if (UNDER_TSAN) {
        CHECK_SKIP("each task has a stack of its own there, and none is kept");
    }
    begin_alone(&r);
    atomic_init(&c.shallow, 20);
    thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_go_with(&attr, come_and_go, &c), 0);
    rig_wait_done(&r);
    thrum_sem sem;
    thrum_sem_init(&sem, 0);
    unsigned count;
    do { /* it looks as far as it gets until its deadline, and is not late for it */
        CHECK_EQ(thrum_sem_wait_until(&sem, soon()), -ETIMEDOUT);
    } while (deep_in_store(&r, &count) != 0 || count > TH_FIBER_CACHE_STORED);
    wait_until_seen(&r);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}
