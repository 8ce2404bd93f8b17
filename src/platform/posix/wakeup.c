/*
 * wakeup.c: wake-ups by pipes.
 */
#include "platform/unix/io/polled.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "platform/unix/above.h"

int th_poll_pair(int ends[2]) {
    if (th_system_pipe(ends) != 0) {
        return -th_os_errno_get();
    }
    for (int i = 0; i < 2; i++) {
        ends[i] = above_standard(ends[i]);
    }
    for (int i = 0; i < 2; i++) {
        if (ends[i] < 0) {
            if (ends[!i] >= 0) {
                close(ends[!i]);
            }
            return ends[i];
        }
        (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

void th_poll_pair_close(const int ends[2]) {
    close(ends[0]);
    if (ends[1] != ends[0]) {
        close(ends[1]);
    }
}

void th_poll_send(int end) {
    while (write(end, "", 1) < 0 && th_os_errno_get() == EINTR) {
    }
}

unsigned th_poll_take_all(int end) {
    char bytes[64];
    unsigned taken = 0;
    ssize_t n;
    do {
        n = read(end, bytes, sizeof bytes);
        taken += n > 0 ? (unsigned)n : 0;
    } while (n == (ssize_t)sizeof bytes || (n < 0 && th_os_errno_get() == EINTR));
    return taken;
}
