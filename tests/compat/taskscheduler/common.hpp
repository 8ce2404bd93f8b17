/*
 * common.hpp: what the tests of the headers for TaskScheduler share.
 */
#ifndef COMPAT_TASKSCHEDULER_COMMON_HPP
#define COMPAT_TASKSCHEDULER_COMMON_HPP

#include <thread>

/* Waits for a state that must come; the test's own limit ends it otherwise. */
template <typename Condition> inline void until(Condition condition) {
    while (!condition()) {
        std::this_thread::yield();
    }
}

#endif
