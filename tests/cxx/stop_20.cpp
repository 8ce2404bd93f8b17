/*
 * stop_20.cpp: a std::stop_token of C++20 cancels tasks and scopes.
 */
/* matrix: policy workers */
#include "check.h"

#include <atomic>

#include <thrum/cpp/intrusive.hpp>
#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

#if defined(__cpp_lib_jthread)
#include <thread>
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHECK_TSAN 1
#endif
#endif

using namespace std::chrono_literals;

TEST(a_stop_cancels) {
    /* A task that waits, and a scope whose token was stopped before; not after the link is gone. */
#if defined(__cpp_lib_jthread)
    std::stop_source source;
    std::stop_source late;
    thrum::run([&] {
        auto task = thrum::spawn([] { return code_of([] { thrum::sleep(1h); }); });
        {
            thrum::cancel_on_stop linked(source.get_token(), task);
            source.request_stop();
        }
        CHECK_EQ(task.join(), ECANCELED);
        CHECK_EQ(code_of([&] {
                     thrum::scope scope;
                     thrum::cancel_on_stop linked(source.get_token(), scope);
                     scope.go([] { thrum::sleep(1h); });
                     scope.join();
                 }),
                 ECANCELED);
        thrum::event stopped(THRUM_EVENT_MANUAL);
        auto other = thrum::spawn([&] { return code_of([&] { stopped.wait(); }); });
        { thrum::cancel_on_stop linked(late.get_token(), other); }
        late.request_stop();
        stopped.signal();
        CHECK_EQ(other.join(), 0);
    });
#else
    CHECK_SKIP("this library of C++ has no std::stop_token");
#endif
}

#if defined(__cpp_lib_jthread)
namespace {

/* What is cancelled lets others run meanwhile, as the cancel of a large scope does. */
struct slow_target {
    std::atomic<bool> inside{false};
    std::atomic<bool> goes_on{false};
    std::atomic<bool> done{false};
    void cancel() noexcept {
        inside = true;
        while (!goes_on) {
            thrum::yield();
        }
        done = true;
    }
};

} // namespace
#endif

TEST(a_link_waits_for_a_cancel_that_has_begun) {
    /* On the thread of that cancel, too. */
#if defined(__cpp_lib_jthread)
#if defined(__SANITIZE_THREAD__) || defined(CHECK_TSAN)
    CHECK_SKIP("the standard's tokens order by threads, and the sanitizer by fibers");
#endif
    std::stop_source source;
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 1;
    thrum::run(&config, [&] {
        slow_target target;
        thrum::task<void> stopper;
        {
            thrum::cancel_on_stop linked(source.get_token(), target);
            stopper = thrum::spawn([&] { source.request_stop(); });
            while (!target.inside) {
                thrum::yield();
            }
            thrum::go([&] { target.goes_on = true; });
        }
        CHECK(target.done);
        stopper.join();
    });
#else
    CHECK_SKIP("this library of C++ has no std::stop_token");
#endif
}

#if defined(__cpp_lib_jthread)
namespace {

/* Joins a scope whose stop comes some time meanwhile, or before, or after. */
void joins_beside_a_stop(std::stop_source source) {
    int code = code_of([&] {
        thrum::scope scope;
        thrum::cancel_on_stop linked(source.get_token(), scope);
        for (int k = 0; k < 3; k++) {
            scope.go([k] {
                for (int n = 0; n < k; n++) {
                    thrum::yield();
                }
            });
        }
        scope.join();
    });
    CHECK(code == 0 || code == ECANCELED);
}

} // namespace
#endif

TEST(a_stop_may_come_while_a_scope_is_joined) {
    /* From a plain thread: before the join, in the middle of it or after it. */
#if defined(__cpp_lib_jthread)
    thrum::run([] {
        for (int i = 0; i < check_scaled(200); i++) {
            std::stop_source source;
            std::jthread stopper([&source] { source.request_stop(); });
            for (int k = 0; k < i % 4; k++) {
                thrum::yield();
            }
            joins_beside_a_stop(source);
        }
    });
#else
    CHECK_SKIP("this library of C++ has no std::stop_token");
#endif
}

TEST(a_task_may_stop_while_a_scope_is_joined) {
    /* The same from a task, which may be on the same thread. */
#if defined(__cpp_lib_jthread)
#if defined(__SANITIZE_THREAD__) || defined(CHECK_TSAN)
    CHECK_SKIP("the standard's tokens order by threads, and the sanitizer by fibers");
#endif
    thrum::run([] {
        for (int i = 0; i < check_scaled(300); i++) {
            std::stop_source source;
            auto stopper = thrum::spawn([&source, i] {
                for (int k = 0; k < i % 4; k++) {
                    thrum::yield();
                }
                source.request_stop();
            });
            joins_beside_a_stop(source);
            stopper.join();
        }
    });
#else
    CHECK_SKIP("this library of C++ has no std::stop_token");
#endif
}

TEST(a_stop_wakes_an_intrusive_task) {
    /* While it waits, and before its post. */
#if defined(__cpp_lib_jthread)
    thrum::scheduler own;
    std::stop_source source;
    std::atomic<int> woken(0);
    thrum::intrusive_task task(
        [&woken](thrum::intrusive_task &self) { woken += self.cause() == THRUM_CAUSE_WOKEN; });
    {
        std::stop_callback wake(source.get_token(), [&task] { task.wakeup(); });
        CHECK(bool(task.post_wait(own)));
        source.request_stop();
        own.wait_done();
    }
    CHECK_EQ(woken.load(), 1);
    std::stop_callback at_once(source.get_token(), [&task] { task.wakeup(); });
    CHECK(bool(task.post_wait(own)));
    own.wait_done();
    CHECK_EQ(woken.load(), 2);
#else
    CHECK_SKIP("this library of C++ has no std::stop_token");
#endif
}
