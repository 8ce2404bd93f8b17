/*
 * mapped.h: a part of support/mapped.h: pages where the system is a POSIX one.
 */
#ifndef POSIX_MAPPED_H
#define POSIX_MAPPED_H

#include <sys/mman.h>

CHECK_UNUSED static void *pages_map(size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

CHECK_UNUSED static void pages_forbid(void *p, size_t size) {
    CHECK(mmap(p, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
               0) == p);
}

#endif
