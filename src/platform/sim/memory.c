/*
 * memory.c: heap and pages of the simulator. Guards may be refused; granted ones have no effect.
 */
#include "platform/platform.h"

#include <errno.h>

#include "platform/faults.h"
#include "platform/sim/controller.h"

#define PAGE ((size_t)4096)

static bool refused(th_os_fault kind) {
    return th_os_fails(kind) || sim_choose(SIM_REFUSAL, 2) != 0;
}

void *th_os_alloc(size_t size) {
    if (refused(TH_OS_FAULT_ALLOC) || sim_fault(SIM_FAULT_MEMORY)) {
        return NULL;
    }
    return sim_memory(size);
}

void th_os_free(void *ptr) {
    if (ptr) {
        sim_memory_free(ptr);
    }
}

size_t th_os_page_size(void) {
    return PAGE;
}

void *th_os_map(size_t size) {
    if (refused(TH_OS_FAULT_MAP) || sim_fault(SIM_FAULT_MEMORY)) {
        return NULL;
    }
    return sim_pages(size);
}

void th_os_unmap(void *addr, size_t size) {
    sim_pages_free(addr, size);
}

int th_os_discard(void *addr, size_t size) {
    (void)addr;
    (void)size;
    return 0; /* the canaries of a library that asked for them are not simulated */
}

int th_os_remap(void *addr, size_t size) {
    sim_pages_fresh(addr, size);
    return 0;
}

int th_os_guard_madvise(void *addr, size_t size) {
    (void)addr;
    (void)size;
    return refused(TH_OS_FAULT_GUARD_MADVISE) ? -ENOMEM : 0;
}

int th_os_guards_madvise(char *low, size_t size, size_t stride, unsigned count) {
    (void)stride;
    (void)count;
    return th_os_guard_madvise(low, size);
}

int th_os_guard_mprotect(void *addr, size_t size) {
    (void)addr;
    (void)size;
    return refused(TH_OS_FAULT_GUARD_MPROTECT) ? -ENOMEM : 0;
}

size_t th_os_map_count_max(void) {
    return 65530;
}

size_t th_os_untouched(void *addr, size_t size) {
    (void)addr;
    return size;
}
