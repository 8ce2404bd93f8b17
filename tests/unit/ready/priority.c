/*
 * priority.c: tasks of high priority come before normal ones, wherever those are queued, and tasks
 * of low priority come last. None of them starves, and none is slept over.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

static const unsigned levels[] = {THRUM_HIGH, THRUM_NORMAL, THRUM_LOW};

/* ---- the order of one worker ---- */

/* HERE: started by a task; THERE: by a plain thread. PINNED: likewise, on worker 0. */
typedef enum placing { HERE, THERE, PINNED, BOUND, ALONE, PLACES } placing;

typedef struct play {
    rig r;
    holder h;
    placing place;
    order log;
    thrum_sem sem;
    thrum_waitgroup arrivals;
} play;

static const thrum_policy policies[] = {THRUM_SHARDED, THRUM_FIFO, THRUM_GLOBAL};

static bool is_bound(const play *p) {
    return p->place == BOUND || p->place == ALONE;
}

/* No limit is reached unless the test sets one. */
static void prepare(play *p, thrum_policy policy, placing place) {
    *p = (play){.place = place, .sem = THRUM_SEM_INIT(0)};
    rig_init(&p->r);
    p->r.config.workers = place == ALONE ? 0 : 1;
    p->r.config.policy = policy;
    p->r.config.high_limit = 1000000;
    p->r.config.low_interval = 1000000;
}

static void start(play *p) {
    rig_start(&p->r);
    if (is_bound(p)) {
        CHECK_EQ(thrum_sched_bind(p->r.sched), 0);
    }
}

static void end(play *p) {
    if (is_bound(p)) {
        CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
        CHECK_EQ(thrum_sched_unbind(), 0);
    }
    rig_stop(&p->r);
}

static thrum_attr attr_of(const play *p, unsigned level) {
    thrum_attr attr = rig_attr(&p->r);
    const bool pinned = p->place == PINNED || p->place == BOUND;
    attr.flags = level | (pinned ? THRUM_PINNED : 0);
    attr.worker = p->place == PINNED ? 0 : -1;
    return attr;
}

static void go(const play *p, unsigned level, thrum_fn fn, void *arg) {
    const thrum_attr attr = attr_of(p, level);
    CHECK_EQ(thrum_go_with(&attr, fn, arg), 0);
}

static play *the_play;

static int notes(void *arg) {
    order_add(&the_play->log, (int)(uintptr_t)arg);
    return 0;
}

enum { EACH = 50 };

/* The lowest first, more than fit into a batch, and fewer than fill a queue. */
static int starts_all(void *arg) {
    play *p = arg;
    for (size_t level = COUNT_OF(levels); level--;) {
        for (int i = 0; i < EACH; i++) {
            go(p, levels[level], notes, (void *)(uintptr_t)(level * EACH + (size_t)i));
        }
    }
    return 0;
}

/* Runs the function while nothing else does. */
static void play_it(play *p, thrum_fn fn) {
    the_play = p;
    start(p);
    if (is_bound(p)) {
        CHECK_EQ(fn(p), 0);
    } else if (p->place == HERE) {
        CHECK_EQ(rig_run(&p->r, fn, p), 0);
    } else {
        holder_begin(&p->r, &p->h, -1);
        CHECK_EQ(fn(p), 0);
        holder_end(&p->h);
    }
    end(p);
}

TEST(tasks_run_in_the_order_of_their_priorities) {
    /* The order of the starts is the opposite; within a priority it is kept. */
    for (size_t i = 0; i < COUNT_OF(policies) * PLACES; i++) {
        play p;
        prepare(&p, policies[i / PLACES], (placing)(i % PLACES));
        play_it(&p, starts_all);
        order_check_counts_up(&p.log, COUNT_OF(levels) * EACH);
    }
}

static void note_task(thrum_task *self, void *arg) {
    (void)self;
    (void)notes(arg);
}

/* The same with a batch of intrusive tasks, in which the priorities alternate. */
static int posts_batch(void *arg) {
    static thrum_task tasks[COUNT_OF(levels) * EACH];
    thrum_task *all[COUNT_OF(levels) * EACH];
    play *p = arg;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const size_t level = COUNT_OF(levels) - 1 - i % COUNT_OF(levels);
        const size_t number = level * EACH + i / COUNT_OF(levels);
        all[i] = &tasks[i];
        thrum_task_init(all[i], note_task, (void *)(uintptr_t)number);
        CHECK_EQ(thrum_task_set_priority(all[i], levels[level]), 0);
        if (p->place == PINNED) {
            thrum_task_set_worker(all[i], 0);
        }
    }
    CHECK_EQ(thrum_task_post_batch(p->r.sched, all, COUNT_OF(all)), 0);
    return 0;
}

TEST(batches_run_in_the_order_of_their_priorities) {
    /* A batch of intrusive tasks is divided. */
    for (size_t i = 0; i < COUNT_OF(policies) * PLACES; i++) {
        play p;
        if (i % PLACES == BOUND) {
            continue; /* an intrusive task cannot be tied to a bound thread */
        }
        prepare(&p, policies[i / PLACES], (placing)(i % PLACES));
        play_it(&p, posts_batch);
        order_check_counts_up(&p.log, COUNT_OF(levels) * EACH);
    }
}

/* ---- ready fibers ---- */

static int waits(void *arg) {
    play *p = the_play;
    thrum_waitgroup_done(&p->arrivals);
    CHECK_EQ(thrum_sem_wait(&p->sem), 0);
    return notes(arg);
}

/* A normal fiber is ready and in the LIFO slot, a high task is new. */
static int wakes_then_starts(void *arg) {
    play *p = arg;
    thrum_waitgroup_init(&p->arrivals, 1);
    go(p, THRUM_NORMAL, waits, (void *)(uintptr_t)1);
    CHECK_EQ(thrum_waitgroup_wait(&p->arrivals), 0);
    CHECK_EQ(SEM_WAITING(&p->sem), 1);
    go(p, THRUM_LOW, notes, (void *)(uintptr_t)2);
    thrum_sem_post(&p->sem);
    go(p, THRUM_HIGH, notes, (void *)(uintptr_t)0);
    return 0;
}

TEST(a_new_high_task_comes_before_a_ready_normal_fiber) {
    /* The priority counts first. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        play p;
        prepare(&p, policies[i], HERE);
        play_it(&p, wakes_then_starts);
        order_check_counts_up(&p.log, 3);
    }
}

static int wakes_within(void *arg) {
    play *p = arg;
    thrum_waitgroup_init(&p->arrivals, COUNT_OF(levels));
    for (size_t level = COUNT_OF(levels); level--;) {
        go(p, levels[level], waits, (void *)(uintptr_t)(2 * level));
    }
    CHECK_EQ(thrum_waitgroup_wait(&p->arrivals), 0);
    CHECK_EQ(SEM_WAITING(&p->sem), (int)COUNT_OF(levels));
    for (size_t level = COUNT_OF(levels); level--;) {
        go(p, levels[level], notes, (void *)(uintptr_t)(2 * level + 1));
    }
    for (size_t level = COUNT_OF(levels); level--;) {
        thrum_sem_post(&p->sem);
    }
    return 0;
}

TEST(within_a_priority_ready_fibers_come_first) {
    /* A woken fiber has the priority of its task. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        play p;
        prepare(&p, policies[i], HERE);
        play_it(&p, wakes_within);
        order_check_counts_up(&p.log, 2 * COUNT_OF(levels));
    }
}

/* ---- what a batch, or a stolen share, must not delay ---- */

typedef struct chase {
    rig r;
    atomic_int at;        /* tasks that have begun */
    atomic_int posted_at; /* `at` when the high task had been queued */
    atomic_int ran_at;
} chase;

static chase the_chase;

static int high_one(void *arg) {
    chase *c = arg;
    atomic_store(&c->ran_at, atomic_load(&c->at));
    return 0;
}

enum { SHORT = 400, STARTER = 37 };

/* One of many short tasks, which workers take several at a time, starts a high one. */
static int short_one(void *arg) {
    chase *c = arg;
    if (atomic_fetch_add(&c->at, 1) == STARTER) {
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.flags = THRUM_HIGH;
        CHECK_EQ(thrum_go_with(&attr, high_one, c), 0);
        atomic_store(&c->posted_at, atomic_load(&c->at));
    }
    return 0;
}

static int starts_short(void *arg) {
    for (int i = 0; i < SHORT; i++) {
        CHECK_EQ(thrum_go(short_one, arg), 0);
    }
    return 0;
}

TEST(a_high_task_comes_before_the_rest_of_a_batch) {
    /* With one worker, it is the next run. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        chase *c = &the_chase;
        memset(c, 0, sizeof *c);
        rig_init(&c->r);
        c->r.config.workers = 1;
        c->r.config.policy = policies[i];
        rig_start(&c->r);
        CHECK_EQ(rig_run(&c->r, starts_short, c), 0);
        rig_stop(&c->r);
        CHECK_EQ(atomic_load(&c->posted_at), STARTER + 1);
        CHECK_EQ(atomic_load(&c->ran_at), STARTER + 1);
    }
}

/* ---- inheriting ---- */

typedef struct heir {
    order log;
    atomic_bool may;
} heir;

static heir the_heir;

static int child(void *arg) {
    order_add(&the_heir.log, (int)(uintptr_t)arg);
    return 0;
}

/* Its children have its priority, also after it has waited and others have run. */
static int parent(void *arg) {
    const uintptr_t level = (uintptr_t)arg;
    thrum_yield();
    CHECK_EQ(thrum_go(child, (void *)(3 * level)), 0);
    thrum_handle *handle;
    CHECK_EQ(thrum_spawn(&handle, child, (void *)(3 * level + 1)), 0);
    CHECK_EQ(thrum_detach(handle), 0);
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_scope_go(&scope, child, (void *)(3 * level + 2)), 0);
    CHECK_EQ(thrum_scope_join(&scope), 0);
    return 0;
}

static int parents(void *arg) {
    (void)arg;
    for (size_t level = COUNT_OF(levels); level--;) {
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.flags = levels[level];
        CHECK_EQ(thrum_go_with(&attr, parent, (void *)level), 0);
    }
    return 0;
}

TEST(children_inherit) {
    /* However they are started, and whatever ran on the worker before. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        memset(&the_heir, 0, sizeof the_heir);
        rig_init(&r);
        r.config.workers = 1;
        r.config.policy = policies[i];
        r.config.high_limit = 1000000;
        r.config.low_interval = 1000000;
        rig_start(&r);
        CHECK_EQ(rig_run(&r, parents, NULL), 0);
        rig_stop(&r);
        order_check_counts_up(&the_heir.log, 3 * (int)COUNT_OF(levels));
    }
}

/* A high task starts normal tasks and a low one; a normal one's child is normal again. */
static int normal_child(void *arg) {
    (void)child((void *)(uintptr_t)1);
    return arg ? 0 : thrum_go(child, (void *)(uintptr_t)3);
}

static int disowns(void *arg) {
    (void)arg;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.flags = THRUM_LOW;
    CHECK_EQ(thrum_go_with(&attr, child, (void *)(uintptr_t)4), 0);
    attr.flags = THRUM_NORMAL;
    CHECK_EQ(thrum_go_with(&attr, normal_child, NULL), 0);
    CHECK_EQ(thrum_go_with(&attr, child, (void *)(uintptr_t)2), 0);
    return thrum_go(child, NULL);
}

static int starts_disowner(void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.flags = THRUM_HIGH;
    (void)arg;
    return thrum_go_with(&attr, disowns, NULL);
}

TEST(an_attr_overrides_the_inherited_priority) {
    /* Also back to normal. */
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        rig r;
        memset(&the_heir, 0, sizeof the_heir);
        rig_init(&r);
        r.config.workers = 1;
        r.config.policy = policies[i];
        rig_start(&r);
        CHECK_EQ(rig_run(&r, starts_disowner, NULL), 0);
        rig_stop(&r);
        order_check_counts_up(&the_heir.log, 5);
    }
}

/* ---- errors ---- */

static int two_priorities(void *arg) {
    rig *r = arg;
    thrum_attr attr = rig_attr(r);
    attr.flags = THRUM_HIGH | THRUM_LOW;
    CHECK_EQ(thrum_go_with(&attr, notes, NULL), -EINVAL);
    attr.flags = THRUM_NORMAL | THRUM_LOW;
    CHECK_EQ(thrum_go_with(&attr, notes, NULL), -EINVAL);
    return 0;
}

static void must_not_begin(thrum_task *self, void *arg) {
    (void)self, (void)arg;
    CHECK(false);
}

TEST(wrong_priorities_are_invalid) {
    /* Two at once, another number, or a priority of a task whose worker does not exist. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, two_priorities, &r), 0);
    thrum_task task = THRUM_TASK_INIT(must_not_begin, NULL);
    CHECK_EQ(thrum_task_set_priority(&task, 0), -EINVAL);
    CHECK_EQ(thrum_task_set_priority(&task, THRUM_HIGH | THRUM_LOW), -EINVAL);
    CHECK_EQ(thrum_task_set_priority(&task, THRUM_HIGH), 0);
    const int wrong[] = {-2,      INT_MIN, INT_MAX,
                         1 << 24, 2 << 24, (int)thrum_sched_parallelism(r.sched)};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        thrum_task_set_worker(&task, wrong[i]);
        CHECK_EQ(thrum_task_post(r.sched, &task), -EINVAL);
    }
    CHECK_EQ(thrum_task_set_priority(&task, THRUM_NORMAL), 0);
    CHECK_EQ(thrum_task_post(r.sched, &task), -EINVAL);
    rig_stop(&r);
}
