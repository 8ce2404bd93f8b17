/*
 * rig.hpp: a bound scheduler with a counting allocator, with 0 to 16 worker threads one after the
 * other. Each round ends with nothing allocated.
 */
#ifndef COMPAT_MARL_RIG_HPP
#define COMPAT_MARL_RIG_HPP

#include "check.h"

#include "marl/event.h"
#include "marl/scheduler.h"

#include <chrono>
#include <memory>
#include <thread>

namespace {

inline void nothing_is_left(marl::TrackedAllocator *allocator) {
    CHECK_EQ(allocator->stats().numAllocations(), 0);
    CHECK_EQ(allocator->stats().bytesAllocated(), 0);
}

template <typename F> inline void with_workers(int workers, F f) {
    marl::TrackedAllocator allocator(marl::Allocator::Default);
    {
        marl::Scheduler::Config config;
        config.setAllocator(&allocator).setWorkerThreadCount(workers);
        marl::Scheduler scheduler(config);
        scheduler.bind();
        f(&allocator);
        marl::Scheduler::unbind();
    }
    nothing_is_left(&allocator);
}

template <typename F> inline void with_schedulers(F f) {
    for (int workers : {0, 1, 2, 4, 16}) {
        with_workers(workers, f);
    }
}

/* Blocks the thread while others go ahead. The tests pass if they do not. */
inline void pause_us(int us) {
    std::thread([us] { (void)marl::Event().wait_for(std::chrono::microseconds(us)); }).join();
}

inline void pause_ms(int ms) {
    pause_us(1000 * ms);
}

typedef std::chrono::steady_clock steady;
typedef std::chrono::system_clock wall;

/* An instant on a clock of the standard's. */
template <typename Clock> inline typename Clock::time_point from_now(int ms) {
    return Clock::now() + std::chrono::milliseconds(ms);
}

} // namespace

#endif
