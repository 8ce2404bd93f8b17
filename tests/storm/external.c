/*
 * external.c: timers, blocking calls, bound threads, posts from threads, and other schedulers that
 * start and stop meanwhile.
 */
#include "storm.h"

/* ---- timers: a hundred thousand at a time ---- */

typedef struct timers {
    thrum_waitgroup left;
    atomic_long early, wrong;
    int count;
    struct timer *all;
} timers;

typedef struct timer {
    thrum_task task;
    timers *of;
    thrum_time due;
    bool disturbed; /* it is woken or cancelled, too */
    atomic_int runs;
} timer;

static void timer_runs(thrum_task *self, void *arg) {
    timer *t = arg;
    if (thrum_now() < t->due && thrum_task_is_expired(self)) {
        atomic_fetch_add(&t->of->early, 1);
    }
    if (atomic_fetch_add(&t->runs, 1) != 0) {
        atomic_fetch_add(&t->of->wrong, 1);
    }
    thrum_waitgroup_done(&t->of->left);
}

void round_timers(lane *l) {
    timers *x = calloc(1, sizeof(*x));
    const int n = FEWER(100000);
    REQUIRE(x != NULL);
    x->all = calloc((size_t)n, sizeof(*x->all));
    REQUIRE(x->all != NULL);
    thrum_waitgroup_init(&x->left, (unsigned)n);
    for (int i = 0; i < n; i++) {
        timer *t = &x->all[i];
        t->of = x;
        thrum_task_init(&t->task, timer_runs, t);
        t->due = thrum_after_us(storm_random(&l->seed) % 50000);
        t->disturbed = i % 3 == 0;
        if (t->disturbed && i % 2 == 0) {
            t->due = THRUM_FOREVER;
        }
        REQUIRE_EQ(thrum_task_post_until(l->w->sched, &t->task, t->due), 0);
        if (i % 1024 == 0) {
            thrum_yield();
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        timer *t = &x->all[i];
        if (t->disturbed && i % 4 == 0) {
            thrum_task_wakeup(&t->task);
        } else if (t->disturbed && thrum_task_cancel(&t->task) == -EBUSY) {
            REQUIRE(t->due != THRUM_FOREVER);
        }
    }
    REQUIRE_EQ(thrum_waitgroup_wait(&x->left), 0);
    REQUIRE_EQ(atomic_load(&x->early), 0);
    REQUIRE_EQ(atomic_load(&x->wrong), 0);
    for (int i = 0; i < n; i++) {
        REQUIRE_EQ(atomic_load(&x->all[i].runs), 1);
    }
    storm_did(l, n);
    free(x->all);
    free(x);
}

/* ---- blocking calls ---- */

static int blocks(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
    sched_yield();
    return 5;
}

static int calls(void *arg) {
    int result = 0;
    const int code = thrum_blocking(blocks, arg, &result);
    REQUIRE(code == -ECANCELED || (code == 0 && result == 5));
    return code;
}

void round_blocking(lane *l) {
    thrum_handle *handles[12];
    atomic_int ran = 0;
    int done = 0;
    for (int i = 0; i < 12; i++) {
        handles[i] = world_spawn(l->w, calls, &ran);
    }
    for (int i = 0; i < 12; i += 3) {
        REQUIRE_EQ(thrum_cancel(handles[i]), 0);
    }
    for (int i = 0; i < 12; i++) {
        int code = 1;
        REQUIRE_EQ(thrum_join(handles[i], &code), 0);
        REQUIRE(code == 0 || i % 3 == 0);
        done += code == 0;
    }
    REQUIRE_EQ(atomic_load(&ran), done);
    storm_did(l, 12);
}

/* ---- threads that bind ---- */

typedef struct guest {
    world *w;
    pthread_t self;
    thrum_sem sem;
    atomic_int ran;
} guest;

static int tied(void *arg) {
    guest *g = arg;
    thrum_yield();
    REQUIRE(pthread_equal(pthread_self(), g->self));
    atomic_fetch_add(&g->ran, 1);
    return 0;
}

static int free_one(void *arg) {
    guest *g = arg;
    atomic_fetch_add(&g->ran, 1);
    thrum_sem_post(&g->sem);
    return 0;
}

static void *visits(void *arg) {
    guest g = {.w = arg, .self = pthread_self()};
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *handles[4];
    thrum_sem_init(&g.sem, 0);
    REQUIRE_EQ(thrum_sched_bind(g.w->sched), 0);
    attr.flags = THRUM_PINNED;
    for (int i = 0; i < 4; i++) {
        REQUIRE_EQ(thrum_spawn_with(&handles[i], &attr, tied, &g), 0);
        REQUIRE_EQ(thrum_go(free_one, &g), 0);
    }
    for (int i = 0; i < 4; i++) {
        REQUIRE_EQ(thrum_sem_wait(&g.sem), 0);
        world_join(handles[i]);
    }
    REQUIRE_EQ(atomic_load(&g.ran), 8);
    REQUIRE_EQ(thrum_sched_unbind(), 0);
    REQUIRE_EQ(thrum_sem_destroy(&g.sem), 0);
    return NULL;
}

void round_bound(lane *l) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        REQUIRE_EQ(pthread_create(&threads[i], NULL, visits, l->w), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    storm_did(l, 24);
}

/* ---- posts from external threads ---- */

enum { POSTED = 64 };

typedef struct parcel {
    thrum_task task;
    thrum_waitgroup *left;
    atomic_int runs;
} parcel;

static void parcel_runs(thrum_task *self, void *arg) {
    parcel *p = arg;
    (void)self;
    atomic_fetch_add(&p->runs, 1);
    thrum_waitgroup_done(p->left);
}

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

void round_posts(lane *l) {
    parcel *parcels = calloc(POSTED, sizeof(*parcels));
    thrum_task *batch[POSTED / 2];
    thrum_waitgroup left;
    thrum_handle *handle;
    REQUIRE(parcels != NULL);
    thrum_waitgroup_init(&left, POSTED);
    for (int i = 0; i < POSTED; i++) {
        parcels[i].left = &left;
        thrum_task_init(&parcels[i].task, parcel_runs, &parcels[i]);
        if (i < POSTED / 2) {
            batch[i] = &parcels[i].task;
        } else {
            REQUIRE_EQ(thrum_task_post_hint(l->w->sched, &parcels[i].task, (thrum_hint)(i % 3)), 0);
        }
    }
    REQUIRE_EQ(thrum_task_post_batch(l->w->sched, batch, POSTED / 2), 0);
    handle = world_spawn(l->w, nothing, NULL);
    REQUIRE_EQ(thrum_waitgroup_wait(&left), 0);
    world_join(handle);
    for (int i = 0; i < POSTED; i++) {
        REQUIRE_EQ(atomic_load(&parcels[i].runs), 1);
    }
    REQUIRE_EQ(thrum_waitgroup_destroy(&left), 0);
    storm_did(l, POSTED + 1);
    free(parcels);
}

/* ---- a second scheduler ---- */

atomic_long second_starts;

typedef struct second {
    atomic_int accepted, ran;
} second;

static int grows(void *arg) {
    second *s = arg;
    atomic_fetch_add(&s->ran, 1);
    for (int i = 0; i < 2 && atomic_load(&s->accepted) < 60; i++) {
        atomic_fetch_add(&s->accepted, 1);
        const int result = thrum_go(grows, s);
        if (result != 0) {
            REQUIRE_EQ(result, -ESHUTDOWN);
            atomic_fetch_sub(&s->accepted, 1);
        }
    }
    if (atomic_load(&s->ran) % 4 == 0) {
        (void)!thrum_sleep(1000); /* a cancel ends it sooner */
    }
    return 0;
}

/* Starts a scheduler, floods it, and stops it while the tree still grows; a few times a round. */
void round_second(lane *l) {
    for (int i = 0; i < 4; i++) {
        world other = {.sched = NULL};
        second s = {.accepted = 1};
        thrum_config config;
        world_config(&other, &config);
        config.workers = 1 + storm_random(&l->seed) % 3;
        config.policy = (thrum_policy)(storm_random(&l->seed) % 3);
        config.name = "second";
        REQUIRE_EQ(thrum_sched_start(&other.sched, &config), 0);
        const thrum_attr attr = world_attr(&other);
        REQUIRE_EQ(thrum_go_with(&attr, grows, &s), 0);
        for (uint32_t n = storm_random(&l->seed) % 4; n > 0; n--) {
            sched_yield();
        }
        REQUIRE_EQ(thrum_sched_stop(other.sched), 0);
        REQUIRE_EQ(atomic_load(&s.ran), atomic_load(&s.accepted));
        REQUIRE_EQ(atomic_load(&other.blocks), 0);
        atomic_fetch_add(&second_starts, 1);
    }
    storm_did(l, 4);
}
