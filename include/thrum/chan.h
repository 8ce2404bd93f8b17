/*
 * thrum/chan.h: channels of elements of one size; select over several of them, events and
 * descriptors.
 *
 * A channel carries copies of elements, first in, first out, from any number of senders to any
 * number of receivers. With capacity 0 (rendezvous) a send waits until a receiver has taken its
 * element; with a capacity it waits only while so many elements lie in the channel; an unbounded
 * one grows instead. Waiters are served first come, first served, and an element goes straight
 * from the sender's memory to that of a receiver that waits.
 *
 * After a close no more can be sent; what lies in the channel can still be received. What the
 * sender wrote before it sent is visible to the receiver of that element; what was written before a
 * close is visible to the callers that get -EPIPE by it.
 */
#ifndef THRUM_CHAN_H
#define THRUM_CHAN_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_chan thrum_chan;

/* As a capacity: the channel has no limit. */
#define THRUM_UNBOUNDED ((size_t)-1)

/*
 * Makes a channel for elements of elem_size bytes (0: it carries nothing but the fact), of which
 * capacity lie in it at most. It is the caller's until thrum_chan_destroy. Any thread may call it.
 * It never suspends. It returns 0, -EINVAL when `out` is NULL or the size is not possible, or
 * -ENOMEM.
 */
THRUM_API THRUM_NODISCARD int thrum_chan_create(thrum_chan **out, size_t elem_size,
                                                size_t capacity);

/*
 * Frees a channel and what lies in it. Any thread may call it once every other call on the channel
 * has returned, or no longer needs it because an element was handed over. It never suspends. It
 * returns 0, also for NULL, or -EBUSY with the channel unchanged while a caller waits at it.
 */
THRUM_API int thrum_chan_destroy(thrum_chan *chan);

/*
 * Sends a copy of *elem. Any thread may call it. It may suspend while the channel is full. It
 * returns 0, or with the element not sent: -EPIPE when the channel is closed, or was closed
 * meanwhile; -ENOMEM when an unbounded one cannot grow; -ECANCELED when the caller is cancelled.
 */
THRUM_API THRUM_NODISCARD int thrum_chan_send(thrum_chan *chan, const void *elem);
/* Does the same until the deadline. Past it, it returns -ETIMEDOUT, and nothing was sent. */
THRUM_API THRUM_NODISCARD int thrum_chan_send_until(thrum_chan *chan, const void *elem,
                                                    thrum_time deadline);
/* Does the same without waiting, and returns -EAGAIN where it would have to. It never suspends. */
THRUM_API THRUM_NODISCARD int thrum_chan_try_send(thrum_chan *chan, const void *elem);

/*
 * Receives the oldest element into *elem. Any thread may call it. It may suspend while there is
 * none. It returns 0, or with nothing received and *elem as it was: -EPIPE when the channel is
 * closed and empty; -ECANCELED when the caller is cancelled.
 */
THRUM_API THRUM_NODISCARD int thrum_chan_recv(thrum_chan *chan, void *elem);
/* Does the same until the deadline. Past it, it returns -ETIMEDOUT, and nothing was received. */
THRUM_API THRUM_NODISCARD int thrum_chan_recv_until(thrum_chan *chan, void *elem,
                                                    thrum_time deadline);
/* Does the same without waiting, and returns -EAGAIN where it would have to. It never suspends. */
THRUM_API THRUM_NODISCARD int thrum_chan_try_recv(thrum_chan *chan, void *elem);

/*
 * Closes the channel. Senders that wait get -EPIPE and their elements are not sent; receivers that
 * wait get -EPIPE, too. Any thread may call it. It never suspends. It returns 0, or -EPIPE with
 * nothing changed when the channel was closed already.
 */
THRUM_API int thrum_chan_close(thrum_chan *chan);

/*
 * Returns how many elements lay in the channel at some recent moment. Any thread may call it. It
 * never suspends and cannot fail.
 */
THRUM_API size_t thrum_chan_len(const thrum_chan *chan);

/* ---- select ---- */

/*
 * One of the things that a select may do or wait for; made by the macros below, and by
 * thrum_io_case (thrum/io.h).
 */
typedef struct thrum_case {
    thrum_chan *chan; /* the channel; NULL, of a send or a receive: this case never happens */
    const void *from; /* the element to send */
    void *to;         /* the memory to receive into, or the event */
    uint32_t kind;    /* THRUM_CASE_SEND, THRUM_CASE_RECV, THRUM_CASE_EVENT, or a descriptor's */
    int32_t status;   /* set for the case that happened: 0, or why nothing was moved */
#if UINTPTR_MAX == UINT32_MAX
    uint32_t reserved_turn; /* of a descriptor, which is larger than a pointer */
#endif
} thrum_case;
THRUM_ABI_SIZE(thrum_case, 32, 24);

/* The last fields of a case in an initializer; for the macros of this header. */
#if UINTPTR_MAX == UINT32_MAX
#define THRUM_CASE_REST 0, 0
#else
#define THRUM_CASE_REST 0
#endif

/* The kinds of a case: a number in the lowest bits. */
#define THRUM_CASE_SEND 1u
#define THRUM_CASE_RECV 2u
#define THRUM_CASE_EVENT 3u
#define THRUM_CASE_OTHER 4u
#define THRUM_CASE_KINDS 255u

/*
 * A case that sends a copy of *elem to the channel, one that receives into *elem, and one that
 * waits until an event is signaled (thrum/event.h); NULL: it never happens. All are values of
 * thrum_case.
 */
#ifdef __cplusplus
#define THRUM_SEND_CASE(chan_, elem_)                                                              \
    (thrum_case{(chan_), (elem_), NULL, THRUM_CASE_SEND, THRUM_CASE_REST})
#define THRUM_RECV_CASE(chan_, elem_)                                                              \
    (thrum_case{(chan_), NULL, (elem_), THRUM_CASE_RECV, THRUM_CASE_REST})
#define THRUM_EVENT_CASE(event_)                                                                   \
    (thrum_case{NULL, NULL, (1 ? (event_) : (struct thrum_event *)0), THRUM_CASE_EVENT,            \
                THRUM_CASE_REST})
#else
#define THRUM_SEND_CASE(chan_, elem_)                                                              \
    ((thrum_case){(chan_), (elem_), NULL, THRUM_CASE_SEND, THRUM_CASE_REST})
#define THRUM_RECV_CASE(chan_, elem_)                                                              \
    ((thrum_case){(chan_), NULL, (elem_), THRUM_CASE_RECV, THRUM_CASE_REST})
#define THRUM_EVENT_CASE(event_)                                                                   \
    ((thrum_case){NULL, NULL, (1 ? (event_) : (struct thrum_event *)0), THRUM_CASE_EVENT,          \
                  THRUM_CASE_REST})
#endif

/*
 * Does exactly one of n sends and receives, waiting until one can be done; or finds one of several
 * events signaled, which consumes the signal of an auto event, or a descriptor ready, which takes
 * nothing. It returns the case's index, and its `status` says 0 (done) or, with nothing moved,
 * -EPIPE (its channel is closed) or -EBADF (its descriptor is; -ESHUTDOWN: as thrum_io_case says).
 * The `status` of other cases means nothing. Of several that can happen at once each has the same
 * chance. A channel may stand in several cases, to send and to receive as well: a select never
 * receives what it would send itself. A case without a channel or an event never happens; with no
 * other case this only waits for the deadline. With a deadline in the past it does what can be done
 * at once.
 *
 * While it waits it has its place in the queue of each channel and event. It loses them when a
 * descriptor turns out not to be ready after all, or another caller has taken a signal first.
 *
 * The array is the caller's; it and all of the channels and events must live until the call has
 * returned. Any thread may call it. It may suspend. It allocates only for more than
 * THRUM_SELECT_FRAME cases, where a send makes an unbounded channel grow, or for the first wait of
 * a scheduler for a descriptor. Errors, with nothing done: -ETIMEDOUT past the deadline; -ECANCELED
 * when the caller is cancelled; -EINVAL for a case of no kind, or too many cases; -ENOMEM; with
 * descriptors also those of a wait for one (the top of thrum/io.h).
 */
THRUM_API THRUM_NODISCARD int thrum_select(thrum_case cases[], size_t n, thrum_time deadline);

/* The most cases for which a select needs no memory but its frame. */
#define THRUM_SELECT_FRAME 64

THRUM_END_DECLS

#endif
