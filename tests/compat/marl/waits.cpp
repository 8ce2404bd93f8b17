/* Event, WaitGroup, ConditionVariable, mutex: what they do, and how long they live. */
#include "rig.hpp"

#include "marl/conditionvariable.h"
#include "marl/defer.h"
#include "marl/event.h"
#include "marl/mutex.h"
#include "marl/waitgroup.h"

#include <atomic>
#include <condition_variable>
#include <list>
#include <string>
#include <vector>

using marl::Event;
using std::chrono::milliseconds;

TEST(an_event_is_signaled_cleared_and_tested) {
    /* test() takes the signal of an Auto event, isSignalled() never. */
    for (Event::Mode mode : {Event::Mode::Auto, Event::Mode::Manual}) {
        Event event(mode);
        CHECK(!event.isSignalled());
        CHECK(!event.test());
        event.signal();
        CHECK(event.isSignalled());
        CHECK(event.test());
        CHECK_EQ(event.test(), mode == Event::Mode::Manual);
        event.clear();
        CHECK(!event.isSignalled());
    }
    CHECK(Event(Event::Mode::Manual, true).isSignalled());
}

TEST(an_auto_event_lets_one_wait_through) {
    /* A manual one all of them. */
    with_schedulers([](marl::Allocator *allocator) {
        std::atomic<int> through{0};
        Event event(Event::Mode::Auto, false, allocator);
        Event done;
        for (int i = 0; i < 3; i++) {
            marl::schedule([=, &through] {
                event.wait();
                through++;
                done.signal();
            });
        }
        for (int i = 1; i <= 3; i++) {
            CHECK_EQ(through, i - 1);
            event.signal();
            done.wait();
            CHECK_EQ(through, i);
        }

        Event all(Event::Mode::Manual);
        marl::WaitGroup wg(10);
        for (int i = 0; i < 10; i++) {
            marl::schedule([=] {
                all.wait();
                wg.done();
            });
        }
        all.signal();
        wg.wait();
    });
}

TEST(events_order_three_tasks) {
    /* B waits for A, and C for B. */
    with_schedulers([](marl::Allocator *) {
        std::string order;
        Event a, b, c, done;
        marl::schedule([=, &order] {
            b.wait();
            order += 'B';
            c.signal();
        });
        marl::schedule([=, &order] {
            a.wait();
            order += 'A';
            b.signal();
        });
        marl::schedule([=, &order] {
            c.wait();
            order += 'C';
            done.signal();
        });
        a.signal();
        done.wait();
        CHECK(order == "ABC");
    });
}

TEST(waits_with_a_time_end) {
    /* Not before it, and with false; at once, with true, when signaled. */
    with_schedulers([](marl::Allocator *) {
        Event never;
        Event now(Event::Mode::Manual, true);
        marl::WaitGroup wg(100);
        for (int i = 0; i < 100; i++) {
            marl::schedule([=] {
                defer(wg.done());
                const auto begin = from_now<steady>(0);
                CHECK(!never.wait_for(milliseconds(5)));
                CHECK(from_now<steady>(0) - begin >= milliseconds(5));
                CHECK(!never.wait_until(from_now<wall>(5)));
                CHECK(!never.wait_until(from_now<steady>(-5)));
                CHECK(now.wait_for(std::chrono::hours(1)));
                CHECK(now.wait_for(std::chrono::hours::max()));
                CHECK(now.wait_until((std::chrono::system_clock::time_point::max)()));
                CHECK(now.wait_for(milliseconds(0)));
            });
        }
        wg.wait();
    });
}

TEST(signals_and_deadlines_race) {
    /* Half of the waits end by the one, half by the other. */
    with_schedulers([](marl::Allocator *) {
        Event event(Event::Mode::Manual);
        for (int round = 0; round < 3; round++) {
            marl::WaitGroup wg(60);
            for (int i = 0; i < 60; i++) {
                marl::schedule([=] {
                    event.wait_for(milliseconds(i / 3));
                    wg.done();
                });
            }
            pause_ms(10);
            event.signal();
            wg.wait();
            event.clear();
        }
    });
}

TEST(any_of_several_events) {
    /* The new event is signaled with each of them, also if one was signaled before. */
    for (int i = 0; i < 3; i++) {
        std::vector<Event> events(3);
        Event any = Event::any(events.begin(), events.end());
        CHECK(!any.isSignalled());
        events[static_cast<size_t>(i)].signal();
        CHECK(any.test());
        CHECK(!any.test());
        Event late = Event::any(Event::Mode::Manual, events.begin(), events.end());
        CHECK(late.isSignalled());
        CHECK(late.test() && late.test());
    }
    Event source;
    const std::list<Event> one(1, source);
    for (int i = 0; i < 1000; i++) {
        (void)Event::any(one.begin(), one.end()); /* nobody keeps it */
    }
    Event kept = Event::any(one.begin(), one.end());
    source.signal();
    CHECK(kept.test());
}

TEST(any_wakes_a_task) {
    /* Which waits for it like for any event. */
    with_schedulers([](marl::Allocator *) {
        std::vector<Event> events(2); /* two of one event: copies of one handle */
        Event any = Event::any(events.begin(), events.end());
        marl::WaitGroup wg(1);
        marl::schedule([=] {
            any.wait();
            wg.done();
        });
        events[1].signal();
        wg.wait();
    });
}

TEST(handles_outlive_the_frame_that_made_them) {
    /* Tasks have copies; the last of these frees what they share. */
    with_schedulers([](marl::Allocator *allocator) {
        marl::WaitGroup all(40);
        for (int i = 0; i < 20; i++) {
            Event event(Event::Mode::Auto, false, allocator);
            marl::WaitGroup wg(1, allocator);
            marl::schedule([=] {
                event.wait();
                wg.done();
                all.done();
            });
            marl::schedule([=] {
                event.signal();
                wg.wait();
                all.done();
            });
        }
        all.wait();
    });
}

TEST(a_waitgroup_counts) {
    /* done() tells which call was the last; a wait for 0 does not wait. */
    marl::WaitGroup wg(2);
    CHECK(!wg.done());
    wg.add(1);
    CHECK(!wg.done());
    CHECK(wg.done());
    wg.wait();
    wg.add(3);
    marl::WaitGroup same(wg);
    CHECK(!same.done());
    CHECK(!wg.done());
    CHECK(same.done());
    marl::WaitGroup().wait();
}

TEST(a_waitgroup_by_reference_may_end_with_its_wait) {
    /* The last done() leaves the memory before the waiter goes on. */
    with_schedulers([](marl::Allocator *) {
        for (int i = 0; i < 200; i++) {
            std::unique_ptr<marl::WaitGroup> wg(new marl::WaitGroup(1));
            marl::WaitGroup *of = wg.get();
            marl::schedule([of] { of->done(); });
            wg->wait();
        }
    });
}

static void too_many(void *) {
    marl::WaitGroup wg(1);
    wg.done();
    wg.done();
}

TEST(too_many_done_end_the_program) {
    /* With marl's words, unless assertions are off. */
    check_dies(too_many, nullptr, MARL_DEBUG_ENABLED ? "done() called too many times" : "");
}

/* A thread and the caller take turns three times. */
static void take_turns() {
    marl::mutex mutex;
    marl::ConditionVariable cv;
    bool asked[3] = {false, false, false};
    bool answered[3] = {false, false, false};
    std::thread other([&] {
        for (int i = 0; i < 3; i++) {
            marl::lock lock(mutex);
            cv.wait(lock, [&] { return asked[i]; });
            CHECK(lock.owns_lock());
            answered[i] = true;
            cv.notify_one();
        }
    });
    for (int i = 0; i < 3; i++) {
        marl::lock lock(mutex);
        asked[i] = true;
        cv.notify_one();
        cv.wait(lock, [&] { return answered[i]; });
        CHECK(lock.owns_lock());
    }
    other.join();
}

TEST(a_condition_variable_joins_threads_and_fibers) {
    /* Bound and unbound. */
    take_turns();
    with_schedulers([](marl::Allocator *) {
        take_turns();
        marl::WaitGroup wg(1);
        marl::schedule([wg] {
            take_turns();
            wg.done();
        });
        wg.wait();
    });
}

TEST(a_condition_variable_wakes_all) {
    /* notify_all, and waits that time out beside it. */
    with_schedulers([](marl::Allocator *) {
        marl::mutex mutex;
        marl::ConditionVariable cv;
        bool open = false;
        std::atomic<int> met{0};
        marl::WaitGroup wg(80);
        for (int i = 0; i < 80; i++) {
            marl::schedule([=, &mutex, &cv, &open, &met] {
                {
                    marl::lock lock(mutex);
                    const bool in_time =
                        cv.wait_for(lock, milliseconds(i % 2 ? 1 : 10000), [&] { return open; });
                    CHECK(lock.owns_lock());
                    CHECK_EQ(in_time, open);
                    met += in_time;
                }
                wg.done();
            });
        }
        pause_ms(10);
        {
            marl::lock lock(mutex);
            open = true;
        }
        cv.notify_all();
        wg.wait();
        CHECK(met >= 40);
        marl::lock lock(mutex);
        const auto past = from_now<wall>(0);
        CHECK(cv.wait_until(lock, past, [&] { return open; }));
        CHECK(!cv.wait_until(lock, past, [&] { return !open; }));
    });
}

TEST(a_notify_is_not_lost_to_a_wait_that_times_out) {
    /* One notify for two waiters, of which one is late. */
    with_workers(2, [](marl::Allocator *) {
        for (int round = 0; round < 50; round++) {
            marl::mutex mutex;
            marl::ConditionVariable cv;
            int items = 0;
            marl::WaitGroup wg(2);
            marl::schedule([&, wg] {
                {
                    marl::lock lock(mutex);
                    (void)cv.wait_for(lock, std::chrono::microseconds(200),
                                      [&] { return items == 2; });
                }
                wg.done();
            });
            marl::schedule([&, wg] {
                {
                    marl::lock lock(mutex);
                    cv.wait(lock, [&] { return items == 1; });
                }
                wg.done();
            });
            pause_us(190);
            {
                marl::lock lock(mutex);
                items = 1;
            }
            cv.notify_one();
            cv.notify_one();
            wg.wait();
        }
    });
}

TEST(a_mutex_and_its_lock) {
    /* Also with the standard's condition variable, as marl's header offers it. */
    marl::mutex mutex;
    mutex.lock();
    std::thread([&] { CHECK(!mutex.try_lock()); }).join();
    mutex.unlock();
    if (mutex.try_lock()) {
        mutex.unlock();
    } else {
        CHECK(!"the mutex is free");
    }

    std::condition_variable cv;
    bool ready = false;
    std::thread other([&] {
        marl::lock lock(mutex);
        ready = true;
        cv.notify_all();
    });
    {
        marl::lock lock(mutex);
        CHECK(lock.owns_lock());
        lock.wait(cv, [&] { return ready; });
        lock.unlock_no_tsa();
        CHECK(!lock.owns_lock());
        lock.lock_no_tsa();
        const auto soon = from_now<steady>(1);
        CHECK(!lock.wait_until(cv, soon, [&] { return !ready; }));
    }
    other.join();
    mutex.lock();
    mutex.wait_locked(cv, [&] { return ready; });
    const auto soon = from_now<steady>(1);
    CHECK(!mutex.wait_until_locked(cv, soon, [&] { return !ready; }));
    mutex.unlock();
}

TEST(the_standards_locks_work_too) {
    /* Older programs of marl wait with std::unique_lock. */
    std::mutex mutex;
    marl::ConditionVariable cv;
    bool ready = false;
    std::thread other([&] {
        std::lock_guard<std::mutex> guard(mutex);
        ready = true;
        cv.notify_one();
    });
    std::unique_lock<std::mutex> lock(mutex);
    cv.wait(lock, [&] { return ready; });
    lock.unlock();
    other.join();
}
