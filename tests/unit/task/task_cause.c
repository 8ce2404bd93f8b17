/*
 * task_cause.c: how a run came about: thrum_task_cause, and that it agrees with what the other
 * questions say; expired, whatever comes in which order; wakeups beside a signal.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

typedef struct seen {
    thrum_task task;
    thrum_sched *sched;
    atomic_int runs;
    bool expired, cancelled, signaled; /* state of the last run */
    thrum_cause cause;
} seen;

static void look(thrum_task *self, void *arg) {
    seen *s = arg;
    s->cause = thrum_task_cause(self);
    s->expired = thrum_task_is_expired(self);
    s->cancelled = thrum_task_is_cancelled(self);
    s->signaled = thrum_task_receive_signal(self);
    CHECK_EQ(thrum_task_cause(self), s->cause); /* receiving changes nothing */
    CHECK_EQ(s->cancelled, s->cause == THRUM_CAUSE_CANCELLED);
    CHECK(s->signaled || s->cause != THRUM_CAUSE_SIGNALED);
    CHECK(s->expired || (s->cause != THRUM_CAUSE_POSTED && s->cause != THRUM_CAUSE_EXPIRED));
    CHECK(!s->expired || s->cause != THRUM_CAUSE_WOKEN);
    s->runs++;
}

static void seen_init(seen *s, const rig *r) {
    memset(s, 0, sizeof *s);
    s->sched = r->sched;
    thrum_task_init(&s->task, look, s);
}

static void check_seen(rig *r, seen *s, thrum_cause cause, bool expired) {
    rig_wait_done(r);
    CHECK_EQ(s->runs, 1);
    CHECK_EQ(s->cause, cause);
    CHECK_EQ(s->expired, expired);
    s->runs = 0;
}

TEST(posted_expired_woken_signaled_cancelled) {
    /* Each cause comes by itself. */
    rig r;
    seen s;
    rig_begin(&r, 0);
    seen_init(&s, &r);
    CHECK_EQ(thrum_task_post(r.sched, &s.task), 0);
    check_seen(&r, &s, THRUM_CAUSE_POSTED, true);
    CHECK_EQ(thrum_task_post_after(r.sched, &s.task, 1000), 0);
    check_seen(&r, &s, THRUM_CAUSE_EXPIRED, true);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), 0);
    thrum_task_wakeup(&s.task);
    check_seen(&r, &s, THRUM_CAUSE_WOKEN, false);
    CHECK_EQ(thrum_task_post_until(r.sched, &s.task, far_off()), 0);
    thrum_task_signal(&s.task);
    check_seen(&r, &s, THRUM_CAUSE_SIGNALED, false);
    CHECK(s.signaled);
    CHECK_EQ(thrum_task_post_until(r.sched, &s.task, far_off()), 0);
    CHECK_EQ(thrum_task_cancel(&s.task), 0);
    check_seen(&r, &s, THRUM_CAUSE_CANCELLED, false);
    CHECK_EQ(thrum_task_post(r.sched, &s.task), 0);
    check_seen(&r, &s, THRUM_CAUSE_POSTED, true);
    rig_stop(&r);
}

TEST(a_stop_is_a_cancel) {
    /* The task waits for a wakeup that no thread can send any more. */
    rig r;
    seen s;
    rig_begin(&r, 0);
    seen_init(&s, &r);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), 0);
    rig_stop(&r);
    CHECK_EQ(s.runs, 1);
    CHECK_EQ(s.cause, THRUM_CAUSE_CANCELLED);
}

/* ---- remembered, then posted ---- */

TEST(a_wakeup_before_the_post_does_not_change_expired) {
    /* It depends on the deadline alone, not on whether the wakeup came before or after the post. */
    rig r;
    seen s;
    rig_begin(&r, 0);
    seen_init(&s, &r);
    thrum_task_wakeup(&s.task);
    CHECK_EQ(thrum_task_post(r.sched, &s.task), 0);
    check_seen(&r, &s, THRUM_CAUSE_POSTED, true);
    thrum_task_wakeup(&s.task);
    CHECK_EQ(thrum_task_post_until(r.sched, &s.task, past()), 0);
    check_seen(&r, &s, THRUM_CAUSE_EXPIRED, true);
    thrum_task_wakeup(&s.task);
    CHECK_EQ(thrum_task_post_until(r.sched, &s.task, INT64_MIN), 0);
    check_seen(&r, &s, THRUM_CAUSE_EXPIRED, true);
    thrum_task_wakeup(&s.task);
    CHECK_EQ(thrum_task_post_until(r.sched, &s.task, far_off()), 0);
    check_seen(&r, &s, THRUM_CAUSE_WOKEN, false);
    thrum_task_wakeup(&s.task);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), 0);
    check_seen(&r, &s, THRUM_CAUSE_WOKEN, false);
    rig_stop(&r);
}

TEST(a_signal_before_the_post_does_not_change_expired) {
    /* The same holds; the signal is the cause all the same. */
    rig r;
    seen s;
    rig_begin(&r, 0);
    seen_init(&s, &r);
    thrum_task_signal(&s.task);
    CHECK_EQ(thrum_task_post(r.sched, &s.task), 0);
    check_seen(&r, &s, THRUM_CAUSE_SIGNALED, true);
    thrum_task_signal(&s.task);
    CHECK_EQ(thrum_task_post_until(r.sched, &s.task, 0), 0);
    check_seen(&r, &s, THRUM_CAUSE_SIGNALED, true);
    thrum_task_signal(&s.task);
    CHECK_EQ(thrum_task_post_wait(r.sched, &s.task), 0);
    check_seen(&r, &s, THRUM_CAUSE_SIGNALED, false);
    rig_stop(&r);
}

/* ---- the body's own posts ---- */

typedef struct own {
    thrum_task task;
    thrum_sched *sched;
    int runs;
    void (*sends[3])(thrum_task *); /* called before it receives the signal, up to NULL */
    bool signaled;                  /* what it then receives */
} own;

/*
 * Comes back after a millisecond, or, with a deadline far off, at once because of what it was sent.
 */
static void sends_to_itself(thrum_task *self, void *arg) {
    own *o = arg;
    if (o->runs++ == 0) {
        for (int i = 0; o->sends[i]; i++) {
            o->sends[i](self);
        }
        CHECK_EQ(thrum_task_receive_signal(self), o->signaled);
        thrum_time after = o->signaled ? THRUM_MS(1) : THRUM_S(1000);
        CHECK_EQ(thrum_task_post_after(o->sched, self, after), 0);
    } else {
        CHECK_EQ(thrum_task_cause(self), o->signaled ? THRUM_CAUSE_EXPIRED : THRUM_CAUSE_WOKEN);
    }
}

static void check_own(rig *r, own o) {
    o.sched = r->sched;
    thrum_task_init(&o.task, sends_to_itself, &o);
    CHECK_EQ(thrum_task_post(r->sched, &o.task), 0);
    rig_wait_done(r);
    CHECK_EQ(o.runs, 2);
}

TEST(a_wakeup_beside_a_signal_gives_no_run_of_its_own) {
    /*
     * This holds whichever came first: once the body has received the signal its next post waits.
     */
    rig r;
    rig_begin(&r, 0);
    check_own(&r, (own){.sends = {thrum_task_wakeup}, .signaled = false});
    check_own(&r, (own){.sends = {thrum_task_signal}, .signaled = true});
    check_own(&r, (own){.sends = {thrum_task_signal, thrum_task_wakeup}, .signaled = true});
    check_own(&r, (own){.sends = {thrum_task_wakeup, thrum_task_signal}, .signaled = true});
    rig_stop(&r);
}

/* ---- a wakeup that adds nothing publishes all the same ---- */

typedef struct told {
    thrum_task task;
    atomic_bool in, sent;
    int letter; /* plain: the thread sanitizer sees what ordered it */
} told;

/* Relaxed: only receiving the signal orders it with the wakeup. */
static void receive_late(thrum_task *self, void *arg) {
    told *t = arg;
    atomic_store_explicit(&t->in, true, memory_order_relaxed);
    while (!atomic_load_explicit(&t->sent, memory_order_relaxed)) {
        sched_yield();
    }
    CHECK(thrum_task_receive_signal(self));
    CHECK_EQ(t->letter, 7);
}

TEST(a_wakeup_beside_a_signal_is_visible_to_the_receiver) {
    /* The receiver sees what was written before the wakeup. */
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < SCALED(200); i++) {
        told t = {.letter = 0};
        thrum_task_init(&t.task, receive_late, &t);
        CHECK_EQ(thrum_task_post(r.sched, &t.task), 0);
        while (!atomic_load_explicit(&t.in, memory_order_relaxed)) {
            sched_yield();
        }
        thrum_task_signal(&t.task);
        t.letter = 7;
        thrum_task_wakeup(&t.task);
        atomic_store_explicit(&t.sent, true, memory_order_relaxed);
        rig_wait_done(&r);
    }
    rig_stop(&r);
}
