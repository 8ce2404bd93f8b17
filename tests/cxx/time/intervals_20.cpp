/*
 * intervals_20.cpp: the class of intervals: its waits, the case of a select, a coroutine.
 */
#include "time/hours.h"

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

namespace {

constexpr std::chrono::nanoseconds hour{HOUR};

thrum::co<> ticks() {
    const thrum_time began = thrum_now();
    thrum::interval interval(hour);
    for (int i = 1; i <= 3; i++) {
        CHECK(static_cast<bool>(co_await thrum::pause_until(interval.next())));
        CHECK(interval.try_wait());
        CHECK_NOW(began + i * HOUR);
    }
}

} // namespace

TEST(an_interval_ticks) {
    /* The first tick comes after a period, or at the instant that is named. */
    const thrum_time began = thrum_now();
    thrum::interval interval(by(began + HOUR), 2 * hour);
    interval.wait();
    CHECK_NOW(began + HOUR);
    CHECK_EQ(interval.next().when(), began + 3 * HOUR);
    CHECK(static_cast<bool>(interval.wait_for(100 * hour)));
    CHECK_NOW(began + 3 * HOUR);
    thrum::interval rare(std::chrono::hours(1000), THRUM_MISSED_SKIP);
    CHECK(!rare.try_wait());
    CHECK(rare.wait_until(by(began)).timed_out());
    rare.native_handle()->next = began;
    CHECK(rare.try_wait());
    CHECK_EQ(rare.skipped(), 0);
    CHECK(rare.next().when() == began + THRUM_S(3600000));
}

TEST(a_tick_is_a_case) {
    /* It calls its function, and leaves the other cases. */
    const thrum_time began = thrum_now();
    thrum::interval interval(by(began + HOUR), hour);
    thrum::event never(THRUM_EVENT_MANUAL);
    int ticks = 0;
    while (ticks < 3) {
        thrum::select(thrum::on_event(never, [] { CHECK(false); }),
                      thrum::on_tick(interval, [&] { ticks++; }));
        CHECK_NOW(began + ticks * HOUR);
    }
}

TEST(a_coroutine_awaits_ticks) {
    /* It pauses until the next one is due, and takes it. */
    thrum::sync_wait(ticks());
}
