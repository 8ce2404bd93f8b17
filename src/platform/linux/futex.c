/*
 * futex.c: sleeping on a word and waking its sleepers.
 *
 * The futexes are private. The deadline is absolute on CLOCK_MONOTONIC, as FUTEX_WAIT_BITSET takes
 * it, so a wait that is interrupted and repeated does not sleep longer. The kernel's numbers are
 * written down here, since not every C library finds its headers.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAKE 1           /* FUTEX_WAKE */
#define WAIT_BITSET 9    /* FUTEX_WAIT_BITSET */
#define PRIVATE_FLAG 128 /* FUTEX_PRIVATE_FLAG */
#define ANY_BIT UINT32_MAX

/* For so long a signal's handler may have to wait under the thread sanitizer. */
#define TSAN_SLICE_NS 20000000

/* Returns 0 or a code. */
static int wait_once(uint32_t *xword, uint32_t value, int64_t deadline) {
    struct timespec until;
    struct timespec *timeout = NULL;
    if (deadline != TH_FOREVER) {
        if (deadline < 0) {
            deadline = 0; /* long past, too; the kernel refuses negative times */
        }
        until.tv_sec = (time_t)(deadline / 1000000000);
        until.tv_nsec = (long)(deadline % 1000000000);
        timeout = &until;
    }
    TH_KEEPS_ERRNO;
    long result =
        syscall(SYS_futex, xword, WAIT_BITSET | PRIVATE_FLAG, value, timeout, NULL, ANY_BIT);
    return result < 0 ? -th_os_errno_get() : 0;
}

int th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline) {
#if TH_TSAN
    /*
     * The sanitizer puts a signal off until the thread calls a function that it knows, and it knows
     * neither this call nor that of th_os_now: so the thread makes an empty call of a function that
     * it does know, before the first sleep and every so often.
     */
    for (;;) {
        pthread_sigmask(SIG_BLOCK, NULL, NULL);
        int64_t slice = th_os_now() + TSAN_SLICE_NS;
        if (deadline <= slice) {
            break;
        }
        int code = wait_once(xword, value, slice);
        if (code != -ETIMEDOUT) {
            return code;
        }
    }
#endif
    return wait_once(xword, value, deadline);
}

void th_os_futex_wake(uint32_t *xword, int n) {
    TH_KEEPS_ERRNO; /* EFAULT when the word is gone: allowed */
    syscall(SYS_futex, xword, WAKE | PRIVATE_FLAG, n, NULL, NULL, 0);
}
