/*
 * thrum/cpp/mutex.hpp: locks that tasks and threads wait for, for use with std::lock_guard,
 * std::unique_lock, std::shared_lock and std::scoped_lock; and a condition variable.
 */
#ifndef THRUM_CPP_MUTEX_HPP
#define THRUM_CPP_MUTEX_HPP

#include <mutex>

#include "thrum/cond.h"
#include "thrum/cpp/error.hpp"
#include "thrum/mutex.h"
#include "thrum/rwlock.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/* A TimedLockable of the standard; the rules are those of thrum/mutex.h. */
class mutex {
  public:
    constexpr mutex() noexcept : mutex_(THRUM_MUTEX_INIT) {
    }
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    void lock() noexcept {
        thrum_mutex_lock(&mutex_);
    }
    bool try_lock() noexcept {
        return thrum_mutex_try_lock(&mutex_) == 0;
    }
    bool try_lock_until(deadline when) noexcept {
        return thrum_mutex_lock_until(&mutex_, when.when()) == 0;
    }
    template <typename Rep, typename Period>
    bool try_lock_for(std::chrono::duration<Rep, Period> length) noexcept {
        return try_lock_until(after(length));
    }
    void unlock() noexcept {
        thrum_mutex_unlock(&mutex_);
    }
    thrum_mutex *native_handle() noexcept {
        return &mutex_;
    }

  private:
    thrum_mutex mutex_;
};

/* The same for a mutex that its owner may lock again: as std::recursive_timed_mutex. */
class recursive_mutex {
  public:
    constexpr recursive_mutex() noexcept : mutex_(THRUM_RECURSIVE_INIT) {
    }
    recursive_mutex(const recursive_mutex &) = delete;
    recursive_mutex &operator=(const recursive_mutex &) = delete;

    void lock() noexcept {
        thrum_recursive_lock(&mutex_);
    }
    bool try_lock() noexcept {
        return thrum_recursive_try_lock(&mutex_) == 0;
    }
    bool try_lock_until(deadline when) noexcept {
        return thrum_recursive_lock_until(&mutex_, when.when()) == 0;
    }
    template <typename Rep, typename Period>
    bool try_lock_for(std::chrono::duration<Rep, Period> length) noexcept {
        return try_lock_until(after(length));
    }
    void unlock() noexcept {
        thrum_recursive_unlock(&mutex_);
    }
    thrum_recursive *native_handle() noexcept {
        return &mutex_;
    }

  private:
    thrum_recursive mutex_;
};

/* A SharedTimedMutex of the standard; the rules are those of thrum/rwlock.h. */
class shared_mutex {
  public:
    constexpr shared_mutex() noexcept : lock_(THRUM_RWLOCK_INIT) {
    }
    shared_mutex(const shared_mutex &) = delete;
    shared_mutex &operator=(const shared_mutex &) = delete;

    void lock() noexcept {
        thrum_rwlock_wrlock(&lock_);
    }
    bool try_lock() noexcept {
        return thrum_rwlock_try_wrlock(&lock_) == 0;
    }
    bool try_lock_until(deadline when) noexcept {
        return thrum_rwlock_wrlock_until(&lock_, when.when()) == 0;
    }
    template <typename Rep, typename Period>
    bool try_lock_for(std::chrono::duration<Rep, Period> length) noexcept {
        return try_lock_until(after(length));
    }
    void unlock() noexcept {
        thrum_rwlock_unlock(&lock_);
    }
    void lock_shared() noexcept {
        thrum_rwlock_rdlock(&lock_);
    }
    bool try_lock_shared() noexcept {
        return thrum_rwlock_try_rdlock(&lock_) == 0;
    }
    bool try_lock_shared_until(deadline when) noexcept {
        return thrum_rwlock_rdlock_until(&lock_, when.when()) == 0;
    }
    template <typename Rep, typename Period>
    bool try_lock_shared_for(std::chrono::duration<Rep, Period> length) noexcept {
        return try_lock_shared_until(after(length));
    }
    void unlock_shared() noexcept {
        thrum_rwlock_unlock(&lock_);
    }
    /* Turns the caller's exclusive lock into a shared one, which unlock_shared releases. */
    void downgrade() noexcept {
        thrum_rwlock_downgrade(&lock_);
    }
    thrum_rwlock *native_handle() noexcept {
        return &lock_;
    }

  private:
    thrum_rwlock lock_;
};

/*
 * A condition variable, used with a thrum::mutex (thrum/cond.h). The lock is held after each wait.
 */
class cond {
  public:
    constexpr cond() noexcept : cond_(THRUM_COND_INIT) {
    }
    cond(const cond &) = delete;
    cond &operator=(const cond &) = delete;

    void notify_one() noexcept {
        thrum_cond_signal(&cond_);
    }
    void notify_all() noexcept {
        thrum_cond_broadcast(&cond_);
    }
    /* It throws std::system_error (ECANCELED) when the caller is cancelled. */
    void wait(std::unique_lock<mutex> &lock) {
        check(thrum_cond_wait(&cond_, lock.mutex()->native_handle()));
    }
    template <typename Predicate> void wait(std::unique_lock<mutex> &lock, Predicate holds) {
        while (!holds()) {
            wait(lock);
        }
    }
    status wait_until(std::unique_lock<mutex> &lock, deadline when) noexcept {
        return status(thrum_cond_wait_until(&cond_, lock.mutex()->native_handle(), when.when()));
    }
    template <typename Rep, typename Period>
    status wait_for(std::unique_lock<mutex> &lock,
                    std::chrono::duration<Rep, Period> length) noexcept {
        return wait_until(lock, after(length));
    }
    /* True if the predicate holds, also if the deadline has just passed. */
    template <typename Predicate>
    status wait_until(std::unique_lock<mutex> &lock, deadline when, Predicate holds) {
        int err = 0;
        while (!holds()) {
            if (err < 0) {
                return status(err);
            }
            err = wait_until(lock, when).code();
        }
        return status(0);
    }
    template <typename Rep, typename Period, typename Predicate>
    status wait_for(std::unique_lock<mutex> &lock, std::chrono::duration<Rep, Period> length,
                    Predicate holds) {
        return wait_until(lock, after(length), std::move(holds));
    }
    thrum_cond *native_handle() noexcept {
        return &cond_;
    }

  private:
    thrum_cond cond_;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
