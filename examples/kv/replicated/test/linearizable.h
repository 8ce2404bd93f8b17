/*
 * linearizable.h: whether a history of operations on one key is linearizable. It is if there is an
 * order of the operations in which each one takes effect at an instant between its call and its
 * answer, and each answer is that of a single server. An operation without an answer may take
 * effect at any time after its call, or never.
 */
#ifndef KV_LINEARIZABLE_H
#define KV_LINEARIZABLE_H

#include <stdbool.h>
#include <stdint.h>

enum { OPERATIONS_MAX = 64 };

struct operation {
    enum { OPERATION_GET, OPERATION_SET, OPERATION_INCR } kind;
    int64_t argument;  /* SET: the new value */
    int64_t answer;    /* GET: the value, INCR: the new value; a key without a value has 0 */
    uint64_t called;   /* calls and answers are numbered in their order */
    uint64_t answered; /* UINT64_MAX: never */
};

/* Whether the history is linearizable. At first, the value is 0. */
bool linearizable(const struct operation *operations, unsigned count);

#endif
