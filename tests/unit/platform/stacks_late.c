/*
 * stacks_late.c: a worker that gives stacks back before it sleeps sees its deadlines meanwhile.
 */
/* matrix: policy workers */
/* wrap: th_os_discard */
#include "core/state/worker.h"
#include "platform/platform.h"
#include "support/support.h"
#include "support/times.h"

#define CROWD 4000

/* Once a deadline has passed, it sees to the stacks that it keeps for itself, and to four more. */
#define MOST (2 * TH_FIBER_CACHE_KEPT + 4)

int __real_th_os_discard(void *addr, size_t size);
int __wrap_th_os_discard(void *addr, size_t size);

static thrum_sem never;
static _Atomic int64_t due;   /* the sleeper's deadline; 0: it does not sleep */
static atomic_uint after_due; /* stacks that were given back once it had passed */

int __wrap_th_os_discard(void *addr, size_t size) {
    const int64_t at = atomic_load(&due);
    atomic_fetch_add(&after_due, at != 0 && past() >= at);
    return __real_th_os_discard(addr, size);
}

typedef struct crowd {
    thrum_waitgroup ready;
    thrum_event gate;
    atomic_int left; /* tasks that have gone on from the gate */
} crowd;

static int stay(void *arg) {
    crowd *c = arg;
    thrum_waitgroup_done(&c->ready);
    const int code = thrum_event_wait(&c->gate);
    atomic_fetch_add(&c->left, 1);
    return code;
}

/* A crowd comes and goes; then this one sleeps for a millisecond at a time while it is cleared. */
static int sleep_beside(void *arg) {
    crowd *c = arg;
    unsigned most = 0;
    for (int i = 0; i < CROWD; i++) {
        CHECK_EQ(thrum_go(stay, c), 0);
    }
    CHECK_EQ(thrum_waitgroup_wait(&c->ready), 0);
    thrum_event_signal(&c->gate);
    YIELD_UNTIL(atomic_load(&c->left) == CROWD); /* now the worker has nothing else to do */
    for (int i = 0; i < 40; i++) {
        atomic_store(&after_due, 0u);
        const thrum_time until = soon();
        atomic_store(&due, until);
        CHECK_EQ(thrum_sem_wait_until(&never, until), -ETIMEDOUT);
        atomic_store(&due, 0);
        const unsigned after = atomic_load(&after_due);
        most = after > most ? after : most;
    }
    return (int)most;
}

TEST(deadlines_are_met_while_stacks_are_given_back) {
    /* Few of the stacks are freed before it looks again: the others wait. */
    rig r;
    crowd c = {.left = 0};
    if (UNDER_TSAN) {
        CHECK_SKIP("each task has a stack of its own there, and none is kept");
    }
    if (TH_OS_STACKS_GROW) {
        CHECK_SKIP("stacks that grow are not given back by th_os_discard");
    }
    thrum_sem_init(&never, 0);
    thrum_waitgroup_init(&c.ready, CROWD);
    thrum_event_init(&c.gate, THRUM_EVENT_MANUAL, false);
    rig_begin(&r, 1);
    CHECK(rig_run(&r, sleep_beside, &c) <= MOST);
    rig_stop(&r);
}
