/*
 * chan.h: what a channel is, and the steps that chan.c and select.c are made of.
 *
 *   deal      one element that changes hands, or was moved, together with who must be told
 *   party     who waits at a channel: a waiter, and where its element is
 *   store     where elements lie: one ring (bounded), or a chain of segments (unbounded)
 *
 * All is protected by the channel's lock, `xlock`: 0 free, 1 held. Its holder never
 * waits, allocates or wakes; he makes a *deal*, unlocks, and then concludes it: copies
 * from or to a party that he took off the list, and wakes it. That party waits until it is woken,
 * so its memory is there.
 *
 * xcount and xflags are read without the lock as well, as a hint.
 *
 * Invariants, for all but the holder:
 *   SENDERS / RECEIVERS say that the list is not empty
 *   SENDERS with a capacity: xcount == capacity; RECEIVERS: xcount == 0
 *   CLOSED: both lists are empty
 *   both SENDERS and RECEIVERS: a rendezvous, and all who can still be woken are parts of one
 *   select (which does not deal with itself)
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
#define TH_CHAN_SMALL_SHIFT 8 /* above: the elements' size, if it is 4, 8 or 16; constant */

/* A piece of the unbounded store; its elements follow it. */
typedef struct th_segment {
    _Alignas(16) struct th_segment *next;
} th_segment;

struct thrum_chan {
    uint32_t xlock;  /* see above; any thread */
    uint32_t xflags; /* written with the lock; read by any */
    size_t xcount;   /* elements in the store; likewise */
    size_t capacity; /* constant */
    /* With the lock: */
    char *put; /* where the next one goes, unless it is put_end: then see th_store_turn_put */
    char *put_end;
    char *take; /* where the oldest one is, unless it is take_end */
    char *take_end;
    /* A line of its own ends here. */
    void *senders[2];   /* first and last */
    void *receivers[2]; /* likewise */
    size_t elem_size;   /* constant */
    char *ring;         /* constant; NULL: segments */
    void *block;        /* constant: what was allocated, for the channel and its ring */
    /* The second one. */
    th_segment *segment; /* that of `take`; the first of the chain. NULL: none yet */
    th_segment *last;    /* that of `put` */
    th_segment *spare;   /* one that was drained, or made for who found no room */
};

typedef struct th_party {
    th_waiter waiter; /* first: the lists' elements are these */
    const void *from; /* a sender's element */
    void *to;         /* where a receiver wants it */
    int status;       /* 0, or -EPIPE: written by who wakes it, before */
} th_party;

/* See the top. All NULL: nothing to do after the unlock. */
typedef struct th_deal {
    th_party *party;  /* off its list, and claimed: to be woken */
    const void *from; /* to be copied; NULL: nothing */
    void *to;
    th_segment *gone; /* to be freed */
} th_deal;

/* The store of segments is at its end: chan.c. */
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

static inline uint32_t th_chan_flags(const thrum_chan *chan) {
    /* relaxed: with the lock it is what we read, without it is a hint, like the count */
    return th_load_relaxed(&chan->xflags);
}

static inline void th_chan_set_flags(thrum_chan *chan, uint32_t flags) {
    th_store_relaxed(&chan->xflags, flags); /* relaxed: published by the unlock */
}

static inline size_t th_chan_count(const thrum_chan *chan) {
    return th_load_relaxed(&chan->xcount); /* relaxed: as the flags */
}

static inline void th_chan_set_count(thrum_chan *chan, size_t count) {
    th_store_relaxed(&chan->xcount, count); /* relaxed: as the flags */
}

/*
 * Whether a send, a receive, would not have to wait. Without the lock it is a hint: but what
 * happened before the call is seen, and as long as only one kind of thing happens meanwhile the
 * answer was right at some moment.
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

/* The flag of a side as its list is. */
static inline void th_chan_mark(thrum_chan *chan, uint32_t side) {
    uint32_t others = th_chan_flags(chan) & ~side;
    bool empty = th_waitlist_is_empty(th_chan_list(chan, side));
    th_chan_set_flags(chan, empty ? others : others | side);
}

/* The first of a side that can be woken, or NULL. */
static inline th_party *th_chan_pop(thrum_chan *chan, uint32_t side) {
    th_party *party = (th_party *)(void *)th_waitlist_pop(th_chan_list(chan, side));
    th_chan_mark(chan, side);
    return party;
}

static inline void th_chan_push(thrum_chan *chan, uint32_t side, th_party *party) {
    th_waitlist_push(th_chan_list(chan, side), &party->waiter);
    th_chan_set_flags(chan, th_chan_flags(chan) | side);
}

/* Off the list, with the lock taken here. False: it was off already. */
bool th_chan_leave(thrum_chan *chan, uint32_t side, th_waiter *waiter);

/* Of size 0 the user may have given no address. */
static inline void th_chan_copy(void *to, const void *from, size_t size) {
    if (size == 8) {
        memcpy(to, from, 8);
    } else if (size != 0) {
        memcpy(to, from, size);
    }
}

/* There is room. False: for no segment. */
static inline bool th_store_put(thrum_chan *chan, const void *from) {
    if (th_unlikely(chan->put == chan->put_end) && !th_store_turn_put(chan)) {
        return false;
    }
    th_chan_copy(chan->put, from, chan->elem_size);
    chan->put += chan->elem_size;
    th_chan_set_count(chan, th_chan_count(chan) + 1);
    return true;
}

/* There is one. What is returned must be freed. */
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
 * With the lock: a send that need not wait. 0, -EPIPE; -EAGAIN: it must; -ENOMEM: no room for
 * want of a segment.
 */
static TH_ALWAYS_INLINE int th_chan_deal_send(thrum_chan *chan, const void *from, th_deal *deal) {
    *deal = (th_deal){0};
    uint32_t flags = th_chan_flags(chan);
    if (th_unlikely((flags & (TH_CHAN_RECEIVERS | TH_CHAN_CLOSED)) != 0)) {
        if ((flags & TH_CHAN_CLOSED) != 0) {
            return -EPIPE;
        }
        th_party *receiver = th_chan_pop(chan, TH_CHAN_RECEIVERS);
        if (th_likely(receiver != NULL)) {
            *deal = (th_deal){.party = receiver, .from = from, .to = receiver->to};
            return 0;
        }
    }
    if (th_unlikely(th_chan_count(chan) >= chan->capacity)) {
        return -EAGAIN;
    }
    return th_likely(th_store_put(chan, from)) ? 0 : -ENOMEM;
}

/* With the lock: a receive that need not wait. 0, -EPIPE; -EAGAIN: it must. */
static TH_ALWAYS_INLINE int th_chan_deal_recv(thrum_chan *chan, void *to, th_deal *deal) {
    *deal = (th_deal){0};
    uint32_t flags = th_chan_flags(chan);
    if (th_likely(th_chan_count(chan) > 0)) {
        deal->gone = th_store_take(chan, to);
        if (th_unlikely((flags & TH_CHAN_SENDERS) != 0)) {
            deal->party = th_chan_pop(chan, TH_CHAN_SENDERS);
            if (deal->party) {
                (void)th_store_put(chan, deal->party->from); /* bounded: it never lacks memory */
            }
        }
        return 0;
    }
    if ((flags & TH_CHAN_SENDERS) != 0) {
        th_party *sender = th_chan_pop(chan, TH_CHAN_SENDERS);
        if (sender) {
            *deal = (th_deal){.party = sender, .from = sender->from, .to = to};
            return 0;
        }
    }
    return (flags & TH_CHAN_CLOSED) != 0 ? -EPIPE : -EAGAIN;
}

/*
 * Without the lock, and with nothing more to do with the channel, which may be gone: copies, wakes,
 * frees.
 */
void th_chan_conclude(const th_deal *deal, size_t elem_size);

#endif
