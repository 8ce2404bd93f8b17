/*
 * thrum/chan.h: channels of elements of one size, and select over several of them.
 *
 * A channel carries copies of elements, first in, first out, from any number of senders to any
 * number of receivers. With capacity 0 (rendezvous) a send waits until a receiver has taken its
 * element; with a capacity it waits only while so many elements lie in the channel; an unbounded
 * one grows instead. Who waits is served first come, first served, and an element goes straight
 * from the sender's memory to that of a receiver who waits.
 *
 * Closing: no more can be sent, what lies in the channel can still be received. What the sender
 * wrote before it sent is visible to who received that element; what was written before a close is
 * visible to who got -EPIPE by it.
 */
#ifndef THRUM_CHAN_H
#define THRUM_CHAN_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_chan thrum_chan;

/* As a capacity: no limit. */
#define THRUM_UNBOUNDED ((size_t)-1)

/*
 * Makes a channel for elements of elem_size bytes (0: it carries nothing but the fact), of which
 * capacity lie in it at most. The caller's; freed by thrum_chan_destroy. Any thread; never
 * suspends. -EINVAL (no such size), -ENOMEM.
 */
THRUM_API THRUM_NODISCARD int thrum_chan_create(thrum_chan **out, size_t elem_size,
                                                size_t capacity);

/*
 * Frees a channel and what lies in it. -EBUSY, unchanged, while somebody waits at it. Allowed once
 * every call on it has returned, or needs it no more because an element was handed over. NULL: 0.
 * Any thread; never suspends.
 */
THRUM_API int thrum_chan_destroy(thrum_chan *chan);

/*
 * Sends a copy of *elem. Any thread; may suspend while the channel is full. 0; -EPIPE: it is
 * closed, or was while this waited; -ENOMEM: an unbounded one cannot grow; -ECANCELED. Unless it
 * returns 0 the element was not sent.
 */
THRUM_API THRUM_NODISCARD int thrum_chan_send(thrum_chan *chan, const void *elem);
/* The same until the deadline: -ETIMEDOUT, and it was not sent. */
THRUM_API THRUM_NODISCARD int thrum_chan_send_until(thrum_chan *chan, const void *elem,
                                                    thrum_time deadline);
/* The same without waiting: -EAGAIN where it would have to. Never suspends. */
THRUM_API THRUM_NODISCARD int thrum_chan_try_send(thrum_chan *chan, const void *elem);

/*
 * Receives the oldest element into *elem. Any thread; may suspend while there is none. 0; -EPIPE:
 * it is closed and empty; -ECANCELED. Unless it returns 0 nothing was received, and *elem is as it
 * was.
 */
THRUM_API THRUM_NODISCARD int thrum_chan_recv(thrum_chan *chan, void *elem);
/* The same until the deadline: -ETIMEDOUT, and nothing was received. */
THRUM_API THRUM_NODISCARD int thrum_chan_recv_until(thrum_chan *chan, void *elem,
                                                    thrum_time deadline);
/* The same without waiting: -EAGAIN where it would have to. Never suspends. */
THRUM_API THRUM_NODISCARD int thrum_chan_try_recv(thrum_chan *chan, void *elem);

/*
 * Closes it: 0, or -EPIPE when it was closed already (which changes nothing). Senders who wait get
 * -EPIPE and their elements are not sent; so do receivers who wait. Any thread; never suspends.
 */
THRUM_API int thrum_chan_close(thrum_chan *chan);

/* How many elements lie in it, at some recent moment. Any thread; never suspends. */
THRUM_API size_t thrum_chan_len(const thrum_chan *chan);

/* ---- select ---- */

/* What a select may do; made by the macros below. */
typedef struct thrum_case {
    thrum_chan *chan; /* NULL: this case never happens */
    const void *from; /* what to send */
    void *to;         /* where to receive */
    uint32_t kind;
    int32_t status; /* set for the case that happened: 0, or -EPIPE */
} thrum_case;
THRUM_STATIC_ASSERT(sizeof(void *) != 8 || sizeof(thrum_case) == 32, "part of the ABI");

#define THRUM_CASE_SEND 1u
#define THRUM_CASE_RECV 2u

#ifdef __cplusplus
#define THRUM_SEND_CASE(chan_, elem_) (thrum_case{(chan_), (elem_), NULL, THRUM_CASE_SEND, 0})
#define THRUM_RECV_CASE(chan_, elem_) (thrum_case{(chan_), NULL, (elem_), THRUM_CASE_RECV, 0})
#else
#define THRUM_SEND_CASE(chan_, elem_) ((thrum_case){(chan_), (elem_), NULL, THRUM_CASE_SEND, 0})
#define THRUM_RECV_CASE(chan_, elem_) ((thrum_case){(chan_), NULL, (elem_), THRUM_CASE_RECV, 0})
#endif

/*
 * Does exactly one of n sends and receives, waiting until one can be done: returns its number, and
 * its `status` says 0 (done) or -EPIPE (its channel is closed; nothing was moved). Of several that
 * can be done at once each has the same chance. A channel may stand in several cases, to send and
 * to receive as well: a select never receives what it would send itself. A case without a channel
 * never happens; with no other case this only waits for the deadline. A deadline in the past: does
 * what can be done at once. Any thread; may suspend; allocates only for more than
 * THRUM_SELECT_FRAME cases, or where a send makes an unbounded channel grow.
 * -ETIMEDOUT, -ECANCELED, -EINVAL (a case of neither kind), -ENOMEM: nothing was done. All of the
 * channels must live until the call has returned.
 */
THRUM_API THRUM_NODISCARD int thrum_select(thrum_case cases[], size_t n, thrum_time deadline);

#define THRUM_SELECT_FRAME 64

THRUM_END_DECLS

#endif
