/*
 * sleeps_20.cpp: sleeps of coroutines and of fibers in C++.
 */
#include "time/hours.h"

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
