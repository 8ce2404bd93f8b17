/*
 * A flag that one thread sets and another takes. It may be destroyed as soon as it has been
 * received, because a send changes it only with the lock held. Waits block the thread, as in the
 * original, and so the worker.
 */
#ifndef THRUM_COMPAT_MG_BOX_SIGNAL_H
#define THRUM_COMPAT_MG_BOX_SIGNAL_H

#include "mg/box/ConditionVariable.h"

namespace mg {
namespace box {

class Signal {
  public:
    Signal() : isSent_(false) {
    }

    /* Wakes one waiting thread, or none if the flag is set already. */
    void Send() {
        MutexLock lock(mutex_);
        if (!isSent_) {
            isSent_ = true;
            cond_.Signal();
        }
    }

    bool Receive() {
        MutexLock lock(mutex_);
        return Take();
    }

    void ReceiveBlocking() {
        MutexLock lock(mutex_);
        while (!Take()) {
            cond_.Wait(mutex_);
        }
    }

    /* Returns false if the limit passed. The older form has the milliseconds as a plain number. */
    bool ReceiveTimed(TimeLimit limit) {
        MutexLock lock(mutex_);
        TimePoint end = limit.ToPointFromNow();
        while (!Take()) {
            if (!cond_.TimedWait(mutex_, end)) {
                return Take();
            }
        }
        return true;
    }
    bool ReceiveTimed(uint32_t milliseconds) {
        return ReceiveTimed(TimeLimit(TimeDuration(milliseconds)));
    }

  private:
    bool Take() {
        bool was = isSent_;
        isSent_ = false;
        return was;
    }

    Mutex mutex_;
    ConditionVariable cond_;
    bool isSent_;
};

} // namespace box
} // namespace mg

#endif
