/*
 * wake_hint.c: whether a fiber that a worker makes ready passes what is queued there.
 */
#include "support/sync/actors.h"

typedef struct play {
    thrum_sem sem;
    order log;
} play;

enum { WOKEN, QUEUED };

static int is_woken(void *arg) {
    play *p = arg;
    CHECK_EQ(thrum_sem_wait(&p->sem), 0);
    order_add(&p->log, WOKEN);
    return 0;
}

static int is_queued(void *arg) {
    order_add(&((play *)arg)->log, QUEUED);
    return 0;
}

/* One is queued, then another is woken, and then the only worker is free. */
static int queue_and_wake(void *arg) {
    play *p = arg;
    CHECK_EQ(thrum_go(is_woken, p), 0);
    YIELD_UNTIL(SEM_WAITING(&p->sem) == 1);
    CHECK_EQ(thrum_go(is_queued, p), 0);
    thrum_sem_post(&p->sem);
    return 0;
}

TEST(a_woken_fiber_runs_next_if_the_config_says_so) {
    /* It passes what is queued only then. */
    for (int hint = 0; hint < 2; hint++) {
        rig r;
        play p = {.sem = THRUM_SEM_INIT(0)};
        rig_init(&r);
        r.config.workers = 1;
        r.config.policy = THRUM_SHARDED;
        r.config.wake_hint = hint;
        rig_start(&r);
        CHECK_EQ(rig_run(&r, queue_and_wake, &p), 0);
        rig_wait_done(&r);
        CHECK_EQ(p.log.seen[0], hint ? WOKEN : QUEUED);
        CHECK_EQ(p.log.seen[1], hint ? QUEUED : WOKEN);
        rig_stop(&r);
    }
}
