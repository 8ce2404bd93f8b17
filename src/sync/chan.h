/*
 * chan.h: a channel, and the steps of which chan.c and select.c consist.
 *
 *   transfer          an element that changes hands, and the parked operation to be woken for it
 *   parked operation  a side that waits for a transfer: a waiter, and the address of its element
 *   store             the elements' memory: one ring (bounded), or a chain of segments (unbounded)
 *
 * All is protected by the channel's lock, `xlock`: 0 free, 1 held. Its holder never waits,
 * allocates or wakes; it makes a transfer, unlocks, and then concludes the transfer: it copies from
 * or to a parked operation that it took off the list, and wakes it. That parked operation waits
 * until it is woken, so its memory is there.
 *
 * xcount and xflags are also read without the lock, as a hint.
 *
 * Invariants, for all but the holder:
 *   - SENDERS, RECEIVERS: that list is not empty
 *   - SENDERS with a capacity: xcount == capacity; RECEIVERS: xcount == 0
 *   - CLOSED: both lists are empty
 *   - both SENDERS and RECEIVERS: the capacity is 0, and all that can still be woken are parts of
 *     one select (which makes no transfer with itself)
 */
#ifndef TH_SYNC_CHAN_H
#define TH_SYNC_CHAN_H

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/cc.h"
#include "sync/waitlist.h"
#include "thrum/chan.h"

#define TH_CHAN_SENDERS 1u
#define TH_CHAN_RECEIVERS 2u
#define TH_CHAN_CLOSED 4u
#define TH_CHAN_SMALL_SHIFT 8 /* bits from here on: the elements' size, if 4, 8 or 16; constant */

/* A piece of the unbounded store; its elements follow it. */
typedef struct th_segment {
    _Alignas(16) struct th_segment *next;
} th_segment;

struct thrum_chan {
    uint32_t xlock;  /* the lock; any thread writes it */
    uint32_t xflags; /* TH_CHAN_...; written with the lock, read by any thread */
    size_t xcount;   /* the number of elements in the store; written and read likewise */
    size_t capacity; /* constant */
    /* All below that is not constant is protected by the lock. */
    char *put; /* the place of the next element, unless it is put_end: see th_store_turn_put */
    char *put_end;
    char *take; /* the place of the oldest element, unless it is take_end */
    char *take_end;
    /* The calls that need no waiter use only the fields above, which fit into one cache line. */
    void *senders[2];   /* the first and the last waiting sender */
    void *receivers[2]; /* the first and the last waiting receiver */
    size_t elem_size;   /* constant */
    char *ring;         /* the bounded store, or NULL: segments; constant */
    void *block;        /* the allocation of the channel and its ring; constant */
    void *closers[2];   /* the first and the last part of a select that waits for the close */
    /* Only the unbounded store uses these: */
    th_segment *segment; /* the first of the chain, with `take`; NULL while there is none */
    th_segment *last;    /* the last of the chain, with `put` */
    th_segment *spare;   /* a segment that was drained, or made by a sender that found no room */
};

typedef struct th_parked_op {
    th_waiter waiter; /* the lists' element; it must be the first field */
    const void *from; /* a sender's element */
    void *to;         /* the place for a receiver's element */
    int status;       /* 0 or -EPIPE; written by the waker before the wake */
} th_parked_op;

/* See the top. With all fields NULL there is nothing to do after the unlock. */
typedef struct th_transfer {
    th_parked_op *op; /* the parked operation to be woken, off its list and claimed */
    const void *from; /* the element to be copied; NULL: none */
    void *to;
    th_segment *gone; /* the segment to be freed */
} th_transfer;

/* The step of a put or a take at the end of a ring or a segment (chan.c). */
bool th_store_turn_put(thrum_chan *chan);
th_segment *th_store_turn_take(thrum_chan *chan);

/* Backs off until it has the lock. */
void th_chan_lock_slow(thrum_chan *chan);

static inline bool th_chan_lock_try(thrum_chan *chan) {
    /* pairs: th_chan_unlock, th_waiter_wait_unlock; the channel as the last holder left it */
    return th_xchg_acquire(&chan->xlock, 1u) == 0;
}

static inline void th_chan_lock(thrum_chan *chan) {
    if (th_unlikely(!th_chan_lock_try(chan))) {
        th_chan_lock_slow(chan);
    }
}

/* The last access to the channel by its caller. */
static inline void th_chan_unlock(thrum_chan *chan) {
    /* pairs: th_chan_lock_try; publishes all that is protected by the lock */
    th_store_release(&chan->xlock, 0u);
}

static inline th_waitlist th_chan_closers(thrum_chan *chan) {
    return (th_waitlist){&chan->closers[0], &chan->closers[1]};
}

static inline uint32_t th_chan_flags(const thrum_chan *chan) {
    /* relaxed: exact with the lock; without it a hint, like the count */
    return th_load_relaxed(&chan->xflags);
}

static inline void th_chan_set_flags(thrum_chan *chan, uint32_t flags) {
    th_store_relaxed(&chan->xflags, flags); /* relaxed: published by the unlock */
}

static inline size_t th_chan_count(const thrum_chan *chan) {
    return th_load_relaxed(&chan->xcount); /* relaxed: as for the flags */
}

static inline void th_chan_set_count(thrum_chan *chan, size_t count) {
    th_store_relaxed(&chan->xcount, count); /* relaxed: as for the flags */
}

/*
 * Whether a send, or a receive, would not have to wait. Without the lock it is a hint, but it sees
 * events before the call; and while operations of only one kind happen meanwhile, the answer was
 * right at some moment.
 */
static inline bool th_chan_can_send(const thrum_chan *chan) {
    return th_chan_count(chan) < chan->capacity ||
           (th_chan_flags(chan) & (TH_CHAN_RECEIVERS | TH_CHAN_CLOSED)) != 0;
}

static inline bool th_chan_can_recv(const thrum_chan *chan) {
    return th_chan_count(chan) > 0 ||
           (th_chan_flags(chan) & (TH_CHAN_SENDERS | TH_CHAN_CLOSED)) != 0;
}

static inline th_waitlist th_chan_list(thrum_chan *chan, uint32_t side) {
    void **ends = side == TH_CHAN_SENDERS ? chan->senders : chan->receivers;
    return (th_waitlist){&ends[0], &ends[1]};
}

/* Sets or clears the flag of a side, as its list has waiters or not. */
static inline void th_chan_mark(thrum_chan *chan, uint32_t side) {
    uint32_t others = th_chan_flags(chan) & ~side;
    bool empty = th_waitlist_is_empty(th_chan_list(chan, side));
    th_chan_set_flags(chan, empty ? others : others | side);
}

/* Takes the first parked operation of a side that can be woken off the list; NULL when there is
 * none. */
static inline th_parked_op *th_chan_pop(thrum_chan *chan, uint32_t side) {
    th_parked_op *op = (th_parked_op *)(void *)th_waitlist_pop(th_chan_list(chan, side));
    th_chan_mark(chan, side);
    return op;
}

static inline void th_chan_push(thrum_chan *chan, uint32_t side, th_parked_op *op) {
    th_waitlist_push(th_chan_list(chan, side), &op->waiter);
    th_chan_set_flags(chan, th_chan_flags(chan) | side);
}

/* Takes the lock, and the waiter off its list. False: it was off the list already. */
bool th_chan_leave(thrum_chan *chan, uint32_t side, th_waiter *waiter);

/* With size 0 the user may have given no address. */
static inline void th_chan_copy(void *to, const void *from, size_t size) {
    if (size == 8) {
        memcpy(to, from, 8);
    } else if (size != 0) {
        memcpy(to, from, size);
    }
}

/* There is room. False: a segment is needed, and there is no spare. */
static inline bool th_store_put(thrum_chan *chan, const void *from) {
    if (th_unlikely(chan->put == chan->put_end) && !th_store_turn_put(chan)) {
        return false;
    }
    th_chan_copy(chan->put, from, chan->elem_size);
    chan->put += chan->elem_size;
    th_chan_set_count(chan, th_chan_count(chan) + 1);
    return true;
}

/* There is an element. Returns a segment that must be freed, or NULL. */
static inline th_segment *th_store_take(thrum_chan *chan, void *to) {
    th_segment *gone = NULL;
    if (th_unlikely(chan->take == chan->take_end)) {
        gone = th_store_turn_take(chan);
    }
    th_chan_copy(to, chan->take, chan->elem_size);
    chan->take += chan->elem_size;
    th_chan_set_count(chan, th_chan_count(chan) - 1);
    return gone;
}

/*
 * With the lock. Sends unless it would have to wait. Returns 0, -EPIPE, -EAGAIN (it must wait), or
 * -ENOMEM (a segment is needed, and there is no spare).
 */
static TH_ALWAYS_INLINE int th_chan_transfer_send(thrum_chan *chan, const void *from,
                                                  th_transfer *transfer) {
    *transfer = (th_transfer){0};
    uint32_t flags = th_chan_flags(chan);
    if (th_unlikely((flags & (TH_CHAN_RECEIVERS | TH_CHAN_CLOSED)) != 0)) {
        if ((flags & TH_CHAN_CLOSED) != 0) {
            return -EPIPE;
        }
        th_parked_op *receiver = th_chan_pop(chan, TH_CHAN_RECEIVERS);
        if (th_likely(receiver)) {
            *transfer = (th_transfer){.op = receiver, .from = from, .to = receiver->to};
            return 0;
        }
    }
    if (th_unlikely(th_chan_count(chan) >= chan->capacity)) {
        return -EAGAIN;
    }
    return th_likely(th_store_put(chan, from)) ? 0 : -ENOMEM;
}

/* With the lock. Receives unless it would have to wait. Returns 0, -EPIPE or -EAGAIN (it must). */
static TH_ALWAYS_INLINE int th_chan_transfer_recv(thrum_chan *chan, void *to,
                                                  th_transfer *transfer) {
    *transfer = (th_transfer){0};
    uint32_t flags = th_chan_flags(chan);
    if (th_likely(th_chan_count(chan) > 0)) {
        transfer->gone = th_store_take(chan, to);
        if (th_unlikely((flags & TH_CHAN_SENDERS) != 0)) {
            transfer->op = th_chan_pop(chan, TH_CHAN_SENDERS);
            if (transfer->op) {
                (void)th_store_put(chan, transfer->op->from); /* bounded: it never lacks memory */
            }
        }
        return 0;
    }
    if ((flags & TH_CHAN_SENDERS) != 0) {
        th_parked_op *sender = th_chan_pop(chan, TH_CHAN_SENDERS);
        if (sender) {
            *transfer = (th_transfer){.op = sender, .from = sender->from, .to = to};
            return 0;
        }
    }
    return (flags & TH_CHAN_CLOSED) != 0 ? -EPIPE : -EAGAIN;
}

/*
 * Without the lock. Copies, wakes and frees; it does not touch the channel, which may be gone.
 */
void th_chan_conclude(const th_transfer *transfer, size_t elem_size);

/* Wakes a detached list of parked operations with -EPIPE. A woken one may be gone, so its `next` is
 * read before. */
static inline void th_chan_turn_away(th_waiter *chain) {
    while (chain) {
        th_waiter *next = chain->next;
        ((th_parked_op *)(void *)chain)->status = -EPIPE;
        th_waiter_let_go(chain);
        chain = next;
    }
}

#endif
