/*
 * clock.c: the monotonic clock, and the processor's own counter for short spans.
 *
 * The counter is used when it runs at one rate on all cores and in all sleep states: on x86 when
 * CPUID promises an invariant TSC, on aarch64 always (a register holds its rate). Otherwise ticks
 * are nanoseconds of the clock.
 *
 * The TSC's rate is measured against CLOCK_MONOTONIC, from a pair of readings when the program was
 * loaded to another pair at the first conversion at least 2 ms later. Each pair is the closest of
 * five, exact to about 50 ns, so the error of the rate is at most 50 millionths. In the first 2 ms
 * each conversion measures anew, with a larger error.
 */
#include "platform/platform.h"

#include <time.h>
#if TH_TSAN
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "base/atomic.h"

#define CALIBRATE_MIN_NS 2000000

TH_NO_TSAN int64_t th_os_now(void) {
    struct timespec t;
#if TH_TSAN
    /* A system call: the sanitizer would record the function's write to this stack (annotate.h). */
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
#else
    clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail with these arguments, so errno stays */
#endif
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#if defined(__x86_64__)

typedef struct reading {
    uint64_t ticks;
    int64_t ns;
} reading;

static bool invariant;        /* written once, when the program is loaded */
static reading loaded;        /* written once, when the program is loaded */
static uint64_t xns_per_tick; /* the rate, 32.32 fixed point; 0: not measured yet */

uint64_t th_os_ticks(void) {
    return th_likely(invariant) ? __rdtsc() : (uint64_t)th_os_now();
}

/* Reads both counters at one moment: of five tries the one whose readings lie closest together. */
static reading read_both(void) {
    reading best = {0, 0};
    uint64_t best_span = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = __rdtsc();
        int64_t ns = th_os_now();
        uint64_t span = __rdtsc() - before;
        if (span < best_span) {
            best_span = span;
            best = (reading){before + span / 2, ns};
        }
    }
    return best;
}

/* The rate since the program was loaded. It is kept once that is long enough; before, a guess. */
static TH_COLD uint64_t calibrate(void) {
    reading now = read_both();
    uint64_t ticks = now.ticks - loaded.ticks;
    uint64_t ns = (uint64_t)(now.ns - loaded.ns);
    uint64_t rate = (uint64_t)(((unsigned __int128)ns << 32) / (ticks | 1));
    if (now.ns - loaded.ns < CALIBRATE_MIN_NS) {
        return rate;
    }
    uint64_t unset = 0;
    /* relaxed: the value publishes nothing else; the first measurement stays */
    if (!th_cas_relaxed(&xns_per_tick, &unset, rate)) {
        rate = unset;
    }
    return rate;
}

int64_t th_os_ticks_ns(uint64_t ticks) {
    if (!invariant) {
        return (int64_t)ticks; /* GCOVR_EXCL_LINE: a processor without such a counter */
    }
    uint64_t rate = th_load_relaxed(&xns_per_tick); /* relaxed: see calibrate */
    if (th_unlikely(rate == 0)) {
        rate = calibrate();
    }
    return (int64_t)(((unsigned __int128)ticks * rate) >> 32);
}

__attribute__((constructor(101))) static void look_at_counter(void) {
    unsigned a, b, c, d = 0;
    invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
    loaded = read_both();
}

void th_os_relax(void) {
    __builtin_ia32_pause();
}

#elif defined(__aarch64__)

uint64_t th_os_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

int64_t th_os_ticks_ns(uint64_t ticks) {
    uint64_t hertz;
    __asm__("mrs %0, cntfrq_el0" : "=r"(hertz));
    return (int64_t)((unsigned __int128)ticks * 1000000000 / hertz);
}

void th_os_relax(void) {
    __asm__ volatile("isb" ::: "memory"); /* on most cores `yield` does not pause at all */
}

#else

uint64_t th_os_ticks(void) {
    return (uint64_t)th_os_now();
}

int64_t th_os_ticks_ns(uint64_t ticks) {
    return (int64_t)ticks;
}

void th_os_relax(void) {
#if defined(__riscv)
    /* `pause`, by its number for old assemblers; processors without it see a fence of nothing */
    __asm__ volatile(".4byte 0x0100000f" : : : "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

#endif
