/*
 * type.h: a file's content type, by the end of its name.
 */
#ifndef HTTPD_TYPE_H
#define HTTPD_TYPE_H

/* Returns a constant text. */
const char *type_of(const char *path);

#endif
