/*
 * wake_hint.c: whether a fiber that a worker makes ready passes others that are ready.
 */
#include "support/sync/actors.h"

enum { FIRST, SECOND };

typedef struct play {
    thrum_sem sems[2];
    order log;
} play;

static play the_play;

static int is_woken(void *arg) {
    const int number = (int)(intptr_t)arg;
    CHECK_EQ(thrum_sem_wait(&the_play.sems[number]), 0);
    order_add(&the_play.log, number);
    return 0;
}

/* Two wait, and are woken one after the other; then the only worker is free. */
static int wake_both(void *arg) {
    play *p = arg;
    for (int i = FIRST; i <= SECOND; i++) {
        CHECK_EQ(thrum_go(is_woken, (void *)(intptr_t)i), 0);
        YIELD_UNTIL(SEM_WAITING(&p->sems[i]) == 1);
    }
    thrum_sem_post(&p->sems[FIRST]);
    thrum_sem_post(&p->sems[SECOND]);
    return 0;
}

TEST(a_woken_fiber_runs_next_if_the_config_says_so) {
    /* The last one passes the one before only then. */
    for (int hint = 0; hint < 2; hint++) {
        rig r;
        play *p = &the_play;
        *p = (play){.sems = {THRUM_SEM_INIT(0), THRUM_SEM_INIT(0)}};
        rig_init(&r);
        r.config.workers = 1;
        r.config.policy = THRUM_SHARDED;
        r.config.wake_hint = hint;
        rig_start(&r);
        CHECK_EQ(rig_run(&r, wake_both, p), 0);
        rig_wait_done(&r);
        CHECK_EQ(p->log.seen[0], hint ? SECOND : FIRST);
        CHECK_EQ(p->log.seen[1], hint ? FIRST : SECOND);
        rig_stop(&r);
    }
}
