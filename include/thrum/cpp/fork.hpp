/*
 * thrum/cpp/fork.hpp: fork and join of a callable in the caller's frame, without allocation.
 *
 *     thrum::fork left([&] { return sum(first, middle); });
 *     long right = sum(middle, last);
 *     return left.join() + right;
 *
 * thrum/fork.h describes which thread makes the call, and the consequences.
 */
#ifndef THRUM_CPP_FORK_HPP
#define THRUM_CPP_FORK_HPP

#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "thrum/cpp/error.hpp"
#include "thrum/cpp/outcome.hpp"
#include "thrum/fork.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {
namespace detail {

/*
 * The end of a forked call: nothing yet, its result, or its exception. The code that
 * thrum_fork_join returns distinguishes them. So nothing has to be written before the call, and a
 * join looks at a register.
 */
template <typename T> union forked_result {
    forked_result() noexcept {
    }
    ~forked_result() {
    }
    template <typename Fn> void make(Fn &fn) {
        ::new (static_cast<void *>(std::addressof(value))) std::remove_cv_t<T>(fn());
    }
    void drop() noexcept {
        std::destroy_at(std::addressof(value));
    }
    T take() {
        struct last {
            ~last() {
                of->drop();
            }
            forked_result *of;
        };
        last taken{this};
        return std::move(value);
    }

    std::remove_cv_t<T> value;
    std::exception_ptr exception;
};

template <typename T> union forked_result<T &> {
    forked_result() noexcept {
    }
    ~forked_result() {
    }
    template <typename Fn> void make(Fn &fn) {
        value = std::addressof(fn());
    }
    void drop() noexcept {
    }
    T &take() noexcept {
        return *value;
    }

    T *value;
    std::exception_ptr exception;
};

template <> union forked_result<void> {
    forked_result() noexcept {
    }
    ~forked_result() {
    }
    template <typename Fn> void make(Fn &fn) {
        (void)fn();
    }
    void drop() noexcept {
    }
    void take() noexcept {
    }

    std::exception_ptr exception;
};

/* Throws the exception, and destroys its holder. */
[[noreturn, gnu::cold, gnu::noinline]] inline void raise_forked(std::exception_ptr &kept) {
#if THRUM_CPP_EXCEPTIONS
    std::exception_ptr thrown = std::move(kept);
    std::destroy_at(&kept);
    std::rethrow_exception(std::move(thrown));
#else
    (void)kept;
    std::terminate();
#endif
}

} // namespace detail

/*
 * A call that others may make until it is joined. It neither moves nor is copied, and is joined or
 * destroyed in the frame that made it, the youngest first, as scopes of C++ do by themselves. Its
 * destructor joins a fork that was not joined, which may suspend, and drops the result or the
 * exception.
 */
template <typename Fn> class [[nodiscard]] fork {
    using result = std::invoke_result_t<Fn &>;
    static_assert(!detail::is_co<result>::value,
                  "thrum::fork: the co that fn returns would not begin; co_await thrum::when_all "
                  "runs several");

  public:
    /*
     * Allows the call from now on. It never suspends, and throws only the exceptions of moving
     * `fn`.
     */
    [[nodiscard]] explicit fork(Fn fn) noexcept(std::is_nothrow_move_constructible_v<Fn>)
        : fn_(std::move(fn)) {
        thrum_fork_start(&fork_, main, this);
    }
    fork(const fork &) = delete;
    fork &operator=(const fork &) = delete;
    ~fork() {
        if (!joined_) {
            drop(thrum_fork_join(&fork_));
        }
    }

    /*
     * Makes the call, or waits for it, and returns its result or throws its exception. It is called
     * once, by the task that made the fork. It may suspend, and a cancel does not end it.
     */
    result join() {
        if (__builtin_expect(thrum_fork_take_back(&fork_), true)) {
            struct end { /* also of a call that throws */
                ~end() {
                    of->joined_ = true;
                }
                fork *of;
            };
            const end joins{this};
            return fn_(); /* right here, so that the compiler may inline it */
        }
        const int code = thrum_fork_join(&fork_);
        if (__builtin_expect(code != RETURNED, false)) {
            joined_ = true;
            detail::raise_forked(ended_.exception);
        }
        joined_ = true; /* after all calls, so the compiler knows it in the destructor */
        return ended_.take();
    }

  private:
    enum { RETURNED, THREW };

    static int main(void *arg) noexcept {
        auto *self = static_cast<fork *>(arg);
#if THRUM_CPP_EXCEPTIONS
        try {
            self->ended_.make(self->fn_);
        } catch (...) {
            ::new (static_cast<void *>(&self->ended_.exception))
                std::exception_ptr(std::current_exception());
            return THREW;
        }
#else
        self->ended_.make(self->fn_);
#endif
        return RETURNED;
    }
    void drop(int code) noexcept {
        if (code == RETURNED) {
            ended_.drop();
        } else {
            std::destroy_at(&ended_.exception);
        }
    }

    thrum_fork fork_; /* first, so that its address, which the calls get, is the object's */
    Fn fn_;
    detail::forked_result<result> ended_;
    bool joined_ = false;
};

template <typename Fn> fork(Fn) -> fork<Fn>;

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
