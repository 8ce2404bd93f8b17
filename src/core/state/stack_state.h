/*
 * stack_state.h: what the stacks of a scheduler are (stack.h).
 */
#ifndef TH_STACK_STATE_H
#define TH_STACK_STATE_H

#include "base/cc.h"
#include "core/state/lock.h"
#include "thrum/config.h"

#define TH_STACK_SIZE_MIN ((size_t)16 << 10)
#define TH_STACK_SIZE_MAX ((size_t)64 << 20)
#define TH_STACK_CLASSES 13u
#define TH_STACK_CANARY 16u /* bytes */
#define TH_STACK_RECORD 72u /* bytes */

typedef struct th_stack {
    char *bottom;  /* lowest usable byte, above the guard */
    char *top;     /* one past the highest byte */
    void *record;  /* TH_STACK_RECORD bytes, as its last user left them; 8-aligned */
    uint32_t slot; /* its number within the class */
    uint8_t class_index;
    uint8_t guard; /* a thrum_guard: what this one really has; never AUTO */
} th_stack;

typedef struct th_stack_slab th_stack_slab;

typedef struct th_stack_class_books {
    th_lock lock;        /* protects the rest */
    uint32_t free_first; /* slot given back last; they are taken in this order */
    th_stack_slab **slabs;
    uint32_t slab_count;
    uint32_t slab_room;
    uint32_t slab_tail; /* slots of the last slab that were never used */
    uint32_t live;
    size_t next_bytes; /* what to ask for next */
} th_stack_class_books;

typedef struct th_stacks {
    th_stack_class_books classes[TH_STACK_CLASSES];
    thrum_guard kind; /* constant, as are the next */
    void *(*alloc)(void *ctx, size_t size);
    void (*free)(void *ctx, void *ptr);
    void *ctx;
    size_t mprotect_max; /* AUTO leaves mprotect alone once the process has so many */
} th_stacks;

#endif
