/*
 * single.h: cases of a select that have a list of their own, on which a part of the wait stands
 * under that list's lock alone: events, closes of channels, and broadcast channels; and ends of
 * tasks and results of scopes (ended.h), which have room for one part. A case without an object
 * never happens.
 */
#ifndef TH_SINGLE_H
#define TH_SINGLE_H

#include "sync/chan.h"
#include "sync/part.h"
#include "select/ended.h"
#include "thrum/bcast.h"
#include "thrum/event.h"

static inline uint32_t th_case_kind(const thrum_case *c) {
    return c->kind & THRUM_CASE_KINDS;
}

/* Whether it is such a case. */
static inline bool th_single_has_kind(const thrum_case *c) {
    return c->kind == THRUM_CASE_EVENT || c->kind == THRUM_CASE_CLOSED ||
           c->kind == THRUM_CASE_BCAST || c->kind == THRUM_CASE_BCAST_LATEST ||
           th_case_is_of_end(c);
}

/* Whether it has an object as well. */
static inline bool th_single_is(const thrum_case *c) {
    return th_single_has_kind(c) &&
           (th_case_kind(c) == THRUM_CASE_BCAST ? c->from != NULL : c->to != NULL);
}

/* Whether such a case can happen at once. */
static inline bool th_single_can(const thrum_case *c) {
    return c->kind == THRUM_CASE_EVENT    ? thrum_event_is_signaled(c->to)
           : c->kind == THRUM_CASE_CLOSED ? thrum_chan_is_closed(c->to)
           : th_case_is_of_end(c)         ? th_end_look(c) != -EAGAIN
                                          : th_bcast_can(c);
}

/* Does it if it can happen at once: its status, or -EAGAIN. */
static inline int th_single_take(const thrum_case *c) {
    if (c->kind == THRUM_CASE_EVENT) {
        return thrum_event_test(c->to) ? 0 : -EAGAIN;
    }
    if (c->kind == THRUM_CASE_CLOSED) {
        return thrum_chan_is_closed(c->to) ? 0 : -EAGAIN;
    }
    return th_case_is_of_end(c) ? th_end_look(c) : th_bcast_take(c);
}

/*
 * Puts a part, of case `number` of the whole, on its list; a waker writes `status`. False: it can
 * happen, and is on no list.
 */
static inline bool th_single_stand(const thrum_case *c, th_parked_op *part, th_waiter *whole,
                                   int32_t number) {
    part->status = 0;
    return c->kind == THRUM_CASE_EVENT    ? th_event_stand(c->to, &part->waiter)
           : c->kind == THRUM_CASE_CLOSED ? th_closed_stand(c->to, &part->waiter)
           : th_case_is_of_end(c)         ? th_end_stand(c, &part->waiter, whole, number)
                                          : th_bcast_stand(c, part);
}

/* Takes it off, if it is there; afterwards no thread touches it. */
static inline void th_single_leave(const thrum_case *c, th_parked_op *part) {
    if (c->kind == THRUM_CASE_EVENT) {
        th_event_leave(c->to, &part->waiter);
    } else if (c->kind == THRUM_CASE_CLOSED) {
        th_closed_leave(c->to, &part->waiter);
    } else if (th_case_is_of_end(c)) {
        th_end_leave(c, &part->waiter);
    } else {
        th_bcast_leave(c, part);
    }
}

#endif
