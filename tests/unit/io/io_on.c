/*
 * io_on.c: tasks that are posted when a descriptor is ready (thrum_io_on), and whatever else makes
 * them due.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

/* A task for one direction of a descriptor, and what its last run was told. */
typedef struct job {
    thrum_task task;
    thrum_io io;
    unsigned bits;
    thrum_time deadline;
    int code; /* of the call that has listed it */
    thrum_sched *ran_in;
    thrum_cause cause;
    bool expired, cancelled, signaled;
    atomic_int runs;
} job;

static rig r;

static void note(thrum_task *self, void *arg) {
    job *j = arg;
    j->ran_in = thrum_sched_current();
    j->cause = thrum_task_cause(self);
    j->expired = thrum_task_is_expired(self);
    j->cancelled = thrum_task_is_cancelled(self);
    j->signaled = thrum_task_receive_signal(self); /* or each further post would be immediate */
    atomic_fetch_add(&j->runs, 1);
}

static void job_init(job *j, thrum_io io, unsigned bits) {
    memset(j, 0, sizeof *j);
    thrum_task_init(&j->task, note, j);
    j->io = io;
    j->bits = bits;
    j->deadline = THRUM_FOREVER;
}

static int lists(void *arg) {
    job *j = arg;
    j->code = j->deadline == THRUM_FOREVER
                  ? thrum_io_on(j->io, j->bits, &j->task)
                  : thrum_io_on_until(j->io, j->bits, &j->task, j->deadline);
    return 0;
}

/* By a fiber of the rig's; returns when the call has. */
static int list(job *j) {
    CHECK_EQ(rig_run(&r, lists, j), 0);
    return j->code;
}

TEST(what_makes_any_waiting_task_due_does_so_here) {
    /* A wakeup, a signal, a cancel, each by another thread; nothing is there, so nothing else. */
    ends e;
    job j;
    rig_begin(&r, 0);
    for (end_kind k = TCP; k <= PIPE; k++) {
        ends_open_half(&e, k);
        job_init(&j, e.io[0], THRUM_IO_READ);
        for (int i = 0; i < SCALED(300); i++) {
            CHECK_EQ(list(&j), 0);
            switch (i % 3) {
            case 0:
                thrum_task_wakeup(&j.task);
                break;
            case 1:
                thrum_task_signal(&j.task);
                break;
            default:
                CHECK_EQ(thrum_task_cancel(&j.task), 0);
                break;
            }
            SPIN_UNTIL(atomic_load(&j.runs) == i + 1);
            CHECK_EQ(j.cause, i % 3 == 0   ? THRUM_CAUSE_WOKEN
                              : i % 3 == 1 ? THRUM_CAUSE_SIGNALED
                                           : THRUM_CAUSE_CANCELLED);
            CHECK(!j.expired && j.cancelled == (i % 3 == 2) && j.signaled == (i % 3 == 1));
        }
        ends_close(&e);
    }
    rig_stop(&r);
}

TEST(what_is_pending_already_makes_it_due_at_once) {
    /* A signal that no run has received, and a wakeup. A cancel may then come too late. */
    ends e;
    job j;
    rig_begin(&r, 0);
    ends_open_half(&e, UNIX);
    job_init(&j, e.io[0], THRUM_IO_READ);
    for (int i = 0; i < 100; i++) {
        if (i % 2) {
            thrum_task_signal(&j.task);
        } else {
            thrum_task_wakeup(&j.task);
        }
        CHECK_EQ(list(&j), 0);
        const int code = thrum_task_cancel(&j.task);
        CHECK(code == 0 || code == -EBUSY);
        SPIN_UNTIL(atomic_load(&j.runs) == i + 1);
        CHECK(!j.expired);
    }
    ends_close(&e);
    rig_stop(&r);
}

TEST(it_is_posted_when_the_descriptor_is_ready) {
    /* What comes later, what was there before, the end; and when there is room again. */
    ends e;
    job in, out;
    rig_begin(&r, 0);
    for (end_kind k = TCP; k <= UNIX; k++) {
        ends_open_half(&e, k);
        job_init(&in, e.io[0], THRUM_IO_READ);
        job_init(&out, e.io[0], THRUM_IO_WRITE);
        CHECK_EQ(list(&in), 0);
        CHECK_EQ(list(&out), 0);
        SPIN_UNTIL(atomic_load(&out.runs) == 1);
        CHECK(out.cause == THRUM_CAUSE_WOKEN && out.ran_in == r.sched);
        CHECK_EQ(atomic_load(&in.runs), 0); /* nothing could have made it due */
        put(e.fds[1], "a");
        SPIN_UNTIL(atomic_load(&in.runs) == 1);
        CHECK(in.cause == THRUM_CAUSE_WOKEN && !in.expired && !in.cancelled);
        CHECK_EQ(list(&in), 0); /* the byte is there still */
        SPIN_UNTIL(atomic_load(&in.runs) == 2);
        CHECK_EQ(drain(e.fds[0], 1), 1);
        CHECK(fill(e.fds[0]) > 0);
        do { /* the system may have told of the room that there was */
            const int before = atomic_load(&out.runs);
            out.deadline = soon();
            CHECK_EQ(list(&out), 0);
            SPIN_UNTIL(atomic_load(&out.runs) > before);
        } while (!out.expired);
        out.deadline = THRUM_FOREVER;
        const int before = atomic_load(&out.runs);
        CHECK_EQ(list(&out), 0);
        drain(e.fds[1], SIZE_MAX);
        SPIN_UNTIL(atomic_load(&out.runs) > before);
        CHECK_EQ(close(e.fds[1]), 0);
        CHECK_EQ(list(&in), 0); /* the end is something to read */
        SPIN_UNTIL(atomic_load(&in.runs) == 3);
        CHECK_EQ(thrum_io_close(e.io[0]), 0);
    }
    rig_stop(&r);
}

TEST(at_its_deadline_it_runs_expired) {
    /* Also one that has passed already; and the place is free for the next one. */
    ends e;
    job j;
    rig_begin(&r, 0);
    ends_open_half(&e, PIPE);
    job_init(&j, e.io[0], THRUM_IO_READ);
    for (int i = 0; i < 20; i++) {
        j.deadline = i % 2 ? past() : soon();
        CHECK_EQ(list(&j), 0);
        SPIN_UNTIL(atomic_load(&j.runs) == i + 1);
        CHECK_PASSED(j.deadline);
        CHECK(j.expired && !j.cancelled && j.cause == THRUM_CAUSE_EXPIRED);
    }
    ends_close(&e);
    rig_stop(&r);
}

static void *ends_io(void *arg) {
    const job *j = arg;
    if (j->code) {
        CHECK_EQ(close(thrum_io_release(j->io)), 0);
    } else {
        CHECK_EQ(thrum_io_close(j->io), 0);
    }
    return NULL;
}

static int ends_io_here(void *arg) {
    (void)ends_io(arg);
    return 0;
}

TEST(the_end_of_the_descriptor_cancels_it) {
    /* A close and a release, by a plain thread and by a fiber, of both directions. */
    rig_begin(&r, 0);
    for (int i = 0; i < 4; i++) {
        ends e;
        job in, out;
        ends_open_half(&e, UNIX);
        CHECK(fill(e.fds[0]) > 0);
        job_init(&in, e.io[0], THRUM_IO_READ);
        job_init(&out, e.io[0], THRUM_IO_WRITE);
        out.deadline = far_off();
        CHECK_EQ(list(&in), 0);
        CHECK_EQ(list(&out), 0);
        in.code = i & 1;
        if (i & 2) {
            CHECK_EQ(rig_run(&r, ends_io_here, &in), 0);
        } else {
            (void)ends_io(&in);
        }
        SPIN_UNTIL(atomic_load(&in.runs) == 1 && atomic_load(&out.runs) == 1);
        CHECK(in.cancelled && in.cause == THRUM_CAUSE_CANCELLED);
        CHECK(out.cancelled && out.cause == THRUM_CAUSE_CANCELLED && !out.expired);
        CHECK_EQ(list(&in), -EBADF);
        CHECK_EQ(thrum_task_cancel(&in.task), -EBUSY);
        CHECK_EQ(close(e.fds[1]), 0);
    }
    rig_stop(&r);
}

TEST(what_is_refused_leaves_the_task_to_the_caller) {
    /* It can be posted after each of them, and nothing else has been put in its place. */
    ends e;
    job first, other;
    rig_begin(&r, 0);
    ends_open_half(&e, TCP);
    job_init(&first, e.io[0], THRUM_IO_READ);
    job_init(&other, e.io[0], THRUM_IO_READ);
    CHECK_EQ(thrum_io_on(e.io[0], THRUM_IO_READ, &other.task), -ESRCH); /* a plain thread */
    CHECK_EQ(thrum_io_on(e.io[0], THRUM_IO_READ, NULL), -EINVAL);
    other.bits = 0;
    CHECK_EQ(list(&other), -EINVAL);
    other.bits = THRUM_IO_READ | THRUM_IO_WRITE;
    CHECK_EQ(list(&other), -EINVAL);
    other.bits = THRUM_IO_READ;
    other.io = (thrum_io){0, 0};
    CHECK_EQ(list(&other), -EBADF);
    other.io = e.io[0];
    thrum_task_set_body(&other.task, NULL, NULL);
    CHECK_EQ(list(&other), -EINVAL);
    thrum_task_set_body(&other.task, note, &other);
    CHECK_EQ(list(&first), 0);
    CHECK_EQ(list(&other), -EBUSY); /* the direction is taken */
    CHECK_EQ(thrum_task_post(r.sched, &other.task), 0);
    SPIN_UNTIL(atomic_load(&other.runs) == 1);
    CHECK_EQ(list(&first), -EBUSY); /* it is posted: in the same direction, the other one, or so */
    first.bits = THRUM_IO_WRITE;
    CHECK_EQ(list(&first), -EBUSY);
    CHECK_EQ(thrum_task_post(r.sched, &first.task), -EBUSY);
    put(e.fds[1], "a");
    SPIN_UNTIL(atomic_load(&first.runs) == 1);
    CHECK_EQ(list(&other), 0); /* the place is free again */
    SPIN_UNTIL(atomic_load(&other.runs) == 2);
    ends_close(&e);
    rig_stop(&r);
}

/* ---- by its own body ---- */

typedef struct reader {
    job j;
    int got;
    atomic_bool ended;
} reader;

/* A byte a run; it takes effect when the body returns, also where more is there. */
static void read_one(thrum_task *self, void *arg) {
    reader *me = arg;
    char byte;
    const int64_t n = thrum_read_until(me->j.io, &byte, 1, soon());
    CHECK(n == 1 || n == 0 || n == -ETIMEDOUT); /* it may also run although nothing is there */
    me->got += n == 1;
    if (n == 0) {
        atomic_store(&me->ended, true);
        return;
    }
    CHECK_EQ(thrum_io_on(me->j.io, THRUM_IO_READ, self), 0);
    CHECK_EQ(thrum_io_on(me->j.io, THRUM_IO_READ, self), -EBUSY);
    const uint32_t runs = (uint32_t)atomic_fetch_add(&me->j.runs, 1);
    CHECK_EQ(runs, (uint32_t)atomic_load(&me->j.runs) - 1); /* no other run is on */
}

static void check_rearmed(end_kind k, bool serial) {
    ends e;
    reader me = {.got = 0};
    const int n = SCALED(400);
    ends_open_half(&e, k);
    job_init(&me.j, e.io[0], THRUM_IO_READ);
    thrum_task_set_body(&me.j.task, read_one, &me);
    if (serial) {
        thrum_task_set_serial(&me.j.task);
    }
    CHECK_EQ(list(&me.j), 0);
    for (int i = 0; i < n; i++) {
        put(e.fds[1], i % 3 ? "a" : "ab");
    }
    CHECK_EQ(close(e.fds[1]), 0);
    SPIN_UNTIL(atomic_load(&me.ended));
    CHECK_EQ(me.got, n + (n + 2) / 3);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0); /* a serial run may be under way */
    CHECK_EQ(thrum_io_close(e.io[0]), 0);
}

TEST(its_own_body_lists_it_anew) {
    /* As often as there is something; a serial task likewise. */
    rig_begin(&r, 0);
    for (end_kind k = TCP; k <= PIPE; k++) {
        check_rearmed(k, false);
        check_rearmed(k, true);
    }
    rig_stop(&r);
}

static void list_and_end(thrum_task *self, void *arg) {
    job *j = arg;
    if (atomic_load(&j->runs) == 0) {
        atomic_fetch_add(&j->runs, 1);
        CHECK_EQ(thrum_io_on(j->io, THRUM_IO_READ, self), 0);
        CHECK_EQ(thrum_io_close(j->io), 0);
        return;
    }
    note(self, j);
}

TEST(a_body_that_lists_its_task_and_closes_the_descriptor_runs_once_more) {
    /* Cancelled; for the place is emptied before the task waits there. */
    ends e;
    job j;
    rig_begin(&r, 0);
    ends_open_half(&e, UNIX);
    job_init(&j, e.io[0], THRUM_IO_READ);
    thrum_task_set_body(&j.task, list_and_end, &j);
    CHECK_EQ(thrum_task_post(r.sched, &j.task), 0);
    SPIN_UNTIL(atomic_load(&j.runs) == 2);
    CHECK_EQ(j.cause, THRUM_CAUSE_CANCELLED);
    CHECK_EQ(close(e.fds[1]), 0);
    rig_stop(&r);
}

/* ---- stops ---- */

static void list_again(thrum_task *self, void *arg) {
    job *j = arg;
    j->code = thrum_io_on(j->io, j->bits, self);
    note(self, j);
}

TEST(a_stop_cancels_what_only_a_descriptor_would_wake) {
    /* The run that sees it is the last one: it cannot list the task again. */
    ends e;
    job j;
    rig_begin(&r, 0);
    ends_open_half(&e, UNIX);
    job_init(&j, e.io[0], THRUM_IO_READ);
    thrum_task_set_body(&j.task, list_again, &j);
    CHECK_EQ(list(&j), 0);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&j.runs), 1);
    CHECK_EQ(j.cause, THRUM_CAUSE_CANCELLED);
    CHECK_EQ(j.code, -ESHUTDOWN);
    rig_begin(&r, 0);
    thrum_task_set_body(&j.task, note, &j);
    CHECK_EQ(list(&j), 0); /* the place is free, and the next scheduler is told */
    put(e.fds[1], "a");
    SPIN_UNTIL(atomic_load(&j.runs) == 2);
    CHECK_EQ(j.ran_in, r.sched);
    ends_close(&e);
    rig_stop(&r);
}

TEST(a_stop_past_its_deadline_cancels_what_has_a_deadline) {
    /* Before that deadline. */
    ends e;
    job j;
    rig_begin(&r, 0);
    ends_open_half(&e, UNIX);
    job_init(&j, e.io[0], THRUM_IO_READ);
    j.deadline = far_off();
    CHECK_EQ(list(&j), 0);
    CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&j.runs), 1);
    CHECK(j.cancelled && !j.expired);
    ends_close(&e);
}

/* ---- several schedulers, and none with workers ---- */

TEST(each_scheduler_is_told_for_its_own_tasks) {
    /* One direction each; what the one has listed is not lost when the other one stops. */
    rig second;
    ends e;
    job in, out;
    rig_begin(&r, 0);
    rig_begin(&second, 1);
    ends_open_half(&e, TCP);
    CHECK(fill(e.fds[0]) > 0);
    job_init(&in, e.io[0], THRUM_IO_READ);
    job_init(&out, e.io[0], THRUM_IO_WRITE);
    CHECK_EQ(list(&in), 0);
    CHECK_EQ(rig_run(&second, lists, &out), 0);
    CHECK_EQ(out.code, 0);
    CHECK_EQ(rig_run(&second, lists, &in), 0);
    CHECK_EQ(in.code, -EBUSY);
    rig_stop(&r);
    CHECK(atomic_load(&in.runs) == 1 && in.cancelled);
    CHECK_EQ(atomic_load(&out.runs), 0);
    CHECK_EQ(rig_run(&second, lists, &in), 0);
    CHECK_EQ(in.code, 0);
    drain(e.fds[1], SIZE_MAX);
    put(e.fds[1], "a");
    SPIN_UNTIL(atomic_load(&in.runs) == 2 && atomic_load(&out.runs) == 1);
    CHECK(in.ran_in == second.sched && out.ran_in == second.sched);
    ends_close(&e);
    rig_stop(&second);
}

TEST(without_workers_it_runs_on_a_bound_thread) {
    /* Which lists it itself, outside of tasks, and waits for something. */
    ends e;
    job j;
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    ends_open_half(&e, PIPE);
    job_init(&j, e.io[0], THRUM_IO_READ);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(lists(&j) | j.code, 0);
        put(e.fds[1], "a");
        while (atomic_load(&j.runs) == 2 * i) {
            nap(); /* it runs here meanwhile */
        }
        CHECK_EQ(drain(e.fds[0], 1), 1);
        j.deadline = soon();
        CHECK_EQ(lists(&j) | j.code, 0);
        while (atomic_load(&j.runs) == 2 * i + 1) {
            nap();
        }
        j.deadline = THRUM_FOREVER;
    }
    CHECK_EQ(lists(&j) | j.code, 0);
    CHECK_EQ(thrum_io_close(e.io[0]), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    CHECK(atomic_load(&j.runs) == 101 && j.cancelled);
    CHECK_EQ(close(e.fds[1]), 0);
    rig_stop(&r);
}

/* ---- a serial task that two list at the same time ---- */

typedef struct rival {
    job *j; /* of both */
    thrum_io io;
    atomic_int *ready;
    int code;
} rival;

static int lists_with_another(void *arg) {
    rival *me = arg;
    atomic_fetch_add(me->ready, 1);
    SPIN_UNTIL(atomic_load(me->ready) == 2); /* on two workers */
    me->code = thrum_io_on(me->io, THRUM_IO_READ, &me->j->task);
    return 0;
}

TEST(of_two_that_list_a_serial_task_one_is_refused) {
    /* At the same time, on two descriptors: and no place stays taken. */
    rig second;
    ends e[2];
    job j, probe;
    rig_begin(&r, 1);
    rig_begin(&second, 1);
    const thrum_attr attrs[2] = {rig_attr(&r), rig_attr(&second)};
    ends_open_half(&e[0], PIPE);
    ends_open_half(&e[1], PIPE);
    job_init(&j, e[0].io[0], THRUM_IO_READ);
    thrum_task_set_serial(&j.task);
    for (int i = 0; i < SCALED(100); i++) {
        atomic_int ready = 0;
        rival rivals[2];
        thrum_handle *handles[2];
        for (int k = 0; k < 2; k++) {
            rivals[k] = (rival){&j, e[k].io[0], &ready, 0};
            CHECK_EQ(thrum_spawn_with(&handles[k], &attrs[k], lists_with_another, &rivals[k]), 0);
        }
        CHECK_EQ(thrum_join(handles[0], NULL) | thrum_join(handles[1], NULL), 0);
        CHECK_EQ(rivals[0].code + rivals[1].code, -EBUSY);
        thrum_task_wakeup(&j.task);
        SPIN_UNTIL(atomic_load(&j.runs) == i + 1);
        for (int k = 0; k < 2; k++) {
            job_init(&probe, e[k].io[0], THRUM_IO_READ);
            CHECK_EQ(list(&probe), 0);
            CHECK_EQ(thrum_task_cancel(&probe.task), 0);
            SPIN_UNTIL(atomic_load(&probe.runs) == 1);
        }
    }
    rig_stop(&second);
    rig_stop(&r);
    ends_close(&e[0]);
    ends_close(&e[1]);
}
