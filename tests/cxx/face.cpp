/*
 * face.cpp: thrum/thrum.hpp: results, exceptions and ownership of what C++ hands to tasks.
 */
/* matrix: policy workers */
#include "check.h"

#include <functional>
#include <memory>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

using namespace std::chrono_literals;

namespace {

int fibonacci(int n) {
    if (n < 2) {
        return n;
    }
    thrum::fork left([n] { return fibonacci(n - 1); });
    const int right = fibonacci(n - 2);
    return left.join() + right;
}

} // namespace

TEST(a_join_returns_what_only_moves) {
    /* A result that cannot be copied, a reference and void come through a join. */
    int there = 0;
    auto got = thrum::run([&] {
        auto moved =
            thrum::spawn([p = std::make_unique<int>(7)]() mutable { return std::move(p); });
        thrum::task<int &> referred = thrum::spawn([&]() -> int & { return there; });
        thrum::task<> nothing = thrum::spawn([] { thrum::yield(); });
        nothing.join();
        CHECK(!nothing.joinable());
        CHECK(&referred.join() == &there);
        return moved.join();
    });
    CHECK_EQ(*got, 7);
}

TEST(a_join_throws_what_the_task_threw) {
    /* After a wait, to a joiner on another fiber; a second join is an error. */
    thrum::run([] {
        thrum::task<int> task = thrum::spawn([]() -> int {
            thrum::yield();
            throw std::runtime_error("its own");
        });
        std::string said;
        try {
            task.join();
        } catch (const std::runtime_error &error) {
            said = error.what();
        }
        CHECK_STR(said.c_str(), "its own");
        CHECK_EQ(code_of([&] { task.join(); }), EINVAL);
    });
}

TEST(a_task_that_is_destroyed_is_cancelled_and_joined) {
    /* Its wait ends, and its callable is gone, before the destructor returns. */
    thrum::run([] {
        int code = 0;
        {
            auto task =
                thrum::spawn([&, kept = counted()] { code = code_of([] { thrum::sleep(1h); }); });
            thrum::task<> moved = std::move(task);
            CHECK(!task.joinable() && moved.joinable());
        }
        CHECK_EQ(code, ECANCELED);
        CHECK_EQ(counted::alive.load(), 0);
    });
}

TEST(a_detached_task_goes_on) {
    /* It ends after its handle is gone, and what it shared is freed (leaks are found by asan). */
    thrum::run([] {
        thrum_event gate = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
        thrum_event done = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
        thrum::spawn([&] {
            thrum::check(thrum_event_wait(&gate));
            thrum_event_signal(&done);
        }).detach();
        thrum_event_signal(&gate);
        CHECK_EQ(thrum_event_wait(&done), 0);
    });
}

TEST(a_join_with_a_deadline_leaves_the_task) {
    /* In the past it says so; afterwards the result is there once. */
    thrum::run([] {
        thrum_event gate = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
        auto task = thrum::spawn([&] { return thrum_event_wait(&gate) + 5; });
        CHECK(task.join_until(by(past())).timed_out());
        CHECK(task.joinable());
        thrum_event_signal(&gate);
        CHECK(task.join_until(thrum::deadline::never()) ? true : false);
        CHECK_EQ(task.get(), 5);
        CHECK_EQ(code_of([&] { task.get(); }), EINVAL);
    });
}

TEST(an_over_aligned_callable_is_aligned) {
    /* In a task, and in a child of a scope, wherever its memory comes from. */
    struct alignas(128) wide {
        char bytes[128];
        void operator()() const {
            CHECK_EQ((uintptr_t)this % 128, 0);
        }
    };
    thrum::run([] {
        thrum::spawn(wide{}).join();
        thrum::scope scope;
        scope.go(wide{});
        scope.join();
    });
}

TEST(forks_and_scopes_allocate_nothing) {
    /* Not a new for forks, a scope and its small children, a lock, a reduction; one for `go`. */
#ifdef NEW_IS_TAKEN
    CHECK_SKIP("the sanitizer counts allocations, not we");
#endif
    thrum::run([] {
        const int before = allocations.load();
        CHECK_EQ(fibonacci(12), 144);
        int left = 0;
        int right = 0;
        {
            thrum::scope scope;
            scope.go([&] { left = 1; });
            scope.go([&] { right = 2; });
            scope.join();
        }
        thrum::mutex mutex;
        std::lock_guard<thrum::mutex> guard(mutex);
        CHECK_EQ(left + right, 3);
        CHECK_EQ(thrum::parallel_reduce(
                     0, 1000, 0, [](size_t i) { return (int)i; }, std::plus<>()),
                 499500);
        CHECK_EQ(allocations.load(), before);
        thrum::go([kept = counted()] {});
        CHECK_EQ(allocations.load(), before + 1);
    });
    CHECK_EQ(counted::alive.load(), 0);
}

TEST(a_fork_throws_at_its_join) {
    /* And one that is not joined is waited for while its owner's exception unwinds. */
    thrum::run([] {
        bool ran = false;
        CHECK_EQ(code_of([&] {
                     thrum::fork dropped([&] { ran = true; });
                     thrum::fork throws([]() -> int { throw std::runtime_error("x"); });
                     throws.join();
                 }),
                 -1);
        CHECK(ran);
    });
}

TEST(a_scope_throws_its_first_failure) {
    /* The others are cancelled by it, and more children than have room in it are destroyed. */
    thrum::run([] {
        std::atomic<int> cancelled(0);
        CHECK_EQ(code_of([&] {
                     thrum::scope scope;
                     for (int i = 0; i < 64; i++) {
                         scope.go([&, kept = counted()] {
                             cancelled += code_of([] { thrum::sleep(1h); }) == ECANCELED;
                         });
                     }
                     scope.go([] { throw std::runtime_error("first"); });
                     scope.join();
                 }),
                 -1);
        CHECK_EQ(cancelled.load(), 64);
        CHECK_EQ(counted::alive.load(), 0);
    });
}

TEST(a_scope_that_unwinds_cancels) {
    /* Its owner throws: the children's waits end and the owner's exception goes on. */
    thrum::run([] {
        int code = 0;
        CHECK_EQ(code_of([&] {
                     thrum::scope scope;
                     scope.go([&] { code = code_of([] { thrum::sleep(1h); }); });
                     throw std::runtime_error("owner");
                 }),
                 -1);
        CHECK_EQ(code, ECANCELED);
    });
}

TEST(a_scope_says_why_it_ended) {
    /* A deadline that has passed, and a child's code. */
    thrum::run([] {
        CHECK_EQ(code_of([] {
                     thrum::scope scope(by(soon()));
                     scope.go([] { thrum::sleep(1h); });
                     scope.join();
                 }),
                 ETIMEDOUT);
        CHECK_EQ(code_of([] {
                     thrum::scope scope;
                     scope.go([] { return -ENOENT; });
                     scope.join();
                 }),
                 ENOENT);
    });
}

TEST(locks_are_the_standard_s) {
    /* What the standard locks with works: two at once, shared, and with a time limit. */
    thrum::run([] {
        thrum::mutex a;
        thrum::mutex b;
        thrum::shared_mutex shared;
        int sum = 0;
        thrum::parallel_for(0, 200, 1, [&](size_t i) {
            std::shared_lock<thrum::shared_mutex> reading(shared);
            if (i % 2) {
                std::scoped_lock both(a, b);
                sum++;
            } else {
                std::scoped_lock both(b, a);
                sum++;
            }
        });
        CHECK_EQ(sum, 200);
        std::unique_lock<thrum::mutex> held(a);
        auto other = thrum::spawn([&] {
            std::unique_lock<thrum::mutex> late(a, 1ms);
            std::unique_lock<thrum::mutex> now(a, std::try_to_lock);
            return late.owns_lock() || now.owns_lock();
        });
        CHECK(!other.join());
        thrum::recursive_mutex again;
        std::unique_lock<thrum::recursive_mutex> once(again, 1ms);
        std::lock_guard<thrum::recursive_mutex> twice(again);
        CHECK(once.owns_lock());
        shared.lock();
        shared.downgrade();
        CHECK(shared.try_lock_shared());
        CHECK(!shared.try_lock());
        shared.unlock_shared();
        shared.unlock_shared();
    });
}

TEST(a_condition_is_waited_for_with_a_predicate) {
    /* It holds after the wait; past a deadline it does not, and a cancelled task hears of it. */
    thrum::run([] {
        thrum::mutex mutex;
        thrum::cond changed;
        int value = 0;
        auto waiter = thrum::spawn([&] {
            std::unique_lock<thrum::mutex> lock(mutex);
            changed.wait(lock, [&] { return value == 3; });
            return value;
        });
        for (int i = 0; i < 3; i++) {
            std::lock_guard<thrum::mutex> lock(mutex);
            value++;
            changed.notify_one();
        }
        CHECK_EQ(waiter.join(), 3);
        std::unique_lock<thrum::mutex> lock(mutex);
        CHECK(changed.wait_until(lock, by(soon()), [] { return false; }).timed_out());
        auto cancelled = thrum::spawn([&] {
            std::unique_lock<thrum::mutex> mine(mutex);
            return code_of([&] { changed.wait(mine); });
        });
        lock.unlock();
        cancelled.cancel();
        CHECK_EQ(cancelled.join(), ECANCELED);
    });
}

TEST(a_loop_throws_what_a_piece_threw) {
    /* So does a reduction, which keeps the order of its parts, and an invoke, which calls all. */
    thrum::run([] {
        CHECK_EQ(code_of([] {
                     thrum::parallel_for(0, 100, 1, [](size_t i) {
                         if (i == 50) {
                             throw std::runtime_error("a piece");
                         }
                     });
                 }),
                 -1);
        const std::string text = thrum::parallel_reduce(
            0, 26, 1, std::string(), [](size_t i) { return std::string(1, (char)('a' + i)); },
            std::plus<>());
        CHECK_STR(text.c_str(), "abcdefghijklmnopqrstuvwxyz");
        std::atomic<int> called(0);
        CHECK_EQ(code_of([&] {
                     thrum::invoke(
                         [&] {
                             called++;
                             throw std::runtime_error("x");
                         },
                         [&] { called++; }, [&] { called++; });
                 }),
                 -1);
        CHECK_EQ(called.load(), 3);
    });
}

namespace elsewhere {

/* Names that thrum has, too, found by what they are called with. */
template <typename... Any> void spawn(Any &&...) {
    abort();
}
template <typename... Any> void run(Any &&...) {
    abort();
}
template <typename... Any> void parallel_for(Any &&...) {
    abort();
}
template <typename... Any> void parallel_reduce(Any &&...) {
    abort();
}
template <typename T, typename... Any> void reduce(Any &&...) {
    abort();
}
template <typename... Any> void select_until(Any &&...) {
    abort();
}
template <typename... Any> void on_ready(Any &&...) {
    abort();
}
template <typename... Any> void try_serve(Any &&...) {
    abort();
}
struct job {
    int operator()() const {
        return 7;
    }
    int operator()(size_t) const {
        return 1;
    }
    void operator()(thrum::status) const {
    }
    void operator()(thrum::io) const {
    }
    int operator()(int a, int b) const {
        return a + b;
    }
};

} // namespace elsewhere

TEST(names_beside_a_callable_are_not_taken_for_the_librarys) {
    /* A callable's own namespace has functions of the same names. */
    const elsewhere::job job;
    CHECK_EQ(thrum::run(job), 7);
    thrum::run([&] {
        CHECK_EQ(thrum::spawn(job).join(), 7);
        thrum::parallel_for(0, 3, job);
        CHECK_EQ(thrum::parallel_reduce(0, 100, 0, job, job), 100);
        thrum::event ready(THRUM_EVENT_MANUAL, true);
        CHECK_EQ(thrum::select(thrum::on_event(ready, job)), 0);
        CHECK_EQ(thrum::select_for(std::chrono::hours(1), thrum::on_event(ready, job)).code(), 0);
        thrum::listener nobody("tcp:127.0.0.1:0");
        CHECK(thrum::select_for(1ms, thrum::on_ready(nobody, job)).timed_out());
        thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
        options.stop = ready.native_handle();
        thrum::serve(nobody, job, &options);
    });
}

TEST(a_task_takes_over_one_that_its_own_task_keeps) {
    /* The end of the assigned-to task destroys what the other one lay in. */
    thrum::run([] {
        auto inner = std::make_shared<thrum::task<int>>(thrum::spawn([] { return 5; }));
        thrum::task<int> &there = *inner;
        thrum::task<int> outer = thrum::spawn([inner] {
            while (!thrum::cancelled()) {
                thrum::yield();
            }
            return inner->joinable() ? 1 : 2;
        });
        inner.reset();
        outer = std::move(there);
        CHECK(outer.joinable());
        CHECK_EQ(outer.join(), 5);
    });
}

TEST(results_that_nobody_asks_for_are_dropped) {
    /* A status is to be looked at; a call that drops what its callable returns warns of none. */
    const auto says = [](auto &&...) { return thrum::status(0); };
    thrum::run([&] {
        thrum::defer end(says);
        thrum::invoke(says, says);
        thrum::parallel_for(0, 2, says);
        thrum::event ready(THRUM_EVENT_MANUAL, true);
        CHECK_EQ(thrum::select(thrum::on_event(ready, says)), 0);
        thrum::chan<int> numbers(1);
        int one = 1;
        CHECK_EQ(thrum::select(thrum::on_send(numbers, one, says)), 0);
        CHECK_EQ(thrum::select(thrum::on_recv(numbers, says)), 0);
        thrum::listener nobody("tcp:127.0.0.1:0");
        CHECK(thrum::select_for(1ms, thrum::on_ready(nobody, says)).timed_out());
        thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
        options.stop = ready.native_handle();
        thrum::serve(nobody, says, &options);
    });
}
