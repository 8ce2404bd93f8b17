/*
 * memory.h: allocation that ends the program when there is no memory, with one line on stderr. What
 * treesum allocates is bounded (README.md), so there is nothing sensible to go on with.
 */
#ifndef TREESUM_MEMORY_H
#define TREESUM_MEMORY_H

#include <stddef.h>

void *memory_new(size_t size);
void *memory_resize(void *ptr, size_t size);
char *memory_copy(const char *text);

#endif
