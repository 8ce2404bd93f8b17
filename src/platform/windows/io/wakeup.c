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
    if (th_os_fails(TH_OS_FAULT_EVENTFD)) {
        return -EMFILE;
    }
    int saved = th_os_errno_get();
    const int code = th_poll_pair(ends);
    th_os_errno_set(saved);
    return code ? code : th_fd_of_fresh(th_socket_of(ends[0]));
}

void th_os_wakeup_close(int wakeup) {
    int saved = th_os_errno_get();
    th_closing(wakeup);
    th_poll_pair_close((int[2]){wakeup, wakeup});
    th_os_errno_set(saved);
}

void th_os_wakeup_set(int wakeup) {
    int saved = th_os_errno_get();
    th_poll_send(wakeup);
    (void)th_tried(wakeup, TH_OS_IN, 0); /* each setting is an event */
    th_os_errno_set(saved);
}

void th_os_wakeup_take(int wakeup) {
    int saved = th_os_errno_get();
    (void)th_poll_take_all(wakeup);
    th_os_errno_set(saved);
}
