/*
 * coroutine_locks_20.cpp: coroutines that wait for locks, conditions and barriers
 * (thrum/cpp/locked.hpp).
 */
/* compile: -O1 -g1 */
/* matrix: policy workers */
#include "coroutines.hpp"

namespace {

/* What several coroutines and fibers change under locks. */
struct shared {
    thrum::mutex mutex;
    thrum::shared_mutex both;
    thrum::cond changed;
    std::atomic<int> waiting{0}; /* for `mutex`, or about to */
    long count = 0;
    long first = 0;
    long second = 0;
};

thrum::co<> changes(shared &s, int rounds) {
    for (int i = 0; i < rounds; i++) {
        {
            auto lock = co_await thrum::locked(s.mutex);
            CHECK(lock.owns_lock());
            s.count++;
        }
        {
            std::unique_lock<thrum::shared_mutex> lock = co_await thrum::locked(s.both);
            s.first++;
            s.second++;
        }
        std::shared_lock<thrum::shared_mutex> lock = co_await thrum::locked_shared(s.both);
        CHECK_EQ(s.first, s.second);
    }
}

thrum::co<int> code_of_wait(shared &s) {
    try {
        s.waiting++;
        auto lock = co_await thrum::locked(s.mutex);
    } catch (const std::system_error &error) {
        co_return error.code().value();
    }
    co_return 0;
}

thrum::co<bool> has_it_soon(shared &s, thrum::deadline when) {
    auto one = co_await thrum::locked_until(s.mutex, when);
    const bool has = one.owns_lock();
    if (has) {
        one.unlock();
    }
    auto two = co_await thrum::locked_until(s.both, when);
    CHECK_EQ(two.owns_lock(), has);
    if (has) {
        two.unlock();
    }
    auto three = co_await thrum::locked_shared_until(s.both, when);
    CHECK_EQ(three.owns_lock(), has);
    co_return has;
}

} // namespace

TEST(coroutines_and_fibers_share_locks) {
    /* Each changes what the lock protects, and no one loses a change. */
    enum { EACH = 8, ROUNDS = 50 };
    thrum::run([] {
        shared s;
        std::vector<thrum::co_task<>> tasks;
        for (int i = 0; i < EACH; i++) {
            tasks.push_back(thrum::spawn(changes(s, ROUNDS)));
        }
        thrum::scope fibers;
        for (int i = 0; i < 2; i++) {
            fibers.go([&] {
                for (int k = 0; k < ROUNDS; k++) {
                    {
                        std::lock_guard<thrum::mutex> lock(s.mutex);
                        s.count++;
                    }
                    thrum::yield();
                    std::unique_lock<thrum::shared_mutex> lock(s.both);
                    s.first++;
                    thrum::yield();
                    s.second++;
                }
            });
        }
        fibers.join();
        for (auto &task : tasks) {
            task.join();
        }
        CHECK_EQ(s.count, (EACH + 2) * ROUNDS);
        CHECK_EQ(s.first, (EACH + 2) * ROUNDS);
    });
}

TEST(a_lock_is_waited_for_without_a_stack) {
    /* A thousand wait for a mutex that a fiber holds, which takes no stack each. */
    thrum::run([] {
        shared s;
        std::unique_lock<thrum::mutex> held(s.mutex);
        std::vector<thrum::co_task<int>> tasks;
        for (int i = 0; i < 1000; i++) {
            tasks.push_back(thrum::spawn(code_of_wait(s)));
        }
        while (s.waiting < 1000) {
            thrum::yield();
        }
        thrum_metrics metrics = THRUM_METRICS_INIT;
        thrum::check(thrum_metrics_read(thrum_sched_current(), THRUM_ALL_WORKERS, &metrics));
        CHECK(metrics.stacks < 1000); /* workers keep some */
        held.unlock();
        for (auto &task : tasks) {
            CHECK_EQ(task.join(), 0);
        }
    });
}

TEST(a_lock_that_does_not_come_is_not_owned) {
    /* By the deadline, or when the coroutine is cancelled; later it is free again. */
    thrum::run([] {
        shared s;
        {
            std::unique_lock<thrum::mutex> one(s.mutex);
            std::unique_lock<thrum::shared_mutex> two(s.both);
            CHECK(!thrum::spawn(has_it_soon(s, by(soon()))).join());
            auto waits = thrum::spawn(code_of_wait(s));
            waits.cancel();
            CHECK_EQ(waits.join(), ECANCELED);
        }
        CHECK(thrum::spawn(has_it_soon(s, by(far_off()))).join());
    });
}

namespace {

thrum::co<int> waits_for_change(shared &s) {
    auto lock = co_await thrum::locked(s.mutex);
    s.first++;
    while (s.count == 0) {
        try {
            co_await thrum::wait(s.changed, lock);
        } catch (const std::system_error &error) {
            CHECK(lock.owns_lock());
            CHECK(!s.mutex.try_lock());
            co_return error.code().value();
        }
    }
    s.second++;
    co_return 0;
}

thrum::co<bool> waits_until(shared &s, thrum::deadline when) {
    auto lock = co_await thrum::locked(s.mutex);
    while (s.count == 0) {
        const thrum::status came = co_await thrum::wait_until(s.changed, lock, when);
        CHECK(!s.mutex.try_lock());
        if (!came) {
            co_return false;
        }
    }
    co_return true;
}

} // namespace

TEST(a_condition_is_waited_for_with_its_lock) {
    /* All hear of it, and have the lock then; so does one that is too late, or cancelled. */
    thrum::run([] {
        shared s;
        std::vector<thrum::co_task<int>> tasks;
        for (int i = 0; i < 20; i++) {
            tasks.push_back(thrum::spawn(waits_for_change(s)));
        }
        CHECK(!thrum::spawn(waits_until(s, by(soon()))).join());
        auto cancelled = thrum::spawn(waits_for_change(s));
        for (long first = 0; first < 21; thrum::yield()) {
            std::lock_guard<thrum::mutex> lock(s.mutex);
            first = s.first;
        }
        cancelled.cancel();
        CHECK_EQ(cancelled.join(), ECANCELED);
        s.changed.notify_all();
        {
            std::lock_guard<thrum::mutex> lock(s.mutex);
            s.count = 1;
        }
        s.changed.notify_all();
        for (auto &task : tasks) {
            CHECK_EQ(task.join(), 0);
        }
        CHECK_EQ(s.second, 20);
        CHECK(thrum::spawn(waits_until(s, by(far_off()))).join());
    });
}

TEST(a_barrier_opens_for_coroutines) {
    /* Round after round one of the four is the last; one that is late has not come. */
    struct at {
        static thrum::co<int> times(thrum::barrier &barrier, int rounds) {
            int last = 0;
            for (int i = 0; i < rounds; i++) {
                last += co_await thrum::wait(barrier);
            }
            co_return last;
        }
        static thrum::co<int> once(thrum::barrier &barrier, thrum::deadline when) {
            const thrum::status came = co_await thrum::wait_until(barrier, when);
            co_return came.code();
        }
    };
    thrum::run([] {
        thrum::barrier barrier(4);
        CHECK_EQ(thrum::spawn(at::once(barrier, by(soon()))).join(), -ETIMEDOUT);
        std::vector<thrum::co_task<int>> tasks;
        for (int i = 0; i < 4; i++) {
            tasks.push_back(thrum::spawn(at::times(barrier, 20)));
        }
        int last = 0;
        for (auto &task : tasks) {
            last += task.join();
        }
        CHECK_EQ(last, 20);
        thrum::barrier alone(1);
        CHECK_EQ(thrum::spawn(at::once(alone, thrum::deadline::never())).join(), 1);
    });
}

TEST(waits_for_locks_allocate_nothing) {
    /* A frame for each coroutine and one more for its spawn; none for a lock or a condition. */
#ifdef NEW_IS_TAKEN
    CHECK_SKIP("the sanitizer counts allocations, not we");
#endif
    struct waiting {
        static thrum::co<> all(shared &s, thrum::barrier &gate) {
            for (int i = 0; i < 20; i++) {
                (void)co_await thrum::locked(s.mutex);
                (void)co_await thrum::locked(s.both);
                (void)co_await thrum::locked_shared(s.both);
                (void)co_await thrum::locked_until(s.mutex, by(far_off()));
                (void)co_await thrum::wait(gate);
                auto lock = co_await thrum::locked(s.mutex);
                (void)co_await thrum::wait_until(s.changed, lock, by(past()));
            }
        }
    };
    thrum::run([] {
        shared s;
        thrum::barrier gate(2);
        std::unique_lock<thrum::mutex> held(s.mutex);
        const int before = allocations.load();
        auto one = thrum::spawn(waiting::all(s, gate));
        auto two = thrum::spawn(waiting::all(s, gate));
        thrum::yield();
        held.unlock();
        one.join();
        two.join();
        CHECK(is_count(allocations.load() - before, 4));
    });
}
