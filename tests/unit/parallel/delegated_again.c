/*
 * delegated_again.c: a task's calls by others that end, and more that begin on their stacks.
 */
#include "support/sync/actors.h"

enum { CALLS = 3 };

typedef struct play {
    thrum_sem sems[CALLS];
    atomic_bool forked;
} play;

static int waits(void *arg) {
    return thrum_sem_wait(arg);
}

static void fork_waiting(thrum_fork *fork, thrum_sem *sem) {
    thrum_fork_start(fork, waits, sem);
    YIELD_UNTIL(SEM_WAITING(sem) == 1);
}

/* The two youngest of three calls end, the youngest first; two others take their places. */
static int fork_twice(void *arg) {
    play *p = arg;
    thrum_fork forks[CALLS];
    for (int i = 0; i < CALLS; i++) {
        fork_waiting(&forks[i], &p->sems[i]);
    }
    for (int i = CALLS; --i > 0;) {
        thrum_sem_post(&p->sems[i]);
        CHECK_EQ(thrum_fork_join(&forks[i]), 0);
    }
    for (int i = 1; i < CALLS; i++) {
        fork_waiting(&forks[i], &p->sems[i]);
    }
    atomic_store(&p->forked, true);
    for (int i = CALLS; i-- > 0;) {
        CHECK_EQ(thrum_fork_join(&forks[i]), -ECANCELED);
    }
    return 0;
}

TEST(calls_in_the_place_of_ended_ones_are_cancelled) {
    /* One worker has them all, so that the stacks of those that ended are taken at once. */
    rig r;
    play p = {.forked = false};
    thrum_handle *handle;
    rig_begin(&r, 1);
    for (int i = 0; i < CALLS; i++) {
        thrum_sem_init(&p.sems[i], 0);
    }
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fork_twice, &p), 0);
    SPIN_UNTIL(atomic_load(&p.forked));
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    rig_stop(&r);
}
