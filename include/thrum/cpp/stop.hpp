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

#include <stop_token>

namespace thrum {

/*
 * While it is there, a stop of the token cancels the target (anything with `cancel()`): a task or a
 * scope, which must be neither joined nor moved while this object lives. If the stop was asked for
 * already, it cancels at once.
 */
template <typename Target> class [[nodiscard]] cancel_on_stop {
  public:
    cancel_on_stop(std::stop_token token, Target &target)
        : callback_(std::move(token), cancels{&target}) {
    }

  private:
    struct cancels {
        Target *target;
        void operator()() const noexcept {
            target->cancel();
        }
    };
    std::stop_callback<cancels> callback_;
};

} // namespace thrum

#endif
#endif
