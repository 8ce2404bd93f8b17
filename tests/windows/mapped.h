/*
 * mapped.h: a part of support/mapped.h: pages where the system is Windows.
 */
#ifndef WINDOWS_MAPPED_H
#define WINDOWS_MAPPED_H

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#undef near
#undef far

CHECK_UNUSED static void *pages_map(size_t size) {
    return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

/* They stay reserved, so nobody else gets them. */
CHECK_UNUSED static void pages_forbid(void *p, size_t size) {
    CHECK(VirtualFree(p, size, MEM_DECOMMIT));
}

#endif
