/*
 * thrum/cpp/chain.hpp: the common part of coroutines that await one another: their canceller, and
 * the loop that runs them.
 */
#ifndef THRUM_CPP_CHAIN_HPP
#define THRUM_CPP_CHAIN_HPP

#if defined(__cpp_impl_coroutine)

#include <sched.h>

#include <atomic>
#include <coroutine>
#include <type_traits>
#include <utility>

#include "thrum/cpp/error.hpp"
#include "thrum/spawn.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {
namespace detail {

/* The wait that a coroutine is in; a canceller interrupts it. */
class interruptible {
  public:
    virtual void interrupt() noexcept = 0;

  protected:
    ~interruptible() = default;
};

/*
 * Whether a coroutine that was spawned is cancelled, and the wait that it is in. The word is
 *     NULL           it does not wait
 *     what           it waits in that
 *     INTERRUPTING   it is cancelled, and its wait is being interrupted, and so stays there
 *     CANCELLED      it is cancelled, and begins no wait
 */
class stopping {
  public:
    /* False: it is cancelled. */
    bool enter(interruptible *what) noexcept {
        uintptr_t none = 0;
        return xword_.compare_exchange_strong(none, reinterpret_cast<uintptr_t>(what),
                                              std::memory_order_acq_rel);
    }
    /* The wait that was entered is over. Afterwards nobody interrupts it. It may suspend. */
    void leave(interruptible *what) noexcept {
        uintptr_t seen = reinterpret_cast<uintptr_t>(what);
        if (!xword_.compare_exchange_strong(seen, 0, std::memory_order_acq_rel)) {
            while (xword_.load(std::memory_order_acquire) == INTERRUPTING) {
                /* The canceller is in interrupt, or a fiber that has suspended there: it may be
                 * queued on this worker (thrum_cancel, of the task that in_task waits for). */
                thrum_yield();
                sched_yield();
            }
        }
    }
    void cancel() noexcept {
        uintptr_t seen = xword_.load(std::memory_order_acquire);
        do {
            if (seen == INTERRUPTING || seen == CANCELLED) {
                return;
            }
        } while (!xword_.compare_exchange_weak(seen, seen ? INTERRUPTING : CANCELLED,
                                               std::memory_order_acq_rel));
        if (seen) {
            reinterpret_cast<interruptible *>(seen)->interrupt();
            xword_.store(CANCELLED, std::memory_order_release);
        }
    }
    bool is_cancelled() const noexcept {
        const uintptr_t seen = xword_.load(std::memory_order_acquire);
        return seen == INTERRUPTING || seen == CANCELLED;
    }

  private:
    static constexpr uintptr_t INTERRUPTING = 1;
    static constexpr uintptr_t CANCELLED = 2;
    std::atomic<uintptr_t> xword_{0};
};

/*
 * Coroutines of which each awaits the next. One loop runs them: a coroutine that awaits another, or
 * has ended, leaves the one that goes on in `*next_` and returns. So no stack grows, even if the
 * compiler makes no jump of a transfer (gcc below -O2, or with the address sanitizer).
 *
 * After each wait of ours the coroutine goes on in a loop. Others resume it as they like, and the
 * loop may be gone by then. So an await of something else clears `next_`. Afterwards
 *     the chain begins a new loop when it goes over to another coroutine, or,
 *     with `transfers_`, transfers: the other has done so, too, perhaps above the first loop.
 */
class chain : public stopping {
  public:
    /* Runs a coroutine, and the coroutines that go on then. They may free the chain. */
    [[gnu::noinline]] void run(std::coroutine_handle<> who) noexcept {
        std::coroutine_handle<> next = who;
        next_ = &next;
        do {
            std::exchange(next, nullptr).resume();
        } while (next);
    }
    /* The running coroutine suspends, and this one goes on. The result is to be resumed. */
    std::coroutine_handle<> go_over(std::coroutine_handle<> to) noexcept {
        if (next_) {
            *next_ = to;
        } else if (transfers_) {
            return to;
        } else {
            run(to);
        }
        return std::noop_coroutine();
    }

  private:
    friend class loop_left;

    std::coroutine_handle<> *next_ = nullptr;
    bool transfers_ = false;
};

/* The chain of a coroutine of ours; others have none, and transfer. */
template <typename Promise> chain *chain_of(std::coroutine_handle<Promise> who) noexcept {
    if constexpr (requires(chain * own) { own = who.promise().own_chain; }) {
        return who.promise().own_chain;
    } else {
        return nullptr;
    }
}
inline std::coroutine_handle<> go_over(chain *in, std::coroutine_handle<> to) noexcept {
    return in ? in->go_over(to) : to;
}

/* Leaves the loop for something that is not ours, for good if that suspends the coroutine. */
class loop_left {
  public:
    loop_left(chain *of, bool transfers) noexcept : of_(of) {
        if (of) {
            next_ = std::exchange(of->next_, nullptr);
            of->transfers_ = transfers;
        }
    }
    ~loop_left() {
        if (of_) {
            of_->next_ = next_;
        }
    }
    loop_left(const loop_left &) = delete;
    loop_left &operator=(const loop_left &) = delete;
    void for_good() noexcept {
        of_ = nullptr;
    }

  private:
    chain *of_;
    std::coroutine_handle<> *next_ = nullptr;
};

/* The base of our awaiters: after a wait in one of them `chain::run` resumes the coroutine. */
class ours {};

/* An awaiter, or a reference to one: gcc 12 copies it if await_transform returns a reference. */
template <typename Awaiter> struct passed {
    decltype(auto) await_ready() {
        return awaiter.await_ready();
    }
    template <typename Promise> auto await_suspend(std::coroutine_handle<Promise> who) {
        return awaiter.await_suspend(who);
    }
    decltype(auto) await_resume() {
        return awaiter.await_resume();
    }
    Awaiter awaiter;
};

/* One that is not ours. */
template <typename Awaiter> struct others : passed<Awaiter> {
    template <typename Promise>
    [[gnu::noinline]] auto await_suspend(std::coroutine_handle<Promise> who) {
        using how = decltype(this->awaiter.await_suspend(who));
        loop_left left(chain_of(who), !std::is_void_v<how> && !std::is_same_v<how, bool>);
        if constexpr (std::is_void_v<how>) {
            this->awaiter.await_suspend(who);
            left.for_good(); /* the coroutine may be gone */
        } else {
            how suspends = this->awaiter.await_suspend(who);
            if (suspends) {
                left.for_good();
            }
            return suspends;
        }
    }
};

template <typename What> decltype(auto) awaiter_of(What &&what) {
    if constexpr (requires { std::forward<What>(what).operator co_await(); }) {
        return std::forward<What>(what).operator co_await();
    } else if constexpr (requires { operator co_await(std::forward<What>(what)); }) {
        return operator co_await(std::forward<What>(what));
    } else {
        return std::forward<What>(what);
    }
}

} // namespace detail
} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
#endif
