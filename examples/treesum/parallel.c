/*
 * parallel.c: the walk, the hashing and the printing at once.
 *
 *   the walk ---batches---> hashing tasks ---the same batches, in order---> the printer
 *
 * The walk is the scheduler's first fiber and fills batches, the printer is another fiber and
 * empties them in the same order, and there is a fixed ring of them between the two. So what is
 * done and not yet printed is bounded: a long file early in the tree lets the others get a ring
 * ahead, no more. README.md proves that this cannot lock up.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ahead.h"
#include "hash.h"
#include "memory.h"
#include "output.h"
#include "run.h"

enum { RING_SIZE = 256 };

struct parallel {
    const struct options *options;
    struct tree *tree;
    struct progress *progress;
    struct hasher hasher;
    struct ahead ahead;
    struct output output; /* the printer's */

    struct batch *ring; /* RING_SIZE of them */
    thrum_sem free;     /* batches that the walk may fill */
    thrum_sem filled; /* batches that the printer may wait for and print; an empty one is the end */

    struct batch *open;    /* the walk's: the one that is being filled */
    unsigned filled_count; /* the walk's: how many it has handed on */
    const struct dir *dir; /* the walk's: where it is */
};

static int run(void *arg);
static int print_batches(void *arg);
static void walk_all(struct parallel *parallel);
static void hand_on(struct parallel *parallel);

int run_parallel(const struct options *options, struct tree *tree, struct progress *progress) {
    struct parallel parallel = {.options = options, .tree = tree, .progress = progress};
    return thrum_run(&options->config, run, &parallel);
}

/* The first fiber. */
static int run(void *arg) {
    struct parallel *parallel = arg;
    unsigned workers = thrum_sched_workers(thrum_sched_current());
    unsigned desks = workers < 4 ? 16 : workers > 16 ? 64 : 4 * workers;
    parallel->hasher.workers = workers;
    parallel->hasher.tree = parallel->tree;
    parallel->hasher.progress = parallel->progress;
    desks_init(&parallel->hasher.desks, desks);
    ahead_init(&parallel->ahead, parallel->tree);
    output_init(&parallel->output, parallel->tree, parallel->progress);
    parallel->ring = memory_new(RING_SIZE * sizeof *parallel->ring);
    thrum_sem_init(&parallel->free, RING_SIZE - 1);
    thrum_sem_init(&parallel->filled, 0);
    parallel->open = &parallel->ring[0];
    batch_init(parallel->open, &parallel->hasher, NULL);

    thrum_handle *printer;
    int err = thrum_spawn(&printer, print_batches, parallel);
    if (err == 0) {
        walk_all(parallel);
        err = thrum_join(printer, NULL);
    }
    output_end(&parallel->output);
    desks_end(&parallel->hasher.desks);
    free(parallel->ring);
    if (err != 0) {
        return err;
    }
    progress_end(parallel->progress);
    if (parallel->options->stats) {
        thrum_metrics_print(thrum_sched_current(), stderr, THRUM_TEXT);
    }
    return parallel->output.failed ? 1 : 0;
}

/* ---- the printer ---- */

static int print_batches(void *arg) {
    struct parallel *parallel = arg;
    for (unsigned next = 0;; next = (next + 1) % RING_SIZE) {
        thrum_sem_wait(&parallel->filled);
        struct batch *batch = &parallel->ring[next];
        if (batch->count == 0) {
            return 0;
        }
        thrum_waitgroup_wait(&batch->unfinished);
        for (unsigned i = 0; i < batch->count; i++) {
            output_item(&parallel->output, &batch->items[i]);
        }
        output_pause(&parallel->output);
        thrum_sem_post(&parallel->free);
    }
}

/* ---- the walk ---- */

static void emit(void *ctx, const struct item *item) {
    struct parallel *parallel = ctx;
    struct batch *batch = parallel->open;
    parallel->dir = item_dir(item, parallel->dir);
    batch->items[batch->count++] = *item;
    batch->files += item->kind == ITEM_FILE;
    if (batch->count == BATCH_ITEMS || batch->files == BATCH_FILES) {
        hand_on(parallel);
    }
}

static void flush(void *ctx) {
    struct parallel *parallel = ctx;
    if (parallel->open->count > 0) {
        hand_on(parallel);
    }
}

static struct dir *enter(void *ctx, struct dir *parent, const char *name, bool linked) {
    struct parallel *parallel = ctx;
    struct dir *dir = ahead_enter(&parallel->ahead, parent, name, linked);
    if (!thrum_event_is_signaled(&dir->listed) && hasher_is_hungry(&parallel->hasher)) {
        flush(parallel); /* a small batch, but somebody has nothing to do */
    }
    ahead_wait(&parallel->ahead, dir);
    return dir;
}

static void relist(void *ctx, struct dir *dir, const char *after) {
    (void)ctx;
    ahead_relist(dir, after);
}

static void leave(void *ctx, struct dir *dir) {
    struct parallel *parallel = ctx;
    ahead_leave(&parallel->ahead, dir);
}

static void walk_all(struct parallel *parallel) {
    static const struct walk_ops ops = {
        .emit = emit, .flush = flush, .enter = enter, .relist = relist, .leave = leave};
    const struct options *options = parallel->options;
    for (int i = 0; i < options->path_count && !tree_stopped(parallel->tree); i++) {
        walk_path(parallel->tree, options->paths[i], &ops, parallel);
    }
    flush(parallel);
    thrum_sem_post(&parallel->filled); /* the open batch, which is empty */
}

/* Gives the open batch to the hashing tasks and the printer, and waits for a free one. */
static void hand_on(struct parallel *parallel) {
    batch_start(parallel->open);
    thrum_sem_post(&parallel->filled);
    thrum_sem_wait(&parallel->free);
    parallel->filled_count++;
    parallel->open = &parallel->ring[parallel->filled_count % RING_SIZE];
    batch_init(parallel->open, &parallel->hasher, parallel->dir);
}
