/*
 * overflow.c: stealing against popping against spilling into the inject queue, with tiny local
 * queues.
 */
/* matrix: policy workers */
#include "support/support.h"

typedef struct load {
    rig *r;
    atomic_int *runs;
    int per_fiber;
    atomic_int ran;
} load;

typedef struct item {
    thrum_task task;
    load *l;
    atomic_int *runs;
} item;

static void run_item(thrum_task *self, void *arg) {
    item *it = arg;
    load *l = it->l;
    (void)self;
    CHECK_EQ(atomic_fetch_add(it->runs, 1), 0);
    free(it);
    atomic_fetch_add(&l->ran, 1);
}

typedef struct source {
    load *l;
    int index;
} source;

/* Posts bursts of growing and shrinking size, so that the queue is met full, half full and empty.
 */
static int burst(void *arg) {
    const source *s = arg;
    load *l = s->l;
    int posted = 0;
    for (int size = 1; posted < l->per_fiber; size = size % 13 + 1) {
        for (int i = 0; i < size && posted < l->per_fiber; i++, posted++) {
            item *it = malloc(sizeof(*it));
            CHECK(it != NULL);
            it->l = l;
            it->runs = &l->runs[s->index * l->per_fiber + posted];
            thrum_task_init(&it->task, run_item, it);
            const thrum_hint hint = posted % 17 == 0 ? THRUM_HINT_NEXT : THRUM_HINT_NONE;
            CHECK_EQ(thrum_task_post_hint(l->r->sched, &it->task, hint), 0);
        }
        if (size % 3 == 0) {
            thrum_yield();
        }
    }
    return 0;
}

static void check_capacity(unsigned capacity) {
    rig r;
    enum { FIBERS = 16 };
    source sources[FIBERS];
    load l = {.r = &r, .per_fiber = SCALED(4000)};
    l.runs = calloc((size_t)(FIBERS * l.per_fiber), sizeof(*l.runs));
    CHECK(l.runs != NULL);
    rig_init(&r);
    r.config.local_capacity = capacity;
    rig_start(&r);
    for (int i = 0; i < FIBERS; i++) {
        sources[i] = (source){&l, i};
        rig_go(&r, burst, &sources[i]);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&l.ran), FIBERS * l.per_fiber);
    for (int i = 0; i < FIBERS * l.per_fiber; i++) {
        CHECK_EQ(atomic_load(&l.runs[i]), 1);
    }
    free(l.runs);
}

TEST(capacity_of_two) {
    /* Nearly every post spills from the smallest queue. */
    check_capacity(2);
}

TEST(capacity_of_four) {
    /* A queue of four wraps around all the time. */
    check_capacity(4);
}
