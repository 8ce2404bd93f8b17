/*
 * join_set.cpp: results in the order in which the children end; exceptions, values that only move,
 * and what is left when the set goes.
 */
/* matrix: policy workers */
#include "check.h"

#include <memory>
#include <stdexcept>
#include <string>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

namespace {

std::atomic<int> living{0};

/* Counts itself, and only moves. */
struct value_kept {
    explicit value_kept(int number) : value(std::make_unique<int>(number)) {
        living++;
    }
    value_kept(value_kept &&other) noexcept : value(std::move(other.value)) {
        living++;
    }
    value_kept &operator=(value_kept &&other) noexcept = default;
    ~value_kept() {
        living--;
    }
    std::unique_ptr<int> value;
};

} // namespace

TEST(results_come_in_the_order_of_ends) {
    /* They only move; after the last there is none. */
    thrum::run([] {
        thrum::event ends[3] = {thrum::event(THRUM_EVENT_MANUAL), thrum::event(THRUM_EVENT_MANUAL),
                                thrum::event(THRUM_EVENT_MANUAL)};
        thrum::join_set<std::unique_ptr<int>> set;
        for (int i = 0; i < 3; i++) {
            set.spawn([&ends, i] {
                ends[i].wait();
                return std::make_unique<int>(i);
            });
        }
        for (const int i : {2, 0, 1}) {
            ends[i].signal();
            const auto value = set.next();
            CHECK(value && **value == i);
        }
        CHECK(!set.next());
    });
}

TEST(an_exception_of_a_child_comes_in_its_turn) {
    /* It cancels nothing, and the set goes on. */
    thrum::run([] {
        thrum::event end(THRUM_EVENT_MANUAL);
        thrum::join_set<std::string> set;
        set.spawn([&end] {
            end.wait();
            return std::string("page");
        });
        set.spawn([]() -> std::string { throw std::runtime_error("no such host"); });
        bool caught = false;
        try {
            (void)set.next();
        } catch (const std::runtime_error &error) {
            caught = std::string(error.what()) == "no such host";
        }
        CHECK(caught);
        end.signal();
        const auto page = set.next();
        CHECK(page && *page == "page");
        CHECK(!set.next());
    });
}

TEST(a_set_drops_what_is_left) {
    /* Children are cancelled; results and callables are destroyed, exceptions are dropped. */
    thrum::run([] {
        {
            thrum::event never(THRUM_EVENT_MANUAL);
            thrum::join_set<value_kept> set;
            for (int i = 0; i < 10; i++) {
                set.spawn([kept = value_kept(i)]() mutable { return std::move(kept); });
                set.spawn([&never]() -> value_kept {
                    never.wait();
                    return value_kept(0);
                });
            }
            const auto one = set.next();
            CHECK(one);
        }
        CHECK_EQ(living.load(), 0);
    });
}

TEST(children_that_return_nothing) {
    /* A result is then a bool. With a name, and a deadline for the wait. */
    thrum::run([] {
        thrum::event end(THRUM_EVENT_MANUAL);
        thrum::join_set<void> set;
        set.spawn(thrum::attr().name("waits"), [&end] { end.wait(); });
        bool got = true;
        const thrum::status late = set.next_until(got, by(past()));
        CHECK_EQ(late.code(), -ETIMEDOUT);
        end.signal();
        CHECK(set.next_until(got, thrum::deadline::never()) && got);
        CHECK(set.next_until(got, thrum::deadline::never()) && !got);
        CHECK(!set.next());
    });
}

TEST(a_cancelled_set_gives_its_results) {
    /* The children throw ECANCELED, each in its turn. */
    thrum::run([] {
        thrum::event never(THRUM_EVENT_MANUAL);
        thrum::join_set<int> set;
        set.spawn([&never] {
            never.wait();
            return 1;
        });
        set.cancel();
        int code = 0;
        try {
            (void)set.next();
        } catch (const std::system_error &error) {
            code = error.code().value();
        }
        CHECK_EQ(code, ECANCELED);
        CHECK(!set.next());
    });
}

TEST(ends_of_tasks_in_a_select) {
    /* The end of a task, and the next result of a set: taken in the case's call. */
    thrum::run([] {
        thrum::event end(THRUM_EVENT_MANUAL);
        thrum::event never(THRUM_EVENT_MANUAL);
        auto task = thrum::spawn([&end] {
            end.wait();
            return 5;
        });
        thrum::join_set<int> set;
        set.spawn([] { return 7; });
        int sum = 0;
        const auto take = [&] { sum += *set.next(); };
        const auto join = [&] { sum += task.join(); };
        const auto no = [&] { sum += 1000; };
        CHECK_EQ(thrum::select(thrum::on_event(never, no), thrum::on_end(task, join),
                               thrum::on_next(set, take)),
                 2);
        CHECK_EQ(sum, 7);
        end.signal();
        CHECK_EQ(thrum::select(thrum::on_event(never, no), thrum::on_end(task, join),
                               thrum::on_next(set, take)),
                 1);
        CHECK_EQ(sum, 12);
        const thrum::status none =
            thrum::select_until(by(past()), thrum::on_end(task, join), thrum::on_next(set, take));
        CHECK_EQ(none.code(), -ETIMEDOUT); /* it was joined, and the set is empty */
    });
}

TEST(a_plain_thread_has_no_set) {
    /* As it has no scope. */
    int code = 0;
    try {
        thrum::join_set<int> set;
    } catch (const std::system_error &error) {
        code = error.code().value();
    }
    CHECK_EQ(code, ESRCH);
}
