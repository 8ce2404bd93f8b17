/*
 * reading.h: the contents of files, a piece at a time. Everything here may block the thread.
 */
#ifndef TREESUM_READING_H
#define TREESUM_READING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tree.h"

/*
 * Opens a regular file and returns its apparent size in *size. Returns an fd, a negative errno, or
 * -TREE_NOT_REGULAR.
 */
int reading_open(const struct dir *dir, const char *name, int64_t *size);

/*
 * Reads until the buffer is full or the file ends; returns the bytes read or a negative errno. A
 * read that ends short just where the file is `expected` to end is its end; 0: that is not known.
 */
ssize_t reading_fill(int fd, void *buffer, size_t size, int64_t expected);

#endif
