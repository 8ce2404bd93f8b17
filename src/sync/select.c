/*
 * select.c: one of several sends and receives.
 *
 * A select first looks at its cases without locks, and tries the one that it chose with that
 * channel's lock alone. If no case can proceed it takes the locks of all its channels, in the order
 * of their addresses, looks once more, and queues on every list a part of one wait before it gives
 * the locks up. So no thread ever finds a select half queued; and a caller that makes a transfer
 * with a waiting select holds the lock of a channel where that is queued, and claims its wait. A
 * select that makes a transfer while it holds all its locks is not on any list itself and cannot be
 * claimed, so two selects that could meet need one claim, not two. sync/README.md has the argument.
 */
#include "core/state/thread.h"
#include "core/wait/wait.h"
#include "platform/platform.h"
#include "sync/chan.h"

/* How many places the smaller of the two frames of a select has; more than that are rare. */
#define FEW 8

/* What a select that waits needs for each case. */
typedef struct place {
    th_parked_op op;
    thrum_chan *chan; /* the places' channels are in the order of addresses, not of the cases */
} place;

static inline uint32_t side_of(const thrum_case *c) {
    return c->kind == THRUM_CASE_SEND ? TH_CHAN_SENDERS : TH_CHAN_RECEIVERS;
}

/* The number of a case that can proceed, each with the same chance; -1 when none can. */
static int look_around(const thrum_case cases[], size_t n) {
    int found = -1;
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const thrum_case *c = &cases[i];
        if (c->chan &&
            (c->kind == THRUM_CASE_SEND ? th_chan_can_send(c->chan) : th_chan_can_recv(c->chan))) {
            count++;
            if (count == 1 || th_self_random() % count == 0) {
                found = (int)i;
            }
        }
    }
    return found;
}

/* Does one case that can proceed at once. Returns its number, -EAGAIN or -ENOMEM. */
static int try_some(thrum_case cases[], size_t n) {
    int found;
    while ((found = look_around(cases, n)) >= 0) { /* lock-free: a failure is another's success */
        thrum_case *c = &cases[found];
        int result = c->kind == THRUM_CASE_SEND ? thrum_chan_try_send(c->chan, c->from)
                                                : thrum_chan_try_recv(c->chan, c->to);
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

/* ---- all locks ---- */

/* Stores the cases' channels, each once, in the order of addresses; returns their number. */
static size_t sort_channels(const thrum_case cases[], size_t n, place places[]) {
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

static void lock_all(place places[], size_t channels) {
    for (size_t i = 0; i < channels; i++) {
        th_chan_lock(places[i].chan);
    }
}

static void unlock_all(place places[], size_t channels) {
    for (size_t i = channels; i > 0; i--) {
        th_chan_unlock(places[i - 1].chan);
    }
}

/*
 * With all locks. Does one case that can proceed; the caller concludes the transfer after it has
 * unlocked. Returns the case's number; -EAGAIN: none can proceed; -ENOMEM: a send lacks a segment.
 */
static int transfer_some(thrum_case cases[], size_t n, th_transfer *transfer) {
    int found;
    while ((found = look_around(cases, n)) >= 0) { /* a failure took late waiters off a list */
        thrum_case *c = &cases[found];
        int result = c->kind == THRUM_CASE_SEND ? th_chan_transfer_send(c->chan, c->from, transfer)
                                                : th_chan_transfer_recv(c->chan, c->to, transfer);
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

/* ---- waiting ---- */

/* With all locks. Queues a part of the wait on every list. */
static void stand(thrum_case cases[], size_t n, place places[], th_waiter *whole) {
    for (size_t i = 0; i < n; i++) {
        const thrum_case *c = &cases[i];
        if (c->chan) {
            th_parked_op *op = &places[i].op;
            th_waiter_init_part(&op->waiter, whole, (int32_t)i);
            op->from = c->from;
            op->to = c->to;
            op->status = 0;
            th_chan_push(c->chan, side_of(c), op);
        }
    }
}

/* Leaves all lists but the one of the case that happened (-1: none), whose part is off already. */
static void leave(thrum_case cases[], size_t n, place places[], int happened) {
    for (size_t i = 0; i < n; i++) {
        if (cases[i].chan && (int)i != happened) {
            (void)th_chan_leave(cases[i].chan, side_of(&cases[i]), &places[i].op.waiter);
        }
    }
}

static int select_on(thrum_case cases[], size_t n, thrum_time deadline, place places[]) {
    th_waiter me;
    size_t channels = sort_channels(cases, n, places);
    for (;;) {
        th_transfer transfer;
        lock_all(places, channels);
        int found = transfer_some(cases, n, &transfer);
        if (found == -EAGAIN) {
            break;
        }
        size_t elem_size = found >= 0 ? cases[found].chan->elem_size : 0;
        unlock_all(places, channels);
        if (found >= 0) {
            th_chan_conclude(&transfer, elem_size);
            return found;
        }
        /* a segment is needed, which is not allocated with locks held */
        if ((found = try_some(cases, n)) != -EAGAIN) {
            return found;
        }
    }
    th_waiter_init(&me, TH_ON_SELECT, n ? cases[0].chan : NULL);
    me.timed = true;
    stand(cases, n, places, &me);
    unlock_all(places, channels);
    uint32_t outcome = th_waiter_wait_until(&me, deadline);
    int happened = outcome == TH_WAIT_WOKEN ? me.value : -1;
    leave(cases, n, places, happened);
    if (happened < 0) {
        return th_waiter_result(outcome);
    }
    cases[happened].status = places[happened].op.status;
    return happened;
}

static TH_NOINLINE int select_few(thrum_case cases[], size_t n, thrum_time deadline) {
    place places[FEW];
    return select_on(cases, n, deadline, places);
}

static TH_NOINLINE int select_many(thrum_case cases[], size_t n, thrum_time deadline) {
    place places[THRUM_SELECT_FRAME];
    return select_on(cases, n, deadline, places);
}

static TH_NOINLINE int select_crowd(thrum_case cases[], size_t n, thrum_time deadline) {
    place *places = th_os_alloc(n * sizeof *places);
    if (!places) {
        return -ENOMEM;
    }
    int result = select_on(cases, n, deadline, places);
    th_os_free(places);
    return result;
}

int thrum_select(thrum_case cases[], size_t n, thrum_time deadline) {
    if ((n > 0 && !cases) || n > INT32_MAX / sizeof(place)) {
        return -EINVAL;
    }
    for (size_t i = 0; i < n; i++) {
        if (cases[i].kind != THRUM_CASE_SEND && cases[i].kind != THRUM_CASE_RECV) {
            return -EINVAL;
        }
    }
    int result = try_some(cases, n);
    if (result != -EAGAIN) {
        return result;
    }
    if (deadline != THRUM_FOREVER && deadline <= th_os_now()) {
        return -ETIMEDOUT;
    }
    return n <= FEW                  ? select_few(cases, n, deadline)
           : n <= THRUM_SELECT_FRAME ? select_many(cases, n, deadline)
                                     : select_crowd(cases, n, deadline);
}
