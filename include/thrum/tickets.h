/*
 * thrum/tickets.h: turns in the order in which tickets were taken.
 *
 * A ticket's turn comes when all tickets that were taken before it are done. So pieces of work that
 * become ready in any order can be given out in one order: take a ticket for each piece when it is
 * begun, wait for the ticket's turn when the piece is ready, then say that the ticket is done.
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
THRUM_ABI_SIZE(thrum_tickets, 24, 16);

/* One ticket, in the memory of the caller that takes it. */
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
#if UINTPTR_MAX == UINT32_MAX
    uint32_t reserved_pad; /* the task is aligned alike on all processors of 32 bits */
#endif
    thrum_task reserved_task;
} thrum_ticket;
THRUM_ABI_SIZE(thrum_ticket, 136, 104);

/* clang-format off */
#define THRUM_TICKETS_INIT { 0, 0, NULL, NULL }
/* clang-format on */

/*
 * Makes an order without tickets, as THRUM_TICKETS_INIT does. Any thread may call it while no other
 * uses the memory. It never suspends and cannot fail.
 */
THRUM_API void thrum_tickets_init(thrum_tickets *tickets);

/*
 * Ends the order, which is then as after the init. Any thread may call it. It never suspends. It
 * returns 0, or -EBUSY with nothing changed while a ticket is not done.
 */
THRUM_API int thrum_tickets_destroy(thrum_tickets *tickets);

/*
 * Takes the next ticket; `ticket` needs no init. Any thread may call it. It never suspends and
 * cannot fail.
 */
THRUM_API void thrum_tickets_take(thrum_tickets *tickets, thrum_ticket *ticket);

/*
 * Takes the next n tickets, one after the other, with no other caller's between them. Any thread
 * may call it. It never suspends and cannot fail.
 */
THRUM_API void thrum_tickets_take_n(thrum_tickets *tickets, thrum_ticket ticket[], size_t n);

/*
 * Waits for the ticket's turn; several callers may wait for the same ticket. Any thread may call
 * it. It may suspend. It returns 0 when all tickets before it are done, and what was written before
 * that is visible; -ECANCELED, with the ticket in its place, when the caller is cancelled, by
 * thrum_cancel or in another way; or -EINVAL when the ticket is not taken.
 */
THRUM_API THRUM_NODISCARD int thrum_ticket_wait(thrum_ticket *ticket);
/*
 * Does the same until the deadline. Past it, it returns -ETIMEDOUT, and the ticket keeps its place.
 */
THRUM_API THRUM_NODISCARD int thrum_ticket_wait_until(thrum_ticket *ticket, thrum_time deadline);

/*
 * Returns whether the ticket's turn has come; if so, what the wait makes visible is visible. Any
 * thread may call it while the ticket is taken. It never suspends and cannot fail.
 */
THRUM_API bool thrum_ticket_is_called(const thrum_ticket *ticket);

/*
 * Ends the ticket: if it was the first, the next one's turn comes. One that is done before its turn
 * is dropped: it is as if it had not been taken. The ticket's memory is the caller's again, and
 * after the last ticket that of the order. Any thread may call it. It never suspends. It aborts
 * when the ticket is not taken, is waited for, or is on call and its function has not begun.
 */
THRUM_API void thrum_ticket_done(thrum_ticket *ticket);

/*
 * Has `fn(arg)` run as a task when the ticket's turn comes, or at once if it has come. No task or
 * thread blocks for it, it costs no stack before it runs, and once this call has returned 0 nothing
 * can fail any more. The task must have the ticket done, by itself or through others; what `fn`
 * returns is dropped. Tasks and bound threads may call it, and any thread the form that names the
 * scheduler. It never suspends. Errors, with nothing begun: -EINVAL when the ticket is not taken or
 * an argument is NULL; -ESRCH when the caller is neither a task nor a bound thread; -EBUSY when it
 * is on call already; -ESHUTDOWN for an external caller while the scheduler stops.
 *
 * thrum_sched_stop waits for the task, as for one that waits for the ticket. When
 * thrum_sched_stop_until, past its deadline, cancels what waits, `fn` runs all the same, before its
 * turn: thrum_ticket_wait in it says which of the two it is, 0 or -ECANCELED.
 */
THRUM_API THRUM_NODISCARD int thrum_ticket_on_call(thrum_ticket *ticket, thrum_fn fn, void *arg);
THRUM_API THRUM_NODISCARD int thrum_ticket_on_call_with(thrum_ticket *ticket, thrum_sched *sched,
                                                        thrum_fn fn, void *arg);

THRUM_END_DECLS

#endif
