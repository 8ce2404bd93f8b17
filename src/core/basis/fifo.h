/*
 * fifo.h: the scheduler's data of the fifo policy. core/policy/FIFO.md has the argument.
 */
#ifndef TH_FIFO_H
#define TH_FIFO_H

#include <stdalign.h>

#include "queue/mcsp.h"
#include "queue/mpsc.h"
#include "queue/combiner.h"

/* The capacity of a block of the ready queue at most; a larger config is cut down to it. */
#define TH_FIFO_BLOCK_MAX 65536u

typedef struct th_fifo {
    th_mpsc front; /* posted work, newest first: any thread pushes, the combiner drains */
    alignas(TH_CACHE_LINE) th_combiner combiner; /* the combiner's place */
    uint32_t xrest; /* 1 while `rest` holds work; written by the combiner */
    th_chain rest; /* by the combiner: work in order, older than `front` and younger than `ready` */
    th_mcsp ready; /* work in order: the combiner publishes, any thread takes */
} th_fifo;

/* Rounds the config's capacity of a block up to a power of two. */
static inline unsigned th_fifo_capacity(unsigned asked) {
    unsigned capacity = 1;
    while (capacity < asked && capacity < TH_FIFO_BLOCK_MAX) {
        capacity *= 2;
    }
    return capacity;
}

#endif
