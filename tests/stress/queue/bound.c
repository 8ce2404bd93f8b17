/*
 * bound.c: storms of threads that bind and unbind while others run: fibers tied to them, waits for
 * each other's fibers, posts from all threads, cancels, and a stop that waits for all.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

enum { THREADS = 6, TIED = 4 };

typedef struct storm {
    rig r;
    int rounds;
    atomic_int started, ended, cancelled;
    thrum_sem sem; /* gets a unit for each waiter at the end */
    thrum_chan *chan;
    atomic_long sent, received;

    thrum_mutex mutex;
    int shared, twin; /* protected by the mutex */
} storm;

typedef struct tied {
    storm *st;
    pthread_t thread; /* the one that runs it; of pinned ones only */
    bool is_tied;
    int index;
} tied;

static void on_own_thread(const tied *t) {
    if (t->is_tied) {
        CHECK(pthread_equal(thread_now(), t->thread));
    }
}

static int tied_body(void *arg) {
    tied *t = arg;
    storm *st = t->st;
    long got;
    on_own_thread(t);
    if (t->index % 4 == 0) {
        thrum_yield();
    }
    on_own_thread(t);
    int result = thrum_sem_wait_until(&st->sem, thrum_after_us(t->index % 3 * 40));
    CHECK(result == 0 || result == -ETIMEDOUT || result == -ECANCELED);
    if (result == 0) {
        thrum_sem_post(&st->sem);
    }
    on_own_thread(t);
    result = thrum_chan_recv_until(st->chan, &got, thrum_after_us(t->index % 100));
    CHECK(result == 0 || result == -ETIMEDOUT || result == -ECANCELED);
    atomic_fetch_add(&st->received, result == 0);
    on_own_thread(t);
    thrum_mutex_lock(&st->mutex);
    st->shared++;
    if (t->index % 2 == 0) {
        thrum_yield();
    }
    st->twin++;
    thrum_mutex_unlock(&st->mutex);
    on_own_thread(t);
    atomic_fetch_add(&st->cancelled, thrum_cancelled());
    atomic_fetch_add(&st->ended, 1);
    return t->index;
}

/* While it is bound, it spawns fibers; some are cancelled, some are left for the unbind. */
static void one_binding(storm *st, unsigned *seed) {
    tied children[TIED];
    thrum_handle *handles[TIED];
    CHECK_EQ(thrum_sched_bind(st->r.sched), 0);
    CHECK(thrum_sched_current() == st->r.sched);
    const bool none = thrum_sched_parallelism(st->r.sched) == 0;
    for (int i = 0; i < TIED; i++) {
        thrum_attr attr = THRUM_ATTR_INIT;
        *seed = *seed * 1664525u + 1013904223u;
        attr.flags = (*seed >> 16) % 2 ? THRUM_PINNED : 0;
        children[i] =
            (tied){st, thread_now(), none || attr.flags != 0, (int)((*seed >> 18) % 1000)};
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, tied_body, &children[i]), 0);
        atomic_fetch_add(&st->started, 1);
    }
    const long element = 1;
    const unsigned us = (*seed >> 8) % 120;
    int result = thrum_chan_send_until(st->chan, &element, thrum_after_us(us));
    CHECK(result == 0 || result == -ETIMEDOUT);
    atomic_fetch_add(&st->sent, result == 0);
    for (int i = 0; i < TIED; i++) {
        if ((*seed >> (4 + i)) % 4 == 0) {
            CHECK_EQ(thrum_cancel(handles[i]), 0);
        }
    }
    for (int i = 0; i < TIED; i++) {
        int value = -1;
        CHECK_EQ(thrum_join(handles[i], &value), 0);
        CHECK_EQ(value, children[i].index);
    }
    CHECK_EQ(thrum_sched_unbind(), 0);
    CHECK(thrum_sched_current() == NULL);
}

static void *binds(void *seat) {
    crew_seat *s = seat;
    storm *st = s->arg;
    unsigned seed = (unsigned)s->index * 2654435761u + 7;
    for (int round = 0; round < st->rounds; round++) {
        one_binding(st, &seed);
        if ((seed >> 20) % 4 == 0) {
            sched_yield();
        }
    }
    return NULL;
}

static void storm_begin(storm *st, int rounds) {
    st->rounds = SCALED(rounds);
    thrum_sem_init(&st->sem, 0);
    thrum_mutex_init(&st->mutex);
    CHECK_EQ(thrum_chan_create(&st->chan, sizeof(long), 0), 0);
}

static void storm_check(storm *st) {
    CHECK_EQ(atomic_load(&st->ended), atomic_load(&st->started));
    CHECK_EQ(atomic_load(&st->sent), atomic_load(&st->received));
    CHECK_EQ(st->shared, st->twin);
    CHECK_EQ(st->shared, atomic_load(&st->ended));
    CHECK_EQ(thrum_chan_destroy(st->chan), 0);
    CHECK_EQ(thrum_sem_destroy(&st->sem) | thrum_mutex_destroy(&st->mutex), 0);
}

static void run_storm(bool no_workers) {
    storm *st = calloc(1, sizeof(*st));
    crew c;
    CHECK(st != NULL);
    storm_begin(st, 2000);
    rig_init(&st->r);
    if (no_workers) {
        st->r.config.workers = 0;
    }
    rig_start(&st->r);
    crew_start(&c, THREADS, binds, st);
    crew_join(&c);
    rig_stop(&st->r);
    storm_check(st);
    free(st);
}

TEST(threads_bind_and_unbind_while_workers_run) {
    /* Tied fibers stay on their thread, all fibers end, and nothing is lost between the threads. */
    run_storm(false);
}

TEST(threads_bind_and_unbind_without_workers) {
    /* The same holds where only bound threads run anything. */
    run_storm(true);
}

/* ---- posts to each other ---- */

typedef struct post {
    thrum_task task;
    atomic_int *ran;
} post;

static void count_post(thrum_task *self, void *arg) {
    (void)self;
    post *p = arg;
    atomic_int *ran = p->ran;
    free(p);
    atomic_fetch_add(ran, 1);
}

typedef struct posts {
    rig r;
    int rounds;
    atomic_int posted, ran;
} posts;

static void *posts_and_binds(void *seat) {
    crew_seat *s = seat;
    posts *x = s->arg;
    for (int round = 0; round < x->rounds; round++) {
        const bool binds_now = (round + s->index) % 3 != 0;
        if (binds_now) {
            CHECK_EQ(thrum_sched_bind(x->r.sched), 0);
        }
        for (int i = 0; i < 5; i++) {
            post *p = malloc(sizeof(*p));
            CHECK(p != NULL);
            p->ran = &x->ran;
            thrum_task_init(&p->task, count_post, p);
            atomic_fetch_add(&x->posted, 1);
            const int result = i % 2 == 0 ? thrum_task_post(x->r.sched, &p->task)
                                          : thrum_task_post_after(x->r.sched, &p->task, 20000 * i);
            CHECK_EQ(result, 0);
        }
        if (binds_now) {
            if (round % 4 == 0) {
                nap();
            }
            CHECK_EQ(thrum_sched_unbind(), 0);
        }
    }
    return NULL;
}

static void run_posts(bool no_workers) {
    posts *x = calloc(1, sizeof(*x));
    crew c;
    CHECK(x != NULL);
    x->rounds = SCALED(3000);
    rig_init(&x->r);
    if (no_workers) {
        x->r.config.workers = 0;
    }
    rig_start(&x->r);
    crew_start(&c, THREADS, posts_and_binds, x);
    crew_join(&c);
    rig_stop(&x->r); /* the stop runs what is left */
    CHECK_EQ(atomic_load(&x->ran), atomic_load(&x->posted));
    free(x);
}

TEST(posts_from_threads_that_come_and_go) {
    /* Each task that was posted, at once or for later, by a thread bound or not, runs once. */
    run_posts(false);
}

TEST(posts_from_threads_that_come_and_go_without_workers) {
    /* The same holds without workers. */
    run_posts(true);
}

/* ---- a stop that waits for bound threads ---- */

typedef struct stops {
    rig r;
    atomic_int in, left;
    atomic_bool stopping;
    thrum_sem sem;
} stops;

static int waits_long(void *arg) {
    stops *x = arg;
    return thrum_sem_wait_until(&x->sem, soon());
}

static void *binds_till_stopped(void *seat) {
    stops *x = ((crew_seat *)seat)->arg;
    atomic_fetch_add(&x->in, 1);
    for (;;) {
        const int result = atomic_load(&x->stopping) ? -ESHUTDOWN : thrum_sched_bind(x->r.sched);
        if (result != 0) { /* the scheduler has begun to stop */
            CHECK_EQ(result, -ESHUTDOWN);
            atomic_fetch_add(&x->left, 1);
            return NULL;
        }
        thrum_handle *handle;
        int value = 1;
        CHECK_EQ(thrum_spawn(&handle, waits_long, x), 0);
        CHECK_EQ(thrum_join(handle, &value), 0);
        CHECK(value == 0 || value == -ETIMEDOUT);
        CHECK_EQ(thrum_sched_unbind(), 0);
    }
}

static void *binds_once(void *seat) {
    stops *x = ((crew_seat *)seat)->arg;
    thrum_handle *handle;
    CHECK_EQ(thrum_sched_bind(x->r.sched), 0);
    CHECK_EQ(thrum_spawn(&handle, waits_long, x), 0);
    CHECK_EQ(thrum_detach(handle), 0);
    atomic_fetch_add(&x->in, 1);
    if (((crew_seat *)seat)->index % 2 == 0) {
        nap();
    }
    CHECK_EQ(thrum_sched_unbind(), 0); /* the stop waits for that */
    atomic_fetch_add(&x->left, 1);
    return NULL;
}

static void run_stops(bool no_workers) {
    for (int round = SCALED(300); round > 0; round--) {
        stops x = {0};
        crew c, busy;
        rig_init(&x.r);
        if (no_workers) {
            x.r.config.workers = 0;
        }
        thrum_sem_init(&x.sem, 0);
        rig_start(&x.r);
        crew_start(&busy, 2, binds_till_stopped, &x);
        crew_start(&c, THREADS, binds_once, &x);
        SPIN_UNTIL(atomic_load(&x.in) == THREADS + 2);
        atomic_store(&x.stopping, true);
        crew_join(&busy);
        rig_stop(&x.r);
        crew_join(&c);
        CHECK_EQ(atomic_load(&x.left), THREADS + 2);
        CHECK_EQ(thrum_sem_destroy(&x.sem), 0);
    }
}

TEST(stop_waits_for_all_that_are_bound) {
    /* Threads unbind at their own time; the stop waits for the fibers that they leave behind. */
    run_stops(false);
}

TEST(stop_waits_for_all_that_are_bound_without_workers) {
    /* The same holds without workers. */
    run_stops(true);
}

/* ---- a stop that cancels bound threads' waits ---- */

static int waits_for_ever(void *arg) {
    return thrum_sem_wait(&((stops *)arg)->sem);
}

static void *binds_and_waits(void *seat) {
    stops *x = ((crew_seat *)seat)->arg;
    thrum_handle *handle;
    int value = 0;
    CHECK_EQ(thrum_sched_bind(x->r.sched), 0);
    CHECK_EQ(thrum_spawn(&handle, waits_for_ever, x), 0);
    atomic_fetch_add(&x->in, 1);
    CHECK_EQ(thrum_sem_wait(&x->sem), -ECANCELED); /* as a wait of a task returns */
    thrum_shield_begin();
    CHECK_EQ(thrum_join(handle, &value), 0);
    thrum_shield_end();
    CHECK_EQ(value, -ECANCELED);
    CHECK_EQ(thrum_sched_unbind(), 0);
    atomic_fetch_add(&x->left, 1);
    return NULL;
}

static void run_cancelled(bool no_workers) {
    for (int round = SCALED(300); round > 0; round--) {
        stops x = {0};
        crew c;
        rig_init(&x.r);
        if (no_workers) {
            x.r.config.workers = 0;
        }
        thrum_sem_init(&x.sem, 0);
        rig_start(&x.r);
        crew_start(&c, THREADS, binds_and_waits, &x);
        SPIN_UNTIL(atomic_load(&x.in) == THREADS);
        CHECK_EQ(thrum_sched_stop_until(x.r.sched, thrum_after_us(round % 4 * 50)), -ETIMEDOUT);
        rig_stop(&x.r);
        crew_join(&c);
        CHECK_EQ(atomic_load(&x.left), THREADS);
        CHECK_EQ(thrum_sem_destroy(&x.sem), 0);
    }
}

TEST(stop_until_cancels_what_bound_threads_wait_for) {
    /* The bound threads' own waits and those of their tied fibers return. */
    run_cancelled(false);
}

TEST(stop_until_cancels_what_bound_threads_wait_for_without_workers) {
    /* The same holds without workers. */
    run_cancelled(true);
}
