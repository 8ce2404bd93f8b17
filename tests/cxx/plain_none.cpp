/*
 * plain_none.cpp: thrum.hpp in a program without exceptions and without RTTI.
 */
/* matrix: policy workers */
#include "check.h"

#include <sys/socket.h>

#include <string>

#include <thrum/thrum.hpp>

using namespace std::chrono_literals;

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "tests/cxx/cxx.cmake compiles files that end in _none without both"
#endif

TEST(calls_return_without_exceptions) {
    /* Tasks, forks, scopes, loops, channels and primitives do what they do with them. */
    int sum = thrum::run([] {
        thrum::task<int> five = thrum::spawn([] { return 5; });
        thrum::fork six([] { return 6; });
        std::atomic<int> seven(0);
        thrum::scope scope;
        scope.go([&] { seven = 7; });
        scope.join();
        thrum::chan<std::string> words(1);
        words.send("eight");
        int got = *words.recv() == "eight" ? 8 : 0;
        thrum::event done(THRUM_EVENT_AUTO, true);
        done.wait();
        thrum::once flag;
        flag.call([&] { got++; });
        int blocked = thrum::blocking([] { return 10; });
        return five.join() + six.join() + seven + got + blocked;
    });
    CHECK_EQ(sum, 5 + 6 + 7 + 9 + 10);
}

TEST(forms_that_return_say_why) {
    /* A wait past its deadline, and one that is cancelled. */
    thrum::run([] {
        thrum::semaphore none(0);
        CHECK(none.wait_for(1ms).timed_out());
        auto waiter =
            thrum::spawn([&] { return none.wait_until(thrum::deadline::never()).code(); });
        waiter.cancel();
        CHECK_EQ(waiter.join(), -ECANCELED);
    });
}

TEST(what_would_be_thrown_is_printed) {
    /* And the program ends. */
    check_dies([](void *) { thrum::io::adopt(-1); }, NULL, "thrum: ");
    check_dies(
        [](void *) {
            thrum::run([] {
                thrum::chan<int> closed;
                closed.close();
                closed.send(1);
            });
        },
        NULL, thrum_strerror(-EPIPE));
}
