/*
 * marl/event.h: an event that is signaled or not. Copies are one and the same event, so tasks take
 * it by value.
 */
#ifndef THRUM_COMPAT_MARL_EVENT_H
#define THRUM_COMPAT_MARL_EVENT_H

#include "conditionvariable.h"
#include "containers.h"
#include "export.h"
#include "memory.h"

#include <chrono>
#include <memory>
#include <mutex>

namespace marl {

class Event {
  public:
    enum class Mode : uint8_t {
        Auto,  /* a signal lets one wait through, present or future */
        Manual /* a signal lets all waits through, until clear() */
    };

    Event(Mode mode = Mode::Auto, bool initialState = false,
          Allocator *allocator = Allocator::Default)
        : shared(allocator->make_shared<Shared>(mode, initialState, allocator)) {
    }

    /* Without effect on an event that is signaled. */
    void signal() const {
        shared->signal();
    }

    void clear() const {
        thrum_event_clear(&shared->event);
    }

    void wait() const {
        (void)shared->wait(THRUM_FOREVER);
    }

    /* Waits for a time. Returns whether the event was signaled. */
    template <typename Rep, typename Period>
    bool wait_for(const std::chrono::duration<Rep, Period> &duration) const {
        return shared->wait(detail::deadline_after(duration));
    }

    /* Waits until an instant. Returns whether the event was signaled. */
    template <typename Clock, typename Duration>
    bool wait_until(const std::chrono::time_point<Clock, Duration> &timeout) const {
        return shared->wait(detail::deadline_at(timeout));
    }

    /* Whether it is signaled; clears an Auto event. */
    bool test() const {
        return thrum_event_test(&shared->event);
    }

    /* Whether it is signaled at this moment; changes nothing. */
    bool isSignalled() const {
        return thrum_event_is_signaled(&shared->event);
    }

    /* Makes an event that is signaled whenever one of these is. */
    template <typename Iterator>
    static Event any(Mode mode, const Iterator &begin, const Iterator &end) {
        Event out(mode);
        for (Iterator it = begin; it != end; it++) {
            it->shared->tell(out.shared);
        }
        return out;
    }

    template <typename Iterator> static Event any(const Iterator &begin, const Iterator &end) {
        return any(Mode::Auto, begin, end);
    }

  private:
    struct Shared {
        Shared(Mode mode, bool signaled, Allocator *allocator) : told(allocator) {
            thrum_event_init(&event, mode == Mode::Auto ? THRUM_EVENT_AUTO : THRUM_EVENT_MANUAL,
                             signaled);
        }

        void signal() {
            std::lock_guard<std::mutex> guard(mutex);
            if (thrum_event_is_signaled(&event)) {
                return;
            }
            thrum_event_signal(&event);
            for (const std::weak_ptr<Shared> &one : told) {
                if (std::shared_ptr<Shared> any = one.lock()) {
                    any->signal();
                }
            }
        }

        bool wait(thrum_time deadline) {
            thrum_event *of = &event;
            return detail::wait_uncancelled("marl::Event::wait", [of, deadline] {
                       return thrum_event_wait_until(of, deadline);
                   }) == 0;
        }

        /* Lets another event know of this one's signals, also of a present one. */
        void tell(const std::shared_ptr<Shared> &any) {
            std::lock_guard<std::mutex> guard(mutex);
            if (thrum_event_is_signaled(&event)) {
                any->signal();
            }
            for (std::weak_ptr<Shared> &one : told) {
                if (one.expired()) { /* nobody can wait for it: its place is free */
                    one = any;
                    return;
                }
            }
            told.push_back(any);
        }

        thrum_event event;
        std::mutex mutex;
        containers::vector<std::weak_ptr<Shared>, 1> told; /* protected by the mutex */
    };

    const std::shared_ptr<Shared> shared;
};

} // namespace marl

#endif
