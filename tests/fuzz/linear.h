/*
 * linear.h: small histories of one object, and whether some order of their calls explains them.
 */
#ifndef LINEAR_H
#define LINEAR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum object_kind {
    OBJECT_SEM,
    OBJECT_MUTEX,
    OBJECT_AUTO,   /* event */
    OBJECT_MANUAL, /* event */
    OBJECT_POOL,
    OBJECT_CHAN, /* bounded or unbounded */
    OBJECT_KINDS,
    OBJECT_BROKEN_SEM = OBJECT_KINDS, /* plants: two steps where one is needed */
    OBJECT_BROKEN_CHAN,
    OBJECT_ALL
} object_kind;

/* What a call means depends on the object: give is post, unlock, signal, give back, or send. */
typedef enum call_kind { TAKE, TAKE_UNTIL, GIVE, GIVE_UNTIL, CLEAR, CLOSE } call_kind;

enum { ACTORS_MAX = 3, CALLS_MAX = 5, HISTORY_MAX = ACTORS_MAX * CALLS_MAX, ELEMS_MAX = 16 };

typedef struct call {
    int actor;
    call_kind kind;
    int value;  /* what it sent or received */
    int result; /* the code that it returned */
    uint64_t begun, ended;
} call;

typedef struct history {
    object_kind kind;
    int start; /* the semaphore's value, the pool's or the channel's capacity, 0: unbounded */
    int count;
    call calls[HISTORY_MAX];
} history;

extern const char *const object_names[OBJECT_ALL];

/* Whether some order explains it that keeps calls that were over before calls that began later. */
bool linear_explained(const history *h);
void linear_print(const history *h, FILE *out);

#endif
