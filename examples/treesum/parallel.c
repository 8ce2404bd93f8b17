/*
 * parallel.c: the walk, the hashing and the printing at once.
 *
 *   the walk ---jobs---> hashers
 *      |  ^  \            | large files are jobs again
 *      |  |   +--ready, in order---> the printer
 *      |  +-----------empty-------------+
 *
 * All are children of one scope, with channels between them. The walk takes an empty batch, fills
 * it, makes it a job and hands it to the printer as well, which waits until the batch is hashed,
 * prints it and gives it back. There is a fixed number of batches: so finished work that is not yet
 * printed is bounded, however long a file early in the tree takes. README.md proves that this
 * cannot lock up.
 *
 * The printer is the last to have something to do; when it ends it closes the channel of jobs, and
 * notifies the child that waits for a signal. When a child fails, by a signal or because stdout
 * does not accept data any longer, the scope cancels the others: each of their waits ends, and they
 * return. The tree frees everything that they leave behind.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ahead.h"
#include "hash.h"
#include "memory.h"
#include "output.h"
#include "run.h"

enum { BATCHES = 256, JOBS_MAX = BATCHES * (1 + BATCH_FILES) };

struct parallel {
    const struct options *options;
    struct tree *tree;
    struct quit *quit;
    thrum_scope scope;
    struct hashing hashing;
    struct ahead ahead;
    struct output output; /* the printer's */

    struct batch *batches;
    thrum_chan *empty;   /* batches that the walk may fill */
    thrum_chan *ready;   /* batches for the printer, in order */
    thrum_chan *signals; /* the signal that came; 0: all is done */

    struct batch *open;    /* the walk's: the batch being filled; NULL: cancelled */
    const struct dir *dir; /* the walk's: where it is */
};

static int run(void *arg);
static int run_scope(struct parallel *parallel);
static int wait_for_signal(void *arg);
static int print_batches(void *arg);
static int walk_all(void *arg);
static void take_empty(struct parallel *parallel);

int run_parallel(const struct options *options, struct tree *tree, struct progress *progress,
                 struct quit *quit) {
    struct parallel parallel = {.options = options, .tree = tree, .quit = quit};
    parallel.hashing =
        (struct hashing){.tree = tree, .progress = progress, .mutex = THRUM_MUTEX_INIT};
    return thrum_run(&options->config, run, &parallel);
}

/* ---- setting it up ---- */

static void tell(struct parallel *parallel, int signal) {
    if (thrum_chan_try_send(parallel->signals, &signal) != 0) {
        abort(); /* a bug: there is room for both that may send */
    }
}

static void on_signal(void *ctx, int signal) {
    struct parallel *parallel = ctx;
    tree_stop(parallel->tree);
    tell(parallel, signal);
}

static int make_channels(struct parallel *parallel) {
    int err = thrum_chan_create(&parallel->empty, sizeof(struct batch *), BATCHES);
    err = err ? err : thrum_chan_create(&parallel->ready, sizeof(struct batch *), BATCHES);
    err = err ? err : thrum_chan_create(&parallel->hashing.jobs, sizeof(struct job), JOBS_MAX);
    err = err ? err : thrum_chan_create(&parallel->signals, sizeof(int), 2);
    for (unsigned i = 0; i < BATCHES && err == 0; i++) {
        err = thrum_chan_send(parallel->empty, &(struct batch *){&parallel->batches[i]});
    }
    return err;
}

/* The first task. */
static int run(void *arg) {
    struct parallel *parallel = arg;
    struct progress *progress = parallel->hashing.progress;
    parallel->hashing.workers = thrum_sched_parallelism(thrum_sched_current());
    output_init(&parallel->output, parallel->tree, progress);
    parallel->batches = memory_new(BATCHES * sizeof *parallel->batches);
    int err = make_channels(parallel);
    err = err ? err : quit_begin(parallel->quit, on_signal, parallel);
    if (err == 0) {
        err = run_scope(parallel);
        output_end(&parallel->output);
        quit_end(parallel->quit);
    }
    thrum_chan_destroy(parallel->empty);
    thrum_chan_destroy(parallel->ready);
    thrum_chan_destroy(parallel->hashing.jobs);
    thrum_chan_destroy(parallel->signals);
    free(parallel->batches);
    if (err != 0 && !parallel->output.broken) {
        return err;
    }
    progress_end(progress);
    if (parallel->options->stats) {
        thrum_metrics_print(thrum_sched_current(), stderr, THRUM_TEXT);
    }
    return parallel->output.failed ? 1 : 0;
}

/* Returns when all children have ended: 0, or why the first of them failed. */
static int run_scope(struct parallel *parallel) {
    unsigned workers = parallel->hashing.workers;
    unsigned hashers = workers < 4 ? 16 : workers > 16 ? 64 : 4 * workers;
    thrum_scope *scope = &parallel->scope;
    int err = thrum_scope_open(scope, THRUM_FOREVER);
    if (err != 0) {
        return err;
    }
    ahead_init(&parallel->ahead, parallel->tree, scope);
    /* if one cannot start, the rest is cancelled */
    thrum_scope_go(scope, wait_for_signal, parallel);
    thrum_scope_go(scope, print_batches, parallel);
    for (unsigned i = 0; i < hashers; i++) {
        thrum_scope_go(scope, hash_jobs, &parallel->hashing);
    }
    thrum_scope_go(scope, walk_all, parallel);
    return thrum_scope_join(scope);
}

/* A child: fails when a signal comes. */
static int wait_for_signal(void *arg) {
    struct parallel *parallel = arg;
    int signal;
    int err = thrum_chan_recv(parallel->signals, &signal);
    return err != 0 ? err : signal != 0 ? -EINTR : 0;
}

/* ---- the printer ---- */

static void print_batch(struct output *output, const struct batch *batch) {
    for (unsigned i = 0; i < batch->count && !output->broken; i++) {
        output_item(output, &batch->items[i]);
    }
    output_pause(output);
}

static int print_batches(void *arg) {
    struct parallel *parallel = arg;
    struct batch *batch;
    int err;
    while ((err = thrum_chan_recv(parallel->ready, &batch)) == 0) {
        err = thrum_waitgroup_wait(&batch->unfinished);
        if (err != 0 || tree_stopped(parallel->tree)) {
            return -ECANCELED;
        }
        print_batch(&parallel->output, batch);
        err = parallel->output.broken ? -EIO : thrum_chan_send(parallel->empty, &batch);
        if (err != 0) {
            return err;
        }
    }
    if (err != -EPIPE) {
        return err;
    }
    thrum_chan_close(parallel->hashing.jobs);
    tell(parallel, 0);
    return 0;
}

/* ---- the walk ---- */

/* Makes the open batch a job and hands it to the printer. */
static int hand_on(struct parallel *parallel) {
    int err = batch_start(&parallel->hashing, parallel->open);
    return err ? err : thrum_chan_send(parallel->ready, &parallel->open);
}

static void flush(void *ctx) {
    struct parallel *parallel = ctx;
    if (!parallel->open || parallel->open->count == 0) {
        return;
    }
    if (hand_on(parallel) == 0) {
        take_empty(parallel);
    } else {
        parallel->open = NULL;
    }
}

static void take_empty(struct parallel *parallel) {
    if (thrum_chan_recv(parallel->empty, &parallel->open) == 0) {
        batch_init(parallel->open, parallel->dir);
    } else {
        parallel->open = NULL;
    }
}

static void emit(void *ctx, const struct item *item) {
    struct parallel *parallel = ctx;
    struct batch *batch = parallel->open;
    if (!batch) {
        return; /* cancelled */
    }
    parallel->dir = item_dir(item, parallel->dir);
    batch->items[batch->count++] = *item;
    batch->files += item->kind == ITEM_FILE;
    if (batch->count == BATCH_ITEMS || batch->files == BATCH_FILES) {
        flush(parallel);
    }
}

static struct dir *enter(void *ctx, struct dir *parent, const char *name, bool linked) {
    struct parallel *parallel = ctx;
    struct dir *dir = ahead_enter(&parallel->ahead, parent, name, linked);
    if (!dir) {
        return NULL;
    }
    if (!thrum_event_is_signaled(&dir->listed) && hashing_is_hungry(&parallel->hashing)) {
        flush(parallel); /* a small batch, but a hasher has nothing to do */
    }
    bool cancelled = ahead_wait(&parallel->ahead, dir) != 0 || !parallel->open;
    return cancelled ? NULL : dir;
}

static void relist(void *ctx, struct dir *dir, const char *after) {
    (void)ctx;
    ahead_relist(dir, after);
}

static void leave(void *ctx, struct dir *dir) {
    struct parallel *parallel = ctx;
    ahead_leave(&parallel->ahead, dir);
}

static int walk_all(void *arg) {
    static const struct walk_ops ops = {
        .emit = emit, .flush = flush, .enter = enter, .relist = relist, .leave = leave};
    struct parallel *parallel = arg;
    const struct options *options = parallel->options;
    take_empty(parallel);
    for (int i = 0; i < options->path_count && !tree_stopped(parallel->tree); i++) {
        walk_path(parallel->tree, options->paths[i], &ops, parallel);
    }
    flush(parallel);
    if (!parallel->open || tree_stopped(parallel->tree)) {
        return -ECANCELED;
    }
    thrum_chan_close(parallel->ready);
    return 0;
}
