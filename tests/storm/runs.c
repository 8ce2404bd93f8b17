/*
 * runs.c: several units of a semaphore at once, one graph in several runs at a time, serial tasks
 * that all post, and deadlines of the caller's own.
 */
#include "storm.h"

/* ---- units: as many are taken as were posted, and never more are out than there are ---- */

enum { TAKERS = 12, UNITS = 7, TAKES = 60 };

typedef struct units {
    lane *l;
    thrum_sem sem;
    atomic_int out; /* units that are taken */
    atomic_uint seeds;
} units;

typedef struct wish {
    units *u;
    unsigned n;
} wish;

static int takes_within(void *arg) {
    const wish *w = arg;
    return thrum_sem_wait_n(&w->u->sem, w->n);
}

/* Takes n units in one of four ways, some of which may fail. */
static int take(units *u, unsigned n, uint32_t r) {
    const thrum_time soon = thrum_after_us(r >> 4 & 63);
    wish w = {u, n};
    int value = 1, code;
    switch (r & 3) {
    case 0:
        return thrum_sem_wait_n(&u->sem, n);
    case 1:
        code = thrum_sem_wait_n_until(&u->sem, n, soon);
        REQUIRE(code == 0 || (code == -ETIMEDOUT && thrum_now() >= soon));
        return code;
    case 2:
        return thrum_sem_try_wait_n(&u->sem, n);
    default:
        code = thrum_with_deadline(soon, takes_within, &w, &value);
        REQUIRE(code == 0 || (code == -ETIMEDOUT && thrum_now() >= soon));
        REQUIRE(value == 0 || (value == -ECANCELED && code == -ETIMEDOUT));
        REQUIRE(!thrum_cancelled() && thrum_deadline() == THRUM_FOREVER);
        return value;
    }
}

static int taker(void *arg) {
    units *u = arg;
    uint32_t seed = atomic_fetch_add(&u->seeds, 77);
    for (int i = 0; i < FEWER(TAKES); i++) {
        const uint32_t r = storm_random(&seed);
        const unsigned n = 1 + (r >> 12) % 4;
        const int code = take(u, n, r);
        REQUIRE(code == 0 || code == -ETIMEDOUT || code == -EAGAIN || code == -ECANCELED);
        if (code == 0) {
            REQUIRE(atomic_fetch_add(&u->out, (int)n) + (int)n <= UNITS);
            if (r & 256) {
                thrum_yield();
            }
            atomic_fetch_sub(&u->out, (int)n);
            thrum_sem_post_n(&u->sem, n);
        }
    }
    return 0;
}

void round_units(lane *l) {
    units u = {.l = l};
    thrum_handle *handles[TAKERS];
    thrum_sem_init(&u.sem, UNITS);
    atomic_init(&u.seeds, storm_random(&l->seed));
    for (int i = 0; i < TAKERS; i++) {
        handles[i] = world_spawn(l->w, taker, &u);
    }
    for (int i = 0; i < TAKERS; i++) {
        world_join(handles[i]);
    }
    REQUIRE_EQ(thrum_sem_try_wait_n(&u.sem, UNITS), 0); /* all have come back */
    REQUIRE_EQ(thrum_sem_try_wait(&u.sem), -EAGAIN);
    REQUIRE_EQ(thrum_sem_destroy(&u.sem), 0);
    storm_did(l, TAKERS * FEWER(TAKES));
}

/* ---- one graph, several runs at a time ---- */

enum { LAYERS = 5, WIDTH = 4, RUNNERS = 6, RUNS = SLOWNESS > 3 ? 3 : 10 };

typedef struct course {
    thrum_dag *dag;
    atomic_uint seeds;
} course;

typedef struct one_run {
    atomic_int called[LAYERS];
    int fails_in; /* the layer whose first node fails; LAYERS: none */
    int slow;     /* the layer that takes its time */
} one_run;

static int visit(void *arg, void *run_arg) {
    const int node = (int)(intptr_t)arg, layer = node / WIDTH;
    one_run *run = run_arg;
    if (layer > 0) {
        REQUIRE_EQ(atomic_load(&run->called[layer - 1]), WIDTH);
    }
    if (layer == run->slow && node % WIDTH == 1) {
        REQUIRE_EQ(thrum_sleep(5000), 0);
    } else if (node % 3 == 0) {
        thrum_yield();
    }
    atomic_fetch_add(&run->called[layer], 1);
    return layer == run->fails_in && node % WIDTH == 0 ? -1 - layer : 0;
}

static int runs_it(void *arg) {
    course *c = arg;
    uint32_t seed = atomic_fetch_add(&c->seeds, 77);
    for (int i = 0; i < RUNS; i++) {
        const int fails_in = (int)(storm_random(&seed) % (LAYERS + 3));
        one_run run = {.fails_in = fails_in, .slow = (int)(storm_random(&seed) % LAYERS)};
        REQUIRE_EQ(thrum_dag_run_with(c->dag, &run), fails_in < LAYERS ? -1 - fails_in : 0);
        for (int layer = 0; layer < LAYERS; layer++) {
            REQUIRE_EQ(atomic_load(&run.called[layer]), layer <= fails_in ? WIDTH : 0);
        }
    }
    return 0;
}

void round_runs(lane *l) {
    course c = {.dag = NULL};
    thrum_handle *handles[RUNNERS];
    atomic_init(&c.seeds, storm_random(&l->seed));
    REQUIRE_EQ(thrum_dag_create(&c.dag), 0);
    for (int i = 0; i < LAYERS * WIDTH; i++) {
        REQUIRE_EQ(thrum_dag_node_with(c.dag, visit, (void *)(intptr_t)i), i);
    }
    for (int i = 0; i < (LAYERS - 1) * WIDTH; i++) {
        for (int to = 0; to < WIDTH; to++) {
            REQUIRE_EQ(thrum_dag_edge(c.dag, i, (i / WIDTH + 1) * WIDTH + to), 0);
        }
    }
    for (int i = 0; i < RUNNERS; i++) {
        handles[i] = world_spawn(l->w, runs_it, &c);
    }
    for (int i = 0; i < RUNNERS; i++) {
        world_join(handles[i]);
    }
    REQUIRE_EQ(thrum_dag_destroy(c.dag), 0);
    storm_did(l, RUNNERS * RUNS * LAYERS * WIDTH);
}

/* ---- serial tasks ---- */

enum { POSTERS = 6, THREADS = 2, POSTS = SLOWNESS > 3 ? 40 : 200 };

/* One a world, which is never freed: a round cannot wait until the last run has let go of it. */
typedef struct serial {
    thrum_task task;
    const world *w;
    int inside; /* plain: only runs touch it, and there is one at a time */
    long begun;
    atomic_long posted, ended;
    atomic_uint seeds;
} serial;

static serial serials[WORLDS];

static void serial_run(thrum_task *self, void *arg) {
    serial *s = arg;
    REQUIRE_EQ(s->inside, 0);
    s->inside = 1;
    const long number = ++s->begun;
    (void)thrum_task_receive_signal(self);
    if (number % 3 == 0) {
        thrum_yield();
    } else if (number % 16 == 0) {
        (void)!thrum_sleep(2000); /* cut short at the end */
    }
    REQUIRE_EQ(s->begun, number);
    s->inside = 0;
    atomic_fetch_add(&s->ended, 1);
}

static int poster(void *arg) {
    serial *s = arg;
    uint32_t seed = atomic_fetch_add(&s->seeds, 77);
    for (int i = 0; i < POSTS; i++) {
        const uint32_t r = storm_random(&seed);
        int code = -EBUSY;
        if (r % 6 == 0) {
            code = thrum_task_post_after(s->w->sched, &s->task, r >> 8 & 4095);
        } else if (r % 6 == 1) {
            code = thrum_task_post_wait(s->w->sched, &s->task);
        } else if (r % 6 == 2) {
            thrum_task_wakeup(&s->task);
        } else if (r % 6 == 3) {
            thrum_task_signal(&s->task);
        } else {
            code = thrum_task_post(s->w->sched, &s->task);
        }
        REQUIRE(code == 0 || code == -EBUSY);
        atomic_fetch_add(&s->posted, code == 0);
        if (r & 1024) {
            thrum_yield();
        }
    }
    return 0;
}

static void *poster_external(void *arg) {
    (void)poster(arg);
    return NULL;
}

void round_serials(lane *l) {
    serial *s = &serials[l->w->number];
    thrum_handle *handles[POSTERS];
    pthread_t threads[THREADS];
    if (!s->w) {
        s->w = l->w;
        thrum_task_init(&s->task, serial_run, s);
        thrum_task_set_serial(&s->task);
    }
    atomic_store(&s->seeds, storm_random(&l->seed));
    for (int i = 0; i < THREADS; i++) {
        REQUIRE_EQ(pthread_create(&threads[i], NULL, poster_external, s), 0);
    }
    for (int i = 0; i < POSTERS; i++) {
        handles[i] = world_spawn(l->w, poster, s);
    }
    for (int i = 0; i < POSTERS; i++) {
        world_join(handles[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    (void)thrum_task_cancel(&s->task); /* the last post, if it waits; all posters have ended */
    while (atomic_load(&s->ended) != atomic_load(&s->posted)) {
        thrum_yield();
    }
    storm_did(l, (POSTERS + THREADS) * POSTS);
}
