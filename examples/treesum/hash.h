/*
 * hash.h: the middle of the pipeline: hashers, which take jobs from a channel.
 *
 * A job is a batch of items, or one large file of a batch. The small files of a batch are read by
 * the dozen in one blocking call, then hashed; its large files become jobs of their own, so that
 * several hashers share them.
 */
#ifndef TREESUM_HASH_H
#define TREESUM_HASH_H

#include <thrum.h>

#include "desk.h"
#include "progress.h"
#include "walk.h"

enum {
    BATCH_ITEMS = 128, /* of any kind */
    BATCH_FILES = 32
};

struct batch {
    thrum_waitgroup unfinished; /* jobs; 0: all of its files are hashed */
    const struct dir *dir;      /* where its first item is */
    unsigned count, files;
    struct item items[BATCH_ITEMS];
};

struct job {
    struct batch *batch;
    struct item *large;    /* NULL: the batch itself */
    const struct dir *dir; /* of the large file */
};

/* The state shared by all hashers. */
struct hashing {
    struct tree *tree;
    struct progress *progress;
    thrum_chan *jobs; /* holds as many as there can be: a send never waits */
    thrum_mutex mutex;
    struct desk *desks; /* the free desks, under the mutex */
    unsigned workers;
    atomic_uint xbatches; /* batches begun, and not done apart from their large files */
};

/* Makes an empty batch for items that come while the walk is in `dir`. */
void batch_init(struct batch *batch, const struct dir *dir);

/* Makes it a job, if it has files; `unfinished` shows when they are hashed. */
int batch_start(struct hashing *hashing, struct batch *batch);

/* A hasher: a child of the scope. Ends when the channel is closed, or it is cancelled. */
int hash_jobs(void *hashing);

/* Whether there are fewer batches at work than workers. */
static inline bool hashing_is_hungry(struct hashing *hashing) {
    return atomic_load_explicit(&hashing->xbatches, memory_order_relaxed) < hashing->workers;
}

#endif
