/*
 * hash.c: see hash.h.
 *
 * A batch goes in rounds: the blocking pool reads as many of its files as fit on a desk, then they
 * are hashed here, on a worker. Large files are left for the end, when the desk is given back.
 */
#include "hash.h"

#include <stdlib.h>
#include <unistd.h>

#include "large.h"
#include "offload.h"
#include "reading.h"

/* In item.err of a file between the passes over a batch: it is large. */
enum { LARGE = -1 };

struct round {
    struct batch *batch;
    struct desk *desk;
    unsigned begin, end;   /* these items were looked at */
    const struct dir *dir; /* of item `end` */
    size_t used;           /* bytes of the desk */
};

static void run_batch(thrum_task *self, void *arg);
static void hash_small(struct batch *batch);
static void start_large(struct batch *batch);
static int read_round(void *arg);
static bool read_small(struct round *round, struct item *item);
static void hash_round(struct round *round);

void batch_init(struct batch *batch, struct hasher *hasher, const struct dir *dir) {
    thrum_task_init(&batch->task, run_batch, batch);
    thrum_waitgroup_init(&batch->unfinished, 0);
    batch->hasher = hasher;
    batch->dir = dir;
    batch->count = batch->files = 0;
}

void batch_start(struct batch *batch) {
    if (batch->files == 0) {
        return;
    }
    thrum_waitgroup_add(&batch->unfinished, 1);
    atomic_fetch_add_explicit(&batch->hasher->xbatches, 1, memory_order_relaxed);
    if (thrum_task_post(thrum_sched_current(), &batch->task) != 0) {
        abort(); /* it is posted already: a bug */
    }
}

static void run_batch(thrum_task *self, void *arg) {
    struct batch *batch = arg;
    (void)self;
    if (!tree_stopped(batch->hasher->tree)) {
        hash_small(batch);
        start_large(batch);
    }
    atomic_fetch_sub_explicit(&batch->hasher->xbatches, 1, memory_order_relaxed);
    thrum_waitgroup_done(&batch->unfinished);
}

static void hash_small(struct batch *batch) {
    struct desks *desks = &batch->hasher->desks;
    struct round round = {.batch = batch, .dir = batch->dir, .desk = desks_take(desks)};
    while (round.end < batch->count) {
        round.begin = round.end;
        round.used = 0;
        offload(read_round, &round);
        hash_round(&round);
    }
    desks_give_back(desks, round.desk);
}

/* Gives each large file a desk and a task. Waits for desks, and holds none meanwhile. */
static void start_large(struct batch *batch) {
    const struct dir *dir = batch->dir;
    for (unsigned i = 0; i < batch->count; i++) {
        struct item *item = &batch->items[i];
        dir = item_dir(item, dir);
        if (item->kind == ITEM_FILE && item->err == LARGE) {
            thrum_waitgroup_add(&batch->unfinished, 1);
            large_start(batch, item, dir);
        }
    }
}

/* On the blocking pool: reads files onto the desk, until the next one does not fit. */
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
    struct tree *tree = round->batch->hasher->tree;
    off_t size = 0;
    int fd = tree_stopped(tree) ? -ECANCELED : reading_open(tree, round->dir, item->name, &size);
    if (fd < 0) {
        item->err = -fd;
        return true;
    }
    size_t room = DESK_SIZE - round->used;
    ssize_t got = 0;
    bool fits = (size_t)size<room, large = size> HALF_SIZE;
    if (fits && !large) {
        got = reading_fill(fd, round->desk->buffer + round->used, room, size);
        fits = got < (ssize_t)room; /* else it is longer than it said */
        large = !fits && round->used == 0;
    }
    close(fd);
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
    progress_add(batch->hasher->progress, files, round->used);
}
