/*
 * desk.h: a buffer with a SHA-256 context. Each hasher brings one, and file contents in memory are
 * always on a desk: so the number of hashers bounds the memory and the open files.
 *
 * For each job a hasher takes the desk that was used last, whose memory is still in the cache;
 * there are as many as hashers, so none waits for one.
 */
#ifndef TREESUM_DESK_H
#define TREESUM_DESK_H

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

#endif
