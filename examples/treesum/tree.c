/*
 * tree.c: see tree.h.
 */
#define _GNU_SOURCE 1
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

/*
 * When the path to a directory is so long, it becomes an anchor. It should at the second length,
 * while what is in it fits into PATH_MAX. It may at the first, which spares the kernel long walks,
 * as long as most anchors are free.
 */
enum { ANCHOR_EARLY = 512, ANCHOR_LATE = PATH_MAX - 2 * (NAME_MAX + 2) };

static size_t path_length(const struct dir *dir);
static int open_below(const struct dir *dir, const char *name, int flags);
static int open_long(int base, char *path, size_t length, int flags);
static bool is_loop(struct dir *dir, int fd);
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
    for (struct dir *dir = tree->dirs; dir != NULL; dir = dir->next_dir) {
        if (dir->listing != NULL && dir->listing->link != NULL) {
            dir->listing = NULL; /* it is among those taken */
        }
    }
    while (tree->taken != NULL) {
        tree_give_back(tree, tree->taken);
    }
    while (tree->dirs != NULL) {
        dir_free(tree->dirs);
    }
}

static void lock(struct tree *tree) {
    if (thrum_mutex_lock(&tree->mutex) != 0) {
        abort(); /* held already: a bug */
    }
}

struct dir *dir_new(struct tree *tree, struct dir *parent, const char *name, bool linked) {
    size_t name_size = strlen(name);
    struct dir *dir = memory_new(sizeof *dir + name_size + 1);
    *dir = (struct dir){.tree = tree, .parent = parent, .anchor = -1, .name_size = name_size};
    dir->linked = linked || (parent != NULL && parent->linked);
    thrum_event_init(&dir->listed, THRUM_EVENT_MANUAL, false);
    memcpy(dir->name, name, name_size + 1);
    lock(tree);
    dir->dir_link = &tree->dirs;
    dir->next_dir = tree->dirs;
    if (dir->next_dir != NULL) {
        dir->next_dir->dir_link = &dir->next_dir;
    }
    tree->dirs = dir;
    thrum_mutex_unlock(&tree->mutex);
    return dir;
}

void dir_free(struct dir *dir) {
    if (dir->anchor >= 0) {
        close(dir->anchor);
        atomic_fetch_add(&dir->tree->xanchors_free, 1);
    }
    lock(dir->tree);
    *dir->dir_link = dir->next_dir;
    if (dir->next_dir != NULL) {
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
    /* An argument that is a link is followed, as with find -H. */
    bool follow = dir->tree->follow || dir->parent == NULL;
    int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
    int fd = dir->parent == NULL ? open_below(NULL, dir->name, flags)
                                 : open_below(dir->parent, dir->name, flags);
    if (fd < 0) {
        dir->err = -fd;
        return;
    }
    if (after == NULL) { /* the first time: nobody else knows of this directory yet */
        if (dir->tree->follow && is_loop(dir, fd)) {
            dir->err = ELOOP;
            close(fd);
            return;
        }
        drop_anchor(dir, fd);
    }
    struct listing_options options = {
        .after = after, .bytes_max = bytes_max, .follow = dir->tree->follow};
    dir->listing = listing_read(fd, &options);
}

int dir_open_file(const struct tree *tree, const struct dir *dir, const char *name) {
    bool follow = tree->follow || dir == NULL;
    return open_below(dir, name,
                      O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
}

/* ---- paths ---- */

/* The length of the path from the anchor to what is in `dir`, up to its last slash. */
static size_t path_length(const struct dir *dir) {
    size_t length = 0;
    for (; dir != NULL && dir->anchor < 0; dir = dir->parent) {
        length += dir->name_size + 1;
    }
    return length;
}

/* Writes that path so that it ends before `end`; returns the anchor's fd. */
static int write_path(const struct dir *dir, char *end) {
    for (; dir != NULL && dir->anchor < 0; dir = dir->parent) {
        *--end = '/';
        end -= dir->name_size;
        memcpy(end, dir->name, dir->name_size);
    }
    return dir == NULL ? AT_FDCWD : dir->anchor;
}

static int open_below(const struct dir *dir, const char *name, int flags) {
    size_t length = path_length(dir), name_size = strlen(name);
    char small[512];
    char *path = small;
    if (length + name_size >= sizeof small) {
        path = memory_new(length + name_size + 1);
    }
    int base = write_path(dir, path + length);
    memcpy(path + length, name, name_size + 1);
    int fd = open_long(base, path, length + name_size, flags);
    if (path != small) {
        free(path);
    }
    return fd;
}

/* As openat(2), for a path of any length (which it changes); a negative errno on failure. */
static int open_long(int base, char *path, size_t length, int flags) {
    int at = base, err = 0;
    while (length >= PATH_MAX) {
        char *slash = memrchr(path, '/', PATH_MAX - 1);
        if (slash == NULL || slash == path) {
            err = ENAMETOOLONG;
            break;
        }
        *slash = '\0';
        int next = openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        err = errno;
        if (at != base) {
            close(at);
        }
        at = next;
        if (next < 0) {
            return -err;
        }
        err = 0;
        char *rest = slash + 1;
        while (*rest == '/') { /* a path that begins with one would be absolute */
            rest++;
        }
        length -= (size_t)(rest - path);
        path = rest;
    }
    int fd = -1;
    if (err == 0) {
        fd = openat(at, length == 0 ? "." : path, flags);
        err = errno;
    }
    if (at != base) {
        close(at);
    }
    return fd >= 0 ? fd : -err;
}

/* Makes the directory an anchor if the path to it is long and one more may be open. */
static void drop_anchor(struct dir *dir, int fd) {
    int free_anchors = atomic_load(&dir->tree->xanchors_free);
    size_t length = 2 * free_anchors > dir->tree->anchors_max ? ANCHOR_EARLY : ANCHOR_LATE;
    if (dir->anchor >= 0 || path_length(dir) < length) {
        return;
    }
    if (atomic_fetch_sub(&dir->tree->xanchors_free, 1) > 0) {
        dir->anchor = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    }
    if (dir->anchor < 0) {
        atomic_fetch_add(&dir->tree->xanchors_free, 1);
    }
}

/*
 * Whether the directory is one that the walk is in already. That takes a link somewhere above, so
 * only what was reached through one is compared with all that is above it.
 */
static bool is_loop(struct dir *dir, int fd) {
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return false;
    }
    dir->device = status.st_dev;
    dir->inode = status.st_ino;
    for (const struct dir *above = dir->linked ? dir->parent : NULL; above != NULL;
         above = above->parent) {
        if (above->device == dir->device && above->inode == dir->inode) {
            return true;
        }
    }
    return false;
}

/* ---- the memory that listings take ---- */

void tree_take(struct tree *tree, struct listing *listing) {
    lock(tree);
    tree->listed_bytes += listing->bytes;
    listing->link = &tree->taken;
    listing->next = tree->taken;
    if (listing->next != NULL) {
        listing->next->link = &listing->next;
    }
    tree->taken = listing;
    thrum_mutex_unlock(&tree->mutex);
}

void tree_give_back(struct tree *tree, struct listing *listing) {
    lock(tree);
    tree->listed_bytes -= listing->bytes;
    *listing->link = listing->next;
    if (listing->next != NULL) {
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
