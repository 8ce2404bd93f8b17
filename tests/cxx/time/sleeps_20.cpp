/*
 * sleeps_20.cpp: sleeps of coroutines and of fibers in C++, and deadlines of senders.
 */
#include "time/hours.h"

#include <thrum/cpp/execution.hpp>
#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

namespace {

constexpr std::chrono::nanoseconds hour{HOUR};

thrum::co<> sleeps() {
    thrum_time when = thrum_after(3 * HOUR);
    co_await thrum::sleep_for(3 * hour);
    CHECK_NOW(when);
    when += HOUR;
    CHECK(static_cast<bool>(co_await thrum::pause_until(by(when))));
    CHECK_NOW(when);
    CHECK(static_cast<bool>(co_await thrum::pause_until(by(when)))); /* it has passed */
    CHECK_NOW(when);
}

/* Ends a sender at an instant. */
struct at_instant {
    thrum_time when;
    thrum::event *over;
    void set_value() noexcept {
        CHECK_NOW(when);
        over->signal();
    }
    void set_stopped() noexcept {
        CHECK(false);
    }
};

} // namespace

TEST(a_sleep_ends_at_its_instant) {
    /* It may be of a coroutine that is spawned or waited for, or of the fiber itself. */
    auto other = thrum::spawn(sleeps());
    thrum_time when = thrum_after(HOUR);
    thrum::sleep(hour);
    CHECK_NOW(when);
    when += HOUR;
    CHECK(static_cast<bool>(thrum::sleep_until(by(when))));
    CHECK_NOW(when);
    thrum::sync_wait(sleeps());
    other.join();
}

TEST(a_sender_ends_at_its_instant) {
    /* Given as an instant, or as a length from the start on. */
    const thrum::execution::scheduler on(thrum_sched_current());
    thrum::event over(THRUM_EVENT_AUTO);
    const thrum_time when = thrum_after(HOUR);
    auto first = on.schedule_at(by(when)).connect(at_instant{when, &over});
    auto second = on.schedule_after(hour).connect(at_instant{when + HOUR, &over});
    first.start();
    over.wait();
    second.start();
    over.wait();
}
