/*
 * ring.h: the part of the platform's contract that is about a queue of transfers between memory and
 * files which the system makes without a thread of ours. Included by platform.h.
 *
 * The caller orders the calls on a ring, except for th_os_ring_wait.
 */
#ifndef TH_RING_CALLS_H
#define TH_RING_CALLS_H

#include "base/cc.h"

typedef struct th_os_ring {
    int fd;
    uint32_t *sq_tail; /* the queue of submissions; the system reads it in a call of ours */
    uint32_t sq_mask;
    void *sq_entries;
    uint32_t *sq_array;
    uint32_t *cq_head; /* the queue of results: the system writes the tail, and we the head */
    const uint32_t *cq_tail;
    uint32_t cq_mask;
    const void *cq_entries;
    void *queues; /* the mapping */
    size_t queues_size;
    size_t entries_size;
} th_os_ring;

typedef struct th_os_transfer {
    int fd;
    bool write;
    void *bytes;
    size_t size;
    int64_t offset;
} th_os_transfer;

typedef struct th_os_ring_end {
    uint64_t key;
    int64_t result; /* the number of bytes, 0 at the end of the file, or a negative code */
} th_os_ring_end;

/*
 * Makes a ring for so many transfers at a time, a power of two. Its descriptor, `fd`, which
 * programs that are started do not get, goes into a set (th_os_pollset_add), and gives an event
 * whenever a transfer has ended. Errors: -ENOSYS, or -EPERM (a sandbox), -EMFILE, -ENFILE, -ENOMEM.
 */
int th_os_ring_open(th_os_ring *out, unsigned most);
/* No transfer is under way. */
void th_os_ring_close(th_os_ring *ring);
/* In the child of a fork, where the parent's ring is not mapped. */
void th_os_ring_abandon(th_os_ring *ring);

/*
 * Puts a transfer into the queue that th_os_ring_send begins; there is room for as many as the ring
 * was made for. A code: it was not queued.
 */
int th_os_ring_put(th_os_ring *ring, const th_os_transfer *transfer, uint64_t key);

/*
 * Begins the `n` transfers that have been put since the last call, for the calling thread: in
 * order, and they may end in this call. The memory of a transfer that has begun is the system's
 * until th_os_ring_take has returned its end; transfers of a thread that ends meanwhile may end
 * with -ECANCELED. Returns how many have begun. The others, the last ones, are forgotten.
 */
unsigned th_os_ring_send(th_os_ring *ring, unsigned n);

/* Takes the ends of at most `max` transfers; does not wait. */
unsigned th_os_ring_take(th_os_ring *ring, th_os_ring_end ends[], unsigned max);

/* Waits until there is one to take, or for no reason. Blocks the thread. */
void th_os_ring_wait(const th_os_ring *ring);

#endif
