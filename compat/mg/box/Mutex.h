/*
 * A mutex that knows its owner, and a lock of it for a block. Both block the thread, as in the
 * original, and so the worker.
 */
#ifndef THRUM_COMPAT_MG_BOX_MUTEX_H
#define THRUM_COMPAT_MG_BOX_MUTEX_H

#include <mutex>
#include <thread>

#include "mg/box/Assert.h"
#include "mg/box/Atomic.h"

namespace mg {
namespace box {

namespace detail {

/* How often a mutex was not free at once, since the last clear. */
inline AtomicU64 &MutexContention() {
    static AtomicU64 count(0);
    return count;
}

} // namespace detail

inline void MutexStatClear() {
    detail::MutexContention().StoreRelaxed(0);
}

inline uint64_t MutexStatContentionCount() {
    return detail::MutexContention().LoadRelaxed();
}

class Mutex {
  public:
    Mutex() : owner_(std::thread::id()) {
    }
    Mutex(const Mutex &) = delete;
    Mutex &operator=(const Mutex &) = delete;
    ~Mutex() {
        MG_BOX_ASSERT(owner_.load(std::memory_order_relaxed) == std::thread::id());
    }

    void Lock() {
        if (TryLock()) {
            return;
        }
        detail::MutexContention().IncrementRelaxed();
        handle_.lock();
        Own();
    }
    bool TryLock() {
        MG_BOX_ASSERT(!IsOwnedByThisThread());
        if (!handle_.try_lock()) {
            return false;
        }
        Own();
        return true;
    }
    void Unlock() {
        MG_BOX_ASSERT(IsOwnedByThisThread());
        owner_.store(std::thread::id(), std::memory_order_relaxed);
        handle_.unlock();
    }
    bool IsOwnedByThisThread() const {
        return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

    /* The names that std::condition_variable_any needs. */
    void lock() {
        Lock();
    }
    void unlock() {
        Unlock();
    }

  private:
    void Own() {
        owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }

    std::mutex handle_;
    std::atomic<std::thread::id> owner_;
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

} // namespace box
} // namespace mg

#endif
