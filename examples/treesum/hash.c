/*
 * hash.c: see hash.h.
 *
 * A batch goes in rounds: the blocking pool reads as many of its files as fit on the desk, then
 * they are hashed here, on a worker. Large files are left for the end.
 */
#include "hash.h"

#include <stdlib.h>

#include "disk.h"
#include "large.h"
#include "memory.h"
#include "offload.h"
#include "reading.h"

/* The value of item.err that marks a large file between the passes over a batch. */
enum { LARGE = -1 };

struct round {
    struct hashing *hashing;
    struct batch *batch;
    struct desk *desk;
    unsigned begin, end;   /* these items were looked at */
    const struct dir *dir; /* of item `end` */
    size_t used;           /* bytes of the desk */
};

static int hash_batch(struct hashing *hashing, struct batch *batch, struct desk *desk);
static int hash_small(struct hashing *hashing, struct batch *batch, struct desk *desk);
static int hand_on_large(struct hashing *hashing, struct batch *batch);
static int read_round(void *arg);
static bool read_small(struct round *round, struct item *item);
static void hash_round(struct round *round);

void batch_init(struct batch *batch, const struct dir *dir) {
    thrum_waitgroup_init(&batch->unfinished, 0);
    batch->dir = dir;
    batch->count = batch->files = 0;
}

int batch_start(struct hashing *hashing, struct batch *batch) {
    if (batch->files == 0) {
        return 0;
    }
    thrum_waitgroup_add(&batch->unfinished, 1);
    atomic_fetch_add_explicit(&hashing->xbatches, 1, memory_order_relaxed);
    return thrum_chan_send(hashing->jobs, &(struct job){.batch = batch});
}

static void lock(struct hashing *hashing) {
    thrum_mutex_lock(&hashing->mutex);
}

static void put_desk(struct hashing *hashing, struct desk *desk) {
    lock(hashing);
    desk->next = hashing->desks;
    hashing->desks = desk;
    thrum_mutex_unlock(&hashing->mutex);
}

static struct desk *take_desk(struct hashing *hashing) {
    lock(hashing);
    struct desk *desk = hashing->desks;
    hashing->desks = desk->next;
    thrum_mutex_unlock(&hashing->mutex);
    return desk;
}

static int do_job(struct hashing *hashing, const struct job *job) {
    struct desk *desk = take_desk(hashing);
    int err = job->large ? hash_large(hashing, job, desk) : hash_batch(hashing, job->batch, desk);
    put_desk(hashing, desk);
    if (err == 0) {
        thrum_waitgroup_done(&job->batch->unfinished);
    }
    return err;
}

int hash_jobs(void *arg) {
    struct hashing *hashing = arg;
    struct desk *desk = memory_new(sizeof *desk);
    *desk = (struct desk){.buffer = memory_new(DESK_SIZE), .sha = sha_new()};
    put_desk(hashing, desk);
    struct job job;
    int err = 0;
    while (err == 0 && thrum_chan_recv(hashing->jobs, &job) == 0) {
        err = do_job(hashing, &job);
    }
    desk = take_desk(hashing);
    sha_free(desk->sha);
    free(desk->buffer);
    free(desk);
    return err;
}

static int hash_batch(struct hashing *hashing, struct batch *batch, struct desk *desk) {
    int err = hash_small(hashing, batch, desk);
    atomic_fetch_sub_explicit(&hashing->xbatches, 1, memory_order_relaxed);
    return err != 0 ? err : hand_on_large(hashing, batch);
}

static int hash_small(struct hashing *hashing, struct batch *batch, struct desk *desk) {
    struct round round = {.hashing = hashing, .batch = batch, .dir = batch->dir, .desk = desk};
    while (round.end < batch->count) {
        round.begin = round.end;
        round.used = 0;
        int err = offload(read_round, &round, NULL);
        if (err != 0) {
            return err;
        }
        hash_round(&round);
    }
    return 0;
}

/* Each large file becomes a job. */
static int hand_on_large(struct hashing *hashing, struct batch *batch) {
    const struct dir *dir = batch->dir;
    int err = 0;
    for (unsigned i = 0; i < batch->count && err == 0; i++) {
        struct item *item = &batch->items[i];
        dir = item_dir(item, dir);
        if (item->kind == ITEM_FILE && item->err == LARGE) {
            struct job job = {.batch = batch, .large = item, .dir = dir};
            thrum_waitgroup_add(&batch->unfinished, 1);
            err = thrum_chan_send(hashing->jobs, &job);
        }
    }
    return err;
}

/* Called on the blocking pool: reads files onto the desk, until the next one does not fit. */
static int read_round(void *arg) {
    struct round *round = arg;
    const struct batch *batch = round->batch;
    for (; round->end < batch->count; round->end++) {
        struct item *item = &round->batch->items[round->end];
        if (item->kind == ITEM_FILE && !read_small(round, item)) {
            break;
        }
        round->dir = item_dir(item, round->dir);
    }
    return 0;
}

/* Whether the file was dealt with: read, found to be large or unreadable. False: another round. */
static bool read_small(struct round *round, struct item *item) {
    struct tree *tree = round->hashing->tree;
    int64_t size = 0;
    int fd = tree_stopped(tree) ? -ECANCELED : reading_open(round->dir, item->name, &size);
    if (fd < 0) {
        item->err = -fd;
        return true;
    }
    size_t room = DESK_SIZE - round->used;
    ssize_t got = 0;
    bool fits = (size_t)size<room, large = size> HALF_SIZE;
    if (fits && !large) {
        got = reading_fill(fd, round->desk->buffer + round->used, room, size);
        fits = got < (ssize_t)room; /* else it is longer than it seemed */
        large = !fits && round->used == 0;
    }
    disk_close(fd);
    if (large) {
        item->err = LARGE;
        return true;
    }
    if (!fits) {
        return false;
    }
    item->err = got < 0 ? (int)-got : 0;
    item->offset = (uint32_t)round->used;
    item->size = got < 0 ? 0 : (uint32_t)got;
    round->used += item->size;
    return true;
}

static void hash_round(struct round *round) {
    struct batch *batch = round->batch;
    struct sha *sha = round->desk->sha;
    unsigned files = 0;
    for (unsigned i = round->begin; i < round->end; i++) {
        struct item *item = &batch->items[i];
        if (item->kind == ITEM_FILE && item->err == 0) {
            sha_begin(sha);
            sha_update(sha, round->desk->buffer + item->offset, item->size);
            sha_end(sha, item->digest);
            files++;
        }
    }
    progress_add(round->hashing->progress, files, round->used);
}
