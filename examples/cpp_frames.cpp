/*
 * cpp_frames.cpp: a main loop with tasks of its own. In what is left of each frame, step_until runs
 * those that are due or ready; without workers all of them run on this thread and need no locks.
 */
#include <chrono>
#include <cstdio>
#include <thrum/thrum.hpp>

int main() {
    using namespace std::chrono_literals;
    thrum_config config;
    thrum_config_init(&config);
    config.workers = 0;
    thrum::scheduler sched(&config);
    thrum::bound_thread here(sched);
    int moved = 0, loaded = 0, living = 2, late = 0;
    thrum::go([&] {
        for (; moved < 5; moved++) {
            thrum::sleep(1ms);
        }
        living--;
    });
    thrum::go([&] {
        for (; loaded < 2000; loaded++) {
            thrum::yield(); /* the frame may end between two parts */
        }
        living--;
    });
    while (living > 0) {
        const auto end = thrum::after(2ms);
        /* ... input, physics, drawing ... */
        if (here.step_until(end).timed_out()) {
            late++; /* there is more to run: in the next frame */
        }
        /* ... wait for the screen, until `end` at the latest ... */
    }
    std::printf("%d moves, %d parts\n", moved, loaded);
    (void)late; /* how often depends on the machine */
    return moved == 5 && loaded == 2000 ? 0 : 1;
}
