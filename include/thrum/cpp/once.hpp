/*
 * thrum/cpp/once.hpp: something that is done once, by the first caller; the others wait for it. The
 * rules are those of thrum/once.h.
 *
 *     static thrum::once opened;
 *     opened.call([&] { table = open_table(); });
 */
#ifndef THRUM_CPP_ONCE_HPP
#define THRUM_CPP_ONCE_HPP

#include "thrum/cpp/outcome.hpp"
#include "thrum/once.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * As std::once_flag, for tasks. It neither moves nor is copied, and allocates nothing. Its
 * destructor ends the program (std::terminate) while its function runs.
 */
class once {
  public:
    constexpr once() noexcept : once_(THRUM_ONCE_INIT) {
    }
    once(const once &) = delete;
    once &operator=(const once &) = delete;
    ~once() {
        const int err = thrum_once_destroy(&once_);
        if (err != 0) {
            detail::refused("thrum::~once", err);
        }
    }

    /*
     * Calls `fn` on the caller's stack unless that was done, or waits while another caller's runs.
     * Its exception is thrown here, and the call counts as not done. The same holds if it returns a
     * negative int, which becomes a std::system_error. It throws EDEADLK from within `fn`. It may
     * suspend, and is not cancelled.
     */
    template <typename Fn> void call(Fn &&fn) {
        calling<Fn> one{std::addressof(fn), {}};
        finish(one.failure, thrum_once_run(&once_, calling<Fn>::main, &one));
    }
    /*
     * Waits for another caller's function until then. The status is that of the once. An exception
     * of `fn` is thrown.
     */
    template <typename Fn> status call_until(deadline when, Fn &&fn) {
        calling<Fn> one{std::addressof(fn), {}};
        const int err = thrum_once_run_until(&once_, calling<Fn>::main, &one, when.when());
        one.failure.raise_any();
        return status(err);
    }
    template <typename Rep, typename Period, typename Fn>
    status call_for(std::chrono::duration<Rep, Period> length, Fn &&fn) {
        return call_until(after(length), std::forward<Fn>(fn));
    }
    bool is_done() const noexcept {
        return thrum_once_is_done(&once_);
    }
    thrum_once *native_handle() noexcept {
        return &once_;
    }

  private:
    template <typename Fn> struct calling {
        using returned = std::invoke_result_t<Fn>;
        static_assert(!detail::is_co<returned>::value && !detail::is_co_task<returned>::value,
                      "thrum::once: a call runs no coroutine; co_await thrum::called(once, fn)");
        std::remove_reference_t<Fn> *fn;
        detail::caught failure;
        static int main(void *arg) noexcept {
            auto *self = static_cast<calling *>(arg);
            int result = 0;
            self->failure.around([&] {
                if constexpr (std::is_same_v<returned, int>) {
                    result = std::forward<Fn>(*self->fn)();
                } else {
                    (void)std::forward<Fn> (*self->fn)();
                }
            });
            return self->failure.is_set() ? -EIO : result;
        }
    };
    static void finish(detail::caught &failure, int err) {
        failure.raise_any();
        check(err);
    }

    thrum_once once_;
};

/* As std::call_once, by the rules of `once::call`; `fn` is no pointer to a member. */
template <typename Fn, typename... Args> void call_once(once &flag, Fn &&fn, Args &&...args) {
    flag.call([&]() -> std::invoke_result_t<Fn, Args...> {
        return std::forward<Fn>(fn)(std::forward<Args>(args)...);
    });
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
