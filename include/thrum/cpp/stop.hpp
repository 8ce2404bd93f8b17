/*
 * thrum/cpp/stop.hpp: std::stop_token of C++20 cancels tasks and scopes.
 *
 *     thrum::cancel_on_stop linked(token, scope);
 */
#ifndef THRUM_CPP_STOP_HPP
#define THRUM_CPP_STOP_HPP

#if __has_include(<version>)
#include <version>
#endif

#if defined(__cpp_lib_jthread)

#include <optional>
#include <stop_token>
#include <utility>

#include "thrum/event.h"
#include "thrum/spawn.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * While it is there, a stop of the token cancels the target: anything with a `cancel()` that any
 * thread may call. A scope may be joined meanwhile, and is to be: call its `join` before this object
 * is gone, since a stop that comes later is not heard. A task must be neither joined nor moved
 * while this object lives, because a join takes the handle away that a cancel needs. If the stop
 * was asked for already, it cancels at once. The destructor waits until a cancel that has begun is
 * over: it may suspend.
 */
template <typename Target> class [[nodiscard]] cancel_on_stop {
  public:
    cancel_on_stop(std::stop_token token, Target &target) : target_(&target) {
        thrum_event_init(&idle_, THRUM_EVENT_MANUAL, true);
        callback_.emplace(std::move(token), cancels{this});
    }
    cancel_on_stop(const cancel_on_stop &) = delete;
    cancel_on_stop &operator=(const cancel_on_stop &) = delete;
    ~cancel_on_stop() {
        /* The standard's callback waits for one on another thread. A cancel may suspend, though,
         * and its thread may be this one. */
        callback_.reset();
        thrum_shield_begin();
        const int err = thrum_event_wait(&idle_);
        (void)err; /* it cannot fail: nothing cancels it here */
        thrum_shield_end();
    }

  private:
    struct cancels {
        cancel_on_stop *self;
        void operator()() const noexcept {
            cancel_on_stop *const of = self; /* the callback may be gone when the cancel is over */
            thrum_event_clear(&of->idle_);
            of->target_->cancel();
            thrum_event_signal(&of->idle_);
        }
    };
    Target *target_;
    thrum_event idle_;
    std::optional<std::stop_callback<cancels>> callback_;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
#endif
