/*
 * thrum/event.h: a flag to wait for. A manual event stays signaled until it is cleared and wakes
 * all waiters; an auto event lets one waiter through and is cleared by that.
 */
#ifndef THRUM_EVENT_H
#define THRUM_EVENT_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* A signal lets one waiter through (AUTO), or all until the event is cleared (MANUAL). */
typedef enum { THRUM_EVENT_AUTO, THRUM_EVENT_MANUAL } thrum_event_mode;

typedef struct thrum_event {
    uint32_t reserved_word;
    uint32_t reserved_mode;
    void *reserved_first;
    void *reserved_last;
} thrum_event;
THRUM_ABI_SIZE(thrum_event, 24, 16);

/* clang-format off */
#define THRUM_EVENT_INIT(mode, signaled) { (signaled) ? 4u : 0u, (uint32_t)(mode), NULL, NULL }
/* clang-format on */

/*
 * Makes an event of the mode, signaled or not, as THRUM_EVENT_INIT does. Any thread may call it
 * while no other uses the memory. It never suspends and cannot fail.
 */
THRUM_API void thrum_event_init(thrum_event *event, thrum_event_mode mode, bool signaled);

/*
 * Ends the event; to use it again, init it. Any thread may call it. It never suspends. It returns
 * 0, or -EBUSY with the event unchanged while it is waited for. The memory may be freed once every
 * wait on it has returned: a waiter that was woken is not waiting any more, but may not have
 * returned yet.
 */
THRUM_API int thrum_event_destroy(thrum_event *event);

/*
 * Signals the event. A manual event wakes all waiters; an auto event wakes the first, or stays
 * signaled for the next to come. Signals do not add up. What the caller wrote before is visible to
 * the waiter that is let through. Any thread may call it. It never suspends and cannot fail.
 */
THRUM_API void thrum_event_signal(thrum_event *event);

/*
 * Takes the signal back, if there is one; what its sender wrote before is visible. Any thread may
 * call it. It never suspends and cannot fail.
 */
THRUM_API void thrum_event_clear(thrum_event *event);

/*
 * Waits until the event is signaled; an auto event is cleared by that. Any thread may call it. It
 * may suspend. It returns 0, or -ECANCELED when the caller is cancelled, and the event is as it
 * was.
 */
THRUM_API THRUM_NODISCARD int thrum_event_wait(thrum_event *event);
/*
 * Does the same until the deadline. Past it, it returns -ETIMEDOUT, and the event is as it was.
 */
THRUM_API THRUM_NODISCARD int thrum_event_wait_until(thrum_event *event, thrum_time deadline);

/*
 * Does the same as thrum_event_wait_until for an event that something outside of the scheduler
 * brings about, like the `ask` of a poll source (thrum/poll.h). Reports and dumps say so: the
 * caller "waits for" what the text says, of which they show 127 bytes; and for the report of a
 * deadlock the wait may always end by itself. The text is the caller's, unchanged until the call
 * has returned; NULL is an empty one. Any thread may call it. It may suspend. It returns 0, or with
 * the event as it was -ETIMEDOUT past the deadline, -ECANCELED when the caller is cancelled.
 */
THRUM_API THRUM_NODISCARD int thrum_event_wait_outside(thrum_event *event, const char *what,
                                                       thrum_time deadline);
/*
 * Does the same as thrum_event_wait_outside for an event that signals the end of a message, such as
 * an MPI message. Traces show the number of its peer and its tag; a negative number means any
 * (thrum/trace.h). Any thread may call it. It may suspend. It returns 0, or with the event as it
 * was -ETIMEDOUT past the deadline, -ECANCELED when the caller is cancelled.
 */
THRUM_API THRUM_NODISCARD int thrum_event_wait_message(thrum_event *event, const char *what,
                                                       int peer, int tag, thrum_time deadline);

/* The most events that one call can wait for. */
#define THRUM_EVENT_WAIT_ANY_MAX 64

/*
 * Waits until any of n events is signaled and returns its index; if it is auto, that one alone was
 * consumed. Of several that are signaled already each has the same chance; else the first to be
 * signaled ends the wait. An event may stand in the array more than once. The array is the
 * caller's; it and all of the events must live until the call has returned. Any thread may call it.
 * It may suspend, and allocates nothing. Errors, with none consumed: -EINVAL when n is 0 or above
 * the maximum, -ETIMEDOUT past the deadline, -ECANCELED when the caller is cancelled.
 */
THRUM_API THRUM_NODISCARD int thrum_event_wait_any(thrum_event *const events[], size_t n,
                                                   thrum_time deadline);

/*
 * Returns whether the event is signaled, and takes the signal of an auto event; what the sender
 * wrote before is visible. Any thread may call it. It never suspends and cannot fail.
 */
THRUM_API THRUM_NODISCARD bool thrum_event_test(thrum_event *event);

/*
 * Returns whether the event is signaled, and changes nothing; if it is, what the sender wrote
 * before is visible. Any thread may call it. It never suspends and cannot fail.
 */
THRUM_API bool thrum_event_is_signaled(const thrum_event *event);

THRUM_END_DECLS

#endif
