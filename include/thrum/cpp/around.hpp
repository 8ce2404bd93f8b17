/*
 * thrum/cpp/around.hpp: calls that are made elsewhere, or with a deadline of their own.
 */
#ifndef THRUM_CPP_AROUND_HPP
#define THRUM_CPP_AROUND_HPP

#include "thrum/blocking.h"
#include "thrum/cpp/outcome.hpp"
#include "thrum/scope.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {
namespace detail {

template <typename Fn> struct call_elsewhere {
    std::remove_reference_t<Fn> *fn;
    outcome<std::invoke_result_t<Fn>> ended;
    bool began = false;
    static int main(void *arg) noexcept {
        auto *self = static_cast<call_elsewhere *>(arg);
        self->began = true;
        self->ended.run(
            [self]() -> std::invoke_result_t<Fn> { return std::forward<Fn>(*self->fn)(); });
        return 0;
    }
};

} // namespace detail

/*
 * Calls `fn` on a thread that may block, while the caller waits and its worker runs other tasks
 * (thrum_blocking). Returns the result of `fn`, or throws its exception. With `fn` not called it
 * throws std::system_error: ECANCELED, EAGAIN, ENOMEM. It may suspend, and allocates nothing of its
 * own.
 */
template <typename Fn> auto blocking(Fn &&fn) -> std::invoke_result_t<Fn> {
    detail::call_elsewhere<Fn> one{std::addressof(fn), {}};
    check(thrum_blocking(decltype(one)::main, &one, nullptr));
    return one.ended.take();
}

/*
 * Calls `fn` on the caller's stack with a deadline for the caller itself (thrum_with_deadline).
 * Returns the result of `fn`, also past the deadline, or throws its exception. A std::system_error
 * with ECANCELED that the deadline has caused becomes one with ETIMEDOUT. On a plain thread it
 * throws ESRCH, with `fn` not called. It may suspend.
 */
template <typename Fn> auto with_deadline(deadline when, Fn &&fn) -> std::invoke_result_t<Fn> {
    detail::call_elsewhere<Fn> one{std::addressof(fn), {}};
    const int err = thrum_with_deadline(when.when(), decltype(one)::main, &one, nullptr);
    if (!one.began) {
        raise(err);
    }
#if THRUM_CPP_EXCEPTIONS
    try {
        return one.ended.take();
    } catch (const std::system_error &error) {
        if (err == -ETIMEDOUT &&
            error.code() == std::error_code(ECANCELED, std::generic_category())) {
            raise(err);
        }
        throw;
    }
#else
    return one.ended.take();
#endif
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
