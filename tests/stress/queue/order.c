/*
 * order.c: work of one producer keeps its order within a queue.
 */
/* matrix: policy workers */
#include "support/support.h"

#define PRODUCERS 8

typedef struct numbered {
    thrum_task task;
    int producer;
    int number;
} numbered;

typedef struct stream {
    rig *r;
    int worker; /* the one worker that runs them all, or -1 */
    int total;  /* of each producer */
    int window; /* how many of each may be queued at once */
    atomic_int posted[PRODUCERS];
    atomic_int ran[PRODUCERS];
    atomic_int producers;
} stream;

static stream st;

static void run_numbered(thrum_task *self, void *arg) {
    numbered *n = arg;
    (void)self;
    /* one worker runs them all: no other thread changes this count */
    CHECK_EQ(atomic_load(&st.ran[n->producer]), n->number);
    atomic_store(&st.ran[n->producer], n->number + 1);
    free(n);
}

static void post_numbered(int producer, int number) {
    numbered *n = malloc(sizeof(*n));
    CHECK(n != NULL);
    n->producer = producer;
    n->number = number;
    thrum_task_init(&n->task, run_numbered, n);
    thrum_task_set_worker(&n->task, st.worker);
    CHECK_EQ(thrum_task_post(st.r->sched, &n->task), 0);
}

/* Posts as many as fit its share of the queue, then lets them run. */
static int produce(void *arg) {
    const int me = (int)(intptr_t)arg;
    for (int i = 0; i < st.total; i++) {
        post_numbered(me, i);
        if ((i + 1) % st.window == 0) {
            YIELD_UNTIL(atomic_load(&st.ran[me]) == i + 1);
        }
    }
    return 0;
}

TEST(producers_keep_their_order_in_one_ring) {
    /* Tasks of several fibers stand in one worker's ring together, never so many that it spills. */
    rig r;
    rig_begin(&r, 1);
    st.r = &r;
    st.worker = -1;
    st.total = SCALED(40000);
    st.window = 24;
    for (int i = 0; i < PRODUCERS; i++) {
        rig_go(&r, produce, (void *)(intptr_t)i);
    }
    rig_wait_done(&r);
    for (int i = 0; i < PRODUCERS; i++) {
        CHECK_EQ(atomic_load(&st.ran[i]), st.total);
    }
    rig_stop(&r);
}

static void *produce_external(void *arg) {
    const int me = ((crew_seat *)arg)->index;
    for (int i = 0; i < st.total; i++) {
        post_numbered(me, i);
        while (i - atomic_load(&st.ran[me]) > 5000) {
            sched_yield(); /* memory stays bounded */
        }
    }
    return NULL;
}

TEST(external_producers_keep_their_order) {
    /* Order holds from plain threads to one worker, through the inject queue and what is grabbed
     * from it. */
    rig r;
    crew c;
    rig_begin(&r, 1);
    st.r = &r;
    st.worker = -1;
    st.total = SCALED(30000);
    crew_start(&c, 4, produce_external, NULL);
    crew_join(&c);
    rig_wait_done(&r);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(atomic_load(&st.ran[i]), st.total);
    }
    rig_stop(&r);
}

TEST(producers_keep_their_order_in_an_inbox) {
    /* Order holds from external threads into one worker's inbox, with other workers beside it. */
    rig r;
    crew c;
    rig_begin(&r, 0);
    st.r = &r;
    st.worker = 0;
    st.total = SCALED(30000);
    crew_start(&c, 4, produce_external, NULL);
    crew_join(&c);
    rig_wait_done(&r);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(atomic_load(&st.ran[i]), st.total);
    }
    rig_stop(&r);
}

static int produce_tied(void *arg) {
    const int me = (int)(intptr_t)arg;
    for (int i = 0; i < st.total; i++) {
        post_numbered(me, i);
        if (i % 100 == 99) {
            YIELD_UNTIL(i - atomic_load(&st.ran[me]) < 50);
        }
    }
    return 0;
}

TEST(fibers_keep_their_order_in_an_inbox) {
    /* Order holds when fibers that move between workers post into one worker's inbox. */
    rig r;
    rig_begin(&r, 0);
    st.r = &r;
    st.worker = 0;
    st.total = SCALED(20000);
    for (int i = 0; i < PRODUCERS; i++) {
        rig_go(&r, produce_tied, (void *)(intptr_t)i);
    }
    rig_wait_done(&r);
    for (int i = 0; i < PRODUCERS; i++) {
        CHECK_EQ(atomic_load(&st.ran[i]), st.total);
    }
    rig_stop(&r);
}
