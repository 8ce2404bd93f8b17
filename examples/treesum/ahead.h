/*
 * ahead.h: a task per directory, which lists it before the walk gets there.
 *
 * When a directory is listed, tasks are started for the next directories in it, and so on, all of
 * them children of the walk's scope. Each holds a *ticket* until the walk enters (or discards) its
 * directory; tickets are only ever tried, never waited for. So preparation is bounded: as many
 * tasks and listings as there are tickets. A directory that was not prepared is listed when the
 * walk comes to it, without a ticket, again by its own task.
 *
 * A directory takes no more than about a quarter of the tickets that are free, so that some are
 * left for deeper directories, which are needed sooner.
 */
#ifndef TREESUM_AHEAD_H
#define TREESUM_AHEAD_H

#include "tree.h"

struct ahead {
    struct tree *tree;
    thrum_scope *scope;
    thrum_mutex mutex;
    unsigned tickets; /* free ones, under the mutex */
};

enum {
    AHEAD_TICKETS = 128,
    AHEAD_BYTES = 128 << 10 /* the window of a listing that was prepared */
};

void ahead_init(struct ahead *ahead, struct tree *tree, thrum_scope *scope);

/*
 * Returns the directory of this name, listed or on the way; only the walk calls this, for the names
 * of a directory in order. After ahead_wait has returned 0 it is the walk's. When the walk is
 * cancelled ahead_enter returns NULL, and ahead_wait -ECANCELED.
 */
struct dir *ahead_enter(struct ahead *ahead, struct dir *parent, const char *name, bool linked);
int ahead_wait(struct ahead *ahead, struct dir *dir);

/* Lists a directory once more, in the calling task. */
void ahead_relist(struct dir *dir, const char *after);

/* The walk leaves: waits for everything prepared in this directory, and frees it. */
void ahead_leave(struct ahead *ahead, struct dir *dir);

#endif
