/*
 * fifo.h: what a scheduler has for the fifo policy. core/ready/FIFO.md has the argument.
 */
#ifndef TH_FIFO_H
#define TH_FIFO_H

#include <stdalign.h>

#include "queue/mcsp.h"
#include "queue/mpsc.h"
#include "queue/role.h"

/* The most that a block of the ready queue holds; a larger config is cut down to it. */
#define TH_FIFO_BLOCK_MAX 65536u

typedef struct th_fifo {
    th_mpsc front; /* what was posted, newest first: anybody pushes, the role's holder drains */
    alignas(TH_CACHE_LINE) th_role role; /* the scheduling role */
    uint32_t xrest;                      /* written with the role: 1 while `rest` holds work */
    th_chain rest; /* with the role: in order, older than the front, younger than what is ready */
    th_mcsp ready; /* in order: the role's holder publishes, anybody takes */
} th_fifo;

/* The block's size for what the config asks for. */
static inline unsigned th_fifo_capacity(unsigned asked) {
    unsigned capacity = 1;
    while (capacity < asked && capacity < TH_FIFO_BLOCK_MAX) {
        capacity *= 2;
    }
    return capacity;
}

#endif
