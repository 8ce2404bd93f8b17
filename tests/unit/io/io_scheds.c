/*
 * io_scheds.c: schedulers whose fibers wait for descriptors: idleness, deadlocks, stops, workers
 * that compute, two schedulers at one descriptor.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/report/reports.h"
#include "support/times.h"

#include <signal.h>
#include <thrum/signal.h>

typedef struct scene {
    rig r;
    ends e;
    atomic_int got;
    atomic_bool out;
} scene;

static int reads_one(void *arg) {
    scene *s = arg;
    char byte;
    CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), 1);
    atomic_fetch_add(&s->got, 1);
    return 0;
}

TEST(fibers_that_wait_for_descriptors_are_idle) {
    /* A wait for idleness returns, and one for the end waits for them. */
    scene s = {.got = 0};
    rig_begin(&s.r, 0);
    ends_open_half(&s.e, TCP);
    for (int i = 0; i < 4; i++) {
        rig_go(&s.r, reads_one, &s);
    }
    SPIN_UNTIL(IO_QUEUED(s.e.io[0], THRUM_IO_READ) == 3);
    CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_wait_done(s.r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(atomic_load(&s.got), 0);
    put(s.e.fds[1], "four");
    rig_wait_done(&s.r);
    CHECK_EQ(atomic_load(&s.got), 4);
    ends_close(&s.e);
    rig_stop(&s.r);
}

TEST(a_stop_waits_for_them) {
    /* What they wait for comes while the scheduler stops. */
    scene s = {.got = 0};
    for (int i = 0; i < 5; i++) {
        atomic_store(&s.got, 0);
        rig_begin(&s.r, 0);
        ends_open_half(&s.e, UNIX);
        rig_go(&s.r, reads_one, &s);
        SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
        CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_sched_wait_done(s.r.sched, 0), -ETIMEDOUT);
        put(s.e.fds[1], "x");
        rig_stop(&s.r);
        CHECK_EQ(atomic_load(&s.got), 1);
        ends_close(&s.e);
    }
}

TEST(a_wait_for_the_world_is_no_deadlock) {
    /* It is not reported, whether one waits for bytes, for readiness, or for those who do. */
    scene s = {.got = 0};
    watched_begin(&s.r);
    ends_open_half(&s.e, PIPE);
    things_init();
    rig_go(&s.r, reads_one, &s);
    rig_go(&s.r, reads_one, &s);
    SPIN_UNTIL(IO_QUEUED(s.e.io[0], THRUM_IO_READ) == 1);
    thrum_handle *other = spawn_named(&s.r, "other", waits_for_later, NULL);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
        /* A while in which a report would come. */
        CHECK_EQ(thrum_sched_wait_done(s.r.sched, soon()), -ETIMEDOUT);
        CHECK_EQ(atomic_load(&reports), 0);
    }
    put(s.e.fds[1], "xy");
    CHECK_REPORTED(1); /* now nobody is left who could go on */
    CHECK_EQ(atomic_load(&s.got), 2);
    thrum_sem_post(&it.sem);
    join(other, 0);
    things_end();
    ends_close(&s.e);
    rig_stop(&s.r);
}

static int waits_for_usr1(void *arg) {
    const int wanted = SIGUSR1;
    (void)arg;
    CHECK_EQ(thrum_signal_wait(&wanted, 1, THRUM_FOREVER), SIGUSR1);
    return 0;
}

static void does_nothing(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
}

static int lists_it(void *arg) {
    scene *s = arg;
    static thrum_task task;
    thrum_task_init(&task, does_nothing, NULL);
    return thrum_io_on(s->e.io[0], THRUM_IO_READ, &task);
}

TEST(signals_and_listed_tasks_are_no_deadlock) {
    /* When they have come there is one: it is told once, without them, and was not before. */
    for (int i = 0; i < 2; i++) {
        scene s = {.got = 0};
        watched_begin(&s.r);
        atomic_store(&reports, 0);
        ends_open_half(&s.e, PIPE);
        things_init();
        if (i == 0) {
            rig_go(&s.r, waits_for_usr1, NULL);
        } else {
            CHECK_EQ(rig_run(&s.r, lists_it, &s), 0);
        }
        thrum_handle *other = spawn_named(&s.r, "other", waits_for_later, NULL);
        CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(atomic_load(&reports), 0);
        if (i == 0) {
            CHECK_EQ(kill(getpid(), SIGUSR1), 0);
        } else {
            put(s.e.fds[1], "x");
        }
        CHECK_REPORTED(1);
        check_told("\": 1 waits, nothing runs");
        thrum_sem_post(&it.sem);
        join(other, 0);
        CHECK_EQ(atomic_load(&reports), 1);
        things_end();
        ends_close(&s.e);
        rig_stop(&s.r);
    }
}

/* ---- workers that compute ---- */

static int computes_a_while(void *arg) {
    scene *s = arg;
    for (volatile int i = 0; i < 100000; i++) {
    }
    return atomic_load(&s->out) ? 0 : thrum_go(computes_a_while, s);
}

TEST(busy_workers_look_too) {
    /* All workers have more than enough to do, and none of them ever sleeps. */
    scene s = {.got = 0};
    rig_begin(&s.r, 0);
    for (unsigned i = 0; i < 2 * thrum_sched_parallelism(s.r.sched); i++) {
        rig_go(&s.r, computes_a_while, &s);
    }
    for (int i = 0; i < SCALED(20); i++) {
        atomic_store(&s.got, 0);
        ends_open_half(&s.e, TCP);
        rig_go(&s.r, reads_one, &s);
        SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
        put(s.e.fds[1], "x");
        SPIN_UNTIL(atomic_load(&s.got) == 1);
        ends_close(&s.e);
    }
    atomic_store(&s.out, true);
    rig_stop(&s.r);
}

/* ---- two schedulers ---- */

static int reads_in_vain(void *arg) {
    scene *s = arg;
    char byte;
    CHECK_EQ(thrum_read_until(s->e.io[0], &byte, 1, soon()), -ETIMEDOUT);
    return 0;
}

static int writes_in_vain(void *arg) {
    scene *s = arg;
    CHECK_EQ(thrum_io_wait(s->e.io[0], THRUM_IO_READ, soon()), -ETIMEDOUT);
    return 0;
}

TEST(one_stops_while_the_other_waits) {
    /* The fibers of the other are still told, whichever came to the descriptor first. */
    scene s = {.got = 0};
    rig other;
    rig_begin(&s.r, 0);
    for (int i = 0; i < 10; i++) {
        atomic_store(&s.got, 0);
        ends_open_half(&s.e, i % 2 == 0 ? TCP : UNIX);
        rig_begin(&other, 0);
        if (i % 4 < 2) {
            CHECK_EQ(rig_run(&other, i % 3 == 0 ? writes_in_vain : reads_in_vain, &s), 0);
        }
        rig_go(&s.r, reads_one, &s);
        SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
        if (i % 4 >= 2) {
            CHECK_EQ(rig_run(&other, writes_in_vain, &s), 0);
        }
        rig_stop(&other);
        put(s.e.fds[1], "x");
        SPIN_UNTIL(atomic_load(&s.got) == 1);
        ends_close(&s.e);
    }
    rig_stop(&s.r);
}

TEST(fibers_of_many_schedulers_read_in_turn) {
    /* Readers of three schedulers and threads: each byte goes to one of them. */
    enum { SCHEDS = 3, READERS = 4 };
    scene s = {.got = 0};
    rig rigs[SCHEDS];
    for (int round = 0; round < 5; round++) {
        atomic_store(&s.got, 0);
        ends_open_half(&s.e, TCP);
        for (int i = 0; i < SCHEDS; i++) {
            rig_begin(&rigs[i], 0);
        }
        for (int i = 0; i < SCHEDS * READERS; i++) {
            rig_go(&rigs[i % SCHEDS], reads_one, &s);
        }
        for (int i = 0; i < SCHEDS * READERS; i++) {
            put(s.e.fds[1], "x");
            SPIN_UNTIL(atomic_load(&s.got) == i + 1);
        }
        for (int i = 0; i < SCHEDS; i++) {
            rig_stop(&rigs[i]);
        }
        ends_close(&s.e);
    }
}

TEST(a_descriptor_outlives_schedulers) {
    /* One after the other uses it, and it is in no set when the next one comes. */
    scene s = {.got = 0};
    ends_open_half(&s.e, TCP);
    for (int i = 0; i < 20; i++) {
        rig_begin(&s.r, 0);
        CHECK_EQ(rig_run(&s.r, reads_in_vain, &s), 0);
        rig_go(&s.r, reads_one, &s);
        SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
        put(s.e.fds[1], "x");
        rig_stop(&s.r);
        CHECK_EQ(atomic_load(&s.got), i + 1);
    }
    ends_close(&s.e);
}
