/*
 * value.h: the values of keys. A value never changes, and is counted by its holders: the store, and
 * a connection that is sending it. So a slow client holds memory, but no lock.
 */
#ifndef KV_VALUE_H
#define KV_VALUE_H

#include <stdatomic.h>

#include "text.h"

struct value {
    atomic_uint xholders;
    size_t size;
    char bytes[];
};

/* Returns a copy of the text that the caller holds, or NULL without memory (memory.h). */
struct value *value_new(struct text from);

/* One holder more: the caller has the lock of the value's shard, or holds the value already. */
struct value *value_hold(struct value *value);

/* One holder less: the last one frees it. NULL is nothing. */
void value_drop(struct value *value);

#endif
