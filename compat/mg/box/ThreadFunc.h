/*
 * A thread that runs a callable. The destructor waits for it.
 */
#ifndef THRUM_COMPAT_MG_BOX_THREADFUNC_H
#define THRUM_COMPAT_MG_BOX_THREADFUNC_H

#include <functional>
#include <utility>

#include "mg/box/Thread.h"

namespace mg {
namespace box {

using ThreadCallback = std::function<void()>;

class ThreadFunc : public Thread {
  public:
    explicit ThreadFunc(ThreadCallback callback) : callback_(std::move(callback)) {
    }
    ThreadFunc(const char *name, ThreadCallback callback)
        : Thread(name), callback_(std::move(callback)) {
    }
    ~ThreadFunc() override {
        BlockingStop();
    }

  private:
    void Run() override {
        callback_();
    }

    ThreadCallback callback_;
};

} // namespace box
} // namespace mg

#endif
