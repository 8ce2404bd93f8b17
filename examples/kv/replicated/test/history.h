/*
 * history.h: the operations that the clients of a test have called, and their answers.
 */
#ifndef KV_HISTORY_H
#define KV_HISTORY_H

#include <thrum.h>

#include "linearizable.h"

enum { KEYS = 2 };

struct call {
    unsigned client, key;
    struct operation operation;
    thrum_time called, answered; /* in virtual time, for the reader of a report */
};

/* The operation is called now, or its answer is here. */
void history_called(struct call *call);
void history_answered(struct call *call, int64_t answer);

/* Adds a call that has ended, or that may still take effect. */
void history_add(const struct call *call);

/* Whether the history of each key is linearizable. If one is not, it is printed. */
bool history_is_linearizable(void);

#endif
