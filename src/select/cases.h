/*
 * cases.h: the sends and receives of a select: looking at them, doing one of them, and standing on
 * the lists of their channels. Cases without a channel are passed over. sync/CHANNELS.md has the
 * argument.
 */
#ifndef TH_CASES_H
#define TH_CASES_H

#include "core/state/thread.h"
#include "sync/chan.h"

/* How many places the smaller of the two frames of a select has; more than that are rare. */
#define TH_CASES_FEW 8

/* A waiting select's data for each case. */
typedef struct th_place {
    th_parked_op op;
    thrum_chan *chan; /* the places' channels are in the order of addresses, not of the cases */
} th_place;

static inline uint32_t th_case_side(const thrum_case *c) {
    return c->kind == THRUM_CASE_SEND ? TH_CHAN_SENDERS : TH_CHAN_RECEIVERS;
}

/* The number of a case that can proceed: the first, or each with the same chance; -1: none can. */
static inline int th_cases_look(const thrum_case cases[], size_t n, bool ordered) {
    int found = -1;
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const thrum_case *c = &cases[i];
        if (c->chan &&
            (c->kind == THRUM_CASE_SEND ? th_chan_can_send(c->chan) : th_chan_can_recv(c->chan))) {
            count++;
            if (count == 1 || (!ordered && th_self_random() % count == 0)) {
                found = (int)i;
            }
        }
    }
    return found;
}

/* Stores the cases' channels, each once, in the order of addresses; returns their number. */
static inline size_t th_cases_sort(const thrum_case cases[], size_t n, th_place places[]) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (cases[i].chan) {
            places[count++].chan = cases[i].chan;
        }
    }
    size_t gap = 1;
    while (gap < count / 3) {
        gap = 3 * gap + 1;
    }
    for (; gap > 0; gap /= 3) { /* shellsort; for a few cases it is an insertion sort */
        for (size_t i = gap; i < count; i++) {
            thrum_chan *chan = places[i].chan;
            size_t at = i;
            for (; at >= gap && (uintptr_t)places[at - gap].chan > (uintptr_t)chan; at -= gap) {
                places[at].chan = places[at - gap].chan;
            }
            places[at].chan = chan;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || places[i].chan != places[kept - 1].chan) {
            places[kept++].chan = places[i].chan;
        }
    }
    return kept;
}

static inline void th_cases_lock(th_place places[], size_t channels) {
    for (size_t i = 0; i < channels; i++) {
        th_chan_lock(places[i].chan);
    }
}

static inline void th_cases_unlock(th_place places[], size_t channels) {
    for (size_t i = channels; i > 0; i--) {
        th_chan_unlock(places[i - 1].chan);
    }
}

/*
 * Does one case that can proceed: with all locks, and the caller concludes the transfer after it
 * has unlocked; or without any lock, and `transfer` is NULL. Returns the case's number; -EAGAIN:
 * none can proceed; -ENOMEM: a send lacks a segment.
 */
static TH_ALWAYS_INLINE int th_cases_transfer(thrum_case cases[], size_t n, bool ordered,
                                              th_transfer *transfer) {
    int found;
    /* A failure took late waiters off a list. Lock-free: without locks it is another's success. */
    while ((found = th_cases_look(cases, n, ordered)) >= 0) {
        thrum_case *c = &cases[found];
        const bool sends = c->kind == THRUM_CASE_SEND;
        int result;
        if (transfer) {
            result = sends ? th_chan_transfer_send(c->chan, c->from, transfer)
                           : th_chan_transfer_recv(c->chan, c->to, transfer);
        } else {
            result =
                sends ? thrum_chan_try_send(c->chan, c->from) : thrum_chan_try_recv(c->chan, c->to);
        }
        if (result == -ENOMEM) {
            return result;
        }
        if (result != -EAGAIN) {
            c->status = result;
            return found;
        }
    }
    return -EAGAIN;
}

/* With all locks. Queues a part of the wait on every list. */
static inline void th_cases_stand(thrum_case cases[], size_t n, th_place places[],
                                  th_waiter *whole) {
    for (size_t i = 0; i < n; i++) {
        const thrum_case *c = &cases[i];
        if (c->chan) {
            th_parked_op *op = &places[i].op;
            th_waiter_init_part(&op->waiter, whole, (int32_t)i);
            op->from = c->from;
            op->to = c->to;
            op->status = 0;
            th_chan_push(c->chan, th_case_side(c), op);
        }
    }
}

/* Leaves all lists but the one of the case that happened (-1: none), whose part is off already. */
static inline void th_cases_leave(thrum_case cases[], size_t n, th_place places[], int happened) {
    for (size_t i = 0; i < n; i++) {
        if (cases[i].chan && (int)i != happened) {
            (void)th_chan_leave(cases[i].chan, th_case_side(&cases[i]), &places[i].op.waiter);
        }
    }
}

#endif
