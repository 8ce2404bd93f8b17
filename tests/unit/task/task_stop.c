/*
 * task_stop.c: what stop and stop_until do with tasks that are queued, that wait, and that wait
 * again; and with the timed waits of fibers.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

typedef struct waiter {
    thrum_task task;
    rig *r;
    int runs, expired, cancelled; /* plain: the runs of a task are ordered, stop comes after them */
    int again;                    /* the result of waiting once more */
    int times;                    /* how often it waits again */
} waiter;

static void count_run(thrum_task *self, void *arg) {
    waiter *w = arg;
    w->runs++;
    w->expired += thrum_task_is_expired(self);
    w->cancelled += thrum_task_is_cancelled(self);
}

static void waiter_init(waiter *w, rig *r, thrum_task_fn fn) {
    memset(w, 0, sizeof(*w));
    w->r = r;
    thrum_task_init(&w->task, fn, w);
}

static int stop_until(rig *r, thrum_time deadline) {
    return thrum_sched_stop_until(r->sched, deadline);
}

/* A stop_until that must end the scheduler; otherwise like rig_stop. */
static void rig_stop_until(rig *r, thrum_time deadline) {
    watchdog_remove(r);
    CHECK_EQ(stop_until(r, deadline), 0);
    rig_check_freed(r);
}

/* ---- stop ---- */

TEST(stop_runs_what_is_queued) {
    /*
     * Single posts, batches, pinned ones, and those whose deadline is over run once each, not
     * cancelled.
     */
    enum { N = 400 };
    static waiter w[N];
    rig r;
    rig_begin(&r, 0);
    const int workers = (int)thrum_sched_parallelism(r.sched);
    for (int i = 0; i < N; i += 4) {
        for (int k = i; k < i + 4; k++) {
            waiter_init(&w[k], &r, count_run);
        }
        thrum_task *const batch[] = {&w[i].task, &w[i + 1].task};
        thrum_task_set_worker(&w[i + 2].task, i / 4 % workers);
        CHECK_EQ(thrum_task_post_batch(r.sched, batch, 2), 0);
        CHECK_EQ(thrum_task_post(r.sched, &w[i + 2].task), 0);
        CHECK_EQ(thrum_task_post_until(r.sched, &w[i + 3].task, past()), 0);
    }
    rig_stop(&r);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(w[i].runs, 1);
        CHECK_EQ(w[i].expired, 1);
        CHECK_EQ(w[i].cancelled, 0);
    }
}

TEST(stop_cancels_what_waits_for_a_wakeup) {
    /* Each of them runs once more, and is told; also those of one worker. */
    enum { N = 500 };
    static waiter w[N];
    rig r;
    rig_begin(&r, 0);
    const int workers = (int)thrum_sched_parallelism(r.sched);
    for (int i = 0; i < N; i++) {
        waiter_init(&w[i], &r, count_run);
        if (i % 3 == 0) {
            thrum_task_set_worker(&w[i].task, i % workers);
        }
        CHECK_EQ(thrum_task_post_wait(r.sched, &w[i].task), 0);
    }
    rig_stop(&r);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(w[i].runs, 1);
        CHECK_EQ(w[i].expired, 0);
        CHECK_EQ(w[i].cancelled, 1);
    }
}

static void wake_the_other(thrum_task *self, void *arg) {
    waiter *w = arg;
    count_run(self, w);
    thrum_task_wakeup(&w[1].task);
}

TEST(stop_cancels_nothing_that_may_still_be_woken) {
    /* A task that waits for a wakeup is left alone while another's deadline is to come. */
    static waiter w[2];
    rig r;
    rig_begin(&r, 0);
    waiter_init(&w[0], &r, wake_the_other);
    waiter_init(&w[1], &r, count_run);
    CHECK_EQ(thrum_task_post_wait(r.sched, &w[1].task), 0);
    CHECK_EQ(thrum_task_post_until(r.sched, &w[0].task, soon()), 0);
    rig_stop(&r);
    CHECK(w[0].runs == 1 && w[0].expired == 1 && w[0].cancelled == 0);
    CHECK(w[1].runs == 1 && w[1].expired == 0 && w[1].cancelled == 0);
}

static void note_when(thrum_task *self, void *arg) {
    count_run(self, arg);
    CHECK_PASSED(*(thrum_time *)(void *)((waiter *)arg)->r);
}

TEST(stop_waits_for_a_deadline) {
    /* It does not make it due: the task runs in its time. */
    waiter w;
    rig r;
    rig_begin(&r, 0);
    thrum_time until = soon();
    waiter_init(&w, (rig *)(void *)&until, note_when);
    CHECK_EQ(thrum_task_post_until(r.sched, &w.task, until), 0);
    rig_stop(&r);
    CHECK_PASSED(until);
    CHECK(w.runs == 1 && w.expired == 1 && w.cancelled == 0);
}

/* ---- stop_until ---- */

/* A body that runs on over a stop's deadline, and then has tasks wait: its own and another. */
typedef struct late_poster {
    waiter self, after, until, woken;
    atomic_bool runs, go_on;
    bool serial;
} late_poster;

static void posts_late(thrum_task *self, void *arg) {
    late_poster *p = arg;
    count_run(self, &p->self);
    if (p->self.cancelled) {
        p->self.again = thrum_task_post_after(p->self.r->sched, self, THRUM_S(1000));
        return;
    }
    atomic_store(&p->runs, true);
    SPIN_UNTIL(atomic_load(&p->go_on));
    thrum_sched *sched = p->self.r->sched;
    CHECK_EQ(thrum_task_post_until(sched, &p->until.task, far_off()), 0);
    CHECK_EQ(thrum_task_post_after(sched, &p->after.task, THRUM_S(1000)), 0);
    CHECK_EQ(thrum_task_post_wait(sched, &p->woken.task), 0);
    CHECK_EQ(thrum_task_post_until(sched, self, far_off()), 0);
}

TEST(what_begins_to_wait_after_the_deadline_of_a_stop_is_cancelled_too) {
    /* A body that was running then lets it wait; its next run may not wait again. */
    for (int serial = 0; serial < 2; serial++) {
        static late_poster p;
        rig r;
        rig_begin(&r, 0);
        memset(&p, 0, sizeof(p));
        waiter *const others[] = {&p.after, &p.until, &p.woken};
        for (int i = 0; i < 3; i++) {
            waiter_init(others[i], &r, count_run);
        }
        waiter_init(&p.self, &r, posts_late);
        thrum_task_init(&p.self.task, posts_late, &p);
        if (serial) {
            thrum_task_set_serial(&p.self.task);
            thrum_task_set_serial(&p.until.task);
        }
        CHECK_EQ(thrum_task_post(r.sched, &p.self.task), 0);
        SPIN_UNTIL(atomic_load(&p.runs));
        CHECK_EQ(stop_until(&r, past()), -ETIMEDOUT);
        atomic_store(&p.go_on, true);
        rig_stop(&r);
        for (int i = 0; i < 3; i++) {
            CHECK(others[i]->runs == 1 && others[i]->cancelled == 1);
        }
        CHECK(p.self.runs == 2 && p.self.cancelled == 1);
        CHECK_EQ(p.self.again, -ESHUTDOWN);
    }
}

TEST(stop_until_cancels_what_is_far_off) {
    /* Past its deadline it returns, and what waited runs once; then a stop ends it. */
    enum { N = 300 };
    static waiter w[N];
    for (int late = 0; late < 2; late++) {
        rig r;
        rig_begin(&r, 0);
        for (int i = 0; i < N; i++) {
            waiter_init(&w[i], &r, count_run);
            CHECK_EQ(thrum_task_post_until(r.sched, &w[i].task, far_off() + i), 0);
        }
        CHECK_EQ(stop_until(&r, late ? past() : soon()), -ETIMEDOUT);
        CHECK_EQ(thrum_task_post(r.sched, &(thrum_task)THRUM_TASK_INIT(count_run, NULL)),
                 -ESHUTDOWN);
        rig_stop(&r);
        for (int i = 0; i < N; i++) {
            CHECK_EQ(w[i].runs, 1);
            CHECK_EQ(w[i].expired, 0);
            CHECK_EQ(w[i].cancelled, 1);
        }
    }
}

TEST(stop_until_in_time_stops) {
    /* Nothing is left, or only what waits for a wakeup: it is 0, and the scheduler is gone. */
    for (int i = 0; i < SCALED(50); i++) {
        waiter w[3];
        rig r;
        rig_begin(&r, 0);
        for (int k = 0; k < 3; k++) {
            waiter_init(&w[k], &r, count_run);
        }
        if (i % 2) {
            CHECK_EQ(thrum_task_post(r.sched, &w[0].task), 0);
            CHECK_EQ(thrum_task_post_after(r.sched, &w[1].task, 50000), 0);
            CHECK_EQ(thrum_task_post_wait(r.sched, &w[2].task), 0);
        }
        rig_stop_until(&r, far_off());
        for (int k = 0; k < 3; k++) {
            CHECK_EQ(w[k].runs, i % 2);
            CHECK_EQ(w[k].cancelled, k == 2 ? i % 2 : 0);
        }
    }
}

/* Asks in each way to wait again, when it was cancelled. */
static void wait_again(thrum_task *self, void *arg) {
    waiter *w = arg;
    count_run(self, w);
    CHECK(thrum_task_is_cancelled(self));
    CHECK_EQ(thrum_task_post_wait(w->r->sched, self), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post_until(w->r->sched, self, far_off()), -ESHUTDOWN);
    CHECK_EQ(thrum_task_post_after(w->r->sched, self, 1), -ESHUTDOWN);
    if (w->runs == 1) {
        thrum_task_set_body(self, count_run, w);
        CHECK_EQ(thrum_task_post(w->r->sched, self), 0); /* it may run at once */
    }
}

TEST(a_cancelled_task_may_not_wait_again) {
    /*
     * It is -ESHUTDOWN in each way to wait, after stop and after stop_until; to run at once is
     * fine.
     */
    for (int late = 0; late < 2; late++) {
        waiter w[2];
        rig r;
        rig_begin(&r, 0);
        for (int i = 0; i < 2; i++) {
            waiter_init(&w[i], &r, wait_again);
        }
        CHECK_EQ(thrum_task_post_wait(r.sched, &w[0].task), 0);
        CHECK_EQ(thrum_task_post_until(r.sched, &w[1].task, late ? far_off() : THRUM_FOREVER), 0);
        if (late) {
            CHECK_EQ(stop_until(&r, soon()), -ETIMEDOUT);
        }
        rig_stop(&r);
        for (int i = 0; i < 2; i++) {
            CHECK(w[i].runs == 2 && w[i].cancelled == 1 && w[i].expired == 1);
        }
    }
}

static void wait_once_more(thrum_task *self, void *arg) {
    waiter *w = arg;
    count_run(self, w);
    if (w->runs == 1) {
        CHECK(thrum_task_is_cancelled(self));
        CHECK_EQ(thrum_task_post_after(w->r->sched, self, 100000), 0);
    }
}

TEST(one_cancelled_by_its_owner_may_wait_again) {
    /* There is no stop: only that one run was unwanted. */
    waiter w;
    rig r;
    rig_begin(&r, 0);
    waiter_init(&w, &r, wait_once_more);
    CHECK_EQ(thrum_task_post_wait(r.sched, &w.task), 0);
    CHECK_EQ(thrum_task_cancel(&w.task), 0);
    rig_wait_done(&r);
    CHECK(w.runs == 2 && w.cancelled == 1 && w.expired == 1);
    rig_stop(&r);
}

static void post_another(thrum_task *self, void *arg) {
    waiter *w = arg;
    count_run(self, w);
    CHECK(thrum_task_is_cancelled(self));
    if (w->times-- > 0) {
        CHECK_EQ(thrum_task_post_until(w->r->sched, &w[1].task, far_off()), 0);
    }
}

TEST(a_chain_of_cancelled_tasks_ends_with_the_stop_that_began_it) {
    /* Each has another wait: it is cancelled like those that waited already. */
    enum { N = 5 };
    waiter w[N];
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < N; i++) {
        waiter_init(&w[i], &r, post_another);
        w[i].times = i + 1 < N;
    }
    CHECK_EQ(thrum_task_post_until(r.sched, &w[0].task, far_off()), 0);
    CHECK_EQ(stop_until(&r, past()), -ETIMEDOUT);
    rig_stop(&r);
    for (int i = 0; i < N; i++) {
        CHECK(w[i].runs == 1 && w[i].cancelled == 1);
    }
}

/* ---- fibers in timed waits ---- */

typedef struct sleepers {
    rig *r;
    thrum_sem sem;
    thrum_event event;
    thrum_waitgroup group;
    thrum_mutex held, own;
    thrum_cond cond;
    thrum_handle *never;
    atomic_int cancelled;
} sleepers;

enum { WAYS = 6 };

static int wait_in_a_way(sleepers *s, int way) {
    int result;
    switch (way) {
    case 0:
        return thrum_sem_wait_until(&s->sem, far_off());
    case 1:
        return thrum_event_wait_until(&s->event, far_off());
    case 2:
        return thrum_waitgroup_wait_until(&s->group, far_off());
    case 3:
        thrum_mutex_lock(&s->own);
        result = thrum_cond_wait_until(&s->cond, &s->own, far_off());
        thrum_mutex_unlock(&s->own);
        return result;
    case 4:
        return thrum_join_until(s->never, NULL, far_off());
    default:
        return sleep_until_cancelled();
    }
}

typedef struct sleeper {
    sleepers *s;
    int way;
    int rounds; /* how often it waits */
    atomic_int cancelled;
} sleeper;

static int wait_far(void *arg) {
    sleeper *one = arg;
    for (int i = 0; i < one->rounds; i++) {
        CHECK_EQ(wait_in_a_way(one->s, one->way), -ECANCELED);
        one->cancelled++;
    }
    return 0;
}

/* No cancel ends the wait for a mutex that has no deadline. */
static int wait_untimed(void *arg) {
    sleepers *s = arg;
    thrum_mutex_lock(&s->held);
    thrum_mutex_unlock(&s->held);
    return 0;
}

static void sleepers_begin(sleepers *s, rig *r) {
    const thrum_attr attr = rig_attr(r);
    *s = (sleepers){.r = r,
                    .sem = THRUM_SEM_INIT(0),
                    .event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false),
                    .group = THRUM_WAITGROUP_INIT(1),
                    .held = THRUM_MUTEX_INIT,
                    .own = THRUM_MUTEX_INIT,
                    .cond = THRUM_COND_INIT};
    thrum_mutex_lock(&s->held);
    CHECK_EQ(thrum_spawn_with(&s->never, &attr, wait_untimed, s), 0);
}

/* What was given up leaves nothing behind. */
static void sleepers_end(sleepers *s) {
    thrum_mutex_unlock(&s->held);
    CHECK_EQ(thrum_join(s->never, NULL), 0);
    rig_stop(s->r);
    thrum_waitgroup_done(&s->group);
    CHECK_EQ(thrum_sem_destroy(&s->sem), 0);
    CHECK_EQ(thrum_event_destroy(&s->event), 0);
    CHECK_EQ(thrum_waitgroup_destroy(&s->group), 0);
    CHECK_EQ(thrum_mutex_destroy(&s->held), 0);
    CHECK_EQ(thrum_mutex_destroy(&s->own), 0);
    CHECK_EQ(thrum_cond_destroy(&s->cond), 0);
}

TEST(stop_until_cancels_timed_waits) {
    /* Waits of each kind, however far off, return -ECANCELED, and so does each that follows. */
    enum { ROUNDS = 3, N = 3 * WAYS - 2 }; /* only one task may join */
    rig r;
    sleepers s;
    sleeper all[N];
    rig_begin(&r, 0);
    sleepers_begin(&s, &r);
    for (int i = 0; i < N; i++) {
        int way = i < WAYS ? i : (i - WAYS) % (WAYS - 2);
        all[i] = (sleeper){.s = &s, .way = way, .rounds = ROUNDS};
        rig_go(&r, wait_far, &all[i]);
    }
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(atomic_load(&all[i].cancelled), 0);
    }
    CHECK_EQ(stop_until(&r, past()), -ETIMEDOUT);
    for (int i = 0; i < N; i++) {
        SPIN_UNTIL(atomic_load(&all[i].cancelled) == ROUNDS);
    }
    sleepers_end(&s);
}

/* A loop that checks something now and then, and does not ask why its wait has ended. */
static int wait_anew(void *arg) {
    sleeper *one = arg;
    while (one->rounds-- > 0) {
        one->cancelled += sleep_until_cancelled() == -ECANCELED;
        thrum_yield();
    }
    return 0;
}

TEST(stop_until_is_not_held_up_by_tasks_that_wait_again) {
    /* Thousands of sleepers go to sleep again at once. */
    enum { N = 2000 };
    static sleeper all[N];
    const int n = SCALED(N);
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < n; i++) {
        all[i] = (sleeper){.rounds = 100};
        rig_go(&r, wait_anew, &all[i]);
    }
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(stop_until(&r, past()), -ETIMEDOUT);
    rig_stop(&r);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(atomic_load(&all[i].cancelled), 100);
    }
}

/* ---- by a task of another scheduler ---- */

static int stop_other_until(void *arg) {
    rig *r = arg;
    CHECK_EQ(stop_until(r, soon()), -ETIMEDOUT);
    rig_stop_until(r, far_off());
    return 0;
}

TEST(a_task_stops_another_scheduler_until) {
    /* It does so as a plain thread does; stopping its own is refused. */
    waiter w;
    rig a;
    rig b;
    rig_begin(&a, 0);
    rig_begin(&b, 0);
    waiter_init(&w, &b, count_run);
    CHECK_EQ(thrum_task_post_until(b.sched, &w.task, far_off()), 0);
    CHECK_EQ(rig_run(&a, stop_other_until, &b), 0);
    CHECK(w.runs == 1 && w.cancelled == 1);
    rig_stop(&a);
}

static int stop_own_until(void *arg) {
    CHECK_EQ(stop_until(arg, past()), -EDEADLK);
    CHECK_EQ(stop_until(arg, far_off()), -EDEADLK);
    return 0;
}

TEST(stop_until_refusals) {
    /* It refuses no scheduler, and one's own. */
    rig r;
    CHECK_EQ(thrum_sched_stop_until(NULL, past()), -EINVAL);
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, stop_own_until, &r), 0);
    rig_stop(&r);
}
