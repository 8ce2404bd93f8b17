/*
 * key.h: the values that a task or a plain thread has under keys (thrum_key_*).
 */
#ifndef TH_KEY_H
#define TH_KEY_H

#include "base/cc.h"
#include "core/basis/lock.h"
#include "thrum/sched.h"

#define TH_KEY_VALUES_INLINE 3

typedef struct th_key_value {
    uint32_t key;    /* index + 1; 0: unused */
    uint32_t serial; /* of the key when the value was set: a deleted key's values are forgotten */
    void *value;
} th_key_value;

struct th_thread;

typedef struct th_key_values {
    th_key_value few[TH_KEY_VALUES_INLINE];
    th_key_value *more;        /* the rest, THRUM_KEYS_MAX of them, or NULL */
    struct thrum_sched *sched; /* the scheduler that allocated `more`; NULL: the system did */
} th_key_values;

static inline bool th_key_values_any(const th_key_values *key_values) {
    uint32_t keys = 0;
    for (int i = 0; i < TH_KEY_VALUES_INLINE; i++) {
        keys |= key_values->few[i].key;
    }
    return keys || key_values->more;
}

/* Frees the values; with `destruct` it calls their destructors first. Those may set values again,
 * so there are a few rounds. */
void th_key_values_end(th_key_values *key_values, bool destruct);

/* Frees the values of a thread that ends (th_thread_keep). */
void th_key_values_end_with(struct th_thread *thread);

/* Protects making and deleting keys; fork() takes it, too (core/control/atfork.c). */
extern th_lock th_keys_lock;

#endif
