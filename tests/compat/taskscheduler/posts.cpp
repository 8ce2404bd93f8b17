/*
 * posts.cpp: posting tasks to a TaskScheduler, their order, and their lifetimes.
 */
#include "check.h"

#include <vector>

#include "mg/sch/TaskScheduler.h"

#include "compat/taskscheduler/common.hpp"

using mg::box::AtomicU32;
using mg::sch::Task;
using mg::sch::TaskScheduler;

TEST(a_callback_gets_its_task) {
    /* The callback's argument is the task, which counts as expired. */
    AtomicU32 runs(0);
    TaskScheduler sched("tst", 1, 5);
    Task task([&](Task *self) {
        CHECK(self == &task && self->IsExpired());
        runs.Increment();
    });
    sched.Post(&task);
    until([&] { return runs.Load() == 1; });
}

TEST(a_callback_posts_its_task) {
    /* A task that posts itself runs once for each post. */
    AtomicU32 runs(0);
    TaskScheduler sched("tst", 1, 5);
    Task task([&](Task *self) {
        if (runs.IncrementFetch() < 3) {
            sched.Post(self);
        }
    });
    sched.Post(&task);
    until([&] { return runs.Load() == 3; });
    CHECK(sched.WaitEmpty());
    CHECK_EQ(runs.Load(), 3);
}

TEST(a_callback_deletes_its_task) {
    /* A task may be gone before its callback returns. */
    AtomicU32 runs(0);
    {
        TaskScheduler sched("tst", 2, 5);
        for (int i = 0; i < 100; i++) {
            sched.Post(new Task([&](Task *self) {
                AtomicU32 *count = &runs;
                delete self;
                count->Increment();
            }));
        }
    }
    CHECK_EQ(runs.Load(), 100);
}

TEST(a_callback_is_replaced) {
    /* SetCallback holds from the next run on, also when the callback itself calls it. */
    struct Steps {
        Steps() : task(this, &Steps::First), done(0) {
        }
        void First(Task *self) {
            task.SetCallback(this, &Steps::Second);
            TaskScheduler::This().Post(self);
        }
        void Second(Task *self) {
            CHECK(self == &task);
            done.Store(1);
        }
        Task task;
        AtomicU32 done;
    } steps;
    TaskScheduler sched("tst", 1, 5);
    sched.Post(&steps.task);
    until([&] { return steps.done.Load() == 1; });
    CHECK(sched.WaitEmpty());
}

TEST(one_thread_runs_in_the_order_of_posts) {
    /* With one thread tasks run in the order of their posts, across sub-queues. */
    std::vector<int> order;
    std::vector<std::unique_ptr<Task>> tasks;
    TaskScheduler sched("tst", 3);
    for (int i = 0; i < 50; i++) {
        tasks.emplace_back(new Task([&order, i](Task *) { order.push_back(i); }));
        sched.Post(tasks.back().get());
    }
    sched.Start(1);
    CHECK(sched.WaitEmpty());
    CHECK_EQ(order.size(), 50);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(order[static_cast<size_t>(i)], i);
    }
}

TEST(an_earlier_deadline_runs_first) {
    /* Among waiting tasks the one with the earlier deadline runs first, whenever it was posted. */
    std::vector<int> order;
    Task late([&](Task *) { order.push_back(2); });
    Task early([&](Task *) { order.push_back(1); });
    Task at_once([&](Task *) { order.push_back(0); });
    uint64_t now = mg::box::GetMilliseconds();
    TaskScheduler sched("tst", 5);
    sched.PostDeadline(&late, now + 40);
    sched.PostDeadline(&early, now + 20);
    sched.Post(&at_once);
    sched.Start(1); /* which posts to the workers what was posted before */
    /* Otherwise the posts decide the order, too. */
    const bool in_time = mg::box::GetMilliseconds() < now + 20;
    CHECK(sched.WaitEmpty());
    CHECK_EQ(order.size(), 3);
    CHECK(!in_time || (order[0] == 0 && order[1] == 1 && order[2] == 2));
}

TEST(threads_wake_each_other) {
    /* Three tasks that wait for each other all run at a time on three threads. */
    AtomicU32 here(0);
    auto meet = [&](Task *) {
        here.Increment();
        until([&] { return here.Load() == 3; });
    };
    Task first(meet), second(meet), third(meet);
    TaskScheduler sched("tst", 3, 5);
    sched.Post(&first);
    sched.Post(&second);
    sched.Post(&third);
    CHECK(sched.WaitEmpty());
    CHECK_EQ(here.Load(), 3);
}

TEST(one_thread_runs_one_callback_at_a_time) {
    /* A callback that blocks its thread is not overtaken: no spare worker takes part. */
    int plain = 0; /* without a lock, for the thread sanitizer */
    std::vector<std::unique_ptr<Task>> tasks;
    TaskScheduler sched("tst", 1, 5);
    for (int i = 0; i < 4; i++) {
        tasks.emplace_back(new Task([&](Task *) {
            int before = plain;
            mg::box::Sleep(20);
            plain = before + 1;
        }));
        sched.Post(tasks.back().get());
    }
    CHECK(sched.WaitEmpty());
    CHECK_EQ(plain, 4);
}

TEST(a_callback_uses_a_large_stack) {
    /* A callback has as much stack as it would have on a thread. */
    AtomicU32 sum(0);
    Task task([&](Task *) {
        volatile char room[1 << 20];
        for (size_t i = 0; i < sizeof(room); i += 4096) {
            room[i] = 1;
        }
        sum.Store(room[4096]);
    });
    TaskScheduler sched("tst", 1, 5);
    sched.Post(&task);
    CHECK(sched.WaitEmpty());
    CHECK_EQ(sum.Load(), 1);
}

TEST(a_task_goes_to_another_scheduler) {
    /* Tasks post others, and themselves, to any scheduler; This is the one that runs them. */
    AtomicU32 runs(0);
    Task third, second, first;
    TaskScheduler one("one", 1, 5), two("two", 1, 5);
    third.SetCallback([&](Task *self) {
        CHECK(&TaskScheduler::This() == (runs.Load() == 2 ? &two : &one));
        if (runs.IncrementFetch() == 3) {
            one.Post(self);
        }
    });
    second.SetCallback([&](Task *) {
        CHECK(&TaskScheduler::This() == &one);
        runs.Increment();
        two.Post(&third);
    });
    first.SetCallback([&](Task *) {
        runs.Increment();
        TaskScheduler::This().Post(&second);
    });
    one.Post(&first);
    until([&] { return runs.Load() == 4; });
    CHECK(one.WaitEmpty() && two.WaitEmpty());
}

TEST(one_shots_need_no_task) {
    /* PostOneShot runs a callable once and frees it; each run is counted at some thread. */
    AtomicU32 runs(0);
    TaskScheduler sched("tst", 2, 100);
    sched.Reserve(1000);
    mg::sch::TaskCallbackOneShot shot([&] { runs.Increment(); });
    for (int i = 0; i < 1000; i++) {
        sched.PostOneShot(shot);
    }
    std::shared_ptr<int> kept = std::make_shared<int>(1);
    sched.PostOneShot([kept] {});
    CHECK(sched.WaitEmpty());
    CHECK_EQ(runs.Load(), 1000);
    CHECK_EQ(kept.use_count(), 1);
    uint32_t count;
    mg::sch::TaskSchedulerThread *const *threads = sched.GetThreads(count);
    uint64_t executed = 0;
    for (uint32_t i = 0; i < count; i++) {
        executed += threads[i]->StatPopExecuteCount();
        (void)threads[i]->StatPopScheduleCount();
    }
    CHECK_EQ(executed, 1001);
    CHECK_EQ(threads[0]->StatPopExecuteCount(), 0);
}
