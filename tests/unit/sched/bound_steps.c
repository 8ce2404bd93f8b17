/*
 * bound_steps.c: a bound thread that lets its tasks run now and then, such as a main loop once a
 * frame: what is overdue runs, and its own wait ends at once.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

typedef struct scene {
    rig r;
    ends e;
    thrum_event event;
    thrum_sem asked;
    thrum_time when;
    int ran; /* only the bound thread runs what changes it */
} scene;

/* Binds the thread: to a scheduler without workers, or with those of the cell. */
static void begin_with(scene *s, bool alone, unsigned interval) {
    *s = (scene){.when = THRUM_FOREVER};
    thrum_event_init(&s->event, THRUM_EVENT_AUTO, false);
    rig_init(&s->r);
    s->r.config.workers = alone ? 0 : s->r.config.workers;
    s->r.config.global_interval = interval;
    rig_start(&s->r);
    CHECK_EQ(thrum_sched_bind(s->r.sched), 0);
}

static void begin(scene *s, bool alone) {
    begin_with(s, alone, 61);
}

static void end(scene *s) {
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&s->r);
}

static void go_pinned(thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_go_with(&attr, fn, arg), 0);
}

/* A look at the clock finds everything overdue then, and a look at descriptors was long ago. */
static void pass(thrum_time when) {
    await_passed(when);
    await_passed(soon());
}

static int waits(void *arg) {
    scene *s = arg;
    CHECK_EQ(thrum_event_wait_until(&s->event, s->when), -ETIMEDOUT);
    s->ran++;
    return 0;
}

static int reads(void *arg) {
    scene *s = arg;
    char byte;
    CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), 1);
    s->ran++;
    return 0;
}

static int counts(void *arg) {
    scene *s = arg;
    s->ran++;
    return 0;
}

static void runs_due(thrum_task *self, void *arg) {
    (void)self;
    counts(arg);
}

/* ---- waiting for idleness ---- */

static void be_idle(scene *s) {
    CHECK_EQ(thrum_sched_wait_idle(s->r.sched, THRUM_FOREVER), 0);
}

static void overdue(bool alone) {
    scene s;
    begin(&s, alone);
    for (int i = 0; i < 5; i++) {
        s.when = soon();
        go_pinned(waits, &s);
        be_idle(&s); /* it waits now, or had its time already */
        pass(s.when);
        be_idle(&s);
        CHECK_EQ(s.ran, i + 1);
    }
    end(&s);
}

TEST(an_overdue_fiber_goes_on_in_a_wait_for_idleness) {
    /* It waits with a deadline; without workers, and tied to the thread. */
    overdue(true);
    overdue(false);
}

TEST(an_overdue_task_runs_in_a_wait_for_idleness) {
    /* Without workers nobody else runs it; also if the thread binds itself only for the wait. */
    scene s;
    thrum_task task;
    begin(&s, true);
    thrum_task_init(&task, runs_due, &s);
    for (int i = 0; i < 10; i++) {
        s.when = soon();
        CHECK_EQ(thrum_task_post_until(s.r.sched, &task, s.when), 0);
        be_idle(&s);
        if (i % 2) {
            CHECK_EQ(thrum_sched_unbind(), 0);
        }
        pass(s.when);
        if (i % 2) {
            CHECK_EQ(thrum_sched_bind(s.r.sched), 0);
        }
        be_idle(&s);
        CHECK_EQ(s.ran, i + 1);
    }
    end(&s);
}

static void readable(bool alone) {
    scene s;
    begin(&s, alone);
    ends_open_half(&s.e, UNIX);
    for (int i = 0; i < 50; i++) {
        go_pinned(reads, &s);
        be_idle(&s);
        CHECK_EQ(s.ran, i);
        put(s.e.fds[1], "x");
        while (s.ran == i) {
            be_idle(&s);
        }
    }
    ends_close(&s.e);
    end(&s);
}

TEST(a_ready_descriptor_is_seen_in_a_wait_for_idleness) {
    /* Without workers the thread looks; with workers they do, and the tied fiber goes on here. */
    readable(true);
    readable(false);
}

/* ---- yields ---- */

TEST(a_yield_that_finds_nothing_else_fires_what_is_due) {
    /* Without workers: a task, a fiber's wait, and a descriptor, at each single yield. */
    scene s;
    thrum_task task;
    begin(&s, true);
    ends_open_half(&s.e, UNIX);
    thrum_task_init(&task, runs_due, &s);
    for (int i = 0; i < 20; i++) {
        s.ran = 0;
        s.when = soon();
        CHECK_EQ(thrum_task_post_until(s.r.sched, &task, s.when), 0);
        go_pinned(waits, &s);
        be_idle(&s);
        pass(s.when);
        thrum_yield();
        CHECK_EQ(s.ran, 2);
    }
    s.ran = 0;
    go_pinned(reads, &s);
    be_idle(&s);
    put(s.e.fds[1], "x");
    while (s.ran == 0) {
        thrum_yield();
    }
    ends_close(&s.e);
    end(&s);
}

/* ---- the end of its own wait ---- */

static int signals(void *arg) {
    scene *s = arg;
    thrum_event_signal(&s->event);
    s->ran = 0;
    return 0;
}

static void *signals_there(void *arg) {
    scene *s = arg;
    thrum_event_signal(&s->event);
    return NULL;
}

static int has_it_signaled(void *arg) {
    scene *s = arg;
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, signals_there, s), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    s->ran = 0;
    return 0;
}

static int passes(void *arg) {
    scene *s = arg;
    pass(s->when);
    s->ran = 0;
    return 0;
}

static int counts_and_yields(void *arg) {
    scene *s = arg;
    for (int i = 0; i < 10; i++) {
        s->ran++;
        thrum_yield();
    }
    return 0;
}

static void *posts_there(void *arg) {
    scene *s = arg;
    for (int i = 0; i < 10; i++) {
        rig_go(&s->r, counts, s);
    }
    return NULL;
}

/* Something ends the wait; much is queued behind that. */
static void goes_on(bool alone, unsigned interval, thrum_fn ends_it) {
    scene s;
    pthread_t thread;
    begin_with(&s, alone, interval);
    for (int i = 0; i < 40; i++) {
        const bool timed = ends_it == passes;
        s.when = timed ? soon() : THRUM_FOREVER;
        if (alone) { /* any bound thread may run these */
            CHECK_EQ(pthread_create(&thread, NULL, posts_there, &s), 0);
            CHECK_EQ(pthread_join(thread, NULL), 0);
        }
        go_pinned(counts_and_yields, &s);
        for (int k = 0; k < i % 7; k++) {
            go_pinned(counts, &s);
        }
        go_pinned(ends_it, &s);
        for (int k = 0; k < 100; k++) {
            go_pinned(counts, &s);
        }
        s.ran = -1000; /* it is 0 when the wait has ended; a deadline may pass even earlier */
        CHECK_EQ(thrum_event_wait_until(&s.event, s.when), timed ? -ETIMEDOUT : 0);
        CHECK(s.ran <= 0);
        be_idle(&s);
    }
    end(&s);
}

static void goes_on_anyhow(thrum_fn ends_it) {
    for (int alone = 0; alone < 2; alone++) {
        goes_on(alone == 1, 61, ends_it);
        goes_on(alone == 1, 1, ends_it);
    }
}

TEST(a_thread_that_its_task_wakes_goes_on_before_all_others) {
    /* It is next when that task has ended, whatever is queued. */
    goes_on_anyhow(signals);
}

TEST(a_thread_that_another_one_wakes_goes_on_before_all_others) {
    /* The same if the wake comes from another thread while a task runs. */
    goes_on_anyhow(has_it_signaled);
}

TEST(a_thread_goes_on_at_its_deadline_before_all_others) {
    /* The deadline passes while a task runs. */
    goes_on_anyhow(passes);
}

enum { CALLS = 250 }; /* several times as many picks as loose work may have to wait */

static int answers(void *arg) {
    scene *s = arg;
    for (int i = 0; i < CALLS; i++) {
        CHECK_EQ(thrum_sem_wait(&s->asked), 0);
        thrum_event_signal(&s->event);
    }
    return 0;
}

TEST(a_thread_that_is_woken_again_and_again_holds_nothing_off) {
    /* It and a fiber wake each other, so that one of them is always ready; loose work runs, too. */
    scene s;
    pthread_t thread;
    begin(&s, true);
    for (int odd = 0; odd < 2; odd++) {
        thrum_sem_init(&s.asked, 0);
        go_pinned(answers, &s);
        if (odd) {
            go_pinned(counts, &s); /* now it is the fiber's turn at every even pick */
        }
        be_idle(&s);
        s.ran = 0;
        CHECK_EQ(pthread_create(&thread, NULL, posts_there, &s), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        for (int i = 0; i < CALLS; i++) {
            thrum_sem_post(&s.asked);
            CHECK_EQ(thrum_event_wait(&s.event), 0);
        }
        CHECK(s.ran >= 5);
        be_idle(&s);
        CHECK_EQ(s.ran, 10);
    }
    end(&s);
}

TEST(a_wait_that_is_over_at_once_runs_no_task) {
    /* A late wait, a signaled event; a step runs the task, with workers and without. */
    for (int alone = 0; alone < 2; alone++) {
        scene s;
        begin(&s, alone == 1);
        go_pinned(counts, &s);
        CHECK_EQ(thrum_event_wait_until(&s.event, past()), -ETIMEDOUT);
        thrum_event_signal(&s.event);
        CHECK_EQ(thrum_event_wait(&s.event), 0);
        CHECK_EQ(s.ran, 0);
        CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
        CHECK_EQ(s.ran, 1);
        end(&s);
    }
}

/* ---- steps ---- */

static int goes_twice(void *arg) {
    go_pinned(counts, arg);
    return counts(arg);
}

static void runs_all(bool alone) {
    scene s;
    pthread_t thread;
    begin(&s, alone);
    CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
    for (int i = 0; i < 30; i++) {
        go_pinned(goes_twice, &s);
        go_pinned(counts_and_yields, &s);
    }
    CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
    CHECK_EQ(s.ran, 30 * 12);
    if (alone) {
        CHECK_EQ(pthread_create(&thread, NULL, posts_there, &s), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(thrum_sched_step(far_off()), 0);
        CHECK_EQ(s.ran, 30 * 12 + 10);
    }
    end(&s);
}

TEST(a_step_runs_what_is_ready) {
    /* And what becomes ready meanwhile; without workers also posts of other threads. */
    runs_all(true);
    runs_all(false);
}

static void steps_to_due(bool alone) {
    scene s;
    thrum_task task;
    begin(&s, alone);
    thrum_task_init(&task, runs_due, &s);
    for (int i = 0; i < 10; i++) {
        s.ran = 0;
        s.when = soon();
        go_pinned(waits, &s);
        if (alone) { /* else a worker runs it */
            CHECK_EQ(thrum_task_post_until(s.r.sched, &task, s.when), 0);
        }
        CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
        pass(s.when);
        CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
        CHECK_EQ(s.ran, alone ? 2 : 1);
    }
    s.when = far_off();
    go_pinned(counts, &s);
    CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
    CHECK_EQ(s.ran, alone ? 3 : 2);
    end(&s);
}

TEST(a_step_runs_what_is_due) {
    /* Deadlines of fibers that are tied to it and, without workers, of tasks. */
    steps_to_due(true);
    steps_to_due(false);
}

static void steps_to_readable(bool alone) {
    scene s;
    begin(&s, alone);
    ends_open_half(&s.e, UNIX);
    for (int i = 0; i < 50; i++) {
        go_pinned(reads, &s);
        CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
        CHECK_EQ(s.ran, i);
        put(s.e.fds[1], "x");
        while (s.ran == i) {
            CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
        }
    }
    ends_close(&s.e);
    end(&s);
}

TEST(a_step_looks_at_descriptors) {
    /* It does not wait for them; with workers, these look, and the tied fiber goes on in a step. */
    steps_to_readable(true);
    steps_to_readable(false);
}

static void steps_late(bool alone) {
    scene s;
    int before = 0;
    int code;
    begin(&s, alone);
    CHECK_EQ(thrum_sched_step(past()), 0); /* nothing is left */
    for (int i = 0; i < 5; i++) {
        go_pinned(counts, &s);
    }
    while ((code = thrum_sched_step(past())) == -ETIMEDOUT) {
        CHECK(s.ran > before);
        before = s.ran;
    }
    CHECK_EQ(code, 0);
    CHECK(before > 0); /* one step did not run all */
    CHECK_EQ(s.ran, 5);
    end(&s);
}

TEST(a_late_step_runs_something) {
    /* A loop that is always late gets on: each step runs something, and says that there is more. */
    steps_late(true);
    steps_late(false);
}

static int yields_until_signaled(void *arg) {
    scene *s = arg;
    YIELD_UNTIL(thrum_event_test(&s->event));
    return counts(arg);
}

static void steps_until(bool alone) {
    scene s;
    begin(&s, alone);
    go_pinned(yields_until_signaled, &s);
    for (int i = 0; i < 3; i++) {
        s.when = soon();
        CHECK_EQ(thrum_sched_step(s.when), -ETIMEDOUT);
        CHECK_PASSED(s.when);
        CHECK_EQ(s.ran, 0);
    }
    thrum_event_signal(&s.event);
    CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
    CHECK_EQ(s.ran, 1);
    end(&s);
}

TEST(a_step_ends_at_its_deadline) {
    /* There is always something to run. */
    steps_until(true);
    steps_until(false);
}

static int steps_in_task(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_sched_step(past()), -EDEADLK);
    return 0;
}

TEST(a_step_does_not_wait_for_the_workers) {
    /* A task of theirs that runs does not count; nor is there a step without a bound thread. */
    scene s;
    holder h;
    CHECK_EQ(thrum_sched_step(past()), -ESRCH);
    begin(&s, false);
    go_pinned(steps_in_task, &s);
    CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
    if (s.r.config.workers > 0) {
        holder_begin(&s.r, &h, -1);
        CHECK_EQ(thrum_sched_step(THRUM_FOREVER), 0);
        CHECK(!atomic_load(&h.left));
        holder_end(&h);
    }
    end(&s);
}
