/*
 * missing.c: calls on files that POSIX does not have (absent.c has the rest).
 */
#include "platform/unix/system.h"

#include <errno.h>

int64_t th_system_file_watch(th_os_file_request *r) {
    (void)r;
    th_os_errno_set(ENOSYS);
    return -1;
}
