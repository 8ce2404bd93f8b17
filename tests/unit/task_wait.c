/*
 * task_wait.c: tasks that wait for a deadline, a wakeup or a signal.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 8 */
#include "support/support.h"

typedef struct seen {
    thrum_task task;
    atomic_int runs;
    atomic_bool expired, cancelled, signaled;
    thrum_time at;
} seen;

static void look(thrum_task *self, void *arg) {
    seen *s = arg;
    s->at = thrum_now();
    s->expired = thrum_task_is_expired(self);
    s->cancelled = thrum_task_is_cancelled(self);
    s->signaled = thrum_task_receive_signal(self);
    s->runs++;
}

TEST(a_deadline_makes_it_due) {
    /* Not before, and it says that it expired. */
    rig r;
    seen s = {.at = 0};
    rig_init(&r);
    rig_start(&r);
    thrum_task_init(&s.task, look, &s);
    thrum_time until = thrum_after_ms(3);
    CHECK_EQ(thrum_task_post_until(r.sched, &s.task, until), 0);
    CHECK_EQ(thrum_task_post(r.sched, &s.task), -EBUSY);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 1);
    CHECK(s.at >= until);
    CHECK(s.expired && !s.cancelled && !s.signaled);
    rig_stop(&r);
}

TEST(a_wakeup_comes_before_the_deadline) {
    /* And one before the post makes the post immediate. */
    rig r;
    seen s = {.at = 0};
    rig_init(&r);
    rig_start(&r);
    thrum_task_init(&s.task, look, &s);
    CHECK_EQ(thrum_task_post_until(r.sched, &s.task, thrum_after_s(1000)), 0);
    thrum_task_wakeup(&s.task);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 1);
    CHECK(!s.expired);
    thrum_task_wakeup(&s.task);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 2);
    CHECK(!s.expired);
    thrum_task_signal(&s.task);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(s.runs, 3);
    CHECK(s.signaled && !s.expired);
    rig_stop(&r);
}

TEST(stop_cancels_what_only_a_wakeup_could_rouse) {
    /* One run, with its flag set; what has a deadline is waited for. */
    rig r;
    static seen forever;
    static seen later;
    rig_init(&r);
    rig_start(&r);
    thrum_task_init(&forever.task, look, &forever);
    thrum_task_init(&later.task, look, &later);
    CHECK_EQ(thrum_task_post_wait(r.sched, &forever.task), 0);
    CHECK_EQ(thrum_task_post_after(r.sched, &later.task, 2000000), 0);
    rig_stop(&r);
    CHECK_EQ(forever.runs, 1);
    CHECK(forever.cancelled);
    CHECK_EQ(later.runs, 1);
    CHECK(!later.cancelled && later.expired);
}

TEST(past_its_deadline_stop_cancels_the_rest) {
    /* Tasks with far deadlines, and a sleeper. */
    rig r;
    static seen far;
    rig_init(&r);
    rig_start(&r);
    thrum_task_init(&far.task, look, &far);
    CHECK_EQ(thrum_task_post_after(r.sched, &far.task, (thrum_time)1000000000 * 1000), 0);
    CHECK_EQ(thrum_sched_stop_until(r.sched, thrum_after_ms(2)), -ETIMEDOUT);
    rig_stop(&r);
    CHECK_EQ(far.runs, 1);
    CHECK(far.cancelled);
}
