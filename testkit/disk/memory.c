/*
 * memory.c: the memory of file systems. Pages come from its end, all else from its beginning.
 */
#include <string.h>

#include "disk/disk.h"

typedef struct spare {
    struct spare *next;
} spare;

typedef struct disks {
    uint64_t run; /* that it is for */
    size_t used;
    size_t pages; /* where those begin that were ever taken */
    spare *spares[DISK_AN_OPEN + 1];
    disk of[SIM_HOSTS];
} disks;

static const size_t sizes[] = {
    [DISK_A_PAGE] = DISK_PAGE,
    [DISK_AN_ENTRY] = sizeof(disk_entry),
    [DISK_A_CHANGE] = sizeof(disk_change),
    [DISK_A_NODE] = sizeof(disk_node),
    [DISK_AN_OPEN] = sizeof(sim_opened),
};

static disks *all(void) {
    disks *d = (disks *)(void *)E->disk;
    if (unlikely(d->run != E->started)) {
        memset(d, 0, sizeof *d);
        d->run = E->started;
        d->used = (sizeof *d + 15) & ~(size_t)15;
        d->pages = DISK_BYTES;
    }
    return d;
}

static void check_room(size_t size) {
    if (size > all()->pages - all()->used) {
        fail("limit", "more than %zu bytes of files, with all that is not synced", DISK_BYTES);
    }
}

void *disk_memory(size_t size) {
    size = (size + 15) & ~(size_t)15;
    check_room(size);
    void *memory = E->disk + all()->used;
    all()->used += size;
    return memory;
}

void *disk_take(disk_part part) {
    spare *memory = all()->spares[part];
    if (memory) {
        all()->spares[part] = memory->next;
        return memory;
    }
    if (part != DISK_A_PAGE) {
        return disk_memory(sizes[part]);
    }
    check_room(DISK_PAGE);
    all()->pages -= DISK_PAGE;
    return E->disk + all()->pages;
}

void disk_give(disk_part part, void *memory) {
    if (memory) {
        spare *s = memory;
        s->next = all()->spares[part];
        all()->spares[part] = s;
    }
}

/* ---- file systems ---- */

disk *disk_of(unsigned host) {
    disk *d = &all()->of[host];
    if (!d->root) {
        d->changes_end = &d->changes;
        d->root = disk_node_new(d, TH_OS_FILE_FOLDER, 0755);
        d->root->parent = d->root;
        disk_set_name(d, d->root, "tmp", disk_node_new(d, TH_OS_FILE_FOLDER, 01777));
        disk_sync_folder(d, d->root);
    }
    return d;
}

disk_node *disk_node_new(disk *d, th_os_file_kind kind, uint32_t mode) {
    disk_node *node = disk_take(DISK_A_NODE);
    const int64_t now = sim_now();
    *node = (disk_node){.next = d->nodes,
                        .number = ++d->numbers,
                        .kind = kind,
                        .mode = mode,
                        .now = {0, DISK_UNCUT},
                        .synced = {0, DISK_UNCUT},
                        .modified = now,
                        .accessed = now,
                        .changed = now};
    d->nodes = node;
    return node;
}

/* ---- nodes that nothing refers to ---- */

static bool mark(disk_node *node) {
    const bool was = !node || node->marked;
    if (!was) {
        node->marked = true;
    }
    return !was;
}

static bool mark_entries(const disk_entry *entry) {
    bool some = false;
    for (; entry; entry = entry->next) {
        some |= mark(entry->node);
    }
    return some;
}

static void free_entries(disk_entry *entry) {
    while (entry) {
        disk_entry *next = entry->next;
        disk_give(DISK_AN_ENTRY, entry);
        entry = next;
    }
}

static void free_node(disk *d, disk_node *node) {
    for (uint32_t i = 0; i < node->pages_room; i++) {
        disk_page_set(d, &node->pages[i], NULL);
    }
    free_entries(node->entries);
    free_entries(node->entries_synced);
    disk_give(DISK_A_NODE, node);
}

void disk_collect(disk *d) {
    for (disk_node *node = d->nodes; node; node = node->next) {
        node->marked = node->opens != 0 || node == d->root;
    }
    for (const disk_change *change = d->changes; change; change = change->next) {
        (void)mark(change->dir);
        (void)mark(change->node);
    }
    for (bool some = true; some;) {
        some = false;
        for (const disk_node *node = d->nodes; node; node = node->next) {
            if (node->marked) {
                some |= mark_entries(node->entries);
                some |= mark_entries(node->entries_synced);
            }
        }
    }
    for (disk_node **at = &d->nodes; *at;) {
        disk_node *node = *at;
        if (node->marked) {
            at = &node->next;
        } else {
            *at = node->next;
            free_node(d, node);
        }
    }
}
