/*
 * beneath.h: opening what is below a directory, and nothing else.
 *
 * A path is opened name by name, and no name may be a symbolic link: O_NOFOLLOW on the whole path
 * would be about its last name only, and a check before would come too early, since links are made
 * at any time. The paths have no ".." in them: path.h.
 */
#ifndef HTTPD_BENEATH_H
#define HTTPD_BENEATH_H

/*
 * Opens a path, which does not begin with a slash, for reading; an empty one is the directory
 * itself. One that ends with a slash is a directory. Returns a descriptor of the caller's, or a
 * negative errno: -ENOTDIR or -ELOOP where a link is in the way. It may block the thread on a disk.
 */
int beneath_open(int directory, const char *path);

#endif
