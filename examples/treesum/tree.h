/*
 * tree.h: the directories of a walk, their paths, and opening their entries.
 *
 * A `struct dir` is made when a walk comes to a directory (or prepares to) and freed when the last
 * line about it has been written. In between its name, parent and anchor do not change, so any
 * thread may build paths from it; the rest belongs to the walk (to the task that lists the
 * directory, until it signals `listed`). The tree knows all directories, and frees the remaining
 * ones at its end: so a part that is stopped half-way just returns.
 *
 * Files are opened by their path from the nearest *anchor*, a directory that is kept open: usually
 * an argument of the command line (the root). A path must be shorter than PATH_MAX, but a tree may
 * be deeper; so if the path from the last anchor grows long, a directory becomes the anchor of
 * everything below it. There are at most `anchors_max` of them: beyond that a root is opened anew
 * each time, and long paths are opened piece by piece, which is slow and always works. So the
 * number of open directories does not depend on the tree.
 *
 * Below a root no link is followed without -L, even if files are moved or put there during the walk
 * (beneath.h), and a root that is opened anew must be the same directory.
 */
#ifndef TREESUM_TREE_H
#define TREESUM_TREE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <thrum.h>

#include "listing.h"

struct ahead;

/* Stands in the place of an errno: it is no regular file. */
enum { TREE_NOT_REGULAR = 1 << 16 };

enum { WINDOW_DEFAULT = 16 << 20 };

/* The state shared by all directories of one run. */
struct tree {
    bool follow;   /* -L */
    size_t window; /* the most that one listing may take, in bytes */
    int anchors_max;
    atomic_int xanchors_free; /* directories that may still be kept open */
    atomic_bool xstop;        /* nothing more is wanted: the output failed, or a signal came */

    thrum_mutex mutex;
    thrum_cond freed;
    /* Under the mutex. */
    size_t listed_bytes;   /* of all listings that are taken and not freed */
    struct listing *taken; /* these listings */
    struct dir *dirs;      /* all of them */
};

struct dir {
    struct tree *tree;
    struct dir *parent;      /* NULL: an argument of the command line */
    struct listing *listing; /* NULL: not listed, failed, or used up */
    char *after;             /* when `listing` was given up: go on behind this name; else NULL */
    uint32_t next;           /* the walk's place in the listing */
    int err;                 /* errno when it could not be listed */

    int anchor;      /* its own fd when it is an anchor, else -1 */
    bool linked;     /* it or a directory above it was reached through a symbolic link */
    uint64_t device; /* both of arguments, and with -L, against loops */
    uint64_t inode;

    /* Being listed ahead of the walk (ahead.h). */
    struct ahead *ahead;
    thrum_event listed;
    struct dir *ahead_first, *ahead_last; /* directories in it, sorted, of which it holds tickets */
    struct dir *ahead_next;               /* the next one of the parent's list */
    uint32_t ahead_count, ahead_place;    /* how many; how far the listing was searched */

    struct dir *next_dir, **dir_link; /* the tree's list */
    size_t name_size;                 /* strlen */
    char name[];
};

void tree_init(struct tree *tree, bool follow, size_t window, int anchors_max);
/* Frees the rest, which no thread uses any longer. */
void tree_end(struct tree *tree);

/* `linked`: the name is a symbolic link. */
struct dir *dir_new(struct tree *tree, struct dir *parent, const char *name, bool linked);
void dir_free(struct dir *dir);

/*
 * Reads the names behind `after` (NULL: all) into `dir->listing`, as many as fit into `bytes_max`.
 * An error is in `dir->err` afterwards (with `listing` NULL) or in the listing. Blocks the thread.
 */
void dir_list(struct dir *dir, const char *after, size_t bytes_max);

/*
 * Opens a file in a directory (`dir` NULL: an argument of the command line). Links are followed if
 * the tree follows them. Returns an fd or a negative errno. Blocks the thread.
 */
int dir_open_file(const struct dir *dir, const char *name);

/* The walk has taken a listing; tree_give_back is for a listing that is no longer needed. */
void tree_take(struct tree *tree, struct listing *listing);
void tree_give_back(struct tree *tree, struct listing *listing);

/* The bytes that are taken; tree_wait_taken waits until they are that few: 0, or -ECANCELED. */
size_t tree_taken(struct tree *tree);
int tree_wait_taken(struct tree *tree, size_t bytes_max);

/* Says that nothing more is wanted from now on. Any thread calls it. */
static inline void tree_stop(struct tree *tree) {
    atomic_store_explicit(&tree->xstop, true, memory_order_relaxed);
}

static inline bool tree_stopped(struct tree *tree) {
    return atomic_load_explicit(&tree->xstop, memory_order_relaxed);
}

#endif
