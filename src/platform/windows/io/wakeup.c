/*
 * wakeup.c: wake-ups that are descriptors (winsock/pair.c).
 */
#include "platform/platform.h"

#include <errno.h>

#include "platform/faults.h"
#include "platform/unix/io/polled.h"
#include "platform/windows/pollset/calls.h"

int th_os_wakeup_open(void) {
    int ends[2];
    TH_OS_MAY_FAIL(TH_OS_FAULT_EVENTFD, -EMFILE);
    TH_KEEPS_ERRNO;
    const int code = th_poll_pair(ends);
    return code ? code : th_fd_of_fresh(th_socket_of(ends[0]));
}

void th_os_wakeup_close(int wakeup) {
    TH_KEEPS_ERRNO;
    th_closing(wakeup);
    th_poll_pair_close((int[2]){wakeup, wakeup});
}

void th_os_wakeup_set(int wakeup) {
    TH_KEEPS_ERRNO;
    th_poll_send(wakeup);
    (void)th_tried(wakeup, TH_OS_IN, 0); /* each setting is an event */
}

void th_os_wakeup_take(int wakeup) {
    TH_KEEPS_ERRNO;
    (void)th_poll_take_all(wakeup);
}
