/*
 * local.h: values of a task's own (thrum_key_*), also for plain threads.
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
    struct thrum_sched *sched; /* whose memory `more` is; NULL: the thread's own */
} th_locals;

static inline bool th_locals_any(const th_locals *locals) {
    uint32_t keys = 0;
    for (int i = 0; i < TH_LOCALS_INLINE; i++) {
        keys |= locals->few[i].key;
    }
    return keys || locals->more;
}

/* Calls the destructors (which may set values again: a few rounds) and frees. */
void th_locals_end(th_locals *locals, bool destruct);

/* What a thread has of them ends with it (th_thread_keep). */
void th_locals_end_with(struct th_thread *thread);

/* Protects making and deleting keys; a fork takes it, too (core/control/atfork.c). */
extern th_lock th_keys_lock;

#endif
