/*
 * policy.c: fairness of the queues, and a mixed load on every combination of the policies' options.
 */
#include "support/support.h"
#include "support/times.h"

#include "platform/platform.h"

static void begin_one(rig *r, thrum_policy policy) {
    rig_init(r);
    r->config.workers = 1;
    r->config.policy = policy;
    rig_start(r);
}

static const thrum_policy policies[] = {THRUM_SHARDED, THRUM_FIFO, THRUM_GLOBAL};

/* ---- fairness on one worker ---- */

typedef struct endless {
    thrum_task task;
    rig *r;
    thrum_hint hint;
    atomic_bool stop;
    atomic_bool running;
} endless;

static void repost_until_stopped(thrum_task *self, void *arg) {
    endless *e = arg;
    atomic_store(&e->running, true);
    if (!atomic_load(&e->stop)) {
        CHECK_EQ(thrum_task_post_hint(e->r->sched, self, e->hint), 0);
    }
}

static void stop_endless(thrum_task *self, void *arg) {
    (void)self;
    atomic_store(&((endless *)arg)->stop, true);
}

static void begin_endless(rig *r, endless *e, thrum_hint hint, int worker) {
    e->r = r;
    e->hint = hint;
    atomic_init(&e->stop, false);
    atomic_init(&e->running, false);
    thrum_task_init(&e->task, repost_until_stopped, e);
    thrum_task_set_worker(&e->task, worker);
    CHECK_EQ(thrum_task_post(r->sched, &e->task), 0);
    SPIN_UNTIL(atomic_load(&e->running));
}

static void check_external_gets_through(thrum_hint hint, int worker) {
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        endless e;
        thrum_task stopper = THRUM_TASK_INIT(stop_endless, &e);
        begin_one(&r, policies[i]);
        begin_endless(&r, &e, hint, worker);
        CHECK_EQ(thrum_task_post(r.sched, &stopper), 0);
        rig_stop(&r);
        CHECK(atomic_load(&e.stop));
    }
}

TEST(reposting_task_lets_external_threads_in) {
    /* A task that posts itself for ever does not keep one from external threads from running. */
    check_external_gets_through(THRUM_HINT_NONE, -1);
}

TEST(task_reposted_as_next_lets_external_threads_in) {
    /* This holds through the LIFO slot. */
    check_external_gets_through(THRUM_HINT_NEXT, -1);
}

TEST(task_reposted_behind_all_lets_external_threads_in) {
    /* This holds through the inject queue. */
    check_external_gets_through(THRUM_HINT_YIELD, -1);
}

TEST(reposting_pinned_task_lets_external_threads_in) {
    /* This holds through the pinned inbox. */
    check_external_gets_through(THRUM_HINT_NONE, 0);
}

/* ---- long runs ---- */

enum { EXTERNALS = 100 };

static struct {
    rig r;
    thrum_task task;
    atomic_int posted;
    atomic_int externals; /* how many have run */
    atomic_int passed;    /* long runs that began while one was queued */
} busy;

static void run_long(thrum_task *self, void *arg) {
    (void)arg;
    atomic_fetch_add(&busy.passed, atomic_load(&busy.posted) > atomic_load(&busy.externals));
    await_passed(soon());
    if (atomic_load(&busy.externals) < EXTERNALS) {
        CHECK_EQ(thrum_task_post(busy.r.sched, self), 0);
    }
}

static void count_external(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    atomic_fetch_add(&busy.externals, 1);
}

TEST(long_runs_let_external_threads_in_sooner) {
    /*
     * The inject queue's turn comes by time where runs are long: not after 61 of them for each
     * external thread.
     */
    static thrum_task tasks[EXTERNALS];
    begin_one(&busy.r, THRUM_SHARDED);
    thrum_task_init(&busy.task, run_long, NULL);
    CHECK_EQ(thrum_task_post(busy.r.sched, &busy.task), 0);
    for (int i = 0; i < EXTERNALS; i++) {
        thrum_task_init(&tasks[i], count_external, NULL);
        CHECK_EQ(thrum_task_post(busy.r.sched, &tasks[i]), 0);
        atomic_store(&busy.posted, i + 1);
        SPIN_UNTIL(atomic_load(&busy.externals) == i + 1);
    }
    rig_stop(&busy.r);
    CHECK(atomic_load(&busy.passed) < 10 * EXTERNALS);
}

typedef struct inside {
    rig *r;
    endless e;
    thrum_task stopper;
    int worker;
} inside;

/* Posts an endless task and behind it one that stops it, both on this worker. */
static void begin_inside(thrum_task *self, void *arg) {
    inside *in = arg;
    (void)self;
    thrum_task_init(&in->e.task, repost_until_stopped, &in->e);
    thrum_task_set_worker(&in->e.task, in->worker);
    CHECK_EQ(thrum_task_post_hint(in->r->sched, &in->e.task, in->e.hint), 0);
    thrum_task_init(&in->stopper, stop_endless, &in->e);
    CHECK_EQ(thrum_task_post(in->r->sched, &in->stopper), 0);
}

static void check_queued_gets_through(thrum_hint hint, int worker, unsigned interval) {
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        inside in = {.r = &r, .worker = worker, .e = {.r = &r, .hint = hint}};
        thrum_task begin = THRUM_TASK_INIT(begin_inside, &in);
        rig_init(&r);
        r.config.workers = 1;
        r.config.policy = policies[i];
        r.config.global_interval = interval;
        rig_start(&r);
        CHECK_EQ(thrum_task_post(r.sched, &begin), 0);
        rig_stop(&r);
        CHECK(atomic_load(&in.e.stop));
    }
}

TEST(reposting_task_lets_the_local_queue_run) {
    /*
     * What stands in the worker's own queue gets its turn, whichever queue the endless task uses.
     */
    check_queued_gets_through(THRUM_HINT_NONE, -1, 61);
    check_queued_gets_through(THRUM_HINT_NEXT, -1, 61);
    check_queued_gets_through(THRUM_HINT_YIELD, -1, 61);
}

TEST(reposting_pinned_task_lets_the_local_queue_run) {
    /* This holds behind the pinned inbox, which comes first. */
    check_queued_gets_through(THRUM_HINT_NONE, 0, 61);
}

TEST(inject_queue_first_lets_the_local_queue_run) {
    /* An interval of 1 asks the inject queue before each pick; the local one is not starved. */
    check_queued_gets_through(THRUM_HINT_YIELD, -1, 1);
    check_queued_gets_through(THRUM_HINT_NONE, -1, 1);
}

typedef struct pair {
    rig *r;
    thrum_sem a, b;
    atomic_bool stop;
    atomic_int turns;
    thrum_task stopper;
} pair;

static void stop_pair(thrum_task *self, void *arg) {
    (void)self;
    atomic_store(&((pair *)arg)->stop, true);
}

static int pong(void *arg) {
    pair *p = arg;
    while (!atomic_load(&p->stop)) {
        CHECK_EQ(thrum_sem_wait(&p->b), 0);
        thrum_sem_post(&p->a);
    }
    return 0;
}

/* Fills the local queue with the stopper, then plays through the LIFO slot until it has run. */
static int ping(void *arg) {
    pair *p = arg;
    CHECK_EQ(thrum_go(pong, p), 0);
    thrum_yield();
    thrum_task_init(&p->stopper, stop_pair, p);
    CHECK_EQ(thrum_task_post(p->r->sched, &p->stopper), 0);
    while (!atomic_load(&p->stop)) {
        thrum_sem_post(&p->b);
        CHECK_EQ(thrum_sem_wait(&p->a), 0);
    }
    thrum_sem_post(&p->b); /* needed if it waits once more */
    return 0;
}

TEST(ping_pong_lets_the_local_queue_run) {
    /* Two fibers that wake each other through the LIFO slot do not starve what is queued. */
    static const unsigned limits[] = {0, 1, 3, 1000};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        for (size_t k = 0; k < COUNT_OF(limits); k++) {
            rig r;
            pair p = {.r = &r, .a = THRUM_SEM_INIT(0), .b = THRUM_SEM_INIT(0)};
            rig_init(&r);
            r.config.workers = 1;
            r.config.policy = policies[i];
            r.config.lifo_limit = limits[k];
            rig_start(&r);
            rig_go(&r, ping, &p);
            rig_stop(&r);
            CHECK(atomic_load(&p.stop));
        }
    }
}

static int ping_only(void *arg) {
    pair *p = arg;
    CHECK_EQ(thrum_go(pong, p), 0);
    while (!atomic_load(&p->stop)) {
        atomic_fetch_add(&p->turns, 1);
        thrum_sem_post(&p->b);
        CHECK_EQ(thrum_sem_wait(&p->a), 0);
    }
    thrum_sem_post(&p->b);
    return 0;
}

TEST(ping_pong_lets_external_threads_in) {
    /* Nor do they starve what comes from external threads. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        pair p = {.r = &r, .a = THRUM_SEM_INIT(0), .b = THRUM_SEM_INIT(0)};
        thrum_task stopper = THRUM_TASK_INIT(stop_pair, &p);
        begin_one(&r, policies[i]);
        rig_go(&r, ping_only, &p);
        SPIN_UNTIL(atomic_load(&p.turns) > 10);
        CHECK_EQ(thrum_task_post(r.sched, &stopper), 0);
        rig_stop(&r);
    }
}

static int pinned_stopper(void *arg) {
    atomic_store(&((pair *)arg)->stop, true);
    return 0;
}

TEST(ping_pong_lets_pinned_work_in) {
    /* Nor do they starve the worker's pinned inbox. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        pair p = {.r = &r, .a = THRUM_SEM_INIT(0), .b = THRUM_SEM_INIT(0)};
        begin_one(&r, policies[i]);
        rig_go(&r, ping_only, &p);
        SPIN_UNTIL(atomic_load(&p.turns) > 10);
        thrum_attr attr = rig_attr(&r);
        attr.flags = THRUM_PINNED;
        attr.worker = 0;
        CHECK_EQ(thrum_go_with(&attr, pinned_stopper, &p), 0);
        rig_stop(&r);
    }
}

static order seen;

static int note(void *arg) {
    order_add(&seen, (int)(intptr_t)arg);
    return 0;
}

/*
 * Makes chains of NEXT: each run puts the next one into the slot again; ordinary work stands
 * behind.
 */
static int next_chain(void *arg) {
    const int left = (int)(intptr_t)arg;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.flags = THRUM_NEXT;
    order_add(&seen, 1000);
    if (left > 0) {
        CHECK_EQ(thrum_go_with(&attr, next_chain, (void *)(intptr_t)(left - 1)), 0);
    }
    return 0;
}

static int start_next_chain(void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    (void)arg;
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_go(note, (void *)(intptr_t)i), 0);
    }
    attr.flags = THRUM_NEXT;
    CHECK_EQ(thrum_go_with(&attr, next_chain, (void *)(intptr_t)19), 0);
    return 0;
}

TEST(lifo_limit_lets_the_queue_run_once) {
    /* After three in a row through the slot one of the queue runs, then the slot goes on. */
    rig r;
    begin_one(&r, THRUM_SHARDED);
    CHECK_EQ(rig_run(&r, start_next_chain, NULL), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&seen.count), 30);
    for (int i = 0, in_row = 0, chained = 0, next = 0; i < 30; i++) {
        if (seen.seen[i] == 1000) {
            chained++;
            CHECK(++in_row <= 3 || next == 10);
        } else {
            CHECK(in_row == 3 || chained == 20);
            CHECK_EQ(seen.seen[i], next);
            next++;
            in_row = 0;
        }
    }
    rig_stop(&r);
}

/* ---- every option ---- */

typedef struct load {
    rig *r;
    atomic_int runs;
    thrum_sem sem;
    thrum_mutex mutex;
    int counter; /* protected by mutex */
    thrum_task tasks[64];
} load;

static void load_task(thrum_task *self, void *arg) {
    load *l = arg;
    (void)self;
    atomic_fetch_add(&l->runs, 1);
    thrum_sem_post(&l->sem);
}

static int load_fiber(void *arg) {
    load *l = arg;
    CHECK_EQ(thrum_sem_wait(&l->sem), 0);
    thrum_yield();
    thrum_mutex_lock(&l->mutex);
    l->counter++;
    thrum_mutex_unlock(&l->mutex);
    return 1;
}

static int load_main(void *arg) {
    load *l = arg;
    thrum_handle *handles[64];
    thrum_task *batch[32];
    int result = 0;
    thrum_attr attr = rig_attr(l->r);
    for (int i = 0; i < 64; i++) {
        attr.flags = i % 5 == 0 ? THRUM_NEXT : i % 7 == 0 ? THRUM_PINNED : 0;
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, load_fiber, l), 0);
    }
    for (int i = 0; i < 64; i++) {
        thrum_task_init(&l->tasks[i], load_task, l);
        if (i < 32) {
            CHECK_EQ(thrum_task_post_hint(l->r->sched, &l->tasks[i], (thrum_hint)(i % 3)), 0);
        } else {
            batch[i - 32] = &l->tasks[i];
        }
    }
    CHECK_EQ(thrum_task_post_batch(l->r->sched, batch, 32), 0);
    for (int i = 0; i < 64; i++) {
        CHECK_EQ(thrum_join(handles[i], &result), 0);
        CHECK_EQ(result, 1);
    }
    CHECK_EQ(l->counter, 64);
    CHECK_EQ(atomic_load(&l->runs), 64);
    return 0;
}

static void run_load(rig *r) {
    static load loads[3];
    rig_start(r);
    for (int i = 0; i < 3; i++) {
        memset(&loads[i], 0, sizeof(loads[i]));
        loads[i].r = r;
        thrum_sem_init(&loads[i].sem, 0);
        thrum_mutex_init(&loads[i].mutex);
        rig_go(r, load_main, &loads[i]);
    }
    rig_stop(r);
}

TEST(every_combination_of_knobs_works) {
    /* Workers, capacity, LIFO limit, wake hint: each is combined with each. */
    for (unsigned bits = 0; bits < 1u << 4; bits++) {
        rig r;
        rig_init(&r);
        r.config.workers = bits & 1 ? 1 : 3;
        r.config.policy = THRUM_SHARDED;
        r.config.local_capacity = bits & 2 ? 2 : 256;
        r.config.lifo_limit = bits & 4 ? 0 : 3;
        r.config.wake_hint = !(bits & 8);
        run_load(&r);
    }
}

TEST(odd_values_of_the_knobs_work) {
    /* Extremes of intervals and limits, pin-all, spinning and affinity work. */
    static th_os_cpuset cpus;
    for (int i = 0; i < 12; i++) {
        rig r;
        rig_init(&r);
        r.config.workers = 3;
        switch (i) {
        case 0:
            r.config.global_interval = 1;
            break;
        case 1:
            r.config.global_interval = UINT32_MAX;
            break;
        case 2:
            r.config.lifo_limit = UINT32_MAX;
            break;
        case 3:
            r.config.searchers_max = 1;
            break;
        case 4:
            r.config.searchers_max = 1000;
            break;
        case 5:
            r.config.spin_ns = 50000;
            break;
        case 6:
            r.config.pin_all = true;
            break;
        case 7:
            r.config.affinity = th_os_cpuset_granted(&cpus) == 0; /* else it is refused */
            break;
        case 8:
            r.config.local_capacity = 32768;
            break;
        case 9:
            r.config.workers = 40;
            break;
        case 10:
            r.config.stack_size = 16u << 10;
            break;
        default:
            r.config.pin_all = true;
            r.config.local_capacity = 2;
            break;
        }
        run_load(&r);
        r.config.policy = THRUM_GLOBAL;
        run_load(&r);
        r.config.policy = THRUM_FIFO;
        run_load(&r);
    }
}

TEST(every_block_of_the_ready_queue_works) {
    /*
     * Blocks range from 1, with which the original livelocks, to more than there is work; any
     * number works.
     */
    static const unsigned blocks[] = {1, 2, 3, 7, 64, 1000, 1u << 16, UINT32_MAX};
    for (unsigned workers = 1; workers <= 4; workers++) {
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            rig r;
            rig_init(&r);
            r.config.workers = workers;
            r.config.policy = THRUM_FIFO;
            r.config.fifo_block = blocks[i];
            run_load(&r);
        }
    }
}
