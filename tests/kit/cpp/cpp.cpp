/*
 * cpp.cpp: kernels in C++: exceptions and coroutines in the test kit. It is called as main.c is:
 * NAME [fixed] [OPTION...].
 */
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thrum/cpp/test.hpp>
#include <thrum/thrum.hpp>
#include <vector>

namespace {

bool fixed;
std::vector<int> numbers{1, 2, 3}; /* allocated before the test; each run finds it so */

/* ---- an exception of a task, which nobody expects ---- */

int half(int n) {
    if (n % 2 != 0) {
        throw std::invalid_argument(std::to_string(n) + " is odd");
    }
    return n / 2;
}

void exception_of_join() {
    thrum::chan<int> turns(2);
    auto first = thrum::spawn([&] { turns.send(3); });
    auto second = thrum::spawn([&] { turns.send(4); });
    auto result = thrum::spawn([&] { return half(turns.recv().value()); });
    try {
        result.join();
    } catch (const std::invalid_argument &) {
        if (!fixed) {
            throw;
        }
    }
    first.join();
    second.join();
}

/* ---- exceptions of several tasks at a time, each of which waits while it handles its own ---- */

void handles(int number) {
    struct waits_at_end {
        ~waits_at_end() { /* while an exception unwinds the frame */
            thrum::yield();
            THRUM_TEST(std::uncaught_exceptions() == 1);
        }
    };
    try {
        const waits_at_end waits;
        throw number;
    } catch (int caught) {
        THRUM_TEST(caught == number);
        thrum::yield();
        try {
            throw;
        } catch (int again) {
            THRUM_TEST(again == number);
        }
        thrum::sleep(std::chrono::seconds(number));
        THRUM_TEST(std::current_exception() != nullptr);
    }
    THRUM_TEST(std::current_exception() == nullptr);
    THRUM_TEST(std::uncaught_exceptions() == 0);
}

void handled_at_a_time() {
    std::vector<thrum::task<void>> tasks;
    for (int i = 0; i < 3; i++) {
        tasks.push_back(thrum::spawn([i] { handles(i); }));
    }
    if (!fixed) {
        thrum::go([] { throw std::runtime_error("nobody joins this"); });
    }
    for (auto &task : tasks) {
        task.join();
    }
}

/* ---- static variables: of a function, and of the program ---- */

struct expensive {
    explicit expensive(int &made) : value(++made) {
        thrum::sleep(std::chrono::milliseconds(1));
    }
    int value;
};
int made;
std::unique_ptr<expensive> lazy;

int value_of_one() {
    if (fixed) {
        static expensive one(made);
        return one.value;
    }
    if (!lazy) {
        lazy = std::make_unique<expensive>(made);
    }
    return lazy->value;
}

void made_once() {
    THRUM_TEST(numbers.size() == 3);
    numbers.push_back(4);
    auto other = thrum::spawn(value_of_one);
    const int mine = value_of_one();
    THRUM_TEST(mine == 1);
    THRUM_TEST(other.join() == 1);
}

/* ---- coroutines ---- */

#if defined(__cpp_impl_coroutine)
thrum::co<void> pays(int &balance, thrum::mutex &lock) {
    if (fixed) {
        auto held = co_await thrum::locked(lock);
        balance -= balance >= 10 ? 10 : 0;
    } else if (balance >= 10) {
        co_await thrum::hop();
        balance -= 10;
    }
}

thrum::co<void> paid_twice() {
    int balance = 10;
    thrum::mutex lock;
    co_await thrum::when_all(pays(balance, lock), pays(balance, lock));
    THRUM_TEST(balance == 0);
}

thrum::co<int> throws(int n) {
    co_await thrum::sleep_for(std::chrono::milliseconds(100));
    co_return half(n);
}

thrum::co<void> exception_of_await() {
    int sum = co_await throws(2);
    try {
        sum += co_await throws(3);
    } catch (const std::invalid_argument &) {
        if (!fixed) {
            throw;
        }
    }
    THRUM_TEST(sum == 1);
}
#endif

template <typename Fn> int run(const char *name, const char *fault, Fn fn, int argc, char **argv) {
    if (argc < 2) {
        std::printf("%s %s\n", name, fault);
        return -1;
    }
    if (std::strcmp(argv[1], name) != 0) {
        return -1;
    }
    fixed = argc > 2 && !std::strcmp(argv[2], "fixed");
    const int skip = fixed ? 2 : 1;
    argv[skip] = argv[0];
    return thrum::test(argc - skip, argv + skip, fn);
}

} // namespace

#define KERNEL(name, fault)                                                                        \
    if (const int code = run(#name, fault, name, argc, argv); code >= 0) {                         \
        return code;                                                                               \
    }

int main(int argc, char **argv) {
    KERNEL(exception_of_join, "exception")
    KERNEL(handled_at_a_time, "exception")
    KERNEL(made_once, "check")
#if defined(__cpp_impl_coroutine)
    KERNEL(paid_twice, "check")
    KERNEL(exception_of_await, "exception")
#endif
    return argc < 2 ? 0 : 2;
}
