/*
 * source.c: poll sources (thrum/poll.h): what is asked, when, and what a scheduler waits for.
 */
/* matrix: policy workers */
#include "core/state/worker.h"
#include "support/sync/actors.h"
#include "support/times.h"
#include "thrum/poll.h"

/* An operation is what somebody says it is. */
typedef struct device {
    thrum_source *source;
    thrum_sem done;
    atomic_int ready; /* operations that have ended, and not been asked for */
    atomic_int asked;
    atomic_bool inside; /* `ask` is being called */
    atomic_bool stays;  /* it does not return */
} device;

static void ask(void *arg) {
    device *d = arg;
    CHECK(!atomic_exchange(&d->inside, true));
    atomic_fetch_add(&d->asked, 1);
    while (atomic_load(&d->ready) > 0) {
        atomic_fetch_sub(&d->ready, 1);
        thrum_sem_post(&d->done);
        thrum_source_end(d->source);
    }
    while (atomic_load(&d->stays)) {
        thrum_yield();
    }
    atomic_store(&d->inside, false);
}

static void device_open(device *d, rig *r) {
    memset(d, 0, sizeof *d);
    thrum_sem_init(&d->done, 0);
    CHECK_EQ(thrum_source_open(&d->source, r->sched, ask, d), 0);
}

static void device_close(device *d) {
    CHECK_EQ(thrum_source_close(d->source), 0);
    CHECK_EQ(thrum_sem_destroy(&d->done), 0);
}

static void *end_one(void *arg) {
    atomic_fetch_add(&((device *)arg)->ready, 1);
    return NULL;
}

/* An operation that another thread ends, of which nobody is told. */
static int use(void *arg) {
    device *d = arg;
    pthread_t thread;
    CHECK_EQ(thrum_source_begin(d->source), 0);
    CHECK_EQ(pthread_create(&thread, NULL, end_one, d), 0);
    CHECK_EQ(thrum_sem_wait(&d->done), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return 0;
}

TEST(what_nobody_tells_is_asked_for) {
    /* By fibers and by plain threads. */
    rig r;
    device d;
    rig_begin(&r, 0);
    device_open(&d, &r);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(rig_run(&r, use, &d), 0);
        CHECK_EQ(use(&d), 0);
    }
    device_close(&d);
    rig_stop(&r);
}

static int use_many(void *arg) {
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(use(((actor *)arg)->arg), 0);
    }
    return 0;
}

TEST(many_use_several_sources) {
    /* No two calls of one source overlap; each operation ends once. */
    rig r;
    device d[3];
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    for (int i = 0; i < 3; i++) {
        device_open(&d[i], &r);
        cast_add_mixed(c, 3, 2, use_many, &d[i]);
    }
    cast_join(c);
    for (int i = 0; i < 3; i++) {
        device_close(&d[i]);
    }
    rig_stop(&r);
}

TEST(nothing_is_asked_while_nothing_is_under_way) {
    /* Neither before the first operation nor after the last. */
    rig r;
    device d;
    rig_begin(&r, 0);
    device_open(&d, &r);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&d.asked), 0);
    CHECK_EQ(rig_run(&r, use, &d), 0);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    const int asked = atomic_load(&d.asked);
    await_passed(soon()); /* it would be asked many times */
    CHECK_EQ(atomic_load(&d.asked), asked);
    device_close(&d);
    rig_stop(&r);
}

TEST(the_scheduler_is_not_idle_while_an_operation_is_under_way) {
    /* However long that takes; and a stop waits. */
    rig r;
    device d;
    rig_begin(&r, 0);
    device_open(&d, &r);
    CHECK_EQ(thrum_source_begin(d.source), 0);
    CHECK_EQ(thrum_source_begin(d.source), 0);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, soon()), -ETIMEDOUT);
    thrum_source_end(d.source); /* it was given up */
    CHECK_EQ(thrum_sched_wait_idle(r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_sched_wait_done(r.sched, soon()), -ETIMEDOUT);
    thrum_source_end(d.source);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_source_begin(d.source), 0);
    CHECK_EQ(thrum_sched_stop_until(r.sched, soon()), -ETIMEDOUT);
    thrum_source_end(d.source);
    rig_stop(&r);
}

/* An `ask` that waits until somebody else has seen to the operation. */
typedef struct waiting {
    thrum_source *source;
    thrum_event seen_to;
} waiting;

static void ask_waits(void *arg) {
    waiting *s = arg;
    CHECK_EQ(thrum_event_wait(&s->seen_to), 0);
    thrum_source_end(s->source);
}

TEST(the_scheduler_is_not_idle_while_the_first_ask_waits) {
    /* Nor when the operation has ended, before that is seen. */
    rig r;
    waiting s = {.seen_to = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false)};
    rig_begin(&r, 0);
    CHECK_EQ(thrum_source_open(&s.source, r.sched, ask_waits, &s), 0);
    CHECK_EQ(thrum_source_begin(s.source), 0);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, soon()), -ETIMEDOUT);
    thrum_event_signal(&s.seen_to);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_source_close(s.source), 0);
    rig_stop(&r);
}

/* An `ask` that checks how long it was left alone since the last one. */
typedef struct patient {
    thrum_source *source;
    thrum_sem done;
    int asked;
    int64_t pause;    /* between the last call and this one, in nanoseconds */
    thrum_time least; /* when this one may come */
} patient;

static void ask_patiently(void *arg) {
    patient *p = arg;
    CHECK_PASSED(p->least);
    p->pause = p->asked == 0 ? 50000 : p->pause < 500000 ? 2 * p->pause : 1000000;
    p->least = past() + p->pause;
    if (++p->asked == 12) {
        thrum_sem_post(&p->done);
        thrum_source_end(p->source);
    }
}

TEST(it_is_asked_less_often_after_a_while) {
    /* Pauses grow from 50 us to 1 ms: here from the beginning, as there are no workers. */
    rig r;
    patient p = {.done = THRUM_SEM_INIT(0)};
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(thrum_source_open(&p.source, r.sched, ask_patiently, &p), 0);
    CHECK_EQ(thrum_source_begin(p.source), 0);
    CHECK_EQ(thrum_sem_wait(&p.done), 0);
    CHECK_EQ(thrum_source_close(p.source), 0);
    CHECK_EQ(p.asked, 12);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

TEST(workers_sleep_between_two_calls) {
    /* The source is not asked at each turn for ever. */
    rig r;
    device d;
    rig_begin(&r, 0);
    device_open(&d, &r);
    CHECK_EQ(thrum_source_begin(d.source), 0);
    for (int i = 0; i < 3; i++) {
        const int asked = atomic_load(&d.asked);
        SPIN_UNTIL(atomic_load(&d.asked) > asked);
        /* relaxed: looked at again */
        SPIN_UNTIL(th_park_parked(th_load_relaxed(&r.sched->xpark)) == r.sched->workers_count);
    }
    thrum_source_end(d.source);
    device_close(&d);
    rig_stop(&r);
}

static int hold_until(void *arg) {
    SPIN_UNTIL(atomic_load((atomic_bool *)arg)); /* holds its worker */
    return 0;
}

TEST(a_worker_that_is_held_up_keeps_nobody_from_asking) {
    /* Another one does; a single one has to come back first. */
    rig r;
    device d;
    atomic_bool over = false;
    rig_begin(&r, 2);
    device_open(&d, &r);
    rig_go(&r, hold_until, &over);
    CHECK_EQ(use(&d), 0);
    atomic_store(&over, true);
    rig_wait_done(&r);
    device_close(&d);
    rig_stop(&r);
}

TEST(nothing_is_begun_from_outside_while_the_scheduler_stops) {
    /* Nor is anything counted. */
    rig r;
    device d;
    atomic_bool over = false;
    rig_begin(&r, 0);
    device_open(&d, &r);
    rig_go(&r, hold_until, &over);
    CHECK_EQ(thrum_sched_stop_until(r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_source_begin(d.source), -ESHUTDOWN);
    device_close(&d);
    atomic_store(&over, true);
    rig_stop(&r);
}

static void *let_return(void *arg) {
    device *d = arg;
    nap(); /* so that the close has probably begun */
    atomic_store(&d->stays, false);
    return NULL;
}

TEST(a_close_waits_for_the_call_that_is_under_way) {
    /* And is refused while operations are. */
    rig r;
    device d;
    pthread_t thread;
    rig_begin(&r, 0);
    device_open(&d, &r);
    CHECK_EQ(thrum_source_begin(d.source), 0);
    CHECK_EQ(thrum_source_close(d.source), -EBUSY);
    atomic_store(&d.stays, true);
    atomic_store(&d.ready, 1);
    CHECK_EQ(thrum_sem_wait(&d.done), 0);
    SPIN_UNTIL(atomic_load(&d.inside) && !atomic_load(&d.ready)); /* until it is let return */
    CHECK_EQ(pthread_create(&thread, NULL, let_return, &d), 0);
    CHECK_EQ(thrum_source_close(d.source), 0);
    CHECK(!atomic_load(&d.inside));
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rig_stop(&r);
}

static void post_then_end(void *arg) {
    device *d = arg;
    thrum_sem_post(&d->done);
    YIELD_UNTIL(atomic_load(&d->ready) == 1); /* whoever waited calls close next */
    for (int i = 0; i < 10; i++) {
        thrum_yield();
    }
    atomic_store(&d->ready, 2);
    thrum_source_end(d->source);
}

static void end_then_post(void *arg) {
    device *d = arg;
    thrum_source_end(d->source);
    thrum_sem_post(&d->done);
    YIELD_UNTIL(atomic_load(&d->ready) == 1);
    for (int i = 0; i < 10; i++) {
        thrum_yield();
    }
    atomic_store(&d->ready, 2);
}

static int wait_and_close(void *arg) {
    device *d = arg;
    CHECK_EQ(thrum_source_begin(d->source), 0);
    CHECK_EQ(thrum_sem_wait(&d->done), 0);
    atomic_store(&d->ready, 1);
    CHECK_EQ(thrum_source_close(d->source), 0);
    CHECK_EQ(atomic_load(&d->ready), 2);
    return 0;
}

TEST(what_ask_lets_go_on_may_close_the_source) {
    /* Whether the end comes before or after it: the close waits for that call of `ask`. */
    rig r;
    device d;
    rig_begin(&r, 1);
    device_open(&d, &r);
    CHECK_EQ(thrum_source_close(d.source), 0);
    CHECK_EQ(thrum_source_open(&d.source, r.sched, post_then_end, &d), 0);
    CHECK_EQ(rig_run(&r, wait_and_close, &d), 0);
    CHECK_EQ(thrum_source_open(&d.source, r.sched, end_then_post, &d), 0);
    CHECK_EQ(rig_run(&r, wait_and_close, &d), 0);
    CHECK_EQ(thrum_sem_destroy(&d.done), 0);
    rig_stop(&r);
}

static atomic_int code_inside;

static void close_itself(void *arg) {
    device *d = arg;
    atomic_store(&code_inside, thrum_source_close(d->source));
    thrum_source_end(d->source);
}

TEST(wrong_calls_are_refused) {
    /* With a code; and there may be no memory. */
    rig r;
    device d;
    thrum_source *source;
    rig_begin(&r, 0);
    CHECK_EQ(thrum_source_open(NULL, r.sched, ask, &d), -EINVAL);
    CHECK_EQ(thrum_source_open(&source, r.sched, NULL, &d), -EINVAL);
    CHECK_EQ(thrum_source_open(&source, NULL, ask, &d), -EINVAL); /* none is the caller's */
    CHECK_EQ(thrum_source_begin(NULL), -EINVAL);
    CHECK_EQ(thrum_source_close(NULL), -EINVAL);
    for (int n = 1; n <= 2; n++) {
        atomic_store(&r.fail_at, atomic_load(&r.calls) + n);
        CHECK_EQ(thrum_source_open(&source, r.sched, ask, &d), -ENOMEM);
    }
    atomic_store(&r.fail_at, 0);
    CHECK_EQ(thrum_source_open(&d.source, r.sched, close_itself, &d), 0);
    CHECK_EQ(thrum_source_begin(d.source), 0);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&code_inside), -EDEADLK);
    CHECK_EQ(thrum_source_close(d.source), 0);
    rig_stop(&r);
}

TEST(closed_ones_are_used_again) {
    /* Once their last call is over: no memory is needed for each. */
    rig r;
    device d;
    rig_begin(&r, 0);
    device_open(&d, &r);
    CHECK_EQ(rig_run(&r, use, &d), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    device_close(&d);
    atomic_store(&r.fail_all, true);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(thrum_source_open(&d.source, r.sched, ask, &d), 0);
        CHECK_EQ(thrum_source_close(d.source), 0);
    }
    atomic_store(&r.fail_all, false);
    rig_stop(&r);
}

TEST(a_bound_thread_asks_while_it_waits) {
    /* Without workers; and in a loop of its own it is told to come again soon. */
    rig r;
    device d;
    thrum_time next;
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    device_open(&d, &r);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(use(&d), 0);
    }
    CHECK_EQ(thrum_poll_run(&next), 0);
    CHECK_EQ(next, THRUM_FOREVER);
    CHECK_EQ(thrum_source_begin(d.source), 0);
    CHECK_EQ(thrum_poll_run(&next), 0);
    CHECK(next <= soon()); /* a millisecond from now, or earlier */
    thrum_source_end(d.source);
    CHECK_EQ(thrum_poll_run(&next), 0);
    CHECK_EQ(next, THRUM_FOREVER);
    device_close(&d);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}
