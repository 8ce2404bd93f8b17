/*
 * program.h: a part of support/program.h: as the loader of ELF files knows it. Not by the library's
 * own platform: the same test is built where the library is a shared object, which keeps that.
 */
#ifndef POSIX_PROGRAM_H
#define POSIX_PROGRAM_H

#include <errno.h>
#include <link.h>

CHECK_UNUSED static int program_is_first(struct dl_phdr_info *module, size_t size, void *ctx) {
    (void)size;
    *(uintptr_t *)ctx = module->dlpi_addr;
    return 1;
}

/* The last part of its file's path; less *base an address is a place in the file. */
CHECK_UNUSED static const char *program_file(uintptr_t *base) {
    dl_iterate_phdr(program_is_first, base);
    return program_invocation_short_name;
}

#endif
