/*
 * sync.cpp: events, semaphores, waitgroups, barriers, onces and tickets in C++.
 */
/* matrix: policy workers */
#include "check.h"

#include <memory>
#include <string>
#include <vector>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

using namespace std::chrono_literals;

TEST(an_event_lets_through) {
    /* An auto event one waiter, a manual one all; each way to wait tells what it found. */
    thrum::run([] {
        thrum::event one(THRUM_EVENT_AUTO, true);
        CHECK(one.is_signaled());
        one.wait();
        CHECK(!one.try_wait());
        CHECK(one.wait_for(1ms).timed_out());
        CHECK(one.wait_until(by(past())).timed_out());
        thrum::event all(THRUM_EVENT_MANUAL);
        auto waiter = thrum::spawn([&] { all.wait(); });
        all.signal();
        waiter.join();
        CHECK(all.try_wait() && all.is_signaled());
        all.clear();
        all.pulse();
        CHECK(!all.is_signaled());
        auto cancelled = thrum::spawn([&] { return code_of([&] { all.wait(); }); });
        cancelled.cancel();
        CHECK_EQ(cancelled.join(), ECANCELED);
    });
}

TEST(one_of_several_events_ends_a_wait) {
    /* Its number is told, and only its signal is taken. */
    thrum::run([] {
        thrum::event first(THRUM_EVENT_AUTO);
        thrum::event second(THRUM_EVENT_AUTO);
        CHECK(thrum::wait_any_until(by(soon()), first, second).timed_out());
        auto sender = thrum::spawn([&] { second.signal(); });
        CHECK_EQ(thrum::wait_any(first, second), 1);
        CHECK(!second.is_signaled());
        sender.join();
    });
}

TEST(a_semaphore_gives_units) {
    /* One, or several at once, or none where there are too few. */
    thrum::run([] {
        thrum::semaphore units(2);
        CHECK(units.try_wait(3).busy());
        units.wait(2);
        CHECK(units.try_wait().busy());
        CHECK(units.wait_for(1ms).timed_out());
        auto giver = thrum::spawn([&] { units.post(3); });
        units.wait(2);
        CHECK(bool(units.wait_until(thrum::deadline::never())));
        giver.join();
        auto cancelled = thrum::spawn([&] { return code_of([&] { units.wait(); }); });
        cancelled.cancel();
        CHECK_EQ(cancelled.join(), ECANCELED);
    });
}

TEST(a_waitgroup_waits_for_all) {
    /* Each part says that it is done when its block ends, also by an exception. */
    thrum::run([] {
        thrum::waitgroup group(1);
        CHECK(group.wait_for(1ms).timed_out());
        std::atomic<int> ran(0);
        group.add(2);
        for (int i = 0; i < 3; i++) {
            thrum::go([&] {
                (void)code_of([&] {
                    thrum::defer end([&] { group.done(); });
                    ran++;
                    throw std::runtime_error("x");
                });
            });
        }
        group.wait();
        CHECK_EQ(ran.load(), 3);
        CHECK(bool(group.wait_until(thrum::deadline::never())));
    });
}

TEST(a_barrier_tells_the_last) {
    /* Exactly one of the participants, each time; one that gives up has not come. */
    thrum::run([] {
        thrum::barrier meeting(3);
        CHECK(meeting.wait_for(1ms).timed_out());
        std::atomic<int> last(0);
        thrum::scope scope;
        for (int i = 0; i < 3; i++) {
            scope.go([&] {
                last += meeting.wait();
                last += meeting.wait_until(thrum::deadline::never()).code();
            });
        }
        scope.join();
        CHECK_EQ(last.load(), 2);
    });
}

TEST(a_once_is_done_once) {
    /* By whoever comes first; a function that throws, or returns a code, leaves it to the next. */
    thrum::run([] {
        thrum::once flag;
        CHECK_EQ(code_of([&] { flag.call([] { throw std::runtime_error("x"); }); }), -1);
        CHECK_EQ(code_of([&] { flag.call([] { return -ENOENT; }); }), ENOENT);
        CHECK(!flag.is_done());
        std::atomic<int> calls(0);
        thrum::parallel_for(0, 20, 1, [&](size_t) {
            thrum::call_once(flag, [&] {
                thrum::yield();
                calls++;
            });
        });
        CHECK_EQ(calls.load(), 1);
        CHECK(flag.is_done());
        CHECK(bool(flag.call_for(1h, [&] { calls++; })));
        CHECK_EQ(calls.load(), 1);
    });
}

TEST(a_once_is_not_done_within_itself) {
    /* It says so, and its function goes on. */
    thrum::run([] {
        thrum::once flag;
        int code = 0;
        flag.call([&] { code = code_of([&] { flag.call([] {}); }); });
        CHECK_EQ(code, EDEADLK);
        CHECK(flag.is_done());
    });
}

TEST(tickets_keep_their_order) {
    /* What is given to an order runs in it, however shared out; a ticket ends with its block. */
    thrum::run([] {
        std::vector<int> seen;
        thrum::tickets order;
        {
            thrum::ticket first(order);
            for (int i = 0; i < 50; i++) {
                order.go([&seen, i] {
                    thrum::yield();
                    seen.push_back(i);
                });
            }
            CHECK(first.is_called());
            first.wait();
            thrum::ticket dropped(order);
            CHECK(dropped.wait_for(1ms).timed_out());
            CHECK_EQ(seen.size(), 0);
        }
        thrum::ticket last(order);
        last.wait();
        CHECK_EQ(seen.size(), 50);
        for (size_t i = 0; i < seen.size(); i++) {
            CHECK_EQ(seen[i], i);
        }
        last.done();
        CHECK_EQ(code_of([&] { last.wait(); }), EINVAL);
    });
}

TEST(primitives_allocate_nothing) {
    /* Not a new for any of them; one for a callable that waits for its turn. */
#ifdef NEW_IS_TAKEN
    CHECK_SKIP("the sanitizer counts allocations, not we");
#endif
    thrum::run([] {
        const int before = allocations.load();
        thrum::event event(THRUM_EVENT_MANUAL, true);
        event.wait();
        thrum::semaphore units(1);
        units.wait();
        thrum::waitgroup group;
        group.wait();
        thrum::barrier alone(1);
        CHECK(alone.wait());
        thrum::once flag;
        flag.call([] {});
        thrum::tickets order;
        {
            thrum::ticket one(order);
            one.wait();
        }
        CHECK_EQ(thrum::blocking([] { return 5; }), 5);
        CHECK_EQ(thrum::with_deadline(by(far_off()), [] { return 6; }), 6);
        CHECK_EQ(allocations.load(), before);
        order.go([kept = counted()] {});
        CHECK_EQ(allocations.load(), before + 1);
        thrum::ticket behind(order);
        behind.wait();
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(a_blocking_call_returns_and_throws) {
    /* What its function did, on another thread. */
    thrum::run([] {
        auto text = thrum::blocking([] { return std::string("there"); });
        CHECK_STR(text.c_str(), "there");
        CHECK_EQ(code_of([] { thrum::blocking([] { throw std::runtime_error("x"); }); }), -1);
        int there = 0;
        CHECK(&thrum::blocking([&]() -> int & { return there; }) == &there);
    });
}

TEST(a_call_has_a_deadline_of_its_own) {
    /* A wait that it cuts short says that it timed out; what the call returns counts. */
    thrum::run([] {
        CHECK_EQ(code_of([] { thrum::with_deadline(by(soon()), [] { thrum::sleep(1h); }); }),
                 ETIMEDOUT);
        CHECK_EQ(thrum::with_deadline(by(soon()), [] { return code_of([] { thrum::sleep(1h); }); }),
                 ECANCELED);
        nap();
        auto task = thrum::spawn([] {
            return code_of([] { thrum::with_deadline(by(far_off()), [] { thrum::sleep(1h); }); });
        });
        task.cancel();
        CHECK_EQ(task.join(), ECANCELED);
    });
    CHECK_EQ(code_of([] { thrum::with_deadline(by(far_off()), [] {}); }), ESRCH);
}

TEST(timed_forms_take_durations) {
    /* Of joins, conditions and channels, as of all that waits. */
    thrum::run([] {
        thrum::event gate(THRUM_EVENT_MANUAL);
        auto task = thrum::spawn([&] { gate.wait(); });
        CHECK(task.join_for(1ms).timed_out());
        thrum::mutex mutex;
        thrum::cond changed;
        std::unique_lock<thrum::mutex> lock(mutex);
        CHECK(changed.wait_for(lock, 1ms).timed_out());
        CHECK(changed.wait_for(lock, 1ms, [] { return false; }).timed_out());
        thrum::chan<int> numbers;
        int number = 1;
        CHECK(numbers.send_for(number, 1ms).timed_out());
        CHECK(numbers.recv_for(number, 1ms).timed_out());
        gate.signal();
        CHECK(bool(task.join_for(1h)));
    });
}

TEST(what_a_turn_captured_is_gone_at_the_next_turn) {
    /* The callable is destroyed, which takes its time, before its ticket is done. */
    struct slow {
        std::atomic<bool> *gone;
        explicit slow(std::atomic<bool> *flag) : gone(flag) {
        }
        slow(slow &&other) noexcept : gone(std::exchange(other.gone, nullptr)) {
        }
        ~slow() {
            if (gone) {
                for (int i = 0; i < 100; i++) {
                    thrum::yield();
                }
                *gone = true;
            }
        }
    };
    thrum::run([] {
        std::atomic<bool> gone(false);
        thrum::tickets order;
        order.go([late = slow(&gone)] {});
        thrum::ticket next(order);
        next.wait();
        CHECK(gone.load());
    });
}

namespace {

/* A clock of the test's own, which counts seconds. */
struct stopped_clock {
    using duration = std::chrono::seconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<stopped_clock>;
    [[maybe_unused]] static constexpr bool is_steady = true;
    static time_point now() noexcept {
        return time_point(1000s);
    }
};

} // namespace

TEST(a_deadline_of_a_coarse_clock_is_as_far_as_it_says) {
    /* The ends of time in seconds and hours are beyond what nanoseconds can say. Durations, too. */
    using std::chrono::system_clock;
    using seconds = std::chrono::time_point<system_clock, std::chrono::seconds>;
    using hours = std::chrono::time_point<system_clock, std::chrono::hours>;
    CHECK_EQ(thrum::deadline(seconds::max()).when(), THRUM_FOREVER);
    CHECK_EQ(thrum::deadline(hours::max()).when(), THRUM_FOREVER);
    CHECK_EQ(thrum::deadline(system_clock::time_point::max()).when(), THRUM_FOREVER);
    for (const thrum::deadline earlier :
         {thrum::deadline(seconds::min()), thrum::deadline(hours::min()), thrum::after(-1s)}) {
        CHECK_PASSED(earlier.when());
    }
    const auto length = 9s;
    const thrum_time before = past();
    for (const thrum::deadline later :
         {thrum::deadline(stopped_clock::now() + length), thrum::after(length)}) {
        CHECK(later.when() > before + 9000000000);
        CHECK_PASSED(later.when() - 9000000000);
    }
}

TEST(durations_of_odd_ticks_are_rounded_up) {
    /* Ticks that are no multiple or fraction of a nanosecond, of each sign, and as floats. */
    using odd = std::chrono::duration<int64_t, std::ratio<1, 2999999999>>;
    constexpr int64_t second = 1000000000;
    CHECK_EQ(thrum::nanoseconds(odd(2999999999 * 3600)), 3600 * second);
    CHECK_EQ(thrum::nanoseconds(odd(2999999999 * 20 + 1)), 20 * second + 1);
    CHECK_EQ(thrum::nanoseconds(odd(2999999999 * -20 - 1)), -20 * second);
    CHECK_EQ(thrum::nanoseconds(odd::max()), 3074457346643077718);
    CHECK_EQ(thrum::nanoseconds(std::chrono::duration<float>(0.5F)), second / 2);
    CHECK_EQ(thrum::nanoseconds(std::chrono::duration<double>(-1.5)), -3 * second / 2);
    CHECK_EQ(thrum::nanoseconds(std::chrono::duration<double, std::nano>(0.25)), 1);
    CHECK_EQ(thrum::nanoseconds(std::chrono::duration<uint32_t, std::milli>(~0U)),
             4294967295000000);
    CHECK_EQ(thrum::nanoseconds(std::chrono::hours::max()), THRUM_FOREVER);
    CHECK_EQ(thrum::nanoseconds(std::chrono::nanoseconds::min() + 1s), -THRUM_FOREVER + second - 1);
}

TEST(call_once_hands_arguments_on) {
    /* As the standard's does; a negative int is a failure, as for a once's own call. */
    thrum::run([] {
        thrum::once flag;
        int sum = 0;
        CHECK_EQ(code_of([&] {
                     thrum::call_once(
                         flag, [](int code) { return code; }, -EDOM);
                 }),
                 EDOM);
        auto text = std::make_unique<int>(3);
        thrum::call_once(
            flag, [&](std::unique_ptr<int> a, int &b) { b = *a + 4; }, std::move(text), sum);
        thrum::call_once(flag, [&] { sum = 0; });
        CHECK_EQ(sum, 7);
    });
}
