/*
 * bcast.cpp: thrum::bcast: values for many receivers, the newest value, and select.
 */
/* matrix: policy workers */
#include "check.h"

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

namespace {

struct reading {
    int number;
    double celsius;
};

} // namespace

TEST(each_receiver_gets_each_value) {
    /* A copy of a receiver is another one; the close ends both. */
    thrum::run([] {
        thrum::bcast<reading> readings(200);
        auto first = readings.subscribe();
        auto second = first;
        auto count = [](auto receiver) {
            int n = 0;
            while (auto value = receiver.recv()) {
                CHECK_EQ(value->number, n++);
            }
            return n;
        };
        auto other = thrum::spawn([&] { return count(second); });
        for (int i = 0; i < 100; i++) {
            readings.send({i, 20.5});
        }
        CHECK(readings.close());
        CHECK(!readings.close());
        CHECK_EQ(count(first), 100);
        CHECK_EQ(other.join(), 100);
        CHECK_EQ(code_of([&] { readings.send({0, 0}); }), EPIPE);
    });
}

TEST(a_slow_receiver_throws_and_goes_on) {
    /* The count of missed values goes with the exception; the newest value is never missed. */
    thrum::bcast<int> numbers(4);
    auto next = numbers.subscribe();
    auto latest = numbers.subscribe();
    int value = 0;
    CHECK(!numbers.peek());
    CHECK_EQ(next.try_recv(value).code(), -EAGAIN);
    for (int i = 0; i < 10; i++) {
        numbers.send(i);
    }
    CHECK_EQ(code_of([&] { (void)next.recv(); }), EOVERFLOW);
    CHECK_EQ(next.missed(), 6);
    CHECK(next.recv_until(value, thrum::after(std::chrono::seconds(0))));
    CHECK_EQ(value, 6);
    CHECK_EQ(*latest.recv_latest(), 9);
    CHECK_EQ(latest.try_recv_latest(value).code(), -EAGAIN);
    CHECK(!latest.recv_latest_until(value, thrum::after(std::chrono::seconds(0))));
    CHECK_EQ(*numbers.peek(), 9);
}

TEST(a_select_receives_from_broadcast_channels) {
    /* The next value of one, the newest of another, and a close. */
    thrum::bcast<int> numbers(4), levels;
    auto next = numbers.subscribe();
    auto latest = levels.subscribe();
    int seen = 0;
    auto select = [&] {
        return thrum::select(
            thrum::on_recv_next(
                next, [&](thrum::status s, std::optional<int> v) { seen = s ? *v : s.code(); }),
            thrum::on_recv_latest(
                latest, [&](thrum::status s, std::optional<int> v) { seen = s ? *v : s.code(); }));
    };
    numbers.send(7);
    CHECK_EQ(select(), 0);
    CHECK_EQ(seen, 7);
    levels.send(8);
    levels.send(9);
    CHECK_EQ(select(), 1);
    CHECK_EQ(seen, 9);
    CHECK(levels.close());
    CHECK_EQ(select(), 1);
    CHECK_EQ(seen, -EPIPE);
}

TEST(a_select_waits_for_a_close_in_order) {
    /* The first case that can be done is done: the value, and then the close. */
    thrum::chan<int> numbers(1), other(1);
    int seen = 0;
    auto select = [&] {
        return thrum::select_ordered(
            thrum::on_recv(other, [&](std::optional<int> v) { seen = *v; }),
            thrum::on_closed(numbers, [&] { seen = -1; }));
    };
    other.send(5);
    CHECK(!numbers.is_closed());
    CHECK(numbers.close());
    CHECK(numbers.is_closed());
    CHECK_EQ(select(), 0);
    CHECK_EQ(seen, 5);
    CHECK_EQ(select(), 1);
    CHECK_EQ(seen, -1);
}
