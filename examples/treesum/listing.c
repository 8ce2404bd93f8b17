/*
 * listing.c: see listing.h.
 *
 * Names are gathered until twice the window is full, then sorted and cut back to the window; from
 * then on names that sort behind its last name are skipped. So the memory is at most three windows
 * (the gathered names, and the copy of the kept ones), for any directory.
 */
#include "listing.h"

#include <stdlib.h>
#include <string.h>

#include "disk.h"
#include "memory.h"
#include "system.h"

struct builder {
    struct entry *entries;
    char *names;
    size_t count, count_max;
    size_t used, used_max; /* bytes of `names` */
    bool cut;              /* something was left out: the last entry is the limit */
    uint32_t kept;         /* entries that were there after the last cut */
};

static int gather(struct builder *b, struct names *names, const struct listing_options *options);
static bool classify(struct names *names, const struct name *found, bool follow,
                     struct entry *entry);
static void add(struct builder *b, const char *name, struct entry entry);
static bool beyond_limit(const struct builder *b, const char *name);
static void sort(struct builder *b);
static void cut(struct builder *b, size_t bytes_max);
static size_t bytes_of(const struct builder *b);

struct listing *listing_read(int fd, const struct listing_options *options) {
    struct listing *listing = memory_new(sizeof *listing);
    *listing = (struct listing){.bytes = sizeof *listing};
    struct names *names = names_open(fd, &listing->err);
    if (!names) {
        return listing;
    }
    struct builder b = {0};
    listing->err = gather(&b, names, options);
    names_close(names);

    sort(&b);
    if (bytes_of(&b) > options->bytes_max) {
        cut(&b, options->bytes_max);
    }
    if (b.count > 0) { /* give back the surplus of the growth */
        b.entries = memory_resize(b.entries, b.count * sizeof *b.entries);
        b.names = memory_resize(b.names, b.used);
    }
    listing->entries = b.entries;
    listing->names = b.names;
    listing->count = (uint32_t)b.count;
    listing->more = b.cut;
    listing->bytes += bytes_of(&b);
    return listing;
}

void listing_free(struct listing *listing) {
    if (listing) {
        free(listing->entries);
        free(listing->names);
        free(listing);
    }
}

/* 0 at the directory's end, else the reason why it ended before. */
static int gather(struct builder *b, struct names *names, const struct listing_options *options) {
    struct name found;
    int err;
    while ((err = names_next(names, &found)) == 0) {
        const char *name = found.text;
        bool itself = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
        bool before = options->after && strcmp(name, options->after) <= 0;
        if (itself || before || beyond_limit(b, name)) {
            continue;
        }
        struct entry entry = {0};
        if (classify(names, &found, options->follow, &entry)) {
            add(b, name, entry);
            if (bytes_of(b) > 2 * options->bytes_max) {
                sort(b);
                cut(b, options->bytes_max);
            }
        }
    }
    return err == NAMES_END ? 0 : err;
}

/* Whether it is a file, a directory, or something that must be complained about. */
static bool classify(struct names *names, const struct name *found, bool follow,
                     struct entry *entry) {
    enum name_kind kind = found->kind;
    entry->linked = follow && (kind == NAME_UNKNOWN || kind == NAME_LINK);
    if (kind == NAME_UNKNOWN || entry->linked) {
        int err = names_look(names, found->text, follow, &kind);
        if (err != 0) {
            entry->kind = ENTRY_BAD;
            entry->err = (uint16_t)err;
            return true;
        }
    }
    entry->kind = kind == NAME_DIR ? ENTRY_DIR : ENTRY_FILE;
    return kind == NAME_DIR || kind == NAME_FILE;
}

/* The first 8 bytes as a number that compares as they do. */
static uint64_t key_of(const char *name) {
    uint64_t key = 0;
    for (int i = 0; i < 8; i++) {
        key = key << 8 | (unsigned char)*name;
        name += *name != '\0';
    }
    return key;
}

static void add(struct builder *b, const char *name, struct entry entry) {
    size_t size = strlen(name) + 1;
    if (b->count == b->count_max) {
        b->count_max = b->count_max == 0 ? 16 : b->count_max * 2;
        b->entries = memory_resize(b->entries, b->count_max * sizeof *b->entries);
    }
    if (b->used + size > b->used_max) {
        b->used_max = (b->used + size) * 2;
        b->names = memory_resize(b->names, b->used_max);
    }
    entry.key = key_of(name);
    entry.name = (uint32_t)b->used;
    b->entries[b->count++] = entry;
    memcpy(b->names + b->used, name, size);
    b->used += size;
}

static bool beyond_limit(const struct builder *b, const char *name) {
    return b->cut && strcmp(name, b->names + b->entries[b->kept - 1].name) > 0;
}

static int compare(const void *left, const void *right, void *names) {
    const struct entry *a = left, *b = right;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return strcmp((const char *)names + a->name, (const char *)names + b->name);
}

static void sort(struct builder *b) {
    if (b->count > 1) {
        system_sort(b->entries, b->count, sizeof *b->entries, compare, b->names);
    }
}

/* Keeps the first names, sorted before, that fit; at least one. */
static void cut(struct builder *b, size_t bytes_max) {
    size_t keep = 0, used = 0;
    while (keep < b->count) {
        size_t size = strlen(b->names + b->entries[keep].name) + 1;
        if (keep > 0 && used + size + (keep + 1) * sizeof *b->entries > bytes_max) {
            break;
        }
        used += size;
        keep++;
    }
    char *names = memory_new(used);
    size_t at = 0;
    for (size_t i = 0; i < keep; i++) {
        const char *name = b->names + b->entries[i].name;
        size_t size = strlen(name) + 1;
        memcpy(names + at, name, size);
        b->entries[i].name = (uint32_t)at;
        at += size;
    }
    free(b->names);
    b->names = names;
    b->used = b->used_max = used;
    b->cut = b->cut || keep < b->count;
    b->count = keep;
    b->kept = (uint32_t)keep;
}

static size_t bytes_of(const struct builder *b) {
    return b->used + b->count * sizeof *b->entries;
}
