/*
 * A mutex that its owner may lock again, and a lock of it for a block.
 */
#ifndef THRUM_COMPAT_MG_COMMON_MUTEX_H
#define THRUM_COMPAT_MG_COMMON_MUTEX_H

#include "mg/box/Mutex.h"
#include "mg/common/Assert.h"

namespace mg {
namespace common {

using box::MutexStatClear;
using box::MutexStatContentionCount;

class Mutex {
  public:
    void Lock() {
        if (!IsOwnedByThisThread()) {
            mutex_.Lock();
        }
        depth_++;
    }
    bool TryLock() {
        if (!IsOwnedByThisThread() && !mutex_.TryLock()) {
            return false;
        }
        depth_++;
        return true;
    }
    void Unlock() {
        MG_COMMON_ASSERT(IsOwnedByThisThread());
        if (--depth_ == 0) {
            mutex_.Unlock();
        }
    }
    bool IsOwnedByThisThread() const {
        return mutex_.IsOwnedByThisThread();
    }

    /* The names that std::condition_variable_any needs. */
    void lock() {
        Lock();
    }
    void unlock() {
        MG_COMMON_ASSERT_F(depth_ == 1, "a wait with a mutex that is locked more than once");
        Unlock();
    }

  private:
    box::Mutex mutex_;
    int depth_ = 0; /* with the mutex */
};

class MutexLock {
  public:
    explicit MutexLock(Mutex &mutex) : mutex_(&mutex) {
        mutex.Lock();
    }
    MutexLock(const MutexLock &) = delete;
    MutexLock &operator=(const MutexLock &) = delete;
    ~MutexLock() {
        Unlock();
    }
    void Unlock() {
        if (mutex_) {
            mutex_->Unlock();
            mutex_ = nullptr;
        }
    }

  private:
    Mutex *mutex_;
};

} // namespace common
} // namespace mg

#endif
