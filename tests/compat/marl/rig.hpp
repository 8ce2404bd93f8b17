/*
 * rig.hpp: a bound scheduler with a counting allocator, with 0 to 16 worker threads one after the
 * other. Each round ends with nothing allocated.
 */
#ifndef COMPAT_MARL_RIG_HPP
#define COMPAT_MARL_RIG_HPP

#include "check.h"

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

inline void pause_ms(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

} // namespace

#endif
