/*
 * names.c: directories, paths, and changes of names until they are synced.
 */
#include <errno.h>
#include <string.h>

#include "disk/disk.h"

#define LINKS_MAX 40u
#define PATH_BYTES 4096u

/* ---- paths ---- */

static disk_node *find_in(const disk_node *dir, const char *name) {
    for (const disk_entry *entry = dir->entries; entry; entry = entry->next) {
        if (!strcmp(entry->name, name)) {
            return entry->node;
        }
    }
    return NULL;
}

/* Takes the next name off the path: 1, 0 if there is none, or -ENAMETOOLONG. */
static int next_name(const char **path, char name[DISK_NAME]) {
    *path += strspn(*path, "/");
    const size_t length = strcspn(*path, "/");
    if (length >= DISK_NAME) {
        return -ENAMETOOLONG;
    }
    memcpy(name, *path, length);
    name[length] = '\0';
    *path += length;
    return length != 0;
}

/* Puts the text of a link before the rest of the path. */
static int follow_link(const disk_node *link, const char *rest, char path[PATH_BYTES]) {
    char text[PATH_BYTES];
    const size_t length = strlen(link->text);
    if (length + strlen(rest) >= PATH_BYTES) {
        return -ENAMETOOLONG;
    }
    memcpy(text, link->text, length);
    strcpy(text + length, rest);
    strcpy(path, text);
    return 0;
}

static int step(disk_place *at) {
    if (at->dir->kind != TH_OS_FILE_FOLDER) {
        return -ENOTDIR;
    }
    if (!strcmp(at->name, ".") || !strcmp(at->name, "..")) {
        at->dir = at->name[1] ? at->dir->parent : at->dir;
        at->node = at->dir;
        at->name[0] = '\0';
    } else {
        at->node = find_in(at->dir, at->name);
    }
    return 0;
}

int disk_find(disk *d, const char *path, bool follow, disk_place *out) {
    char text[PATH_BYTES];
    unsigned links = 0;
    if (!*path || strlen(path) >= PATH_BYTES) {
        return *path ? -ENAMETOOLONG : -ENOENT;
    }
    strcpy(text, path);
    const char *rest = text;
    *out = (disk_place){.dir = d->root, .node = d->root};
    for (;;) {
        disk_place at = {.dir = out->node};
        const int more = next_name(&rest, at.name);
        if (more <= 0) {
            return more;
        }
        if (!at.dir) {
            return -ENOENT;
        }
        const int code = step(&at);
        if (code) {
            return code;
        }
        at.folder = *rest == '/';
        if (at.node && at.node->kind == TH_OS_FILE_SYMBOLIC && (*rest || follow)) {
            const int longer = follow_link(at.node, rest, text);
            if (longer || ++links > LINKS_MAX) {
                return longer ? longer : -ELOOP;
            }
            rest = text;
            at.node = *text == '/' ? d->root : at.dir;
        }
        *out = at;
    }
}

/* ---- changes ---- */

void disk_entry_set(disk *d, disk_entry **list, const char *name, disk_node *node) {
    while (*list && strcmp((*list)->name, name) != 0) {
        list = &(*list)->next;
    }
    disk_entry *entry = *list;
    if (!node) {
        if (entry) {
            *list = entry->next;
            disk_give(DISK_AN_ENTRY, entry);
        }
        return;
    }
    if (!entry) {
        entry = disk_take(DISK_AN_ENTRY);
        *entry = (disk_entry){.serial = ++d->serials};
        strcpy(entry->name, name);
        *list = entry;
    }
    entry->node = node;
}

static void change(disk *d, disk_node *dir, const char *name, disk_node *node, uint64_t needs) {
    disk_change *c = disk_take(DISK_A_CHANGE);
    *c = (disk_change){.dir = dir, .node = node, .operation = d->operations, .needs = needs};
    strcpy(c->name, name);
    *d->changes_end = c;
    d->changes_end = &c->next;

    disk_node *old = find_in(dir, name);
    if (old) {
        old->links--;
        old->changed = sim_now();
    }
    if (node) {
        node->links++;
        node->changed = sim_now();
        strcpy(node->last_name, name);
        node->parent = dir;
    }
    disk_entry_set(d, &dir->entries, name, node);
    dir->modified = dir->changed = sim_now();
}

void disk_set_name(disk *d, disk_node *dir, const char *name, disk_node *node) {
    d->operations++;
    change(d, dir, name, node, 0);
}

/*
 * In one directory, and for directories, a rename happens as a whole. A file that goes to another
 * directory may have both names after a crash, but never none.
 */
void disk_move_name(disk *d, const disk_place *from, const disk_place *to) {
    const bool whole = from->dir == to->dir || from->node->kind == TH_OS_FILE_FOLDER;
    const uint64_t operation = ++d->operations;
    change(d, to->dir, to->name, from->node, 0);
    d->operations += !whole;
    change(d, from->dir, from->name, NULL, whole ? 0 : operation);
    from->node->parent = to->dir;
}

/* ---- syncing ---- */

static void choose_operation(const disk *d, uint64_t operation) {
    for (disk_change *c = d->changes; c; c = c->next) {
        c->chosen = c->chosen || c->operation == operation;
    }
}

/* Removes a change; the earlier ones of the same name no longer matter, nor do they happen. */
static void remove_change(disk *d, disk_change **at) {
    disk_change *c = *at;
    *at = c->next;
    if (!c->next) {
        d->changes_end = at;
    }
    disk_give(DISK_A_CHANGE, c);
}

static void remove_earlier(disk *d, const disk_change *last) {
    for (disk_change **at = &d->changes; *at != last;) {
        if ((*at)->dir == last->dir && !strcmp((*at)->name, last->name)) {
            remove_change(d, at);
        } else {
            at = &(*at)->next;
        }
    }
}

void disk_sync_folder(disk *d, const disk_node *dir) {
    for (disk_change *c = d->changes; c; c = c->next) {
        c->chosen = false;
    }
    for (const disk_change *c = d->changes; c; c = c->next) {
        if (c->dir == dir) {
            choose_operation(d, c->operation);
            if (c->needs) {
                choose_operation(d, c->needs);
            }
        }
    }
    for (disk_change *c = d->changes; c; c = c->next) {
        if (c->chosen) {
            remove_earlier(d, c);
            disk_entry_set(d, &c->dir->entries_synced, c->name, c->node);
        }
    }
    for (disk_change **at = &d->changes; *at;) {
        if ((*at)->chosen) {
            remove_change(d, at);
        } else {
            at = &(*at)->next;
        }
    }
}
