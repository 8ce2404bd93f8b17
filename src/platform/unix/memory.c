/*
 * memory.c: the heap, and the calls on whole pages that all systems share.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "platform/faults.h"
#include "platform/unix/interrupted.h"

void *th_os_alloc(size_t size) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_ALLOC, NULL);
    TH_KEEPS_ERRNO;
    /* malloc's memory is 16-aligned on every 64-bit machine, and not on all of 32 bits. */
    return sizeof(void *) == 8    ? malloc(size)
           : size > SIZE_MAX - 15 ? NULL
                                  : aligned_alloc(16, (size + 15) & ~(size_t)15);
}

size_t th_os_page_size(void) {
    static size_t xsize;
    size_t size = th_load_relaxed(&xsize); /* relaxed: all threads write the same value */
    if (size == 0) {
        size = (size_t)sysconf(_SC_PAGESIZE);
        th_store_relaxed(&xsize, size); /* relaxed: likewise */
    }
    return size;
}

void th_os_unmap(void *addr, size_t size) {
    TH_KEEPS_ERRNO;
    munmap(addr, size);
}

int th_os_guard_mprotect(void *addr, size_t size) {
    return th_os_fails(TH_OS_FAULT_GUARD_MPROTECT) ? -ENOMEM
                                                   : (int)RETRY(mprotect(addr, size, PROT_NONE));
}
