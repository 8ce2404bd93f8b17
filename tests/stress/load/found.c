/*
 * found.c: bugs that were found by reading (docs/history/found.md): each test fails without its
 * fix.
 *
 * No test here waits for a clock: what must not starve is held against how often other work ran
 * meanwhile, and memory that was freed is made unreadable.
 */

#include "core/state/handle.h"
#include "core/state/worker.h"
#include "support/mapped.h"
#include "support/support.h"

static const thrum_policy policies[] = {THRUM_SHARDED, THRUM_GLOBAL};

static void begin_as(rig *r, unsigned workers, thrum_policy policy) {
    rig_init(r);
    r->config.workers = workers;
    r->config.workers_spare = 0; /* some count who is parked, and idle spares are, too */
    r->config.policy = policy;
    rig_start(r);
}

/* ---- yields ---- */

#define POLLS_MOST 1000000 /* a starved one waited for tens of millions */

static atomic_bool seen_flag;
static atomic_int polling;
static atomic_bool counting;

static int poll_for_flag(void *arg) {
    (void)arg;
    long polls = 0;
    atomic_fetch_add(&polling, 1);
    while (!atomic_load(&seen_flag)) {
        thrum_yield();
        polls += atomic_load(&counting);
        CHECK(polls < POLLS_MOST);
    }
    return 0;
}

static int yield_and_set_flag(void *arg) {
    (void)arg;
    SPIN_UNTIL(!atomic_load(&seen_flag));
    thrum_yield();
    atomic_store(&seen_flag, true);
    return 0;
}

static int start_pinned_beside_pollers(void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    (void)arg;
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_go(poll_for_flag, NULL), 0);
    CHECK_EQ(thrum_go(poll_for_flag, NULL), 0);
    CHECK_EQ(thrum_go_with(&attr, yield_and_set_flag, NULL), 0);
    return 0;
}

TEST(pinned_fiber_that_yields_is_resumed_beside_two_pollers) {
    /* On one worker, fibers that poll by yielding do not pass it for ever. */
    atomic_store(&counting, true);
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        begin_as(&r, 1, policies[i]);
        for (int k = 0; k < 20; k++) {
            atomic_store(&seen_flag, false);
            CHECK_EQ(rig_run(&r, start_pinned_beside_pollers, NULL), 0);
            rig_wait_done(&r);
        }
        rig_stop(&r);
    }
}

static int set_flag(void *arg) {
    (void)arg;
    atomic_store(&seen_flag, true);
    return 0;
}

static int start_behind_and_spin(void *arg) {
    const int behind = *(int *)arg;
    SPIN_UNTIL(atomic_load(&polling) == 1); /* the other worker has its poller */
    for (int i = 0; i < behind; i++) {
        CHECK_EQ(thrum_go(set_flag, NULL), 0);
    }
    atomic_store(&counting, true);
    SPIN_UNTIL(atomic_load(&seen_flag));
    return 0;
}

TEST(worker_whose_fiber_polls_takes_over_what_waits_behind_a_long_task) {
    /* Two workers: one task queues others and keeps its worker; the other worker only polls.
     */
    static int behind[] = {1, 2, 100};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        begin_as(&r, 2, policies[i]);
        for (int k = 0; k < SCALED(90); k++) {
            atomic_store(&seen_flag, false);
            atomic_store(&counting, false);
            atomic_store(&polling, 0);
            rig_go(&r, start_behind_and_spin, &behind[k % 3]);
            rig_go(&r, poll_for_flag, NULL);
            rig_wait_done(&r);
        }
        rig_stop(&r);
    }
}

/* ---- streams of new tasks ---- */

#define CHAINS 100
#define CHAINED_MOST 5000 /* fibers at a time; without the fix they are tens of thousands */

typedef struct chains {
    atomic_long begun, alive;
    atomic_bool over;
    long total;
} chains;

static chains chained;

static int start_another_and_yield(void *arg) {
    if (atomic_load(&chained.over) || atomic_fetch_add(&chained.begun, 1) >= chained.total) {
        return 0;
    }
    CHECK(atomic_fetch_add(&chained.alive, 1) < CHAINED_MOST);
    CHECK_EQ(thrum_go(start_another_and_yield, arg), 0);
    thrum_yield();
    atomic_fetch_sub(&chained.alive, 1);
    return 0;
}

static int start_chains(void *arg) {
    for (int i = 0; i < CHAINS; i++) {
        CHECK_EQ(thrum_go(start_another_and_yield, arg), 0);
    }
    return 0;
}

static void reset_chains(long total) {
    atomic_store(&chained.begun, 0);
    atomic_store(&chained.alive, 0);
    atomic_store(&chained.over, false);
    chained.total = total;
}

TEST(tasks_that_start_another_and_yield_do_not_pile_up) {
    /* Fibers come back from their yields as fast as new ones begin. */
    for (size_t i = 0; i < 2 * COUNT_OF(policies); i++) {
        rig r;
        reset_chains(SCALED(200000));
        begin_as(&r, (unsigned)i / 2 + 1, policies[i % 2]);
        rig_go(&r, start_chains, NULL);
        rig_wait_done(&r);
        CHECK(atomic_load(&chained.begun) >= chained.total);
        CHECK_EQ(atomic_load(&chained.alive), 0);
        rig_stop(&r);
    }
}

static void end_chains(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_store(&chained.over, true);
}

TEST(posts_from_external_threads_run_beside_tasks_that_start_another_and_yield) {
    /* A stream of new tasks and yields on one worker does not hold the inject queue off. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        thrum_task task = THRUM_TASK_INIT(end_chains, NULL);
        reset_chains(LONG_MAX);
        begin_as(&r, 1, policies[i]);
        rig_go(&r, start_chains, NULL);
        SPIN_UNTIL(atomic_load(&chained.begun) > 1000);
        CHECK_EQ(thrum_task_post(r.sched, &task), 0);
        const long most = atomic_load(&chained.begun) + 500000;
        SPIN_UNTIL(atomic_load(&chained.over) || atomic_load(&chained.begun) > most);
        CHECK(atomic_load(&chained.over));
        rig_stop(&r);
    }
}

#define BATCH 300 /* more than a local queue holds */
#define BATCHES_MOST 300

typedef struct batches {
    rig *r;
    atomic_bool seeded, posted, over;
    int count;
} batches;

typedef struct batched {
    thrum_task task;
    batches *b;
    bool first;
} batched;

static void run_batched(thrum_task *self, void *arg);

static void post_batch(batches *b) {
    thrum_task *list[BATCH];
    for (int i = 0; i < BATCH; i++) {
        batched *t = malloc(sizeof(*t));
        CHECK(t != NULL);
        t->b = b;
        t->first = i == 0;
        thrum_task_init(&t->task, run_batched, t);
        list[i] = &t->task;
    }
    CHECK_EQ(thrum_task_post_batch(b->r->sched, list, BATCH), 0);
}

/* The first task of each batch posts the next batch, while the rest is queued before that. */
static void run_batched(thrum_task *self, void *arg) {
    batched *t = arg;
    batches *b = t->b;
    const bool first = t->first;
    (void)self;
    free(t);
    if (first && !atomic_load(&b->over)) {
        CHECK(++b->count < BATCHES_MOST);
        post_batch(b);
    }
}

static int seed_batches(void *arg) {
    batches *b = arg;
    post_batch(b);
    atomic_store(&b->seeded, true);
    SPIN_UNTIL(atomic_load(&b->posted));
    return 0;
}

static void end_batches(thrum_task *self, void *arg) {
    (void)self;
    atomic_store(&((batches *)arg)->over, true);
}

TEST(posts_from_external_threads_run_beside_a_stream_of_batches) {
    /* Batches that overflow the local queue one after the other leave the inject queue its turn. */
    rig r;
    batches b = {.r = &r};
    thrum_task task = THRUM_TASK_INIT(end_batches, &b);
    begin_as(&r, 1, THRUM_SHARDED);
    rig_go(&r, seed_batches, &b);
    SPIN_UNTIL(atomic_load(&b.seeded));
    CHECK_EQ(thrum_task_post(r.sched, &task), 0);
    atomic_store(&b.posted, true);
    rig_stop(&r);
    CHECK(atomic_load(&b.over));
}

/* ---- the end of a scheduler ---- */

static void begin_mapped(rig *r, unsigned workers) {
    rig_init(r);
    r->config.workers = workers;
    mapped_init(r);
    rig_start(r);
}

static void *wait_while_it_stops(void *seat) {
    const crew_seat *s = seat;
    thrum_sched *sched = ((rig *)s->arg)->sched;
    CHECK_EQ(s->index % 2 ? thrum_sched_wait_idle(sched, THRUM_FOREVER)
                          : thrum_sched_wait_done(sched, THRUM_FOREVER),
             0);
    return NULL;
}

static int hold_worker(void *arg) {
    SPIN_UNTIL(atomic_load((atomic_bool *)arg));
    return 0;
}

TEST(threads_wait_while_another_stops) {
    /* A thread in wait_done or wait_idle when stop begins is out of it before anything is freed. */
    for (int i = 0; i < SCALED(600); i++) {
        rig r;
        crew c;
        atomic_bool go_on = false;
        begin_mapped(&r, 1 + (unsigned)i % 2);
        thrum_sched *sched = r.sched;
        rig_go(&r, hold_worker, &go_on);
        crew_start(&c, 3, wait_while_it_stops, &r);
        SPIN_UNTIL(th_load_acquire(&sched->xquiesce_waiters) == 3);
        atomic_store(&go_on, true);
        watchdog_remove(&r);
        CHECK_EQ(thrum_sched_stop(sched), 0);
        crew_join(&c);
    }
}

typedef struct late_posts {
    thrum_sched *sched;
    atomic_bool known, go, over;
    int delay;
} late_posts;

typedef struct late_task {
    thrum_task task;
    atomic_bool ran;
} late_task;

static void note_late(thrum_task *self, void *arg) {
    (void)self;
    atomic_store(&((late_task *)arg)->ran, true);
}

/* One thread has posted before; the other's first post is the one that races with stop. */
static void *post_while_it_stops(void *seat) {
    const crew_seat *s = seat;
    late_posts *l = s->arg;
    late_task t;
    if (s->index == 1) {
        SPIN_UNTIL(atomic_load(&l->go));
        for (volatile int i = 0; i < l->delay; i++) {
        }
    }
    do {
        atomic_init(&t.ran, false);
        thrum_task_init(&t.task, note_late, &t);
        const int error = thrum_task_post(l->sched, &t.task);
        if (error == 0) {
            SPIN_UNTIL(atomic_load(&t.ran));
        } else {
            CHECK_EQ(error, -ESHUTDOWN);
        }
        if (s->index == 0) {
            atomic_store(&l->known, true);
        }
    } while (!atomic_load(&l->over));
    return NULL;
}

TEST(posts_from_external_threads_that_meet_the_end_of_stop_are_refused) {
    /* A post returns 0 or -ESHUTDOWN, from threads that the scheduler knows and from new ones;
     * nothing that was freed is touched. */
    for (int i = 0; i < SCALED(1000); i++) {
        rig r;
        crew c;
        begin_mapped(&r, 1);
        late_posts l = {.sched = r.sched, .delay = i * 37 % 20000};
        crew_start(&c, 2, post_while_it_stops, &l);
        SPIN_UNTIL(atomic_load(&l.known));
        watchdog_remove(&r);
        atomic_store(&l.go, true);
        CHECK_EQ(thrum_sched_stop(l.sched), 0);
        atomic_store(&l.over, true);
        crew_join(&c);
    }
}

/* ---- tasks in the place of others ---- */

typedef struct place {
    rig *r;
    thrum_sem ran;
    bool heap;
    int runs;
} place;

static void run_in_place(thrum_task *self, void *arg) {
    (void)self;
    thrum_sem_post(&((place *)arg)->ran);
}

static void post_anew_twice(thrum_task *self, void *arg) {
    place *p = arg;
    thrum_task *anew = self;
    if (p->heap) {
        free(self);
        anew = malloc(sizeof(*anew)); /* the same address, most likely */
        CHECK(anew != NULL);
    }
    thrum_task_init(anew, run_in_place, p);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_task_post(p->r->sched, anew), 0);
        CHECK_EQ(thrum_sem_wait(&p->ran), 0);
        p->runs++;
    }
    free(anew);
}

TEST(task_made_in_the_place_of_the_running_ones_is_posted_again_and_again) {
    /* It is never taken for the task whose body runs, which could run again only after that. */
    for (int i = 0; i < 8; i++) {
        rig r;
        place p = {.r = &r, .ran = THRUM_SEM_INIT(0), .heap = i % 2};
        begin_as(&r, (unsigned)i / 4 + 1, policies[i / 2 % 2]);
        thrum_task *task = malloc(sizeof(*task));
        CHECK(task != NULL);
        thrum_task_init(task, post_anew_twice, &p);
        CHECK_EQ(thrum_task_post(r.sched, task), 0);
        rig_stop(&r);
        CHECK_EQ(p.runs, 3);
    }
}

/* ---- wakes ---- */

static void note_run(thrum_task *self, void *arg) {
    (void)self;
    atomic_store((atomic_bool *)arg, true);
}

static void run_a_task(rig *r) {
    atomic_bool ran = false;
    thrum_task task = THRUM_TASK_INIT(note_run, &ran);
    CHECK_EQ(thrum_task_post(r->sched, &task), 0);
    SPIN_UNTIL(atomic_load(&ran));
}

/* `parked` workers sleep, none searches, and the stack's top is a worker that is awake. */
static bool is_stale(const rig *r, unsigned parked) {
    const uint64_t word = th_load_acquire(&r->sched->xpark);
    const unsigned top = th_park_top(word);
    return th_park_parked(word) == parked && th_park_sentinel(word) != 0 &&
           th_park_searchers(word) == 0 && top != 0 &&
           !(th_load_acquire(&r->sched->workers[top - 1].xsleep) & TH_SLEEP_PARKED);
}

static void wait_parked(const rig *r, unsigned parked) {
    SPIN_UNTIL(th_park_parked(th_load_acquire(&r->sched->xpark)) == parked &&
               th_park_searchers(th_load_acquire(&r->sched->xpark)) == 0);
}

TEST(stale_entry_in_the_idle_stack_swallows_no_wake) {
    /* Workers that were woken for pinned work leave entries behind; a post then wakes the sentinel.
     * Its own round comes only after years, so a wake that is swallowed hangs the test. */
    int stale = 0;
    for (int i = 0; i < SCALED(100); i++) {
        rig r;
        holder first, second;
        rig_init(&r);
        r.config.workers = 3;
        r.config.workers_spare = 0;
        r.config.rescue_ns = INT64_MAX;
        rig_start(&r);
        wait_parked(&r, 3);
        holder_begin(&r, &first, 0);
        run_a_task(&r); /* the worker that runs it is the sentinel afterwards */
        wait_parked(&r, 2);
        holder_begin(&r, &second, 1 + i % 2);
        wait_parked(&r, 1);
        stale += is_stale(&r, 1);
        run_a_task(&r);
        holder_end(&second);
        holder_end(&first);
        rig_stop(&r);
    }
    if (stale == 0) {
        CHECK_SKIP("no entry was stale");
    }
}

/* ---- the global policy's objects ---- */

static atomic_int small_runs;

static int run_small(void *arg) {
    (void)arg;
    atomic_fetch_add(&small_runs, 1);
    return 0;
}

/* Starts small tasks, so that objects go round between threads, fibers and both workers. */
static int run_and_start_small(void *arg) {
    thrum_attr attr = rig_attr(arg);
    attr.flags = THRUM_PINNED;
    attr.worker = atomic_fetch_add(&small_runs, 1) % 2;
    CHECK_EQ(thrum_go_with(&attr, run_small, NULL), 0);
    CHECK_EQ(thrum_go(run_small, NULL), 0);
    return 0;
}

static void *start_small_external(void *seat) {
    rig *r = ((crew_seat *)seat)->arg;
    thrum_attr attr = rig_attr(r);
    for (int i = 0; i < SCALED(4000); i++) {
        thrum_handle *handle = NULL;
        attr.flags = i % 3 == 0 ? THRUM_PINNED : 0;
        attr.worker = i % 3 == 0 ? i % 2 : -1;
        CHECK_EQ(thrum_spawn_with(&handle, &attr, run_and_start_small, r), 0);
        if (i % 4 == 0) {
            CHECK_EQ(thrum_join(handle, NULL), 0);
        } else {
            CHECK_EQ(thrum_detach(handle), 0);
        }
        CHECK_EQ(thrum_go_with(&attr, run_and_start_small, r), 0);
    }
    return NULL;
}

TEST(objects_of_the_global_queue_are_reused_by_external_threads) {
    /* Threads take the objects of tasks that have run; the thread sanitizer finds no race. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        crew c;
        atomic_store(&small_runs, 0);
        begin_as(&r, 2, policies[i]);
        crew_start(&c, 2, start_small_external, &r);
        crew_join(&c);
        rig_wait_done(&r);
        CHECK_EQ(atomic_load(&small_runs), 2 * 2 * 3 * SCALED(4000));
        rig_stop(&r);
    }
}
