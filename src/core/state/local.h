/*
 * local.h: the values that a task or a plain thread has under keys (thrum_key_*).
 */
#ifndef TH_LOCAL_H
#define TH_LOCAL_H

#include "core/state/lock.h"
#include "base/cc.h"
#include "thrum/sched.h"

#define TH_LOCALS_INLINE 3

typedef struct th_local {
    uint32_t key;    /* index + 1; 0: unused */
    uint32_t serial; /* of the key when the value was set: a deleted key's values are forgotten */
    void *value;
} th_local;

struct th_thread;

typedef struct th_locals {
    th_local few[TH_LOCALS_INLINE];
    th_local *more;            /* the rest, THRUM_KEYS_MAX of them, or NULL */
    struct thrum_sched *sched; /* the scheduler that allocated `more`; NULL: the system did */
} th_locals;

static inline bool th_locals_any(const th_locals *locals) {
    uint32_t keys = 0;
    for (int i = 0; i < TH_LOCALS_INLINE; i++) {
        keys |= locals->few[i].key;
    }
    return keys || locals->more;
}

/* Frees the values; with `destruct` it calls their destructors first. Those may set values again,
 * so there are a few rounds. */
void th_locals_end(th_locals *locals, bool destruct);

/* Frees the values of a thread that ends (th_thread_keep). */
void th_locals_end_with(struct th_thread *thread);

/* Protects making and deleting keys; fork() takes it, too (core/control/atfork.c). */
extern th_lock th_keys_lock;

#endif
