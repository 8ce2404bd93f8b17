/*
 * alike.c: calls that are alike in the C libraries of all systems: the thread's errno, which every
 * other file here leaves as it was, and giving memory back.
 */
#include <errno.h>
#include <stdlib.h>

#include "platform/platform.h"

TH_NOINLINE int *th_os_errno_at(void) {
    return &errno;
}

/*
 * Hidden from the thread sanitizer: errno is the thread's, and tasks that run on it one after
 * another are different threads to that tool.
 */
TH_NOINLINE TH_NO_TSAN int th_os_errno_get(void) {
    __asm__ volatile("" ::: "memory");
    return errno;
}

TH_NOINLINE TH_NO_TSAN void th_os_errno_set(int value) {
    __asm__ volatile("" ::: "memory");
    errno = value;
}

void th_os_free(void *ptr) {
    TH_KEEPS_ERRNO;
    free(ptr);
}
