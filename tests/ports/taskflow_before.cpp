/*
 * taskflow_before.cpp: a small program as a user of Taskflow writes it. taskflow_after.cpp is the
 * same here. Debian has no Taskflow. Each call was compared with how the library's own headers
 * declare it (core/executor.hpp, core/async.hpp, core/flow_builder.hpp and core/task.hpp of
 * github.com/taskflow/taskflow), and the program was compiled with declarations of those
 * signatures, by gcc 12 and clang 14; with the library itself it has not been run. Of
 * for_each_index an excerpt was compared, of another version.
 */
#include <atomic>
#include <cstdio>
#include <future>
#include <taskflow/algorithm/for_each.hpp>
#include <taskflow/taskflow.hpp>
#include <vector>

int main() {
    tf::Executor executor;

    /* A graph, which is run again and again. */
    int loaded = 0;
    int left = 0;
    int right = 0;
    long sum = 0;
    tf::Taskflow graph;
    auto load = graph.emplace([&] { loaded++; });
    auto square = graph.emplace([&] { left = loaded * loaded; });
    auto cube = graph.emplace([&] { right = loaded * loaded * loaded; });
    auto add = graph.emplace([&] { sum += left + right; });
    load.precede(square, cube);
    add.succeed(square, cube);
    for (int i = 0; i < 3; i++) {
        executor.run(graph).wait();
    }
    std::printf("%ld\n", sum);

    /* A loop over indices. */
    std::vector<long> squares(1000);
    tf::Taskflow loop;
    loop.for_each_index(0, 1000, 1, [&](int i) { squares[size_t(i)] = long(i) * i; });
    executor.run(loop).wait();
    long total = 0;
    for (const long one : squares) {
        total += one;
    }
    std::printf("%ld\n", total);

    /* Tasks with and without a result. */
    std::atomic<int> calls(0);
    std::future<int> answer = executor.async([] { return 42; });
    for (int i = 0; i < 10; i++) {
        executor.silent_async([&] { calls++; });
    }
    executor.wait_for_all();
    std::printf("%d %d\n", answer.get(), calls.load());
}
