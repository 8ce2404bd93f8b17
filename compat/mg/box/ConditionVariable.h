/*
 * A condition variable. It blocks the thread, as in the original, and so the worker.
 */
#ifndef THRUM_COMPAT_MG_BOX_CONDITIONVARIABLE_H
#define THRUM_COMPAT_MG_BOX_CONDITIONVARIABLE_H

#include <chrono>
#include <condition_variable>

#include "mg/box/Mutex.h"
#include "mg/box/Time.h"

namespace mg {
namespace box {

class ConditionVariable {
  public:
    ConditionVariable() = default;
    ConditionVariable(const ConditionVariable &) = delete;
    ConditionVariable &operator=(const ConditionVariable &) = delete;

    /* The mutex is a Mutex of mg/box or of mg/common. */
    template <typename Lock> void Wait(Lock &mutex) {
        handle_.wait(mutex);
    }

    /* Returns false if the limit passed. */
    template <typename Lock> bool TimedWait(Lock &mutex, TimeLimit limit) {
        uint64_t left = limit.ToDurationFromNow().myValue;
        if (left > Longest) {
            Wait(mutex);
            return true;
        }
        return handle_.wait_for(mutex, std::chrono::milliseconds(left)) ==
               std::cv_status::no_timeout;
    }

    /* The older form. */
    template <typename Lock>
    void TimedWait(Lock &mutex, uint32_t milliseconds, bool *outIsTimedOut) {
        *outIsTimedOut = !TimedWait(mutex, TimeDuration(milliseconds));
    }

    void Signal() {
        handle_.notify_one();
    }
    void Broadcast() {
        handle_.notify_all();
    }

  private:
    /* A year, in milliseconds: the clocks of the standard library overflow with far more. */
    enum : uint64_t { Longest = uint64_t(365) * 24 * 3600 * 1000 };

    std::condition_variable_any handle_;
};

} // namespace box
} // namespace mg

#endif
