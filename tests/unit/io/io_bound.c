/*
 * io_bound.c: descriptors on bound threads and their tasks, with workers and without.
 */
/* matrix: bound */
#include "support/sync/bound.h"
#include "support/io/io.h"
#include "support/times.h"

#include <sys/time.h>

typedef struct scene {
    ends e;
    int rounds;
    int count;
    atomic_int got;
    thrum_sem begun;
} scene;

static int pings(void *arg) {
    scene *s = arg;
    for (int i = 0; i < s->rounds; i++) {
        int got = -1;
        CHECK_EQ(thrum_write(s->e.io[1], &i, sizeof i), sizeof i);
        CHECK_EQ(thrum_read_full(s->e.io[1], &got, sizeof got, THRUM_FOREVER), sizeof got);
        CHECK_EQ(got, i + 1);
    }
    return 0;
}

static int pongs(void *arg) {
    scene *s = arg;
    int got;
    while (thrum_read_full(s->e.io[0], &got, sizeof got, far_off()) == sizeof got) {
        got++;
        CHECK_EQ(thrum_write_until(s->e.io[0], &got, sizeof got, far_off()), sizeof got);
    }
    return 0;
}

TEST(two_tasks_talk) {
    /* They do, and the bound thread itself with a task. */
    rig r;
    bound_begin(&r);
    for (int i = 0; i < 4; i++) {
        scene s = {.rounds = SCALED(300)};
        const thrum_attr attr = rig_attr(&r);
        thrum_handle *handles[2];
        ends_open(&s.e, i % 2 == 0 ? UNIX : TCP);
        CHECK_EQ(thrum_spawn_with(&handles[0], &attr, pongs, &s), 0);
        if (i < 2) {
            CHECK_EQ(pings(&s), 0);
        } else {
            CHECK_EQ(thrum_spawn_with(&handles[1], &attr, pings, &s), 0);
            CHECK_EQ(thrum_join(handles[1], NULL), 0);
        }
        CHECK_EQ(thrum_io_shutdown(s.e.io[1], THRUM_IO_WRITE), 0);
        CHECK_EQ(thrum_join(handles[0], NULL), 0);
        ends_close(&s.e);
    }
    bound_end(&r);
}

static int reads_one(void *arg) {
    scene *s = arg;
    char byte;
    CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), 1);
    atomic_fetch_add(&s->got, 1);
    return 0;
}

static int writes_later(void *arg) {
    scene *s = arg;
    for (int i = 0; i < s->count; i++) {
        nap();
        put(s->e.fds[1], "x");
    }
    return 0;
}

TEST(many_tasks_wait_in_turn) {
    /* What they wait for comes from a task that sleeps. */
    enum { READERS = 10 };
    rig r;
    bound_begin(&r);
    scene s = {.count = READERS};
    thrum_handle *handles[READERS + 1];
    const thrum_attr attr = rig_attr(&r);
    ends_open_half(&s.e, PIPE);
    for (int i = 0; i < READERS; i++) {
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, reads_one, &s), 0);
    }
    CHECK_EQ(thrum_spawn_with(&handles[READERS], &attr, writes_later, &s), 0);
    for (int i = 0; i <= READERS; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
    CHECK_EQ(atomic_load(&s.got), READERS);
    ends_close(&s.e);
    bound_end(&r);
}

static void *writes_in_a_while(void *arg) {
    scene *s = arg;
    for (int i = 0; i < s->count; i++) {
        SPIN_UNTIL(io_awaits(s->e.io[0], THRUM_IO_READ) || atomic_load(&s->got) >= s->count ||
                   IO_WATCHING(s->e.io[0], THRUM_IO_READ) > 0);
        put(s->e.fds[1], "x");
        SPIN_UNTIL(atomic_load(&s->got) == i + 1);
    }
    return NULL;
}

TEST(the_thread_itself_waits) {
    /* Another thread writes each time it sees that the first one waits. */
    rig r;
    bound_begin(&r);
    for (int i = 0; i < 4; i++) {
        scene s = {.count = SCALED(50)};
        pthread_t thread;
        ends_open_half(&s.e, i % 2 == 0 ? TCP : PIPE);
        CHECK_EQ(pthread_create(&thread, NULL, writes_in_a_while, &s), 0);
        for (int k = 0; k < s.count; k++) {
            if (i >= 2) {
                CHECK_EQ(thrum_io_wait(s.e.io[0], THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
            }
            CHECK_EQ(reads_one(&s), 0);
        }
        CHECK_EQ(pthread_join(thread, NULL), 0);
        ends_close(&s.e);
    }
    bound_end(&r);
}

static int closes_later(void *arg) {
    scene *s = arg;
    YIELD_UNTIL(IO_QUEUED(s->e.io[0], THRUM_IO_READ) == 2); /* behind the one that holds it */
    CHECK_EQ(thrum_io_close(s->e.io[0]), 0);
    return 0;
}

static int is_closed(void *arg) {
    scene *s = arg;
    char byte;
    CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), -EBADF);
    return 0;
}

TEST(a_close_by_a_task_ends_the_waits) {
    /* It ends those of tasks, and that of the thread. */
    rig r;
    bound_begin(&r);
    for (int i = 0; i < 3; i++) {
        scene s = {.count = 0};
        thrum_handle *handles[3];
        const thrum_attr attr = rig_attr(&r);
        ends_open_half(&s.e, UNIX);
        CHECK_EQ(thrum_spawn_with(&handles[0], &attr, closes_later, &s), 0);
        CHECK_EQ(thrum_spawn_with(&handles[1], &attr, is_closed, &s), 0);
        CHECK_EQ(thrum_spawn_with(&handles[2], &attr, is_closed, &s), 0);
        CHECK_EQ(is_closed(&s), 0);
        for (int k = 0; k < 3; k++) {
            CHECK_EQ(thrum_join(handles[k], NULL), 0);
        }
        CHECK_EQ(close(s.e.fds[1]), 0);
    }
    bound_end(&r);
}

static int waits_in_vain(void *arg) {
    scene *s = arg;
    char byte;
    CHECK_EQ(thrum_read_until(s->e.io[0], &byte, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_io_wait(s->e.io[0], THRUM_IO_READ, soon()), -ETIMEDOUT);
    return 0;
}

TEST(deadlines_pass) {
    /* They do, in tasks and on the thread. */
    rig r;
    bound_begin(&r);
    scene s = {.count = 0};
    ends_open_half(&s.e, UNIX);
    bound_run_all(&r, 5, waits_in_vain, &s);
    CHECK_EQ(waits_in_vain(&s), 0);
    ends_close(&s.e);
    bound_end(&r);
}

static void on_alarm(int signal) {
    (void)signal;
}

TEST(signals_do_not_show) {
    /* A bound thread is interrupted all the time, and no call says so. */
    const struct itimerval often = {{0, 50}, {0, 50}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm};
    rig r;
    bound_begin(&r);
    scene s = {.rounds = SCALED(1000)};
    const thrum_attr attr = rig_attr(&r);
    thrum_handle *handle;
    ends_open(&s.e, UNIX);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, pongs, &s), 0);
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
    for (int i = 0; i < s.rounds / 5; i++) {
        CHECK_EQ(thrum_io_wait(s.e.io[1], THRUM_IO_READ, soon()), -ETIMEDOUT);
        CHECK_EQ(thrum_io_wait(s.e.io[1], THRUM_IO_WRITE, THRUM_FOREVER), THRUM_IO_WRITE);
    }
    CHECK_EQ(pings(&s), 0);
    CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
    CHECK_EQ(thrum_io_shutdown(s.e.io[1], THRUM_IO_WRITE), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    ends_close(&s.e);
    bound_end(&r);
}

/* ---- several bound threads ---- */

typedef struct group {
    rig r;
    atomic_int left;
} group;

static void *talks_bound(void *arg) {
    group *g = ((crew_seat *)arg)->arg;
    thrum_handle *handle;
    scene s = {.rounds = SCALED(200)};
    CHECK_EQ(thrum_sched_bind(g->r.sched), 0);
    const thrum_attr attr = rig_attr(&g->r);
    ends_open(&s.e, UNIX);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, pongs, &s), 0);
    CHECK_EQ(pings(&s), 0);
    CHECK_EQ(thrum_io_shutdown(s.e.io[1], THRUM_IO_WRITE), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    ends_close(&s.e);
    CHECK_EQ(thrum_sched_unbind(), 0);
    return NULL;
}

TEST(several_threads_share_a_scheduler) {
    /* Each talks with a task that it has started, and an event comes to any of them. */
    group g;
    crew c;
    for (int i = 0; i < 3; i++) {
        rig_begin(&g.r, 0);
        crew_start(&c, 4, talks_bound, &g);
        crew_join(&c);
        rig_stop(&g.r);
    }
}
