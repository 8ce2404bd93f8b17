/*
 * thrum/event.h: a flag to wait for. A manual event stays signaled until it is cleared and wakes
 * everyone; an auto event lets one waiter through and is cleared by that.
 */
#ifndef THRUM_EVENT_H
#define THRUM_EVENT_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef enum { THRUM_EVENT_AUTO, THRUM_EVENT_MANUAL } thrum_event_mode;

typedef struct thrum_event {
    uint32_t reserved_word;
    uint32_t reserved_mode;
    void *reserved_first;
    void *reserved_last;
} thrum_event;
THRUM_STATIC_ASSERT(sizeof(thrum_event) == 24, "part of the ABI");

/* clang-format off */
#define THRUM_EVENT_INIT(mode, signaled) { (signaled) ? 4u : 0u, (uint32_t)(mode), NULL, NULL }
/* clang-format on */

THRUM_API void thrum_event_init(thrum_event *event, thrum_event_mode mode, bool signaled);

/*
 * -EBUSY, unchanged, while it is waited for. It may be freed once every wait on it has returned: a
 * waiter that was woken is not waiting any more, but may not have returned yet.
 */
THRUM_API int thrum_event_destroy(thrum_event *event);

/*
 * Signals. A manual event wakes all who wait; an auto event wakes the first, or stays signaled for
 * the next to come. Signals do not add up. What the caller wrote before is visible to who is let
 * through. Any thread; never suspends.
 */
THRUM_API void thrum_event_signal(thrum_event *event);

/* Takes the signal back. Any thread; never suspends. */
THRUM_API void thrum_event_clear(thrum_event *event);

/*
 * Waits until it is signaled; an auto event is cleared by that. Any thread; may suspend. 0, or
 * -ECANCELED: the event is as it was.
 */
THRUM_API THRUM_NODISCARD int thrum_event_wait(thrum_event *event);
/* The same until the deadline: -ETIMEDOUT, and the event is as it was. */
THRUM_API THRUM_NODISCARD int thrum_event_wait_until(thrum_event *event, thrum_time deadline);

/* How many events one call can wait for. */
#define THRUM_EVENT_WAIT_ANY_MAX 64

/*
 * Waits until any of n events is signaled: returns its number, and has consumed that one alone (if
 * it is auto). Of several that are signaled already each has the same chance; else the first to be
 * signaled ends the wait. An event may stand in the list more than once. Any thread; may suspend;
 * allocates nothing. -EINVAL (n is 0 or above the maximum), -ETIMEDOUT, -ECANCELED: none was
 * consumed. All of the events must live until the call has returned.
 */
THRUM_API THRUM_NODISCARD int thrum_event_wait_any(thrum_event *const events[], size_t n,
                                                   thrum_time deadline);

/* Whether it is signaled; takes the signal of an auto event. Any thread; never suspends. */
THRUM_API THRUM_NODISCARD bool thrum_event_test(thrum_event *event);

/* Whether it is signaled, changing nothing. Any thread; never suspends. */
THRUM_API bool thrum_event_is_signaled(const thrum_event *event);

THRUM_END_DECLS

#endif
