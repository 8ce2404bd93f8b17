/*
 * owners.cpp: pools, schedulers, bound threads and signals that end with a block.
 */
#include "check.h"

#include <string>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

using namespace std::chrono_literals;

namespace {

/* An object that is dear to make, and that remembers. */
struct dear : counted {
    std::string text = "made";
};

struct cannot {
    cannot() {
        throw std::system_error(EDOM, std::generic_category());
    }
};

} // namespace

TEST(a_pool_lends_objects) {
    /* They keep their state, are waited for, and are given back at the end of a block. */
    thrum::run([] {
        thrum::pool<dear> objects(2);
        CHECK_EQ(counted::alive.load(), 2);
        thrum::pool<dear>::item late;
        {
            auto one = objects.borrow();
            CHECK_STR(one->text.c_str(), "made");
            one->text = "used";
            thrum::pool<dear>::item other;
            CHECK(bool(objects.try_borrow(other)));
            CHECK(objects.try_borrow(late).busy());
            CHECK(objects.borrow_for(late, 1ms).timed_out());
            CHECK(!late);
            auto waiter = thrum::spawn([&] { return objects.borrow()->text.size(); });
            other = std::move(one);
            CHECK((*other).text == "used");
            other.give_back();
            one.give_back();
            CHECK_EQ(waiter.join(), 4);
        }
        thrum::pool<dear>::item both[2];
        objects.borrow(both);
        CHECK(both[0]->text != both[1]->text);
        CHECK_EQ(counted::alive.load(), 2);
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(a_pool_says_why_an_object_cannot_be_made) {
    /* The code of what its constructor throws. */
    CHECK_EQ(code_of([] { thrum::pool<cannot> none(1); }), EDOM);
    thrum::pool<cannot> later;
    CHECK_EQ(code_of([&] { later.borrow(); }), EDOM);
}

TEST(a_scheduler_stops_at_the_end_of_its_block) {
    /* When all its tasks have ended; a thread is bound for a block. */
    std::atomic<int> ran(0);
    {
        thrum::scheduler first;
        thrum::scheduler moved = std::move(first);
        CHECK(moved.parallelism() > 0);
        CHECK_EQ(first.parallelism(), 0u);
        CHECK_EQ(code_of([&] { first.wait_idle(); }), EINVAL);
        thrum::go(thrum::attr().sched(moved), [&] {
            thrum::yield();
            ran++;
        });
        moved.wait_idle();
        CHECK_EQ(ran.load(), 1);
        CHECK(bool(moved.wait_idle_for(1h)));
        thrum::bound_thread here(moved);
        thrum::go([&] { ran++; });
    }
    CHECK_EQ(ran.load(), 2);
    CHECK(thrum_sched_current() == nullptr);
}

TEST(an_attr_has_a_priority) {
    /* The last one that was set counts; without one, the task inherits its starter's. */
    std::string order;
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 0;
    thrum::scheduler own(&config);
    thrum::bound_thread here(own);
    thrum::go(thrum::attr().priority(THRUM_HIGH).priority(THRUM_LOW), [&] { order += 'l'; });
    thrum::go([&] { order += 'n'; });
    thrum::go(thrum::attr().priority(THRUM_HIGH), [&] {
        order += 'h';
        thrum::go([&] { order += 'c'; });
    });
    here.step();
    CHECK_STR(order.c_str(), "hcnl");
}

TEST(a_bound_thread_makes_steps) {
    /* They run its tasks, until nothing is left or until the deadline. */
    int ran = 0;
    thrum::scheduler own;
    thrum::bound_thread here(own);
    const thrum::attr mine = thrum::attr().pinned();
    thrum::go(mine, [&] { ran++; });
    here.step();
    CHECK_EQ(ran, 1);
    thrum::go(mine, [&] { ran++; });
    CHECK(bool(here.step_for(1h)));
    CHECK_EQ(ran, 2);
    bool over = false;
    thrum::go(mine, [&] {
        while (!over) {
            thrum::yield();
        }
    });
    CHECK(here.step_until(thrum::deadline::at(0)).timed_out());
    over = true;
    here.step();
    CHECK_EQ(code_of([&] {
                 thrum::go(mine, [&] { over = code_of([&] { here.step(); }) != EDEADLK; });
                 here.step();
             }),
             0);
    CHECK(!over);
}

TEST(a_scheduler_is_made_in_one_line) {
    /* With a name and a number of workers, and with a policy, which the start checks. */
    CHECK_EQ(thrum::scheduler("own", 0).parallelism(), 0u);
    thrum::scheduler own("own", 1, THRUM_FIFO);
    CHECK_EQ(own.parallelism(), 1u);
    CHECK_EQ(code_of([] { thrum::scheduler none(nullptr, 1, static_cast<thrum_policy>(99)); }),
             EINVAL);
}

TEST(wait_done_waits_for_tasks_that_wait) {
    /* Past its deadline it is false. */
    thrum::scheduler own;
    thrum::event goes_on(THRUM_EVENT_MANUAL);
    std::atomic<bool> ended(false);
    thrum::go(thrum::attr().sched(own), [&] {
        goes_on.wait();
        ended = true;
    });
    CHECK(own.wait_done_until(by(past())).timed_out());
    CHECK(own.wait_done_for(0s).timed_out());
    goes_on.signal();
    own.wait_done();
    CHECK(ended);
}

TEST(a_stop_with_a_deadline_cancels) {
    /* It leaves the scheduler, until a stop has seen its tasks end. */
    thrum::scheduler own;
    thrum::event goes_on(THRUM_EVENT_MANUAL);
    std::atomic<int> code(0);
    thrum::go(thrum::attr().sched(own), [&] {
        {
            thrum::shield alone;
            goes_on.wait();
        }
        code = code_of([] { thrum::sleep(1h); });
    });
    CHECK(own.stop_until(by(past())).timed_out());
    CHECK(bool(own));
    CHECK(own.stop_for(0s).timed_out());
    goes_on.signal();
    CHECK(bool(own.stop_until(by(far_off()))));
    CHECK(!own);
    CHECK_EQ(code.load(), ECANCELED);
}

TEST(a_scheduler_does_not_stop_in_its_own_task) {
    /* It says so, and goes on. */
    thrum::scheduler own;
    auto task =
        thrum::spawn(thrum::attr().sched(own), [&] { return code_of([&] { own.stop(); }); });
    CHECK_EQ(task.join(), EDEADLK);
    own.stop();
    CHECK(own.native_handle() == nullptr);
}

TEST(a_scheduler_that_is_gone_is_refused) {
    /* Without a scheduler a task would go to the caller's. */
    thrum::scheduler own;
    thrum::scheduler moved = std::move(own);
    CHECK_EQ(code_of([&] { (void)thrum::attr().sched(own); }), ESHUTDOWN);
    CHECK_EQ(code_of([&] { thrum::bound_thread here(own); }), ESHUTDOWN);
    CHECK(!own);
    CHECK(bool(moved));
    moved.stop();
    CHECK(!moved);
    CHECK_EQ(code_of([&] { (void)thrum::attr().sched(moved); }), ESHUTDOWN);
}

TEST(signals_are_caught_for_a_block) {
    /* One that came before the wait is there; none is told to those that wait too short. */
    thrum::signals caught(SIGUSR1, SIGUSR2);
    CHECK(caught.wait_for(1ms).timed_out());
    CHECK_EQ(raise(SIGUSR2), 0);
    CHECK_EQ(caught.wait(), SIGUSR2);
    CHECK_EQ(code_of([] { thrum::signals none(SIGUSR1, SIGKILL); }), EINVAL);
}

TEST(an_assignment_ends_what_was_owned) {
    /* A borrowed object is given back, and a scheduler stopped, by the assignment itself. */
    thrum::run([] {
        thrum::pool<dear> objects(2);
        auto one = objects.borrow();
        auto two = objects.borrow();
        thrum::pool<dear>::item three;
        one = std::move(two);
        CHECK(!two);
        CHECK(bool(objects.try_borrow(three)));
        auto &same = three;
        three = std::move(same);
        CHECK(bool(three));
    });
    thrum::scheduler first;
    thrum::scheduler second;
    first = std::move(second);
    CHECK(first.native_handle() != nullptr);
    CHECK(second.native_handle() == nullptr);
    thrum::dir here(".");
    thrum::dir there("/");
    here = std::move(there);
    CHECK(there.native_handle() == nullptr);
}
