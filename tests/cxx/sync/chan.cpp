/*
 * chan.cpp: thrum::chan: values that move, close and select.
 */
/* matrix: policy workers */
#include "check.h"

#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

using namespace std::chrono_literals;

namespace {

/* A value whose move may fail, and which is in a channel by an allocation of its own. */
struct fragile {
    std::string text;
    bool breaks = false; /* at a move into a new one */
    bool stays = false;  /* at a move back */
    explicit fragile(const char *of) : text(of) {
    }
    fragile(fragile &&other) : breaks(other.breaks), stays(other.stays) {
        if (breaks) {
            throw std::runtime_error("it breaks");
        }
        text = std::move(other.text);
    }
    fragile &operator=(fragile &&other) {
        if (other.stays) {
            throw std::runtime_error("it stays away");
        }
        text = std::move(other.text);
        return *this;
    }
};

} // namespace

TEST(values_move_through_a_channel) {
    /* Short strings, which point into themselves, through each capacity; a range ends at close. */
    thrum::run([] {
        for (size_t capacity : {size_t(0), size_t(3), thrum::chan<std::string>::unbounded}) {
            thrum::chan<std::string> lines(capacity);
            auto sender = thrum::spawn([&] {
                for (int i = 0; i < 100; i++) {
                    lines.send(std::to_string(i));
                }
                CHECK(lines.close());
                CHECK(!lines.close());
            });
            int next = 0;
            for (std::string &line : lines) {
                CHECK_STR(line.c_str(), std::to_string(next).c_str());
                next++;
            }
            CHECK_EQ(next, 100);
            sender.join();
        }
    });
}

TEST(algorithms_take_a_channel) {
    /* Those of C++17 take a range of it; a value that only moves comes by `it++`. */
    thrum::run([] {
        thrum::chan<int> numbers(thrum::chan<int>::unbounded);
        for (int i = 1; i <= 4; i++) {
            numbers.send(i);
        }
        auto at = numbers.begin();
        CHECK_EQ(*at++, 1);
        CHECK_EQ(*at, 2);
        CHECK(at != numbers.end());
        numbers.close();
        CHECK_EQ(std::accumulate(at, numbers.end(), 0), 9);
        CHECK(numbers.begin() == numbers.end());
        thrum::chan<std::unique_ptr<int>> owned(2);
        owned.send(std::make_unique<int>(5));
        owned.send(std::make_unique<int>(6));
        owned.close();
        auto first = owned.begin();
        std::unique_ptr<int> five = *first++;
        CHECK_EQ(*five, 5);
        CHECK_EQ(*first->get(), 6);
        CHECK(++first == owned.end());
    });
}

TEST(what_is_not_received_is_destroyed) {
    /* In the channel, by its destructor: for pointers in it, and for values beside it. */
    auto shared = std::make_shared<int>(1);
    struct heavy {
        std::shared_ptr<int> held;
        std::string text;
    };
    {
        thrum::chan<std::shared_ptr<int>> light(4);
        thrum::chan<heavy> others(4);
        light.send(shared);
        others.send(heavy{shared, "x"});
        CHECK_EQ(shared.use_count(), 3);
        CHECK_EQ(light.size(), 1);
    }
    CHECK_EQ(shared.use_count(), 1);
}

TEST(what_is_not_sent_stays) {
    /* A full channel, a closed one: the value is the caller's as it was. */
    thrum::run([] {
        thrum::chan<std::unique_ptr<int>> full(1);
        full.send(std::make_unique<int>(1));
        auto kept = std::make_unique<int>(2);
        CHECK(full.try_send(kept).busy());
        CHECK(full.send_until(kept, by(soon())).timed_out());
        full.close();
        CHECK(full.try_send(kept).closed());
        CHECK_EQ(*kept, 2);
        CHECK_EQ(code_of([&] { full.send(std::make_unique<int>(3)); }), EPIPE);
        std::unique_ptr<int> got;
        CHECK(full.try_recv(got) ? true : false);
        CHECK_EQ(*got, 1);
        CHECK(!full.recv());
    });
}

TEST(a_cancelled_receiver_hears_of_it) {
    /* Its recv throws, and takes nothing. */
    thrum::run([] {
        thrum::chan<int> empty;
        auto receiver = thrum::spawn([&] { return code_of([&] { (void)empty.recv(); }); });
        receiver.cancel();
        CHECK_EQ(receiver.join(), ECANCELED);
    });
}

TEST(a_select_does_one_case) {
    /* The other's value stays; each kind of end is told to its own function. */
    thrum::run([] {
        thrum::chan<std::string> out(1);
        thrum::chan<std::string> in(1);
        std::string value = "a";
        int calls = 0;
        CHECK_EQ(thrum::select(thrum::on_recv(in, [&](auto) { calls += 100; }),
                               thrum::on_send(out, value, [&](thrum::status s) { calls += !!s; })),
                 1);
        CHECK_EQ(calls, 1);
        value = "b";
        in.send("c");
        std::string got;
        CHECK_EQ(thrum::select(thrum::on_send(out, value, [&](thrum::status) { calls += 100; }),
                               thrum::on_recv(in, [&](auto v) { got = *v; })),
                 1);
        CHECK_STR(value.c_str(), "b");
        CHECK_STR(got.c_str(), "c");
        CHECK(thrum::select_until(by(soon()),
                                  thrum::on_send(out, value, [&](thrum::status) { calls += 100; }))
                  .timed_out());
        CHECK_STR(value.c_str(), "b");
        out.close();
        CHECK_EQ(thrum::select(
                     thrum::on_send(out, value, [&](thrum::status s) { calls += s.closed(); })),
                 0);
        CHECK_EQ(calls, 2);
        CHECK_STR(value.c_str(), "b");
    });
}

TEST(a_case_that_cannot_begin_leaves_the_others_their_values) {
    /* The move into the second case throws: nothing was sent, and the first value is back. */
    thrum::run([] {
        thrum::chan<fragile> one(1);
        thrum::chan<fragile> two(1);
        fragile first("first");
        fragile second("second");
        second.breaks = true;
        bool thrown = false;
        try {
            (void)thrum::select(thrum::on_send(one, first, [](thrum::status) {}),
                                thrum::on_send(two, second, [](thrum::status) {}));
        } catch (const std::runtime_error &) {
            thrown = true;
        }
        CHECK(thrown);
        CHECK_STR(first.text.c_str(), "first");
        CHECK_STR(second.text.c_str(), "second");
        CHECK_EQ(one.size() + two.size(), 0);
    });
}

/* What a select with cases of which `first` does not come back throws: -1, or 0. */
static int loses(fragile &first, fragile &second, thrum::chan<fragile> &full, bool received) {
    thrum::chan<int> numbers(1);
    int calls = 0;
    first.stays = true;
    if (received) {
        numbers.send(7);
    }
    const int code = code_of([&] {
        (void)thrum::select_for(1ms, thrum::on_send(full, first, [](thrum::status) {}),
                                thrum::on_send(full, second, [](thrum::status) {}),
                                thrum::on_recv(numbers, [&](auto number) { calls += *number; }));
    });
    CHECK_EQ(calls, received ? 7 : 0);
    return code;
}

TEST(a_value_that_does_not_come_back_holds_up_no_other) {
    /* Its move back throws: the next value is back, and what was received is not lost. */
    thrum::run([] {
        thrum::chan<fragile> full(0);
        for (bool received : {false, true}) {
            fragile first("first");
            fragile second("second");
            CHECK_EQ(loses(first, second, full, received), -1);
            CHECK_STR(second.text.c_str(), "second");
        }
        /* The second cannot begin, and the first does not come back: one of the two is thrown. */
        fragile first("first");
        fragile second("second");
        second.breaks = true;
        first.stays = true;
        CHECK_EQ(code_of([&] {
                     (void)thrum::select(thrum::on_send(full, first, [](thrum::status) {}),
                                         thrum::on_send(full, second, [](thrum::status) {}));
                 }),
                 -1);
    });
}

TEST(a_select_waits_for_events_and_descriptors) {
    /* Whichever comes first: an event's signal is taken, a descriptor is ready, or is closed. */
    thrum::run([] {
        thrum::event end(THRUM_EVENT_AUTO);
        thrum::chan<int> numbers;
        int ends = 0;
        auto on_end = [&] { ends++; };
        auto on_number = [&](std::optional<int> number) { CHECK_EQ(*number, 5); };
        CHECK(
            thrum::select_for(1ms, thrum::on_recv(numbers, on_number), thrum::on_event(end, on_end))
                .timed_out());
        auto sender = thrum::spawn([&] { end.signal(); });
        CHECK_EQ(thrum::select(thrum::on_recv(numbers, on_number), thrum::on_event(end, on_end)),
                 1);
        CHECK_EQ(ends, 1);
        CHECK(!end.is_signaled());
        sender.join();
        thrum::listener listener("tcp:127.0.0.1:0");
        char address[100];
        CHECK(thrum_io_local(listener.native_handle(), address, sizeof(address)) >= 0);
        thrum::io ours = thrum::dial(address);
        thrum::io theirs;
        auto accept = [&](thrum::status ready) {
            CHECK(bool(ready));
            theirs = listener.accept();
        };
        CHECK_EQ(thrum::select(thrum::on_event(end, on_end), thrum::on_ready(listener, accept)), 1);
        int code = 1;
        auto writer = thrum::spawn([&] { theirs.write("x", 1); });
        auto tell = [&](thrum::status ready) { code = ready.code(); };
        CHECK_EQ(
            thrum::select(thrum::on_event(end, on_end), thrum::on_ready(ours, THRUM_IO_READ, tell)),
            1);
        CHECK_EQ(code, 0);
        writer.join();
        const thrum_io closed = ours.native_handle();
        ours.close();
        CHECK_EQ(thrum::select(thrum::on_ready(closed, THRUM_IO_READ, tell)), 0);
        CHECK_EQ(code, -EBADF);
    });
}

TEST(a_select_does_not_send_one_object_twice) {
    /* The second case would find it moved from; numbers are copied, so they may be in several. */
    thrum::run([] {
        thrum::chan<std::string> full(1);
        thrum::chan<std::string> free(1);
        full.send("full");
        std::string word = "word";
        const auto nothing = [](thrum::status) {};
        CHECK_EQ(thrum::select_until(thrum::deadline::never(), thrum::on_send(full, word, nothing),
                                     thrum::on_send(free, word, nothing))
                     .code(),
                 -EINVAL);
        CHECK_STR(word.c_str(), "word");
        CHECK_EQ(free.size(), 0);
        thrum::chan<int> none(0);
        thrum::chan<int> one(1);
        int number = 7;
        CHECK_EQ(thrum::select(thrum::on_send(none, number, nothing),
                               thrum::on_send(one, number, nothing)),
                 1);
        CHECK_EQ(one.recv().value(), 7);
        CHECK_EQ(number, 7);
    });
}
