/*
 * Task: a callback, or a coroutine, that a TaskScheduler runs. It is an intrusive task of thrum
 * (thrum/task.h) with the interface of serverbox's: the same order, wakeups, signals and lifetimes.
 *
 * From a post until its callback begins the task belongs to the scheduler, and only PostWakeup,
 * PostSignal and IsSignaled may be called. The callback may post the task again, or delete it. All
 * times are milliseconds on the clock of mg::box::GetMilliseconds.
 */
#ifndef THRUM_COMPAT_MG_SCH_TASK_H
#define THRUM_COMPAT_MG_SCH_TASK_H

#include <atomic>
#include <functional>
#include <type_traits>
#include <utility>

#include "mg/box/Coro.h"
#include "mg/box/Time.h"
#include "mg/box/TypeTraits.h"
#include "thrum/task.h"

F_DECLARE_CLASS(mg, box, Signal)

namespace mg {
namespace sch {

class Task;
class TaskScheduler;
class TaskSchedulerThread;

using TaskCallback = std::function<void(Task *)>;

#if MG_CORO_IS_ENABLED
class TaskCoroOpYield;
class TaskCoroOpReceiveSignal;
class TaskCoroOpExit;
#endif

class Task {
  public:
    Task() {
        thrum_task_init(&task_, &Task::Run, this);
    }
    /* Of anything that can be called with a Task pointer; or of an object and its method. */
    template <typename Functor> Task(Functor &&functor) : Task() {
        callback_ = std::forward<Functor>(functor);
    }
    template <typename Object>
    Task(Object *object, void (Object::*method)(Task *))
        : Task(std::bind(method, object, std::placeholders::_1)) {
    }
    Task(const Task &) = delete;
    Task &operator=(const Task &) = delete;

    /*
     * A task must not be destroyed while it is posted. Without NDEBUG that aborts; else a task that
     * waits is taken out of the scheduler first.
     */
    ~Task() {
        if (scheduler_.load(std::memory_order_acquire)) {
            Leave();
        }
    }

    /* ---- from any thread, as long as the task exists ---- */

    /* Runs a waiting task at once. Without a wait it is remembered until the next post. */
    void PostWakeup() {
        thrum_task_wakeup(&task_);
    }

    /*
     * Likewise, and sets the signal. Once the callback can see the signal, the sender no longer
     * uses the task.
     */
    void PostSignal() {
        thrum_task_signal(&task_);
    }

    bool IsSignaled() {
        return thrum_task_is_signaled(&task_);
    }

    /* ---- from the callback, or while the task is not posted ---- */

    /* Takes the signal. While it is not taken, every post is immediate. */
    bool ReceiveSignal() {
        Touch();
        return thrum_task_receive_signal(&task_);
    }

    template <typename Functor> void SetCallback(Functor &&functor) {
        Touch();
        callback_ = std::forward<Functor>(functor);
    }
    template <typename Object> void SetCallback(Object *object, void (Object::*method)(Task *)) {
        SetCallback(std::bind(method, object, std::placeholders::_1));
    }

    /* The deadline of the next post; 0, as at the beginning of each run: at once. */
    void SetDeadline(uint64_t deadline) {
        Touch();
        deadline_ = deadline;
    }
    void SetDelay(uint32_t delay) {
        SetDeadline(mg::box::GetMilliseconds() + delay);
    }
    void SetWait() {
        SetDeadline(MG_TIME_INFINITE);
    }
    /* The earlier of this deadline and the one that is set. */
    void AdjustDeadline(uint64_t deadline) {
        Touch();
        deadline_ = deadline < deadline_ ? deadline : deadline_;
    }
    void AdjustDelay(uint32_t delay) {
        AdjustDeadline(mg::box::GetMilliseconds() + delay);
    }
    uint64_t GetDeadline() const {
        Touch();
        return deadline_;
    }

    /* Whether the last run began because its deadline had passed, or there was none. */
    bool IsExpired() const {
        Touch();
        return isExpired_;
    }

    bool operator<=(const Task &other) const {
        return deadline_ <= other.deadline_;
    }

#if MG_CORO_IS_ENABLED
    /* ---- from a coroutine that is the task's body: mg/sch/TaskCoro.h ---- */

    Task(mg::box::Coro &&coro);
    void SetCallback(mg::box::Coro &&coro);

    TaskCoroOpYield AsyncYield();
    TaskCoroOpYield AsyncYield(TaskScheduler &scheduler);
    TaskCoroOpReceiveSignal AsyncReceiveSignal();
    TaskCoroOpReceiveSignal AsyncReceiveSignal(TaskScheduler &scheduler);
    TaskCoroOpExit AsyncExitDelete();
    TaskCoroOpExit AsyncExitExec(TaskCallback &&callback);
    TaskCoroOpExit AsyncExitSendSignal(mg::box::Signal &signal);
#endif

    /* For queues of the program while the task is not posted, and of the scheduler while it is. */
    Task *myNext = nullptr;

  private:
    friend class TaskScheduler;
#if MG_CORO_IS_ENABLED
    friend class TaskCoroOpExit;
#endif

    static void Run(thrum_task *task, void *self) noexcept;
    void Leave();
    void Touch() const {
        MG_DEV_ASSERT_F(!scheduler_.load(std::memory_order_relaxed), "the task is posted");
    }

    thrum_task task_;
    std::atomic<TaskScheduler *> scheduler_{nullptr}; /* to which it is posted, until it runs */
    uint64_t deadline_ = 0;
    TaskCallback callback_;
    bool isExpired_ = false;
    bool isTimed_ = false; /* posted with a deadline, and counted (TaskScheduler::Submit) */
    bool isWoken_ = false; /* a wakeup of a run that was held, for the next post */
};

} // namespace sch
} // namespace mg

#include "mg/sch/TaskScheduler.h"

#endif
