/*
 * Coroutines as the bodies of tasks, for C++20:
 *
 *     mg::box::Coro Body(mg::sch::Task &task) {
 *         task.SetDelay(100);
 *         co_await task.AsyncYield();
 *         co_await task.AsyncExitDelete();
 *     }
 *
 * A wait posts the task and gives the thread back. The exits destroy all coroutines of the task,
 * the called ones first, before they delete, call or signal; nothing after them runs.
 */
#ifndef THRUM_COMPAT_MG_SCH_TASKCORO_H
#define THRUM_COMPAT_MG_SCH_TASKCORO_H

#include <memory>

#include "mg/sch/TaskScheduler.h"

#if MG_CORO_IS_ENABLED
namespace mg {
namespace sch {

namespace detail {

/* One run of a coroutine: the exit that it has asked for. It is on the worker's stack. */
struct CoroRun {
    std::function<void()> exit;
};

/* The callback of a task whose body is a coroutine. Copies share it. */
class CoroBody {
  public:
    explicit CoroBody(mg::box::Coro &&coro)
        : coro_(std::make_shared<mg::box::CoroRef>(std::move(coro))) {
    }
    void operator()(Task *) const {
        std::shared_ptr<mg::box::CoroRef> coro = coro_; /* the task may be deleted meanwhile */
        CoroRun run;
        coro->Promise().myRun = &run;
        coro->ResumeTop();
        /* Another thread may be going on with the coroutine by now. Only `run` is this one's. */
        if (run.exit) {
            coro->Clear();
            run.exit();
        }
    }

  private:
    std::shared_ptr<mg::box::CoroRef> coro_;
};

} // namespace detail

class TaskCoroOpYield : public mg::box::CoroOp,
                        public mg::box::CoroOpIsNotReady,
                        public mg::box::CoroOpIsEmptyReturn {
  public:
    TaskCoroOpYield(Task *task, TaskScheduler &scheduler) : task_(task), scheduler_(&scheduler) {
    }
    void await_suspend(mg::box::CoroHandle) noexcept {
        scheduler_->Post(task_); /* from here on this object may be gone */
    }

  private:
    Task *task_;
    TaskScheduler *scheduler_;
};

/* Returns whether the task had a signal, which is taken. */
class TaskCoroOpReceiveSignal : public mg::box::CoroOp, public mg::box::CoroOpIsNotReady {
  public:
    TaskCoroOpReceiveSignal(Task *task, TaskScheduler &scheduler)
        : task_(task), scheduler_(&scheduler) {
    }
    void await_suspend(mg::box::CoroHandle) noexcept {
        scheduler_->Post(task_);
    }
    bool await_resume() const noexcept {
        return task_->ReceiveSignal();
    }

  private:
    Task *task_;
    TaskScheduler *scheduler_;
};

/* The coroutine's run does the rest when the coroutine has been suspended for good. */
class TaskCoroOpExit : public mg::box::CoroOp,
                       public mg::box::CoroOpIsNotReady,
                       public mg::box::CoroOpIsEmptyReturn {
  public:
    explicit TaskCoroOpExit(std::function<void()> &&exit) : exit_(std::move(exit)) {
    }
    void await_suspend(mg::box::CoroHandle coro) noexcept {
        void *run = coro.promise().myFirst.promise().myRun;
        static_cast<detail::CoroRun *>(run)->exit = std::move(exit_);
    }

    static void Exec(Task *task, TaskCallback &&callback) {
        task->callback_ = std::move(callback);
        task->callback_(task);
    }

  private:
    std::function<void()> exit_;
};

inline Task::Task(mg::box::Coro &&coro) : Task(detail::CoroBody(std::move(coro))) {
}

inline void Task::SetCallback(mg::box::Coro &&coro) {
    SetCallback(detail::CoroBody(std::move(coro)));
}

inline TaskCoroOpYield Task::AsyncYield(TaskScheduler &scheduler) {
    return TaskCoroOpYield(this, scheduler);
}

inline TaskCoroOpYield Task::AsyncYield() {
    return AsyncYield(TaskScheduler::This());
}

inline TaskCoroOpReceiveSignal Task::AsyncReceiveSignal(TaskScheduler &scheduler) {
    return TaskCoroOpReceiveSignal(this, scheduler);
}

inline TaskCoroOpReceiveSignal Task::AsyncReceiveSignal() {
    return AsyncReceiveSignal(TaskScheduler::This());
}

inline TaskCoroOpExit Task::AsyncExitDelete() {
    return TaskCoroOpExit([this] { delete this; });
}

inline TaskCoroOpExit Task::AsyncExitExec(TaskCallback &&callback) {
    auto kept = std::make_shared<TaskCallback>(std::move(callback));
    return TaskCoroOpExit([this, kept] { TaskCoroOpExit::Exec(this, std::move(*kept)); });
}

inline TaskCoroOpExit Task::AsyncExitSendSignal(mg::box::Signal &signal) {
    return TaskCoroOpExit([&signal] { signal.Send(); });
}

} // namespace sch
} // namespace mg
#endif

#endif
