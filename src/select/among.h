/*
 * among.h: a select among channels, events and the cases of other rooms.
 */
#ifndef TH_AMONG_H
#define TH_AMONG_H

#include "core/basis/waiter_state.h"
#include "thrum/chan.h"
#include "thrum/interval.h"

/* The select of thrum_select for any cases, or of thrum_select_ordered; its callers have looked at
 * n. */
int th_select_among(thrum_case cases[], size_t n, bool ordered, thrum_time deadline);

/* The same for cases of channels alone, none of which could happen a moment ago. */
int th_select_wait(thrum_case cases[], size_t n, thrum_time deadline);

/*
 * The functions of a room above for its cases (THRUM_CASE_OTHER), whose `from` points to this; `to`
 * and the upper bits of `kind` are its own. All of one select have the same.
 */
typedef struct th_case_ops {
    unsigned max; /* of them in one select, at most 32 */
    /*
     * Polls all of them at once, waiting until the deadline (0: not at all) or until the wake-up is
     * set (-1: none): sets a bit in *ready for each that can happen, in their order, and its
     * status. Returns more than 0 if there are any, 0, or the code of the system's refusal. A
     * listed wait misses nothing: events after the poll find its part.
     */
    int (*ask)(thrum_case cases[], size_t n, int wakeup, thrum_time deadline, uint32_t *ready);
    /* In a fiber that is about to wait: has its parts be found. 0 or a code. */
    int (*join)(const thrum_case *c);
    /* Puts a part of a wait on its list; an event that finds it there wakes it. Takes it off. */
    void (*stand)(const thrum_case *c, th_waiter *part);
    void (*leave)(const thrum_case *c, th_waiter *part);
} th_case_ops;

/* ---- ticks (interval.c) ---- */

/* Whether a tick is due at that instant. */
static inline bool th_interval_is_due(const thrum_interval *interval, int64_t now) {
    return interval->next <= now && interval->next != THRUM_FOREVER;
}

/* Takes a tick that is due, now or at a moment that the system's clock has not quite reached. */
void th_interval_take(thrum_interval *interval, int64_t now);

#endif
