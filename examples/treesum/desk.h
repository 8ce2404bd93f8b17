/*
 * desk.h: a buffer with a SHA-256 context. Each hasher has one, and whoever has file contents in
 * memory has them on a desk: so the number of hashers bounds the memory and the open files.
 */
#ifndef TREESUM_DESK_H
#define TREESUM_DESK_H

#include "sha.h"

enum {
    HALF_SIZE = 256 << 10, /* a file beyond it is large */
    DESK_SIZE = 2 * HALF_SIZE
};

struct desk {
    unsigned char *buffer;
    struct sha *sha;
};

#endif
