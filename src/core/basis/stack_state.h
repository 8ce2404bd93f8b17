/*
 * stack_state.h: a stack, and a scheduler's books of its stacks (stack.h).
 */
#ifndef TH_STACK_STATE_H
#define TH_STACK_STATE_H

#include "base/cc.h"
#include "core/basis/lock.h"
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
    uint8_t guard; /* the thrum_guard that it really has; never AUTO */
} th_stack;

typedef struct th_stack_slab th_stack_slab;

typedef struct th_stack_class_books {
    th_lock lock;        /* protects the rest */
    uint32_t free_first; /* slots given back or made ready; the list is last in, first out */
    th_stack_slab **slabs;
    uint32_t slab_count;
    uint32_t slab_room;
    uint32_t slab_tail; /* slots of the last slab that were neither used nor made ready */
    uint32_t live;
    size_t next_bytes; /* the size of the next slab */
} th_stack_class_books;

typedef struct th_stacks {
    th_stack_class_books classes[TH_STACK_CLASSES];
    thrum_guard kind; /* constant, like the fields below */
    void *(*alloc)(void *ctx, size_t size);
    void (*free)(void *ctx, void *ptr);
    void *ctx;
    size_t mprotect_max; /* the most mprotect guards in the process that AUTO makes */
} th_stacks;

#endif
