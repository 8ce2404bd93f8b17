/*
 * spares.c: spare workers take over for workers that one task holds up each: whatever waits
 * meanwhile is run.
 *
 * Each regular worker has a task that blocks its thread, or computes, until something has run that
 * is queued while they all do: if no spare takes over, nothing ever ends that.
 */
/* matrix: policy workers */
#include "core/fiber/stack.h"
#include "support/sync/held.h"
#include "support/times.h"

/* ---- what waits ---- */

static int opens_after_passing(void *arg) {
    hold *h = arg;
    int number = 0;
    SPIN_UNTIL(atomic_load(&h->in) == h->count);
    for (int i = 0; i < 20; i++) {
        thrum_yield();
        ticks_check(&h->ticks);
    }
    nap();
    CHECK_EQ(thrum_chan_recv(h->chan, &number), 0);
    CHECK_EQ(number, 7);
    held_open(h);
    return 0;
}

static int sends(void *arg) {
    hold *h = arg;
    const int number = 7;
    ticks_check(&h->ticks);
    CHECK_EQ(thrum_sem_wait(&h->sem), 0);
    CHECK_EQ(thrum_chan_send(h->chan, &number), 0);
    return 0;
}

static void waits_for(hold *h, held_way way, held_prelude prelude, held_prelude then) {
    h->prelude = prelude;
    held_begin(h, way, held_regular(h), true);
    if (then) {
        then(h);
    }
    held_end(h);
    held_settle(h); /* the next time one must take over again */
}

/* In all ways, of a scheduler that has spares. */
static void check_opens(held_prelude prelude, held_prelude then) {
    static hold h;
    held_init_spares(&h);
    held_start(&h);
    for (int way = 0; way < HELD_WAYS; way++) {
        waits_for(&h, (held_way)way, prelude, then);
    }
    held_stop(&h);
}

TEST(what_is_posted_from_outside_runs) {
    /* It was posted when all workers were held up. */
    check_opens(NULL, open_by_post);
}

TEST(a_deadline_set_from_outside_is_met) {
    /* It was set when all workers were held up. */
    check_opens(NULL, open_by_timer);
}

TEST(what_a_held_worker_had_posted_runs) {
    /* It is in the worker's own queue. */
    check_opens(open_by_post, NULL);
}

TEST(a_deadline_of_a_held_worker_is_met) {
    /* Its body has set it. */
    check_opens(open_by_timer, NULL);
}

static void open_by_next(hold *h) {
    thrum_task_init(&h->openers[0], opening_body, h);
    CHECK_EQ(thrum_task_post_hint(h->r.sched, &h->openers[0], THRUM_HINT_NEXT), 0);
}

TEST(what_is_in_the_slot_of_a_held_worker_runs) {
    /* No thief would take it. */
    check_opens(open_by_next, NULL);
}

static void counting_body(thrum_task *self, void *arg) {
    hold *h = arg;
    (void)self;
    ticks_check(&h->ticks);
    if (atomic_fetch_add(&h->passes, 1) + 1 == (int)COUNT_OF(h->openers)) {
        held_open(h);
    }
}

static void open_by_many(hold *h) {
    atomic_store(&h->passes, 0);
    for (size_t i = 0; i < COUNT_OF(h->openers); i++) {
        thrum_task_init(&h->openers[i], counting_body, h);
        CHECK_EQ(thrum_task_post_hint(h->r.sched, &h->openers[i],
                                      i % 4 == 3 ? THRUM_HINT_NEXT : THRUM_HINT_NONE),
                 0);
    }
}

TEST(all_that_a_held_worker_had_posted_runs) {
    /* The last one of them ends the hold. */
    check_opens(open_by_many, NULL);
}

TEST(all_that_is_posted_from_outside_runs) {
    /* The last one of them ends the hold. */
    check_opens(NULL, open_by_many);
}

static void fork_opener(hold *h) {
    thrum_fork_start(&h->fork, opening_fiber, h);
}

static void joining_body(hold *h) {
    fork_opener(h);
    atomic_fetch_add(&h->in, 1);
    SPIN_UNTIL(atomic_load(&h->open));
    CHECK_EQ(thrum_fork_join(&h->fork), 0);
    atomic_fetch_sub(&h->in, 1); /* it goes on as a body that is released */
}

TEST(a_fork_of_a_held_worker_is_called) {
    /* Its caller computes instead of joining it. */
    check_opens(joining_body, NULL);
}

static void open_by_fibers(hold *h) {
    rig_go(&h->r, sends, h);
    rig_go(&h->r, opens_after_passing, h);
}

static void wake_sender(hold *h) {
    thrum_sem_post(&h->sem);
}

static void check_fibers(held_prelude prelude, held_prelude then) {
    static hold h;
    held_init_spares(&h);
    thrum_sem_init(&h.sem, 0);
    CHECK_EQ(thrum_chan_create(&h.chan, sizeof(int), 0), 0);
    held_start(&h);
    for (int way = 0; way < HELD_WAYS; way++) {
        waits_for(&h, (held_way)way, prelude, then);
    }
    held_stop(&h);
    CHECK_EQ(thrum_chan_destroy(h.chan), 0);
}

static void fibers_and_wake(hold *h) {
    open_by_fibers(h);
    wake_sender(h);
}

TEST(fibers_of_a_held_worker_go_on) {
    /* They yield, sleep and pass a value, and had not begun when their worker was held up. */
    check_fibers(fibers_and_wake, NULL);
}

TEST(fibers_that_are_woken_from_outside_go_on) {
    /* A plain thread wakes one of them when all workers are held up. */
    check_fibers(open_by_fibers, wake_sender);
}

TEST(fibers_started_from_outside_run) {
    /* They yield, sleep and pass a value on spare workers. */
    check_fibers(NULL, fibers_and_wake);
}

static int yields_until_held(void *arg) {
    hold *h = arg;
    YIELD_UNTIL(atomic_load(&h->in) == held_regular(h));
    thrum_yield();
    ticks_check(&h->ticks);
    if (atomic_fetch_add(&h->passes, 1) + 1 == 8) {
        held_open(h);
    }
    return 0;
}

TEST(fibers_that_yield_go_on) {
    /* They are in the yield queues of the workers when these are held up. */
    static hold h;
    held_init_spares(&h);
    held_start(&h);
    for (int way = 0; way < HELD_WAYS; way++) {
        atomic_store(&h.passes, 0);
        atomic_store(&h.in, 0);
        h.count = held_regular(&h);
        for (int i = 0; i < 8; i++) {
            rig_go(&h.r, yields_until_held, &h);
        }
        held_begin(&h, (held_way)way, held_regular(&h), true);
        held_end(&h);
        rig_wait_done(&h.r);
    }
    held_stop(&h);
}

/* ---- how many ---- */

static void check_all_but_one(unsigned spares, held_way way) {
    static hold h;
    held_init(&h);
    h.r.config.workers_spare = spares;
    held_start(&h);
    const int all = held_regular(&h) + held_spares(&h);
    CHECK(spares == THRUM_SPARE_AUTO || held_spares(&h) == (int)spares);
    for (int i = 0; i < 2 && all > 1; i++) {
        held_begin(&h, way, all - 1, false);
        open_by_timer(&h);
        held_end(&h);
        held_begin(&h, way, all - 1, false);
        open_by_post(&h);
        held_end(&h);
    }
    held_stop(&h);
}

TEST(all_but_one_are_blocked) {
    /* Of the workers and spares together: the last one runs everything. */
    NEEDS_STATES_OF_THREADS(); /* more of them than processors: only so they count as blocked */
    check_all_but_one(THRUM_SPARE_AUTO, HELD_READING);
    check_all_but_one(THRUM_SPARE_AUTO, HELD_WAITING);
    check_all_but_one(1, HELD_READING);
    check_all_but_one(2, HELD_READING);
    check_all_but_one(40, HELD_WAITING);
}

TEST(one_spare_is_enough_for_all_that_compute) {
    /* One takes over for all regular workers. */
    check_all_but_one(1, HELD_COMPUTING);
}

/* ---- many rounds ---- */

static void opens_on_a_spare(thrum_task *self, void *arg) {
    hold *h = arg;
    (void)self;
    CHECK(thrum_worker_id() >= held_regular(h));
    held_open(h);
}

TEST(held_up_again_and_again) {
    /* Spares come each time; they retire, and do not keep more and more fibers. */
    static hold h;
    held_init(&h);
    held_start(&h);
    if (held_spares(&h) == 0) {
        CHECK_SKIP("one worker has no spare");
    }
    for (int round = 0; round < 12; round++) {
        held_begin(&h, round % 2 ? HELD_READING : HELD_WAITING, held_regular(&h), true);
        thrum_task_init(&h.openers[0], opens_on_a_spare, &h);
        CHECK_EQ(round % 3 ? thrum_task_post(h.r.sched, &h.openers[0])
                           : thrum_task_post_until(h.r.sched, &h.openers[0], soon()),
                 0);
        held_end(&h);
        held_settle(&h);
    }
    /* Under the thread sanitizer each task has a fiber of its own. */
    CHECK(UNDER_TSAN || th_stacks_live(&h.r.sched->stacks) <= 3 * thrum_sched_workers(h.r.sched));
    held_stop(&h);
}
