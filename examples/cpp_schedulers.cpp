/*
 * cpp_schedulers.cpp: a scheduler beside the program's own threads: with a config, tasks that a
 * plain thread starts, and a thread that is bound to it for a while.
 */
#include <cstdio>
#include <thrum/thrum.hpp>

int main() {
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 2;
    config.name = "cpp";
    thrum::scheduler background(&config);
    thrum::attr there = thrum::attr().sched(background);
    auto answer =
        thrum::spawn(there.name("answer"), [] { return thrum_worker_id() >= 0 ? 42 : 0; });
    const int got = answer.join(); /* a plain thread sleeps meanwhile */
    int ran = 0;
    {
        thrum::bound_thread here(background); /* now it is as good as a task */
        auto mine = thrum::spawn(thrum::attr().pinned(), [&] { ran++; });
        mine.join();
    }
    std::printf("%d, %d\n", got, ran);
    return got == 42 && ran == 1 ? 0 : 1;
} /* the scheduler waits for its tasks, and stops */
