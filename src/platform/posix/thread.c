/*
 * thread.c: data of threads that POSIX does not have: names, numbers, stacks, whether one runs.
 * Calls are refused, or return that it is not known, as platform.h allows.
 */
#include "platform/unix/system.h"

#include <errno.h>

#include "base/atomic.h"

void th_system_thread_name(const char *name) {
    (void)name;
}

int th_system_thread_create_on(pthread_t *id, void *(*entry)(void *), void *arg,
                               const th_os_cpuset *cpus) {
    (void)id, (void)entry, (void)arg, (void)cpus;
    return ENOSYS;
}

/* Numbers of our own, in the order in which threads ask for theirs. */
uint64_t th_os_thread_number(void) {
    static uint64_t xlast;
    static __thread uint64_t number;
    if (!number) {
        number =
            th_add_relaxed(&xlast, (uint64_t)1) + 1; /* relaxed: only that they differ counts */
    }
    return number;
}

bool th_os_thread_waits(uint64_t number) {
    (void)number;
    return false;
}

bool th_os_thread_runs(uint64_t number) {
    (void)number;
    return false;
}

uintptr_t th_os_thread_pointer(uint64_t number) {
    (void)number;
    return 0;
}

int th_os_barrier_start(void) {
    return -ENOSYS;
}

bool th_os_barrier(void) {
    return false;
}

unsigned long th_os_timer_slack(unsigned long ns) {
    (void)ns;
    return 0;
}

void th_os_stack(uintptr_t *low, uintptr_t *high) {
    *low = 0;
    *high = 0;
}
