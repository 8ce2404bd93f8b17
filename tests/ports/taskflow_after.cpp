/* taskflow_after.cpp: the program of taskflow_before.cpp with thrum. */
#include <atomic>
#include <cstdio>
#include <thrum/thrum.hpp>
#include <vector>

static void all() {
    /* A graph, which is run again and again. */
    int loaded = 0;
    int left = 0;
    int right = 0;
    long sum = 0;
    thrum::dag graph;
    const int load = graph.node([&] { loaded++; });
    const int square = graph.node([&] { left = loaded * loaded; });
    const int cube = graph.node([&] { right = loaded * loaded * loaded; });
    const int add = graph.node([&] { sum += left + right; });
    graph.edge(load, square);
    graph.edge(load, cube);
    graph.edge(square, add);
    graph.edge(cube, add);
    for (int i = 0; i < 3; i++) {
        graph.run();
    }
    std::printf("%ld\n", sum);

    /* A loop over indices. */
    std::vector<long> squares(1000);
    thrum::parallel_for(0, 1000, [&](size_t i) { squares[i] = long(i) * long(i); });
    long total = 0;
    for (const long one : squares) {
        total += one;
    }
    std::printf("%ld\n", total);

    /* Tasks with and without a result; the scope waits for its own, not for all that there is. */
    std::atomic<int> calls(0);
    auto answer = thrum::spawn([] { return 42; });
    thrum::scope silent;
    for (int i = 0; i < 10; i++) {
        silent.go([&] { calls++; });
    }
    silent.join();
    const int got = answer.join();
    std::printf("%d %d\n", got, calls.load());
}

int main() {
    thrum::run(all);
}
