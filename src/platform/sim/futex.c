/*
 * futex.c: sleeping on a word. The kernel compares with the newest value and goes to sleep in one
 * step. Beyond that a futex call orders nothing here, so that no code comes to rely on more.
 */
#include "platform/platform.h"

#include <errno.h>

#include "platform/sim/controller.h"

int th_os_futex_wait(uint32_t *xword, uint32_t value, int64_t deadline) {
    sim_point();
    switch (sim_choose(SIM_SPURIOUS, 3)) {
    case 1:
        return 0;
    case 2:
        return -EINTR;
    default:
        break;
    }
    if (sim_newest(xword) != value) {
        return -EAGAIN;
    }
    if (deadline <= sim_now()) {
        return -ETIMEDOUT;
    }
    return sim_sleep(xword, deadline) == SIM_TIMEOUT ? -ETIMEDOUT : 0;
}

void th_os_futex_wake(uint32_t *xword, int n) {
    sim_point();
    for (int i = 0; i < n && sim_wake_one(xword); i++) {
    }
}
