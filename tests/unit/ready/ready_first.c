/*
 * ready_first.c: ready fibers go on before tasks that have not begun, and do not keep them from
 * beginning for ever.
 */
/* wrap: th_os_ticks */
#include "support/sync/actors.h"
#include "support/times.h"

/*
 * Where the order of one worker is tested, its clock of ticks stands, and the pick that takes what
 * has not begun comes once in a million: both would let a task begin in between.
 */
static _Atomic uint64_t ticks_stand_at;
static _Atomic uint64_t leap; /* or the clock leaps: each look adds so many */

uint64_t __real_th_os_ticks(void);
uint64_t __wrap_th_os_ticks(void);

uint64_t __wrap_th_os_ticks(void) {
    const uint64_t at = atomic_fetch_add(&ticks_stand_at, atomic_load(&leap));
    return at ? at : __real_th_os_ticks();
}

static void stop_ticks(void) {
    atomic_store(&ticks_stand_at, __real_th_os_ticks());
}

static void start_ticks(void) {
    atomic_store(&leap, 0);
    atomic_store(&ticks_stand_at, 0);
}

static const thrum_policy policies[] = {THRUM_SHARDED, THRUM_FIFO, THRUM_GLOBAL};

/* The place of the fibers and of the tasks; MIXED: only the tasks are pinned. */
typedef enum placing { LOOSE, PINNED, MIXED, BOUND, ALONE, PLACES } placing;

typedef struct play {
    rig r;
    holder h;
    placing place;
    thrum_sem sem;
    thrum_time until;
    atomic_int waiting;
    order log;
} play;

/* The main thread is bound; ALONE: without workers. */
static bool is_bound(const play *p) {
    return p->place == BOUND || p->place == ALONE;
}

static void begin(play *p, thrum_policy policy, placing place, unsigned interval) {
    *p = (play){.place = place, .sem = THRUM_SEM_INIT(0)};
    rig_init(&p->r);
    p->r.config.workers = place == ALONE ? 0 : place == BOUND ? 2 : 1;
    p->r.config.policy = policy;
    p->r.config.global_interval = interval;
}

static void start(play *p) {
    rig_start(&p->r);
    if (is_bound(p)) {
        CHECK_EQ(thrum_sched_bind(p->r.sched), 0);
    }
}

static void begin_stopped(play *p, thrum_policy policy, placing place, bool wake_hint) {
    begin(p, policy, place, 1000000);
    p->r.config.wake_hint = wake_hint;
    start(p);
}

static void end(play *p) {
    if (is_bound(p)) {
        CHECK_EQ(thrum_sched_unbind(), 0);
    }
    rig_stop(&p->r);
    start_ticks();
}

/* Without workers a task is tied to the bound thread anyway. */
static thrum_attr attr_of(const play *p, bool ready) {
    thrum_attr attr = rig_attr(&p->r);
    const bool pinned = p->place == PINNED || p->place == BOUND || (p->place == MIXED && !ready);
    attr.flags = pinned ? THRUM_PINNED : 0;
    attr.worker = pinned && p->place != BOUND ? 0 : -1;
    return attr;
}

static void go_ready(const play *p, thrum_fn fn, void *arg) {
    const thrum_attr attr = attr_of(p, true);
    CHECK_EQ(thrum_go_with(&attr, fn, arg), 0);
}

static void go_new(const play *p, thrum_fn fn, void *arg) {
    const thrum_attr attr = attr_of(p, false);
    CHECK_EQ(thrum_go_with(&attr, fn, arg), 0);
}

static void run(play *p, thrum_fn fn, void *arg) {
    const thrum_attr attr = attr_of(p, true);
    thrum_handle *handle;
    int result = -1;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, arg), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 0);
}

/* A bound thread runs nothing meanwhile anyway. */
static void hold(play *p) {
    if (!is_bound(p)) {
        holder_begin(&p->r, &p->h, -1);
    }
}

static void let_go(play *p) {
    if (!is_bound(p)) {
        holder_end(&p->h);
    }
}

static void await_waiting(play *p, int n) {
    if (is_bound(p)) {
        CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
    }
    SPIN_UNTIL(SEM_WAITING(&p->sem) == n);
}

/* ---- the order of one worker ---- */

enum { NEW = 100, READY = 5 };

static int new_task(void *arg) {
    play *p = arg;
    order_add(&p->log, NEW);
    return 0;
}

static int waits_for_sem(void *arg) {
    play *p = arg;
    atomic_fetch_add(&p->waiting, 1);
    CHECK_EQ(thrum_sem_wait(&p->sem), 0);
    order_add(&p->log, READY);
    return 0;
}

static int waits_for_time(void *arg) {
    play *p = arg;
    atomic_fetch_add(&p->waiting, 1);
    CHECK_EQ(thrum_sem_wait_until(&p->sem, p->until), -ETIMEDOUT);
    order_add(&p->log, READY);
    return 0;
}

/* The first entries are those of the ready fibers. */
static void check_ready_first(play *p, int ready, int all) {
    CHECK_EQ(atomic_load(&p->log.count), all);
    for (int i = 0; i < all; i++) {
        CHECK_EQ(atomic_load(&p->log.seen[i]), i < ready ? READY : NEW);
    }
}

enum { FIBERS = 4, TASKS = 20 };

/* Some wait, others are queued, and then the first are made ready. */
static int queue_and_wake(void *arg) {
    play *p = arg;
    for (int i = 0; i < FIBERS; i++) {
        go_ready(p, waits_for_sem, p);
    }
    YIELD_UNTIL(SEM_WAITING(&p->sem) == FIBERS);
    for (int i = 0; i < TASKS; i++) {
        go_new(p, new_task, p);
    }
    for (int i = 0; i < FIBERS; i++) {
        thrum_sem_post(&p->sem);
    }
    return 0;
}

TEST(woken_fibers_go_on_before_queued_tasks_begin) {
    /* This holds on each policy and in each place, however the waker places them. */
    for (size_t i = 0; i < 2 * COUNT_OF(policies) * PLACES; i++) {
        play p;
        stop_ticks();
        begin_stopped(&p, policies[i / 2 / PLACES], (placing)(i / 2 % PLACES), i % 2);
        run(&p, queue_and_wake, &p);
        end(&p);
        check_ready_first(&p, FIBERS, FIBERS + TASKS);
    }
}

static void *wakes(void *arg) {
    play *p = arg;
    for (int i = 0; i < FIBERS; i++) {
        thrum_sem_post(&p->sem);
    }
    return NULL;
}

TEST(fibers_woken_by_a_thread_go_on_before_queued_tasks_begin) {
    /* They do not stand behind the worker's own queue. */
    for (size_t i = 0; i < COUNT_OF(policies) * PLACES; i++) {
        play p;
        pthread_t thread;
        begin_stopped(&p, policies[i / PLACES], (placing)(i % PLACES), true);
        for (int k = 0; k < FIBERS; k++) {
            go_ready(&p, waits_for_sem, &p);
        }
        await_waiting(&p, FIBERS);
        hold(&p);
        stop_ticks();
        for (int k = 0; k < TASKS; k++) {
            go_new(&p, new_task, &p);
        }
        CHECK_EQ(pthread_create(&thread, NULL, wakes, &p), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        let_go(&p);
        end(&p);
        check_ready_first(&p, FIBERS, FIBERS + TASKS);
    }
}

TEST(fibers_whose_deadline_has_passed_go_on_before_queued_tasks_begin) {
    /* All are overdue when the worker is free again. */
    for (size_t i = 0; i < COUNT_OF(policies) * PLACES; i++) {
        play p;
        begin_stopped(&p, policies[i / PLACES], (placing)(i % PLACES), true);
        p.until = soon();
        for (int k = 0; k < FIBERS; k++) {
            go_ready(&p, waits_for_time, &p);
        }
        if (is_bound(&p)) {
            CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
        }
        SPIN_UNTIL(atomic_load(&p.waiting) == FIBERS);
        hold(&p);
        for (int k = 0; k < TASKS; k++) {
            go_new(&p, new_task, &p);
        }
        await_passed(p.until);
        stop_ticks();
        let_go(&p);
        end(&p);
        check_ready_first(&p, FIBERS, FIBERS + TASKS);
    }
}

/* ---- tasks that have begun end before more begin ---- */

enum { GROUPS = 30, GROUP = 10 }; /* no more than fit into a queue */

typedef struct crowd {
    thrum_waitgroup groups[GROUPS];
    int alive, most; /* one thread runs all: no other uses them */
} crowd;

static crowd the_crowd;

static NO_TSAN int member(void *arg) {
    thrum_waitgroup *group = arg;
    crowd *c = &the_crowd;
    c->alive++;
    c->most = c->alive > c->most ? c->alive : c->most;
    thrum_waitgroup_done(group);
    CHECK_EQ(thrum_waitgroup_wait(group), 0);
    c->alive--;
    return 0;
}

static int begin_groups(void *arg) {
    for (int i = 0; i < GROUPS * GROUP; i++) {
        go_ready(arg, member, &the_crowd.groups[i / GROUP]);
    }
    return 0;
}

TEST(waiting_groups_end_before_further_ones_begin) {
    /* Each task waits for the last of its group: one group waits at a time. */
    for (size_t i = 0; i < COUNT_OF(policies) * PLACES; i++) {
        play p;
        memset(&the_crowd, 0, sizeof the_crowd);
        for (int k = 0; k < GROUPS; k++) {
            thrum_waitgroup_init(&the_crowd.groups[k], GROUP);
        }
        stop_ticks();
        begin_stopped(&p, policies[i / PLACES], (placing)(i % PLACES), true);
        run(&p, begin_groups, &p);
        end(&p);
        CHECK_EQ(the_crowd.most, GROUP);
    }
}

/* ---- nothing starves ---- */

typedef struct ring {
    play p;
    thrum_sem turns[8];
    int fibers;
    bool inside;   /* the task that ends the game is queued by a task */
    atomic_int at; /* the number of the next fiber */
    atomic_bool stop;
} ring;

static ring the_ring;

/* Wakes the next one, and waits for its turn: some fiber is ready at each moment. */
static int passes_on(void *arg) {
    ring *g = arg;
    const int me = atomic_fetch_add(&g->at, 1);
    while (!atomic_load(&g->stop)) {
        thrum_sem_post(&g->turns[(me + 1) % g->fibers]);
        CHECK_EQ(thrum_sem_wait(&g->turns[me]), 0);
    }
    for (int i = 0; i < g->fibers; i++) {
        thrum_sem_post(&g->turns[i]);
    }
    return 0;
}

static int stops(void *arg) {
    atomic_store(&((ring *)arg)->stop, true);
    return 0;
}

static int stops_after_a_yield(void *arg) {
    thrum_yield();
    return stops(arg);
}

static int begins_stop(void *arg) {
    ring *g = arg;
    go_new(&g->p, g->fibers % 2 ? stops : stops_after_a_yield, g);
    return 0;
}

static void *posts_stop(void *arg) {
    ring *g = arg;
    go_new(&g->p, g->inside ? begins_stop : stops_after_a_yield, g);
    return NULL;
}

static void queue_stop(ring *g) {
    pthread_t thread;
    if (g->p.place == BOUND) { /* only this thread can tie it */
        (void)posts_stop(g);
    } else {
        CHECK_EQ(pthread_create(&thread, NULL, posts_stop, g), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
}

static void check_ends(thrum_policy policy, placing place, int fibers, bool one_more) {
    ring *g = &the_ring;
    memset(g, 0, sizeof *g);
    begin(&g->p, policy, place, fibers % 3 ? 61 : 1);
    g->p.r.config.workers += one_more;
    g->fibers = fibers;
    g->inside = fibers < 6;
    for (int i = 0; i < fibers; i++) {
        thrum_sem_init(&g->turns[i], 0);
    }
    start(&g->p);
    for (int i = 0; i < fibers; i++) {
        go_ready(&g->p, passes_on, g);
    }
    if (!is_bound(&g->p)) {
        SPIN_UNTIL(atomic_load(&g->at) == fibers);
    }
    queue_stop(g);
    end(&g->p);
    CHECK(atomic_load(&g->stop));
}

TEST(ready_fibers_do_not_keep_a_task_from_beginning) {
    /* A task ends an endless game of fibers that wake each other, wherever it is queued. */
    for (size_t i = 0; i < COUNT_OF(policies) * PLACES; i++) {
        for (int fibers = 3; fibers <= 8; fibers++) {
            const placing where = (placing)(i % PLACES);
            check_ends(policies[i / PLACES], where, fibers, false);
            if (where != ALONE) {
                check_ends(policies[i / PLACES], where, fibers, true);
            }
        }
    }
}

enum { YIELDED = 7, ROUNDS = 20 };

static int passes_on_sometimes(void *arg) {
    ring *g = arg;
    const int me = atomic_fetch_add(&g->at, 1);
    for (int i = 0; i < ROUNDS; i++) {
        thrum_sem_post(&g->turns[1 - me]);
        CHECK_EQ(thrum_sem_wait(&g->turns[me]), 0);
        order_add(&g->p.log, READY);
    }
    thrum_sem_post(&g->turns[1 - me]);
    return 0;
}

static int begins_game(void *arg) {
    ring *g = arg;
    go_ready(&g->p, passes_on_sometimes, g);
    go_ready(&g->p, passes_on_sometimes, g);
    go_new(&g->p, new_task, &g->p);
    return 0;
}

static void begin_ring(ring *g, thrum_policy policy, placing place, unsigned interval) {
    memset(g, 0, sizeof *g);
    begin(&g->p, policy, place, interval);
    for (size_t i = 0; i < COUNT_OF(g->turns); i++) {
        thrum_sem_init(&g->turns[i], 0);
    }
    start(&g->p);
}

TEST(a_pinned_task_begins_soon_if_ready_fibers_run_long) {
    /* By the clock each run is long; the number of picks alone would keep the task waiting. */
    for (size_t i = 0; i < COUNT_OF(policies) * PLACES; i++) {
        ring *g = &the_ring;
        const placing place = (placing)(i % PLACES);
        if (place == LOOSE) {
            continue;
        }
        stop_ticks();
        begin_ring(g, policies[i / PLACES], place, 1000000);
        atomic_store(&leap, UINT64_C(1) << 32);
        run(&g->p, begins_game, g);
        end(&g->p);
        CHECK_EQ(atomic_load(&g->p.log.count), 2 * ROUNDS + 1);
        CHECK_EQ(atomic_load(&g->p.log.seen[2 * ROUNDS]), READY);
    }
}

static int queues_and_yields(void *arg) {
    ring *g = arg;
    for (int i = 0; i < 3; i++) {
        go_new(&g->p, new_task, &g->p);
    }
    thrum_yield();
    order_add(&g->p.log, YIELDED);
    return stops(g);
}

static int begins_both(void *arg) {
    ring *g = arg;
    g->fibers = 2;
    go_ready(&g->p, passes_on, g);
    go_ready(&g->p, passes_on, g);
    go_ready(&g->p, queues_and_yields, g);
    return 0;
}

TEST(a_pinned_fiber_that_yielded_follows_earlier_tasks_beside_ready_fibers) {
    /* Ready fibers overtake the tasks all the time: that does not make the yield return sooner. */
    static const placing places[] = {PINNED, BOUND, ALONE};
    for (size_t i = 0; i < COUNT_OF(policies) * COUNT_OF(places); i++) {
        ring *g = &the_ring;
        stop_ticks();
        begin_ring(g, policies[i / COUNT_OF(places)], places[i % COUNT_OF(places)], 5);
        run(&g->p, begins_both, g);
        end(&g->p);
        CHECK_EQ(atomic_load(&g->p.log.count), 4);
        CHECK_EQ(atomic_load(&g->p.log.seen[2]), NEW);
        CHECK_EQ(atomic_load(&g->p.log.seen[3]), YIELDED);
    }
}

/* ---- tasks that are not pinned ---- */

typedef struct stream {
    play p;
    thrum_task task;
    bool shifted; /* one pick more, so that the fair picks come at the other's turn */
    atomic_bool stop;
} stream;

static void wakes_and_comes_again(thrum_task *self, void *arg) {
    stream *s = arg;
    thrum_sem_post(&s->p.sem);
    if (!atomic_load(&s->stop)) {
        CHECK_EQ(thrum_task_post(s->p.r.sched, self), 0);
    }
}

static int goes_on_each_time(void *arg) {
    stream *s = arg;
    while (!atomic_load(&s->stop)) {
        CHECK_EQ(thrum_sem_wait(&s->p.sem), 0);
    }
    return 0;
}

static int stops_stream(void *arg) {
    atomic_store(&((stream *)arg)->stop, true);
    return 0;
}

static int begins_stream(void *arg) {
    stream *s = arg;
    go_ready(&s->p, goes_on_each_time, s);
    CHECK_EQ(thrum_task_post(s->p.r.sched, &s->task), 0);
    if (s->shifted) {
        thrum_yield();
    }
    go_ready(&s->p, stops_stream, s);
    return 0;
}

TEST(pinned_tasks_and_ready_fibers_in_turn_do_not_keep_others_from_beginning) {
    /* A pinned task wakes a fiber each time, so that the two take turns. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        for (unsigned k = 2; k < 10; k++) {
            static stream s;
            stop_ticks();
            memset(&s, 0, sizeof s);
            begin(&s.p, policies[i], MIXED, k / 2);
            s.p.r.config.wake_hint = false;
            s.shifted = k % 2;
            start(&s.p);
            thrum_task_init(&s.task, wakes_and_comes_again, &s);
            thrum_task_set_worker(&s.task, 0);
            run(&s.p, begins_stream, &s);
            end(&s.p);
            CHECK(atomic_load(&s.stop));
        }
    }
}
