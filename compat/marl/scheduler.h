/*
 * marl/scheduler.h: marl::Scheduler over a scheduler of thrum. Its tasks stay on the thread that
 * began them, and it has no spare workers, as in marl. A scheduler without worker threads runs its
 * tasks on the bound thread that scheduled them, while that thread waits or unbinds.
 *
 * If the system refuses memory or threads, and marl's call cannot report that, the program prints
 * one line and aborts.
 */
#ifndef THRUM_COMPAT_MARL_SCHEDULER_H
#define THRUM_COMPAT_MARL_SCHEDULER_H

#include "containers.h"
#include "debug.h"
#include "deprecated.h"
#include "export.h"
#include "memory.h"
#include "mutex.h"
#include "sanitizers.h"
#include "task.h"
#include "thread.h"
#include "thread_local.h"
#include "wait_list.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace marl {

class Scheduler {
  public:
    using TimePoint = std::chrono::system_clock::time_point;
    using Predicate = std::function<bool()>;
    using ThreadInitializer = std::function<void(int workerId)>;

    struct Config {
        static constexpr std::size_t DefaultFiberStackSize = 1024 * 1024;

        struct WorkerThread {
            int count = 0; /* 0: tasks run on bound threads */

            /* Called on each worker thread before its first task. */
            ThreadInitializer initializer;

            /* The processors of each worker thread. config() of a scheduler always has one. */
            std::shared_ptr<Thread::Affinity::Policy> affinityPolicy;
        };

        WorkerThread workerThread;

        /* The memory of the scheduler and its tasks, without their stacks. It must outlive it. */
        Allocator *allocator = Allocator::Default;

        /* Bytes, rounded up to a power of two, at most 64 MiB. */
        std::size_t fiberStackSize = DefaultFiberStackSize;

        /* A worker thread for each processor that the system grants the process. */
        static Config allCores() {
            return Config().setWorkerThreadCount(static_cast<int>(thrum_cpus_granted()));
        }

        Config &setAllocator(Allocator *from) {
            allocator = from;
            return *this;
        }
        Config &setFiberStackSize(std::size_t size) {
            fiberStackSize = size;
            return *this;
        }
        Config &setWorkerThreadCount(int count) {
            workerThread.count = count;
            return *this;
        }
        Config &setWorkerThreadInitializer(const ThreadInitializer &initializer) {
            workerThread.initializer = initializer;
            return *this;
        }
        Config &
        setWorkerThreadAffinityPolicy(const std::shared_ptr<Thread::Affinity::Policy> &policy) {
            workerThread.affinityPolicy = policy;
            return *this;
        }
    };

    /* A task, or a bound thread outside of its tasks. */
    class Fiber {
      public:
        /* The caller's; nullptr if no scheduler is bound. */
        static Fiber *current();

        /*
         * Waits until the predicate is true. It is looked at when this is called, and after each
         * notify, with the lock held; the lock is unlocked meanwhile. Only for the current fiber.
         * The lock may also be one of the standard's.
         */
        template <typename Lock> void wait(Lock &lock, const Predicate &pred) {
            list.wait(lock, THRUM_FOREVER, pred);
        }

        /* As above, until the instant. Returns whether the predicate is true. */
        template <typename Lock, typename Clock, typename Duration>
        bool wait(Lock &lock, const std::chrono::time_point<Clock, Duration> &timeout,
                  const Predicate &pred) {
            return list.wait(lock, detail::deadline_at(timeout), pred);
        }

        /* Waits for the next notify. One that came before this call has no effect. */
        void wait() {
            (void)list.wait_once(THRUM_FOREVER);
        }

        /* As above, until the instant. Returns false if that came first. */
        template <typename Clock, typename Duration>
        bool wait(const std::chrono::time_point<Clock, Duration> &timeout) {
            return list.wait_once(detail::deadline_at(timeout));
        }

        /* Ends a wait of this fiber; for any thread. */
        void notify() {
            list.notify_one();
        }

        /* 0 for bound threads; no two tasks of a scheduler have the same at a time. */
        uint32_t const id;

      private:
        friend class Allocator;
        friend class Scheduler;

        Fiber(Scheduler *of, uint32_t number) : id(number), home(of) {
        }

        Scheduler *const home;
        Fiber *next = nullptr; /* of those that no task has */
        detail::WaitList list;
    };

    Scheduler(const Config &config);

#if MARL_ENABLE_DEPRECATED_SCHEDULER_GETTERS_SETTERS
    MARL_DEPRECATED(139, "use Scheduler::Config")
    Scheduler(Allocator *allocator = Allocator::Default)
        : Scheduler(Config().setAllocator(allocator)) {
    }

    /* Called on the worker threads that a later setWorkerThreadCount starts. */
    MARL_DEPRECATED(139, "use Scheduler::Config")
    void setThreadInitializer(const std::function<void()> &initializer);
    MARL_DEPRECATED(139, "use Scheduler::Config")
    const std::function<void()> &getThreadInitializer() {
        return thread_initializer;
    }

    /*
     * Ends all worker threads and starts as many. Only the calling thread may have bound the
     * scheduler, and no task may have been scheduled.
     */
    MARL_DEPRECATED(139, "use Scheduler::Config") void setWorkerThreadCount(int count);
    MARL_DEPRECATED(139, "use Scheduler::Config") int getWorkerThreadCount() {
        return cfg.workerThread.count;
    }
#endif

    /* Waits until the scheduler is unbound from all threads, then for all of its tasks. */
    ~Scheduler();

    Scheduler(const Scheduler &) = delete;
    Scheduler &operator=(const Scheduler &) = delete;

    /* The one that is bound to the calling thread, or that runs the calling task; or nullptr. */
    static Scheduler *get() {
        return bound();
    }

    /* Binds it to the calling thread, to which none is bound. */
    void bind();

    /* Runs the tasks that are left for the calling thread, and unbinds its scheduler. */
    static void unbind();

    /* For any thread; without worker threads, for those that have a bound scheduler. */
    void enqueue(Task &&task);

    const Config &config() const {
        return cfg;
    }

  private:
    struct Job {
        Job(Task &&what, Allocator *from) : task(std::move(what)), allocator(from) {
        }
        thrum_task post = THRUM_TASK_INIT(nullptr, nullptr);
        Task task;
        Allocator *allocator;
        Job *next = nullptr; /* in `first` of its thread */
    };

    /*
     * What a thread has. A task stays on its thread, so it sees the same for all of its life.
     *
     * Without worker threads, marl resumes all woken tasks before it begins another, and thrum
     * takes both from one queue. So only the first of the tasks that have not begun is in thrum's
     * queue, and lets all that is there go ahead before it begins.
     */
    struct Here {
        Scheduler *scheduler = nullptr; /* the one that is bound */
        Job *first = nullptr;           /* the tasks that have not begun, without worker threads */
        Job *last = nullptr;
    };

    static Here &here() {
        static thread_local Here of_thread;
        return of_thread;
    }

    static Scheduler *&bound() {
        return here().scheduler;
    }

    void start();

    static thrum_key fiber_key();
    Fiber *take_fiber(bool of_thread);
    static void give_fiber(void *fiber);

    void post(Task &&task);
    static void post_here(Task &&task);
    static void run(void *job) noexcept;
    static int run_go(void *job) noexcept;
    static void run_post(thrum_task *self, void *job) noexcept;
    static void run_first(thrum_task *self, void *job) noexcept;

    static void worker_start(void *self, int worker) noexcept;
    static void worker_stop(void *self, int worker) noexcept;
    static void *alloc(void *self, std::size_t size) noexcept;
    static void free(void *self, void *ptr) noexcept;

    Config cfg;
    std::function<void()> thread_initializer; /* of setThreadInitializer */
    const bool policy_given;                  /* whether worker threads are tied to processors */
    thrum_sched *sched = nullptr;

    std::mutex fibers_mutex;
    Fiber *fibers_unused = nullptr;
    uint32_t fibers_made = 0;
};

inline Scheduler::Scheduler(const Config &config)
    : cfg(config), policy_given(config.workerThread.affinityPolicy != nullptr) {
    start();
}

inline void Scheduler::start() {
    if (!policy_given && cfg.workerThread.count > 0) {
        cfg.workerThread.affinityPolicy =
            Thread::Affinity::Policy::anyOf(Thread::Affinity::all(cfg.allocator), cfg.allocator);
    }
    constexpr std::size_t largest = 64u << 20;
    thrum_config options;
    thrum_config_init(&options);
    options.name = "marl";
    options.workers =
        cfg.workerThread.count > 0 ? static_cast<unsigned>(cfg.workerThread.count) : 0;
    options.workers_spare = 0;
    options.pin_all = true;
    options.stack_size = cfg.fiberStackSize < 1         ? 1
                         : cfg.fiberStackSize > largest ? largest
                                                        : cfg.fiberStackSize;
    options.blocking_threads_max =
        1u << 16; /* marl has no limit: these calls may wait for each other */
    options.hook_ctx = this;
    options.worker_start = worker_start;
    options.worker_stop = worker_stop;
    if (cfg.allocator != &detail::SystemAllocatorHolder<void>::instance) {
        options.alloc = alloc;
        options.free = free;
    }
    detail::must("marl::Scheduler", thrum_sched_start(&sched, &options));
}

inline Scheduler::~Scheduler() {
    if (bound() == this) {
        unbind(); /* marl would wait for the caller for ever */
    }
    Scheduler *const before = bound();
    bound() = this; /* for tasks that the stop runs here */
    detail::must("marl::~Scheduler", thrum_sched_stop(sched));
    bound() = before;
    while (fibers_unused) {
        Fiber *fiber = fibers_unused;
        fibers_unused = fiber->next;
        cfg.allocator->destroy(fiber);
    }
}

#if MARL_ENABLE_DEPRECATED_SCHEDULER_GETTERS_SETTERS
inline void Scheduler::setThreadInitializer(const std::function<void()> &initializer) {
    thread_initializer = initializer;
    cfg.workerThread.initializer = nullptr;
    if (initializer) {
        cfg.workerThread.initializer = [initializer](int) { initializer(); };
    }
}

inline void Scheduler::setWorkerThreadCount(int count) {
    const bool was_bound = bound() == this;
    if (was_bound) {
        unbind();
    }
    detail::must("marl::Scheduler::setWorkerThreadCount", thrum_sched_stop(sched));
    cfg.workerThread.count = count;
    start();
    if (was_bound) {
        bind();
    }
}
#endif

inline void Scheduler::bind() {
    MARL_ASSERT(!get(), "marl::Scheduler::bind(): one is bound to this thread already")
    detail::must("marl::Scheduler::bind", thrum_sched_bind(sched));
    bound() = this;
}

inline void Scheduler::unbind() {
    MARL_ASSERT(get(), "marl::Scheduler::unbind(): none is bound to this thread")
    detail::must("marl::Scheduler::unbind", thrum_sched_unbind());
    void *fiber = thrum_key_get(fiber_key());
    if (fiber) {
        give_fiber(fiber);
        detail::must("thrum_key_set", thrum_key_set(fiber_key(), nullptr));
    }
    bound() = nullptr;
}

inline void Scheduler::enqueue(Task &&task) {
    if (task.is(Task::Flags::SameThread)) {
        post_here(std::move(task));
    } else if (cfg.workerThread.count > 0) {
        post(std::move(task));
    } else if (get()) {
        get()->post(std::move(task));
    } else {
        MARL_FATAL("No thread would run the task. Did you forget to call marl::Scheduler::bind()?")
    }
}

inline void Scheduler::post(Task &&task) {
    Job *job = cfg.allocator->create<Job>(std::move(task), cfg.allocator);
    const bool workers = cfg.workerThread.count > 0;
    thrum_task_init(&job->post, workers ? run_post : run_first, job);
    if (!workers) {
        Here &mine = here();
        const bool alone = !mine.first;
        (alone ? mine.first : mine.last->next) = job;
        mine.last = job;
        if (!alone) {
            return; /* the task before it posts it */
        }
    }
    detail::must("marl::schedule", thrum_task_post(sched, &job->post));
}

inline void Scheduler::post_here(Task &&task) {
    Scheduler *of = get();
    if (!of) {
        detail::stop("marl: ", "Task::Flags::SameThread requires a marl::Scheduler to be bound");
    }
    if (of->cfg.workerThread.count <= 0) {
        of->post(std::move(task));
        return;
    }
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = of->sched;
    attr.flags = THRUM_PINNED;
    Job *job = of->cfg.allocator->create<Job>(std::move(task), of->cfg.allocator);
    detail::must("marl::schedule", thrum_go_with(&attr, run_go, job));
}

/* An exception that leaves a task ends the program, as in marl. */
inline void Scheduler::run(void *job) noexcept {
    Job *of = static_cast<Job *>(job);
    const Task task(std::move(of->task));
    of->allocator->destroy(of);
    task();
}

inline int Scheduler::run_go(void *job) noexcept {
    run(job);
    return 0;
}

inline void Scheduler::run_post(thrum_task *, void *job) noexcept {
    run(job);
}

inline void Scheduler::run_first(thrum_task *, void *job) noexcept {
    thrum_yield();
    Here &mine = here();
    mine.first = mine.first->next;
    if (mine.first) {
        detail::must("marl::schedule", thrum_task_post(mine.scheduler->sched, &mine.first->post));
    }
    run(job);
}

inline void Scheduler::worker_start(void *self, int worker) noexcept {
    Scheduler *scheduler = static_cast<Scheduler *>(self);
    const Config::WorkerThread &config = scheduler->cfg.workerThread;
    if (scheduler->policy_given) {
        Allocator *allocator = scheduler->cfg.allocator;
        config.affinityPolicy->get(static_cast<uint32_t>(worker), allocator).apply();
    }
    if (config.initializer) {
        config.initializer(worker);
    }
    bound() = scheduler;
}

inline void Scheduler::worker_stop(void *, int) noexcept {
    bound() = nullptr;
}

namespace detail {

/* thrum's free has no size, which an Allocator is told: it is kept before the memory. */
struct alignas(16) Sized {
    std::size_t size;
};

inline Allocation::Request sized_request(std::size_t size) {
    Allocation::Request request;
    request.size = size;
    request.alignment = 16;
    request.usage = Allocation::Usage::Create;
    return request;
}

} // namespace detail

inline void *Scheduler::alloc(void *self, std::size_t size) noexcept {
    Allocator *allocator = static_cast<Scheduler *>(self)->cfg.allocator;
    const std::size_t whole = sizeof(detail::Sized) + size;
    void *ptr = allocator->allocate(detail::sized_request(whole)).ptr;
    return ptr ? new (ptr) detail::Sized{whole} + 1 : nullptr;
}

inline void Scheduler::free(void *self, void *ptr) noexcept {
    detail::Sized *sized = static_cast<detail::Sized *>(ptr) - 1;
    Allocation allocation;
    allocation.ptr = sized;
    allocation.request = detail::sized_request(sized->size);
    static_cast<Scheduler *>(self)->cfg.allocator->free(allocation);
}

inline thrum_key Scheduler::fiber_key() {
    struct Key {
        Key() {
            detail::must("thrum_key_create", thrum_key_create(&key, give_fiber));
        }
        thrum_key key;
    };
    static const Key made;
    return made.key;
}

inline Scheduler::Fiber *Scheduler::Fiber::current() {
    Scheduler *scheduler = get();
    if (!scheduler) {
        return nullptr;
    }
    void *fiber = thrum_key_get(fiber_key());
    if (!fiber) {
        fiber = scheduler->take_fiber(!thrum_name());
        detail::must("marl::Scheduler::Fiber::current", thrum_key_set(fiber_key(), fiber));
    }
    return static_cast<Fiber *>(fiber);
}

/* Fibers outlive their tasks, so a late notify of one meets no freed memory. */
inline Scheduler::Fiber *Scheduler::take_fiber(bool of_thread) {
    std::lock_guard<std::mutex> guard(fibers_mutex);
    for (Fiber **at = &fibers_unused; *at; at = &(*at)->next) {
        if (((*at)->id == 0) == of_thread) {
            Fiber *fiber = *at;
            *at = fiber->next;
            return fiber;
        }
    }
    const uint32_t id = of_thread ? 0 : ++fibers_made;
    return cfg.allocator->create<Fiber>(this, id);
}

inline void Scheduler::give_fiber(void *value) {
    Fiber *fiber = static_cast<Fiber *>(value);
    Scheduler *scheduler = fiber->home;
    std::lock_guard<std::mutex> guard(scheduler->fibers_mutex);
    fiber->next = scheduler->fibers_unused;
    scheduler->fibers_unused = fiber;
}

/* Schedules the task on the caller's scheduler. */
inline void schedule(Task &&task) {
    Scheduler *scheduler = Scheduler::get();
    if (!scheduler) {
        detail::stop("ASSERT: ", "marl::schedule requires a marl::Scheduler to be bound");
    }
    scheduler->enqueue(std::move(task));
}

/* Schedules a call of f with copies of the arguments. */
template <typename Function> inline void schedule(Function &&f) {
    schedule(Task(std::forward<Function>(f)));
}

template <typename Function, typename Arg, typename... Args>
inline void schedule(Function &&f, Arg &&arg, Args &&...args) {
    schedule(Task(
        std::bind(std::forward<Function>(f), std::forward<Arg>(arg), std::forward<Args>(args)...)));
}

} // namespace marl

#endif
