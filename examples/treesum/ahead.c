/*
 * ahead.c: see ahead.h.
 *
 * A directory belongs to the task that lists it until that signals `listed`, its last access; from
 * then on it belongs to the walk. So nothing here is locked but the number of tickets.
 */
#include "ahead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "offload.h"

static int list_prepared(void *arg);
static int list_wanted(void *arg);
static void prepare_children(struct dir *dir);
static struct dir *start(struct ahead *ahead, struct dir *parent, const char *name, bool linked,
                         thrum_fn list);
static struct dir *take_first(struct dir *parent);
static int discard(struct ahead *ahead, struct dir *dir);
static bool take_ticket(struct ahead *ahead, unsigned held);
static void give_back_ticket(struct ahead *ahead);

void ahead_init(struct ahead *ahead, struct tree *tree, thrum_scope *scope) {
    *ahead = (struct ahead){
        .tree = tree, .scope = scope, .mutex = THRUM_MUTEX_INIT, .tickets = AHEAD_TICKETS};
}

struct dir *ahead_enter(struct ahead *ahead, struct dir *parent, const char *name, bool linked) {
    while (parent && parent->ahead_first) {
        int order = strcmp(parent->ahead_first->name, name);
        if (order > 0) {
            break;
        }
        struct dir *child = take_first(parent);
        if (order == 0) {
            give_back_ticket(ahead);
            return child;
        }
        /* It had a name when the parent was listed for the first time. */
        if (discard(ahead, child) != 0) {
            return NULL;
        }
        give_back_ticket(ahead);
    }
    return start(ahead, parent, name, linked, list_wanted);
}

int ahead_wait(struct ahead *ahead, struct dir *dir) {
    int err = thrum_event_wait(&dir->listed);
    if (err != 0) {
        return err;
    }
    if (dir->parent && !tree_stopped(ahead->tree)) {
        prepare_children(dir->parent); /* a ticket has come back */
    }
    return 0;
}

void ahead_leave(struct ahead *ahead, struct dir *dir) {
    while (dir->ahead_first && discard(ahead, take_first(dir)) == 0) {
        give_back_ticket(ahead);
    }
}

/* ---- the task of a directory ---- */

struct listing_call {
    struct dir *dir;
    const char *after;
    size_t bytes_max;
};

static int call_list(void *arg) {
    const struct listing_call *call = arg;
    dir_list(call->dir, call->after, call->bytes_max);
    return 0;
}

static int list(struct dir *dir, size_t bytes_max) {
    struct listing_call call = {.dir = dir, .bytes_max = bytes_max};
    if (offload(call_list, &call, NULL) == 0) {
        prepare_children(dir);
    } else {
        dir->err = ECANCELED;
    }
    thrum_event_signal(&dir->listed);
    return 0;
}

static int list_prepared(void *arg) {
    struct dir *dir = arg;
    return list(dir, dir->tree->window < AHEAD_BYTES ? dir->tree->window : AHEAD_BYTES);
}

static int list_wanted(void *arg) {
    struct dir *dir = arg;
    return list(dir, dir->tree->window);
}

void ahead_relist(struct dir *dir, const char *after) {
    struct listing_call call = {.dir = dir, .after = after, .bytes_max = dir->tree->window};
    if (offload(call_list, &call, NULL) != 0) {
        dir->listing = NULL;
        dir->err = ECANCELED;
    }
}

/* Makes a directory and starts its task; without one, which ends the scope, it is listed here. */
static struct dir *start(struct ahead *ahead, struct dir *parent, const char *name, bool linked,
                         thrum_fn list_dir) {
    struct dir *dir = dir_new(ahead->tree, parent, name, linked);
    dir->ahead = ahead;
    if (thrum_scope_go(ahead->scope, list_dir, dir) != 0) {
        list_dir(dir);
    }
    return dir;
}

/* Starts tasks for the next directories in this one, as far as tickets go. */
static void prepare_children(struct dir *dir) {
    const struct listing *listing = dir->listing;
    if (!listing) {
        return;
    }
    uint32_t place = dir->ahead_place > dir->next ? dir->ahead_place : dir->next;
    for (; place < listing->count; place++) {
        const struct entry *entry = &listing->entries[place];
        const char *name = listing->names + entry->name;
        if (entry->kind != ENTRY_DIR) {
            continue;
        }
        if (dir->ahead_last && strcmp(name, dir->ahead_last->name) <= 0) {
            continue; /* listed again: this one is on the way */
        }
        if (!take_ticket(dir->ahead, dir->ahead_count)) {
            break;
        }
        struct dir *child = start(dir->ahead, dir, name, entry->linked, list_prepared);
        if (dir->ahead_last) {
            dir->ahead_last->ahead_next = child;
        } else {
            dir->ahead_first = child;
        }
        dir->ahead_last = child;
        dir->ahead_count++;
    }
    dir->ahead_place = place;
}

static struct dir *take_first(struct dir *parent) {
    struct dir *child = parent->ahead_first;
    parent->ahead_first = child->ahead_next;
    if (!parent->ahead_first) {
        parent->ahead_last = NULL;
    }
    parent->ahead_count--;
    return child;
}

/* Frees a directory that the walk will not enter, with everything prepared in it. */
static int discard(struct ahead *ahead, struct dir *dir) {
    int err = thrum_event_wait(&dir->listed);
    if (err != 0) {
        return err; /* it may be on the way still: the tree frees it */
    }
    ahead_leave(ahead, dir);
    if (tree_stopped(ahead->tree)) {
        return -ECANCELED;
    }
    dir_free(dir);
    return 0;
}

/* ---- tickets ---- */

static void lock(struct ahead *ahead) {
    thrum_mutex_lock(&ahead->mutex);
}

static bool take_ticket(struct ahead *ahead, unsigned held) {
    lock(ahead);
    bool granted = held * 4 < ahead->tickets;
    ahead->tickets -= granted;
    thrum_mutex_unlock(&ahead->mutex);
    return granted;
}

static void give_back_ticket(struct ahead *ahead) {
    lock(ahead);
    ahead->tickets++;
    thrum_mutex_unlock(&ahead->mutex);
}
