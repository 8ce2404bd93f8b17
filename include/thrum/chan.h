/*
 * thrum/chan.h: channels and select. A channel carries elements of one size between tasks and
 * threads. A select does one of several sends and receives. It can also wait for events, broadcast
 * channels, descriptors, the ticks of intervals, the ends of tasks and the close of a channel.
 *
 * A channel holds copies of elements, first in, first out, from any number of senders to any number
 * of receivers. If the capacity is 0 (a rendezvous), a send waits until a receiver has taken its
 * element. Otherwise it waits only while the channel is full; an unbounded channel grows instead.
 * Waiters are served in the order in which they come, and an element goes straight from the
 * sender's memory to that of a receiver that waits.
 *
 * After a close nothing more can be sent, but the elements in the channel can still be received.
 */
#ifndef THRUM_CHAN_H
#define THRUM_CHAN_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* A channel. It belongs to the caller of thrum_chan_create until thrum_chan_destroy. */
typedef struct thrum_chan thrum_chan;

/* As a capacity: the channel has no limit. */
#define THRUM_UNBOUNDED ((size_t)-1)

/*
 * Makes a channel. Its memory comes from malloc. A bounded channel allocates nothing afterwards.
 *
 * Parameters:
 *   out        gets the channel, which is the caller's until thrum_chan_destroy
 *   elem_size  the size of an element in bytes; 0 for elements without content
 *   capacity   how many elements the channel holds at most: 0 for a rendezvous, or THRUM_UNBOUNDED
 * Returns: 0, or a negative error code with *out unchanged.
 * Errors:
 *   -EINVAL  out is NULL, or the size or the capacity is too large
 *   -ENOMEM  there is no memory
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_chan *numbers;
 *    int err = thrum_chan_create(&numbers, sizeof(int), 16);
 * See also: thrum_chan_destroy, thrum_chan_send, thrum_chan_recv
 */
THRUM_API THRUM_NODISCARD int thrum_chan_create(thrum_chan **out, size_t elem_size,
                                                size_t capacity);

/*
 * Frees a channel and the elements in it. Every other call on the channel must have returned, or
 * need it no longer: a call whose element has been handed over does not touch the channel again.
 *
 * Parameters:
 *   chan  the channel, or NULL
 * Returns: 0, also for NULL, or -EBUSY with the channel unchanged.
 * Errors:
 *   -EBUSY  a caller waits at the channel
 * Context: any thread; never suspends.
 * Ordering: the writes before all earlier calls on the channel are visible.
 * See also: thrum_chan_create, thrum_chan_close
 */
THRUM_API int thrum_chan_destroy(thrum_chan *chan);

/*
 * Sends a copy of an element. thrum_chan_send waits while the channel is full, or for a receiver if
 * the capacity is 0. thrum_chan_send_until gives up at the deadline, and thrum_chan_try_send does
 * not wait. An element that can be sent at once is sent, even past the deadline or by a cancelled
 * caller.
 *
 * Parameters:
 *   chan      the channel
 *   elem      the element, which is read until the call returns
 *   deadline  thrum_chan_send_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 when the element was sent, or a negative error code when it was not.
 * Errors:
 *   -EPIPE      the channel is closed, or was closed during the wait
 *   -ENOMEM     an unbounded channel cannot grow
 *   -ECANCELED  the caller was cancelled; not from thrum_chan_try_send
 *   -ETIMEDOUT  thrum_chan_send_until: the deadline passed
 *   -EAGAIN     thrum_chan_try_send: the call would have to wait
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread; may suspend; cancellable. thrum_chan_try_send never suspends.
 * Ordering: the writes before the call are visible to the receiver of the element; after -EPIPE,
 *   the writes before the thrum_chan_close are visible.
 * Example:
 *    int number = 42;
 *    int err = thrum_chan_send_until(numbers, &number, thrum_after_ms(100));
 * See also: thrum_chan_recv, thrum_chan_close, thrum_select, thrum_chan_send_on_until
 */
THRUM_API THRUM_NODISCARD int thrum_chan_send(thrum_chan *chan, const void *elem);
THRUM_API THRUM_NODISCARD int thrum_chan_send_until(thrum_chan *chan, const void *elem,
                                                    thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_chan_try_send(thrum_chan *chan, const void *elem);

/*
 * Receives the oldest element. thrum_chan_recv waits while there is none, thrum_chan_recv_until
 * gives up at the deadline, and thrum_chan_try_recv does not wait. An element that is there is
 * received, even past the deadline or by a cancelled caller.
 *
 * Parameters:
 *   chan      the channel
 *   elem      the memory that the element is copied to
 *   deadline  thrum_chan_recv_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 with the element received, or a negative error code with *elem unchanged.
 * Errors:
 *   -EPIPE      the channel is closed and empty, or was closed during the wait
 *   -ECANCELED  the caller was cancelled; not from thrum_chan_try_recv
 *   -ETIMEDOUT  thrum_chan_recv_until: the deadline passed
 *   -EAGAIN     thrum_chan_try_recv: there is no element
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread; may suspend; cancellable. thrum_chan_try_recv never suspends.
 * Ordering: the writes of the sender before it sent the element are visible; after -EPIPE, the
 *   writes before the thrum_chan_close are visible.
 * Example: examples/channels.c
 * See also: thrum_chan_send, thrum_select, thrum_chan_recv_on_until
 */
THRUM_API THRUM_NODISCARD int thrum_chan_recv(thrum_chan *chan, void *elem);
THRUM_API THRUM_NODISCARD int thrum_chan_recv_until(thrum_chan *chan, void *elem,
                                                    thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_chan_try_recv(thrum_chan *chan, void *elem);

/*
 * Receives up to `max` elements, the oldest first. thrum_chan_recv_many waits while there is none,
 * thrum_chan_recv_many_until gives up at the deadline, and thrum_chan_try_recv_many does not wait.
 * A call that had to wait returns one element. Otherwise it takes all of them under one lock, so no
 * other receiver gets one in between.
 *
 * Parameters:
 *   chan      the channel
 *   elems     the memory that the elements are copied to, one after the other
 *   max       how many elements have room, at least 1
 *   deadline  thrum_chan_recv_many_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: the number of elements received, or a negative error code with none received.
 * Errors:
 *   -EINVAL     max is 0
 *   -EPIPE      the channel is closed and empty, or was closed during the wait
 *   -ECANCELED  the caller was cancelled; not from thrum_chan_try_recv_many
 *   -ETIMEDOUT  thrum_chan_recv_many_until: the deadline passed
 *   -EAGAIN     thrum_chan_try_recv_many: there is no element
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread; may suspend; cancellable. thrum_chan_try_recv_many never suspends.
 * Ordering: the writes of the senders before they sent the elements are visible; after -EPIPE, the
 *   writes before the thrum_chan_close are visible.
 * Example:
 *    int batch[64];
 *    int64_t n = thrum_chan_recv_many(numbers, batch, 64);
 * See also: thrum_chan_recv
 */
THRUM_API THRUM_NODISCARD int64_t thrum_chan_recv_many(thrum_chan *chan, void *elems, size_t max);
THRUM_API THRUM_NODISCARD int64_t thrum_chan_recv_many_until(thrum_chan *chan, void *elems,
                                                             size_t max, thrum_time deadline);
THRUM_API THRUM_NODISCARD int64_t thrum_chan_try_recv_many(thrum_chan *chan, void *elems,
                                                           size_t max);

/*
 * Closes the channel. Senders and receivers that wait get -EPIPE; the elements of those senders are
 * not sent. Elements in the channel can still be received.
 *
 * Parameters:
 *   chan  the channel
 * Returns: 0, or -EPIPE with nothing changed.
 * Errors:
 *   -EPIPE  the channel is closed already
 * Context: any thread; never suspends.
 * Ordering: the writes before the call are visible to the callers that get -EPIPE by it.
 * Example: examples/channels.c
 * See also: thrum_chan_destroy
 */
THRUM_API int thrum_chan_close(thrum_chan *chan);

/*
 * Returns whether the channel is closed. Elements may still be in it. To wait for the close, use
 * THRUM_CLOSED_CASE.
 *
 * Parameters:
 *   chan  the channel
 * Returns: true if it is closed; false may be outdated at once.
 * Context: any thread; never suspends.
 * Ordering: after true, the writes before the thrum_chan_close are visible.
 * See also: thrum_chan_close, THRUM_CLOSED_CASE
 */
THRUM_API bool thrum_chan_is_closed(const thrum_chan *chan);

/*
 * Returns how many elements were in the channel at a recent moment. It may have changed since.
 *
 * Parameters:
 *   chan  the channel
 * Returns: the number of elements.
 * Context: any thread; never suspends.
 * Ordering: none.
 */
THRUM_API size_t thrum_chan_len(const thrum_chan *chan);

/* ---- select ---- */

/*
 * A case of a select: a send, a receive, or a wait for something else. The caller owns it, and
 * makes it by a macro below, THRUM_BCAST_CASE (thrum/bcast.h), THRUM_TICK_CASE (thrum/interval.h)
 * or thrum_io_case (thrum/io.h).
 */
typedef struct thrum_case {
    thrum_chan *chan; /* the channel; NULL in a send or a receive: this case never happens */
    const void *from; /* the element to send, or the receiver of a broadcast channel */
    void *to;         /* the memory to receive into, the event, interval, handle or scope, or the
                         channel to be closed */
    uint32_t kind;    /* THRUM_CASE_SEND and the like, or a descriptor's */
    int32_t status;   /* set for the case that happened: 0, or the error code */
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

/* Makes a case without a channel; for the macros of other headers. */
#ifdef __cplusplus
#define THRUM_CASE_OF(from_, to_, kind_)                                                           \
    (thrum_case{NULL, (from_), (to_), (kind_), THRUM_CASE_REST})
#else
#define THRUM_CASE_OF(from_, to_, kind_)                                                           \
    ((thrum_case){NULL, (from_), (to_), (kind_), THRUM_CASE_REST})
#endif

/* The kinds of cases, in the lowest bits of `kind`. THRUM_CASE_KINDS is the mask of these bits. */
#define THRUM_CASE_SEND 1u
#define THRUM_CASE_RECV 2u
#define THRUM_CASE_EVENT 3u
#define THRUM_CASE_OTHER 4u
#define THRUM_CASE_CLOSED 6u
#define THRUM_CASE_JOIN 10u
#define THRUM_CASE_NEXT 11u
#define THRUM_CASE_KINDS 255u

/*
 * Makes a case that happens when the channel is closed. It receives nothing: elements may still be
 * in the channel. With NULL as the channel, the case never happens.
 *
 * Parameters:
 *   chan_  the channel, or NULL
 * Returns: a value of thrum_case.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_case cases[] = {THRUM_SEND_CASE(work, &job), THRUM_CLOSED_CASE(results)};
 *    int i = thrum_select(cases, 2, THRUM_FOREVER);
 * See also: thrum_select, thrum_chan_is_closed
 */
#define THRUM_CLOSED_CASE(chan_)                                                                   \
    THRUM_CASE_OF(NULL, (1 ? (chan_) : (thrum_chan *)0), THRUM_CASE_CLOSED)

/*
 * Makes a case: THRUM_SEND_CASE sends a copy of *elem_, THRUM_RECV_CASE receives into *elem_, and
 * THRUM_EVENT_CASE waits until the event is signaled. With NULL as the channel, the event, the
 * handle or the scope, the case never happens.
 *
 * THRUM_JOIN_CASE happens when the task has ended. It takes nothing: the handle is still to be
 * joined, and the join does not wait. During the select, no other call may wait for the task, and
 * the handle may be in one case only.
 *
 * THRUM_NEXT_CASE happens when the scope has a result, which thrum_scope_next then takes without
 * waiting. Only the task that opened the scope may select on it. While no child of
 * thrum_scope_spawn is left, the case does not happen.
 *
 * Parameters:
 *   chan_    the channel, or NULL
 *   elem_    the element, or the memory for it; it must live until the select has returned
 *   event_   the event, a thrum_event *, or NULL
 *   handle_  the task, a thrum_handle *, or NULL
 *   scope_   the scope, a thrum_scope *, or NULL
 * Returns: a value of thrum_case.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/channels.c
 * See also: thrum_select, thrum_io_case, thrum_join, thrum_scope_next
 */
#ifdef __cplusplus
#define THRUM_SEND_CASE(chan_, elem_)                                                              \
    (thrum_case{(chan_), (elem_), NULL, THRUM_CASE_SEND, THRUM_CASE_REST})
#define THRUM_RECV_CASE(chan_, elem_)                                                              \
    (thrum_case{(chan_), NULL, (elem_), THRUM_CASE_RECV, THRUM_CASE_REST})
#define THRUM_EVENT_CASE(event_)                                                                   \
    (thrum_case{NULL, NULL, (1 ? (event_) : (struct thrum_event *)0), THRUM_CASE_EVENT,            \
                THRUM_CASE_REST})
#define THRUM_JOIN_CASE(handle_)                                                                   \
    (thrum_case{NULL, NULL, (1 ? (handle_) : (struct thrum_handle *)0), THRUM_CASE_JOIN,           \
                THRUM_CASE_REST})
#define THRUM_NEXT_CASE(scope_)                                                                    \
    (thrum_case{NULL, NULL, (1 ? (scope_) : (struct thrum_scope *)0), THRUM_CASE_NEXT,             \
                THRUM_CASE_REST})
#else
#define THRUM_SEND_CASE(chan_, elem_)                                                              \
    ((thrum_case){(chan_), (elem_), NULL, THRUM_CASE_SEND, THRUM_CASE_REST})
#define THRUM_RECV_CASE(chan_, elem_)                                                              \
    ((thrum_case){(chan_), NULL, (elem_), THRUM_CASE_RECV, THRUM_CASE_REST})
#define THRUM_EVENT_CASE(event_)                                                                   \
    ((thrum_case){NULL, NULL, (1 ? (event_) : (struct thrum_event *)0), THRUM_CASE_EVENT,          \
                  THRUM_CASE_REST})
#define THRUM_JOIN_CASE(handle_)                                                                   \
    ((thrum_case){NULL, NULL, (1 ? (handle_) : (struct thrum_handle *)0), THRUM_CASE_JOIN,         \
                  THRUM_CASE_REST})
#define THRUM_NEXT_CASE(scope_)                                                                    \
    ((thrum_case){NULL, NULL, (1 ? (scope_) : (struct thrum_scope *)0), THRUM_CASE_NEXT,           \
                  THRUM_CASE_REST})
#endif

/*
 * Does exactly one of n cases, and waits until one can be done. It sends or receives an element, or
 * it finds an event signaled, a channel closed, a descriptor ready, a tick due or a task ended. The
 * signal of an auto event and the tick are consumed. Nothing is read from a descriptor, and no
 * result of a task is taken.
 *
 * If several cases can be done at once, thrum_select gives each the same chance, and
 * thrum_select_ordered does the first of them in the array. If a call has to wait, it does the case
 * that can be done first in time.
 *
 * The `status` of the case that happened is 0 if it was done. Otherwise nothing was moved, and it
 * is -EPIPE (the channel is closed), -EOVERFLOW (a broadcast channel's receiver has missed
 * elements), -EBADF (the descriptor is closed) or -EDEADLK (the task is the caller). In the child
 * of a fork it is -ESHUTDOWN for descriptors and tasks of the parent. The `status` of the other
 * cases means nothing.
 *
 * A channel may be in several cases, to send and to receive as well: a select never receives its
 * own element. If no case can ever happen, the call waits for the deadline. A case that can be done
 * at once is done, even past the deadline or by a cancelled caller. If at every moment some case
 * can be done, a late call does one, too.
 *
 * While it waits, the call has a place in the queue of each channel and event. It loses its places
 * if a descriptor turns out not to be ready after all, or if another caller has taken a signal
 * first. It allocates memory only for more than THRUM_SELECT_FRAME cases, for a send that makes an
 * unbounded channel grow, and for a scheduler's first wait for a descriptor.
 *
 * Parameters:
 *   cases     the cases; the array and the objects of all cases must live until the call has
 *             returned
 *   n         the number of cases
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the index of the case that happened, or a negative error code with nothing done.
 * Errors:
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EINVAL           a case has no known kind, cases is NULL, or there are too many cases: more
 *                     than THRUM_SELECT_IO_MAX for descriptors, or millions in all
 *   -ENOMEM           there is no memory
 *   -EMFILE, -ENFILE  the system has no descriptor for a wait for descriptors
 *   -ENOSPC           the system's limit of watched descriptors is reached
 *   -ENOSYS           in a sandbox without epoll or eventfd: the wait for descriptors is not
 *                     possible
 *   -ESHUTDOWN        in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread; may suspend; cancellable.
 * Ordering: the writes before this call are visible to the receiver of an element that it sends.
 *   After the call, the writes before the send, signal, close or end of a task that it found are
 *   visible.
 * Misuse: a handle was joined or detached, or another call waits for its task; a scope is joined,
 *   or the caller has not opened it.
 * Example: examples/channels.c
 * See also: THRUM_SEND_CASE, thrum_io_case, THRUM_TICK_CASE, thrum_event_wait_any
 */
THRUM_API THRUM_NODISCARD int thrum_select(thrum_case cases[], size_t n, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_select_ordered(thrum_case cases[], size_t n,
                                                   thrum_time deadline);

/* The most cases that a select can have without allocating memory for them. */
#define THRUM_SELECT_FRAME 64

THRUM_END_DECLS

#endif
