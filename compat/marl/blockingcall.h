/*
 * marl/blockingcall.h: calls that block their thread. They run on threads of thrum's blocking pool,
 * where the caller's scheduler is bound, while the caller lets other tasks run.
 */
#ifndef THRUM_COMPAT_MARL_BLOCKINGCALL_H
#define THRUM_COMPAT_MARL_BLOCKINGCALL_H

#include "defer.h"
#include "scheduler.h"
#include "waitgroup.h"

#include <type_traits>
#include <utility>

namespace marl {
namespace detail {

/* Makes the call on another thread; on the caller's own if no scheduler is bound to it. */
template <typename Call> class Blocking {
  public:
    Blocking(Call &what) : call(what), scheduler(Scheduler::get()) {
        must("marl::blocking_call", wait_uncancelled("marl::blocking_call", [this] {
                 return thrum_blocking(run, this, nullptr);
             }));
    }

  private:
    static int run(void *arg) noexcept {
        Blocking *self = static_cast<Blocking *>(arg);
        if (self->scheduler) {
            self->scheduler->bind();
        }
        self->call();
        if (self->scheduler) {
            Scheduler::unbind();
        }
        return 0;
    }

    Call &call;
    Scheduler *const scheduler;
};

template <typename R> struct BlockingResult {
    template <typename Call> static R of(Call &&call) {
        typename aligned_storage<sizeof(R), alignof(R)>::type memory;
        R *result = static_cast<R *>(static_cast<void *>(&memory));
        auto keep = [&] { new (&memory) R(call()); };
        Blocking<decltype(keep)> made(keep);
        defer(result->~R());
        return std::move(*result);
    }
};

template <typename R> struct BlockingResult<R &> {
    template <typename Call> static R &of(Call &&call) {
        R *result = nullptr;
        auto keep = [&] { result = std::addressof(call()); };
        Blocking<decltype(keep)> made(keep);
        return *result;
    }
};

template <> struct BlockingResult<void> {
    template <typename Call> static void of(Call &&call) {
        Blocking<typename std::remove_reference<Call>::type> made(call);
    }
};

} // namespace detail

/* Returns f(args...). */
template <typename F, typename... Args>
inline auto blocking_call(F &&f, Args &&...args) -> decltype(f(args...)) {
    using Result = decltype(f(args...));
    auto call = [&]() -> Result { return f(args...); };
    return detail::BlockingResult<Result>::of(call);
}

} // namespace marl

#endif
