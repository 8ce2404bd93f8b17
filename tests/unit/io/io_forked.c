/*
 * io_forked.c: a process that forks while descriptors are taken over.
 */
/* POSIX: fork */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

#include "core/due/poll.h"
#include "core/state/worker.h"

#include <sys/stat.h>

/* A sanitizer takes no threads in the child, or has its allocator locked there for good. */
#define ALONE (UNDER_TSAN || UNDER_ASAN)

typedef struct scene {
    rig r;
    ends e;
    ends other;
    atomic_int got;
} scene;

/* Runs fn(arg) in a child and returns waitpid's status. */
static int status_of_child(void (*fn)(void *), void *arg) {
    int status = 0;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        check_end_in_time();
        fn(arg);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

static void check_shut(thrum_io io) {
    char byte = 0;
    CHECK_EQ(thrum_read(io, &byte, 1), -ESHUTDOWN);
    CHECK_EQ(thrum_write(io, &byte, 1), -ESHUTDOWN);
    CHECK_EQ(thrum_io_wait(io, THRUM_IO_READ, THRUM_FOREVER), -ESHUTDOWN);
    CHECK_EQ(thrum_io_shutdown(io, THRUM_IO_READ), -ESHUTDOWN);
    CHECK_EQ(thrum_io_fd(io), -ESHUTDOWN);
    CHECK_EQ(thrum_io_release(io), -ESHUTDOWN);
    CHECK_EQ(thrum_io_close(io), -ESHUTDOWN);
    CHECK(fcntl(io.fd, F_GETFD) >= 0); /* it is open all the same */
}

static void uses_in_child(void *arg) {
    scene *s = arg;
    char byte;
    check_shut(s->e.io[0]);
    check_shut(s->e.io[1]);
    check_shut(s->other.io[0]);
    thrum_io again = adopted(s->other.fds[0]);
    check_shut(s->other.io[0]);
    put(s->other.fds[1], "c");
    CHECK_EQ(thrum_read(again, &byte, 1), 1);
    CHECK_EQ(byte, 'c');
    CHECK_EQ(thrum_io_close(again), 0);
    CHECK_EQ(thrum_read(again, &byte, 1), -EBADF);
}

static int reads_in_fiber(void *arg) {
    scene *s = arg;
    char byte;
    thrum_io io = adopted(s->other.fds[0]);
    CHECK_EQ(thrum_read(io, &byte, 1), 1);
    CHECK_EQ(thrum_io_close(io), 0);
    return 0;
}

static int writes_in_fiber(void *arg) {
    scene *s = arg;
    nap();
    put(s->other.fds[1], "d");
    return 0;
}

static void runs_its_own(void *arg) {
    scene *s = arg;
    rig own;
    rig_init(&own);
    CHECK_EQ(thrum_sched_start(&own.sched, &own.config), 0);
    rig_go(&own, reads_in_fiber, s);
    rig_go(&own, writes_in_fiber, s);
    CHECK_EQ(thrum_sched_stop(own.sched), 0);
}

static int reads_one(void *arg) {
    scene *s = arg;
    char byte;
    CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), 1);
    CHECK_EQ(byte, 'p');
    atomic_fetch_add(&s->got, 1);
    return 0;
}

static void *reads_in_thread(void *arg) {
    CHECK_EQ(reads_one(arg), 0);
    return NULL;
}

static void scene_open(scene *s, end_kind k) {
    char byte;
    atomic_store(&s->got, 0);
    ends_open(&s->e, k);
    ends_open_half(&s->other, UNIX);
    CHECK_EQ(thrum_read_until(s->other.io[0], &byte, 1, soon()), -ETIMEDOUT);
    for (int i = 0; i < 3; i++) {
        rig_go(&s->r, reads_one, s);
    }
    SPIN_UNTIL(IO_QUEUED(s->e.io[0], THRUM_IO_READ) == 2);
    SPIN_UNTIL(io_awaits(s->e.io[0], THRUM_IO_READ));
}

static void scene_close(scene *s, int readers) {
    for (int i = 0; i < readers; i++) {
        put(s->e.fds[1], "p");
        SPIN_UNTIL(atomic_load(&s->got) == i + 1); /* the parent goes on untouched */
    }
    ends_close(&s->e);
    ends_close(&s->other);
}

TEST(in_the_child_old_values_are_the_parents) {
    /* They say -ESHUTDOWN; the descriptors are open and can be taken over again. */
    scene s;
    rig_begin(&s.r, 0);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        scene_open(&s, i % 2 == 0 ? TCP : UNIX);
        CHECK_EQ(pthread_create(&thread, NULL, reads_in_thread, &s), 0);
        SPIN_UNTIL(IO_QUEUED(s.e.io[0], THRUM_IO_READ) == 3);
        CHECK_EQ(status_of_child(i < 2 || ALONE ? uses_in_child : runs_its_own, &s), 0);
        scene_close(&s, 4);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    rig_stop(&s.r);
}

static int forks_in_fiber(void *arg) {
    CHECK_EQ(status_of_child(uses_in_child, arg), 0);
    CHECK_EQ(status_of_child(ALONE ? uses_in_child : runs_its_own, arg), 0);
    return 0;
}

TEST(a_task_forks) {
    /* The child, on the task's stack, finds the same. */
    scene s;
    rig_begin(&s.r, 0);
    scene_open(&s, TCP);
    CHECK_EQ(rig_run(&s.r, forks_in_fiber, &s), 0);
    scene_close(&s, 3);
    rig_stop(&s.r);
}

static void waits_in_child(void *arg) {
    scene *s = arg;
    char byte;
    thrum_io io = adopted(s->other.fds[0]);
    CHECK_EQ(thrum_read_until(io, &byte, 1, soon()) < 0, true);
    CHECK_EQ(thrum_io_close(io), 0);
}

static int waits_in_child_of_fiber(void *arg) {
    CHECK_EQ(status_of_child(waits_in_child, arg), 0);
    return 0;
}

TEST(a_wait_in_the_child_ends) {
    /* It does with a code, at the latest at its deadline. */
    scene s;
    rig_begin(&s.r, 0);
    scene_open(&s, TCP);
    CHECK_EQ(status_of_child(waits_in_child, &s), 0);
    CHECK_EQ(rig_run(&s.r, waits_in_child_of_fiber, &s), 0);
    scene_close(&s, 3);
    rig_stop(&s.r);
}

/* Descriptors of the sets that workers have by now; others may open theirs at any time. */
typedef struct sets {
    int fds[2 * 128];
    int count;
} sets;

static void sets_find(sets *s, const rig *r) {
    s->count = 0;
    for (unsigned i = 0; i < r->sched->workers_count; i++) {
        const th_poller *poller = &r->sched->workers[i].poller;
        if (th_poller_is_open(poller) && s->count < (int)COUNT_OF(s->fds)) {
            s->fds[s->count++] = poller->set.set;
            s->fds[s->count++] = poller->set.wake;
        }
    }
    CHECK(s->count > 0);
}

static int sets_open(const sets *s) {
    int n = 0;
    for (int i = 0; i < s->count; i++) {
        n += fcntl(s->fds[i], F_GETFD) >= 0;
    }
    return n;
}

static void looks_in_child(void *arg) {
    CHECK_EQ(sets_open(arg), 0); /* nor has the child opened anything */
}

enum { OWN = 64 };

/* Opens so many that they get the numbers of what the fork has closed, and expects to keep them. */
static void keeps_its_own(void *arg) {
    scene *s = arg;
    struct stat null, now;
    int own[OWN];
    CHECK_EQ(stat("/dev/null", &null), 0);
    for (int i = 0; i < OWN; i++) {
        own[i] = open("/dev/null", O_RDONLY);
        CHECK(own[i] >= 0);
    }
    const pid_t child = fork(); /* which has nothing of the first parent's left to close */
    check_shut(s->e.io[0]);
    CHECK_EQ(thrum_sched_stop(s->r.sched), -ESHUTDOWN);
    for (int i = 0; i < OWN; i++) {
        CHECK_EQ(fstat(own[i], &now), 0);
        CHECK(now.st_rdev == null.st_rdev);
    }
    if (child > 0) {
        int status = 0;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
}

TEST(the_child_closes_each_number_once) {
    /* What it opens afterwards has the same numbers. So it is in a child of the child. */
    scene s;
    rig_begin(&s.r, 0);
    scene_open(&s, UNIX);
    CHECK_EQ(status_of_child(keeps_its_own, &s), 0);
    scene_close(&s, 3);
    rig_stop(&s.r);
}

TEST(the_child_closes_the_parents_sets) {
    /* And the parent goes on with them. */
    scene s;
    sets found;
    rig_begin(&s.r, 0);
    scene_open(&s, UNIX);
    sets_find(&found, &s.r);
    CHECK_EQ(status_of_child(looks_in_child, &found), 0);
    CHECK_EQ(sets_open(&found), found.count);
    scene_close(&s, 3);
    rig_stop(&s.r);
}

/* ---- forks in the middle of things ---- */

typedef struct busy {
    rig r;
    atomic_bool out;
    thrum_io shown[8];
} busy;

static int opens_and_closes(void *arg) {
    actor *a = arg;
    busy *b = a->arg;
    char byte = 'b';
    while (!atomic_load(&b->out)) {
        ends e;
        ends_open(&e, UNIX);
        CHECK_EQ(thrum_read_until(e.io[0], &byte, 1, soon()), -ETIMEDOUT);
        CHECK_EQ(thrum_write(e.io[1], &byte, 1), 1);
        CHECK_EQ(thrum_read(e.io[0], &byte, 1), 1);
        ends_close(&e);
        thrum_yield();
    }
    return 0;
}

static void takes_over_all(void *arg) {
    char byte = 0;
    int fds[2];
    (void)arg;
    for (int fd = 3; fd < 64; fd++) {
        thrum_io io;
        if (thrum_io_adopt(&io, fd) == 0) { /* whatever was half done with it */
            (void)thrum_io_close(io);
        }
    }
    CHECK_EQ(pipe(fds), 0);
    thrum_io out = adopted(fds[1]);
    thrum_io in = adopted(fds[0]);
    CHECK_EQ(thrum_write(out, &byte, 1), 1);
    CHECK_EQ(thrum_read(in, &byte, 1), 1);
    CHECK_EQ(thrum_io_close(in) | thrum_io_close(out), 0);
}

TEST(forks_in_the_middle_of_calls) {
    /* Fibers and threads open, read, write and close all the time; each child works. */
    busy b;
    rig_begin(&b.r, 0);
    atomic_init(&b.out, false);
    cast *c = cast_new(&b.r);
    cast_add_mixed(c, 4, 2, opens_and_closes, &b);
    for (int i = 0; i < SCALED(60); i++) {
        CHECK_EQ(status_of_child(takes_over_all, NULL), 0);
    }
    atomic_store(&b.out, true);
    cast_join(c);
    rig_stop(&b.r);
}
