/*
 * program.h: a part of support/program.h: as the library's platform knows it.
 */
#ifndef WINDOWS_PROGRAM_H
#define WINDOWS_PROGRAM_H

#include "platform/platform.h"

/* The last part of its file's path; less *base an address is a place in the file. */
CHECK_UNUSED static const char *program_file(uintptr_t *base) {
    static th_os_module all[64];
    const uintptr_t here = (uintptr_t)program_file;
    const unsigned count = th_os_modules(all, 64);
    unsigned i = 0;
    while (i < count && (here < all[i].low || here >= all[i].high)) {
        i++;
    }
    CHECK(i < count);
    *base = all[i].base;
    return all[i].file;
}

#endif
