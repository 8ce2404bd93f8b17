/*
 * tree.c: see tree.h.
 */
#include "tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "beneath.h"
#include "disk.h"
#include "memory.h"
#include "system.h"

/*
 * The lengths of the path to a directory at which it becomes an anchor. From the second one on it
 * should, while its entries fit into the longest path that is opened at once (4096 bytes, with
 * names of 255). From the first one on it may, which spares the kernel long walks, as long as most
 * anchors are free.
 */
enum { ANCHOR_EARLY = 512, ANCHOR_LATE = 4096 - 2 * (255 + 2) };

static size_t path_length(const struct dir *dir);
static int open_below(const struct dir *dir, const char *name, enum beneath_how how);
static int open_argument(const char *name, enum beneath_how how);
static int open_root(const struct dir *root, enum beneath_how how);
static int know(struct dir *dir, int fd);
static void drop_anchor(struct dir *dir, int fd);

void tree_init(struct tree *tree, bool follow, size_t window, int anchors_max) {
    *tree = (struct tree){
        .follow = follow,
        .window = window,
        .anchors_max = anchors_max,
        .mutex = THRUM_MUTEX_INIT,
        .freed = THRUM_COND_INIT,
    };
    atomic_init(&tree->xanchors_free, anchors_max);
    atomic_init(&tree->xstop, false);
}

void tree_end(struct tree *tree) {
    for (struct dir *dir = tree->dirs; dir; dir = dir->next_dir) {
        if (dir->listing && dir->listing->link) {
            dir->listing = NULL; /* it is among those taken */
        }
    }
    while (tree->taken) {
        tree_give_back(tree, tree->taken);
    }
    while (tree->dirs) {
        dir_free(tree->dirs);
    }
}

static void lock(struct tree *tree) {
    thrum_mutex_lock(&tree->mutex);
}

struct dir *dir_new(struct tree *tree, struct dir *parent, const char *name, bool linked) {
    size_t name_size = strlen(name);
    struct dir *dir = memory_new(sizeof *dir + name_size + 1);
    *dir = (struct dir){.tree = tree, .parent = parent, .anchor = -1, .name_size = name_size};
    dir->linked = linked || (parent && parent->linked);
    thrum_event_init(&dir->listed, THRUM_EVENT_MANUAL, false);
    memcpy(dir->name, name, name_size + 1);
    lock(tree);
    dir->dir_link = &tree->dirs;
    dir->next_dir = tree->dirs;
    if (dir->next_dir) {
        dir->next_dir->dir_link = &dir->next_dir;
    }
    tree->dirs = dir;
    thrum_mutex_unlock(&tree->mutex);
    return dir;
}

void dir_free(struct dir *dir) {
    if (dir->anchor >= 0) {
        disk_close(dir->anchor);
        atomic_fetch_add(&dir->tree->xanchors_free, 1);
    }
    lock(dir->tree);
    *dir->dir_link = dir->next_dir;
    if (dir->next_dir) {
        dir->next_dir->dir_link = dir->dir_link;
    }
    thrum_mutex_unlock(&dir->tree->mutex);
    listing_free(dir->listing);
    free(dir->after);
    free(dir);
}

void dir_list(struct dir *dir, const char *after, size_t bytes_max) {
    dir->listing = NULL;
    dir->next = dir->ahead_place = 0;
    int fd = dir->parent ? open_below(dir->parent, dir->name, BENEATH_NAMES)
             : !after    ? open_argument(dir->name, BENEATH_NAMES)
                         : open_root(dir, BENEATH_NAMES);
    if (fd < 0) {
        dir->err = -fd;
        return;
    }
    if (!after) { /* the first time: no other thread knows of this directory yet */
        dir->err = know(dir, fd);
        if (dir->err != 0) {
            disk_close(fd);
            return;
        }
        drop_anchor(dir, fd);
    }
    struct listing_options options = {
        .after = after, .bytes_max = bytes_max, .follow = dir->tree->follow};
    dir->listing = listing_read(fd, &options);
}

int dir_open_file(const struct dir *dir, const char *name) {
    return !dir ? open_argument(name, BENEATH_FILE) : open_below(dir, name, BENEATH_FILE);
}

/* ---- paths ---- */

/* Whether paths begin there: at an anchor, or at the root. */
static bool is_top(const struct dir *dir) {
    return dir->anchor >= 0 || !dir->parent;
}

/* The length of the path from there to an entry of `dir`, up to its last slash. */
static size_t path_length(const struct dir *dir) {
    size_t length = 0;
    for (; !is_top(dir); dir = dir->parent) {
        length += dir->name_size + 1;
    }
    return length;
}

/* Writes that path so that it ends before `end`; returns where it begins. */
static const struct dir *write_path(const struct dir *dir, char *end) {
    for (; !is_top(dir); dir = dir->parent) {
        *--end = '/';
        end -= dir->name_size;
        memcpy(end, dir->name, dir->name_size);
    }
    return dir;
}

/* Opens an entry of a directory. Links in the path are followed only with -L. */
static int open_below(const struct dir *dir, const char *name, enum beneath_how how) {
    size_t length = path_length(dir), name_size = strlen(name);
    char small[512];
    char *path = small;
    if (length + name_size >= sizeof small) {
        path = memory_new(length + name_size + 1);
    }
    const struct dir *top = write_path(dir, path + length);
    memcpy(path + length, name, name_size + 1);
    int base = top->anchor >= 0 ? top->anchor : open_root(top, BENEATH_PLACE);
    int fd = base < 0 ? base : beneath_open(base, path, length + name_size, how, dir->tree->follow);
    if (base >= 0 && base != top->anchor) {
        disk_close(base);
    }
    if (path != small) {
        free(path);
    }
    return fd;
}

/* Opens an argument of the command line: it may be, or lead through, a link, as with find -H. */
static int open_argument(const char *name, enum beneath_how how) {
    char *path = memory_copy(name);
    int fd = beneath_open_argument(path, strlen(name), how);
    free(path);
    return fd;
}

/* Opens once more an argument that was listed before: the same directory, or -ESTALE. */
static int open_root(const struct dir *root, enum beneath_how how) {
    if (root->anchor >= 0) {
        char itself[] = "";
        return beneath_open(root->anchor, itself, 0, how, true);
    }
    struct disk_info info;
    int fd = open_argument(root->name, how);
    if (fd >= 0 && !root->tree->follow &&
        (disk_look(fd, &info) != 0 || info.device != root->device || info.inode != root->inode)) {
        disk_close(fd);
        return -ESTALE;
    }
    return fd;
}

/* Makes the directory an anchor if that helps (it is a root, or its path is long) and one more may
 * be. */
static void drop_anchor(struct dir *dir, int fd) {
    int free_anchors = atomic_load(&dir->tree->xanchors_free);
    size_t length = 2 * free_anchors > dir->tree->anchors_max ? ANCHOR_EARLY : ANCHOR_LATE;
    if (dir->anchor >= 0 || (dir->parent && path_length(dir) < length)) {
        return;
    }
    if (atomic_fetch_sub(&dir->tree->xanchors_free, 1) > 0) {
        dir->anchor = disk_keep(fd);
    }
    if (dir->anchor < 0) {
        atomic_fetch_add(&dir->tree->xanchors_free, 1);
    }
}

/*
 * Notes the directory's identity, if that is needed later. ELOOP: the walk is in it already. That
 * takes a link somewhere above, so only directories reached through one are compared with all above
 * them.
 */
static int know(struct dir *dir, int fd) {
    struct disk_info info;
    if (!dir->tree->follow && dir->parent) {
        return 0;
    }
    int err = disk_look(fd, &info);
    if (err != 0) {
        return err;
    }
    dir->device = info.device;
    dir->inode = info.inode;
    for (const struct dir *above = dir->linked ? dir->parent : NULL; above; above = above->parent) {
        if (above->device == dir->device && above->inode == dir->inode) {
            return ELOOP;
        }
    }
    return 0;
}

/* ---- the memory that listings take ---- */

void tree_take(struct tree *tree, struct listing *listing) {
    lock(tree);
    tree->listed_bytes += listing->bytes;
    listing->link = &tree->taken;
    listing->next = tree->taken;
    if (listing->next) {
        listing->next->link = &listing->next;
    }
    tree->taken = listing;
    thrum_mutex_unlock(&tree->mutex);
}

void tree_give_back(struct tree *tree, struct listing *listing) {
    lock(tree);
    tree->listed_bytes -= listing->bytes;
    *listing->link = listing->next;
    if (listing->next) {
        listing->next->link = listing->link;
    }
    thrum_cond_signal(&tree->freed);
    thrum_mutex_unlock(&tree->mutex);
    listing_free(listing);
}

size_t tree_taken(struct tree *tree) {
    lock(tree);
    size_t bytes = tree->listed_bytes;
    thrum_mutex_unlock(&tree->mutex);
    return bytes;
}

int tree_wait_taken(struct tree *tree, size_t bytes_max) {
    int err = 0;
    lock(tree);
    while (tree->listed_bytes > bytes_max && err == 0) {
        err = thrum_cond_wait(&tree->freed, &tree->mutex);
    }
    thrum_mutex_unlock(&tree->mutex);
    return err;
}
