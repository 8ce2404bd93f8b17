/*
 * thrum/cpp/scheduler.hpp: schedulers that are started and stopped, threads that are bound to one,
 * and signals of the process. The rules are those of thrum/sched.h and thrum/signal.h.
 *
 *     thrum::scheduler background;
 *     auto answer = thrum::spawn(thrum::attr().sched(background), [] { return compute(); });
 */
#ifndef THRUM_CPP_SCHEDULER_HPP
#define THRUM_CPP_SCHEDULER_HPP

#include <utility>

#include "thrum/cpp/error.hpp"
#include "thrum/sched.h"
#include "thrum/signal.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * A scheduler with one owner; it can be moved. The destructor (and an assignment) waits for all of
 * its tasks and stops it: it blocks a plain thread, and suspends a task of another scheduler. In
 * one of its own tasks it ends the program (one line and std::terminate). So it does if the system
 * has no thread for the stop of a task: call `stop` before, which throws. In the child of a fork it
 * does nothing: the scheduler is the parent's.
 */
class scheduler {
  public:
    /* Throws std::system_error (thrum_sched_start). */
    explicit scheduler(const thrum_config *config = nullptr) {
        check(thrum_sched_start(&sched_, config));
    }
    /*
     * With this name and number of workers. The other settings are those of the environment, or the
     * defaults. The name may be a null pointer.
     */
    scheduler(const char *name, unsigned workers) {
        const thrum_config config = named(name, workers);
        check(thrum_sched_start(&sched_, &config));
    }
    scheduler(const char *name, unsigned workers, thrum_policy policy) {
        thrum_config config = named(name, workers);
        config.policy = policy;
        check(thrum_sched_start(&sched_, &config));
    }
    scheduler(scheduler &&other) noexcept : sched_(std::exchange(other.sched_, nullptr)) {
    }
    scheduler &operator=(scheduler &&other) noexcept {
        scheduler taken(std::move(other)); /* at its end it stops the old one */
        std::swap(sched_, taken.sched_);
        return *this;
    }
    ~scheduler() {
        const int err = sched_ ? thrum_sched_stop(sched_) : 0;
        if (err != 0 && err != -ESHUTDOWN) {
            detail::refused("thrum::~scheduler", err);
        }
    }

    /* Waits for its tasks and stops it; throws std::system_error (thrum_sched_stop). */
    void stop() {
        check(thrum_sched_stop(sched_));
        sched_ = nullptr;
    }
    /*
     * Likewise; past the deadline it cancels the tasks that are left, and the status is false, with
     * ETIMEDOUT. The destructor then waits for these tasks (thrum_sched_stop_until).
     */
    status stop_until(deadline when) noexcept {
        const int err = thrum_sched_stop_until(sched_, when.when());
        if (err == 0) {
            sched_ = nullptr;
        }
        return status(err);
    }
    template <typename Rep, typename Period>
    status stop_for(std::chrono::duration<Rep, Period> length) noexcept {
        return stop_until(after(length));
    }
    /* Waits until there is nothing to run (thrum_sched_wait_idle). */
    void wait_idle() {
        check(thrum_sched_wait_idle(sched_, THRUM_FOREVER));
    }
    status wait_idle_until(deadline when) noexcept {
        return status(thrum_sched_wait_idle(sched_, when.when()));
    }
    template <typename Rep, typename Period>
    status wait_idle_for(std::chrono::duration<Rep, Period> length) noexcept {
        return wait_idle_until(after(length));
    }
    /* Waits until no task is posted and none is alive (thrum_sched_wait_done). */
    void wait_done() {
        check(thrum_sched_wait_done(sched_, THRUM_FOREVER));
    }
    status wait_done_until(deadline when) noexcept {
        return status(thrum_sched_wait_done(sched_, when.when()));
    }
    template <typename Rep, typename Period>
    status wait_done_for(std::chrono::duration<Rep, Period> length) noexcept {
        return wait_done_until(after(length));
    }
    /* How many workers take part as a rule; 0 if there is no longer a scheduler. */
    unsigned parallelism() const noexcept {
        return sched_ ? thrum_sched_parallelism(sched_) : 0;
    }
    /*
     * For calls that take the C scheduler, such as thrum::attr and thrum::hop. A scheduler that was
     * stopped or moved from is refused (std::system_error, -ESHUTDOWN), since a null pointer would
     * mean the caller's.
     */
    operator thrum_sched *() const {
        check(sched_ ? 0 : -ESHUTDOWN);
        return sched_;
    }
    /* Whether there is one: it was neither stopped nor moved from. */
    explicit operator bool() const noexcept {
        return sched_ != nullptr;
    }
    /* The C scheduler; a null pointer for one that was stopped or moved from. */
    thrum_sched *native_handle() const noexcept {
        return sched_;
    }

  private:
    static thrum_config named(const char *name, unsigned workers) noexcept {
        thrum_config config;
        thrum_config_init(&config);
        config.name = name;
        config.workers = workers;
        return config;
    }

    thrum_sched *sched_ = nullptr;
};

/*
 * While it is there, the calling thread is bound to the scheduler (thrum_sched_bind): it starts
 * tasks and waits as a task does. The object belongs to that thread. The destructor runs the work
 * that is tied to the thread, unless a stop by the thread has done so, or it is in the child of a
 * fork.
 */
class [[nodiscard]] bound_thread {
  public:
    [[nodiscard]] explicit bound_thread(thrum_sched *to) {
        check(thrum_sched_bind(to));
    }
    bound_thread(const bound_thread &) = delete;
    bound_thread &operator=(const bound_thread &) = delete;
    ~bound_thread() {
        const int err = thrum_sched_unbind();
        if (err != 0 && err != -ESRCH && err != -ESHUTDOWN) {
            detail::refused("thrum::~bound_thread", err);
        }
    }

    /*
     * A step of a main loop (thrum_sched_step). step() runs tasks until nothing is left to run, and
     * throws std::system_error. The others return also at the deadline; if more is left to run
     * then, their status is -ETIMEDOUT. All may suspend.
     */
    void step() {
        check(thrum_sched_step(THRUM_FOREVER));
    }
    status step_until(deadline when) noexcept {
        return status(thrum_sched_step(when.when()));
    }
    template <typename Rep, typename Period>
    status step_for(std::chrono::duration<Rep, Period> length) noexcept {
        return step_until(after(length));
    }
};

/* While it is there, these signals are caught: none is missed between two waits. */
template <size_t N> class [[nodiscard]] signals {
  public:
    /* `thrum::signals ends(SIGTERM, SIGINT);` throws std::system_error (thrum_signal_catch). */
    template <typename... Numbers>
    [[nodiscard]] explicit signals(Numbers... numbers) : numbers_{numbers...} {
        for (size_t i = 0; i < N; i++) {
            const int err = thrum_signal_catch(numbers_[i]);
            if (err != 0) {
                release(i);
                raise(err);
            }
        }
    }
    signals(const signals &) = delete;
    signals &operator=(const signals &) = delete;
    ~signals() {
        release(N);
    }

    /*
     * Waits for the next signal and returns its number; throws std::system_error (ECANCELED). It
     * may suspend.
     */
    int wait() {
        return check(thrum_signal_wait(numbers_, N, THRUM_FOREVER));
    }
    /* The code is the number. They may suspend. */
    status wait_until(deadline when) noexcept {
        return status(thrum_signal_wait(numbers_, N, when.when()));
    }
    template <typename Rep, typename Period>
    status wait_for(std::chrono::duration<Rep, Period> length) noexcept {
        return wait_until(after(length));
    }

  private:
    void release(size_t n) noexcept {
        for (size_t i = 0; i < n; i++) {
            (void)thrum_signal_release(numbers_[i]);
        }
    }
    int numbers_[N];
};

template <typename... Numbers> signals(Numbers...) -> signals<sizeof...(Numbers)>;

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
