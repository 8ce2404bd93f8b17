/*
 * desk.h: a fixed number of buffers, each with a SHA-256 context. Whoever has file contents in
 * memory has them on a desk, so the number of desks bounds the memory and the open files.
 *
 * Nobody waits for a desk while holding one, so somebody who holds one always gets on.
 */
#ifndef TREESUM_DESK_H
#define TREESUM_DESK_H

#include <thrum.h>

#include "sha.h"

enum {
    HALF_SIZE = 256 << 10, /* a file beyond it is large */
    DESK_SIZE = 2 * HALF_SIZE
};

struct desk {
    struct desk *next; /* the next free one, under the mutex */
    unsigned char *buffer;
    struct sha *sha;
};

struct desks {
    struct desk *all;
    unsigned count;
    thrum_sem available;
    thrum_mutex mutex;
    struct desk *free;
};

void desks_init(struct desks *desks, unsigned count);
void desks_end(struct desks *desks);

/* Waits for a free one. The one that was used last comes first: its memory is still in the cache.
 */
struct desk *desks_take(struct desks *desks);
void desks_give_back(struct desks *desks, struct desk *desk);

#endif
