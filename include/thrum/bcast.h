/*
 * thrum/bcast.h: broadcast channels, and watch channels.
 *
 * A broadcast channel passes each element to all of its receivers. It keeps the newest elements, so
 * a send never waits: it overwrites the oldest element. A receiver that is too slow finds out how
 * many elements it has missed.
 *
 * A receiver is a position in the channel. It need not be closed, and a channel has any number of
 * them. Receives that find an element take no lock and write to no memory that others use.
 *
 * To watch a value, call thrum_bcast_recv_latest in place of thrum_bcast_recv: it skips all but the
 * newest element. thrum_bcast_peek copies that element at any time.
 */
#ifndef THRUM_BCAST_H
#define THRUM_BCAST_H

#include "thrum/base.h"
#include "thrum/chan.h"

THRUM_BEGIN_DECLS

/* A broadcast channel. It belongs to the caller of thrum_bcast_create until thrum_bcast_destroy. */
typedef struct thrum_bcast thrum_bcast;

/*
 * A receiver: the position of its next element. It is in the caller's memory and owns nothing. One
 * call at a time may use it; a copy is another receiver at the same position.
 */
typedef struct thrum_bcast_receiver {
    uint64_t reserved_next;
    uint64_t reserved_missed;
    thrum_bcast *reserved_bcast;
    void *reserved_pad;
} thrum_bcast_receiver;
THRUM_ABI_SIZE(thrum_bcast_receiver, 32, 24);

/*
 * Makes a broadcast channel. Its memory comes from malloc, and it allocates nothing afterwards.
 *
 * Parameters:
 *   out        gets the channel, which is the caller's until thrum_bcast_destroy
 *   elem_size  the size of an element in bytes; 0 for elements without content
 *   capacity   how many of the newest elements the channel keeps, at least 1; it keeps up to twice
 *              as many, and never fewer than 4
 * Returns: 0, or a negative error code with *out unchanged.
 * Errors:
 *   -EINVAL  out is NULL, the capacity is 0, or the size or the capacity is too large
 *   -ENOMEM  there is no memory
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/broadcast.c
 * See also: thrum_bcast_destroy, thrum_bcast_subscribe, thrum_bcast_send
 */
THRUM_API THRUM_NODISCARD int thrum_bcast_create(thrum_bcast **out, size_t elem_size,
                                                 size_t capacity);

/*
 * Frees a channel and the elements in it. Every other call on it and on its receivers must have
 * returned, except receives that a send or a close has woken: they no longer use the channel.
 *
 * Parameters:
 *   bcast  the channel, or NULL
 * Returns: 0, also for NULL, or -EBUSY with the channel unchanged.
 * Errors:
 *   -EBUSY  a receiver waits
 * Context: any thread; never suspends.
 * Ordering: the writes before all earlier sends are visible.
 * See also: thrum_bcast_create, thrum_bcast_close
 */
THRUM_API int thrum_bcast_destroy(thrum_bcast *bcast);

/*
 * Makes a receiver, which receives the elements that are sent from now on.
 *
 * Parameters:
 *   bcast     the channel, which must live until the last call with the receiver has returned
 *   receiver  the memory of the receiver
 * Context: any thread; never suspends.
 * Ordering: the writes before the sends of the elements that are skipped are visible.
 * Example: examples/broadcast.c
 * See also: thrum_bcast_recv, thrum_bcast_recv_latest
 */
THRUM_API void thrum_bcast_subscribe(thrum_bcast *bcast, thrum_bcast_receiver *receiver);

/*
 * Sends a copy of an element to all receivers. It does not wait for them: the oldest element is
 * overwritten, also if a receiver has not received it. It also succeeds without any receiver.
 *
 * Parameters:
 *   bcast  the channel
 *   elem   the element, which is read until the call returns
 * Returns: 0 when the element was sent, or -EPIPE when it was not.
 * Errors:
 *   -EPIPE  the channel is closed
 * Context: any thread; never suspends.
 * Ordering: the writes before the call are visible to the receivers of the element; after -EPIPE,
 *   the writes before the thrum_bcast_close are visible.
 * Example: examples/broadcast.c
 * See also: thrum_bcast_recv, thrum_bcast_close
 */
THRUM_API THRUM_NODISCARD int thrum_bcast_send(thrum_bcast *bcast, const void *elem);

/*
 * Receives the receiver's next element. thrum_bcast_recv waits while there is none,
 * thrum_bcast_recv_until gives up at the deadline, and thrum_bcast_try_recv does not wait. An
 * element that is there is received, even past the deadline or by a cancelled caller.
 *
 * After -EOVERFLOW, thrum_bcast_missed returns how many elements the receiver has missed, and the
 * next call receives the oldest element that is still there.
 *
 * Parameters:
 *   receiver  the receiver, which no other call uses until this call has returned
 *   elem      the memory that the element is copied to
 *   deadline  thrum_bcast_recv_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 with the element received, or a negative error code; *elem is then unchanged, except
 *   after -EOVERFLOW, when its bytes may be of several elements.
 * Errors:
 *   -EOVERFLOW  the next element was overwritten; the receiver skips all that it has missed
 *   -EPIPE      the channel is closed and the receiver has received all elements, or the channel
 *               was closed during the wait
 *   -ECANCELED  the caller was cancelled; not from thrum_bcast_try_recv
 *   -ETIMEDOUT  thrum_bcast_recv_until: the deadline passed
 *   -EAGAIN     thrum_bcast_try_recv: there is no element
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread; may suspend; cancellable. thrum_bcast_try_recv never suspends.
 * Ordering: the writes of the sender before it sent the element are visible; after -EPIPE, the
 *   writes before the thrum_bcast_close are visible.
 * Example: examples/broadcast.c
 * See also: thrum_bcast_missed, thrum_bcast_recv_latest, THRUM_BCAST_CASE,
 *   thrum_bcast_recv_on_until
 */
THRUM_API THRUM_NODISCARD int thrum_bcast_recv(thrum_bcast_receiver *receiver, void *elem);
THRUM_API THRUM_NODISCARD int thrum_bcast_recv_until(thrum_bcast_receiver *receiver, void *elem,
                                                     thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_bcast_try_recv(thrum_bcast_receiver *receiver, void *elem);

/*
 * Returns how many elements the receiver had missed at its last -EOVERFLOW. The number does not
 * include those of earlier ones.
 *
 * Parameters:
 *   receiver  the receiver
 * Returns: the number of elements; 0 if it has never missed any.
 * Context: the caller of the receiver's other calls; never suspends.
 * Ordering: none.
 * See also: thrum_bcast_recv
 */
THRUM_API uint64_t thrum_bcast_missed(const thrum_bcast_receiver *receiver);

/*
 * Receives the newest element that was sent since the receiver's last receive, and skips those
 * before it. thrum_bcast_recv_latest waits while there is none, thrum_bcast_recv_latest_until gives
 * up at the deadline, and thrum_bcast_try_recv_latest does not wait. An element that is there is
 * received, even past the deadline or by a cancelled caller. Skipped elements are not missed ones.
 *
 * Parameters:
 *   receiver  the receiver, which no other call uses until this call has returned
 *   elem      the memory that the element is copied to
 *   deadline  thrum_bcast_recv_latest_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 with the element received, or a negative error code with *elem unchanged.
 * Errors:
 *   -EPIPE      the channel is closed and the receiver has seen its newest element, or the channel
 *               was closed during the wait
 *   -ECANCELED  the caller was cancelled; not from thrum_bcast_try_recv_latest
 *   -ETIMEDOUT  thrum_bcast_recv_latest_until: the deadline passed
 *   -EAGAIN     thrum_bcast_try_recv_latest: there is no newer element
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread; may suspend; cancellable. thrum_bcast_try_recv_latest never suspends.
 * Ordering: the writes of the sender before it sent the element are visible; after -EPIPE, the
 *   writes before the thrum_bcast_close are visible.
 * Example: examples/broadcast.c
 * See also: thrum_bcast_peek, thrum_bcast_recv, THRUM_BCAST_LATEST_CASE,
 *   thrum_bcast_recv_latest_on_until
 */
THRUM_API THRUM_NODISCARD int thrum_bcast_recv_latest(thrum_bcast_receiver *receiver, void *elem);
THRUM_API THRUM_NODISCARD int thrum_bcast_recv_latest_until(thrum_bcast_receiver *receiver,
                                                            void *elem, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_bcast_try_recv_latest(thrum_bcast_receiver *receiver,
                                                          void *elem);

/*
 * Copies the newest element, also after a close. It remains new to the receivers.
 *
 * Parameters:
 *   bcast  the channel
 *   elem   the memory that the element is copied to
 * Returns: 0, or -EAGAIN with *elem unchanged.
 * Errors:
 *   -EAGAIN  nothing was sent yet
 * Context: any thread; never suspends.
 * Ordering: the writes of the sender before it sent the element are visible.
 * Example: examples/broadcast.c
 * See also: thrum_bcast_recv_latest
 */
THRUM_API THRUM_NODISCARD int thrum_bcast_peek(const thrum_bcast *bcast, void *elem);

/*
 * Closes the channel. Receivers that wait get -EPIPE. Elements that are in the channel can still be
 * received.
 *
 * Parameters:
 *   bcast  the channel
 * Returns: 0, or -EPIPE with nothing changed.
 * Errors:
 *   -EPIPE  the channel is closed already
 * Context: any thread; never suspends.
 * Ordering: the writes before the call are visible to the callers that get -EPIPE by it.
 * Example: examples/broadcast.c
 * See also: thrum_bcast_destroy
 */
THRUM_API int thrum_bcast_close(thrum_bcast *bcast);

/* The kinds of cases (thrum/chan.h) that receive the next element, and the newest one. */
#define THRUM_CASE_BCAST 5u
#define THRUM_CASE_BCAST_LATEST (THRUM_CASE_BCAST | 256u)

/*
 * Makes a case of thrum_select that receives from a broadcast channel, as thrum_bcast_recv or as
 * thrum_bcast_recv_latest does. The `status` of the case that happened is 0, -EPIPE or -EOVERFLOW.
 * With NULL as the receiver, the case never happens.
 *
 * Parameters:
 *   receiver_  the receiver, a thrum_bcast_receiver *, or NULL; it may be in one case only
 *   elem_      the memory for the element; it must live until the select has returned
 * Returns: a value of thrum_case.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_case cases[] = {THRUM_BCAST_CASE(&news, &item), THRUM_EVENT_CASE(&stop)};
 *    int i = thrum_select(cases, 2, THRUM_FOREVER);
 * See also: thrum_select, thrum_bcast_recv, thrum_bcast_recv_latest
 */
#define THRUM_BCAST_CASE(receiver_, elem_)                                                         \
    THRUM_CASE_OF((1 ? (receiver_) : (thrum_bcast_receiver *)0), (elem_), THRUM_CASE_BCAST)
#define THRUM_BCAST_LATEST_CASE(receiver_, elem_)                                                  \
    THRUM_CASE_OF((1 ? (receiver_) : (thrum_bcast_receiver *)0), (elem_), THRUM_CASE_BCAST_LATEST)

THRUM_END_DECLS

#endif
