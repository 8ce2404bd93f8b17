/*
 * task_states.c: a wakeup, a signal, a cancel in every state that a task can be in, and what
 * becomes of it: a run at once, nothing, or the next post is immediate.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

/* The state that the task is in when something comes. */
typedef enum {
    NEW,           /* never posted */
    QUEUED,        /* posted to run at once, and not begun */
    OVERDUE,       /* waiting with a deadline that has passed and that no worker has seen yet */
    WAITING,       /* waiting without a deadline */
    WAITING_FAR,   /* waiting with a deadline that is far off */
    ROUSED,        /* was waiting, has been woken, and has not begun */
    RUNNING,       /* in its body */
    POSTED_ITSELF, /* in its body, which has posted it to run at once */
    WAITS_AGAIN,   /* in its body, which has posted it to wait */
    RAN,           /* ran, and was not posted again */
    STATES
} state;

typedef enum { WAKEUP, WAKEUP_TWICE, SIGNAL, SIGNAL_TWICE, BOTH, CANCEL, EVENTS } event;

static const char *const state_names[] = {"new",         "queued", "overdue", "waiting",
                                          "waiting far", "roused", "running", "posted itself",
                                          "waits again", "ran"};
static const char *const event_names[] = {"wakeup",      "two wakeups", "signal",
                                          "two signals", "both",        "cancel"};

typedef struct run {
    bool expired, signaled, cancelled;
    thrum_cause cause;
} run;

typedef struct probe {
    thrum_task task;
    thrum_sched *sched;
    state state;
    atomic_int runs;
    atomic_bool in, out;
    run seen[4];
} probe;

static void body(thrum_task *self, void *arg) {
    probe *p = arg;
    const int n = atomic_load(&p->runs);
    CHECK(n < (int)COUNT_OF(p->seen));
    p->seen[n].expired = thrum_task_is_expired(self);
    p->seen[n].cancelled = thrum_task_is_cancelled(self);
    p->seen[n].cause = thrum_task_cause(self);
    if (n == 0 && p->state >= RUNNING && p->state < RAN) {
        if (p->state == POSTED_ITSELF) {
            CHECK_EQ(thrum_task_post(p->sched, self), 0);
        } else if (p->state == WAITS_AGAIN) {
            CHECK_EQ(thrum_task_post_wait(p->sched, self), 0);
        }
        atomic_store(&p->in, true);
        SPIN_UNTIL(atomic_load(&p->out)); /* it comes here, and this run does not take it */
    } else {
        p->seen[n].signaled = thrum_task_receive_signal(self);
        CHECK_EQ(thrum_task_cause(self), p->seen[n].cause); /* receiving changes nothing */
    }
    atomic_fetch_add(&p->runs, 1);
}

/* Keeps all workers busy: what is due stays queued. */
static void hold_all(rig *r, holder *h, bool begin) {
    for (int i = 0; i < (int)thrum_sched_parallelism(r->sched); i++) {
        if (begin) {
            holder_begin(r, &h[i], i);
        } else {
            holder_end(&h[i]);
        }
    }
}

static bool is_held(state s) {
    return s >= QUEUED && s <= ROUSED;
}

static void wait_ran(probe *p, int runs) {
    SPIN_UNTIL(atomic_load(&p->runs) == runs);
    CHECK_EQ(thrum_sched_wait_idle(p->sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&p->runs), runs);
}

static void bring_to(probe *p, state s) {
    thrum_task *task = &p->task;
    int result = 0;
    switch (s) {
    case NEW:
        break;
    case OVERDUE:
        result = thrum_task_post_until(p->sched, task, 0);
        break;
    case WAITING:
    case ROUSED:
        result = thrum_task_post_wait(p->sched, task);
        break;
    case WAITING_FAR:
        result = thrum_task_post_until(p->sched, task, far_off());
        break;
    default:
        result = thrum_task_post(p->sched, task);
    }
    CHECK_EQ(result, 0);
    if (s == ROUSED) {
        thrum_task_wakeup(task);
    } else if (s == RAN) {
        wait_ran(p, 1);
    } else if (s >= RUNNING) {
        SPIN_UNTIL(atomic_load(&p->in));
    }
}

static void send(thrum_task *task, event e, int cancelled) {
    if (e == WAKEUP || e == WAKEUP_TWICE || e == BOTH) {
        thrum_task_wakeup(task);
    }
    if (e == WAKEUP_TWICE) {
        thrum_task_wakeup(task);
    }
    if (e == SIGNAL || e == SIGNAL_TWICE || e == BOTH) {
        thrum_task_signal(task);
    }
    if (e == SIGNAL_TWICE) {
        thrum_task_signal(task);
    }
    if (e == CANCEL) {
        CHECK_EQ(thrum_task_cancel(task), cancelled);
    }
}

/* What is expected of it. */
typedef struct expectation {
    int runs;       /* how many until it is posted again */
    bool immediate; /* whether that post runs at once */
    run last;       /* the run that it came to: the last one, or the one of that post */
} expectation;

static expectation expect(state s, event e) {
    const bool posted = s != NEW && s != RUNNING && s != RAN;
    expectation x = {.last = {.signaled = e == SIGNAL || e == SIGNAL_TWICE || e == BOTH,
                              .cancelled = e == CANCEL && posted}};
    x.runs = s == NEW ? 0 : s == POSTED_ITSELF || s == WAITS_AGAIN ? 2 : 1;
    x.immediate = !posted && e != CANCEL; /* remembered */
    /* What had no deadline, or one that had passed when that came, has expired. */
    x.last.expired = s == QUEUED || s == POSTED_ITSELF || s == OVERDUE;
    x.last.cause = x.last.cancelled                    ? THRUM_CAUSE_CANCELLED
                   : x.last.signaled                   ? THRUM_CAUSE_SIGNALED
                   : s == OVERDUE                      ? THRUM_CAUSE_EXPIRED
                   : s == QUEUED || s == POSTED_ITSELF ? THRUM_CAUSE_POSTED
                                                       : THRUM_CAUSE_WOKEN;
    return x;
}

static void check_one_run(state s, event e, const run *seen, const run *expected) {
    if (seen->expired != expected->expired || seen->signaled != expected->signaled ||
        seen->cancelled != expected->cancelled || seen->cause != expected->cause) {
        check_failed(__FILE__, __LINE__,
                     "%s, when it was %s: expired %d, signaled %d, cancelled %d, cause %d",
                     event_names[e], state_names[s], seen->expired, seen->signaled, seen->cancelled,
                     (int)seen->cause);
    }
}

static void check_one(rig *r, state s, event e) {
    static const run woken = {.cause = THRUM_CAUSE_WOKEN};
    holder h[64];
    probe p = {.sched = r->sched, .state = s};
    const expectation x = expect(s, e);
    const bool posted = s != NEW && s != RUNNING && s != RAN;
    thrum_task_init(&p.task, body, &p);
    if (is_held(s)) {
        hold_all(r, h, true);
    }
    bring_to(&p, s);
    send(&p.task, e, posted ? 0 : -EBUSY);
    atomic_store(&p.out, true);
    if (is_held(s)) {
        hold_all(r, h, false);
    }
    wait_ran(&p, x.runs);
    if (!x.immediate && x.runs > 0 && posted) {
        check_one_run(s, e, &p.seen[x.runs - 1], &x.last);
    }
    CHECK_EQ(thrum_task_post_wait(r->sched, &p.task), 0);
    if (x.immediate) {
        wait_ran(&p, x.runs + 1);
        check_one_run(s, e, &p.seen[x.runs], &x.last);
        CHECK_EQ(thrum_task_post_wait(r->sched, &p.task), 0);
    }
    CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&p.runs), x.runs + x.immediate); /* nothing of it is left */
    thrum_task_wakeup(&p.task);
    wait_ran(&p, x.runs + x.immediate + 1);
    check_one_run(s, e, &p.seen[x.runs + x.immediate], &woken);
}

static void check_events(event first, event last) {
    rig r;
    rig_begin(&r, 0);
    for (state s = NEW; s < STATES; s++) {
        for (event e = first; e <= last; e++) {
            check_one(&r, s, e);
        }
    }
    rig_stop(&r);
}

TEST(wakeups_in_every_state) {
    /*
     * They make a waiting task run; a run that is due absorbs them; otherwise they are remembered.
     */
    check_events(WAKEUP, WAKEUP_TWICE);
}

TEST(signals_in_every_state) {
    /*
     * The same holds, and the signal is there until it is received, once, however many were sent.
     */
    check_events(SIGNAL, BOTH);
}

TEST(cancels_in_every_state) {
    /*
     * They cancel what is posted: that run comes, and says so. Otherwise it is -EBUSY, and nothing
     * is left.
     */
    check_events(CANCEL, CANCEL);
}

/* ---- from the task's own body ---- */

typedef struct own {
    thrum_task task;
    thrum_sched *sched;
    event event;
    int runs;
    bool expired, signaled, cancelled;
} own;

static void send_to_itself(thrum_task *self, void *arg) {
    own *o = arg;
    if (o->runs++ == 0) {
        send(self, o->event, -EBUSY);
        CHECK_EQ(thrum_task_is_signaled(self), o->event >= SIGNAL && o->event <= BOTH);
        if (o->event != CANCEL) {
            CHECK_EQ(thrum_task_post_until(o->sched, self, far_off()), 0);
        }
        return;
    }
    o->expired = thrum_task_is_expired(self);
    o->signaled = thrum_task_receive_signal(self);
    o->cancelled = thrum_task_is_cancelled(self);
}

TEST(a_body_wakes_and_signals_its_own_task) {
    /* Its next post is immediate; a cancel finds it begun. */
    rig r;
    rig_begin(&r, 0);
    for (event e = WAKEUP; e < EVENTS; e++) {
        own o = {.sched = r.sched, .event = e};
        thrum_task_init(&o.task, send_to_itself, &o);
        CHECK_EQ(thrum_task_post(r.sched, &o.task), 0);
        rig_wait_done(&r);
        CHECK_EQ(o.runs, e == CANCEL ? 1 : 2);
        CHECK_EQ(o.signaled, e >= SIGNAL && e <= BOTH);
        CHECK(!o.expired && !o.cancelled);
    }
    rig_stop(&r);
}
