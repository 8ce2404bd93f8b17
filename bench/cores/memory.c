/*
 * memory.c: the memory of a run, at the same addresses each time; and those functions of the seam
 * that have nothing to do here, since nothing is left to chance and memory is one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "machine.h"
#include "platform/sim/controller.h"

static uintptr_t used;  /* of the arena */
static void *freed[64]; /* by size classes of 16 bytes */

void *machine_mapping(uintptr_t at, size_t size) {
    void *p =
        mmap((void *)at, size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    if (p == MAP_FAILED) {
        perror("cores: mmap");
        _exit(3);
    }
    return p;
}

static void *take(size_t size, size_t align) {
    used = (used + align - 1) & ~(align - 1);
    const uintptr_t at = ARENA + used;
    used += size;
    if (used > ARENA_BYTES) {
        fprintf(stderr, "cores: too much memory\n");
        _exit(3);
    }
    return (void *)at;
}

void *sim_memory(size_t size) {
    machine_charge(the_costs.heap);
    size = size == 0 ? 16 : (size + 15) & ~(size_t)15;
    uint64_t *b;
    if (size / 16 < 64 && freed[size / 16]) {
        b = freed[size / 16];
        freed[size / 16] = *(void **)(void *)(b + 2);
    } else {
        b = take(size + 16, 16);
    }
    b[0] = size;
    return b + 2;
}

void sim_memory_free(void *ptr) {
    machine_charge(the_costs.heap);
    uint64_t *b = (uint64_t *)ptr - 2;
    if (b[0] / 16 < 64) {
        *(void **)ptr = freed[b[0] / 16];
        freed[b[0] / 16] = b;
    }
}

void *sim_pages(size_t size) {
    machine_charge(the_costs.syscall * 4);
    return take((size + 4095) & ~(size_t)4095, 4096);
}

void sim_pages_free(void *addr, size_t size) {
    machine_charge(the_costs.syscall * 4);
    madvise(addr, size, MADV_DONTNEED);
}

void sim_pages_fresh(void *addr, size_t size) {
    machine_charge(the_costs.syscall * 4);
    madvise(addr, size, MADV_DONTNEED);
}

/* ---- the rest of the seam: nothing is left to chance, and order is that of one memory ---- */

unsigned sim_choose(sim_what what, unsigned n) {
    (void)what, (void)n;
    return 0;
}

void *sim_kernel(size_t size) {
    static void *kernel;
    if (!kernel) {
        kernel = take(size, 64);
    }
    return kernel;
}

void sim_wrote(const void *addr, size_t size) {
    machine_access((uintptr_t)addr, size, WRITE, __builtin_return_address(0));
}

void sim_reads(const void *addr, size_t size) {
    machine_access((uintptr_t)addr, size, READ, __builtin_return_address(0));
}

void sim_order_release(sim_order *order) {
    (void)order;
}

void sim_order_acquire(const sim_order *order) {
    (void)order;
}

void sim_order_see(const sim_order *order) {
    (void)order;
}

void sim_order_add(sim_order *order, const sim_order *more) {
    (void)order, (void)more;
}

void sim_trace(const char *format, ...) {
    (void)format;
}

void sim_misused(const char *fault, const char *text) {
    fprintf(stderr, "cores: %s: %s\n", fault, text);
    _exit(3);
}

void sim_said(const char *text, size_t length) {
    (void)!write(2, text, length);
}

void sim_aborted(void) {
    abort();
}
