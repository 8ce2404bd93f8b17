/*
 * thrum/cpp/event.hpp: events. The rules are those of thrum/event.h.
 *
 *     thrum::event ready(THRUM_EVENT_MANUAL);
 *     thrum::go([&] { prepare(); ready.signal(); });
 *     ready.wait();
 */
#ifndef THRUM_CPP_EVENT_HPP
#define THRUM_CPP_EVENT_HPP

#include "thrum/cpp/error.hpp"
#include "thrum/event.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {

/*
 * An event. It neither moves nor is copied, and allocates nothing. Its destructor calls
 * std::terminate if a caller still waits.
 */
class event {
  public:
    constexpr explicit event(thrum_event_mode mode, bool signaled = false) noexcept
        : event_(THRUM_EVENT_INIT(mode, signaled)) {
    }
    event(const event &) = delete;
    event &operator=(const event &) = delete;
    ~event() {
        const int err = thrum_event_destroy(&event_);
        if (err != 0) {
            detail::refused("thrum::~event", err);
        }
    }

    void signal() noexcept {
        thrum_event_signal(&event_);
    }
    /* Wakes all present waiters, and leaves no signal. */
    void pulse() noexcept {
        thrum_event_pulse(&event_);
    }
    void clear() noexcept {
        thrum_event_clear(&event_);
    }
    /* Throws std::system_error (ECANCELED). It may suspend, as the next two, which return. */
    void wait() {
        check(thrum_event_wait(&event_));
    }
    status wait_until(deadline when) noexcept {
        return status(thrum_event_wait_until(&event_, when.when()));
    }
    template <typename Rep, typename Period>
    status wait_for(std::chrono::duration<Rep, Period> length) noexcept {
        return wait_until(after(length));
    }
    /* Whether it is signaled; takes the signal of an auto event. It never suspends. */
    bool try_wait() noexcept {
        return thrum_event_test(&event_);
    }
    /* Whether it is signaled; changes nothing. */
    bool is_signaled() const noexcept {
        return thrum_event_is_signaled(&event_);
    }
    thrum_event *native_handle() noexcept {
        return &event_;
    }

  private:
    thrum_event event_;
};

/*
 * Waits until one of the events is signaled, as thrum_event_wait_any. The code is its number, from
 * 0, or a negative error code. It may suspend, and allocates nothing.
 */
template <typename... Events> status wait_any_until(deadline when, Events &...events) noexcept {
    thrum_event *const all[] = {events.native_handle()...};
    return status(thrum_event_wait_any(all, sizeof...(events), when.when()));
}
/* Does the same without a deadline; throws std::system_error (ECANCELED). */
template <typename... Events> int wait_any(Events &...events) {
    return check(thrum::wait_any_until(deadline::never(), events...).code());
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
