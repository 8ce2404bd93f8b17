/*
 * crash.c: crashes. Each page, size and name that was not synced becomes one of the states
 * that the system may have written until then (disk.h). The quiet choice is always the newest one,
 * so a minimised schedule loses only what the failure needs.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "disk/disk.h"

#define BORDERS_MAX 200u /* sizes between two, of which a crash chooses one */

void disk_tell(const char *format, ...) {
    if (E->tracing) {
        char text[DISK_NAME + 128];
        va_list args;
        va_start(args, format);
        const int length = vsnprintf(text, sizeof text, format, args);
        va_end(args);
        char *line = disk_memory((size_t)length + 1);
        memcpy(line, text, (size_t)length + 1);
        kit_step(line, NULL, E->current->after);
    }
}

/* Chooses among n: 0, the newest state, half of the time. */
static unsigned choose(unsigned n) {
    return sim_choose(SIM_WORLD, 2) ? 1 + sim_choose(SIM_WORLD, n - 1) : 0;
}

/* ---- names ---- */

static bool has_happened(const disk *d, uint64_t operation) {
    for (const disk_change *c = d->changes; c; c = c->next) {
        if (c->operation == operation) {
            return c->chosen;
        }
    }
    return true; /* it is synced, or no longer matters */
}

static void tell_lost(const disk_change *c) {
    if (c->node) {
        disk_tell("  lost: the name %s", c->name);
    } else {
        disk_tell("  lost: the removal of %s", c->name);
    }
}

static void crash_names(disk *d) {
    uint64_t last = 0;
    bool happened = false;
    for (disk_change *c = d->changes; c; c = c->next) {
        if (c->operation != last) {
            const bool may = !c->needs || has_happened(d, c->needs);
            happened = may && !sim_choose(SIM_WORLD, 2);
            last = c->operation;
        }
        c->chosen = happened;
        if (!happened) {
            tell_lost(c);
        }
    }
    while (d->changes) {
        disk_change *c = d->changes;
        if (c->chosen) {
            disk_entry_set(d, &c->dir->entries_synced, c->name, c->node);
        }
        d->changes = c->next;
        disk_give(DISK_A_CHANGE, c);
    }
    d->changes_end = &d->changes;
}

/* Each directory has the names that are synced; nodes without a name are gone. */
static void take_synced_names(disk *d) {
    for (disk_node *node = d->nodes; node; node = node->next) {
        while (node->entries) {
            disk_entry_set(d, &node->entries, node->entries->name, NULL);
        }
        node->links = 0;
        node->opens = 0;
        node->shared = 0;
        node->exclusive = false;
    }
    disk_collect(d);
    for (disk_node *node = d->nodes; node; node = node->next) {
        for (const disk_entry *entry = node->entries_synced; entry; entry = entry->next) {
            disk_entry_set(d, &node->entries, entry->name, entry->node);
            entry->node->links++;
            entry->node->parent = node;
            strcpy(entry->node->last_name, entry->name);
        }
    }
}

/* ---- sizes ---- */

static disk_size any_border(const disk_node *node, uint64_t low, uint64_t pages) {
    const unsigned n = pages < BORDERS_MAX ? (unsigned)pages : BORDERS_MAX;
    const uint64_t page = low / DISK_PAGE + 1 + sim_choose(SIM_WORLD, n);
    return (disk_size){page * DISK_PAGE, node->now.cut};
}

static disk_size size_after(const disk_node *node) {
    const unsigned count = node->count;
    const disk_size before = count ? node->between[count - 1] : node->synced;
    if (!count && node->now.bytes == before.bytes && node->now.cut == DISK_UNCUT) {
        return node->now;
    }
    const uint64_t borders = node->now.bytes > before.bytes
                                 ? (node->now.bytes - 1) / DISK_PAGE - before.bytes / DISK_PAGE
                                 : 0;
    const unsigned choice = choose(count + 2 + (borders != 0));
    return choice == 0           ? node->now
           : choice <= count     ? node->between[count - choice]
           : choice == count + 1 ? node->synced
                                 : any_border(node, before.bytes, borders);
}

/* ---- pages ---- */

/* A page of which a part was written, from its beginning or up to its end. */
static uint8_t *mix(const disk_page *page) {
    static const uint8_t borders[] = {4, 1, 2, 3, 5, 6, 7};
    const unsigned all = 2 * sizeof borders; /* a search tries those in the middle */
    const unsigned choice = sim_choose(SIM_WORLD, E->strategy == S_EXHAUSTIVE ? 2 : all);
    const size_t border = borders[choice / 2] * DISK_SECTOR;
    const uint8_t *parts[] = {choice % 2 ? page->synced : page->now,
                              choice % 2 ? page->now : page->synced};
    uint8_t *contents = disk_take(DISK_A_PAGE);
    memset(contents, 0, DISK_PAGE);
    if (parts[0]) {
        memcpy(contents, parts[0], border);
    }
    if (parts[1]) {
        memcpy(contents + border, parts[1] + border, DISK_PAGE - border);
    }
    return contents;
}

static uint8_t *page_after(const disk_page *page, const char *name, uint32_t number) {
    const unsigned choice = choose(3 + page->count);
    switch (choice) {
    case 0:
        return page->now;
    case 1:
        disk_tell("  lost: page %u of %s", number, name);
        return page->synced;
    case 2:
        disk_tell("  torn: page %u of %s", number, name);
        return mix(page);
    default:
        disk_tell("  lost: the newest writes to page %u of %s", number, name);
        return page->between[page->count - (choice - 2)];
    }
}

static void crash_file(disk *d, disk_node *node) {
    const disk_size size = size_after(node);
    if (size.bytes != node->now.bytes) {
        disk_tell("  lost: the size of %s is %llu, not %llu bytes", node->last_name,
                  (unsigned long long)size.bytes, (unsigned long long)node->now.bytes);
    }
    for (uint32_t i = 0; i < node->pages_room; i++) {
        disk_page *page = &node->pages[i];
        const uint64_t begin = (uint64_t)i * DISK_PAGE;
        if (i >= size.cut && page->synced && page->synced != page->now) {
            disk_give(DISK_A_PAGE, page->synced);
            page->synced = NULL;
        }
        uint8_t *contents = page->synced;
        /* A page that was only cut off comes back if the cut is lost. */
        if (!disk_page_is_synced(page) && page->now && begin < size.bytes) {
            contents = page_after(page, node->last_name, i);
        }
        if (begin >= size.bytes) {
            contents = NULL;
        } else if (contents && size.bytes - begin < DISK_PAGE) {
            memset(contents + (size.bytes - begin), 0, DISK_PAGE - (size.bytes - begin));
        }
        disk_page_set(d, page, contents);
    }
    node->now = node->synced = (disk_size){size.bytes, DISK_UNCUT};
    node->count = 0;
}

/* ---- */

static void close_files(const disk *d) {
    sim_files *files = sim_files_here();
    for (unsigned i = 0; i < SIM_FILES; i++) {
        sim_opened *opened = files->files[i].kind == SIM_REGULAR ? files->files[i].opened : NULL;
        if (opened && opened->of == d) {
            opened->of = NULL;
            opened->node = NULL;
        }
    }
}

void disk_crash(unsigned host) {
    disk *d = disk_of(host);
    close_files(d);
    crash_names(d);
    take_synced_names(d);
    for (disk_node *node = d->nodes; node; node = node->next) {
        if (node->kind == TH_OS_FILE_REGULAR) {
            crash_file(d, node);
        }
    }
}

int thrum_test_disk_crash(void) {
    if (kit_is_outside()) {
        return -EPERM;
    }
    kit_point("thrum_test_disk_crash", (uintptr_t)__builtin_return_address(0));
    disk_crash(sim_host_here());
    return 0;
}
