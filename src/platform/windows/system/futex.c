/*
 * futex.c: sleeping on a word and waking its sleepers, by the calls behind WaitOnAddress: they take
 * times in units of 100 ns, and WaitOnAddress in milliseconds.
 *
 * A wait may end late by the period of the system's timer, 15.6 ms unless somebody has requested a
 * shorter one. th_os_timer_slack does (thread.c), before a sleep that must be exact.
 */
#include <errno.h>

#include "base/atomic.h"
#include "platform/platform.h"
#include "platform/windows/system/nt.h"

#define STATUS_TIMED_OUT 0x102

int th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline) {
    LARGE_INTEGER timeout;
    DWORD error = GetLastError();
    if (deadline != TH_FOREVER) {
        int64_t left = deadline - th_os_now();
        if (deadline < 0 || left < 0) {
            left = 0;
        }
        timeout.QuadPart = -((left + 99) / 100); /* negative: from now on */
    }
    if (*(volatile uint32_t *)xword != value) {
        return -EAGAIN;
    }
    LONG status = th_nt()->wait_on_address(xword, &value, sizeof value,
                                           deadline == TH_FOREVER ? NULL : &timeout);
    SetLastError(error);
    return status == STATUS_TIMED_OUT ? -ETIMEDOUT : 0;
}

void th_os_futex_wake(uint32_t *xword, int n) {
    DWORD error = GetLastError();
    th_fence_seq(); /* a thread that does not sleep yet sees earlier writes */
    if (n == INT32_MAX) {
        th_nt()->wake_all(xword);
    } else {
        for (int i = 0; i < n; i++) {
            th_nt()->wake_one(xword);
        }
    }
    SetLastError(error);
}
