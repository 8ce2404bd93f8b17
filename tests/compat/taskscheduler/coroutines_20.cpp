/*
 * coroutines_20.cpp: coroutines as the bodies of tasks: waits, signals, exits, and calls.
 */
#include "check.h"

#include <memory>
#include <vector>

#include "mg/sch/TaskScheduler.h"

#include "compat/taskscheduler/common.hpp"

using mg::box::AtomicU32;
using mg::box::Coro;
using mg::box::CoroCall;
using mg::box::Signal;
using mg::sch::Task;
using mg::sch::TaskScheduler;

namespace {

/* Counts the frames that are alive, and notes the order in which they end. */
struct Frame {
    Frame(std::vector<int> &ends, int number) : ends_(&ends), number_(number) {
    }
    Frame(const Frame &) = delete;
    ~Frame() {
        ends_->push_back(number_);
    }
    std::vector<int> *ends_;
    int number_;
};

Coro wait_thrice(Task &task, AtomicU32 &steps, Signal &done) {
    task.SetDelay(2);
    co_await task.AsyncYield();
    CHECK(task.IsExpired() && steps.IncrementFetch() == 1);
    co_await task.AsyncYield(); /* without a deadline: at once */
    CHECK(task.IsExpired() && steps.IncrementFetch() == 2);
    task.SetWait();
    co_await task.AsyncYield();
    CHECK(!task.IsExpired() && steps.IncrementFetch() == 3);
    co_await task.AsyncExitSendSignal(done);
    CHECK(!"an exit returned");
}

Coro receive(Task &task, AtomicU32 &wakeups, Signal &done) {
    bool isReceived = false; /* gcc 12 fails on loops whose condition awaits */
    while (!isReceived) {
        task.SetWait();
        isReceived = co_await task.AsyncReceiveSignal();
        if (!isReceived) {
            wakeups.Increment();
        }
    }
    co_await task.AsyncExitSendSignal(done);
}

Coro nest(Task &task, std::vector<int> &ends, int depth) {
    Frame frame(ends, depth);
    if (depth < 3) {
        co_await CoroCall(nest(task, ends, depth + 1));
    } else {
        task.SetDelay(1);
        co_await task.AsyncYield();
    }
}

Coro nest_and_send(Task &task, std::vector<int> &ends, Signal &done) {
    co_await CoroCall(nest(task, ends, 0));
    co_await CoroCall(nest(task, ends, 2));
    co_await task.AsyncExitSendSignal(done);
}

Coro exit_deep(Task *task, std::vector<int> &ends, int depth) {
    Frame frame(ends, depth);
    if (depth < 3) {
        co_await CoroCall(exit_deep(task, ends, depth + 1));
    } else {
        co_await task->AsyncExitDelete();
    }
    CHECK(!"an exit returned");
}

Coro exit_to_callback(Task &task, std::vector<int> &ends, Signal &done) {
    Frame frame(ends, 1);
    co_await task.AsyncExitExec([&ends, &done](Task *self) {
        ends.push_back(2); /* the frame is gone already */
        self->SetCallback([&done](Task *) { done.Send(); });
        TaskScheduler::This().PostWait(self);
    });
}

Coro change_threads(Task &task, TaskScheduler &one, TaskScheduler &two, Signal &done) {
    co_await task.AsyncYield(one);
    CHECK(&TaskScheduler::This() == &one);
    const mg::box::ThreadId first = mg::box::GetCurrentThreadId();
    co_await task.AsyncYield(two);
    CHECK(&TaskScheduler::This() == &two && mg::box::GetCurrentThreadId() != first);
    task.PostSignal();
    task.SetWait();
    CHECK(co_await task.AsyncReceiveSignal(one));
    CHECK_EQ(mg::box::GetCurrentThreadId(), first);
    co_await task.AsyncExitSendSignal(done);
}

/* One of many that pass a signal round. */
struct Runner {
    Task task;
    Signal done;
};

Coro pass_on(Runner &own, Runner &next, int rounds) {
    for (int i = 0; i < rounds; i++) {
        do {
            own.task.SetWait();
        } while (!co_await own.task.AsyncReceiveSignal());
        next.task.PostSignal();
    }
    co_await own.task.AsyncExitSendSignal(own.done);
}

} // namespace

TEST(a_coroutine_waits) {
    /* Waits with a delay, without a deadline and for ever; the task may then get another body. */
    TaskScheduler sched("tst", 100);
    Signal done;
    AtomicU32 steps(0);
    Task task;
    sched.Start(2);
    for (int i = 0; i < 2; i++) {
        steps.Store(0);
        task.SetCallback(wait_thrice(task, steps, done));
        sched.Post(&task);
        until([&] { return steps.Load() == 2; });
        task.PostWakeup();
        done.ReceiveBlocking();
    }
}

TEST(a_coroutine_receives_a_signal) {
    /* A wakeup is no signal, and a signal that was there before counts. */
    TaskScheduler sched("tst", 100);
    Signal done;
    AtomicU32 wakeups(0);
    Task task;
    task.SetCallback(receive(task, wakeups, done));
    sched.Start(2);
    sched.Post(&task);
    task.PostWakeup();
    until([&] {
        task.PostWakeup();
        return wakeups.Load() > 0;
    });
    task.PostSignal();
    done.ReceiveBlocking();
    task.PostSignal();
    task.SetCallback(receive(task, wakeups, done));
    sched.Post(&task);
    done.ReceiveBlocking();
}

TEST(a_called_coroutine_returns) {
    /* Coroutines call each other, wait in the deepest one, and end from the top. */
    TaskScheduler sched("tst", 1, 100);
    Signal done;
    std::vector<int> ends;
    Task task;
    task.SetCallback(nest_and_send(task, ends, done));
    sched.Post(&task);
    done.ReceiveBlocking();
    CHECK((ends == std::vector<int>{3, 2, 1, 0, 3, 2}));
}

TEST(an_exit_ends_all_frames) {
    /* A task that deletes itself within calls destroys the frames, the called ones first. */
    std::vector<int> ends;
    {
        TaskScheduler sched("tst", 2, 100);
        Task *task = new Task();
        task->SetCallback(exit_deep(task, ends, 0));
        sched.Post(task);
    }
    CHECK((ends == std::vector<int>{3, 2, 1, 0}));
}

TEST(an_exit_calls_a_callback) {
    /* AsyncExitExec calls its callback, without the frames, as if that were the task's body. */
    TaskScheduler sched("tst", 2, 100);
    Signal done;
    std::vector<int> ends;
    Task task;
    task.SetCallback(exit_to_callback(task, ends, done));
    sched.Post(&task);
    CHECK(sched.WaitEmpty());
    CHECK((ends == std::vector<int>{1, 2}));
    task.PostWakeup();
    done.ReceiveBlocking();
}

TEST(a_coroutine_goes_to_another_scheduler) {
    /* A wait names the scheduler on which the coroutine goes on. */
    TaskScheduler one("one", 1, 100), two("two", 1, 100);
    Signal done;
    Task task;
    task.SetCallback(change_threads(task, one, two, done));
    two.Post(&task);
    done.ReceiveBlocking();
}

TEST(frames_that_wait_are_freed) {
    /* A coroutine that has not begun, or waits for ever, ends with its task. */
    std::vector<int> ends;
    {
        Task unused;
        unused.SetCallback(nest(unused, ends, 0));
    }
    CHECK(ends.empty());
    Task task;
    AtomicU32 steps(0);
    Signal done;
    {
        TaskScheduler sched("tst", 1, 100);
        task.SetCallback(wait_thrice(task, steps, done));
        sched.Post(&task);
        until([&] { return steps.Load() == 2; });
    }
    CHECK_EQ(steps.Load(), 2);
}

TEST(many_coroutines_pass_a_signal_on) {
    /* A ring of coroutines on several threads passes one signal round ten times. */
    const size_t count = 300;
    TaskScheduler sched("tst", 100);
    std::vector<std::unique_ptr<Runner>> runners(count);
    for (auto &runner : runners) {
        runner = std::make_unique<Runner>();
    }
    sched.Start(4);
    for (size_t i = 0; i < count; i++) {
        runners[i]->task.SetCallback(pass_on(*runners[i], *runners[(i + 1) % count], 10));
        sched.Post(&runners[i]->task);
    }
    runners[0]->task.PostSignal();
    for (auto &runner : runners) {
        runner->done.ReceiveBlocking();
    }
}
