/*
 * thrum/tickets.h: tickets. They are served in the order in which they were taken: a ticket's turn
 * comes when all tickets that were taken before it are done.
 *
 * So pieces of work that become ready in any order can be output in one order. Take a ticket for
 * each piece when it begins, wait for the ticket's turn when the piece is ready, and then end the
 * ticket by thrum_ticket_done.
 *
 * Tickets are memory of the caller, and must not move from the take to the done. Every ticket that
 * was taken must be done once, also one that is not used. There is no other way to drop it, and all
 * tickets that were taken after it wait for that. Nothing is allocated.
 */
#ifndef THRUM_TICKETS_H
#define THRUM_TICKETS_H

#include "thrum/base.h"
#include "thrum/task.h"

THRUM_BEGIN_DECLS

/* An order of tickets. The caller owns its memory: thrum_tickets_init or THRUM_TICKETS_INIT. */
typedef struct thrum_tickets {
    uint32_t reserved_word;
    uint32_t reserved_pad;
    void *reserved_first;
    void *reserved_last;
} thrum_tickets;
THRUM_ABI_SIZE(thrum_tickets, 24, 16);

/* A ticket, in the memory of the caller that takes it. It needs no initializer. */
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

/*
 * Makes an order without tickets. THRUM_TICKETS_INIT is the same as an initializer, also for static
 * variables.
 *
 * Parameters:
 *   tickets  the memory of the order, which no other thread uses during the call
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    static thrum_tickets output = THRUM_TICKETS_INIT;
 * See also: thrum_tickets_take
 */
/* clang-format off */
#define THRUM_TICKETS_INIT { 0, 0, NULL, NULL }
/* clang-format on */
THRUM_API void thrum_tickets_init(thrum_tickets *tickets);

/*
 * Ends the order, which is then as after the init. It frees nothing and may be omitted.
 *
 * Parameters:
 *   tickets  the order
 * Returns: 0, or a negative error code; nothing is changed then.
 * Errors:
 *   -EBUSY  a ticket is not done
 * Context: any thread; never suspends.
 * Ordering: the writes before every thrum_ticket_done are visible after a call that returned 0.
 */
THRUM_API int thrum_tickets_destroy(thrum_tickets *tickets);

/*
 * Takes the next ticket, or the next n tickets, with no ticket of another caller between them.
 *
 * Parameters:
 *   tickets  the order
 *   ticket   the memory of the ticket or tickets, which needs no init
 *   n        how many tickets are taken
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/tickets.c
 * See also: thrum_ticket_wait, thrum_ticket_done
 */
THRUM_API void thrum_tickets_take(thrum_tickets *tickets, thrum_ticket *ticket);
THRUM_API void thrum_tickets_take_n(thrum_tickets *tickets, thrum_ticket ticket[], size_t n);

/*
 * Waits for the ticket's turn. thrum_ticket_wait_until gives up at the deadline. Several callers
 * may wait for the same ticket. If the turn has come, both return 0 at once.
 *
 * Parameters:
 *   ticket    the ticket
 *   deadline  thrum_ticket_wait_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 when all tickets before it are done, else a negative error code; the ticket then keeps
 *   its place.
 * Errors:
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -EINVAL     the ticket is not taken
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the tickets before
 *               it
 * Context: any thread; may suspend; cancellable.
 * Ordering: the writes before the thrum_ticket_done of all earlier tickets are visible after a call
 *   that returned 0.
 * Example: examples/tickets.c
 * See also: thrum_ticket_is_called, thrum_ticket_on_call, thrum_ticket_done
 */
THRUM_API THRUM_NODISCARD int thrum_ticket_wait(thrum_ticket *ticket);
THRUM_API THRUM_NODISCARD int thrum_ticket_wait_until(thrum_ticket *ticket, thrum_time deadline);

/*
 * Returns whether the ticket's turn has come.
 *
 * Parameters:
 *   ticket  the ticket, which is taken
 * Returns: true if all tickets before it are done.
 * Context: any thread; never suspends.
 * Ordering: the writes before the thrum_ticket_done of all earlier tickets are visible after a call
 *   that returned true.
 * See also: thrum_ticket_wait
 */
THRUM_API bool thrum_ticket_is_called(const thrum_ticket *ticket);

/*
 * Ends the ticket. If it was the first, the turn of the next one comes. A ticket that ends before
 * its turn is dropped, as if it had not been taken. The ticket's memory is the caller's again, and
 * after the last ticket so is that of the order.
 *
 * Parameters:
 *   ticket  the ticket
 * Context: any thread; never suspends.
 * Ordering: the writes before this call are visible after the waits for later tickets.
 * Misuse: the ticket is not taken, or is waited for, or is on call and its function has not begun.
 * See also: thrum_tickets_take
 */
THRUM_API void thrum_ticket_done(thrum_ticket *ticket);

/*
 * Runs `fn(arg)` as a task when the ticket's turn comes, or at once if it has come. Until then it
 * blocks no task or thread, and costs no stack. Once this call has returned 0, nothing can fail any
 * more. The task must end the ticket, by itself or through others.
 *
 * thrum_sched_stop waits for the task, as for one that waits for the ticket. If
 * thrum_sched_stop_until cancels the waits at its deadline, fn runs all the same, before its turn.
 * thrum_ticket_wait in it then returns -ECANCELED, and otherwise 0.
 *
 * Parameters:
 *   ticket  the ticket
 *   sched   thrum_ticket_on_call_with only: the scheduler; else it is the caller's
 *   fn      the function; its result is dropped
 *   arg     its argument
 * Returns: 0, or a negative error code; nothing is begun then.
 * Errors:
 *   -EINVAL     the ticket is not taken, or sched or fn is NULL
 *   -ESRCH      thrum_ticket_on_call only: the caller is a plain thread
 *   -EBUSY      the ticket is on call already
 *   -ESHUTDOWN  the scheduler stops or has been stopped, and the caller is external; or it is the
 *               scheduler of a fork's parent
 * Context: a task or a bound thread, for thrum_ticket_on_call_with any thread; never suspends.
 * Ordering: the writes before this call, and before the thrum_ticket_done of all earlier tickets,
 *   are visible to fn.
 * Example: examples/tickets.c
 * See also: thrum_ticket_wait
 */
THRUM_API THRUM_NODISCARD int thrum_ticket_on_call(thrum_ticket *ticket, thrum_fn fn, void *arg);
THRUM_API THRUM_NODISCARD int thrum_ticket_on_call_with(thrum_ticket *ticket, thrum_sched *sched,
                                                        thrum_fn fn, void *arg);

THRUM_END_DECLS

#endif
