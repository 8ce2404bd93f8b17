/*
 * missing.c: what POSIX does not have of files (absent.c has the rest).
 */
#include "platform/unix/system.h"

#include <errno.h>

int64_t th_system_file_watch(th_os_file_request *r) {
    (void)r;
    th_os_errno_set(ENOSYS);
    return -1;
}
