/*
 * path.h: the target of a request becomes a path.
 */
#ifndef HTTPD_PATH_H
#define HTTPD_PATH_H

#include "text.h"

enum { PATH_SIZE = 1024 };

/*
 * Writes the path of a target, "/a/b" or "http://host/a/b?query", with its percent signs decoded
 * and a 0 at its end. A target without a path, "http://host?query", has "/". A path begins with a
 * slash, and none of its names is empty or begins with a dot: so "..", however it is spelled, is in
 * none, and files with such names are not served. Returns 0, or the status with which to refuse the
 * request: 400, 404 or 414.
 */
int path_of(struct text target, char path[PATH_SIZE]);

#endif
