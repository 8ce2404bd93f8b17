/*
 * lone.c: memory without a model: each word has one value, and plain accesses are not watched. The
 * test kit uses this file instead of the simulator's model.c and shadow.c.
 */
#include "kit.h"

const memory_mode kit_mode = M_SEQ;

void *__real_memset(void *to, int value, size_t n);

void *__real_memset(void *to, int value, size_t n) {
    return __builtin_memset(to, value, n);
}

void model_begin(void) {
}

void model_fence_thread(sim_thread *t) {
    (void)t;
}

void model_drain_one(sim_thread *t) {
    (void)t;
}

void model_drain(sim_thread *t) {
    (void)t;
}

void shadow_fresh(uintptr_t addr, size_t size) {
    (void)addr, (void)size;
}

void shadow_unmapped(uintptr_t addr, size_t size, const void *site) {
    (void)addr, (void)size, (void)site;
}

void shadow_freed(uintptr_t addr, size_t size, const void *site) {
    (void)addr, (void)size, (void)site;
}

void sim_wrote(const void *addr, size_t size) {
    (void)addr, (void)size;
}

void sim_reads(const void *addr, size_t size) {
    (void)addr, (void)size;
}

uint32_t sim_newest(const uint32_t *word) {
    return *word;
}

void kit_print_unwatched(void) {
}

void kit_order_acquire(const void *mutex) {
    (void)mutex;
}

void kit_order_release(const void *mutex) {
    (void)mutex;
}
