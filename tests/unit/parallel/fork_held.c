/*
 * fork_held.c: forks of a task that does not come back to them.
 */
/* matrix: policy workers */
#include "support/support.h"

#include "core/state/worker.h"

static atomic_int calls;

static int count(void *arg) {
    (void)arg;
    atomic_fetch_add(&calls, 1);
    return 0;
}

static int fork_and_spin(void *arg) {
    enum { FORKS = 8 };
    thrum_fork forks[FORKS];
    (void)arg;
    const thrum_sched *sched = thrum_sched_current();
    if (sched->workers_regular < 2 || !sched->can_order) {
        CHECK_SKIP("nobody else is there, or the system has no barrier");
    }
    for (int i = 0; i < FORKS; i++) {
        thrum_fork_start(&forks[i], count, NULL);
    }
    SPIN_UNTIL(atomic_load(&calls) == FORKS);
    for (int i = FORKS - 1; i >= 0; i--) {
        CHECK_EQ(thrum_fork_join(&forks[i]), 0);
    }
    return 0;
}

TEST(forks_behind_the_one_on_offer_are_rescued) {
    /* The first is stolen; the others are private, and their owner spins until they have run. */
    rig_do(0, fork_and_spin, NULL);
}
