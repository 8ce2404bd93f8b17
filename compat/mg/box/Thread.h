/*
 * Threads, each an object of a class with a method Run; and sleeps of the calling thread. A Sleep
 * in a task's body holds up its worker, as in the original.
 */
#ifndef THRUM_COMPAT_MG_BOX_THREAD_H
#define THRUM_COMPAT_MG_BOX_THREAD_H

#include <chrono>
#include <string>
#include <thread>

#include "mg/box/Atomic.h"
#include "mg/box/ConditionVariable.h"
#include "mg/box/Mutex.h"

#if IS_PLATFORM_LINUX
#include <pthread.h>
#endif

#define MG_THREADLOCAL thread_local

namespace mg {
namespace box {

using ThreadId = uint32_t;

/*
 * A class derived from it is allocated by new, and ends by StopAndDelete; or its destructor calls
 * BlockingStop, since Run needs the whole object.
 */
class Thread {
  public:
    /* The system shows 15 bytes of the name. */
    explicit Thread(const char *name = "anon_thread")
        : name_(name), isStopRequested_(false), isRunning_(false), isToBeDeleted_(false) {
    }
    Thread(const Thread &) = delete;
    Thread &operator=(const Thread &) = delete;

    void Start() {
        MutexLock lock(mutex_);
        MG_BOX_ASSERT(!handle_.joinable());
        isRunning_.Store(true);
        handle_ = std::thread(&Thread::Main, this);
    }

    /* Asks the thread to end, and does not wait for it. */
    void Stop() {
        isStopRequested_.Store(true);
    }

    /* Asks it, and waits until Run has returned. A thread does not wait for itself. */
    void BlockingStop() {
        Stop();
        std::thread ended;
        {
            MutexLock lock(mutex_);
            if (handle_.get_id() == std::this_thread::get_id()) {
                return;
            }
            ended.swap(handle_);
        }
        if (ended.joinable()) {
            ended.join();
        }
    }

    /* Likewise, and deletes the object. The thread itself deletes it when Run has returned. */
    void StopAndDelete() {
        BlockingStop();
        if (handle_.get_id() == std::this_thread::get_id()) {
            isToBeDeleted_ = true;
            return;
        }
        delete this;
    }

    bool StopRequested() {
        return isStopRequested_.Load();
    }
    bool IsRunning() {
        return isRunning_.Load();
    }

  protected:
    virtual ~Thread() {
        MG_BOX_ASSERT(!handle_.joinable());
    }

  private:
    virtual void Run() = 0;

    void Main() {
#if IS_PLATFORM_LINUX
        pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
#endif
        { MutexLock lock(mutex_); /* Start has stored the handle */ }
        Run();
        isRunning_.Store(false);
        if (isToBeDeleted_) {
            handle_.detach();
            delete this;
        }
    }

    Mutex mutex_;
    std::string name_;
    std::thread handle_;
    AtomicBool isStopRequested_;
    AtomicBool isRunning_;
    bool isToBeDeleted_; /* only the thread itself uses it */
};

inline void Sleep(uint64_t milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

[[noreturn]] inline void SleepInfinite() {
    for (;;) {
        std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

/* A small number, from 1 on, of each thread that has asked. */
inline ThreadId GetCurrentThreadId() {
    static AtomicU32 last(0);
    static thread_local ThreadId own = last.IncrementFetchRelaxed();
    return own;
}

} // namespace box
} // namespace mg

#endif
