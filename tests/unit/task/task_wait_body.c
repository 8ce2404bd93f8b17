/*
 * task_wait_body.c: tasks that wait, and what their bodies do to them: post, move, free; what is
 * visible to a body; what is refused.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

/* ---- from its own body ---- */

typedef struct steps {
    thrum_task task;
    thrum_sched *scheds[2];
    thrum_sched *at[16];
    int n;
    bool overlaps;
    atomic_int inside;
    thrum_sem block;
} steps;

static void step_last(thrum_task *self, void *arg);

/* Waits, each time in another way, and at last gets another body. */
static void step(thrum_task *self, void *arg) {
    steps *s = arg;
    CHECK_EQ(atomic_fetch_add(&s->inside, 1), 0);
    s->at[s->n] = thrum_sched_current();
    int n = s->n++;
    thrum_sched *next = s->scheds[n % 2];
    switch (n % 5) {
    case 0:
        CHECK_EQ(thrum_task_post(next, self), 0);
        break;
    case 1:
        CHECK_EQ(thrum_task_post_after(next, self, 200000), 0);
        break;
    case 2:
        CHECK_EQ(thrum_task_post_wait(next, self), 0);
        thrum_task_wakeup(self); /* this is for its own next run */
        break;
    case 3:
        thrum_task_signal(self);
        CHECK_EQ(thrum_task_post_until(next, self, far_off()), 0);
        break;
    default:
        CHECK(thrum_task_receive_signal(self));
        CHECK_EQ(thrum_task_post_until(next, self, 0), 0);
    }
    if (n == 14) {
        thrum_task_set_body(self, step_last, s);
    }
    if (n % 3 == 0) { /* it blocks after it has posted itself */
        CHECK_EQ(thrum_sem_wait_until(&s->block, soon()), -ETIMEDOUT);
    } else if (n % 3 == 1) {
        nap();
    }
    CHECK_EQ(atomic_fetch_sub(&s->inside, 1), 1);
}

static void step_last(thrum_task *self, void *arg) {
    steps *s = arg;
    CHECK_EQ(atomic_load(&s->inside), 0);
    CHECK_EQ(s->n, 15);
    CHECK(self == &s->task);
    s->n++;
}

TEST(a_task_moves_between_schedulers_from_its_body) {
    /* It waits there, in each way; its runs never overlap, although it blocks after its post. */
    rig a;
    rig b;
    rig_begin(&a, 0);
    rig_begin(&b, 0);
    steps s = {.scheds = {b.sched, a.sched}, .block = THRUM_SEM_INIT(0)};
    thrum_task_init(&s.task, step, &s);
    CHECK_EQ(thrum_task_post(a.sched, &s.task), 0);
    for (int i = 0; i < 20; i++) {
        rig_wait_done(&a);
        rig_wait_done(&b);
    }
    CHECK_EQ(s.n, 16);
    for (int i = 0; i < 15; i++) {
        CHECK(s.at[i] == (i % 2 ? b.sched : a.sched));
    }
    rig_stop(&a);
    rig_stop(&b);
}

typedef struct brief {
    thrum_task task;
    atomic_int *freed;
} brief;

static void free_self(thrum_task *self, void *arg) {
    brief *b = arg;
    atomic_int *freed = b->freed;
    CHECK(&b->task == self);
    memset(b, 0xee, sizeof *b);
    free(b);
    nap(); /* it may block when its task is gone */
    atomic_fetch_add(freed, 1);
}

TEST(a_body_frees_its_task_however_it_came) {
    /* A deadline, a wakeup, a signal or a cancel makes it run. */
    enum { N = 400 };
    atomic_int freed = 0;
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < N; i++) {
        brief *b = malloc(sizeof *b);
        CHECK(b != NULL);
        b->freed = &freed;
        thrum_task_init(&b->task, free_self, b);
        CHECK_EQ(i % 4 == 0 ? thrum_task_post_after(r.sched, &b->task, 50000)
                            : thrum_task_post_wait(r.sched, &b->task),
                 0);
        if (i % 4 == 1) {
            thrum_task_wakeup(&b->task);
        } else if (i % 4 == 2) {
            thrum_task_signal(&b->task);
        } else if (i % 4 == 3) {
            CHECK_EQ(thrum_task_cancel(&b->task), 0);
        }
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&freed), N);
    rig_stop(&r);
}

/* ---- what is visible ---- */

typedef struct letter {
    thrum_task task;
    thrum_sched *sched;
    int text; /* plain: the thread sanitizer sees what ordered it */
    int read;
} letter;

static void read_letter(thrum_task *self, void *arg) {
    letter *l = arg;
    l->read = l->text;
    thrum_task_receive_signal(self); /* otherwise the next post would be immediate */
    if (l->read < 100) {
        CHECK_EQ(thrum_task_post_wait(l->sched, self), 0);
    }
}

TEST(what_was_written_before_a_wakeup_is_visible) {
    /* What the body wrote is visible, too, after wait_done. */
    rig r;
    rig_begin(&r, 0);
    letter l = {.sched = r.sched};
    thrum_task_init(&l.task, read_letter, &l);
    CHECK_EQ(thrum_task_post_wait(r.sched, &l.task), 0);
    for (int i = 1; i <= 100; i++) {
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(l.read, i - 1);
        l.text = i;
        i % 2 ? thrum_task_wakeup(&l.task) : thrum_task_signal(&l.task);
    }
    rig_wait_done(&r);
    CHECK_EQ(l.read, 100);
    rig_stop(&r);
}
