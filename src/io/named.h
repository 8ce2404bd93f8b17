/*
 * named.h: the record that a thrum_io names.
 */
#ifndef TH_NAMED_H
#define TH_NAMED_H

#include <errno.h>

#include "base/atomic.h"
#include "io/record.h"

/* The record of a thrum_io that is not stale, or NULL with the code. */
static inline th_record *th_record_named(thrum_io io, int *code) {
    th_record *record = th_record_at(io.fd);
    *code = -EBADF;
    if (!record || !io.turn) {
        return NULL;
    }
    /* relaxed: the caller had the value from the thread that took the descriptor over */
    if (th_load_relaxed(&record->xturn) != io.turn) {
        *code = th_record_refusal(record, io.turn);
        return NULL;
    }
    return record;
}

#endif
