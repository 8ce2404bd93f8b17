/*
 * fork_refused.c: forks that another worker cannot take, since the system refuses the barrier.
 */
#include "support/support.h"

#include "core/due/fork_slots.h"
#include "core/state/worker.h"
#include "platform/faults.h"

typedef struct play {
    thrum_fork stolen, kept[4];
    th_worker *owner;
    atomic_int calls;
    atomic_bool held, pushed, looked;
} play;

/* Keeps the other worker from the fork on offer until there are private ones behind it. */
static int hold(void *arg) {
    play *p = arg;
    atomic_store(&p->held, true);
    SPIN_UNTIL(atomic_load(&p->pushed));
    return 0;
}

static int count(void *arg) {
    atomic_fetch_add(&((play *)arg)->calls, 1);
    return 0;
}

/* On the thief: the owner has private forks and none on offer, which is when they are rescued. */
static int look(void *arg) {
    play *p = arg;
    const th_forks *forks = &p->owner->forks;
    th_worker *worker = th_thread_self()->worker;
    CHECK(worker != p->owner);
    const uint64_t head = th_load_relaxed(&forks->xhead);
    CHECK_EQ(th_load_relaxed(&forks->xslot), TH_FORK_EMPTY);
    CHECK_EQ(th_load_relaxed(&forks->xtail), head + COUNT_OF(p->kept));
    const uint32_t left = th_os_fails_left(TH_OS_FAULT_BARRIER);
    CHECK(th_forks_rescue(worker) == NULL);
    CHECK(th_os_fails_left(TH_OS_FAULT_BARRIER) < left); /* the barrier was asked for */
    CHECK_EQ(th_load_relaxed(&forks->xhead), head);
    CHECK_EQ(atomic_load(&p->calls), 0);
    atomic_store(&p->looked, true);
    return 0;
}

static int fork_and_keep(void *arg) {
    play *p = arg;
    p->owner = th_thread_self()->worker;
    if (!p->owner->sched->can_order) {
        CHECK_SKIP("the system has no barrier");
    }
    SPIN_UNTIL(atomic_load(&p->held));
    th_os_fail(TH_OS_FAULT_BARRIER, 0, UINT32_MAX);
    thrum_fork_start(&p->stolen, look, p);
    for (size_t i = 0; i < COUNT_OF(p->kept); i++) {
        thrum_fork_start(&p->kept[i], count, p);
    }
    atomic_store(&p->pushed, true);
    SPIN_UNTIL(atomic_load(&p->looked));
    for (size_t i = COUNT_OF(p->kept); i-- > 0;) {
        CHECK_EQ(thrum_fork_join(&p->kept[i]), 0);
    }
    CHECK_EQ(thrum_fork_join(&p->stolen), 0);
    CHECK_EQ(atomic_load(&p->calls), COUNT_OF(p->kept));
    th_os_fail(TH_OS_FAULT_BARRIER, 0, 0);
    return 0;
}

TEST(a_refused_barrier_leaves_the_head_where_it_is) {
    /* The rescuer gets nothing, and each call is made once. */
    rig r;
    play p = {.calls = 0};
    if (UNDER_TSAN) {
        CHECK_SKIP("a fiber uses its worker's own variables, which looks like a race there");
    }
    rig_begin(&r, 2);
    rig_go(&r, hold, &p);
    CHECK_EQ(rig_run(&r, fork_and_keep, &p), 0);
    rig_stop(&r);
}
