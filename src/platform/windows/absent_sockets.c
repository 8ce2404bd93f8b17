/*
 * absent_sockets.c: what is not there yet on Windows: a listener for those who look at the process.
 */
#include <errno.h>

#include "platform/platform.h"

int th_os_private_open(th_os_private *out) {
    (void)out;
    return -ENOSYS;
}

int th_os_private_accept(const th_os_private *listener) {
    (void)listener;
    return -ENOSYS;
}

void th_os_private_close(th_os_private *listener) {
    (void)listener;
}
