/*
 * errno.c: the thread's errno, which every other file here leaves as it was.
 */
#include <errno.h>

#include "platform/platform.h"

TH_NOINLINE int *th_os_errno_at(void) {
    return &errno;
}

TH_NOINLINE int th_os_errno_get(void) {
    __asm__ volatile("" ::: "memory");
    return errno;
}

TH_NOINLINE void th_os_errno_set(int value) {
    __asm__ volatile("" ::: "memory");
    errno = value;
}
