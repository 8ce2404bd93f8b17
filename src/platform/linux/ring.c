/*
 * ring.c: transfers that the system makes without a thread, by io_uring.
 *
 * The layouts are the kernel's own, written down here since not every C library finds its headers.
 * The ring has the default flags: with others the kernel would leave results in the submitter's
 * hands until that thread calls it, and a thread that computes would keep them from all others.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "platform/faults.h"
#include "platform/unix/above.h"

#ifndef SYS_io_uring_setup /* the same on all processors that thrum knows */
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#endif

#define ENTER_GETEVENTS 1u
#define OFFSET_ENTRIES 0x10000000
#define READ 22
#define WRITE 23

/* Both queues are mapped at once; no result is dropped; the two calls above exist. */
#define FEATURES (1u | 2u | 8u)

typedef struct sq_offsets {
    uint32_t head, tail, mask, entries, flags, dropped, array, reserved;
    uint64_t address;
} sq_offsets;

typedef struct cq_offsets {
    uint32_t head, tail, mask, entries, overflow, ends, flags, reserved;
    uint64_t address;
} cq_offsets;

typedef struct ring_setup {
    uint32_t sq_entries, cq_entries, flags, cpu, idle, features, workers, reserved[3];
    sq_offsets sq;
    cq_offsets cq;
} ring_setup;

typedef struct sq_entry {
    uint8_t call;
    uint8_t flags;
    uint16_t priority;
    int32_t fd;
    uint64_t offset;
    uint64_t address;
    uint32_t size;
    uint32_t call_flags;
    uint64_t key;
    uint64_t reserved[3];
} sq_entry;

typedef struct cq_entry {
    uint64_t key;
    int32_t result;
    uint32_t flags;
} cq_entry;

_Static_assert(sizeof(ring_setup) == 120 && sizeof(sq_entry) == 64 && sizeof(cq_entry) == 16,
               "as the kernel has them");

/* ---- opening ---- */

static void *map(int fd, size_t size, off_t what) {
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
    if (at == MAP_FAILED) {
        return NULL;
    }
    /* The child of a fork has nothing to do with it. If that is refused it has it mapped. */
    (void)madvise(at, size, MADV_DONTFORK);
    return at;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* 0 or a code. */
static int map_all(th_os_ring *ring, const ring_setup *setup) {
    ring->queues_size = larger(setup->sq.array + setup->sq_entries * sizeof(uint32_t),
                               setup->cq.ends + setup->cq_entries * sizeof(cq_entry));
    ring->entries_size = setup->sq_entries * sizeof(sq_entry);
    ring->queues = map(ring->fd, ring->queues_size, 0);
    ring->sq_entries = ring->queues ? map(ring->fd, ring->entries_size, OFFSET_ENTRIES) : NULL;
    if (!ring->sq_entries) {
        return -ENOMEM;
    }
    char *at = ring->queues;
    ring->sq_tail = (uint32_t *)(void *)(at + setup->sq.tail);
    ring->sq_mask = *(uint32_t *)(void *)(at + setup->sq.mask);
    ring->sq_array = (uint32_t *)(void *)(at + setup->sq.array);
    ring->cq_head = (uint32_t *)(void *)(at + setup->cq.head);
    ring->cq_tail = (uint32_t *)(void *)(at + setup->cq.tail);
    ring->cq_mask = *(uint32_t *)(void *)(at + setup->cq.mask);
    ring->cq_entries = at + setup->cq.ends;
    return 0;
}

int th_os_ring_open(th_os_ring *out, unsigned most) {
    ring_setup setup = {0};
    *out = (th_os_ring){.fd = -1};
    const int fails = th_os_fails_with(TH_OS_FAULT_RING);
    if (fails) {
        return fails;
    }
    TH_KEEPS_ERRNO;
    out->fd = above_standard((int)syscall(SYS_io_uring_setup, most, &setup));
    int code = out->fd < 0 ? out->fd : (setup.features & FEATURES) != FEATURES ? -ENOSYS : 0;
    code = code ? code : map_all(out, &setup);
    if (code) {
        th_os_ring_close(out);
    }
    return code;
}

/*
 * The number is forgotten before it is free: the child of a fork closes the descriptor that it
 * finds here.
 */
void th_os_ring_abandon(th_os_ring *ring) {
    TH_KEEPS_ERRNO;
    const int fd = ring->fd;
    ring->fd = -1;
    if (fd >= 0) {
        (void)close(fd);
    }
}

void th_os_ring_close(th_os_ring *ring) {
    TH_KEEPS_ERRNO;
    if (ring->sq_entries) {
        (void)munmap(ring->sq_entries, ring->entries_size);
    }
    if (ring->queues) {
        (void)munmap(ring->queues, ring->queues_size);
    }
    th_os_ring_abandon(ring);
    *ring = (th_os_ring){.fd = -1};
}

/* ---- transfers ---- */

/* A fault that the call is to have is left to the thread that makes it then (file.c). */
static bool is_left_to_threads(const th_os_transfer *t) {
    const unsigned call = t->write ? TH_OS_FILE_WRITE : TH_OS_FILE_READ;
    return th_os_fails_left((th_os_fault)(TH_OS_FAULT_FILE + call)) != 0 ||
           th_os_fails(TH_OS_FAULT_RING_PUT);
}

int th_os_ring_put(th_os_ring *ring, const th_os_transfer *t, uint64_t key) {
    if (is_left_to_threads(t)) {
        return -EAGAIN;
    }
    const uint32_t tail = *ring->sq_tail; /* written here alone, by a caller at a time */
    const uint32_t at = tail & ring->sq_mask;
    ((sq_entry *)ring->sq_entries)[at] = (sq_entry){
        .call = t->write ? WRITE : READ,
        .fd = t->fd,
        .offset = (uint64_t)t->offset,
        .address = (uint64_t)(uintptr_t)t->bytes,
        .size = t->size > 1 && th_os_fails(TH_OS_FAULT_FILE_SHORT) ? 1 : (uint32_t)t->size,
        .key = key};
    ring->sq_array[at] = at;
    /* relaxed: the system looks in th_os_ring_send alone, on that thread */
    th_store_relaxed(ring->sq_tail, tail + 1);
    return 0;
}

unsigned th_os_ring_send(th_os_ring *ring, unsigned n) {
    TH_KEEPS_ERRNO;
    const unsigned told = th_os_fails(TH_OS_FAULT_RING_SEND) ? n / 2 : n;
    const long begun = syscall(SYS_io_uring_enter, ring->fd, (long)told, 0L, 0L, NULL, 0L);
    const unsigned taken = begun > 0 ? (unsigned)begun : 0;
    /* relaxed: the system has not seen entries that it has not taken */
    th_store_relaxed(ring->sq_tail, *ring->sq_tail - (n - taken));
    return taken;
}

TH_NO_TSAN unsigned th_os_ring_take(th_os_ring *ring, th_os_ring_end ends[], unsigned max) {
    const cq_entry *entries = ring->cq_entries;
    uint32_t head = *ring->cq_head; /* written here alone, by a caller at a time */
    /* pairs: th_os_ring_send; the kernel, which that has called, has written the results before */
    const uint32_t tail = th_load_acquire(ring->cq_tail);
    unsigned n = 0;
    TH_OS_MAY_FAIL(TH_OS_FAULT_RING_LATE, 0);
    while (head != tail && n < max) {
        const cq_entry *e = &entries[head++ & ring->cq_mask];
        const bool lost = th_os_fails(TH_OS_FAULT_RING_TAKE);
        ends[n++] = (th_os_ring_end){e->key, lost ? -ECANCELED : e->result};
    }
    /* pairs: th_os_ring_send; the kernel writes into these places again */
    th_store_release(ring->cq_head, head);
    return n;
}

void th_os_ring_wait(const th_os_ring *ring) {
    TH_KEEPS_ERRNO;
    (void)syscall(SYS_io_uring_enter, ring->fd, 0L, 1L, (long)ENTER_GETEVENTS, NULL, 0L);
}
