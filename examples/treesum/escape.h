/*
 * escape.h: names as sha256sum writes them, so that each takes one line and `sha256sum -c` finds it
 * again: with \\, \n and \r for a backslash, a newline and a carriage return, and a backslash in
 * front of the line when the name has any of them.
 */
#ifndef TREESUM_ESCAPE_H
#define TREESUM_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

bool escape_needed(const char *name, size_t size);

/* Writes the escaped form, which takes at most twice the size; returns its size. */
size_t escape_write(char *to, const char *name, size_t size);

#endif
