/*
 * marl/mutex.h: a mutex and its lock, with clang's annotations. Waiting for a mutex blocks the
 * thread, as in marl, so hold it only briefly. To wait for a condition, use ConditionVariable,
 * which unlocks the mutex meanwhile.
 */
#ifndef THRUM_COMPAT_MARL_MUTEX_H
#define THRUM_COMPAT_MARL_MUTEX_H

#include "export.h"
#include "tsa.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace marl {

class CAPABILITY("mutex") mutex {
  public:
    void lock() ACQUIRE() {
        inner.lock();
    }
    void unlock() RELEASE() {
        inner.unlock();
    }
    bool try_lock() TRY_ACQUIRE(true) {
        return inner.try_lock();
    }

    /* Waits for the predicate with this mutex, which the caller holds before and after. */
    template <typename Predicate>
    void wait_locked(std::condition_variable &cv, Predicate &&p) REQUIRES(this) {
        std::unique_lock<std::mutex> held(inner, std::adopt_lock);
        cv.wait(held, std::forward<Predicate>(p));
        held.release();
    }

    template <typename Predicate, typename Time>
    bool wait_until_locked(std::condition_variable &cv, Time &&time, Predicate &&p) REQUIRES(this) {
        std::unique_lock<std::mutex> held(inner, std::adopt_lock);
        const bool met = cv.wait_until(held, std::forward<Time>(time), std::forward<Predicate>(p));
        held.release();
        return met;
    }

  private:
    friend class lock;
    std::mutex inner;
};

/* Holds a mutex while it lives. */
class SCOPED_CAPABILITY lock {
  public:
    lock(mutex &m) ACQUIRE(m) : held(m.inner) {
    }
    ~lock() RELEASE() {
    }

    template <typename Predicate> void wait(std::condition_variable &cv, Predicate &&p) {
        cv.wait(held, std::forward<Predicate>(p));
    }

    template <typename Predicate, typename Time>
    bool wait_until(std::condition_variable &cv, Time &&time, Predicate &&p) {
        return cv.wait_until(held, std::forward<Time>(time), std::forward<Predicate>(p));
    }

    bool owns_lock() const {
        return held.owns_lock();
    }

    /* Locks and unlocks that the analysis does not see. */
    void lock_no_tsa() {
        held.lock();
    }
    void unlock_no_tsa() {
        held.unlock();
    }

  private:
    std::unique_lock<std::mutex> held;
};

} // namespace marl

#endif
