/*
 * thrum/cpp/fork.hpp: fork and join of a callable in the caller's frame, without allocation.
 *
 *     thrum::fork left([&] { return sum(first, middle); });
 *     long right = sum(middle, last);
 *     return left.join() + right;
 *
 * thrum/fork.h says where the call is made, and what follows from that.
 */
#ifndef THRUM_CPP_FORK_HPP
#define THRUM_CPP_FORK_HPP

#include "thrum/cpp/outcome.hpp"
#include "thrum/fork.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * A call that others may make until it is joined. It neither moves nor is copied, and is joined or
 * destroyed in the frame that made it, the youngest first, as scopes of C++ do by themselves. Its
 * destructor joins what was not joined, which may suspend, and drops what the call returned or
 * threw.
 */
template <typename Fn> class [[nodiscard]] fork {
    using result = std::invoke_result_t<Fn &>;

  public:
    /* Allows the call from now on. It never suspends, and throws only what moving `fn` throws. */
    [[nodiscard]] explicit fork(Fn fn) noexcept(std::is_nothrow_move_constructible_v<Fn>)
        : fn_(std::move(fn)) {
        thrum_fork_start(&fork_, main, this);
    }
    fork(const fork &) = delete;
    fork &operator=(const fork &) = delete;
    ~fork() {
        if (!joined_) {
            (void)thrum_fork_join(&fork_);
        }
    }

    /*
     * Makes the call, or waits for it, and returns its result or throws what it threw. It is called
     * once, by the task that made the fork. It may suspend, and a cancel does not end it.
     */
    result join() {
        joined_ = true;
        (void)thrum_fork_join(&fork_);
        return ended_.take();
    }

  private:
    static int main(void *arg) noexcept {
        auto *self = static_cast<fork *>(arg);
        self->ended_.run([self]() -> result { return self->fn_(); });
        return 0;
    }

    Fn fn_;
    detail::outcome<result> ended_;
    thrum_fork fork_;
    bool joined_ = false;
};

template <typename Fn> fork(Fn) -> fork<Fn>;

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
