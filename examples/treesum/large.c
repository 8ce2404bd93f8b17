/*
 * large.c: see large.h.
 *
 * The reader is a fork: a call in the hasher's frame that is made by another task while the hasher
 * waits. It waits only for the hasher, which needs a worker and nothing else, and for the file; the
 * hasher waits only for the reader. A cancel ends neither wait of one for the other, since both use
 * the same frame; but it ends a read, and at each half the reader tests whether all is to stop: so
 * the last half always comes.
 */
#include "large.h"

#include <errno.h>
#include <stdlib.h>
#include <thrum/file.h>

#include "disk.h"
#include "offload.h"
#include "reading.h"

struct large {
    struct tree *tree;
    const struct job *job;
    struct desk *desk;
    thrum_sem full, empty; /* halves */
    ssize_t got[2]; /* their contents: bytes, less than a half at the file's end; or -errno */
};

static ssize_t hash_halves(struct large *large, struct progress *progress);
static int read_file(void *arg);

int hash_large(struct hashing *hashing, const struct job *job, struct desk *desk) {
    struct large large = {.tree = hashing->tree, .job = job, .desk = desk};
    thrum_sem_init(&large.full, 0);
    thrum_sem_init(&large.empty, 2);
    thrum_fork reader;
    thrum_fork_start(&reader, read_file, &large);
    ssize_t got = hash_halves(&large, hashing->progress);
    thrum_fork_join(&reader);
    job->large->err = got < 0 ? (int)-got : 0;
    progress_add(hashing->progress, got < 0 ? 0 : 1, 0);
    return got == -ECANCELED ? -ECANCELED : 0;
}

/* Behind a shield a wait is not cancelled, so it cannot fail. */
static void wait_for(thrum_sem *sem) {
    if (thrum_sem_wait(sem) != 0) {
        abort();
    }
}

/* Returns the last result. */
static ssize_t hash_halves(struct large *large, struct progress *progress) {
    struct sha *sha = large->desk->sha;
    ssize_t got;
    unsigned half = 0;
    sha_begin(sha);
    thrum_shield_begin();
    do {
        wait_for(&large->full);
        got = large->got[half];
        if (got > 0) {
            sha_update(sha, large->desk->buffer + half * HALF_SIZE, (size_t)got);
            progress_add(progress, 0, (unsigned long long)got);
        }
        thrum_sem_post(&large->empty);
        half ^= 1;
    } while (got == HALF_SIZE);
    thrum_shield_end();
    sha_end(sha, large->job->large->digest);
    return got;
}

/* Called on the blocking pool, as opening may wait: the path is one of many names. */
static int open_file(void *arg) {
    const struct large *large = arg;
    int64_t size;
    return reading_open(large->job->dir, large->job->large->name, &size);
}

static int open_io(struct large *large, thrum_io *io) {
    int fd = -ECANCELED;
    int err = offload(open_file, large, &fd);
    err = err != 0 ? err : fd < 0 ? fd : thrum_file_adopt(io, fd);
    if (err != 0 && fd >= 0) {
        disk_close(fd);
    }
    return err;
}

/* The fork: a cancel ends its reads, but not its waits. */
static int read_file(void *arg) {
    struct large *large = arg;
    thrum_io io;
    const int err = open_io(large, &io);
    int64_t at = 0;
    ssize_t got = HALF_SIZE;
    for (unsigned half = 0; got == HALF_SIZE; half ^= 1) {
        thrum_shield_begin();
        wait_for(&large->empty);
        thrum_shield_end();
        unsigned char *buffer = large->desk->buffer + half * HALF_SIZE;
        got = err != 0 ? err
              : tree_stopped(large->tree)
                  ? -ECANCELED
                  : thrum_file_pread(io, buffer, HALF_SIZE, at, THRUM_FOREVER);
        at += got;
        large->got[half] = got;
        thrum_sem_post(&large->full);
    }
    if (err == 0) {
        (void)thrum_io_close(io);
    }
    return 0;
}
