/*
 * cpp_intrusive.cpp: intrusive tasks that run once. Each is posted with a lambda as its body, which
 * destroys the task, so nobody has to join it.
 */
#include <atomic>
#include <cstdio>
#include <thrum/cpp/intrusive.hpp>
#include <thrum/thrum.hpp>

static std::atomic<int> runs;

static void work() {
    runs++;
}

int main() {
    {
        thrum::scheduler background("once", 2); /* at its end it waits for its tasks */

        for (int i = 0; i < 100; i++) {
            (new thrum::intrusive_task([](thrum::intrusive_task &self) {
                work();
                delete &self;
            }))->post(background);
        }
    }
    std::printf("%d runs\n", runs.load());
    return runs == 100 ? 0 : 1;
}
