/*
 * serial.c: everything in one loop on one thread, for comparison. Nothing is run by a scheduler.
 */
#include <errno.h>
#include <stdlib.h>

#include "desk.h"
#include "disk.h"
#include "memory.h"
#include "output.h"
#include "reading.h"
#include "run.h"
#include "walk.h"

struct serial {
    struct tree *tree;
    struct progress *progress;
    struct output output;
    struct sha *sha;
    unsigned char *buffer;
    const struct dir *dir; /* where the walk is */
};

static void hash_file(struct serial *serial, struct item *item);

static void emit(void *ctx, const struct item *item) {
    struct serial *serial = ctx;
    struct item done = *item;
    serial->dir = item_dir(item, serial->dir);
    if (item->kind == ITEM_FILE) {
        hash_file(serial, &done);
    }
    output_item(&serial->output, &done);
    output_pause(&serial->output);
}

static void flush(void *ctx) {
    (void)ctx; /* nothing is ever held back */
}

static struct dir *enter(void *ctx, struct dir *parent, const char *name, bool linked) {
    struct serial *serial = ctx;
    struct dir *dir = dir_new(serial->tree, parent, name, linked);
    dir_list(dir, NULL, serial->tree->window);
    return dir;
}

static void relist(void *ctx, struct dir *dir, const char *after) {
    (void)ctx;
    dir_list(dir, after, dir->tree->window);
}

static void leave(void *ctx, struct dir *dir) {
    (void)ctx;
    (void)dir;
}

int run_serial(const struct options *options, struct tree *tree, struct progress *progress) {
    static const struct walk_ops ops = {
        .emit = emit, .flush = flush, .enter = enter, .relist = relist, .leave = leave};
    struct serial serial = {.tree = tree, .progress = progress, .sha = sha_new()};
    serial.buffer = memory_new(DESK_SIZE);
    output_init(&serial.output, tree, progress);
    for (int i = 0; i < options->path_count && !tree_stopped(tree); i++) {
        walk_path(tree, options->paths[i], &ops, &serial);
    }
    output_end(&serial.output);
    sha_free(serial.sha);
    free(serial.buffer);
    return serial.output.failed ? 1 : 0;
}

static void hash_file(struct serial *serial, struct item *item) {
    int64_t size;
    int fd = tree_stopped(serial->tree) ? -ECANCELED : reading_open(serial->dir, item->name, &size);
    if (fd < 0) {
        item->err = -fd;
        return;
    }
    sha_begin(serial->sha);
    ssize_t got;
    do {
        got = reading_fill(fd, serial->buffer, DESK_SIZE, size);
        if (got > 0) {
            sha_update(serial->sha, serial->buffer, (size_t)got);
            progress_add(serial->progress, 0, (unsigned long long)got);
        }
        size = 0; /* the remaining size is not known */
    } while (got == DESK_SIZE);
    disk_close(fd);
    sha_end(serial->sha, item->digest);
    item->err = got < 0 ? (int)-got : 0;
    progress_add(serial->progress, got < 0 ? 0 : 1, 0);
}
