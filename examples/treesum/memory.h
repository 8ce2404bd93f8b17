/*
 * memory.h: allocation that ends the program when there is no memory, with one line on stderr.
 * treesum's memory is bounded (README.md), so there is no sensible way to go on.
 */
#ifndef TREESUM_MEMORY_H
#define TREESUM_MEMORY_H

#include <stddef.h>

void *memory_new(size_t size);
void *memory_resize(void *ptr, size_t size);
char *memory_copy(const char *text);

#endif
