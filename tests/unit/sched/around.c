/*
 * around.c: what the program around a scheduler gives it: hooks and settings.
 */
#include "support/support.h"
#include "support/times.h"

/* ---- hooks ---- */

static void *plain_alloc(void *ctx, size_t size) {
    (void)ctx;
    return malloc(size);
}

static void free_something(void *ctx, void *ptr) {
    (void)ctx;
    CHECK(ptr != NULL);
    free(ptr);
}

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

static int makes_and_drops(void *arg) {
    thrum_dag *dag;
    thrum_chan *chan;
    (void)arg;
    CHECK_EQ(thrum_dag_create(&dag), 0);
    CHECK_EQ(thrum_dag_destroy(dag), 0); /* an empty graph */
    CHECK_EQ(thrum_dag_create(&dag), 0);
    CHECK_EQ(thrum_dag_node(dag, nothing, NULL), 0);
    CHECK_EQ(thrum_dag_run(dag), 0);
    CHECK_EQ(thrum_dag_destroy(dag), 0);
    CHECK_EQ(thrum_chan_create(&chan, sizeof(int), 0), 0);
    CHECK_EQ(thrum_chan_destroy(chan), 0);
    return 0;
}

TEST(the_free_hook_is_given_something) {
    /* A hook that is no free() need not know NULL. */
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 2;
    config.alloc = plain_alloc;
    config.free = free_something;
    CHECK_EQ(thrum_run(&config, makes_and_drops, NULL), 0);
}

/* ---- settings ---- */

static int sleeps_a_little(void *arg) {
    (void)arg;
    nap();
    return 0;
}

TEST(spinning_for_ever_is_no_overflow) {
    /* No worker parks, deadlines are seen meanwhile, and a stop ends it. */
    rig r;
    thrum_metrics m = {.size = sizeof m};
    rig_init(&r);
    r.config.workers = 2;
    r.config.spin_ns = INT64_MAX;
    rig_start(&r);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(rig_run(&r, nothing, NULL), 0);
    }
    CHECK_EQ(thrum_metrics_read(r.sched, THRUM_ALL_WORKERS, &m), 0);
    CHECK_EQ(m.parks, 0);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(rig_run(&r, sleeps_a_little, NULL), 0);
    }
    rig_stop(&r);
}
