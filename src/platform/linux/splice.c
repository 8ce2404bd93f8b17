/*
 * splice.c: moving bytes from one descriptor to another.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>

#include "platform/faults.h"
#include "platform/linux/optional.h"
#include "platform/unix/interrupted.h"

int64_t th_os_io_splice(int from, int to, size_t n) {
    static uint32_t xanswer;
    if (th_os_fails(TH_OS_FAULT_SPLICE) || !th_call_is_taken(&xanswer, SYS_splice)) {
        return -EINVAL;
    }
    masked m;
    mask_begin(&m);
    int64_t result = RETRY(splice(from, NULL, to, NULL, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK));
    mask_end(&m, result == -EPIPE);
    return result;
}
