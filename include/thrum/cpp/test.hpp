/*
 * thrum/cpp/test.hpp: deterministic tests in C++. The rules are those of thrum/test.h. It is no
 * part of <thrum/thrum.hpp>: include it, and link thrum::test (-lthrum-test).
 *
 *     int main(int argc, char **argv) {
 *         return thrum::test(argc, argv, [] {
 *             thrum::chan<int> numbers(1);
 *             auto sent = thrum::spawn([&] { numbers.send(1); });
 *             THRUM_TEST(numbers.recv() == 1);
 *             sent.join();
 *         });
 *     }
 *
 * A run fails if THRUM_TEST does, if an exception leaves the test or a detached task, or if the
 * test returns an int other than 0. The report shows the exception's type and its `what()`.
 */
#ifndef THRUM_CPP_TEST_HPP
#define THRUM_CPP_TEST_HPP

#include <exception>
#include <type_traits>
#include <utility>

#include "thrum/cpp/coroutine.hpp"
#include "thrum/cpp/error.hpp"
#include "thrum/cpp/outcome.hpp"
#include "thrum/test.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {
namespace detail {

/* Fails the run by the exception that is being handled. */
[[noreturn]] inline void fail_by_exception() noexcept {
#if THRUM_CPP_EXCEPTIONS
    if (std::current_exception()) {
        try {
            throw;
        } catch (const std::exception &failure) {
            thrum_test_fail(nullptr, 0, failure.what());
        } catch (...) {
            thrum_test_fail(nullptr, 0, "an exception that is no std::exception");
        }
    }
#endif
    thrum_test_fail(nullptr, 0, "std::terminate was called");
}

template <typename Fn> int call_test(void *arg) {
    Fn &fn = *static_cast<Fn *>(arg);
    using result = std::invoke_result_t<Fn &>;
    if constexpr (std::is_void_v<result>) {
        fn();
        return 0;
    } else if constexpr (is_co<result>::value) {
#if defined(__cpp_impl_coroutine)
        return static_cast<void>(sync_wait(fn())), 0;
#endif
    } else {
        return static_cast<int>(fn());
    }
}

template <typename Fn> int test_main(void *arg) noexcept {
    return call_test<Fn>(arg); /* an exception of it calls std::terminate */
}

/* While it is there, std::terminate fails the run. The test kit has a handler of its own. */
class [[nodiscard]] failing_at_terminate {
  public:
    [[nodiscard]] failing_at_terminate() noexcept : before_(std::set_terminate(fail_by_exception)) {
    }
    ~failing_at_terminate() {
        std::set_terminate(before_);
    }
    failing_at_terminate(const failing_at_terminate &) = delete;
    failing_at_terminate &operator=(const failing_at_terminate &) = delete;

  private:
    std::terminate_handler before_;
};

} // namespace detail

/*
 * Runs `fn` in different orders by the options of the command line, and returns the exit status
 * (thrum_test_main). `fn` returns nothing, an int, or a `co`, which is run to its end. It is called
 * once in each run, so it finds what it captured by value as the run before left it.
 */
template <typename Fn> int test(int argc, char **argv, Fn &&fn) {
    auto call = [&fn] { return fn(); }; /* a plain function has no address as an object */
    const detail::failing_at_terminate until_end;
    return thrum_test_main(argc, argv, detail::test_main<decltype(call)>, &call);
}

/* The same for programs that have other tests as well (thrum_test_run): true if all runs passed. */
template <typename Fn> bool test(const thrum_test_options &options, Fn &&fn) {
    auto call = [&fn] { return fn(); };
    const detail::failing_at_terminate until_end;
    return check(thrum_test_run(&options, detail::test_main<decltype(call)>, &call)) == 0;
}
template <typename Fn> bool test(Fn &&fn) {
    return thrum::test(thrum_test_options THRUM_TEST_OPTIONS_INIT, std::forward<Fn>(fn));
}

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
