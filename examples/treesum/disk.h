/*
 * disk.h: queries to the system about files that beneath.h has opened. Everything here may block
 * the thread. Errors are positive errno numbers, unless documented otherwise.
 */
#ifndef TREESUM_DISK_H
#define TREESUM_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct disk_info {
    uint64_t device, inode; /* no two files have both in common */
    int64_t size;
    bool regular; /* it is a file */
};

/* 0, or an error. */
int disk_look(int fd, struct disk_info *info);
/* One more descriptor of the same; -1: there is none to be had. */
int disk_keep(int fd);
void disk_close(int fd);
/* Reads from where the last read ended: how many bytes, 0 at the end, or a negative errno. */
ssize_t disk_read(int fd, void *to, size_t size);

/* ---- the names in a directory, in no order ---- */

enum name_kind { NAME_FILE, NAME_DIR, NAME_LINK, NAME_OTHER, NAME_UNKNOWN };

struct name {
    const char *text; /* until the next call */
    enum name_kind kind;
};

struct names;

/* Takes the descriptor over in any case. NULL: *err has the reason. */
struct names *names_open(int fd, int *err);
/* 0 and a name, perhaps "." and ".."; NAMES_END; or an error. */
enum { NAMES_END = -1 };
int names_next(struct names *names, struct name *found);
/* The kind of a name's object; with `follow` of a link's target. 0, or an error. */
int names_look(struct names *names, const char *name, bool follow, enum name_kind *kind);
void names_close(struct names *names);

#endif
