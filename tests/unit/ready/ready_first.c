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

uint64_t __real_th_os_ticks(void);
uint64_t __wrap_th_os_ticks(void);

uint64_t __wrap_th_os_ticks(void) {
    const uint64_t at = atomic_load(&ticks_stand_at);
    return at ? at : __real_th_os_ticks();
}

static void stop_ticks(void) {
    atomic_store(&ticks_stand_at, __real_th_os_ticks());
}

static void start_ticks(void) {
    atomic_store(&ticks_stand_at, 0);
}

static const thrum_policy policies[] = {THRUM_SHARDED, THRUM_FIFO, THRUM_GLOBAL};

static void begin(rig *r, thrum_policy policy, bool wake_hint) {
    rig_init(r);
    r->config.workers = 1;
    r->config.policy = policy;
    r->config.wake_hint = wake_hint;
    r->config.global_interval = 1000000;
    rig_start(r);
}

static void end(rig *r) {
    rig_stop(r);
    start_ticks();
}

/* ---- the order of one worker ---- */

enum { NEW = 100, READY = 5 };

typedef struct play {
    rig *r;
    thrum_sem sem;
    thrum_time until;
    atomic_int waiting;
    order log;
} play;

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
        CHECK_EQ(thrum_go(waits_for_sem, p), 0);
    }
    YIELD_UNTIL(SEM_WAITING(&p->sem) == FIBERS);
    for (int i = 0; i < TASKS; i++) {
        CHECK_EQ(thrum_go(new_task, p), 0);
    }
    for (int i = 0; i < FIBERS; i++) {
        thrum_sem_post(&p->sem);
    }
    return 0;
}

TEST(woken_fibers_go_on_before_queued_tasks_begin) {
    /* This holds on each policy, however the waker places them. */
    for (size_t i = 0; i < 2 * COUNT_OF(policies); i++) {
        rig r;
        play p = {.sem = THRUM_SEM_INIT(0)};
        stop_ticks();
        begin(&r, policies[i / 2], i % 2);
        CHECK_EQ(rig_run(&r, queue_and_wake, &p), 0);
        end(&r);
        check_ready_first(&p, FIBERS, FIBERS + TASKS);
    }
}

TEST(fibers_woken_by_a_thread_go_on_before_queued_tasks_begin) {
    /* They do not stand behind the worker's own queue. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        holder h;
        play p = {.sem = THRUM_SEM_INIT(0)};
        begin(&r, policies[i], true);
        for (int k = 0; k < FIBERS; k++) {
            rig_go(&r, waits_for_sem, &p);
        }
        SPIN_UNTIL(SEM_WAITING(&p.sem) == FIBERS);
        holder_begin(&r, &h, -1);
        stop_ticks();
        for (int k = 0; k < TASKS; k++) {
            rig_go(&r, new_task, &p);
        }
        for (int k = 0; k < FIBERS; k++) {
            thrum_sem_post(&p.sem);
        }
        holder_end(&h);
        end(&r);
        check_ready_first(&p, FIBERS, FIBERS + TASKS);
    }
}

TEST(fibers_whose_deadline_has_passed_go_on_before_queued_tasks_begin) {
    /* All are overdue when the worker is free again. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        holder h;
        play p = {.sem = THRUM_SEM_INIT(0)};
        begin(&r, policies[i], true);
        p.until = soon();
        for (int k = 0; k < FIBERS; k++) {
            rig_go(&r, waits_for_time, &p);
        }
        SPIN_UNTIL(atomic_load(&p.waiting) == FIBERS);
        holder_begin(&r, &h, -1);
        for (int k = 0; k < TASKS; k++) {
            rig_go(&r, new_task, &p);
        }
        await_passed(p.until);
        stop_ticks();
        holder_end(&h);
        end(&r);
        check_ready_first(&p, FIBERS, FIBERS + TASKS);
    }
}

/* ---- tasks that have begun end before more begin ---- */

enum { GROUPS = 90, GROUP = 10 }; /* no more than fit into a queue */

typedef struct crowd {
    thrum_waitgroup groups[GROUPS];
    int alive, most; /* one worker: no other thread uses them */
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
    (void)arg;
    for (int i = 0; i < GROUPS * GROUP; i++) {
        CHECK_EQ(thrum_go(member, &the_crowd.groups[i / GROUP]), 0);
    }
    return 0;
}

TEST(waiting_groups_end_before_further_ones_begin) {
    /* Each task waits for the last of its group: one group waits at a time. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        memset(&the_crowd, 0, sizeof the_crowd);
        for (int k = 0; k < GROUPS; k++) {
            thrum_waitgroup_init(&the_crowd.groups[k], GROUP);
        }
        stop_ticks();
        begin(&r, policies[i], true);
        CHECK_EQ(rig_run(&r, begin_groups, NULL), 0);
        end(&r);
        CHECK_EQ(the_crowd.most, GROUP);
    }
}

/* ---- nothing starves ---- */

typedef struct ring {
    thrum_sem turns[8];
    int fibers;
    atomic_int at; /* the number of the next fiber */
    atomic_bool stop;
} ring;

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
    return thrum_go(g->fibers % 2 ? stops : stops_after_a_yield, g);
}

static void check_ends(thrum_policy policy, unsigned workers, unsigned interval, int fibers,
                       bool inside) {
    static ring g;
    rig r;
    memset(&g, 0, sizeof g);
    g.fibers = fibers;
    for (int i = 0; i < fibers; i++) {
        thrum_sem_init(&g.turns[i], 0);
    }
    rig_init(&r);
    r.config.workers = workers;
    r.config.policy = policy;
    r.config.global_interval = interval;
    rig_start(&r);
    for (int i = 0; i < fibers; i++) {
        rig_go(&r, passes_on, &g);
    }
    SPIN_UNTIL(atomic_load(&g.at) == fibers);
    rig_go(&r, inside ? begins_stop : stops_after_a_yield, &g);
    rig_stop(&r);
    CHECK(atomic_load(&g.stop));
}

TEST(ready_fibers_do_not_keep_a_task_from_beginning) {
    /* A task ends an endless game of fibers that wake each other, wherever it is queued. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        for (unsigned workers = 1; workers <= 2; workers++) {
            for (int fibers = 3; fibers <= 8; fibers++) {
                check_ends(policies[i], workers, fibers % 3 ? 61 : 1, fibers, fibers < 6);
            }
        }
    }
}
