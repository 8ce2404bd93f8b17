/*
 * value.c: see value.h.
 */
#include "value.h"

#include <string.h>

#include "memory.h"

struct value *value_new(struct text from) {
    struct value *value = memory_take(&memory_of_keys, sizeof *value + from.size);
    if (value) {
        atomic_init(&value->xholders, 1);
        value->size = from.size;
        memcpy(value->bytes, from.at, from.size);
    }
    return value;
}

struct value *value_hold(struct value *value) {
    atomic_fetch_add_explicit(&value->xholders, 1, memory_order_relaxed);
    return value;
}

void value_drop(struct value *value) {
    /* The release keeps this holder's reads before the free; the acquire is the last one's. */
    if (value && atomic_fetch_sub_explicit(&value->xholders, 1, memory_order_acq_rel) == 1) {
        memory_give(&memory_of_keys, value, sizeof *value + value->size);
    }
}
