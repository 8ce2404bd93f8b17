/*
 * memory.h: two accounts of all memory whose amount the clients decide: that of keys, values and
 * tables, and that of requests which are longer than a connection's own buffer. So a full store
 * keeps nobody from sending a long request, and is not filled by requests that never end. Requests
 * beyond the limit of an account are refused.
 */
#ifndef KV_MEMORY_H
#define KV_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>

struct memory {
    size_t max; /* in bytes; set before anything is taken */
    atomic_size_t xused;
};

extern struct memory memory_of_keys;
extern struct memory memory_of_requests;

/* Returns memory, or NULL beyond the limit or when the system has none. It never suspends. */
void *memory_take(struct memory *account, size_t size);

/* Frees memory from memory_take of this size; NULL is nothing. It never suspends. */
void memory_give(struct memory *account, void *memory, size_t size);

/* Returns how many bytes are in use. */
size_t memory_used(struct memory *account);

#endif
