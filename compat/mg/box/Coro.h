/*
 * Coroutines that call each other, for C++20: Coro is the handle of one that has not begun, and
 * `co_await CoroCall(coro)` runs it within the calling one. Together they are a stack. The frame of
 * a caller owns the frame of the coroutine that it calls, so destroying the first one destroys them
 * all, the innermost first.
 */
#ifndef THRUM_COMPAT_MG_BOX_CORO_H
#define THRUM_COMPAT_MG_BOX_CORO_H

#include "mg/box/Definitions.h"

#if defined(IS_CPP_AT_LEAST_20) && defined(__cpp_impl_coroutine)
#include <coroutine>
#include <exception>
#include <utility>
#define MG_CORO_IS_ENABLED 1
#else
#define MG_CORO_IS_ENABLED 0
#endif

#if MG_CORO_IS_ENABLED
namespace mg {
namespace box {

struct CoroPromise;
using CoroHandle = std::coroutine_handle<CoroPromise>;

/* It is given to a CoroRef, a call or a task, which owns the frame from then on. */
struct Coro : CoroHandle {
    using promise_type = CoroPromise;
};

/* Bases of awaitable operations. */
struct CoroOp {};
struct CoroOpIsNotReady {
    static constexpr bool await_ready() noexcept {
        return false;
    }
};
struct CoroOpIsEmptyReturn {
    static constexpr void await_resume() noexcept {
    }
};

/* At the end of a coroutine its caller goes on; the first one returns to whoever resumed it. */
struct CoroOpFinal : CoroOp, CoroOpIsNotReady, CoroOpIsEmptyReturn {
    std::coroutine_handle<> await_suspend(CoroHandle ended) noexcept;
};

/* Owns a coroutine and all that it has called. */
struct CoroRef {
    CoroRef() = default;
    CoroRef(Coro &&coro) noexcept : handle_(std::exchange(static_cast<CoroHandle &>(coro), {})) {
    }
    CoroRef(CoroRef &&other) noexcept : handle_(std::exchange(other.handle_, {})) {
    }
    CoroRef &operator=(CoroRef &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~CoroRef() {
        Clear();
    }

    explicit operator bool() const {
        return static_cast<bool>(handle_);
    }
    CoroHandle Handle() const {
        return handle_;
    }
    CoroPromise &Promise() const {
        return handle_.promise();
    }
    void Clear() {
        if (handle_) {
            std::exchange(handle_, {}).destroy();
        }
    }

    /* Goes on with the coroutine at the top. */
    void ResumeTop() const;

  private:
    CoroHandle handle_;
};

struct CoroPromise {
    Coro get_return_object() noexcept {
        Coro coro{Coro::from_promise(*this)};
        myFirst = coro;
        myLast = coro;
        return coro;
    }
    static constexpr std::suspend_always initial_suspend() noexcept {
        return {};
    }
    static constexpr CoroOpFinal final_suspend() noexcept {
        return {};
    }
    static constexpr void return_void() noexcept {
    }
    [[noreturn]] static void unhandled_exception() noexcept {
        std::terminate();
    }

    CoroHandle myPrev;     /* the caller; none in the first one */
    CoroHandle myFirst;    /* the first one of the stack */
    CoroHandle myLast;     /* in the first one: the top of the stack */
    void *myRun = nullptr; /* in the first one: the task's run that is resuming it */
};

/* Part of the caller's frame while the call lasts. */
struct CoroOpCall : CoroOp, CoroOpIsNotReady, CoroOpIsEmptyReturn {
    explicit CoroOpCall(Coro &&coro) : callee_(std::move(coro)) {
    }
    CoroHandle await_suspend(CoroHandle caller) noexcept {
        CoroPromise &promise = callee_.Promise();
        promise.myPrev = caller;
        promise.myFirst = caller.promise().myFirst;
        promise.myFirst.promise().myLast = callee_.Handle();
        return callee_.Handle();
    }

  private:
    CoroRef callee_;
};

[[nodiscard]] inline CoroOpCall CoroCall(Coro &&coro) {
    return CoroOpCall(std::move(coro));
}

inline std::coroutine_handle<> CoroOpFinal::await_suspend(CoroHandle ended) noexcept {
    CoroPromise &promise = ended.promise();
    if (!promise.myPrev) {
        return std::noop_coroutine();
    }
    promise.myFirst.promise().myLast = promise.myPrev;
    return promise.myPrev;
}

inline void CoroRef::ResumeTop() const {
    Promise().myLast.resume();
}

} // namespace box
} // namespace mg
#endif

#endif
