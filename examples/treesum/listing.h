/*
 * listing.h: the names in one directory, sorted, or as many of them as fit.
 *
 * A directory can hold more names than there is memory. A listing is therefore a *window*: the
 * smallest names behind a given one, as many as fit into a number of bytes, and whether there are
 * more. Reading the next window reads the directory again; that is the price of a bound.
 */
#ifndef TREESUM_LISTING_H
#define TREESUM_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum entry_kind {
    ENTRY_FILE, /* a regular file */
    ENTRY_DIR,
    ENTRY_BAD /* it could not be examined: `err` */
};

struct entry {
    uint64_t key;  /* the first 8 bytes of the name, so that most comparisons end here */
    uint32_t name; /* its place in `names` */
    uint8_t kind;
    bool linked;  /* a symbolic link leads to it (or may do so) */
    uint16_t err; /* an errno */
};

struct listing {
    struct entry *entries; /* sorted by name, byte by byte (strcmp) */
    char *names;
    uint32_t count;
    bool more;                    /* there are names behind the last of these */
    int err;                      /* errno when reading ended early, else 0 */
    size_t bytes;                 /* all the memory that it holds */
    struct listing *next, **link; /* the tree's list of taken ones; link NULL: not in it */
};

struct listing_options {
    const char *after; /* only names behind this one; NULL: all */
    size_t bytes_max;  /* the size of the window; room for at least a few names */
    bool follow;       /* symbolic links count as their targets; else they are left out */
};

/* Reads an open directory and closes it. Blocks the thread for as long as the disk takes. */
struct listing *listing_read(int fd, const struct listing_options *options);

void listing_free(struct listing *listing);

static inline const char *listing_name(const struct listing *listing, uint32_t index) {
    return listing->names + listing->entries[index].name;
}

#endif
