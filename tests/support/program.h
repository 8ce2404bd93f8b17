/*
 * program.h: the test's own program as reports name it: the name of its file, and its path.
 */
#ifndef SUPPORT_PROGRAM_H
#define SUPPORT_PROGRAM_H

#include "check.h"

#if defined(_WIN32)
#include "windows/program.h"
#else
#include "posix/program.h"
#endif

/* The address in "program+0x1234", or 0 if it is of another file. */
CHECK_UNUSED static uintptr_t program_address(const char *call) {
    char own[128];
    uintptr_t base;
    const char *file = program_file(&base);
    const int n = snprintf(own, sizeof(own), "%s+0x", file);
    return strncmp(call, own, (size_t)n) == 0 ? base + (uintptr_t)strtoull(call + n, NULL, 16) : 0;
}

#endif
