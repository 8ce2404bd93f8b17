/*
 * memory.h: one account of all memory whose amount the clients decide: keys, values, tables, and
 * requests that are longer than a connection's own buffer. What exceeds the limit is refused.
 */
#ifndef KV_MEMORY_H
#define KV_MEMORY_H

#include <stddef.h>

/* Sets the limit in bytes. To be called before anything is taken. */
void memory_limit(size_t max);

/* Returns memory, or NULL beyond the limit or when the system has none. It never suspends. */
void *memory_take(size_t size);

/* Frees what memory_take gave for this size; NULL is nothing. It never suspends. */
void memory_give(void *memory, size_t size);

/* Returns how many bytes are in use, and how many may be. */
size_t memory_used(void);
size_t memory_max(void);

#endif
