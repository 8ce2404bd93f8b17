/*
 * tasks.c: marl's tests of its scheduler, restated: tasks run where they may, all of them before
 * stop returns, and schedulers live side by side.
 */
/* matrix: bound */
#include "support/sync/bound.h"
#include "support/times.h"

enum { MANY = 1000 };

/* A count for this build. */
#define N SCALED(MANY)

/* ---- all ends before stop returns ---- */

typedef struct crowd {
    rig r; /* first: the allocator's ctx */
    thrum_event open;
    atomic_int begun, ended;
} crowd;

static int passes(void *arg) {
    crowd *c = arg;
    atomic_fetch_add(&c->begun, 1);
    atomic_fetch_add(&c->ended, 1);
    return 0;
}

static int blocks(void *arg) {
    crowd *c = arg;
    atomic_fetch_add(&c->begun, 1);
    CHECK_EQ(thrum_event_wait(&c->open), 0);
    atomic_fetch_add(&c->ended, 1);
    return 0;
}

static int opens_late(void *arg) {
    crowd *c = arg;
    nap();
    thrum_event_signal(&c->open);
    return 0;
}

static void crowd_begin(crowd *c) {
    bound_begin(&c->r);
    thrum_event_init(&c->open, THRUM_EVENT_MANUAL, false);
}

TEST(a_thousand_pending_tasks_run_before_stop_returns) {
    /* Without workers none begins before the stop. Stop unbinds its caller. */
    static crowd c;
    crowd_begin(&c);
    for (int i = 0; i < N; i++) {
        rig_go(&c.r, passes, &c);
    }
    if (thrum_sched_parallelism(c.r.sched) == 0) {
        CHECK_EQ(atomic_load(&c.begun), 0);
    }
    rig_stop(&c.r);
    CHECK_EQ(atomic_load(&c.ended), N);
    CHECK(thrum_sched_current() == NULL);
}

TEST(a_thousand_blocked_fibers_end_before_stop_returns) {
    /* The task that lets them go on does so while stop waits. */
    static crowd c;
    crowd_begin(&c);
    for (int i = 0; i < N; i++) {
        rig_go(&c.r, blocks, &c);
    }
    bound_settle(&c.r);
    CHECK_EQ(atomic_load(&c.begun), N);
    CHECK_EQ(atomic_load(&c.ended), 0);
    rig_go(&c.r, opens_late, &c);
    rig_stop(&c.r);
    CHECK_EQ(atomic_load(&c.ended), N);
}

TEST(unbind_runs_what_is_tied_to_the_thread) {
    /* Without workers unbind runs all, with workers the pinned tasks; both also if they block. */
    static crowd c;
    crowd_begin(&c);
    thrum_attr attr = rig_attr(&c.r);
    attr.flags = THRUM_PINNED;
    for (int i = 0; i < N; i++) {
        CHECK_EQ(thrum_go_with(&attr, blocks, &c), 0);
    }
    rig_go(&c.r, opens_late, &c);
    bound_leave();
    if (bound_cell()) {
        CHECK_EQ(atomic_load(&c.ended), N);
    }
    rig_stop(&c.r);
    CHECK_EQ(atomic_load(&c.ended), N);
}

/* ---- where they run ---- */

typedef struct homes {
    crowd c;
    pthread_t main;
    atomic_int at_home; /* ran on the main thread */
} homes;

static int stays(void *arg) {
    homes *h = arg;
    const pthread_t before = thread_now();
    const int worker = thrum_worker_id();
    CHECK_EQ(blocks(&h->c), 0);
    CHECK(pthread_equal(before, thread_now()));
    thrum_yield();
    nap();
    CHECK(pthread_equal(before, thread_now()));
    CHECK_EQ(worker, thrum_worker_id());
    if (pthread_equal(before, h->main)) {
        CHECK_EQ(worker, -1);
        atomic_fetch_add(&h->at_home, 1);
    }
    return 0;
}

TEST(a_thousand_pinned_fibers_go_on_on_their_thread) {
    /* Half of them name a worker, if there is one; the others are pinned to the bound thread. */
    static homes h;
    crowd_begin(&h.c);
    h.main = thread_now();
    const int workers = (int)thrum_sched_parallelism(h.c.r.sched);
    thrum_attr attr = rig_attr(&h.c.r);
    attr.flags = THRUM_PINNED;
    for (int i = 0; i < N; i++) {
        attr.worker = workers > 0 && i % 2 == 0 ? i % workers : -1;
        CHECK_EQ(thrum_go_with(&attr, stays, &h), 0);
    }
    bound_settle(&h.c.r);
    CHECK_EQ(atomic_load(&h.c.begun), N);
    thrum_event_signal(&h.c.open);
    bound_end(&h.c.r);
    CHECK_EQ(atomic_load(&h.c.ended), N);
    CHECK_EQ(atomic_load(&h.at_home), !bound_cell() ? 0 : workers > 0 ? N - (N + 1) / 2 : N);
}

static void *is_bound_and_stays(void *arg) {
    homes *h = arg;
    homes mine = {.main = thread_now()};
    thrum_attr attr = rig_attr(&h->c.r);
    thrum_event_init(&mine.c.open, THRUM_EVENT_MANUAL, false);
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_sched_bind(h->c.r.sched), 0);
    CHECK_EQ(thrum_go_with(&attr, stays, &mine), 0);
    CHECK_EQ(blocks(&h->c), 0);
    CHECK(pthread_equal(mine.main, thread_now()));
    thrum_event_signal(&mine.c.open);
    CHECK_EQ(thrum_sched_unbind(), 0);
    CHECK_EQ(atomic_load(&mine.at_home), 1);
    return NULL;
}

TEST(a_thousand_threads_bound_at_once_go_on_as_themselves) {
    /* Each thread waits beside a pinned task of its own, which runs on that thread alone. */
    static homes h;
    static pthread_t threads[MANY];
    const int n = N;
    crowd_begin(&h.c);
    for (int i = 0; i < n; i++) {
        start_or_skip(&threads[i], is_bound_and_stays, &h);
    }
    while (atomic_load(&h.c.begun) < n) {
        nap(); /* all are bound at once, and wait */
    }
    thrum_event_signal(&h.c.open);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    bound_end(&h.c.r);
    CHECK_EQ(atomic_load(&h.c.ended), n);
}

static int looks_where(void *arg) {
    homes *h = arg;
    for (int i = 0; i < 3; i++) {
        if (pthread_equal(h->main, thread_now())) {
            atomic_fetch_add(&h->at_home, 1);
        }
        thrum_yield();
    }
    atomic_fetch_add(&h->c.ended, 1);
    return 0;
}

TEST(tasks_run_on_the_bound_thread_only_without_workers) {
    /* Without workers the bound thread runs all; with workers none, whatever it waits for. */
    static homes h;
    crowd_begin(&h.c);
    h.main = thread_now();
    for (int i = 0; i < N / 2; i++) {
        rig_go(&h.c.r, looks_where, &h);
        thrum_yield();
    }
    bound_run_all(&h.c.r, N / 2, looks_where, &h);
    nap();
    const bool none = thrum_sched_parallelism(h.c.r.sched) > 0;
    bound_end(&h.c.r);
    CHECK_EQ(atomic_load(&h.c.ended), N / 2 * 2);
    CHECK_EQ(atomic_load(&h.at_home), none ? 0 : N / 2 * 2 * 3);
}

/* ---- hooks ---- */

typedef struct hooked {
    rig r;                  /* first: the allocator's ctx */
    atomic_int state[64];   /* of each worker: 0, 1 started, 2 stopped */
    atomic_int most, tasks; /* the highest number seen, and one */
    pthread_t thread[64];
} hooked;

static void on_start(void *ctx, int worker) {
    hooked *h = ctx;
    CHECK(worker >= 0 && worker < 64);
    h->thread[worker] = thread_now();
    CHECK_EQ(atomic_fetch_add(&h->state[worker], 1), 0);
    atomic_fetch_add(&h->most, 1);
}

static void on_stop(void *ctx, int worker) {
    hooked *h = ctx;
    CHECK(pthread_equal(h->thread[worker], thread_now()));
    CHECK_EQ(atomic_fetch_add(&h->state[worker], 1), 1);
}

static int runs_between(void *arg) {
    hooked *h = arg;
    const int worker = thrum_worker_id();
    if (worker >= 0) {
        CHECK_EQ(atomic_load(&h->state[worker]), 1);
        CHECK(pthread_equal(h->thread[worker], thread_now()));
    }
    atomic_fetch_add(&h->tasks, 1);
    return 0;
}

TEST(hooks_surround_all_that_a_worker_runs) {
    /* Hooks run once a worker, on its thread, and not for threads that are bound. */
    static hooked h;
    rig_init(&h.r);
    h.r.config.worker_start = on_start;
    h.r.config.worker_stop = on_stop;
    rig_start(&h.r);
    bound_enter(&h.r);
    const int workers = (int)thrum_sched_parallelism(h.r.sched);
    bound_run_all(&h.r, N, runs_between, &h);
    bound_end(&h.r);
    CHECK_EQ(atomic_load(&h.tasks), N);
    CHECK_EQ(atomic_load(&h.most), workers);
    for (int i = 0; i < 64; i++) {
        CHECK_EQ(atomic_load(&h.state[i]), i < workers ? 2 : 0);
    }
}

/* ---- side by side ---- */

typedef struct neighbour {
    rig r; /* first: the allocator's ctx */
    thrum_sem done;
    atomic_int ran;
} neighbour;

/* Runs what is posted to a neighbour that has no workers. */
static void *lives_next_door(void *arg) {
    neighbour *b = arg;
    CHECK_EQ(thrum_sched_bind(b->r.sched), 0);
    CHECK_EQ(thrum_sem_wait(&b->done), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    return NULL;
}

static int next_door(void *arg) {
    neighbour *b = arg;
    CHECK(thrum_sched_current() == b->r.sched);
    thrum_yield();
    atomic_fetch_add(&b->ran, 1);
    return 7;
}

static int visits(void *arg) {
    neighbour *b = arg;
    const thrum_attr attr = rig_attr(&b->r);
    thrum_handle *handle;
    int result = 0;
    CHECK(thrum_sched_current() != b->r.sched);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, next_door, b), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 7);
    return 0;
}

TEST(tasks_post_to_a_scheduler_next_door) {
    /* Both schedulers are as the cell says; the other one ends first. */
    rig a;
    static neighbour b;
    pthread_t thread;
    bound_begin(&a);
    rig_begin(&b.r, 0);
    thrum_sem_init(&b.done, 0);
    CHECK_EQ(pthread_create(&thread, NULL, lives_next_door, &b), 0);
    bound_run_all(&a, 100, visits, &b);
    thrum_sem_post(&b.done);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(atomic_load(&b.ran), 100);
    rig_stop(&b.r);
    bound_end(&a);
}

/* ---- calls that block the thread ---- */

static int calls_in_place(void *arg) {
    pthread_t *caller = arg;
    CHECK(!pthread_equal(*caller, thread_now()));
    return 5;
}

static int offloads(void *arg) {
    pthread_t caller = thread_now();
    int result = 0;
    (void)arg;
    CHECK_EQ(thrum_blocking(calls_in_place, &caller, &result), 0);
    CHECK_EQ(result, 5);
    return 0;
}

TEST(a_hundred_blocking_calls) {
    /* Each call runs on another thread than its caller's. */
    rig r;
    bound_begin(&r);
    bound_run_all(&r, 100, offloads, NULL);
    bound_end(&r);
}
