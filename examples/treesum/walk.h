/*
 * walk.h: goes through a tree in order and emits its entries as a stream of items.
 *
 * Tree order: the names of a directory sorted byte by byte, files and directories together; the
 * entries of a directory are at the place of the directory's name. Each directory is entered and
 * left once.
 *
 * The consumer of the items frees their contents: the listing of a DROP, the directory of a LEAVE.
 * No later item refers to it, and all earlier items that do are consumed by then. That is why names
 * need no copies and directories no reference counts.
 */
#ifndef TREESUM_WALK_H
#define TREESUM_WALK_H

#include <stdint.h>

#include "tree.h"

enum item_kind {
    ITEM_ENTER, /* `dir`: the following items are in it */
    ITEM_FILE,  /* `name` in the present directory, or an argument in none */
    ITEM_ERROR, /* the same, which has failed; NULL: the present directory itself */
    ITEM_DROP,  /* `listing`: used up */
    ITEM_LEAVE  /* `dir`: the following items are in its parent */
};

enum { DIGEST_SIZE = 32 };

struct item {
    uint8_t kind;
    int err; /* errno of an ERROR; of a FILE once it was read */
    union {
        struct dir *dir;
        const char *name;
        struct listing *listing;
    };
    union { /* of a FILE */
        struct {
            uint32_t offset, size; /* its content in a buffer, until it is hashed */
        };
        unsigned char digest[DIGEST_SIZE];
    };
};

/* The directory that the walk is in after an item. */
static inline const struct dir *item_dir(const struct item *item, const struct dir *dir) {
    if (item->kind == ITEM_ENTER) {
        return item->dir;
    }
    return item->kind == ITEM_LEAVE ? item->dir->parent : dir;
}

/* The functions of the walk's caller; all get `ctx`. */
struct walk_ops {
    void (*emit)(void *ctx, const struct item *item);
    /* Hands on the emitted items: the walk is about to wait for listings to be given back. */
    void (*flush)(void *ctx);
    /* Makes and lists a directory in `parent` (NULL: an argument); NULL: all is to stop. */
    struct dir *(*enter)(void *ctx, struct dir *parent, const char *name, bool linked);
    /* Lists a directory once more, from `after` on. */
    void (*relist)(void *ctx, struct dir *dir, const char *after);
    /* The walk leaves: nothing else may refer to the directory from now on. */
    void (*leave)(void *ctx, struct dir *dir);
};

/* Walks an argument of the command line: a directory, a file, or a link to one. */
void walk_path(struct tree *tree, const char *path, const struct walk_ops *ops, void *ctx);

#endif
