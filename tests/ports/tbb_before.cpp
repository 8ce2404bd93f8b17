/* tbb_before.cpp: a small program as a user of oneTBB writes it. tbb_after.cpp is the same here. */
#include <cstdio>
#include <tbb/tbb.h>
#include <vector>

static long fibonacci(int n) {
    if (n < 2) {
        return n;
    }
    long left = 0;
    long right = 0;
    tbb::parallel_invoke([&] { left = fibonacci(n - 1); }, [&] { right = fibonacci(n - 2); });
    return left + right;
}

int main() {
    const size_t n = 100000;
    std::vector<long> squares(n);
    tbb::parallel_for(size_t(0), n, [&](size_t i) { squares[i] = long(i) * long(i); });
    const long sum = tbb::parallel_reduce(
        tbb::blocked_range<size_t>(0, n), 0L,
        [&](const tbb::blocked_range<size_t> &part, long so_far) {
            for (size_t i = part.begin(); i != part.end(); i++) {
                so_far += squares[i];
            }
            return so_far;
        },
        [](long a, long b) { return a + b; });
    std::printf("%ld %ld\n", sum, fibonacci(15));

    tbb::concurrent_bounded_queue<int> numbers;
    numbers.set_capacity(
        static_cast<std::ptrdiff_t>(n)); /* a push must not wait: it would block a thread */
    tbb::task_group group;
    for (int task = 0; task < 4; task++) {
        group.run([&, task] {
            for (int i = 0; i < 100; i++) {
                numbers.push(100 * task + i);
            }
        });
    }
    group.wait();
    long total = 0;
    int number = 0;
    while (numbers.try_pop(number)) {
        total += number;
    }
    std::printf("%ld\n", total);
}
