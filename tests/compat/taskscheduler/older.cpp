/*
 * older.cpp: the names of Ubisoft's own release, mg/serverbox and mg/common, over the same tasks.
 */
#include "check.h"

#include <memory>

#include "mg/common/Atomic.h"
#include "mg/common/QPTimer.h"
#include "mg/common/Random.h"
#include "mg/common/ScratchPad.h"
#include "mg/common/ThreadFunc.h"
#include "mg/common/Time.h"
#include "mg/common/TypeTraits.h"
#include "mg/serverbox/TaskScheduler.h"

#include "compat/taskscheduler/common.hpp"

using mg::serverbox::Task;
using mg::serverbox::TaskCallback;
using mg::serverbox::TaskScheduler;

namespace {

struct Counter : Task {
    Counter() : runs(0) {
    }
    void Count(Task *self) {
        CHECK(self == this);
        mg::common::AtomicIncrement(&runs);
    }
    void Shot() {
        mg::common::AtomicIncrement(&runs);
    }
    int32 Runs() const {
        return mg::common::AtomicLoad(&runs);
    }
    int32 runs;
};

} // namespace

TEST(a_callback_is_set) {
    /* A Callback is set from a lambda, another one, and a method, and given to tasks. */
    int32 flag = 0;
    Counter counter;
    TaskCallback callback;
    CHECK(callback.IsEmpty());
    callback.Set([&](Task *self) {
        CHECK(self->IsExpired());
        mg::common::AtomicFlagSet(&flag);
    });
    Task task(callback);
    TaskScheduler sched("tst", 1, 5);
    sched.Post(&task);
    until([&] { return mg::common::AtomicFlagTest(&flag) == 1; });
    callback.Set(static_cast<Counter *>(&counter), &Counter::Count);
    counter.SetCallback(callback);
    sched.PostDelay(&counter, 1);
    until([&] { return counter.Runs() == 1; });
    counter.SetCallback(&counter, &Counter::Count);
    sched.PostDeadline(&counter, mg::common::GetMilliseconds() + 1);
    until([&] { return counter.Runs() == 2; });
    callback.Clear();
    CHECK(callback.IsEmpty());
    sched.PostOneShot(&counter, &Counter::Shot);
    mg::serverbox::TaskCallbackOneShot shot(&counter, &Counter::Shot);
    sched.PostOneShot(shot);
    until([&] { return counter.Runs() == 4; });
    CHECK(sched.WaitEmpty());
}

TEST(wakeups_and_signals_go_through_the_scheduler) {
    /* Wakeup and Signal are calls of the scheduler. */
    int32 runs = 0;
    Task task;
    TaskScheduler sched("tst", 2, 100);
    task.SetCallback([&](Task *self) {
        if (self->ReceiveSignal()) {
            mg::common::AtomicExchange(&runs, 10);
            return;
        }
        CHECK(!self->IsExpired());
        mg::common::AtomicIncrement(&runs);
        sched.PostDeadline(self, MG_DEADLINE_INFINITE - 1);
    });
    sched.PostWait(&task);
    sched.Wakeup(&task);
    until([&] { return mg::common::AtomicLoad(&runs) == 1; });
    sched.Signal(&task);
    until([&] { return mg::common::AtomicLoad(&runs) == 10; });
    CHECK(sched.WaitEmpty());
}

TEST(tasks_that_new_allocates) {
    /* Many tasks from new delete themselves; the destructor waits for them. */
    const int64 count = 2000;
    int64 runs = 0;
    {
        TaskCallback callback([&](Task *self) {
            mg::common::AtomicIncrement64(&runs);
            delete self;
        });
        TaskScheduler sched("tst", 3, 100);
        for (int64 i = 0; i < count; i++) {
            sched.Post(new Task(callback));
        }
    }
    CHECK_EQ(mg::common::AtomicLoad64(&runs), count);
}

TEST(the_basics) {
    /* Atomics, mutexes, threads, signals, and the rest that tests of it use. */
    uint32 word = 5;
    CHECK_EQ(mg::common::AtomicAddU32(&word, 2), 5);
    CHECK_EQ(mg::common::AtomicExchangeU32(&word, 1), 7);
    int64 wide = 3;
    CHECK_EQ(mg::common::AtomicCompareExchange64(&wide, 4, 2), 3);
    CHECK_EQ(mg::common::AtomicCompareExchange64(&wide, 4, 3), 3);
    CHECK_EQ(mg::common::AtomicDecrement64(&wide), 3);
    int *pointer = nullptr;
    int target = 0;
    CHECK(mg::common::AtomicExchangePtr(&pointer, &target) == nullptr);
    CHECK(mg::common::AtomicCompareExchangePtr(&pointer, (int *)nullptr, &target) == &target);
    CHECK(mg::common::AtomicLoadPtr(&pointer) == nullptr);
    int32 flag = 0;
    CHECK(mg::common::AtomicFlagSet(&flag) == 0 && mg::common::AtomicFlagClear(&flag) == 1);

    mg::common::Mutex mutex;
    mg::common::MutexLock lock(mutex);
    CHECK(mutex.TryLock() && mutex.IsOwnedByThisThread());
    mutex.Unlock();
    mg::common::ConditionVariable cond;
    bool isTimedOut = false;
    cond.TimedWait(mutex, 1, &isTimedOut);
    CHECK(mutex.IsOwnedByThisThread());
    lock.Unlock();
    CHECK(!mutex.IsOwnedByThisThread());

    mg::common::Signal signal;
    CHECK(!signal.Receive() && !signal.ReceiveTimed(1));
    mg::common::ThreadFunc thread([&] { signal.Send(); });
    thread.Start();
    signal.ReceiveBlocking();
    thread.BlockingStop();
    CHECK(!thread.IsRunning() && thread.StopRequested());

    mg::common::QPTimer timer;
    timer.Start();
    CHECK(timer.GetMilliSeconds() >= 0);
    uint32 number = mg::common::RandomUniformUInt32(3, 5);
    CHECK(number >= 3 && number <= 5);
    (void)mg::common::RandomBool();
    CHECK_STR(mg::common::ScratchSprintf("%d-%s", 7, "x").GetBuffer(), "7-x");
    struct Pair {
        int first;
        int second;
    } pair = {1, 2};
    CHECK(mg::common::ContainerOf(&pair.second, &Pair::second) == &pair);
}
