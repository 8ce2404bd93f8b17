/*
 * thrum/tickets.h: turns in the order in which tickets were taken.
 *
 * A ticket's turn comes when all tickets that were taken before it are done. So work that is done
 * in any order can be given out in one: take a ticket for each piece when it is begun, wait for its
 * turn when it is ready, say that it is done.
 *
 * Tickets lie in the caller's storage, and stay where they are from the take to the done. Every
 * ticket that was taken must be done once, also one that is not used: there is no other way to drop
 * it, and all that were taken after it wait for that. Nothing is allocated.
 */
#ifndef THRUM_TICKETS_H
#define THRUM_TICKETS_H

#include "thrum/base.h"
#include "thrum/task.h"

THRUM_BEGIN_DECLS

typedef struct thrum_tickets {
    uint32_t reserved_word;
    uint32_t reserved_pad;
    void *reserved_first;
    void *reserved_last;
} thrum_tickets;
THRUM_STATIC_ASSERT(sizeof(thrum_tickets) == 24, "part of the ABI");

typedef struct thrum_ticket {
    thrum_tickets *reserved_tickets;
    struct thrum_ticket *reserved_next;
    struct thrum_ticket *reserved_prev;
    void *reserved_first;
    void *reserved_last;
    thrum_fn reserved_fn;
    void *reserved_arg;
    uint32_t reserved_called;
    uint32_t reserved_on_call;
    thrum_task reserved_task;
} thrum_ticket;
THRUM_STATIC_ASSERT(sizeof(thrum_ticket) == 136, "part of the ABI");

/* clang-format off */
#define THRUM_TICKETS_INIT { 0, 0, NULL, NULL }
/* clang-format on */

THRUM_API void thrum_tickets_init(thrum_tickets *tickets);

/* -EBUSY, unchanged, while a ticket is not done. */
THRUM_API int thrum_tickets_destroy(thrum_tickets *tickets);

/* Takes the next ticket; `ticket` needs no init. Any thread; never suspends. */
THRUM_API void thrum_tickets_take(thrum_tickets *tickets, thrum_ticket *ticket);

/* Takes the next n, one after the other, with nobody else's between them. */
THRUM_API void thrum_tickets_take_n(thrum_tickets *tickets, thrum_ticket ticket[], size_t n);

/*
 * Waits for its turn; several may wait for the same one's. Any thread; may suspend. 0: all tickets
 * before it are done, and what was written before that is visible. -ECANCELED
 * (thrum_sched_stop_until): the ticket keeps its place. -EINVAL: it is not taken.
 */
THRUM_API THRUM_NODISCARD int thrum_ticket_wait(thrum_ticket *ticket);
/* The same until the deadline: -ETIMEDOUT, and the ticket keeps its place. */
THRUM_API THRUM_NODISCARD int thrum_ticket_wait_until(thrum_ticket *ticket, thrum_time deadline);

/* Whether its turn has come; then as after the wait. Any thread; never suspends. */
THRUM_API bool thrum_ticket_is_called(const thrum_ticket *ticket);

/*
 * Ends the ticket: if it was the first, the next one's turn comes. One that is done before its turn
 * is dropped: it is as if it had not been taken. Any thread; never suspends. The ticket is the
 * caller's again; the last one may free the tickets. Aborts when it is not taken, is waited for, or
 * is on call and its function has not begun.
 */
THRUM_API void thrum_ticket_done(thrum_ticket *ticket);

/*
 * Has `fn(arg)` run as a task when its turn comes; at once, if it has. Nobody blocks for it, it
 * costs no stack before it runs, and once this call has returned 0 nothing can fail any more. The
 * task must have the ticket done, by itself or through others; what `fn` returns is dropped.
 * Tasks and bound threads only; the other form, which names the scheduler: any thread. Never
 * suspends. Errors, with nothing begun: -EINVAL (not taken), -ESRCH (neither in a task nor on a
 * bound thread), -EBUSY (it is on call already), -ESHUTDOWN (from outside, while the scheduler
 * stops).
 *
 * thrum_sched_stop waits for it, as for a task that waits for the ticket. When stop_until, past its
 * deadline, cancels what waits, `fn` runs all the same, before its turn: thrum_ticket_wait in it
 * says which of the two it is, 0 or -ECANCELED.
 */
THRUM_API THRUM_NODISCARD int thrum_ticket_on_call(thrum_ticket *ticket, thrum_fn fn, void *arg);
THRUM_API THRUM_NODISCARD int thrum_ticket_on_call_with(thrum_ticket *ticket, thrum_sched *sched,
                                                        thrum_fn fn, void *arg);

THRUM_END_DECLS

#endif
