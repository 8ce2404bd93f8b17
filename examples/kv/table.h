/*
 * table.h: uthash, whose tables count in the account of keys (memory.h) and may be refused there:
 * then an added item has no table (`hh.tbl` is NULL), and nothing has changed.
 */
#ifndef KV_TABLE_H
#define KV_TABLE_H

#include "memory.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) memory_take(&memory_of_keys, size)
#define uthash_free(memory, size) memory_give(&memory_of_keys, memory, size)

#include <uthash.h>
#include <utlist.h>

#endif
