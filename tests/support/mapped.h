/*
 * mapped.h: hooks whose memory cannot be read any more once it was freed, in any build. Under the
 * address sanitizer the rig's own memory is watched, and fresh mappings may have the shadow of a
 * thread's stack.
 */
#ifndef MAPPED_H
#define MAPPED_H

#include "support/support.h"

#include "platform/platform.h"

/* The parts that differ between systems: pages_map, pages_forbid. */
#if defined(_WIN32)
#include "windows/mapped.h"
#else
#include "posix/mapped.h"
#endif

CHECK_UNUSED static void *mapped_alloc(void *ctx, size_t size) {
    const size_t page = th_os_page_size();
    const size_t total = (size + 2 * page - 1) / page * page;
    (void)ctx;
    char *p = pages_map(total);
    if (!p) {
        return NULL;
    }
    memcpy(p, &total, sizeof(total));
    return p + page;
}

CHECK_UNUSED static void mapped_free(void *ctx, void *ptr) {
    size_t total;
    (void)ctx;
    if (!ptr) {
        return;
    }
    char *p = (char *)ptr - th_os_page_size();
    memcpy(&total, p, sizeof(total));
    pages_forbid(p, total);
}

/* For a rig that has not been started. */
CHECK_UNUSED static void mapped_init(rig *r) {
    if (!UNDER_ASAN) {
        r->config.alloc = mapped_alloc;
        r->config.free = mapped_free;
    }
}

#endif
