/*
 * task_wait.c: tasks that wait for a deadline, a wakeup or a signal; what a run learns of why it
 * came.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

typedef struct seen {
    thrum_task task;
    atomic_int runs;
    bool expired, cancelled, signaled; /* state of the last run */
    thrum_time until;                  /* no run may come before */
} seen;

static void look(thrum_task *self, void *arg) {
    seen *s = arg;
    CHECK_PASSED(s->until);
    s->expired = thrum_task_is_expired(self);
    s->cancelled = thrum_task_is_cancelled(self);
    CHECK_EQ(thrum_task_is_signaled(self), thrum_task_is_signaled(self));
    s->signaled = thrum_task_receive_signal(self);
    CHECK(!thrum_task_is_signaled(self));
    CHECK(!thrum_task_receive_signal(self));
    s->runs++;
}

static void seen_init(seen *s) {
    memset(s, 0, sizeof *s);
    thrum_task_init(&s->task, look, s);
}

/* ---- deadlines ---- */

TEST(a_deadline_makes_it_due) {
    /* It is not due before, and says that it expired; a second post is refused meanwhile. */
    rig r;
    seen s;
    rig_begin(&r, 0);
    seen_init(&s);
    s.until = soon();
    CHECK_EQ(thrum_task_post_until(r.sched, &s.task, s.until), 0);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 1);
    CHECK(s.expired && !s.cancelled && !s.signaled);
    s.until = 0;
    CHECK_EQ(thrum_task_post_until(r.sched, &s.task, far_off()), 0);
    CHECK_EQ(thrum_task_post(r.sched, &s.task), -EBUSY);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), -EBUSY);
    thrum_task_wakeup(&s.task);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 2);
    CHECK(!s.expired && !s.cancelled && !s.signaled);
    rig_stop(&r);
}

TEST(a_delay_is_a_deadline) {
    /* post_after counts from now on. */
    rig r;
    seen s;
    rig_begin(&r, 0);
    seen_init(&s);
    s.until = past() + 3000000;
    CHECK_EQ(thrum_task_post_after(r.sched, &s.task, 3000000), 0);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 1);
    CHECK(s.expired);
    rig_stop(&r);
}

TEST(a_deadline_in_the_past_is_due_at_once) {
    /* It may lie any distance back; it has expired. */
    static const thrum_time long_past[] = {INT64_MIN, -1, 0, 1};
    rig r;
    seen s;
    rig_begin(&r, 0);
    seen_init(&s);
    for (size_t i = 0; i < COUNT_OF(long_past); i++) {
        CHECK_EQ(thrum_task_post_until(r.sched, &s.task, long_past[i]), 0);
        rig_wait_done(&r);
        CHECK_EQ(s.runs, (int)i * 2 + 1);
        CHECK(s.expired);
        CHECK_EQ(thrum_task_post_after(r.sched, &s.task, long_past[i]), 0);
        rig_wait_done(&r);
        CHECK_EQ(s.runs, (int)i * 2 + 2);
        CHECK(s.expired);
    }
    rig_stop(&r);
}

/* ---- the nine combinations of what was posted and what came ---- */

typedef enum { AT_ONCE, WITH_DEADLINE, TO_WAIT, POSTS } posted;
typedef enum { NOTHING, WAKEUP, SIGNAL, EVENTS } came;

static void post_as(rig *r, thrum_task *task, posted how, bool nothing_comes) {
    int result = how == AT_ONCE ? thrum_task_post(r->sched, task)
                 : how == WITH_DEADLINE
                     ? thrum_task_post_until(r->sched, task, nothing_comes ? soon() : far_off())
                     : thrum_task_post_wait(r->sched, task);
    CHECK_EQ(result, 0);
}

static void let_come(thrum_task *task, came what) {
    if (what == WAKEUP) {
        thrum_task_wakeup(task);
    } else if (what == SIGNAL) {
        thrum_task_signal(task);
    }
}

static const char *const posted_names[] = {"at once", "with a deadline", "to wait"};
static const char *const came_names[] = {"nothing", "wakeup", "signal"};

static void expect(rig *r, seen *s, posted how, came what, const char *when, bool expired) {
    rig_wait_done(r);
    if (s->runs != 1 || s->expired != expired || s->signaled != (what == SIGNAL) || s->cancelled) {
        check_failed(__FILE__, __LINE__,
                     "posted %s, %s %s: runs %d, expired %d, signaled %d, cancelled %d",
                     posted_names[how], came_names[what], when, (int)s->runs, s->expired,
                     s->signaled, s->cancelled);
    }
}

TEST(expiration_in_all_nine_combinations) {
    /*
     * Whatever comes, and whenever: a task has expired that had no deadline, or one that had passed
     * when the run was made due. So this does not depend on which of two came first.
     */
    rig r;
    rig_begin(&r, 0);
    int workers = (int)thrum_sched_parallelism(r.sched);
    for (posted how = AT_ONCE; how < POSTS; how++) {
        for (came what = NOTHING; what < EVENTS; what++) {
            seen s;
            if (how == TO_WAIT && what == NOTHING) {
                continue; /* it never runs; stopping cancels it, which is tested elsewhere */
            }
            seen_init(&s);
            let_come(&s.task, what);
            post_as(&r, &s.task, how, what == NOTHING);
            expect(&r, &s, how, what, "before", what == NOTHING || how == AT_ONCE);

            seen_init(&s);
            thrum_task_set_worker(&s.task, 0);
            holder h[64];
            for (int i = 0; i < workers && how == AT_ONCE; i++) {
                holder_begin(&r, &h[i], i); /* so that it is still queued when that comes */
            }
            post_as(&r, &s.task, how, what == NOTHING);
            let_come(&s.task, what);
            for (int i = 0; i < workers && how == AT_ONCE; i++) {
                holder_end(&h[i]);
            }
            expect(&r, &s, how, what, "after", what == NOTHING || how == AT_ONCE);
        }
    }
    rig_stop(&r);
}

TEST(a_deadline_holds_for_one_run) {
    /* The next post knows neither the deadline nor that it expired. */
    rig r;
    seen s;
    rig_begin(&r, 0);
    seen_init(&s);
    CHECK_EQ(thrum_task_post_after(r.sched, &s.task, 1000000), 0);
    rig_wait_done(&r);
    CHECK(s.expired);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(s.runs, 1);
    thrum_task_wakeup(&s.task);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 2);
    CHECK(!s.expired);
    CHECK_EQ(thrum_task_post(r.sched, &s.task), 0);
    rig_wait_done(&r);
    CHECK(s.expired);
    rig_stop(&r);
}

/* ---- wakeups in every state ---- */

TEST(a_wakeup_before_the_post_is_remembered_for_one) {
    /* Several wakeups count as one; the run takes it; the next one waits again. */
    rig r;
    seen s;
    rig_begin(&r, 0);
    seen_init(&s);
    thrum_task_wakeup(&s.task);
    thrum_task_wakeup(&s.task);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 1);
    CHECK(!s.expired);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(s.runs, 1);
    thrum_task_wakeup(&s.task);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 2);
    rig_stop(&r);
}

TEST(a_wakeup_of_a_queued_task_is_absorbed) {
    /* The run that is due absorbs it; it does not make the next post immediate. */
    rig r;
    seen s;
    rig_begin(&r, 0);
    int workers = (int)thrum_sched_parallelism(r.sched);
    holder h[64];
    for (int i = 0; i < workers; i++) {
        holder_begin(&r, &h[i], i);
    }
    seen_init(&s);
    CHECK_EQ(thrum_task_post(r.sched, &s.task), 0);
    thrum_task_wakeup(&s.task);
    thrum_task_wakeup(&s.task);
    for (int i = 0; i < workers; i++) {
        holder_end(&h[i]);
    }
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 1);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(s.runs, 1);
    thrum_task_wakeup(&s.task);
    rig_stop(&r);
    CHECK_EQ(s.runs, 2);
    CHECK(!s.cancelled);
}

/* A body that stands still until it is told. */
typedef struct held {
    thrum_task task;
    thrum_sched *sched;
    atomic_int runs;
    atomic_bool in, out;
    bool repost, expired, signaled, late_signal;
} held;

static void stand_still(thrum_task *self, void *arg) {
    held *h = arg;
    if (atomic_fetch_add(&h->runs, 1) == 0) {
        if (h->repost) {
            CHECK_EQ(thrum_task_post_wait(h->sched, self), 0);
            CHECK_EQ(thrum_task_post(h->sched, self), -EBUSY);
        }
        atomic_store(&h->in, true);
        SPIN_UNTIL(atomic_load(&h->out));
        h->late_signal = thrum_task_is_signaled(self);
    } else {
        h->expired = thrum_task_is_expired(self);
        h->signaled = thrum_task_receive_signal(self);
    }
}

static void held_begin(rig *r, held *h, bool repost) {
    memset(h, 0, sizeof *h);
    h->sched = r->sched;
    h->repost = repost;
    thrum_task_init(&h->task, stand_still, h);
    CHECK_EQ(thrum_task_post(r->sched, &h->task), 0);
    SPIN_UNTIL(atomic_load(&h->in));
}

/* The body has posted its task again already, or it is posted after the body has ended. */
static void check_remembered(void (*send)(thrum_task *), bool signaled) {
    rig r;
    held h;
    rig_begin(&r, 0);
    for (int repost = 0; repost < 2; repost++) {
        held_begin(&r, &h, repost != 0);
        send(&h.task);
        atomic_store(&h.out, true);
        if (!repost) {
            rig_wait_done(&r);
            CHECK_EQ(h.runs, 1);
            CHECK_EQ(thrum_task_post_wait(r.sched, &h.task), 0);
        }
        rig_wait_done(&r);
        CHECK_EQ(h.runs, 2);
        CHECK(!h.expired && h.signaled == signaled && h.late_signal == signaled);
    }
    rig_stop(&r);
}

TEST(a_wakeup_while_the_body_runs_is_remembered) {
    /* The next run comes for it. */
    check_remembered(thrum_task_wakeup, false);
}

TEST(a_signal_while_the_body_runs_is_seen_and_kept) {
    /* The body sees it at once, and if it does not take it, its next run comes for it. */
    check_remembered(thrum_task_signal, true);
}

TEST(a_cancel_while_the_body_has_posted_again_makes_that_due) {
    /* The post was accepted; so the cancel is, too, and the run must not wait for a wakeup. */
    rig r;
    held h;
    rig_begin(&r, 0);
    held_begin(&r, &h, true);
    CHECK_EQ(thrum_task_cancel(&h.task), 0);
    atomic_store(&h.out, true);
    CHECK_EQ(thrum_sched_wait_done(r.sched, far_off()), 0);
    CHECK_EQ(h.runs, 2);
    CHECK(!h.expired);
    rig_stop(&r);
}

/* ---- signals in every state ---- */

TEST(a_signal_waits_until_it_is_received) {
    /* Signals do not add up: however many, one is received. */
    rig r;
    seen s;
    rig_begin(&r, 0);
    seen_init(&s);
    for (int i = 0; i < 3; i++) {
        thrum_task_signal(&s.task);
    }
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), 0);
    rig_wait_done(&r);
    CHECK(s.signaled && !s.expired);
    CHECK_EQ(thrum_task_post_after(r.sched, &s.task, 1000000), 0);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 2);
    CHECK(!s.signaled && s.expired);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), 0);
    thrum_task_signal(&s.task);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 3);
    CHECK(s.signaled && !s.expired);
    rig_stop(&r);
}

typedef struct deaf {
    thrum_task task;
    thrum_sched *sched;
    int runs, hears;
} deaf;

/* Does not take its signal for so many runs: each further post is immediate. */
static void do_not_listen(thrum_task *self, void *arg) {
    deaf *d = arg;
    CHECK(thrum_task_is_signaled(self));
    CHECK(!thrum_task_is_expired(self));
    if (++d->runs < d->hears) {
        CHECK_EQ(d->runs % 2 ? thrum_task_post_wait(d->sched, self)
                             : thrum_task_post_until(d->sched, self, far_off()),
                 0);
    } else {
        CHECK(thrum_task_receive_signal(self));
    }
}

TEST(a_signal_not_received_makes_every_post_immediate) {
    /* Posts with a deadline and without are immediate, until the body takes it. */
    rig r;
    rig_begin(&r, 0);
    deaf d = {.sched = r.sched, .hears = 50};
    thrum_task_init(&d.task, do_not_listen, &d);
    CHECK_EQ(thrum_task_post_wait(r.sched, &d.task), 0);
    thrum_task_signal(&d.task);
    rig_wait_done(&r);
    CHECK_EQ(d.runs, 50);
    CHECK_EQ(thrum_task_post_wait(r.sched, &d.task), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(d.runs, 50);
    d.hears = 51;
    thrum_task_signal(&d.task);
    rig_wait_done(&r);
    CHECK_EQ(d.runs, 51);
    rig_stop(&r);
}

/* ---- cancelling ---- */

TEST(a_cancelled_wait_comes_at_once_and_says_so) {
    /* It may have a deadline or not; it is cancelled only while it is posted. */
    rig r;
    seen s;
    rig_begin(&r, 0);
    seen_init(&s);
    CHECK_EQ(thrum_task_cancel(NULL), -EINVAL);
    CHECK_EQ(thrum_task_cancel(&s.task), -EBUSY);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_task_post_until(r.sched, &s.task, i ? far_off() : THRUM_FOREVER), 0);
        CHECK_EQ(thrum_task_cancel(&s.task), 0);
        rig_wait_done(&r);
        CHECK_EQ(s.runs, 1 + 2 * i);
        CHECK(s.cancelled && !s.expired && !s.signaled);
        CHECK_EQ(thrum_task_cancel(&s.task), -EBUSY);
        CHECK_EQ(thrum_task_post(r.sched, &s.task), 0);
        rig_wait_done(&r);
        CHECK_EQ(s.runs, 2 + 2 * i);
        CHECK(!s.cancelled && s.expired);
    }
    rig_stop(&r);
}

TEST(a_queued_task_is_cancelled) {
    /* It runs all the same, and says so. */
    rig r;
    seen s;
    holder h;
    rig_begin(&r, 0);
    holder_begin(&r, &h, 0);
    seen_init(&s);
    thrum_task_set_worker(&s.task, 0);
    CHECK_EQ(thrum_task_post(r.sched, &s.task), 0);
    CHECK_EQ(thrum_task_cancel(&s.task), 0);
    CHECK_EQ(thrum_task_cancel(&s.task), 0);
    holder_end(&h);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 1);
    CHECK(s.cancelled);
    rig_stop(&r);
}

/* ---- refused posts ---- */

TEST(refused_posts_leave_the_task_as_it_was) {
    /* They are -EINVAL, and afterwards the task can be posted. */
    rig r;
    seen s;
    rig_begin(&r, 0);
    seen_init(&s);
    CHECK_EQ(thrum_task_post_until(NULL, &s.task, 0), -EINVAL);
    CHECK_EQ(thrum_task_post_until(r.sched, NULL, 0), -EINVAL);
    thrum_task_set_worker(&s.task, (int)thrum_sched_parallelism(r.sched));
    CHECK_EQ(thrum_task_post_until(r.sched, &s.task, far_off()), -EINVAL);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), -EINVAL);
    thrum_task_set_worker(&s.task, -2);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), -EINVAL);
    thrum_task_set_worker(&s.task, -1);
    CHECK_EQ(thrum_task_post_after(r.sched, &s.task, 1000), 0);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 1);
    rig_stop(&r);
}

static void on_worker(thrum_task *self, void *arg) {
    (void)self;
    *(int *)arg = thrum_worker_id();
}

TEST(a_task_of_one_worker_comes_due_there) {
    /* It does so whichever thread fires its deadline or wakes it. */
    rig r;
    rig_begin(&r, 0);
    int workers = (int)thrum_sched_parallelism(r.sched);
    for (int i = 0; i < 2 * workers; i++) {
        thrum_task task;
        int ran_on = -1;
        thrum_task_init(&task, on_worker, &ran_on);
        thrum_task_set_worker(&task, i % workers);
        if (i < workers) {
            CHECK_EQ(thrum_task_post_after(r.sched, &task, 50000), 0);
        } else {
            CHECK_EQ(thrum_task_post_wait(r.sched, &task), 0);
            thrum_task_wakeup(&task);
        }
        rig_wait_done(&r);
        CHECK_EQ(ran_on, i % workers);
    }
    rig_stop(&r);
}
