/*
 * marl/finally.h: a function that is called when an object ends. make_finally returns the object
 * itself, which can be moved; make_shared_finally shares it, and its last owner makes the call.
 */
#ifndef THRUM_COMPAT_MARL_FINALLY_H
#define THRUM_COMPAT_MARL_FINALLY_H

#include "export.h"

#include <memory>
#include <type_traits>
#include <utility>

namespace marl {

/* The base of all of them: whoever keeps one need not know the function's type. */
class Finally {
  public:
    virtual ~Finally() = default;
};

template <typename F> class FinallyImpl : public Finally {
  public:
    FinallyImpl(const F &f) : func(f) {
    }
    FinallyImpl(F &&f) : func(std::move(f)) {
    }
    FinallyImpl(FinallyImpl &&other) : func(std::move(other.func)), armed(other.armed) {
        other.armed = false;
    }
    FinallyImpl(const FinallyImpl &) = delete;
    FinallyImpl &operator=(const FinallyImpl &) = delete;
    FinallyImpl &operator=(FinallyImpl &&) = delete;

    ~FinallyImpl() override {
        if (armed) {
            func();
        }
    }

  private:
    F func;
    bool armed = true; /* whether the call is this object's, and no other's that it moved to */
};

template <typename F> inline FinallyImpl<typename std::decay<F>::type> make_finally(F &&f) {
    return FinallyImpl<typename std::decay<F>::type>(std::forward<F>(f));
}

template <typename F> inline std::shared_ptr<Finally> make_shared_finally(F &&f) {
    return std::make_shared<FinallyImpl<typename std::decay<F>::type>>(std::forward<F>(f));
}

} // namespace marl

#endif
