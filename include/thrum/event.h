/*
 * thrum/event.h: an event, a flag that tasks and threads wait for. A signal lets one waiter through
 * (an auto event), or all of them until the event is cleared (a manual event). Signals do not add
 * up: an event is signaled or it is not.
 *
 * An event is memory of the caller and allocates nothing. It must not move while it is in use, and
 * all calls on it may be made from any thread at the same time, except the init.
 */
#ifndef THRUM_EVENT_H
#define THRUM_EVENT_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* How many waiters a signal lets through. */
typedef enum {
    THRUM_EVENT_AUTO,  /* one: a signal wakes the first waiter, or stays for the next one to come */
    THRUM_EVENT_MANUAL /* all: a signal wakes all waiters, and stays until thrum_event_clear */
} thrum_event_mode;

/* An event. The caller owns its memory, and makes it by thrum_event_init or THRUM_EVENT_INIT. */
typedef struct thrum_event {
    uint32_t reserved_word;
    uint32_t reserved_mode;
    void *reserved_first;
    void *reserved_last;
} thrum_event;
THRUM_ABI_SIZE(thrum_event, 24, 16);

/*
 * Makes an event. THRUM_EVENT_INIT is the same as an initializer, also for static variables.
 *
 * Parameters:
 *   event     the memory of the event, which no other thread uses during the call
 *   mode      THRUM_EVENT_AUTO or THRUM_EVENT_MANUAL
 *   signaled  whether the event is signaled at first
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    static thrum_event ready = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
 *    thrum_event turn;
 *    thrum_event_init(&turn, THRUM_EVENT_AUTO, true);
 * See also: thrum_event_destroy
 */
/* clang-format off */
#define THRUM_EVENT_INIT(mode, signaled) { (signaled) ? 4u : 0u, (uint32_t)(mode), NULL, NULL }
/* clang-format on */
THRUM_API void thrum_event_init(thrum_event *event, thrum_event_mode mode, bool signaled);

/*
 * Ends the event. It frees nothing and may be omitted; to use the event again, init it.
 *
 * The memory may be freed once every wait on the event has returned. A waiter that has been woken
 * no longer waits, so this call succeeds, but that wait may not have returned yet.
 *
 * Parameters:
 *   event  the event, which no task or thread waits for
 * Returns: 0, or a negative error code; the event is then unchanged.
 * Errors:
 *   -EBUSY  a task or thread waits for the event
 * Context: any thread; never suspends.
 * Ordering: the writes before all earlier signals of the event are visible after a call that
 *   returned 0.
 */
THRUM_API int thrum_event_destroy(thrum_event *event);

/*
 * Signals the event. A manual event wakes all waiters and stays signaled. An auto event wakes the
 * first waiter; without one, it stays signaled for the next to come. Signals do not add up.
 *
 * Parameters:
 *   event  the event
 * Context: any thread; never suspends.
 * Ordering: the writes before this call are visible to each waiter that it lets through, and to a
 *   thrum_event_test, thrum_event_is_signaled or thrum_event_clear that finds the signal.
 * Example: examples/event.c
 * See also: thrum_event_wait, thrum_event_clear
 */
THRUM_API void thrum_event_signal(thrum_event *event);

/*
 * Wakes all tasks and threads that wait at this moment, even if the event is an auto event, and
 * leaves no signal for later waiters. If nobody waits, it does nothing.
 *
 * A caller that has checked a condition, but does not wait yet, is missed. So is a select or a
 * thrum_event_wait_any that checks its cases again at this moment. If that must not happen, use
 * thrum_cond_broadcast, with a mutex that protects the condition.
 *
 * Parameters:
 *   event  the event
 * Context: any thread; never suspends.
 * Ordering: the writes before this call are visible to each waiter that it wakes.
 * Example:
 *    thrum_event_pulse(&settings_changed); // long polls that wait now are answered
 * See also: thrum_event_signal, thrum_cond_broadcast
 */
THRUM_API void thrum_event_pulse(thrum_event *event);

/*
 * Takes the signal back, if there is one. Then the event is not signaled, and waits on it wait.
 *
 * Parameters:
 *   event  the event
 * Context: any thread; never suspends.
 * Ordering: the writes before the thrum_event_signal whose signal this call takes are visible after
 *   it.
 * Example:
 *    thrum_event_clear(&changed);
 *    look_at_everything(); // a change from now on signals the event again
 *    int err = thrum_event_wait(&changed);
 * See also: thrum_event_signal, thrum_event_test
 */
THRUM_API void thrum_event_clear(thrum_event *event);

/*
 * Waits until the event is signaled. An auto event is cleared for the one waiter that it lets
 * through. thrum_event_wait_until gives up at the deadline. If the event is signaled already, both
 * return 0 at once, even past the deadline or in a cancelled task.
 *
 * Parameters:
 *   event     the event, which must live until the call has returned
 *   deadline  thrum_event_wait_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 when the event was signaled, else a negative error code; the event is then unchanged.
 * Errors:
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to signal the event
 * Context: any thread; may suspend; cancellable.
 * Ordering: the writes before the thrum_event_signal that lets this call through are visible after
 *   it.
 * Example: examples/event.c
 * See also: thrum_event_signal, thrum_event_wait_any, thrum_event_test
 */
THRUM_API THRUM_NODISCARD int thrum_event_wait(thrum_event *event);
THRUM_API THRUM_NODISCARD int thrum_event_wait_until(thrum_event *event, thrum_time deadline);

/*
 * Waits, until the deadline, for an event that something outside of the scheduler signals, such as
 * the `ask` call of a poll source (thrum/poll.h). thrum_event_wait_message is for an event that
 * signals the end of a message, such as an MPI message.
 *
 * Reports and dumps show that the caller "waits for" the text. The search for deadlocks assumes
 * that such a wait can always end. Traces show the message's peer and tag (thrum/trace.h).
 *
 * Parameters:
 *   event     the event, which must live until the call has returned
 *   what      a text that names the reason of the wait, unchanged until the call has returned; 127
 *             bytes of it are shown; NULL is an empty text
 *   peer      the number of the message's peer; a negative number is any peer
 *   tag       the tag of the message; a negative number is any tag
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0 when the event was signaled, else a negative error code; the event is then unchanged.
 * Errors:
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to signal the event
 * Context: any thread; may suspend; cancellable.
 * Ordering: the writes before the thrum_event_signal that lets this call through are visible after
 *   it.
 * Example:
 *    int err = thrum_event_wait_outside(&copied, "the copy to the device", thrum_after_s(10));
 * See also: thrum_event_wait_until, thrum_source_open
 */
THRUM_API THRUM_NODISCARD int thrum_event_wait_outside(thrum_event *event, const char *what,
                                                       thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_event_wait_message(thrum_event *event, const char *what,
                                                       int peer, int tag, thrum_time deadline);

/* The most events that one thrum_event_wait_any can wait for. */
#define THRUM_EVENT_WAIT_ANY_MAX 64

/*
 * Waits until any of n events is signaled, and consumes the signal of that one alone if it is auto.
 * If several are signaled already, each has the same chance; otherwise the first to be signaled
 * ends the wait. If some event is signaled at every moment, a late call finds one, too. It
 * allocates nothing.
 *
 * Parameters:
 *   events    the events; the array and all events in it must live until the call has returned; an
 *             event may be in it more than once
 *   n         how many events there are, 1 to THRUM_EVENT_WAIT_ANY_MAX
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the index of the event that was signaled, or a negative error code; no signal is then
 *   consumed.
 * Errors:
 *   -EINVAL     n is 0 or above THRUM_EVENT_WAIT_ANY_MAX, or events is NULL
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to signal an event
 * Context: any thread; may suspend; cancellable.
 * Ordering: the writes before the thrum_event_signal that lets this call through are visible after
 *   it.
 * Example:
 *    thrum_event *const events[] = {&data, &quit};
 *    int which = thrum_event_wait_any(events, 2, thrum_after_ms(100));
 * See also: thrum_event_wait_until, thrum_select
 */
THRUM_API THRUM_NODISCARD int thrum_event_wait_any(thrum_event *const events[], size_t n,
                                                   thrum_time deadline);

/*
 * Returns whether the event is signaled. thrum_event_test takes the signal of an auto event, as a
 * wait does; thrum_event_is_signaled changes nothing.
 *
 * Parameters:
 *   event  the event
 * Returns: true when the event was signaled.
 * Context: any thread; never suspends.
 * Ordering: the writes before the thrum_event_signal whose signal is found are visible after a call
 *   that returned true.
 * Example:
 *    if (thrum_event_test(&turn)) {
 *        take_the_turn(); // no other caller has this signal
 *    }
 * See also: thrum_event_wait
 */
THRUM_API THRUM_NODISCARD bool thrum_event_test(thrum_event *event);
THRUM_API bool thrum_event_is_signaled(const thrum_event *event);

THRUM_END_DECLS

#endif
