/*
 * beneath.h: opening what is in a directory so that no symbolic link leads out of it.
 *
 * Listing a directory and opening what was listed are two steps, and in between a user that may
 * write there can put a link in the place of a directory. A check before would not help, and
 * O_NOFOLLOW is about the last name of a path only: so the kernel is told to follow no link in any
 * of them (openat2), or where that is not possible the names are opened one by one.
 */
#ifndef TREESUM_BENEATH_H
#define TREESUM_BENEATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * As openat(2), for a relative path of any length, which it changes; an empty one is the directory
 * itself. Without `follow` a symbolic link anywhere in the path is -ELOOP. Returns an fd or a
 * negative errno. Two more files are open meanwhile, at most one of them when it returns.
 */
int beneath_open(int base, char *path, size_t length, int flags, bool follow);

/* For tests: goes on as if the kernel had no openat2. */
void beneath_forget_openat2(void);

#endif
