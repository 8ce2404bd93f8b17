/*
 * task_serial.c: thrum_task_set_serial: the runs of one task never overlap, whichever threads post
 * it, and none is lost; what a post asks for while a run is on counts from that run's end.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

typedef struct probe {
    thrum_task task;
    thrum_sched *sched;
    atomic_int inside, runs;
    int plain; /* each run adds to it: the thread sanitizer sees what orders them */
    atomic_bool in, out;
    thrum_cause cause; /* cause of the last run */
    bool signaled;
} probe;

static void enter(probe *p, thrum_task *self) {
    CHECK_EQ(atomic_fetch_add(&p->inside, 1), 0); /* never two at a time */
    p->plain++;
    p->cause = thrum_task_cause(self);
}

static void leave(probe *p) {
    atomic_fetch_add(&p->runs, 1);
    CHECK_EQ(atomic_fetch_sub(&p->inside, 1), 1);
}

static void probe_init(probe *p, thrum_sched *sched, thrum_task_fn body) {
    memset(p, 0, sizeof *p);
    p->sched = sched;
    thrum_task_init(&p->task, body, p);
    thrum_task_set_serial(&p->task);
}

static void yields(thrum_task *self, void *arg) {
    probe *p = arg;
    enter(p, self);
    if (p->plain % 4 == 0) {
        thrum_yield();
    } else if (p->plain % 64 == 1) {
        nap();
    }
    leave(p);
}

/* ---- many posters ---- */

enum { POSTERS = 3 };

static int posts_wanted;
static atomic_int posts_done, refusals;

static void *posts_often(void *arg) {
    probe *p = arg;
    thrum_task *all[1] = {&p->task};
    while (atomic_load(&posts_done) < posts_wanted) {
        const int result = atomic_load(&posts_done) % 5 == 0
                               ? thrum_task_post_batch(p->sched, all, 1)
                               : thrum_task_post(p->sched, &p->task);
        CHECK(result == 0 || result == -EBUSY);
        atomic_fetch_add(result == 0 ? &posts_done : &refusals, 1);
        if (result != 0) {
            sched_yield();
        }
    }
    return NULL;
}

static int posts_inside(void *arg) {
    probe *p = arg;
    while (atomic_load(&posts_done) < posts_wanted) {
        const int result = thrum_task_post_hint(p->sched, &p->task, THRUM_HINT_NEXT);
        CHECK(result == 0 || result == -EBUSY);
        atomic_fetch_add(result == 0 ? &posts_done : &refusals, 1);
        thrum_yield();
    }
    return 0;
}

static void check_posters(int worker) {
    pthread_t threads[POSTERS];
    probe p;
    rig r;
    rig_begin(&r, 0);
    probe_init(&p, r.sched, yields);
    thrum_task_set_worker(&p.task, worker);
    posts_wanted = SCALED(4000);
    for (int i = 0; i < POSTERS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, posts_often, &p), 0);
    }
    rig_go(&r, posts_inside, &p);
    for (int i = 0; i < POSTERS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), atomic_load(&posts_done)); /* each post is one run */
    CHECK_EQ(p.plain, atomic_load(&posts_done));
    rig_stop(&r);
}

TEST(runs_never_overlap_however_posted) {
    /* Threads and tasks post one by one and in batches: each post that is taken is one run. */
    check_posters(-1);
}

TEST(runs_of_a_pinned_one_never_overlap) {
    /* The same holds for a task that is tied to a worker. */
    check_posters(0);
}

/* ---- a post while a run is on ---- */

static void held(thrum_task *self, void *arg) {
    probe *p = arg;
    enter(p, self);
    if (p->plain == 1) {
        atomic_store(&p->in, true);
        SPIN_UNTIL(atomic_load(&p->out));
    } else {
        p->signaled = thrum_task_receive_signal(self);
    }
    leave(p);
}

static void held_begin(rig *r, probe *p) {
    probe_init(p, r->sched, held);
    CHECK_EQ(thrum_task_post(r->sched, &p->task), 0);
    SPIN_UNTIL(atomic_load(&p->in));
}

static void held_end(rig *r, probe *p, thrum_cause cause) {
    CHECK_EQ(atomic_load(&p->runs), 0);
    atomic_store(&p->out, true);
    rig_wait_done(r);
    CHECK_EQ(atomic_load(&p->runs), 2);
    CHECK_EQ(p->cause, cause);
    CHECK_EQ(p->signaled, cause == THRUM_CAUSE_SIGNALED);
}

static void open_it(thrum_task *self, void *arg) {
    (void)self;
    atomic_store((atomic_bool *)arg, true);
}

TEST(a_post_while_a_run_is_on_takes_effect_when_it_returns) {
    /* It is taken, once; other tasks that were posted later do not wait for it. */
    rig r;
    probe p;
    rig_begin(&r, 0);
    held_begin(&r, &p);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), -EBUSY);
    CHECK_EQ(thrum_task_post_wait(r.sched, &p.task), -EBUSY);
    if (thrum_sched_parallelism(r.sched) > 1) {
        atomic_bool ran = false;
        thrum_task other = THRUM_TASK_INIT(open_it, &ran);
        CHECK_EQ(thrum_task_post(r.sched, &other), 0);
        SPIN_UNTIL(atomic_load(&ran));
    }
    held_end(&r, &p, THRUM_CAUSE_POSTED);
    rig_stop(&r);
}

TEST(a_deadline_set_while_a_run_is_on_holds) {
    /* The next run comes at the deadline, or when the run returns, whichever is later. */
    rig r;
    probe p;
    rig_begin(&r, 0);
    held_begin(&r, &p);
    CHECK_EQ(thrum_task_post_until(r.sched, &p.task, 1), 0);
    held_end(&r, &p, THRUM_CAUSE_EXPIRED);
    held_begin(&r, &p);
    const thrum_time until = soon();
    CHECK_EQ(thrum_task_post_until(r.sched, &p.task, until), 0);
    held_end(&r, &p, THRUM_CAUSE_EXPIRED);
    CHECK_PASSED(until);
    rig_stop(&r);
}

TEST(wakeups_signals_and_cancels_find_the_next_run) {
    /* A post that a run keeps waiting: its run comes at once when the other is over. */
    rig r;
    probe p;
    rig_begin(&r, 0);
    for (int late = 0; late < 2; late++) {
        for (int what = 0; what < 3; what++) {
            held_begin(&r, &p);
            if (late) {
                CHECK_EQ(thrum_task_post_until(r.sched, &p.task, late == 2 ? 0 : far_off()), 0);
            } else {
                CHECK_EQ(thrum_task_cancel(&p.task), -EBUSY); /* not posted: no effect */
                CHECK_EQ(thrum_task_post_wait(r.sched, &p.task), 0);
            }
            if (what == 0) {
                thrum_task_wakeup(&p.task);
            } else if (what == 1) {
                thrum_task_signal(&p.task);
            } else {
                CHECK_EQ(thrum_task_cancel(&p.task), 0);
            }
            held_end(&r, &p,
                     what == 0   ? THRUM_CAUSE_WOKEN
                     : what == 1 ? THRUM_CAUSE_SIGNALED
                                 : THRUM_CAUSE_CANCELLED);
            CHECK_EQ(thrum_task_cancel(&p.task), -EBUSY);
        }
    }
    rig_stop(&r);
}

TEST(one_that_waits_is_woken_and_expires_like_any) {
    /* With no run on, posts behave as those of other tasks. */
    rig r;
    probe p;
    rig_begin(&r, 0);
    probe_init(&p, r.sched, held);
    p.plain = 1;
    CHECK_EQ(thrum_task_post_after(r.sched, &p.task, 1000), 0);
    rig_wait_done(&r);
    CHECK_EQ(p.cause, THRUM_CAUSE_EXPIRED);
    CHECK_EQ(thrum_task_post_wait(r.sched, &p.task), 0);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), -EBUSY);
    thrum_task_wakeup(&p.task);
    rig_wait_done(&r);
    CHECK_EQ(p.cause, THRUM_CAUSE_WOKEN);
    CHECK_EQ(thrum_task_post_until(r.sched, &p.task, far_off()), 0);
    CHECK_EQ(thrum_task_cancel(&p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(p.cause, THRUM_CAUSE_CANCELLED);
    thrum_task_signal(&p.task);
    CHECK_EQ(thrum_task_post_wait(r.sched, &p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(p.cause, THRUM_CAUSE_SIGNALED);
    CHECK_EQ(thrum_task_post_wait(r.sched, &p.task), 0);
    rig_stop(&r);
    CHECK_EQ(p.cause, THRUM_CAUSE_CANCELLED);
    CHECK_EQ(atomic_load(&p.runs), 5);
}

/* ---- batches ---- */

TEST(a_batch_with_one_that_runs) {
    /* The others are queued at once, that one when its run returns; all or none are posted. */
    rig r;
    probe p;
    rig_begin(&r, 0);
    held_begin(&r, &p);
    atomic_bool ran[2] = {false, false};
    thrum_task others[2] = {THRUM_TASK_INIT(open_it, &ran[0]), THRUM_TASK_INIT(open_it, &ran[1])};
    thrum_task *batch[3] = {&others[0], &p.task, &others[1]};
    CHECK_EQ(thrum_task_post_batch(r.sched, batch, 3), 0);
    if (thrum_sched_parallelism(r.sched) > 1) {
        SPIN_UNTIL(atomic_load(&ran[0]) && atomic_load(&ran[1]));
    }
    CHECK_EQ(thrum_task_post_batch(r.sched, batch + 1, 1), -EBUSY);
    held_end(&r, &p, THRUM_CAUSE_POSTED);
    CHECK(atomic_load(&ran[0]) && atomic_load(&ran[1]));

    held_begin(&r, &p);
    thrum_task bad = THRUM_TASK_INIT(open_it, NULL);
    thrum_task_set_worker(&bad, 1000);
    batch[2] = &bad;
    CHECK_EQ(thrum_task_post_batch(r.sched, batch, 3), -EINVAL);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0); /* it is not posted */
    held_end(&r, &p, THRUM_CAUSE_POSTED);
    rig_stop(&r);
}

/* ---- its own body ---- */

static void posts_itself(thrum_task *self, void *arg) {
    probe *p = arg;
    thrum_task *all[1] = {self};
    enter(p, self);
    if (p->plain < 100) {
        CHECK_EQ(p->plain % 3 == 0   ? thrum_task_post(p->sched, self)
                 : p->plain % 3 == 1 ? thrum_task_post_after(p->sched, self, 1000)
                                     : thrum_task_post_batch(p->sched, all, 1),
                 0);
        CHECK_EQ(thrum_task_post(p->sched, self), -EBUSY);
        thrum_yield();
    }
    leave(p);
}

TEST(its_body_posts_it) {
    /* It posts it in each way, and goes on after that. */
    rig r;
    probe p;
    rig_begin(&r, 0);
    probe_init(&p, r.sched, posts_itself);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.runs), 100);
    rig_stop(&r);
}

/* By turns at once, where any worker takes it, and at a deadline. */
static void posts_itself_by_turns(thrum_task *self, void *arg) {
    probe *p = arg;
    enter(p, self);
    const int run = atomic_load(&p->runs);
    if (run < 200) {
        CHECK_EQ(run % 2 ? thrum_task_post_hint(p->sched, self, THRUM_HINT_YIELD)
                         : thrum_task_post_after(p->sched, self, 1000),
                 0);
    }
    leave(p);
}

TEST(runs_at_once_and_later_by_turns) {
    /* On whatever worker: the words that were read for a run at once are the timers' next. */
    enum { MANY = 32 };
    rig r;
    probe many[MANY];
    rig_begin(&r, 0);
    for (int i = 0; i < MANY; i++) {
        probe_init(&many[i], r.sched, posts_itself_by_turns);
        CHECK_EQ(thrum_task_post(r.sched, &many[i].task), 0);
    }
    rig_wait_done(&r);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(atomic_load(&many[i].runs), 201);
    }
    rig_stop(&r);
}

static void waits_until_told_to_end(thrum_task *self, void *arg) {
    probe *p = arg;
    enter(p, self);
    const int result = thrum_task_post_wait(p->sched, self);
    CHECK_EQ(result, thrum_task_is_cancelled(self) ? -ESHUTDOWN : 0);
    leave(p);
}

TEST(stop_ends_one_that_waits_again) {
    /* The task is cancelled, and its body's post is refused. */
    rig r;
    probe p;
    rig_begin(&r, 0);
    probe_init(&p, r.sched, waits_until_told_to_end);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&p.runs), 2);
}

/* ---- steps that a callback goes on with ---- */

typedef struct steps {
    thrum_task task;
    thrum_sched *sched;
    atomic_int inside, request; /* the step that the callback's thread is asked for */
    int done;
} steps;

enum { STEPS = 200 };

static void step(thrum_task *self, void *arg) {
    steps *s = arg;
    CHECK_EQ(atomic_fetch_add(&s->inside, 1), 0);
    CHECK(self == &s->task);
    s->done++;
    atomic_store(&s->request, s->done); /* from here on it may be posted, though this run goes on */
    thrum_yield();
    CHECK_EQ(atomic_fetch_sub(&s->inside, 1), 1);
}

static void *calls_back(void *arg) {
    steps *s = arg;
    for (int i = 1; i < STEPS; i++) {
        SPIN_UNTIL(atomic_load(&s->request) == i);
        CHECK_EQ(thrum_task_post(s->sched, &s->task), 0);
    }
    return NULL;
}

TEST(a_callback_posts_the_next_step_while_the_body_runs) {
    /* These are operations of several steps, as users of TaskScheduler write them. */
    pthread_t thread;
    steps s = {.done = 0};
    rig r;
    rig_begin(&r, 0);
    s.sched = r.sched;
    thrum_task_init(&s.task, step, &s);
    thrum_task_set_serial(&s.task);
    CHECK_EQ(pthread_create(&thread, NULL, calls_back, &s), 0);
    CHECK_EQ(thrum_task_post(r.sched, &s.task), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rig_wait_done(&r);
    CHECK_EQ(s.done, STEPS);
    rig_stop(&r);
}

/* ---- two schedulers, and one without workers ---- */

TEST(a_post_to_another_scheduler_waits_for_the_run) {
    /*
     * A run is on in one, and the post is to another: the task comes there when the run has
     * returned.
     */
    rig a;
    rig b;
    probe p;
    rig_begin(&a, 0);
    rig_begin(&b, 0);
    held_begin(&a, &p);
    CHECK_EQ(thrum_task_post(b.sched, &p.task), 0);
    CHECK_EQ(thrum_sched_wait_done(b.sched, 0), -ETIMEDOUT); /* it counts there from now on */
    atomic_store(&p.out, true);
    rig_wait_done(&b);
    CHECK_EQ(atomic_load(&p.runs), 2);
    rig_stop(&a);
    rig_stop(&b);
}

static void *posts_and_opens(void *arg) {
    probe *p = arg;
    SPIN_UNTIL(atomic_load(&p->in));
    CHECK_EQ(thrum_task_post(p->sched, &p->task), 0);
    CHECK_EQ(thrum_task_post(p->sched, &p->task), -EBUSY);
    atomic_store(&p->out, true);
    return NULL;
}

TEST(without_workers) {
    /* A bound thread runs it. */
    pthread_t thread;
    rig r;
    probe p;
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    probe_init(&p, r.sched, held);
    CHECK_EQ(pthread_create(&thread, NULL, posts_and_opens, &p), 0);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&p.runs), 2);
    thrum_sched_unbind();
    CHECK_EQ(pthread_join(thread, NULL), 0);
    rig_stop(&r);
}

static void counts_one(thrum_task *self, void *arg) {
    (void)self;
    ++*(int *)arg;
}

TEST(once_all_is_done_the_memory_is_the_callers) {
    /* Nothing of the scheduler's touches it any more, as the thread sanitizer checks. */
    rig r;
    thrum_task task;
    int runs = 0;
    rig_begin(&r, 0);
    for (int i = 1; i <= SCALED(2000); i++) {
        thrum_task_init(&task, counts_one, &runs);
        thrum_task_set_serial(&task);
        CHECK_EQ(thrum_task_post(r.sched, &task), 0);
        int code; /* without a sleep, in which the worker could do more than that */
        SPIN_UNTIL((code = thrum_sched_wait_done(r.sched, 0)) != -ETIMEDOUT);
        CHECK_EQ(code, 0);
        CHECK_EQ(runs, i);
        memset(&task, 0xdd, sizeof(task));
    }
    rig_stop(&r);
}
