/*
 * bytes.c: the pages and the size of a file. Bytes behind the size are zeros, in each page.
 */
#include <errno.h>
#include <string.h>

#include "disk/disk.h"

#define BYTES_MAX ((uint64_t)DISK_PAGES * DISK_PAGE)

static uint64_t min(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* ---- pages ---- */

bool disk_page_is_synced(const disk_page *page) {
    return page->now == page->synced && !page->count;
}

/* The contents now become contents between. */
static void keep(disk_page *page) {
    if (page->count == DISK_BETWEEN) {
        disk_give(DISK_A_PAGE, page->between[0]);
        memmove(page->between, page->between + 1, sizeof page->between - sizeof page->between[0]);
        page->count--;
    }
    page->between[page->count++] = page->now;
}

static void forget_between(disk_page *page) {
    while (page->count) {
        disk_give(DISK_A_PAGE, page->between[--page->count]);
    }
}

/* Memory for new contents, which begin as a copy of the old ones; NULL: none is left. */
static uint8_t *change_page(disk *d, disk_page *page) {
    if (!page->now && d->used == DISK_PAGES) {
        disk_collect(d);
    }
    if (!page->now && d->used == DISK_PAGES) {
        return NULL;
    }
    uint8_t *contents = disk_take(DISK_A_PAGE);
    if (page->now) {
        memcpy(contents, page->now, DISK_PAGE);
    } else {
        memset(contents, 0, DISK_PAGE);
        d->used++;
    }
    if (!disk_page_is_synced(page)) {
        keep(page);
    }
    page->now = contents;
    page->lost = false;
    return contents;
}

/* The page is zeros. */
static void clear_page(disk *d, disk_page *page) {
    if (page->now) {
        if (!disk_page_is_synced(page)) {
            keep(page);
        }
        page->now = NULL;
        d->used--;
    }
}

void disk_page_set(disk *d, disk_page *page, uint8_t *contents) {
    uint8_t *const was[] = {page->now, page->synced != page->now ? page->synced : NULL};
    d->used += contents != NULL;
    d->used -= page->now != NULL;
    for (unsigned i = 0; i < 2; i++) {
        if (was[i] != contents) {
            disk_give(DISK_A_PAGE, was[i]);
        }
    }
    while (page->count) {
        uint8_t *between = page->between[--page->count];
        if (between != contents) {
            disk_give(DISK_A_PAGE, between);
        }
    }
    *page = (disk_page){.now = contents, .synced = contents};
}

/* The file has memory for so many pages' states. */
static void make_room(disk_node *node, uint64_t pages) {
    if (pages > node->pages_room) {
        uint32_t room = node->pages_room ? node->pages_room : 4;
        while (room < pages) {
            room *= 2;
        }
        disk_page *more = disk_memory(room * sizeof *more);
        memset(more, 0, room * sizeof *more);
        if (node->pages_room) {
            memcpy(more, node->pages, node->pages_room * sizeof *more);
        }
        node->pages = more;
        node->pages_room = room;
    }
}

/* ---- the size ---- */

static bool size_is_synced(const disk_node *node) {
    return !node->count && node->now.bytes == node->synced.bytes && node->now.cut == DISK_UNCUT;
}

static void set_size(disk_node *node, uint64_t bytes, uint32_t cut) {
    if (!size_is_synced(node)) {
        if (node->count == DISK_BETWEEN) {
            memmove(node->between, node->between + 1,
                    sizeof node->between - sizeof node->between[0]);
            node->count--;
        }
        node->between[node->count++] = node->now;
    }
    node->now = (disk_size){bytes, cut < node->now.cut ? cut : node->now.cut};
}

static void touch(disk_node *node) {
    node->modified = node->changed = sim_now();
}

/* ---- reading and writing ---- */

int64_t disk_read(disk_node *node, void *to, size_t size, int64_t offset) {
    const uint64_t from = (uint64_t)offset;
    const uint64_t end = from < node->now.bytes ? min(node->now.bytes, from + size) : from;
    uint8_t *out = to;
    for (uint64_t at = from; at < end;) {
        const uint64_t in_page = at % DISK_PAGE;
        const uint64_t n = min(DISK_PAGE - in_page, end - at);
        const uint64_t page = at / DISK_PAGE;
        const uint8_t *contents = page < node->pages_room ? node->pages[page].now : NULL;
        if (contents) {
            memcpy(out, contents + in_page, n);
        } else {
            memset(out, 0, n);
        }
        out += n;
        at += n;
    }
    node->accessed = sim_now();
    return (int64_t)(end - from);
}

int64_t disk_write(disk *d, disk_node *node, const void *from, size_t size, int64_t offset) {
    const uint64_t begin = (uint64_t)offset;
    const uint8_t *in = from;
    uint64_t at = begin;
    if (size && begin >= BYTES_MAX) {
        return -EFBIG;
    }
    const uint64_t end = size < BYTES_MAX - begin ? begin + size : BYTES_MAX;
    make_room(node, (end + DISK_PAGE - 1) / DISK_PAGE);
    while (at < end) {
        uint8_t *contents = change_page(d, &node->pages[at / DISK_PAGE]);
        if (!contents) {
            break;
        }
        const uint64_t n = min(DISK_PAGE - at % DISK_PAGE, end - at);
        memcpy(contents + at % DISK_PAGE, in, n);
        in += n;
        at += n;
    }
    if (size && at == begin) {
        return -ENOSPC;
    }
    if (at > node->now.bytes) {
        set_size(node, at, DISK_UNCUT);
    }
    touch(node);
    return (int64_t)(at - begin);
}

/* Bytes of a page from there on become zero. */
static void clear_rest(disk *d, disk_page *page, uint64_t from) {
    if (page->now) {
        memset(change_page(d, page) + from, 0, DISK_PAGE - from);
    }
}

int disk_resize(disk *d, disk_node *node, int64_t size) {
    const uint64_t bytes = (uint64_t)size;
    if (bytes > BYTES_MAX) {
        return -EFBIG;
    }
    if (bytes < node->now.bytes) {
        const uint64_t first = (bytes + DISK_PAGE - 1) / DISK_PAGE;
        for (uint64_t i = first; i < node->pages_room; i++) {
            clear_page(d, &node->pages[i]);
        }
        if (bytes % DISK_PAGE && first <= node->pages_room) {
            clear_rest(d, &node->pages[first - 1], bytes % DISK_PAGE);
        }
        set_size(node, bytes, (uint32_t)first);
    } else if (bytes > node->now.bytes) {
        set_size(node, bytes, DISK_UNCUT);
    }
    touch(node);
    return 0;
}

static void punch(disk *d, disk_node *node, uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end;) {
        const uint64_t in_page = at % DISK_PAGE;
        const uint64_t n = min(DISK_PAGE - in_page, end - at);
        disk_page *page = at / DISK_PAGE < node->pages_room ? &node->pages[at / DISK_PAGE] : NULL;
        if (page && n == DISK_PAGE) {
            clear_page(d, page);
        } else if (page && page->now) {
            memset(change_page(d, page) + in_page, 0, n);
        }
        at += n;
    }
}

int disk_allocate(disk *d, disk_node *node, const th_os_file_request *r) {
    const uint64_t begin = (uint64_t)r->offset;
    if (r->length > BYTES_MAX || begin > BYTES_MAX - r->length) {
        return -EFBIG;
    }
    const uint64_t end = begin + r->length;
    if (r->flags & TH_OS_FILE_PUNCH) {
        punch(d, node, begin, end);
        touch(node);
        return 0;
    }
    make_room(node, (end + DISK_PAGE - 1) / DISK_PAGE);
    for (uint64_t i = begin / DISK_PAGE; i * DISK_PAGE < end; i++) {
        if (!node->pages[i].now && !change_page(d, &node->pages[i])) {
            return -ENOSPC;
        }
    }
    if (end > node->now.bytes && !(r->flags & TH_OS_FILE_KEEP_SIZE)) {
        set_size(node, end, DISK_UNCUT);
    }
    touch(node);
    return 0;
}

/* ---- syncing ---- */

void disk_sync_file(disk_node *node) {
    for (uint32_t i = 0; i < node->pages_room; i++) {
        disk_page *page = &node->pages[i];
        if (!page->lost) {
            forget_between(page);
            if (page->synced != page->now) {
                disk_give(DISK_A_PAGE, page->synced);
            }
            page->synced = page->now;
        }
    }
    node->now.cut = DISK_UNCUT;
    node->synced = node->now;
    node->count = 0;
}

void disk_lose_sync(disk_node *node) {
    for (uint32_t i = 0; i < node->pages_room; i++) {
        node->pages[i].lost = !disk_page_is_synced(&node->pages[i]);
    }
}
