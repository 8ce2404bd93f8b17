/*
 * fifo.c: the fifo policy under load: order, rings of tasks, stopping while other threads post.
 */
#include "support/support.h"

static void begin(rig *r, unsigned workers, unsigned block) {
    rig_init(r);
    r->config.workers = workers;
    r->config.policy = THRUM_FIFO;
    r->config.fifo_block = block;
    rig_start(r);
}

/* ---- several posters ---- */

#define POSTERS 4
#define BATCH 8 /* what a worker takes at a time, at most, while runs are short */

typedef struct numbered {
    thrum_task task;
    int poster;
    int number;
} numbered;

static struct {
    rig *r;
    numbered *tasks[POSTERS];
    int n;
    int slack;
    atomic_int begun[POSTERS];
} st;

static void begin_in_order(thrum_task *self, void *arg) {
    const numbered *t = arg;
    (void)self;
    CHECK(atomic_fetch_add(&st.begun[t->poster], 1) >= t->number - st.slack);
}

static void *post_in_order(void *arg) {
    const int me = ((crew_seat *)arg)->index;
    for (int i = 0; i < st.n; i++) {
        numbered *t = &st.tasks[me][i];
        t->poster = me;
        t->number = i;
        thrum_task_init(&t->task, begin_in_order, t);
        CHECK_EQ(thrum_task_post(st.r->sched, &t->task), 0);
    }
    return NULL;
}

static void check_posters(unsigned workers, unsigned block) {
    rig r;
    crew posters;
    begin(&r, workers, block);
    st.r = &r;
    st.n = SCALED(100000);
    st.slack = ((int)workers - 1) * BATCH;
    for (int i = 0; i < POSTERS; i++) {
        st.tasks[i] = calloc((size_t)st.n, sizeof(numbered));
        CHECK(st.tasks[i] != NULL);
        atomic_store(&st.begun[i], 0);
    }
    crew_start(&posters, POSTERS, post_in_order, NULL);
    crew_join(&posters);
    rig_stop(&r);
    for (int i = 0; i < POSTERS; i++) {
        CHECK_EQ(atomic_load(&st.begun[i]), st.n);
        free(st.tasks[i]);
    }
}

TEST(each_posters_tasks_are_taken_in_its_order) {
    /* Four threads post at the same time. */
    check_posters(1, 1024);
    check_posters(2, 1024);
    check_posters(3, 1);
    check_posters(5, 16);
}

/* ---- a ring of tasks ---- */

#define RING 1000

typedef struct ring_task {
    thrum_task task;
    rig *r;
    int number;
    int runs;
    int visits; /* how many runs it is to have */
} ring_task;

static ring_task links[RING];
static atomic_long visits_all;

/* Posts its own task again, until that has run `visits` times. */
static void pass_on(thrum_task *self, void *arg) {
    ring_task *l = arg;
    (void)self;
    atomic_fetch_add(&visits_all, 1);
    if (++l->runs < l->visits) {
        CHECK_EQ(thrum_task_post(l->r->sched, &l->task), 0);
    }
}

TEST(a_ring_of_a_thousand_tasks) {
    /* A thousand tasks post themselves on five workers; no run is lost, no two of one overlap. */
    rig r;
    const int visits = SCALED(200);
    begin(&r, 5, 64);
    atomic_store(&visits_all, 0);
    for (int i = 0; i < RING; i++) {
        links[i] = (ring_task){.r = &r, .number = i, .visits = visits};
        thrum_task_init(&links[i].task, pass_on, &links[i]);
        CHECK_EQ(thrum_task_post(r.sched, &links[i].task), 0);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&visits_all), (long)RING * visits);
    for (int i = 0; i < RING; i++) {
        CHECK_EQ(links[i].runs, visits);
    }
}

static atomic_long hops;

/* Passes the one token on: each task posts the next one, and then only that one may run. */
static void hop(thrum_task *self, void *arg) {
    ring_task *l = arg;
    (void)self;
    l->runs++;
    if (atomic_fetch_sub(&hops, 1) > 1) {
        CHECK_EQ(thrum_task_post(l->r->sched, &links[(l->number + 1) % RING].task), 0);
    }
}

TEST(one_token_goes_round_a_thousand_tasks) {
    /* A single piece of work goes round in a scheduler of five workers. */
    rig r;
    const int n = SCALED(20) * RING;
    begin(&r, 5, 1);
    atomic_store(&hops, n);
    for (int i = 0; i < RING; i++) {
        links[i] = (ring_task){.r = &r, .number = i};
        thrum_task_init(&links[i].task, hop, &links[i]);
    }
    CHECK_EQ(thrum_task_post(r.sched, &links[0].task), 0);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&hops), 0);
    for (int i = 0; i < RING; i++) {
        CHECK_EQ(links[i].runs, n / RING);
    }
}

/* ---- stopping ---- */

static atomic_long accepted;
static atomic_long ran;

static void count(thrum_task *self, void *arg) {
    (void)arg;
    atomic_fetch_add(&ran, 1);
    free(self);
}

/* Posts until it is refused. */
static void *post_until_refused(void *arg) {
    thrum_sched *sched = ((crew_seat *)arg)->arg; /* it may be gone already */
    for (;;) {
        thrum_task *task = malloc(sizeof(*task));
        CHECK(task != NULL);
        thrum_task_init(task, count, NULL);
        const int result = thrum_task_post(sched, task);
        if (result != 0) {
            CHECK_EQ(result, -ESHUTDOWN);
            free(task);
            return NULL;
        }
        atomic_fetch_add(&accepted, 1);
    }
}

TEST(stops_while_others_post) {
    /* What was accepted runs, what was refused does not, and stop returns. */
    for (int i = 0; i < SCALED(100); i++) {
        rig r;
        crew posters;
        begin(&r, (unsigned)(1 + i % 5), i % 2 ? 1 : 256);
        const long before = atomic_load(&accepted);
        crew_start(&posters, 3, post_until_refused, r.sched);
        SPIN_UNTIL(atomic_load(&accepted) > before + 100);
        rig_stop(&r);
        crew_join(&posters);
        CHECK_EQ(atomic_load(&ran), atomic_load(&accepted));
    }
}

/* ---- fibers and tasks together ---- */

typedef struct pair {
    thrum_sem a, b;
    int rounds;
} pair;

static int ponger(void *arg) {
    pair *p = arg;
    for (int i = 0; i < p->rounds; i++) {
        CHECK_EQ(thrum_sem_wait(&p->b), 0);
        thrum_sem_post(&p->a);
        if (i % 16 == 0) {
            thrum_yield();
        }
    }
    return 0;
}

static int pinger(void *arg) {
    pair *p = arg;
    for (int i = 0; i < p->rounds; i++) {
        thrum_sem_post(&p->b);
        CHECK_EQ(thrum_sem_wait(&p->a), 0);
    }
    return 0;
}

TEST(fibers_block_and_go_on_amid_tasks) {
    /* Fibers and tasks run together, with blocks of 1 and of 64, 1 to 5 workers, and posters. */
    static pair pairs[8];
    for (unsigned workers = 1; workers <= 5; workers++) {
        rig r;
        crew posters;
        begin(&r, workers, workers % 2 ? 1 : 64);
        const long before = atomic_load(&accepted);
        for (size_t i = 0; i < COUNT_OF(pairs); i++) {
            pairs[i] = (pair){.rounds = SCALED(2000)};
            thrum_sem_init(&pairs[i].a, 0);
            thrum_sem_init(&pairs[i].b, 0);
            rig_go(&r, ponger, &pairs[i]);
            rig_go(&r, pinger, &pairs[i]);
        }
        crew_start(&posters, 2, post_until_refused, r.sched);
        SPIN_UNTIL(atomic_load(&accepted) > before + 2000);
        rig_stop(&r);
        crew_join(&posters);
        CHECK_EQ(atomic_load(&ran), atomic_load(&accepted));
    }
}
