/*
 * code.c: names of places in the program's code.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* In the C library since glibc 2.34, in libdl before: then it may not be there. */
#pragma weak dladdr

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

typedef struct place {
    uintptr_t address;
    uintptr_t base;
    const char *path;
} place;

static int is_it(struct dl_phdr_info *info, size_t size, void *ctx) {
    place *p = ctx;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD &&
            p->address - info->dlpi_addr - part->p_vaddr < part->p_memsz) {
            p->base = info->dlpi_addr;
            p->path = info->dlpi_name;
            return 1;
        }
    }
    return 0;
}

void th_os_code_name(uintptr_t address, char *text, size_t size) {
    Dl_info found = {0};
    int saved = th_os_errno_get();
    if (dladdr && dladdr((void *)address, &found) && found.dli_sname && found.dli_saddr) {
        uintptr_t offset = address - (uintptr_t)found.dli_saddr;
        snprintf(text, size, offset ? "%.96s+0x%" PRIxPTR : "%.96s", found.dli_sname, offset);
    } else {
        place p = {.address = address};
        if (dl_iterate_phdr(is_it, &p)) {
            snprintf(text, size, "%.96s+0x%" PRIxPTR, p.path[0] ? last_part(p.path) : "program",
                     address - p.base);
        } else {
            snprintf(text, size, "0x%" PRIxPTR, address);
        }
    }
    th_os_errno_set(saved);
}
