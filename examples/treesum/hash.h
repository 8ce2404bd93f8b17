/*
 * hash.h: hashes the files of a batch of items.
 *
 * A batch is an intrusive task: starting it allocates nothing. Small files are read by the dozen in
 * one blocking call, then hashed; a large file gets a desk and a task of its own (large.h).
 */
#ifndef TREESUM_HASH_H
#define TREESUM_HASH_H

#include "desk.h"
#include "progress.h"
#include "walk.h"

enum {
    BATCH_ITEMS = 128, /* of any kind */
    BATCH_FILES = 32
};

/* What all batches share. */
struct hasher {
    struct tree *tree;
    struct progress *progress;
    struct desks desks;
    unsigned workers;
    atomic_uint xbatches; /* started, and not ended but for large files */
};

struct batch {
    thrum_task task;
    thrum_waitgroup unfinished; /* 0: all of its files are hashed */
    struct hasher *hasher;
    const struct dir *dir; /* where its first item is */
    unsigned count, files;
    struct item items[BATCH_ITEMS];
};

/* Makes an empty batch for items that come while the walk is in `dir`. */
void batch_init(struct batch *batch, struct hasher *hasher, const struct dir *dir);

/* Starts on it. Its owner waits for `unfinished`. Tasks only. */
void batch_start(struct batch *batch);

/* Whether there are fewer batches at work than workers. */
static inline bool hasher_is_hungry(struct hasher *hasher) {
    return atomic_load_explicit(&hasher->xbatches, memory_order_relaxed) < hasher->workers;
}

#endif
