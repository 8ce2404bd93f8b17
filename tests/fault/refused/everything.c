/*
 * everything.c: one program that uses everything, again and again, and each time the Nth call of a
 * kind fails: allocations, mappings, guards, threads, barriers, futex waits; for every N, until it
 * runs to its end without that. Each time codes are as documented, nothing leaks, and the scheduler
 * works.
 */
/* matrix: policy workers */
/* link: -Wl,--wrap=th_os_futex_wait */
#include "support/everything.h"

#include "platform/faults.h"
#include "platform/platform.h"

/* Counts the faults, for tools/run/faults. */
static void count_faults(const char *kind, long faults, long refused) {
    printf("faults: %s %ld %ld\n", kind, faults, refused);
    fflush(stdout);
}

/* What a start may return when it is refused something. */
static bool starts(rig *r, int code) {
    const int result = thrum_sched_start(&r->sched, &r->config);
    if (result != 0) {
        CHECK_EQ(result, code);
        rig_check_freed(r);
        return false;
    }
    watchdog_add(r);
    return true;
}

TEST(nth_allocation) {
    /* The config's allocator refuses the Nth call, at the start and in the program. */
    long refused = 0;
    for (long n = 1;; n++) {
        rig r;
        bool had;
        rig_init(&r);
        atomic_store(&r.fail_at, n);
        if (starts(&r, -ENOMEM)) {
            refused += everything_in(&r);
            had = atomic_load(&r.refused) > 0;
            atomic_store(&r.fail_at, 0);
            CHECK_EQ(everything_in(&r), 0); /* everything works now */
            rig_stop(&r);
        } else {
            had = true;
            refused++;
        }
        if (!had) {
            count_faults("allocation", n - 1, refused);
            CHECK(n > 10);
            return;
        }
    }
}

/* The platform refuses the Nth call of a kind. */
static void nth(const char *name, th_os_fault kind, int code) {
    long faults = 0, refused = 0;
    for (uint32_t n = 0;; n++) {
        rig r;
        rig_init(&r);
        th_os_fail(kind, n, 1);
        if (starts(&r, code)) {
            refused += everything_in(&r);
            const bool had = th_os_fails_left(kind) == 0;
            th_os_fail(kind, 0, 0);
            CHECK_EQ(everything_in(&r), 0);
            rig_stop(&r);
            if (!had) {
                break;
            }
        } else {
            refused++;
        }
        faults++;
    }
    count_faults(name, faults, refused);
}

TEST(nth_allocation_of_the_platform) {
    /* What comes from malloc whatever the config says is refused. */
    nth("malloc", TH_OS_FAULT_ALLOC, -ENOMEM);
}

TEST(nth_mapping) {
    /* Tasks wait for the next stack. */
    nth("mapping", TH_OS_FAULT_MAP, -ENOMEM);
}

TEST(nth_guard) {
    /* Another kind of guard is taken. */
    nth("guard, madvise", TH_OS_FAULT_GUARD_MADVISE, -ENOMEM);
    th_os_fail(TH_OS_FAULT_GUARD_MADVISE, 0, UINT32_MAX); /* now the other kind is asked for */
    nth("guard, mprotect", TH_OS_FAULT_GUARD_MPROTECT, -ENOMEM);
    th_os_fail(TH_OS_FAULT_GUARD_MADVISE, 0, 0);
}

TEST(nth_thread) {
    /* Workers and threads for blocking calls are refused. */
    nth("thread", TH_OS_FAULT_THREAD, -EAGAIN);
}

TEST(nth_barrier) {
    /* The rescuer goes away and looks again. */
    nth("barrier", TH_OS_FAULT_BARRIER, 0);
}

/* ---- futex ---- */

static atomic_long futex_calls, futex_fail_at;
static atomic_long futex_every; /* one call in so many; 0: none */
static atomic_int futex_code;
static atomic_long futex_faults;

int __real_th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline);
int __wrap_th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline);

int __wrap_th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline) {
    const long call = atomic_fetch_add(&futex_calls, 1) + 1;
    const long every = atomic_load(&futex_every);
    if (call == atomic_load(&futex_fail_at) || (every != 0 && call % every == 0)) {
        atomic_fetch_add(&futex_faults, 1);
        if (th_os_now() >= deadline) {
            return -ETIMEDOUT; /* the kernel says so even when a signal came as well */
        }
        return atomic_load(&futex_code);
    }
    return __real_th_os_futex_wait(xword, value, deadline);
}

static const int futex_codes[] = {-EINTR, -EAGAIN, 0}; /* 0: woken without a waker */

TEST(nth_futex_wait) {
    /*
     * The Nth wait is interrupted, refused, or ended without a wake, for each N. How many waits
     * there are depends on the order of threads, so it ends when eight runs in a row had fewer.
     */
    for (size_t i = 0; i < COUNT_OF(futex_codes); i++) {
        long faults = 0;
        int without = 0;
        atomic_store(&futex_code, futex_codes[i]);
        for (long n = 1; (without < 8 || faults == 0) && n < 3000; n += faults != 0) {
            rig r;
            rig_begin(&r, 0);
            atomic_store(&futex_faults, 0);
            atomic_store(&futex_calls, 0);
            atomic_store(&futex_fail_at, n);
            CHECK_EQ(everything_in(&r), 0);
            rig_stop(&r);
            atomic_store(&futex_fail_at, 0);
            faults += atomic_load(&futex_faults);
            without = atomic_load(&futex_faults) == 0 ? without + 1 : 0;
        }
        count_faults(i == 0   ? "futex, interrupted"
                     : i == 1 ? "futex, refused"
                              : "futex, spurious",
                     faults, 0);
    }
}

TEST(every_other_futex_wait) {
    /* All waits fail, every second and every third one, as if signals never ceased. */
    atomic_store(&futex_faults, 0);
    for (long every = 1; every <= 3 || atomic_load(&futex_faults) == 0; every++) {
        for (size_t i = 0; i < COUNT_OF(futex_codes); i++) {
            rig r;
            atomic_store(&futex_code, futex_codes[i]);
            atomic_store(&futex_every, every);
            rig_begin(&r, 0);
            CHECK_EQ(everything_in(&r), 0);
            atomic_store(&futex_every, 0);
            rig_stop(&r);
        }
    }
    count_faults("futex, every", atomic_load(&futex_faults), 0);
}
