/*
 * beneath.h: opening what is below a directory, and nothing else; and reading it. All of it may
 * block the thread on a disk.
 *
 * A path is opened name by name, and no name may be a symbolic link: O_NOFOLLOW on the whole path
 * would be about its last name only, and a check before would come too early, since links are made
 * at any time. The paths have no ".." in them: path.h.
 */
#ifndef HTTPD_BENEATH_H
#define HTTPD_BENEATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Opens the directory itself, which may be named through links. A descriptor, or a negative errno.
 */
int beneath_root(const char *path);

/*
 * Opens a path, which does not begin with a slash, for reading; an empty one is the directory
 * itself. A path that ends with a slash is a directory. Returns a descriptor, which the caller
 * owns, or a negative errno: -ENOTDIR or -ELOOP if a link is in the way, -ENOENT also for names
 * that the system would not take for a file's.
 */
int beneath_open(int directory, const char *path);

struct beneath_info {
    bool is_file, is_directory; /* it may be neither */
    uint64_t size;
    time_t changed;
};

/* 0, or a negative errno. */
int beneath_look(int fd, struct beneath_info *info);

/* Reads from a place: how many bytes, 0 at the end, or a negative errno. */
int beneath_read(int fd, void *to, size_t size, uint64_t offset);

void beneath_close(int fd);

#endif
