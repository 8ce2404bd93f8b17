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

#include "thrum/cpp/error.hpp"
#include "thrum/event.h"
#include "thrum/sched.h"
#include "thrum/spawn.h"
#include "thrum/task.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * While it is there, a stop of the token cancels the target: anything with a `cancel()` that any
 * thread may call. A scope may be joined meanwhile. Call its `join` before this object is gone,
 * since a stop that comes later has no effect. A task must be neither joined nor moved while this
 * object lives, because a join takes the handle away that a cancel needs. If the stop was requested
 * already, it cancels at once. The destructor waits until a cancel that has begun is over. Both may
 * suspend; the request for the stop does not.
 */
template <typename Target> class [[nodiscard]] cancel_on_stop {
  public:
    [[nodiscard]] cancel_on_stop(std::stop_token token, Target &target) : target_(&target) {
        thrum_event_init(&idle_, THRUM_EVENT_MANUAL, true);
        if (token.stop_requested()) {
            target.cancel();
        } else {
            callback_.emplace(std::move(token), stopped{this});
        }
    }
    cancel_on_stop(const cancel_on_stop &) = delete;
    cancel_on_stop &operator=(const cancel_on_stop &) = delete;
    ~cancel_on_stop() {
        callback_.reset(); /* waits for one that runs on another thread, which is over soon */
        thrum_shield_begin();
        const int err = thrum_event_wait(&idle_);
        (void)err; /* it cannot fail: nothing cancels it here */
        thrum_shield_end();
    }

  private:
    /*
     * The standard's callback may not suspend: it would go on on another thread, and the standard
     * compares threads to see whether the callback destroys itself. So in a task a run of its own
     * cancels.
     */
    struct stopped {
        cancel_on_stop *self;
        void operator()() const noexcept {
            cancel_on_stop *const of = self; /* the callback may be gone when the cancel is over */
            thrum_event_clear(&of->idle_);
            thrum_task_init(&of->task_, run, of);
            thrum_sched *here = thrum_sched_current();
            if (!here || thrum_task_post(here, &of->task_) != 0) {
                cancel(of);
            }
        }
    };
    static void run(thrum_task *, void *arg) {
        cancel(static_cast<cancel_on_stop *>(arg));
    }
    static void cancel(cancel_on_stop *of) noexcept {
        of->target_->cancel();
        thrum_event_signal(&of->idle_); /* after that, all of it may be gone */
    }

    Target *target_;
    thrum_event idle_;
    thrum_task task_;
    std::optional<std::stop_callback<stopped>> callback_;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
#endif
