/*
 * spares_deadlines.c: a deadline that is set on a spare worker is met, also when a task holds that
 * spare up, or when it is idle again.
 */
#include <unistd.h>

#include "support/sync/actors.h"
#include "support/times.h"

enum { WORKERS = 2 };
enum { STAY_NS = 100000000 }; /* longer than a spare stays, if all is in time */

typedef struct hold {
    rig r;
    int ends[2]; /* a pipe: reading it blocks a thread until the test writes */
    thrum_sem blocked;
    thrum_sem never;
    bool spare_too; /* the spare on which the deadline is set is held up meanwhile */
    thrum_event set;
    atomic_bool met;
} hold;

static int block(void *arg) {
    hold *h = arg;
    char c;
    thrum_sem_post(&h->blocked);
    CHECK_EQ(read(h->ends[0], &c, 1), 1);
    return 0;
}

static void block_worker(hold *h, int worker) {
    thrum_attr attr = rig_attr(&h->r);
    attr.flags = THRUM_PINNED;
    attr.worker = worker;
    CHECK_EQ(thrum_go_with(&attr, block, h), 0);
}

/* Runs on a spare, once the workers are blocked. */
static int set_deadline(void *arg) {
    hold *h = arg;
    const int spare = thrum_worker_id();
    CHECK(spare >= WORKERS);
    if (h->spare_too) {
        block_worker(h, spare);
    }
    thrum_event_signal(&h->set);
    CHECK_EQ(thrum_sem_wait_until(&h->never, soon() + STAY_NS), -ETIMEDOUT);
    atomic_store(&h->met, true);
    return 0;
}

static void check_deadline(bool spare_too) {
    hold h = {.spare_too = spare_too};
    CHECK_EQ(pipe(h.ends), 0);
    thrum_sem_init(&h.blocked, 0);
    thrum_sem_init(&h.never, 0);
    thrum_event_init(&h.set, THRUM_EVENT_MANUAL, false);
    rig_init(&h.r);
    h.r.config.workers_spare = THRUM_SPARE_AUTO;
    h.r.config.workers = WORKERS;
    h.r.config.workers_spare = 2;
    h.r.config.stall_rescue_ms = 10;
    h.r.config.pin_all = false;
    rig_start(&h.r);
    for (int i = 0; i < WORKERS; i++) {
        block_worker(&h, i);
    }
    CHECK_EQ(thrum_sem_wait_n(&h.blocked, WORKERS), 0);
    rig_go(&h.r, set_deadline, &h);
    CHECK_EQ(thrum_event_wait(&h.set), 0);
    if (!spare_too) {
        CHECK_EQ(write(h.ends[1], "ab", WORKERS), WORKERS); /* no spare is wanted any more */
    }
    SPIN_UNTIL(atomic_load(&h.met));
    if (spare_too) {
        CHECK_EQ(write(h.ends[1], "abc", WORKERS + 1), WORKERS + 1);
    }
    rig_stop(&h.r);
    close(h.ends[0]);
    close(h.ends[1]);
}

TEST(a_deadline_set_on_a_spare_that_is_then_held_up) {
    /* Three tasks hold up both workers and one of two spares: the other one meets the deadline. */
    NEEDS_STATES_OF_THREADS(); /* more of them than processors: only so they count as blocked */
    check_deadline(true);
}

TEST(a_deadline_set_on_a_spare_that_goes_back) {
    /* The workers come back, the spare becomes idle, and the deadline is met all the same. */
    check_deadline(false);
}
