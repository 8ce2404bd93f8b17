/*
 * deadlines.c: deadlines of scopes, of parts of a task's run, and of intrusive tasks.
 */
/* matrix: policy workers */
#include "time/hours.h"

static thrum_sem never = THRUM_SEM_INIT(0);

static int waits(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_sem_wait(&never), -ECANCELED);
    CHECK(thrum_cancelled());
    return 7;
}

/* On a thread that is bound to a scheduler without workers, and to one with two. */
static void in_bound(void *arg) {
    for (unsigned workers = 0; workers < 3; workers += 2) {
        rig r;
        rig_init(&r);
        r.config.workers = workers;
        rig_start(&r);
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        (*(void (**)(void))arg)();
        CHECK_EQ(thrum_sched_unbind(), 0);
        rig_stop(&r);
    }
}

static void everywhere(void (*fn)(void)) {
    fn();
    on_thread(in_bound, &fn);
}

/* ---- for the caller itself ---- */

static void is_late(void) {
    int result = 0;
    for (int i = 0; i < 3; i++) {
        const thrum_time when = thrum_after(HOUR);
        CHECK_EQ(thrum_with_deadline(when, waits, NULL, &result), -ETIMEDOUT);
        CHECK_NOW(when);
        CHECK_EQ(result, 7);
        CHECK(!thrum_cancelled());
    }
}

TEST(the_deadline_ends_its_waits) {
    /* It ends only these: afterwards the caller is not cancelled. */
    everywhere(is_late);
}

static int shielded(void *arg) {
    const thrum_time when = thrum_deadline() + HOUR;
    (void)arg;
    thrum_shield_begin();
    CHECK_EQ(thrum_sem_wait_until(&never, when), -ETIMEDOUT);
    CHECK_NOW(when);
    thrum_shield_end();
    CHECK_EQ(sleep_until_cancelled(), -ECANCELED);
    CHECK_NOW(when);
    return 9;
}

static void is_shielded(void) {
    int result = 0;
    CHECK_EQ(thrum_with_deadline(thrum_after(HOUR), shielded, NULL, &result), -ETIMEDOUT);
    CHECK_EQ(result, 9);
}

TEST(a_shield_keeps_it_off) {
    /* It does so until it ends. */
    everywhere(is_shielded);
}

static int outer_comes_first(void *arg) {
    int result = 0;
    CHECK_EQ(thrum_with_deadline(far_off(), waits, NULL, &result), -ETIMEDOUT);
    CHECK_NOW(*(thrum_time *)arg);
    CHECK_EQ(result, 7);
    CHECK(thrum_cancelled()); /* the outer one has cancelled it */
    CHECK_EQ(thrum_with_deadline(THRUM_FOREVER, waits, NULL, NULL), -ETIMEDOUT);
    return 1;
}

static int knows_its_deadline(void *arg) {
    CHECK_EQ(thrum_deadline(), *(thrum_time *)arg);
    return 0;
}

static int inner_comes_first(void *arg) {
    CHECK_EQ(thrum_with_deadline(THRUM_FOREVER, knows_its_deadline, arg, NULL), 0);
    for (int i = 0; i < 3; i++) {
        const thrum_time when = thrum_after(HOUR);
        CHECK_EQ(thrum_with_deadline(when, waits, NULL, NULL), -ETIMEDOUT);
        CHECK_NOW(when);
        CHECK(!thrum_cancelled());
        CHECK_EQ(thrum_deadline(), *(thrum_time *)arg);
    }
    return 2;
}

static void nests(void) {
    int result = 0;
    thrum_time when = thrum_after(2 * HOUR);
    CHECK_EQ(thrum_with_deadline(when, outer_comes_first, &when, &result), -ETIMEDOUT);
    CHECK_EQ(result, 1);
    when = far_off();
    CHECK_EQ(thrum_with_deadline(when, inner_comes_first, &when, &result), 0);
    CHECK_EQ(result, 2);
}

TEST(the_earliest_one_around_counts) {
    /* The others go on. */
    everywhere(nests);
}

/* ---- of scopes ---- */

static int has_a_scope(void *arg) {
    thrum_scope scope;
    CHECK_EQ(thrum_scope_open(&scope, far_off()), 0); /* the outer one limits it */
    CHECK_EQ(thrum_scope_go(&scope, waits, NULL), 0);
    *(int *)arg = thrum_scope_join(&scope);
    return 0;
}

static void scope_is_late(void) {
    thrum_scope scope;
    int inner = 1;
    const thrum_time when = thrum_after(HOUR);
    CHECK_EQ(thrum_scope_open(&scope, when), 0);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(thrum_scope_go(&scope, waits, NULL), 0);
    }
    CHECK_EQ(thrum_scope_go(&scope, has_a_scope, &inner), 0);
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    CHECK_ABOUT(when);
    CHECK_EQ(inner, -ETIMEDOUT);
    CHECK_EQ(thrum_scope_open(&scope, past()), 0);
    CHECK_EQ(thrum_scope_go(&scope, waits, NULL), 0);
    inner = 1;
    CHECK_EQ(thrum_scope_go(&scope, has_a_scope, &inner), 0); /* opened when it is cancelled */
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    CHECK_EQ(inner, -ETIMEDOUT);
    CHECK_ABOUT(when);
    CHECK(!thrum_cancelled());
}

TEST(at_the_deadline_the_scope_is_cancelled) {
    /* The scopes below it are cancelled, too, for the same reason. */
    everywhere(scope_is_late);
}

static int is_one_of_many(void *arg) {
    CHECK_EQ(thrum_with_deadline(far_off(), waits, NULL, NULL), *(int *)arg);
    return 0;
}

TEST(a_part_of_one_of_many_children_tells_why_it_was_cancelled) {
    /* A cancel of so many lets those run that it has woken before it comes to their parts. */
    enum { MANY = 600, MANY_IN_VIRTUAL_TIME = 6 };
    int code = -ETIMEDOUT;
    for (int late = 1; late >= 0; late--) {
        thrum_scope scope;
        CHECK_EQ(thrum_scope_open(&scope, late ? thrum_after(HOUR) : THRUM_FOREVER), 0);
        for (int i = 0; i < (HOUR > THRUM_S(1) ? MANY_IN_VIRTUAL_TIME : MANY); i++) {
            CHECK_EQ(thrum_scope_go(&scope, is_one_of_many, &code), 0);
        }
        if (!late) {
            thrum_scope_cancel(&scope);
        }
        CHECK_EQ(thrum_scope_join(&scope), code);
        code = -ECANCELED;
    }
}

/* ---- of intrusive tasks ---- */

typedef struct dated {
    thrum_task task;
    thrum_time when;
    thrum_event ran;
    bool expired;
} dated;

static void runs_at(thrum_task *self, void *arg) {
    dated *d = arg;
    CHECK_NOW(d->when);
    d->expired = thrum_task_is_expired(self);
    thrum_event_signal(&d->ran);
}

static void dated_init(dated *d) {
    thrum_task_init(&d->task, runs_at, d);
    thrum_event_init(&d->ran, THRUM_EVENT_AUTO, false);
}

TEST(many_deadlines_each_once_and_on_time) {
    /* They are set in no order, as instants and as delays. */
    enum { N = 60 };
    static dated all[N];
    thrum_sched *sched = thrum_sched_current();
    for (int i = 0; i < N; i++) {
        dated_init(&all[i]);
        const thrum_time delay = HOUR + i * 37 % N;
        all[i].when = thrum_after(delay);
        CHECK_EQ(i % 2 ? thrum_task_post_until(sched, &all[i].task, all[i].when)
                       : thrum_task_post_after(sched, &all[i].task, delay),
                 0);
    }
    for (int i = 0; i < N; i++) {
        CHECK_EQ(thrum_event_wait(&all[i].ran), 0);
        CHECK(all[i].expired);
        CHECK(!thrum_event_test(&all[i].ran));
    }
}
