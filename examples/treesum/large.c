/*
 * large.c: see large.h.
 *
 * The reader is a fork: a call in the hasher's frame that is made by another task while the hasher
 * waits. It waits only for the hasher, which needs a worker and nothing else; the hasher waits only
 * for the reader, which needs a thread of the blocking pool. A cancel ends neither wait, since both
 * use the same frame; but at each half the reader tests whether all is to stop, and the last half
 * always comes.
 */
#include "large.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "offload.h"
#include "reading.h"

struct large {
    struct tree *tree;
    const struct job *job;
    struct desk *desk;
    thrum_sem full, empty; /* halves */
    ssize_t got[2]; /* what is in them: bytes, less than a half at the file's end; or -errno */
};

static ssize_t hash_halves(struct large *large, struct progress *progress);
static int read_file(void *arg);
static int read_halves(void *arg);

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

/* Returns what came last. */
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

/* The fork: waits while a thread of the pool reads. */
static int read_file(void *arg) {
    struct large *large = arg;
    int err = offload(read_halves, large, NULL);
    if (err != 0) { /* it has not begun */
        large->got[0] = err;
        thrum_sem_post(&large->full);
    }
    return 0;
}

/* Called on the blocking pool. */
static int read_halves(void *arg) {
    struct large *large = arg;
    const struct job *job = large->job;
    off_t size;
    int fd = reading_open(job->dir, job->large->name, &size);
    ssize_t got = HALF_SIZE;
    thrum_shield_begin(); /* no thread could be had: this is a task */
    for (unsigned half = 0; got == HALF_SIZE; half ^= 1) {
        wait_for(&large->empty);
        if (fd < 0) {
            got = fd;
        } else if (tree_stopped(large->tree)) {
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
    thrum_shield_end();
    return 0;
}
