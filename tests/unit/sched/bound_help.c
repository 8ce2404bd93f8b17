/*
 * bound_help.c: a bound thread's queues: where a thread that helps finds the workers' tasks, and
 * what it posts itself.
 */
#include "support/support.h"
#include "support/times.h"

typedef struct queue_of_one {
    atomic_bool begun;
    atomic_int ran;
} queue_of_one;

static int counts_itself(void *arg) {
    atomic_fetch_add(&((queue_of_one *)arg)->ran, 1);
    return 0;
}

static int fills_its_queue(void *arg) {
    queue_of_one *q = arg;
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_go(counts_itself, q), 0);
    }
    atomic_store(&q->begun, true);
    SPIN_UNTIL(atomic_load(&q->ran) >=
               10); /* not all: some queues keep their newest to themselves */
    return 7;
}

TEST(a_bound_thread_takes_from_a_workers_own_queue) {
    /* The only worker spins until others have run what it queued: the bound thread, as it joins. */
    rig r;
    queue_of_one q = {0};
    thrum_handle *handle = NULL;
    int result = 0;
    rig_init(&r);
    r.config.workers = 1;
    r.config.policy = THRUM_SHARDED;
    r.config.pin_all = false;
    r.config.help_when_bound = true;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(thrum_spawn(&handle, fills_its_queue, &q), 0);
    SPIN_UNTIL(atomic_load(&q.begun));
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 7);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&q.ran), 20);
    rig_stop(&r);
}

/* ---- what it posts ---- */

static order seen;

static void note(thrum_task *self, void *arg) {
    (void)self;
    order_add(&seen, (int)(intptr_t)arg);
}

static void post_a_batch(unsigned workers) {
    rig r;
    thrum_task tasks[50];
    thrum_task *batch[COUNT_OF(tasks)];
    rig_init(&r);
    r.config.workers = workers;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        thrum_task_init(&tasks[i], note, (void *)(intptr_t)i);
        batch[i] = &tasks[i];
    }
    CHECK_EQ(thrum_task_post_batch(r.sched, batch, COUNT_OF(batch)), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    if (workers == 0) {
        order_check_counts_up(&seen, (int)COUNT_OF(batch));
    } else {
        CHECK_EQ(atomic_exchange(&seen.count, 0), (int)COUNT_OF(batch));
    }
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

TEST(batch_of_a_bound_thread) {
    /* Each is run once: by the workers, or without workers by the thread itself, in order. */
    post_a_batch(0);
    post_a_batch(1);
    post_a_batch(3);
}

TEST(yielding_post_of_a_bound_thread) {
    /* THRUM_HINT_YIELD puts it behind what was posted after it without a hint. */
    rig r;
    thrum_task first, second;
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    thrum_task_init(&first, note, (void *)(intptr_t)1);
    thrum_task_init(&second, note, (void *)(intptr_t)0);
    CHECK_EQ(thrum_task_post_hint(r.sched, &first, THRUM_HINT_YIELD), 0);
    CHECK_EQ(thrum_task_post(r.sched, &second), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    order_check_counts_up(&seen, 2);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

typedef struct successor {
    rig *r;
    thrum_mutex *mutex;
} successor;

static void *binds_after(void *arg) {
    const crew_seat *seat = arg;
    const successor *s = seat->arg;
    CHECK_EQ(thrum_sched_bind(s->r->sched), 0);
    CHECK_EQ(thrum_mutex_lock_until(s->mutex, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_sched_unbind(), 0);
    return NULL;
}

TEST(a_thread_bound_after_another_is_a_different_one) {
    /* It gets the earlier one's record, but not its locks. */
    rig r;
    crew c;
    thrum_mutex mutex;
    successor s = {&r, &mutex};
    rig_begin(&r, 0);
    thrum_mutex_init(&mutex);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    thrum_mutex_lock(&mutex);
    crew_start(&c, 1, binds_after, &s);
    crew_join(&c);
    thrum_mutex_unlock(&mutex);
    rig_stop(&r);
}
