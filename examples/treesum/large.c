/*
 * large.c: see large.h.
 *
 * The reader waits only for the hashing task, which needs a worker and nothing else; the hashing
 * task waits only for the reader, which needs a thread of the blocking pool.
 */
#include "large.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "memory.h"
#include "offload.h"
#include "reading.h"

struct large {
    struct batch *batch;
    struct item *item;
    const struct dir *dir;
    struct desk *desk;
    thrum_sem full, empty; /* halves */
    ssize_t got[2]; /* what is in them: bytes, less than a half at the file's end; or -errno */
};

static int hash_file(void *arg);
static int read_file(void *arg);
static int read_halves(void *arg);
static void finish(struct large *large, int err);

void large_start(struct batch *batch, struct item *item, const struct dir *dir) {
    struct large *large = memory_new(sizeof *large);
    *large = (struct large){.batch = batch, .item = item, .dir = dir};
    thrum_sem_init(&large->full, 0);
    thrum_sem_init(&large->empty, 2);
    large->desk = desks_take(&batch->hasher->desks);
    int err = thrum_go(hash_file, large);
    if (err != 0) {
        finish(large, -err);
    }
}

static int hash_file(void *arg) {
    struct large *large = arg;
    struct progress *progress = large->batch->hasher->progress;
    struct sha *sha = large->desk->sha;
    int err = thrum_go(read_file, large);
    if (err != 0) {
        finish(large, -err);
        return 0;
    }
    sha_begin(sha);
    ssize_t got;
    unsigned half = 0;
    do {
        thrum_sem_wait(&large->full);
        got = large->got[half];
        if (got > 0) {
            sha_update(sha, large->desk->buffer + half * HALF_SIZE, (size_t)got);
            progress_add(progress, 0, (unsigned long long)got);
        }
        thrum_sem_post(&large->empty);
        half ^= 1;
    } while (got == HALF_SIZE);
    sha_end(sha, large->item->digest);
    finish(large, got < 0 ? (int)-got : 0);
    return 0;
}

static void finish(struct large *large, int err) {
    struct batch *batch = large->batch;
    large->item->err = err;
    if (err == 0) {
        progress_add(batch->hasher->progress, 1, 0);
    }
    desks_give_back(&batch->hasher->desks, large->desk);
    free(large);
    thrum_waitgroup_done(&batch->unfinished);
}

/* A fiber beside the hashing one, which waits while a thread of the pool reads. */
static int read_file(void *arg) {
    return offload(read_halves, arg);
}

/* On the blocking pool. When the last half is handed over, `large` may be gone at once. */
static int read_halves(void *arg) {
    struct large *large = arg;
    struct tree *tree = large->batch->hasher->tree;
    off_t size;
    int fd = reading_open(tree, large->dir, large->item->name, &size);
    ssize_t got = HALF_SIZE;
    for (unsigned half = 0; got == HALF_SIZE; half ^= 1) {
        thrum_sem_wait(&large->empty);
        if (fd < 0) {
            got = fd;
        } else if (tree_stopped(tree)) {
            got = -ECANCELED;
        } else {
            got = reading_fill(fd, large->desk->buffer + half * HALF_SIZE, HALF_SIZE, 0);
        }
        large->got[half] = got;
        if (got != HALF_SIZE && fd >= 0) {
            close(fd);
        }
        thrum_sem_post(&large->full);
    }
    return 0;
}
