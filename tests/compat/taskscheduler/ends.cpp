/*
 * ends.cpp: starting, stopping and destroying a TaskScheduler, waiting until it is empty, and tasks
 * that are destroyed.
 */
#include "check.h"

#include <memory>
#include <vector>

#include "mg/sch/TaskScheduler.h"

#include "compat/taskscheduler/common.hpp"

using mg::box::AtomicU32;
using mg::box::TimeDuration;
using mg::sch::Task;
using mg::sch::TaskScheduler;

namespace {

/* Deadlines that do not come during a test. */
const uint32_t long_delay = 1000000;

} // namespace

TEST(the_destructor_waits_for_what_tasks_post) {
    /* A task that the last one posts during the destructor still runs. */
    AtomicU32 runs(0);
    Task second([&](Task *) { runs.Increment(); });
    Task first([&](Task *) {
        mg::box::Sleep(10);
        TaskScheduler::This().Post(&second);
        runs.Increment();
    });
    {
        TaskScheduler sched("tst", 5);
        sched.Start(1);
        sched.Post(&first);
    }
    CHECK_EQ(runs.Load(), 2);
}

TEST(the_destructor_waits_for_deadlines) {
    /* A task with a deadline runs, expired, before the destructor returns. */
    AtomicU32 runs(0);
    Task task([&](Task *self) {
        CHECK(self->IsExpired());
        runs.Increment();
    });
    {
        TaskScheduler sched("tst", 1, 5);
        sched.PostDelay(&task, 30);
    }
    CHECK_EQ(runs.Load(), 1);
}

TEST(the_destructor_forgets_endless_waits) {
    /* A task that waits without a deadline does not run at the end, and is the program's again. */
    AtomicU32 runs(0);
    Task task([&](Task *) { runs.Increment(); });
    {
        TaskScheduler sched("tst", 2, 5);
        sched.PostWait(&task);
    }
    CHECK_EQ(runs.Load(), 0);
    task.PostSignal();
    TaskScheduler sched("tst", 1, 5);
    sched.PostWait(&task);
    until([&] { return runs.Load() == 1; });
    CHECK(sched.WaitEmpty() && task.ReceiveSignal());
}

TEST(empty_means_no_run_and_no_deadline) {
    /* WaitEmpty waits for runs and deadlines, but not for tasks that wait for ever. */
    AtomicU32 runs(0);
    Task endless([](Task *) { CHECK(false); }), task;
    TaskScheduler sched("tst", 2, 5);
    CHECK(sched.IsEmpty());
    sched.PostWait(&endless);
    CHECK(sched.WaitEmpty());
    task.SetCallback([&](Task *self) {
        if (runs.IncrementFetch() < 5) {
            sched.PostDelay(self, 3);
        }
    });
    sched.Post(&task);
    CHECK(sched.WaitEmpty());
    CHECK_EQ(runs.Load(), 5);
    sched.PostDelay(&task, long_delay);
    CHECK(!sched.IsEmpty() && !sched.WaitEmpty(TimeDuration(10)));
    task.PostWakeup();
    CHECK(sched.WaitEmpty(TimeDuration(long_delay)));
    CHECK_EQ(runs.Load(), 6);
}

TEST(posts_before_the_start_are_held) {
    /* Nothing runs before Start; then all do, in their order, with what came meanwhile. */
    std::vector<int> order;
    Task first([&](Task *) { order.push_back(1); });
    Task waiting([&](Task *self) {
        CHECK(!self->IsExpired());
        order.push_back(2);
    });
    Task signaled([&](Task *self) {
        CHECK(self->ReceiveSignal());
        order.push_back(3);
    });
    TaskScheduler sched("tst", 5);
    sched.Post(&first);
    sched.PostWait(&waiting);
    sched.PostDelay(&signaled, long_delay);
    CHECK(!sched.WaitEmpty(TimeDuration(5)));
    waiting.PostWakeup();
    signaled.PostSignal();
    CHECK(order.empty());
    sched.Start(1);
    CHECK(sched.WaitEmpty());
    CHECK(order.size() == 3 && order[0] == 1 && order[1] == 2 && order[2] == 3);
}

TEST(a_stop_holds_what_has_not_begun) {
    /* A Stop waits for the present run only; a Start goes on with the others, in their order. */
    AtomicU32 runs(0), begun(0), go(0);
    std::vector<int> order;
    Task blocking([&](Task *) {
        begun.Store(1);
        until([&] { return go.Load() == 1; });
    });
    Task one([&](Task *) { order.push_back(1); }), two([&](Task *) { order.push_back(2); });
    Task waiting([&](Task *self) {
        CHECK(self->ReceiveSignal() && !self->IsExpired());
        runs.Increment();
    });
    Task timed([&](Task *self) {
        CHECK(!self->IsExpired());
        runs.Increment();
    });
    TaskScheduler sched("tst", 1, 5);
    sched.PostWait(&waiting);
    sched.PostDelay(&timed, long_delay);
    sched.Post(&blocking);
    until([&] { return begun.Load() == 1; });
    sched.Post(&one);
    sched.Post(&two);
    std::thread stopper([&] { sched.Stop(); });
    mg::box::Sleep(20); /* so that it is likely to be stopping; the test holds either way */
    go.Store(1);
    stopper.join();
    uint32_t count;
    (void)sched.GetThreads(count);
    CHECK_EQ(count, 0);
    timed.PostWakeup();
    waiting.PostSignal();
    CHECK_EQ(runs.Load(), 0);
    sched.Start(1);
    CHECK(sched.WaitEmpty());
    CHECK_EQ(runs.Load(), 2);
    CHECK(order.size() == 2 && order[0] == 1 && order[1] == 2);
}

TEST(stops_and_starts_lose_no_task) {
    /* Tasks that post themselves go on over stops and starts with other numbers of threads. */
    const uint32_t tasks_count = 20;
    AtomicU32 left(tasks_count);
    std::unique_ptr<Task[]> tasks(new Task[tasks_count]);
    std::vector<uint32_t> runs(tasks_count);
    TaskScheduler sched("tst", 5);
    for (uint32_t i = 0; i < tasks_count; i++) {
        tasks[i].SetCallback([&, i](Task *self) {
            if (++runs[i] == 60) {
                left.Decrement();
            } else if (runs[i] % 3 == 0) {
                sched.PostDelay(self, 1);
            } else {
                sched.Post(self);
            }
        });
        sched.Post(&tasks[i]);
    }
    for (uint32_t threads = 1; left.Load() != 0; threads = threads % 3 + 1) {
        sched.Start(threads);
        mg::box::Sleep(5);
        sched.Stop();
    }
    CHECK(sched.WaitEmpty());
}

#if IS_BUILD_RELEASE
TEST(a_waiting_task_is_destroyed) {
    /* Without assertions a task that waits may be destroyed, by a thread or by a callback. */
    TaskScheduler sched("tst", 1, 5);
    Task *endless = new Task([](Task *) { CHECK(false); });
    sched.PostWait(endless);
    delete endless;
    Task *timed = new Task([](Task *) { CHECK(false); });
    sched.PostDelay(timed, long_delay);
    AtomicU32 done(0);
    Task deleter([&](Task *) {
        delete timed;
        done.Store(1);
    });
    sched.Post(&deleter);
    until([&] { return done.Load() == 1; });
    Task *held = new Task([](Task *) { CHECK(false); });
    sched.Stop();
    sched.PostWait(held);
    delete held;
}
#else
static void destroy_posted(void *) {
    TaskScheduler sched("tst", 1, 5);
    Task task([](Task *) {});
    sched.PostWait(&task);
}

static void post_twice(void *) {
    TaskScheduler sched("tst", 1, 5);
    Task *task = new Task([](Task *) {});
    sched.PostWait(task);
    sched.Post(task);
}

TEST(misuse_aborts) {
    /* With assertions a posted task must not be destroyed or posted again. */
    check_dies(destroy_posted, nullptr, "a task is destroyed while it is posted");
    check_dies(post_twice, nullptr, "it is posted already");
}
#endif
