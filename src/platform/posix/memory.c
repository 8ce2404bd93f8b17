/*
 * memory.c: whole pages: mapping them, giving them back, counting the used ones.
 *
 * MAP_ANONYMOUS came into POSIX in 2024; every system has it, so this file sees more names.
 */
#define _DEFAULT_SOURCE
#include "platform/unix/system.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "platform/faults.h"

#define MAP_COUNT_GUESS 65530 /* that of Linux, the lowest of which is known */

static void *map_at(void *addr, size_t size, int flags) {
    TH_KEEPS_ERRNO;
    void *ptr =
        mmap(addr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return ptr == MAP_FAILED ? NULL : ptr;
}

void *th_os_map(size_t size) {
    return th_os_fails(TH_OS_FAULT_MAP) ? NULL : map_at(NULL, size, 0);
}

int th_os_remap(void *addr, size_t size) {
    return !map_at(addr, size, MAP_FIXED) ? -ENOMEM : 0;
}

/*
 * POSIX has no call that gives pages back and keeps the mapping: they are mapped anew. No guard is
 * inside the range that core discards; guards by mprotect are beside it.
 */
int th_os_discard(void *addr, size_t size) {
    return th_os_remap(addr, size);
}

int th_os_guard_madvise(void *addr, size_t size) {
    (void)addr, (void)size;
    return -ENOSYS;
}

int th_os_guards_madvise(char *low, size_t size, size_t stride, unsigned count) {
    (void)low, (void)size, (void)stride, (void)count;
    return -ENOSYS;
}

size_t th_os_map_count_max(void) {
    return MAP_COUNT_GUESS;
}

/* A page that was never written, or was given back, reads as zeroes. */
TH_NO_TSAN TH_NO_ASAN size_t th_os_untouched(void *addr, size_t size) {
    const volatile uint64_t *words = addr;
    const size_t count = size / sizeof *words;
    size_t i = 0;
    while (i < count && words[i] == 0) {
        i++;
    }
    const size_t done = i * sizeof *words;
    return i == count ? size : done & ~(th_os_page_size() - 1);
}
