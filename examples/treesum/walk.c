/*
 * walk.c: see walk.h.
 *
 * The walk is a loop, not a recursion: its stack is the chain of parents, so the depth of a tree
 * costs only a `struct dir` a level. When everything is to stop, it just ends: the tree frees the
 * directories that it was in.
 */
#include "walk.h"

#include <errno.h>
#include <stdlib.h>

#include "memory.h"

struct walk {
    struct tree *tree;
    const struct walk_ops *ops;
    void *ctx;
};

static void walk_tree(struct walk *walk, struct dir *root);
static struct dir *step(struct walk *walk, struct dir *dir);
static struct dir *enter(struct walk *walk, struct dir *dir, const struct entry *entry);
static struct dir *leave(struct walk *walk, struct dir *dir);
static bool has_next(struct walk *walk, struct dir *dir);
static void relist(struct walk *walk, struct dir *dir);
static void make_room(struct walk *walk, struct dir *dir, const char *name);
static void begin(struct walk *walk, struct dir *dir);
static void emit_name(struct walk *walk, enum item_kind kind, const char *name, int err);
static void emit_dir(struct walk *walk, enum item_kind kind, struct dir *dir);
static void drop(struct walk *walk, struct dir *dir);

void walk_path(struct tree *tree, const char *path, const struct walk_ops *ops, void *ctx) {
    struct walk walk = {.tree = tree, .ops = ops, .ctx = ctx};
    struct dir *root = ops->enter(ctx, NULL, path, false);
    if (!root) {
        return;
    }
    if (!root->listing && root->err == ENOTDIR) {
        dir_free(root);
        emit_name(&walk, ITEM_FILE, path, 0);
    } else {
        walk_tree(&walk, root);
    }
}

static void walk_tree(struct walk *walk, struct dir *root) {
    struct dir *dir = root;
    begin(walk, root);
    while (dir && !tree_stopped(walk->tree)) {
        dir = has_next(walk, dir) ? step(walk, dir) : leave(walk, dir);
    }
}

/* Goes past one entry; returns the directory that the walk is in afterwards. */
static struct dir *step(struct walk *walk, struct dir *dir) {
    const struct entry *entry = &dir->listing->entries[dir->next++];
    const char *name = dir->listing->names + entry->name;
    if (entry->kind == ENTRY_DIR) {
        return enter(walk, dir, entry);
    }
    if (entry->kind == ENTRY_FILE) {
        emit_name(walk, ITEM_FILE, name, 0);
    } else {
        emit_name(walk, ITEM_ERROR, name, entry->err);
    }
    return dir;
}

static struct dir *enter(struct walk *walk, struct dir *dir, const struct entry *entry) {
    bool linked = entry->linked;
    const char *name = dir->listing->names + entry->name;
    make_room(walk, dir, name);
    if (dir->after) {
        name = dir->after; /* the listing was given up */
    }
    struct dir *child = walk->ops->enter(walk->ctx, dir, name, linked);
    if (!child) {
        return NULL;
    }
    const struct listing *listing = dir->listing;
    if (listing && dir->next == listing->count && !listing->more && listing->err == 0) {
        drop(walk, dir); /* so that a long chain of directories holds no listings */
    }
    begin(walk, child);
    return child;
}

/*
 * Enters the directory: the following items are in it. A directory that could not be listed is
 * empty.
 */
static void begin(struct walk *walk, struct dir *dir) {
    emit_dir(walk, ITEM_ENTER, dir);
    if (dir->listing) {
        tree_take(walk->tree, dir->listing);
    } else {
        emit_name(walk, ITEM_ERROR, NULL, dir->err);
    }
}

static struct dir *leave(struct walk *walk, struct dir *dir) {
    struct dir *parent = dir->parent;
    walk->ops->leave(walk->ctx, dir);
    if (dir->listing) {
        drop(walk, dir);
    }
    emit_dir(walk, ITEM_LEAVE, dir);
    return parent;
}

/* Whether `dir->listing` has a next entry, reading on as needed. */
static bool has_next(struct walk *walk, struct dir *dir) {
    while (!tree_stopped(walk->tree)) {
        struct listing *listing = dir->listing;
        if (listing && dir->next < listing->count) {
            return true;
        }
        if (listing && listing->err != 0) {
            emit_name(walk, ITEM_ERROR, NULL, listing->err);
            listing->err = 0;
        }
        if (listing ? !listing->more : !dir->after) {
            return false;
        }
        relist(walk, dir);
    }
    return false;
}

/* Reads the next window of a directory whose last one was used up, or given up. */
static void relist(struct walk *walk, struct dir *dir) {
    if (dir->listing) {
        dir->after = memory_copy(listing_name(dir->listing, dir->listing->count - 1));
        drop(walk, dir);
    }
    char *after = dir->after;
    make_room(walk, dir->parent, dir->name);
    dir->after = NULL;
    walk->ops->relist(walk->ctx, dir, after);
    free(after);
    if (dir->listing) {
        tree_take(walk->tree, dir->listing);
    } else {
        emit_name(walk, ITEM_ERROR, NULL, dir->err);
    }
}

/*
 * Called before a listing is added. When the others take too much, it gives up the listings of the
 * directories that the walk is in, from `dir` upwards (it will go on in them behind `name`, and so
 * on), and waits until these are consumed and freed.
 */
static void make_room(struct walk *walk, struct dir *dir, const char *name) {
    size_t bytes_max = 2 * walk->tree->window;
    if (tree_taken(walk->tree) <= bytes_max) {
        return;
    }
    for (; dir; dir = dir->parent) {
        const struct listing *listing = dir->listing;
        if (listing) {
            dir->after = memory_copy(name);
            drop(walk, dir);
        }
        name = dir->name;
    }
    walk->ops->flush(walk->ctx);
    (void)tree_wait_taken(walk->tree, bytes_max); /* cancelled: the walk sees that all stops */
}

static void emit_name(struct walk *walk, enum item_kind kind, const char *name, int err) {
    walk->ops->emit(walk->ctx, &(struct item){.kind = (uint8_t)kind, .err = err, .name = name});
}

static void emit_dir(struct walk *walk, enum item_kind kind, struct dir *dir) {
    walk->ops->emit(walk->ctx, &(struct item){.kind = (uint8_t)kind, .dir = dir});
}

static void drop(struct walk *walk, struct dir *dir) {
    struct listing *listing = dir->listing;
    dir->listing = NULL;
    walk->ops->emit(walk->ctx, &(struct item){.kind = ITEM_DROP, .listing = listing});
}
