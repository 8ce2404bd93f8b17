/*
 * TaskScheduler: runs tasks on its threads in the order of the later of post and deadline, as
 * serverbox's does. It is a scheduler of thrum with the policy `fifo`, without spare workers, and
 * with stacks as large as a thread's: a body that blocks holds up its worker, and one thread runs
 * one body at a time.
 *
 * Tasks that are posted before Start or after Stop are held in a list, in their order. A Stop also
 * moves all tasks to this list that have not begun, whatever they wait for. The next Start posts
 * them again. The destructor waits until only tasks that wait without a deadline are left, and
 * drops these without a run.
 */
#ifndef THRUM_COMPAT_MG_SCH_TASKSCHEDULER_H
#define THRUM_COMPAT_MG_SCH_TASKSCHEDULER_H

#include <memory>
#include <string>
#include <vector>

#include "mg/box/BinaryHeap.h"
#include "mg/box/DoublyList.h"
#include "mg/box/ForwardList.h"
#include "mg/box/MultiConsumerQueue.h"
#include "mg/box/MultiProducerQueueIntrusive.h"
#include "mg/box/Signal.h"
#include "mg/box/Thread.h"
#include "mg/sch/Task.h"
#include "thrum/metrics.h"
#include "thrum/sched.h"
#include "thrum/spawn.h"

/*
 * To the thread sanitizer each run is a fiber of its own. It is told that those of one thread
 * follow each other, because programs rely on that.
 */
#if defined(__SANITIZE_THREAD__)
#define THRUM_COMPAT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THRUM_COMPAT_TSAN 1
#endif
#endif
#if defined(THRUM_COMPAT_TSAN)
extern "C" void __tsan_acquire(void *address);
extern "C" void __tsan_release(void *address);
#endif

namespace mg {
namespace sch {

using TaskCallbackOneShot = std::function<void(void)>;

/* The figures of one worker. */
class TaskSchedulerThread {
  public:
    /* How many callbacks it has run since the last call. */
    uint64_t StatPopExecuteCount() {
        uint64_t now = executed_.load(std::memory_order_relaxed);
        return now - lastExecuted_.exchange(now, std::memory_order_relaxed);
    }
    /* How often it has looked for work and slept since the last call. */
    uint64_t StatPopScheduleCount() {
        uint64_t now = Parks();
        return now - lastParks_.exchange(now, std::memory_order_relaxed);
    }

  private:
    friend class TaskScheduler;
    friend class Task;

    uint64_t Parks() const {
        thrum_metrics metrics = THRUM_METRICS_INIT;
        return sched_ && thrum_metrics_read(sched_, index_, &metrics) == 0 ? metrics.parks : 0;
    }
    /* Before a callback. Only its own thread writes the count. */
    void Enter() {
#if defined(THRUM_COMPAT_TSAN)
        __tsan_acquire(this);
#endif
        executed_.store(executed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    /* After it. */
    void Leave() {
#if defined(THRUM_COMPAT_TSAN)
        __tsan_release(this);
#endif
    }

    thrum_sched *sched_ = nullptr;
    int index_ = 0;
    std::atomic<uint64_t> executed_{0};
    std::atomic<uint64_t> lastExecuted_{0};
    std::atomic<uint64_t> lastParks_{0};
};

class TaskScheduler {
  public:
    /*
     * The name is a part of the threads' names. The size is how many tasks the workers are handed
     * at once.
     */
    TaskScheduler(const char *name, uint32_t subQueueSize)
        : name_(std::string("mgsch.wrk") + name), subQueueSize_(subQueueSize) {
    }
    /* The older form, which starts the threads. */
    TaskScheduler(const char *name, uint32_t threadCount, uint32_t subQueueSize)
        : TaskScheduler(name, subQueueSize) {
        Start(threadCount);
    }
    TaskScheduler(const TaskScheduler &) = delete;
    TaskScheduler &operator=(const TaskScheduler &) = delete;
    ~TaskScheduler();

    void Start(uint32_t threadCount);
    /* Ends the threads when their present runs have returned, and holds the other tasks. */
    void Stop();

    /*
     * Whether nothing runs, is to run, or waits for a deadline. Tasks that wait without one do not
     * count. The callers are external threads, or tasks of other schedulers.
     */
    bool IsEmpty() {
        return WaitEmpty(mg::box::TimeDuration(0u));
    }
    /* Waits for that; false if the limit has passed. */
    bool WaitEmpty(mg::box::TimeLimit limit = mg::box::theTimeDurationInf);

    /* Nothing: a post allocates nothing. */
    void Reserve(uint32_t) {
    }

    void Post(Task *task) {
        MG_DEV_ASSERT_F(!task->scheduler_.load(std::memory_order_relaxed), "it is posted already");
        task->scheduler_.store(this, std::memory_order_relaxed);
        if (!TrySubmit(task)) {
            Hold(task);
        }
    }
    void PostDelay(Task *task, uint32_t delay) {
        task->SetDelay(delay);
        Post(task);
    }
    void PostDeadline(Task *task, uint64_t deadline) {
        task->SetDeadline(deadline);
        Post(task);
    }
    void PostWait(Task *task) {
        task->SetWait();
        Post(task);
    }
    template <typename Functor> void PostOneShot(Functor &&functor);
    template <typename Object> void PostOneShot(Object *object, void (Object::*method)()) {
        PostOneShot(std::bind(method, object));
    }

    /* The older forms. */
    void Wakeup(Task *task) {
        task->PostWakeup();
    }
    void Signal(Task *task) {
        task->PostSignal();
    }

    TaskSchedulerThread *const *GetThreads(uint32_t &outCount) const {
        outCount = static_cast<uint32_t>(threads_.size());
        return threads_.data();
    }

    /* The scheduler whose worker is calling. */
    static TaskScheduler &This() {
        TaskScheduler *current = Current().scheduler;
        MG_DEV_ASSERT(current);
        return *current;
    }

  private:
    friend class Task;

    /* The worker that a thread is. */
    struct Worker {
        TaskScheduler *scheduler;
        TaskSchedulerThread *thread;
    };
    static Worker &Current() {
        static thread_local Worker current = {nullptr, nullptr};
        return current;
    }
    static void Begin(void *self, int worker) {
        TaskScheduler *scheduler = static_cast<TaskScheduler *>(self);
        Current().scheduler = scheduler;
        Current().thread = scheduler->records_[static_cast<size_t>(worker)].get();
    }

    bool TrySubmit(Task *task);
    int Submit(thrum_sched *sched, Task *task);
    void Hold(Task *task);
    bool Capture(Task *task);
    void Begun(Task *task);
    bool Forget(Task *task);
    bool IsHeldEmpty();
    bool IsDoneSince(uint64_t begun) const;

    const std::string name_;
    const uint32_t subQueueSize_;
    std::atomic<bool> isHolding_{true};
    std::atomic<thrum_sched *> sched_{nullptr};

    /* Posts with a deadline, and runs of those. */
    std::atomic<uint64_t> timedPosts_{0};
    std::atomic<uint64_t> timedRuns_{0};

    std::mutex control_; /* Start and Stop, one at a time */
    std::vector<std::unique_ptr<TaskSchedulerThread>> records_;
    std::vector<TaskSchedulerThread *> threads_;

    std::mutex heldMutex_; /* the list, and the end of the holding */
    Task *heldFirst_ = nullptr;
    Task **heldLast_ = &heldFirst_;
};

/* ---- runs ---- */

inline void Task::Run(thrum_task *task, void *self) noexcept {
    Task *own = static_cast<Task *>(self);
    TaskScheduler *scheduler = own->scheduler_.load(std::memory_order_relaxed);
    if (scheduler->Capture(own)) {
        return;
    }
    scheduler->Begun(own);
    own->isExpired_ = thrum_task_is_expired(task);
    own->deadline_ = 0;
    own->scheduler_.store(nullptr, std::memory_order_relaxed);
    TaskSchedulerThread *thread = TaskScheduler::Current().thread;
    thread->Enter();
    own->callback_(own); /* from here on the task may be gone */
    thread->Leave();
}

/* A destroyed task that waits: its run is cancelled, and Capture ends that. */
inline void Task::Leave() {
    MG_DEV_ASSERT_F(false, "a task is destroyed while it is posted");
    TaskScheduler *scheduler;
    while ((scheduler = scheduler_.load(std::memory_order_acquire)) != nullptr &&
           !scheduler->Forget(this)) {
        (void)thrum_task_cancel(&task_);
        thrum_yield(); /* a worker has to run it, perhaps this one */
    }
}

/* It is no longer counted among those with a deadline. */
inline void TaskScheduler::Begun(Task *task) {
    if (task->isTimed_) {
        task->isTimed_ = false;
        timedRuns_.fetch_add(1);
    }
}

/*
 * Whether a run is not to call the callback: it is held by a Stop, or the task is being destroyed.
 */
inline bool TaskScheduler::Capture(Task *task) {
    const bool isCancelled = thrum_task_is_cancelled(&task->task_);
    if (!isCancelled && !isHolding_.load(std::memory_order_acquire)) {
        return false;
    }
    std::lock_guard<std::mutex> lock(heldMutex_);
    if (!isHolding_.load(std::memory_order_relaxed)) {
        if (isCancelled) {
            Begun(task);
            task->scheduler_.store(nullptr, std::memory_order_release); /* it may be gone now */
        }
        return isCancelled;
    }
    Begun(task);
    task->isWoken_ = thrum_task_cause(&task->task_) == THRUM_CAUSE_WOKEN;
    task->myNext = nullptr;
    *heldLast_ = task;
    heldLast_ = &task->myNext;
    return true;
}

/* ---- posts ---- */

/* 0, or -ESHUTDOWN: the scheduler has ended. */
inline int TaskScheduler::Submit(thrum_sched *sched, Task *task) {
    if (task->isWoken_) {
        task->isWoken_ = false;
        thrum_task_wakeup(&task->task_);
    }
    int err;
    if (task->deadline_ == 0) {
        err = thrum_task_post(sched, &task->task_);
    } else if (task->deadline_ == MG_TIME_INFINITE) {
        err = thrum_task_post_wait(sched, &task->task_);
    } else {
        task->isTimed_ = true;
        timedPosts_.fetch_add(1);
        err = thrum_task_post_until(sched, &task->task_, mg::box::detail::ToThrum(task->deadline_));
        if (err != 0) {
            task->isTimed_ = false;
            timedPosts_.fetch_sub(1);
        }
    }
    MG_BOX_ASSERT_F(err == 0 || err == -ESHUTDOWN, "a post of a task: %s", thrum_strerror(err));
    return err;
}

inline bool TaskScheduler::TrySubmit(Task *task) {
    if (isHolding_.load(std::memory_order_acquire)) {
        return false;
    }
    thrum_sched *sched = sched_.load(std::memory_order_acquire);
    return sched && Submit(sched, task) == 0;
}

inline void TaskScheduler::Hold(Task *task) {
    for (;;) {
        {
            std::lock_guard<std::mutex> lock(heldMutex_);
            if (isHolding_.load(std::memory_order_relaxed)) {
                task->myNext = nullptr;
                *heldLast_ = task;
                heldLast_ = &task->myNext;
                return;
            }
        }
        if (TrySubmit(task)) { /* a Start came in between */
            return;
        }
    }
}

/* Takes the task out of the list of held ones. */
inline bool TaskScheduler::Forget(Task *task) {
    std::lock_guard<std::mutex> lock(heldMutex_);
    for (Task **at = &heldFirst_; *at; at = &(*at)->myNext) {
        if (*at == task) {
            *at = task->myNext;
            if (!*at) {
                heldLast_ = at;
            }
            task->scheduler_.store(nullptr, std::memory_order_relaxed);
            return true;
        }
    }
    return false;
}

template <typename Functor> inline void TaskScheduler::PostOneShot(Functor &&functor) {
    struct OneShot : Task {
        explicit OneShot(Functor &&body) : body_(std::forward<Functor>(body)) {
            SetCallback([this](Task *) {
                std::unique_ptr<OneShot> self(this);
                body_();
            });
        }
        TaskCallbackOneShot body_;
    };
    Post(new OneShot(std::forward<Functor>(functor)));
}

/* ---- start and end ---- */

inline void TaskScheduler::Start(uint32_t threadCount) {
    std::lock_guard<std::mutex> control(control_);
    MG_BOX_ASSERT_F(!sched_.load(), "it has been started already");
    if (threadCount == 0) {
        return; /* nothing runs, as without a Start */
    }
    records_.clear();
    for (uint32_t i = 0; i < threadCount; i++) {
        records_.emplace_back(new TaskSchedulerThread());
    }
    thrum_config config;
    thrum_config_init(&config);
    config.name = name_.c_str();
    config.policy = THRUM_FIFO;
    config.fifo_block = subQueueSize_ < 1 ? 1u : subQueueSize_ > 65536 ? 65536u : subQueueSize_;
    config.workers = threadCount;
    config.workers_spare = 0;
    config.stall_rescue_ms = 0;
    config.pin_all = false;
    config.stack_size = size_t(8) << 20;
    config.hook_ctx = this;
    config.worker_start = &TaskScheduler::Begin;
    thrum_sched *sched;
    int err = thrum_sched_start(&sched, &config);
    MG_BOX_ASSERT_F(err == 0, "the scheduler cannot start: %s", thrum_strerror(err));
    threads_.clear();
    for (unsigned i = 0; i < thrum_sched_parallelism(sched); i++) {
        records_[i]->sched_ = sched;
        records_[i]->index_ = static_cast<int>(i);
        threads_.push_back(records_[i].get());
    }
    sched_.store(sched, std::memory_order_release);
    std::lock_guard<std::mutex> lock(heldMutex_);
    Task *next = heldFirst_;
    heldFirst_ = nullptr;
    heldLast_ = &heldFirst_;
    while (Task *task = next) {
        next = task->myNext;
        task->myNext = nullptr;
        err = Submit(sched, task);
        MG_BOX_ASSERT(err == 0);
    }
    isHolding_.store(false, std::memory_order_release);
}

inline void TaskScheduler::Stop() {
    std::lock_guard<std::mutex> control(control_);
    thrum_sched *sched = sched_.load(std::memory_order_relaxed);
    if (!sched) {
        return;
    }
    MG_BOX_ASSERT_F(Current().scheduler != this, "a task cannot stop its own scheduler");
    {
        std::lock_guard<std::mutex> lock(heldMutex_);
        isHolding_.store(true, std::memory_order_release);
    }
    /* Cancels all waits, so that their runs are held; then waits for what runs. */
    int err = thrum_sched_stop_until(sched, thrum_now());
    if (err == -ETIMEDOUT) {
        err = thrum_sched_stop(sched);
    }
    MG_BOX_ASSERT_F(err == 0, "the scheduler cannot stop: %s", thrum_strerror(err));
    sched_.store(nullptr, std::memory_order_release);
    threads_.clear();
    records_.clear();
}

inline TaskScheduler::~TaskScheduler() {
    MG_BOX_ASSERT_F(sched_.load() || IsHeldEmpty(), "tasks are posted, and nothing runs them");
    (void)WaitEmpty();
    Stop();
    std::lock_guard<std::mutex> lock(heldMutex_);
    for (Task *task = heldFirst_; task;) {
        Task *next = task->myNext;
        MG_BOX_ASSERT_F(task->deadline_ == MG_TIME_INFINITE, "a task was posted during the end");
        task->scheduler_.store(nullptr, std::memory_order_relaxed);
        task = next;
    }
}

inline bool TaskScheduler::IsHeldEmpty() {
    std::lock_guard<std::mutex> lock(heldMutex_);
    for (Task *task = heldFirst_; task; task = task->myNext) {
        if (task->deadline_ != MG_TIME_INFINITE || task->isWoken_ || task->IsSignaled()) {
            return false;
        }
    }
    return true;
}

/* Whether no post with a deadline is left, and none of them has begun since `begun` were. */
inline bool TaskScheduler::IsDoneSince(uint64_t begun) const {
    return timedRuns_.load() == begun && timedPosts_.load() == begun;
}

inline bool TaskScheduler::WaitEmpty(mg::box::TimeLimit limit) {
    MG_BOX_ASSERT_F(Current().scheduler != this, "a task cannot wait for the end of all tasks");
    const thrum_time deadline = mg::box::detail::ToThrum(limit.ToPointFromNow().myValue);
    for (;;) {
        thrum_sched *sched = sched_.load(std::memory_order_acquire);
        if (isHolding_.load(std::memory_order_acquire) || !sched) {
            if (IsHeldEmpty()) {
                return true;
            }
        } else {
            const uint64_t begun = timedRuns_.load();
            const int err = thrum_sched_wait_idle(sched, deadline);
            if (err == 0 && IsDoneSince(begun)) {
                return true;
            }
            if (err == -ETIMEDOUT) {
                return false;
            }
        }
        thrum_time now = thrum_now();
        if (now >= deadline) {
            return false;
        }
        mg::box::Sleep(1); /* until the next deadline of a task, or another thread's Start */
    }
}

} // namespace sch
} // namespace mg

#if MG_CORO_IS_ENABLED
#include "mg/sch/TaskCoro.h"
#endif

#endif
