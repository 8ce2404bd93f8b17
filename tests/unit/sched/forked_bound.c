/*
 * forked_bound.c: a process that a bound thread forks, or a task that runs on one: the child has no
 * worker, and its thread is no longer bound.
 */
/* POSIX: fork */
/* matrix: bound */
#include "support/sync/bound.h"
#include "support/times.h"

#include <sys/mman.h>
#include <thrum/net.h>
#include <thrum/serve.h>

static int status_of(pid_t child) {
    int status = 0;
    CHECK(child >= 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

static pid_t fork_now(void) {
    const pid_t child = fork();
    if (child == 0) {
        /* A child that hangs ends with a status of its own. */
        check_end_in_time();
    }
    return child;
}

/* Lies in memory that all processes share. */
typedef struct tally {
    atomic_int ran;
} tally;

static tally *new_tally(void) {
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static int add_one(void *arg) {
    atomic_fetch_add(&((tally *)arg)->ran, 1);
    return 0;
}

TEST(a_bound_thread_is_plain_in_the_child) {
    /* What is queued stays queued there; without a scheduler nothing is waited for. */
    if (!bound_cell()) {
        return;
    }
    rig r;
    tally *t = new_tally();
    thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
    bound_begin(&r);
    for (int i = 0; i < 100; i++) {
        rig_go(&r, add_one, t);
    }
    const pid_t child = fork_now();
    if (child == 0) {
        CHECK_EQ(thrum_event_wait(&event), -ESHUTDOWN);
        CHECK_EQ(sleep_until_cancelled(), -ESHUTDOWN);
        CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), -ESHUTDOWN);
        CHECK(thrum_sched_current() == NULL);
        CHECK_EQ(thrum_go(add_one, t), -ESHUTDOWN);
        CHECK_EQ(thrum_sched_bind(r.sched), -ESHUTDOWN);
        CHECK_EQ(thrum_sched_unbind(), -ESHUTDOWN);
        _exit(0);
    }
    CHECK_EQ(status_of(child), 0);
    CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&t->ran), 100);
    bound_end(&r);
}

typedef struct sharing {
    tally *tally;
    bool wait;
} sharing;

static int fork_beside_others(void *arg) {
    sharing *s = arg;
    thrum_waitgroup group = THRUM_WAITGROUP_INIT(1);
    thrum_handle *handle;
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(thrum_go(add_one, s->tally), 0);
    }
    const pid_t child = fork_now();
    if (child == 0) {
        thrum_yield();
        if (s->wait) {
            CHECK_EQ(thrum_waitgroup_wait(&group), -ESHUTDOWN);
        }
        CHECK_EQ(thrum_spawn(&handle, add_one, s->tally), -ESHUTDOWN);
        return 9; /* its body ends there: the thread's own code does not go on */
    }
    const int status = status_of(child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 9);
    return 0;
}

TEST(the_loop_of_a_bound_thread_ends_in_the_child) {
    /* A task on it forks: neither other tasks nor the thread's own wait go on there. */
    rig r;
    bound_begin(&r);
    for (int wait = 0; wait < 2; wait++) {
        sharing s = {.tally = new_tally(), .wait = wait != 0};
        bound_run_all(&r, 3, fork_beside_others, &s);
        CHECK_EQ(thrum_sched_wait_done(r.sched, THRUM_FOREVER), 0);
        CHECK_EQ(atomic_load(&s.tally->ran), 300);
    }
    bound_end(&r);
}

static int yield_and_add(void *arg) {
    thrum_yield();
    return add_one(arg);
}

TEST(the_child_of_a_bound_thread_starts_its_own) {
    /* It binds to that, as if the parent's had never been. */
    if (UNDER_TSAN) {
        CHECK_SKIP("the sanitizer takes no threads after a fork of threads");
    }
    if (UNDER_ASAN) {
        CHECK_SKIP("the sanitizer's allocator may be locked in the child, by a thread not there");
    }
    rig r;
    tally *t = new_tally();
    bound_begin(&r);
    const pid_t child = fork_now();
    if (child == 0) {
        rig own;
        bound_begin(&own);
        bound_run_all(&own, 10, yield_and_add, t);
        bound_leave();
        CHECK_EQ(thrum_sched_stop(own.sched), 0);
        rig_check_freed(&own);
        _exit(0);
    }
    CHECK_EQ(status_of(child), 0);
    CHECK_EQ(atomic_load(&t->ran), 10);
    bound_end(&r);
}

static int serves_nobody(thrum_io io, void *arg) {
    (void)arg;
    return thrum_io_close(io);
}

TEST(the_child_of_a_bound_thread_does_not_serve) {
    /* The listener, and the scheduler, are the parent's. */
    rig r;
    thrum_io listener;
    bound_begin(&r);
    CHECK_EQ(thrum_listen(&listener, "tcp:127.0.0.1:0", NULL), 0);
    const pid_t child = fork_now();
    if (child == 0) {
        CHECK(thrum_serve(listener, serves_nobody, NULL, NULL) < 0);
        _exit(0);
    }
    CHECK_EQ(status_of(child), 0);
    CHECK_EQ(thrum_io_close(listener), 0);
    bound_end(&r);
}
