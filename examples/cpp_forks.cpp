/*
 * cpp_forks.cpp: a sort whose halves are sorted beside each other, and a sum of its result.
 */
#include <algorithm>
#include <cstdio>
#include <thrum/thrum.hpp>
#include <vector>

static void sort(int *begin, int *end) {
    if (end - begin < 1000) {
        std::sort(begin, end);
        return;
    }
    const int middle = begin[(end - begin) / 2];
    int *low = std::partition(begin, end, [=](int n) { return n < middle; });
    int *high = std::partition(low, end, [=](int n) { return n == middle; });
    thrum::invoke([=] { sort(begin, low); }, [=] { sort(high, end); });
}

int main() {
    return thrum::run([] {
        std::vector<int> numbers(100000);
        thrum::parallel_for(0, numbers.size(),
                            [&](size_t i) { numbers[i] = int(i * 7919 % 100003); });
        sort(numbers.data(), numbers.data() + numbers.size());
        const long wrong = thrum::parallel_reduce(
            1, numbers.size(), 0L, [&](size_t i) { return long(numbers[i - 1] > numbers[i]); },
            [](long a, long b) { return a + b; });
        std::printf("%ld out of order\n", wrong);
        return wrong == 0 ? 0 : 1;
    });
}
