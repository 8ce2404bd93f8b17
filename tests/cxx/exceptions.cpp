/*
 * exceptions.cpp: exceptions of C++ belong to the task: what it is handling, and what is unwinding
 * its frames, is its own across a wait, on whichever worker it goes on.
 */
/* matrix: policy workers */
#include "check.h"

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <thrum.h>

#include "support/times.h"

namespace {

int workers() {
    return check_env("THRUM_WORKERS", 2);
}

const int fibers = 64;

/* Nothing is being handled or thrown here: a task's first line and its last one must find that. */
void check_none() {
    CHECK(std::current_exception() == nullptr);
    CHECK_EQ(std::uncaught_exceptions(), 0);
}

struct failure : std::runtime_error {
    explicit failure(int which) : std::runtime_error(std::to_string(which)), number(which) {
    }
    int number;
};

/* The number of what the caller is handling, as a rethrow finds it. */
int handled() {
    try {
        throw;
    } catch (const failure &f) {
        return f.number;
    }
}

/* What many wait with at a time, in different ways. */
struct meeting {
    thrum_waitgroup left;
    thrum_sem turn;
    thrum_event open;
    std::atomic<int> numbers;
    int (*visit)(meeting *, int);

    explicit meeting(int (*fn)(meeting *, int)) : numbers(0), visit(fn) {
        thrum_waitgroup_init(&left, 0);
        thrum_sem_init(&turn, 1);
        thrum_event_init(&open, THRUM_EVENT_MANUAL, false);
    }
};

int one_of_many(void *arg) {
    meeting *m = static_cast<meeting *>(arg);
    check_none();
    m->visit(m, m->numbers.fetch_add(1));
    check_none();
    thrum_waitgroup_done(&m->left);
    return 0;
}

void start_all(meeting *m, int count) {
    thrum_waitgroup_add(&m->left, count);
    for (int i = 0; i < count; i++) {
        CHECK_EQ(thrum_go(one_of_many, m), 0);
    }
}

int run_all(void *arg) {
    meeting *m = static_cast<meeting *>(arg);
    start_all(m, fibers);
    for (int i = 0; i < 8; i++) {
        thrum_yield();
    }
    thrum_event_signal(&m->open);
    CHECK_EQ(thrum_waitgroup_wait(&m->left), 0);
    start_all(m, fibers); /* they run on stacks that were used */
    CHECK_EQ(thrum_waitgroup_wait(&m->left), 0);
    check_none();
    return 0;
}

void many(int (*visit)(meeting *, int)) {
    meeting m(visit);
    CHECK_EQ(thrum_run(nullptr, run_all, &m), 0);
    check_none();
}

/* Goes through each kind of wait, one after the other. */
void wait_somehow(meeting *m, int kind) {
    switch (kind % 4) {
    case 0:
        thrum_yield();
        break;
    case 1:
        CHECK_EQ(thrum_sem_wait(&m->turn), 0);
        thrum_yield();
        thrum_sem_post(&m->turn);
        break;
    case 2:
        nap();
        break;
    default:
        CHECK_EQ(thrum_event_wait(&m->open), 0);
        break;
    }
}

int rethrows(meeting *m, int number) {
    const int before = std::uncaught_exceptions(); /* not 0 in a fork that is joined by unwinding */
    int caught = -1;
    try {
        try {
            throw failure(number);
        } catch (const failure &f) {
            for (int i = 0; i < 4; i++) {
                wait_somehow(m, number + i);
                CHECK_EQ(handled(), number);
                CHECK_EQ(f.number, number);
                CHECK_EQ(std::uncaught_exceptions(), before);
            }
            throw;
        }
    } catch (const failure &f) {
        caught = f.number;
    }
    CHECK_EQ(caught, number);
    return 0;
}

/* Waits as it is destroyed, like a joiner. */
struct waits_at_end {
    meeting *m;
    int number;
    int uncaught;

    ~waits_at_end() {
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(std::uncaught_exceptions(), uncaught);
            wait_somehow(m, number + i);
        }
        CHECK_EQ(std::uncaught_exceptions(), uncaught);
    }
};

int unwinds(meeting *m, int number) {
    try {
        waits_at_end outer{m, number, number % 2};
        waits_at_end inner{m, number + 1, number % 2};
        if (number % 2) {
            throw failure(number);
        }
    } catch (const failure &f) {
        CHECK_EQ(f.number, number);
        CHECK_EQ(handled(), number);
        CHECK_EQ(number % 2, 1);
        CHECK_EQ(std::uncaught_exceptions(), 0);
    }
    return 0;
}

/* Throws in a destructor while another exception unwinds, and where one is handled. */
struct throws_inside {
    meeting *m;
    int number;

    ~throws_inside() {
        try {
            waits_at_end within{m, number, 2};
            throw failure(number + 1000);
        } catch (const failure &f) {
            wait_somehow(m, number);
            CHECK_EQ(handled(), number + 1000);
            CHECK_EQ(std::uncaught_exceptions(), 1);
        }
    }
};

int nests(meeting *m, int number) {
    try {
        throws_inside first{m, number};
        throw failure(number);
    } catch (const failure &) {
        try {
            wait_somehow(m, number);
            throw failure(number + 2000);
        } catch (const failure &) {
            wait_somehow(m, number + 1);
            CHECK_EQ(handled(), number + 2000);
        }
        wait_somehow(m, number + 2);
        CHECK_EQ(handled(), number);
    }
    return 0;
}

/* Hands on what it has caught, and throws what it is handed. */
int joins(void *arg) {
    std::exception_ptr *out = static_cast<std::exception_ptr *>(arg);
    check_none();
    try {
        thrum_yield();
        throw failure(77);
    } catch (...) {
        thrum_yield();
        *out = std::current_exception();
    }
    check_none();
    return 0;
}

int rethrows_of_another(meeting *m, int number) {
    try {
        throw failure(number);
    } catch (const failure &) {
        std::exception_ptr theirs;
        thrum_handle *handle = nullptr;
        CHECK_EQ(thrum_spawn(&handle, joins, &theirs), 0);
        CHECK_EQ(thrum_join(handle, nullptr), 0);
        try {
            std::rethrow_exception(theirs);
        } catch (const failure &f) {
            wait_somehow(m, number);
            CHECK_EQ(f.number, 77);
            CHECK_EQ(handled(), 77);
        }
        wait_somehow(m, number + 1);
        CHECK_EQ(handled(), number);
    }
    return 0;
}

} // namespace

TEST(what_is_handled_is_rethrown_after_waits) {
    /* Many tasks wait inside a catch at a time, in every way: each rethrows its own. */
    many(rethrows);
}

TEST(destructors_wait_while_an_exception_unwinds) {
    /* Half of the tasks unwind, the others end as they should: each counts only its own. */
    many(unwinds);
}

TEST(exceptions_in_exceptions_are_told_apart) {
    /*
     * An exception is thrown and caught in a destructor that runs because of another, with waits in
     * each.
     */
    many(nests);
}

TEST(an_exception_is_handed_on_by_a_join_in_a_catch) {
    /* The joined task throws, catches and waits as well, while its joiner waits. */
    many(rethrows_of_another);
}

namespace {

int pinned_rethrows(void *arg) {
    meeting *m = static_cast<meeting *>(arg);
    rethrows(m, 1000 + thrum_worker_id());
    thrum_waitgroup_done(&m->left);
    return 0;
}

/* The bound thread's own stack: it waits inside a catch as its tasks do. */
void bind_and_rethrow(unsigned count) {
    meeting m(rethrows);
    thrum_config config;
    thrum_config_init(&config);
    config.workers = count;
    thrum_sched *sched = nullptr;
    CHECK_EQ(thrum_sched_start(&sched, &config), 0);
    int caught = 0;
    try {
        throw failure(5);
    } catch (const failure &) {
        CHECK_EQ(thrum_sched_bind(sched), 0);
        try {
            waits_at_end last{&m, 0, 1};
            start_all(&m, fibers);
            thrum_attr attr = THRUM_ATTR_INIT;
            attr.flags = THRUM_PINNED;
            attr.worker = thrum_worker_id();
            for (int i = 0; i < fibers; i++) {
                thrum_waitgroup_add(&m.left, 1);
                CHECK_EQ(thrum_go_with(&attr, pinned_rethrows, &m), 0);
            }
            thrum_yield();
            thrum_event_signal(&m.open);
            throw failure(6);
        } catch (const failure &) {
            CHECK_EQ(thrum_waitgroup_wait(&m.left), 0);
            caught = handled();
        }
        CHECK_EQ(caught, 6);
        CHECK_EQ(handled(), 5);
        CHECK_EQ(thrum_sched_unbind(), 0);
        caught = handled();
    }
    CHECK_EQ(caught, 5);
    check_none();
    CHECK_EQ(thrum_sched_stop(sched), 0);
}

} // namespace

TEST(a_bound_thread_keeps_its_own) {
    /* The root waits inside catches, and as it unwinds, while tasks throw on it and elsewhere. */
    bind_and_rethrow((unsigned)workers());
}

TEST(a_bound_thread_keeps_its_own_without_workers) {
    /* The root does the same where it alone runs everything. */
    bind_and_rethrow(0);
}

namespace {

/* A forked call that throws, waits and rethrows, wherever it is made. */
struct forked {
    meeting *m;
    int number;
};

int forked_call(void *arg) {
    forked *call = static_cast<forked *>(arg);
    const int uncaught = std::uncaught_exceptions();
    rethrows(call->m, call->number);
    CHECK_EQ(std::uncaught_exceptions(), uncaught);
    return call->number;
}

/* Joins as it is destroyed, like a fork whose owner throws. */
struct joins_at_end {
    thrum_fork fork;
    forked call;

    joins_at_end(meeting *m, int number) : call{m, number} {
        thrum_fork_start(&fork, forked_call, &call);
    }
    ~joins_at_end() {
        CHECK_EQ(thrum_fork_join(&fork), call.number);
        CHECK_EQ(std::uncaught_exceptions(), 1);
    }
};

int forks(meeting *m, int number) {
    try {
        throw failure(number);
    } catch (const failure &) {
        try {
            joins_at_end outer(m, number + 1000);
            joins_at_end inner(m, number + 2000);
            wait_somehow(m, number);
            CHECK_EQ(handled(), number);
            throw failure(number + 3000);
        } catch (const failure &f) {
            CHECK_EQ(f.number, number + 3000);
            CHECK_EQ(handled(), number + 3000);
        }
        CHECK_EQ(handled(), number);
    }
    return 0;
}

} // namespace

TEST(forks_are_joined_while_an_exception_unwinds) {
    /* The calls throw and wait as well: as a part of their owner, or on tasks of their own. */
    many(forks);
}

namespace {

struct posted {
    thrum_task task;
    meeting *m;
    int number;
};

void posted_body(thrum_task *, void *arg) {
    posted *p = static_cast<posted *>(arg);
    check_none();
    rethrows(p->m, p->number);
    unwinds(p->m, p->number | 1);
    check_none();
    thrum_waitgroup_done(&p->m->left);
}

int posts(void *arg) {
    meeting *m = static_cast<meeting *>(arg);
    std::vector<posted> all(fibers);
    thrum_waitgroup_add(&m->left, fibers);
    for (int i = 0; i < fibers; i++) {
        all[(size_t)i].m = m;
        all[(size_t)i].number = i;
        thrum_task_init(&all[(size_t)i].task, posted_body, &all[(size_t)i]);
        CHECK_EQ(thrum_task_post(thrum_sched_current(), &all[(size_t)i].task), 0);
    }
    thrum_yield();
    thrum_event_signal(&m->open);
    CHECK_EQ(thrum_waitgroup_wait(&m->left), 0);
    check_none();
    return 0;
}

} // namespace

TEST(intrusive_tasks_keep_their_own) {
    /* Bodies of tasks that were posted block inside catches and while they unwind. */
    meeting m(rethrows);
    CHECK_EQ(thrum_run(nullptr, posts, &m), 0);
}
