/*
 * waits.cpp: tasks of a TaskScheduler that wait: deadlines, wakeups, signals, and whether a run has
 * expired.
 */
#include "check.h"

#include <memory>

#include "mg/sch/TaskScheduler.h"

#include "compat/taskscheduler/common.hpp"

using mg::box::AtomicU32;
using mg::sch::Task;
using mg::sch::TaskScheduler;

namespace {

/* A deadline that does not come during a test, and one millisecond short of infinite. */
const uint64_t never = MG_TIME_INFINITE - 1;

struct Waits {
    Waits() : runs(0), sched("tst", 1, 5) {
    }
    void Ran(uint32_t count) {
        until([&] { return runs.Load() == count; });
        CHECK(sched.WaitEmpty());
    }
    AtomicU32 runs;
    Task task;
    TaskScheduler sched;
};

} // namespace

TEST(a_run_is_not_early) {
    /* A delay and a deadline are lower bounds, and such a run is expired. */
    Waits waits;
    uint64_t due = mg::box::GetMilliseconds() + 5;
    waits.task.SetCallback([&](Task *self) {
        CHECK(self->IsExpired() && mg::box::GetMilliseconds() >= due);
        CHECK_EQ(self->GetDeadline(), 0);
        due += 5;
        if (waits.runs.IncrementFetch() == 1) {
            waits.sched.PostDeadline(self, due);
        }
    });
    waits.sched.PostDelay(&waits.task, 5);
    waits.Ran(2);
}

TEST(a_deadline_is_adjusted_to_an_earlier_one) {
    /* AdjustDeadline and AdjustDelay keep the earlier deadline; the next run forgets it. */
    Waits waits;
    waits.task.SetCallback([&](Task *) { waits.runs.Increment(); });
    waits.task.SetWait();
    CHECK(waits.task.GetDeadline() == MG_TIME_INFINITE);
    waits.task.AdjustDelay(1000000);
    CHECK(waits.task.GetDeadline() <= mg::box::GetMilliseconds() + 1000000);
    waits.task.AdjustDeadline(7);
    waits.task.AdjustDeadline(8);
    waits.task.AdjustDelay(1);
    CHECK_EQ(waits.task.GetDeadline(), 7);
    waits.sched.Post(&waits.task);
    waits.Ran(1);
    waits.sched.Post(&waits.task);
    waits.Ran(2);
}

TEST(a_wakeup_ends_any_wait) {
    /* A wakeup ends a wait with and without a deadline, and such a run is not expired. */
    Waits waits;
    waits.task.SetCallback([&](Task *self) {
        CHECK(!self->IsExpired() && !self->IsSignaled());
        waits.runs.Increment();
    });
    waits.sched.PostWait(&waits.task);
    waits.task.PostWakeup();
    waits.Ran(1);
    waits.sched.PostDeadline(&waits.task, never);
    waits.sched.Wakeup(&waits.task);
    waits.Ran(2);
}

TEST(a_wakeup_is_remembered) {
    /* A wakeup of a task that is not posted, or that runs, makes the next post immediate. */
    Waits waits;
    waits.task.SetCallback([&](Task *self) {
        if (waits.runs.IncrementFetch() == 1) {
            self->PostWakeup();
            waits.sched.PostWait(self);
        }
    });
    waits.task.PostWakeup();
    waits.sched.PostDeadline(&waits.task, never);
    waits.Ran(2);
}

TEST(a_wakeup_without_a_wait_is_absorbed) {
    /* Of a task that is due anyway, a wakeup changes nothing, and it counts as expired. */
    Waits waits;
    waits.task.SetCallback([&](Task *self) {
        CHECK(self->IsExpired());
        waits.runs.Increment();
    });
    waits.task.PostWakeup();
    waits.sched.Post(&waits.task);
    waits.Ran(1);
}

TEST(a_signal_is_received_once) {
    /* A signal ends any wait; signals do not add up; the one that is received is gone. */
    Waits waits;
    waits.task.SetCallback([&](Task *self) {
        CHECK(self->IsSignaled() && !self->IsExpired());
        CHECK(self->ReceiveSignal() && !self->ReceiveSignal() && !self->IsSignaled());
        waits.runs.Increment();
    });
    waits.sched.PostWait(&waits.task);
    waits.task.PostSignal();
    waits.Ran(1);
    waits.task.PostSignal();
    waits.sched.Signal(&waits.task);
    CHECK(waits.task.IsSignaled());
    waits.sched.PostDeadline(&waits.task, never);
    waits.Ran(2);
}

TEST(a_signal_without_a_deadline_is_expired) {
    /* A signaled run without a deadline is expired and signaled at the same time. */
    Waits waits;
    waits.task.SetCallback([&](Task *self) {
        CHECK(self->IsExpired() && self->ReceiveSignal());
        waits.runs.Increment();
    });
    waits.task.PostSignal();
    waits.sched.Post(&waits.task);
    waits.Ran(1);
}

TEST(posts_are_immediate_until_the_signal_is_received) {
    /* A signal that is not received makes each post immediate, whatever its deadline. */
    Waits waits;
    waits.task.SetCallback([&](Task *self) {
        CHECK(self->IsSignaled());
        switch (waits.runs.IncrementFetch()) {
        case 1:
            return waits.sched.PostWait(self);
        case 2:
            return waits.sched.PostDeadline(self, never);
        case 3:
            return waits.sched.PostDelay(self, 1000000);
        case 4:
            return waits.sched.Post(self);
        default:
            CHECK(self->ReceiveSignal());
        }
    });
    waits.task.PostSignal();
    waits.sched.Post(&waits.task);
    waits.Ran(5);
}

TEST(a_wakeup_beside_a_signal_adds_nothing) {
    /* A wakeup while a signal is pending is no run of its own. */
    Waits waits;
    waits.task.SetCallback([&](Task *self) {
        if (self->IsSignaled()) {
            self->PostWakeup();
            CHECK(self->ReceiveSignal());
            waits.sched.PostWait(self);
        }
        waits.runs.Increment();
    });
    waits.sched.PostWait(&waits.task);
    waits.task.PostSignal();
    waits.Ran(1);
    CHECK_EQ(waits.runs.Load(), 1);
    waits.task.PostWakeup();
    waits.Ran(2);
}

TEST(a_signal_is_the_last_use_of_a_task) {
    /* The callback that receives a signal may delete the task at once. */
    AtomicU32 runs(0);
    TaskScheduler sched("tst", 2, 5);
    for (int i = 0; i < 200; i++) {
        Task *task = new Task([&](Task *self) {
            if (!self->ReceiveSignal()) {
                return sched.PostWait(self);
            }
            AtomicU32 *count = &runs;
            delete self;
            count->Increment();
        });
        sched.PostDelay(task, static_cast<uint32_t>(i % 3));
        task->PostSignal();
    }
    until([&] { return runs.Load() == 200; });
}

TEST(many_tasks_are_signaled_in_turn) {
    /* Each of many tasks that wait runs once for each signal. */
    const uint32_t tasks_count = 500, rounds = 5;
    AtomicU32 runs(0);
    std::unique_ptr<Task[]> tasks(new Task[tasks_count]);
    TaskScheduler sched("tst", 3, 100);
    for (uint32_t i = 0; i < tasks_count; i++) {
        tasks[i].SetCallback([&](Task *self) {
            CHECK(!self->IsExpired() && self->ReceiveSignal());
            if (runs.IncrementFetch() <= tasks_count * (rounds - 1)) {
                sched.PostWait(self);
            }
        });
        sched.PostWait(&tasks[i]);
    }
    for (uint32_t round = 1; round <= rounds; round++) {
        for (uint32_t i = 0; i < tasks_count; i++) {
            tasks[i].PostSignal();
        }
        until([&] { return runs.Load() == tasks_count * round; });
    }
}

TEST(far_deadlines_are_woken_in_reverse) {
    /* Tasks with deadlines far off are woken, the last one first, and each runs once. */
    const uint32_t tasks_count = 5000;
    AtomicU32 runs(0);
    std::unique_ptr<Task[]> tasks(new Task[tasks_count]);
    TaskScheduler sched("tst", 1, 100);
    for (uint32_t i = 0; i < tasks_count; i++) {
        tasks[i].SetCallback([&](Task *) { runs.Increment(); });
        sched.PostDelay(&tasks[i], 1000000 + i);
    }
    for (uint32_t i = tasks_count; i-- > 0;) {
        tasks[i].PostWakeup();
    }
    CHECK(sched.WaitEmpty());
    CHECK_EQ(runs.Load(), tasks_count);
}
