/* tbb_after.cpp: the program of tbb_before.cpp with thrum. */
#include <cstdio>
#include <functional>
#include <thrum/thrum.hpp>
#include <vector>

static long fibonacci(int n) {
    if (n < 2) {
        return n;
    }
    thrum::fork left([n] { return fibonacci(n - 1); });
    const long right = fibonacci(n - 2);
    return left.join() + right;
}

static void all() {
    const size_t n = 100000;
    std::vector<long> squares(n);
    thrum::parallel_for(0, n, [&](size_t i) { squares[i] = long(i) * long(i); });
    const long sum = thrum::parallel_reduce(
        0, n, 0L, [&](size_t i) { return squares[i]; }, std::plus<>());
    std::printf("%ld %ld\n", sum, fibonacci(15));

    thrum::chan<int> numbers(4); /* a send that waits gives its worker to others */
    thrum::scope group;
    for (int task = 0; task < 4; task++) {
        group.go([&, task] {
            for (int i = 0; i < 100; i++) {
                numbers.send(100 * task + i);
            }
        });
    }
    auto adding = thrum::spawn([&] {
        long total = 0;
        for (int number : numbers) {
            total += number;
        }
        return total;
    });
    group.join();
    numbers.close();
    std::printf("%ld\n", adding.join());
}

int main() {
    thrum::run(all);
}
