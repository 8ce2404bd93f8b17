/*
 * clock.c: the wall clock does not matter. Only root can set it, so this shows that it is not
 * asked: the ways to it are replaced at the link, by a clock that jumps, and everything runs. Those
 * that are not here (timed waits of pthreads, timespec_get) are no imports of the library:
 * tools/run/faults.
 */
/* POSIX: __wrap_clock_gettime */
/* matrix: policy workers */
/* link: -Wl,--wrap=clock_gettime,--wrap=gettimeofday,--wrap=time,--wrap=syscall */
#include "support/everything.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/time.h>

static atomic_long asked, futexes; /* readings of the monotonic clock; timed waits */
static atomic_bool jumping = true; /* the wall clock's answers jump back and forth */
static atomic_long walls;

static void wall(void) {
    atomic_fetch_add(&walls, 1);
}

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_gettimeofday(struct timeval *t, void *zone);
time_t __wrap_time(time_t *t);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

NO_TSAN int __wrap_clock_gettime(clockid_t clock, struct timespec *t) {
    if (clock != CLOCK_MONOTONIC) {
        wall();
    } else {
        atomic_fetch_add(&asked, 1);
    }
    const int result = __real_clock_gettime(clock, t);
    if (clock != CLOCK_MONOTONIC && atomic_load(&jumping)) {
        t->tv_sec += atomic_load(&walls) % 2 == 0 ? 1000000 : -1000000;
    }
    return result;
}

int __wrap_gettimeofday(struct timeval *t, void *zone) {
    (void)zone;
    wall();
    *t = (struct timeval){atomic_load(&walls) % 2 == 0 ? 1000000000 : 1, 0};
    return 0;
}

time_t __wrap_time(time_t *t) {
    (void)t;
    wall();
    return atomic_load(&walls) % 2 == 0 ? 1000000000 : 1;
}

NO_TSAN long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (number == SYS_futex) {
        if ((b & FUTEX_CLOCK_REALTIME) != 0 || (b & FUTEX_CMD_MASK) == FUTEX_LOCK_PI) {
            wall();
        }
        if ((b & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && d != 0) {
            atomic_fetch_add(&futexes, 1);
        }
    }
    if (number == SYS_clock_gettime) {
        if (a != CLOCK_MONOTONIC) {
            wall();
        } else {
            atomic_fetch_add(&asked, 1);
        }
    }
    return __real_syscall(number, a, b, c, d, e, f);
}

TEST(everything_without_the_wall_clock) {
    /* Deadlines, timers and sleeps ask only the monotonic clock, and so do the kernel's waits. */
    NOT_BY_POSIX("futex: the C library asks the clock for its waits");
    rig r;
    rig_begin(&r, 0);
    atomic_store(&walls, 0);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(everything_in(&r), 0);
    }
    thrum_metrics_print(r.sched, stderr, THRUM_JSON);
    thrum_dump(r.sched, stderr, THRUM_TEXT);
    /* The thread's own wait has a deadline, too; it is in the kernel unless that has passed. */
    thrum_sem never = THRUM_SEM_INIT(0);
    do {
        CHECK_EQ(thrum_sem_wait_until(&never, soon()), -ETIMEDOUT);
    } while (atomic_load(&asked) == 0 || atomic_load(&futexes) == 0);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&walls), 0);
    printf("faults: wall-clock 20 0\n");
}

TEST(wrappers_see_a_question) {
    /* Otherwise the test above could not fail. */
    struct timespec t;
    atomic_store(&walls, 0);
    CHECK_EQ(clock_gettime(CLOCK_REALTIME, &t), 0);
    (void)time(NULL);
    CHECK_EQ(atomic_load(&walls), 2);
}
