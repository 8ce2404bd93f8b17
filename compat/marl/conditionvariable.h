/*
 * marl/conditionvariable.h: waiting for a condition that a marl::mutex protects. A waiter on a
 * thread with a bound scheduler lets tasks run meanwhile. Waiters are woken in the order in which
 * they came.
 */
#ifndef THRUM_COMPAT_MARL_CONDITIONVARIABLE_H
#define THRUM_COMPAT_MARL_CONDITIONVARIABLE_H

#include "containers.h"
#include "debug.h"
#include "memory.h"
#include "mutex.h"
#include "scheduler.h"
#include "tsa.h"
#include "wait_list.h"

#include <chrono>

namespace marl {

class ConditionVariable {
  public:
    /* It allocates nothing. */
    ConditionVariable(Allocator * = Allocator::Default) {
    }
    ConditionVariable(const ConditionVariable &) = delete;
    ConditionVariable &operator=(const ConditionVariable &) = delete;

    void notify_one() {
        list.notify_one();
    }
    void notify_all() {
        list.notify_all();
    }

    /*
     * Waits until the predicate, which is called with the lock held, is true. The lock may also be
     * one of the standard's.
     */
    template <typename Lock, typename Predicate> void wait(Lock &held, Predicate &&pred) {
        (void)list.wait(held, THRUM_FOREVER, pred);
    }

    /* As above, for a time. Returns whether the predicate is true. */
    template <typename Lock, typename Rep, typename Period, typename Predicate>
    bool wait_for(Lock &held, const std::chrono::duration<Rep, Period> &duration,
                  Predicate &&pred) {
        return list.wait(held, detail::deadline_after(duration), pred);
    }

    /* As above, until an instant. */
    template <typename Lock, typename Clock, typename Duration, typename Predicate>
    bool wait_until(Lock &held, const std::chrono::time_point<Clock, Duration> &timeout,
                    Predicate &&pred) {
        return list.wait(held, detail::deadline_at(timeout), pred);
    }

  private:
    detail::WaitList list;
};

} // namespace marl

#endif
