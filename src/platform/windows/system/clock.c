/*
 * clock.c: the monotonic clock, which is the system's performance counter: on today's machines the
 * processor's own, read without a system call. So short spans are counted by it as well.
 */
#include "platform/platform.h"
#include "platform/windows/system/nt.h"

#include "base/atomic.h"

#define NS_PER_S 1000000000

/* Ticks of the counter in a second: constant since the machine began. */
static int64_t frequency(void) {
    static int64_t xfrequency;
    int64_t hertz = th_load_relaxed(&xfrequency); /* relaxed: all threads write the same value */
    if (th_unlikely(hertz == 0)) {
        LARGE_INTEGER f;
        QueryPerformanceFrequency(&f); /* does not fail since Windows XP */
        hertz = f.QuadPart;
        th_store_relaxed(&xfrequency, hertz); /* relaxed: likewise */
    }
    return hertz;
}

/* In two parts: the product with a whole second's nanoseconds would overflow after months. */
static int64_t ns_of(int64_t ticks) {
    int64_t hertz = frequency();
    return ticks / hertz * NS_PER_S + ticks % hertz * NS_PER_S / hertz;
}

int64_t th_os_now(void) {
    LARGE_INTEGER ticks;
    QueryPerformanceCounter(&ticks);
    return ns_of(ticks.QuadPart);
}

uint64_t th_os_ticks(void) {
    LARGE_INTEGER ticks;
    QueryPerformanceCounter(&ticks);
    return (uint64_t)ticks.QuadPart;
}

int64_t th_os_ticks_ns(uint64_t ticks) {
    return ns_of((int64_t)ticks);
}

void th_os_relax(void) {
    __builtin_ia32_pause();
}
