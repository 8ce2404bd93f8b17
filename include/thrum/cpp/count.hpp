/*
 * thrum/cpp/count.hpp: semaphores, waitgroups and barriers. The rules are those of thrum/sem.h,
 * thrum/waitgroup.h and thrum/barrier.h.
 *
 * None of them moves or is copied, and none allocates. Their destructors call std::terminate if a
 * caller still waits. `wait` throws std::system_error (ECANCELED). Calls whose names end in
 * `_until` or `_for`, or begin with `try_`, return a status. All of these but the `try_` forms may
 * suspend.
 */
#ifndef THRUM_CPP_COUNT_HPP
#define THRUM_CPP_COUNT_HPP

#include "thrum/barrier.h"
#include "thrum/cpp/error.hpp"
#include "thrum/sem.h"
#include "thrum/waitgroup.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/* A counting semaphore. A wait for several units takes all of them or none. */
class semaphore {
  public:
    /* A value above THRUM_SEM_MAX ends the program at the first use. */
    constexpr explicit semaphore(unsigned value) noexcept : sem_(THRUM_SEM_INIT(value)) {
    }
    semaphore(const semaphore &) = delete;
    semaphore &operator=(const semaphore &) = delete;
    ~semaphore() {
        const int err = thrum_sem_destroy(&sem_);
        if (err != 0) {
            detail::refused("thrum::~semaphore", err);
        }
    }

    void wait(unsigned n = 1) {
        check(thrum_sem_wait_n(&sem_, n));
    }
    status wait_until(deadline when, unsigned n = 1) noexcept {
        return status(thrum_sem_wait_n_until(&sem_, n, when.when()));
    }
    template <typename Rep, typename Period>
    status wait_for(std::chrono::duration<Rep, Period> length, unsigned n = 1) noexcept {
        return wait_until(after(length), n);
    }
    /* If there are fewer units, the status is `busy`. */
    status try_wait(unsigned n = 1) noexcept {
        return status(thrum_sem_try_wait_n(&sem_, n));
    }
    void post(unsigned n = 1) noexcept {
        thrum_sem_post_n(&sem_, n);
    }
    thrum_sem *native_handle() noexcept {
        return &sem_;
    }

  private:
    thrum_sem sem_;
};

/* A count of things to be done, and a wait until it is 0. */
class waitgroup {
  public:
    constexpr explicit waitgroup(unsigned n = 0) noexcept : waitgroup_(THRUM_WAITGROUP_INIT(n)) {
    }
    waitgroup(const waitgroup &) = delete;
    waitgroup &operator=(const waitgroup &) = delete;
    ~waitgroup() {
        const int err = thrum_waitgroup_destroy(&waitgroup_);
        if (err != 0) {
            detail::refused("thrum::~waitgroup", err);
        }
    }

    void add(int n = 1) noexcept {
        thrum_waitgroup_add(&waitgroup_, n);
    }
    void done() noexcept {
        thrum_waitgroup_done(&waitgroup_);
    }
    void wait() {
        check(thrum_waitgroup_wait(&waitgroup_));
    }
    status wait_until(deadline when) noexcept {
        return status(thrum_waitgroup_wait_until(&waitgroup_, when.when()));
    }
    template <typename Rep, typename Period>
    status wait_for(std::chrono::duration<Rep, Period> length) noexcept {
        return wait_until(after(length));
    }
    thrum_waitgroup *native_handle() noexcept {
        return &waitgroup_;
    }

  private:
    thrum_waitgroup waitgroup_;
};

/*
 * A barrier at which n participants wait for each other; then all go on, and the next round begins.
 */
class barrier {
  public:
    constexpr explicit barrier(unsigned n) noexcept : barrier_(THRUM_BARRIER_INIT(n)) {
    }
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;
    ~barrier() {
        const int err = thrum_barrier_destroy(&barrier_);
        if (err != 0) {
            detail::refused("thrum::~barrier", err);
        }
    }

    /* Returns whether the caller was the last to come. */
    bool wait() {
        return check(thrum_barrier_wait(&barrier_)) == 1;
    }
    /* The code is 1 for the last to come, 0 for the others. */
    status wait_until(deadline when) noexcept {
        return status(thrum_barrier_wait_until(&barrier_, when.when()));
    }
    template <typename Rep, typename Period>
    status wait_for(std::chrono::duration<Rep, Period> length) noexcept {
        return wait_until(after(length));
    }
    thrum_barrier *native_handle() noexcept {
        return &barrier_;
    }

  private:
    thrum_barrier barrier_;
};

/* Calls `fn` when the block ends: `thrum::defer end([&] { group.done(); });`. */
template <typename Fn> class [[nodiscard]] defer {
  public:
    [[nodiscard]] explicit defer(Fn fn) noexcept(std::is_nothrow_move_constructible_v<Fn>)
        : fn_(std::move(fn)) {
    }
    defer(const defer &) = delete;
    defer &operator=(const defer &) = delete;
    /* An exception of `fn` ends the program (std::terminate). */
    ~defer() {
        (void)fn_();
    }

  private:
    Fn fn_;
};

template <typename Fn> defer(Fn) -> defer<Fn>;

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
