/*
 * cpp_testing.cpp: a test in C++: a channel delivers what two tasks send, in some order.
 */
#include <thrum/cpp/test.hpp>
#include <thrum/thrum.hpp>

static void delivers_both() {
    thrum::chan<int> numbers(1);
    int sum = 0;
    thrum::scope tasks;
    tasks.go([&] { numbers.send(1); });
    tasks.go([&] { numbers.send(2); });
    for (int i = 0; i < 2; i++) {
        sum += numbers.recv().value_or(0);
    }
    tasks.join();
    THRUM_TEST(sum == 3);
}

int main(int argc, char **argv) {
    return thrum::test(argc, argv, delivers_both);
}
