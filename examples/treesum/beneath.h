/*
 * beneath.h: opening the entries of a directory so that no symbolic link leads out of it.
 *
 * Listing a directory and opening its entries are two steps, and in between a user that may write
 * there can put a link in the place of a directory. A check before would not help, and O_NOFOLLOW
 * is about the last name of a path only: so the kernel is asked to follow no link in any of them
 * (openat2), or, if that is not possible, the names are opened one by one.
 */
#ifndef TREESUM_BENEATH_H
#define TREESUM_BENEATH_H

#include <stdbool.h>
#include <stddef.h>

/* The kind of the object to open, and the purpose. */
enum beneath_how {
    BENEATH_FILE,  /* to be read; it may as well turn out to be no file */
    BENEATH_NAMES, /* a directory, to be listed */
    BENEATH_PLACE  /* a directory, to open files beneath it */
};

/*
 * Opens a path of any length below the directory `base`, names with slashes between them, which it
 * changes; an empty one is the directory itself. Without `follow` a symbolic link anywhere in it
 * is -ELOOP. Returns a descriptor or a negative errno. Two more files are open meanwhile, at most
 * one of them when it returns.
 */
int beneath_open(int base, char *path, size_t length, enum beneath_how how, bool follow);

/* Opens an argument of the command line, through links, too. It changes the path. */
int beneath_open_argument(char *path, size_t length, enum beneath_how how);

/* For tests: goes on as if the kernel had no openat2. */
void beneath_forget_openat2(void);

#endif
