/*
 * tickets.c: tickets: turns in the order in which they were taken.
 *
 *     word    bit 0  LOCKED  the list lock (wordlock.h)
 *             bit 1  OUT     the list of tickets is not empty
 *
 * The tickets that are not done form a list, doubly linked, in the order in which they were taken.
 * LOCKED protects it, and also each ticket's own list of waiters, and `on_call`.
 *
 * Invariant, for all but the holder of LOCKED: the first ticket of the list is *called*, and no
 * other. `called` is set under LOCKED and never taken back, so it may be read without.
 *
 * A ticket on call has posted its task, which waits to be signaled: the thread that calls the
 * ticket signals it, once, and nothing in that can fail. sync/LOCKS.md has the argument.
 */
#include "thrum/tickets.h"

#include <errno.h>

#include "base/check.h"
#include "core/state/thread.h"
#include "core/state/worker.h"
#include "core/task/await.h"
#include "platform/platform.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"
#include "thrum/sched.h"

#define OUT TH_WORD_WAITERS

/*
 * The values of on_call. TO_BE_SIGNALED: registered before the turn, whose call will signal the
 * task. POSTED: registered after it, so the task was posted to run at once.
 */
enum { NOT, TO_BE_SIGNALED, POSTED };

static inline th_waitlist waiters_of(thrum_ticket *ticket) {
    return (th_waitlist){&ticket->reserved_first, &ticket->reserved_last};
}

static void lock_list(thrum_tickets *tickets) {
    (void)th_word32_lock_list(&tickets->reserved_word);
}

static void unlock_list(thrum_tickets *tickets) {
    th_word32_publish(&tickets->reserved_word, tickets->reserved_first ? OUT : 0);
}

bool thrum_ticket_is_called(const thrum_ticket *ticket) {
    /* pairs: call; the writes before the earlier tickets were done */
    return th_load_acquire(&ticket->reserved_called) != 0;
}

/* ---- taking ---- */

static void make(thrum_tickets *tickets, thrum_ticket *ticket, thrum_ticket *prev,
                 thrum_ticket *next) {
    ticket->reserved_tickets = tickets;
    ticket->reserved_prev = prev;
    ticket->reserved_next = next;
    ticket->reserved_first = NULL;
    ticket->reserved_last = NULL;
    ticket->reserved_on_call = NOT;
    /* relaxed: no other thread has the ticket yet */
    th_store_relaxed(&ticket->reserved_called, 0u);
}

void thrum_tickets_take_n(thrum_tickets *tickets, thrum_ticket ticket[], size_t n) {
    if (n == 0) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        make(tickets, &ticket[i], i ? &ticket[i - 1] : NULL, i + 1 < n ? &ticket[i + 1] : NULL);
    }
    lock_list(tickets);
    thrum_ticket *last = tickets->reserved_last;
    if (last) {
        last->reserved_next = &ticket[0];
        ticket[0].reserved_prev = last;
    } else {
        tickets->reserved_first = &ticket[0];
        /* relaxed: the caller's own ticket; the list lock has acquired the earlier writes */
        th_store_relaxed(&ticket[0].reserved_called, 1u);
    }
    tickets->reserved_last = &ticket[n - 1];
    unlock_list(tickets);
}

void thrum_tickets_take(thrum_tickets *tickets, thrum_ticket *ticket) {
    thrum_tickets_take_n(tickets, ticket, 1);
}

/* ---- waiting ---- */

/* Takes a waiter that gives up off the list. False: it was off the list already. */
static bool leave(void *object, th_waiter *me) {
    thrum_ticket *ticket = object;
    thrum_tickets *tickets = ticket->reserved_tickets;
    lock_list(tickets);
    bool listed = th_waitlist_leave(waiters_of(ticket), me);
    unlock_list(tickets);
    return listed;
}

static TH_ALWAYS_INLINE int stand(void *object, th_waiter *me, bool late) {
    thrum_ticket *ticket = object;
    if (thrum_ticket_is_called(ticket)) {
        return 1;
    }
    if (late) {
        return -ETIMEDOUT;
    }
    thrum_tickets *tickets = ticket->reserved_tickets;
    lock_list(tickets);
    /* relaxed: written under the list lock */
    bool called = th_load_relaxed(&ticket->reserved_called) != 0;
    if (!called) {
        th_waitlist_push(waiters_of(ticket), me);
    }
    unlock_list(tickets);
    return called;
}

static const th_wait_kind waits = {.on = TH_ON_TICKET, .stand = stand, .leave = leave};

int thrum_ticket_wait_until(thrum_ticket *ticket, thrum_time deadline) {
    if (!ticket->reserved_tickets) {
        return -EINVAL;
    }
    return thrum_ticket_is_called(ticket) ? 0 : th_wait_on(&waits, ticket, deadline);
}

int thrum_ticket_wait(thrum_ticket *ticket) {
    return thrum_ticket_wait_until(ticket, THRUM_FOREVER);
}

int thrum_ticket_on_until(thrum_ticket *ticket, thrum_await *await, thrum_task *task,
                          thrum_time deadline) {
    return ticket->reserved_tickets ? th_await_on(&waits, ticket, await, task, deadline) : -EINVAL;
}

/* ---- the turn ---- */

/* The waiters to wake and the event to signal for a turn, once the list is unlocked. */
typedef struct told {
    th_waiter *chain;
    thrum_task *task; /* the task to be signaled, or NULL */
} told;

/* With the list lock. Begins the ticket's turn. */
static told call(thrum_ticket *ticket) {
    /* pairs: thrum_ticket_is_called; the writes before the earlier tickets were done */
    th_store_release(&ticket->reserved_called, 1u);
    told who = {th_waitlist_detach(waiters_of(ticket)), NULL};
    if (ticket->reserved_on_call == TO_BE_SIGNALED) {
        who.task = &ticket->reserved_task;
    }
    return who;
}

static void unlink_ticket(thrum_tickets *tickets, thrum_ticket *ticket) {
    thrum_ticket *prev = ticket->reserved_prev;
    thrum_ticket *next = ticket->reserved_next;
    if (prev) {
        prev->reserved_next = next;
    } else {
        tickets->reserved_first = next;
    }
    if (next) {
        next->reserved_prev = prev;
    } else {
        tickets->reserved_last = prev;
    }
}

void thrum_ticket_done(thrum_ticket *ticket) {
    thrum_tickets *tickets = ticket->reserved_tickets;
    if (th_unlikely(!tickets)) {
        th_misuse("thrum_ticket_done", "not taken, or done before", ticket);
    }
    lock_list(tickets);
    if (th_unlikely(ticket->reserved_on_call != NOT)) {
        th_misuse("thrum_ticket_done", "on call, and its function has not begun", ticket);
    }
    if (th_unlikely(!th_waitlist_is_empty(waiters_of(ticket)))) {
        th_misuse("thrum_ticket_done", "it is waited for", ticket);
    }
    told who = {NULL, NULL};
    thrum_ticket *next = ticket->reserved_next;
    bool first = !ticket->reserved_prev;
    unlink_ticket(tickets, ticket);
    if (first && next) {
        who = call(next);
    }
    ticket->reserved_tickets = NULL;
    unlock_list(tickets);
    th_waitlist_wake_all(who.chain);
    if (who.task) {
        thrum_task_signal(who.task); /* the ticket stays until its task has seen this signal */
    }
}

/* ---- on call ---- */

/* Waits for the signal of the thread that called the ticket: its last access to the task. */
static void take_signal(thrum_ticket *ticket) {
    unsigned spins = 0;
    while (!thrum_task_receive_signal(&ticket->reserved_task)) {
        th_backoff(&spins);
    }
}

/* Takes a ticket off call. True: its turn has come, and the signal was awaited. */
static bool withdraw(thrum_ticket *ticket) {
    thrum_tickets *tickets = ticket->reserved_tickets;
    lock_list(tickets);
    /* relaxed: written under the list lock */
    bool called = th_load_relaxed(&ticket->reserved_called) != 0;
    if (!called) {
        ticket->reserved_on_call = NOT;
    }
    unlock_list(tickets);
    if (called) {
        take_signal(ticket);
        ticket->reserved_on_call = NOT; /* after the call no other thread reads it */
    }
    return called;
}

/* The body of a ticket's task. */
static void begin(thrum_task *self, void *arg) {
    thrum_ticket *ticket = arg;
    if (ticket->reserved_on_call == POSTED || thrum_task_receive_signal(self)) {
        ticket->reserved_on_call = NOT;
    } else if (!withdraw(ticket)) {
        /* A stop cancels the wait for a signal. It does not cancel a waiting fiber, unless the
         * stop's deadline has passed; then the function finds that out by itself. */
        (void)!thrum_ticket_wait(ticket);
    }
    (void)ticket->reserved_fn(ticket->reserved_arg); /* the ticket may be gone */
}

/* Puts a ticket on call. False: it is on call already. */
static bool register_call(thrum_ticket *ticket, thrum_fn fn, void *arg) {
    thrum_tickets *tickets = ticket->reserved_tickets;
    lock_list(tickets);
    bool registers = ticket->reserved_on_call == NOT;
    if (registers) {
        /* relaxed: written under the list lock */
        bool called = th_load_relaxed(&ticket->reserved_called) != 0;
        ticket->reserved_on_call = called ? POSTED : TO_BE_SIGNALED;
        ticket->reserved_fn = fn;
        ticket->reserved_arg = arg;
        thrum_task_init(&ticket->reserved_task, begin, ticket);
    }
    unlock_list(tickets);
    return registers;
}

int thrum_ticket_on_call_with(thrum_ticket *ticket, thrum_sched *sched, thrum_fn fn, void *arg) {
    if (!ticket->reserved_tickets || !sched || !fn) {
        return -EINVAL;
    }
    if (!register_call(ticket, fn, arg)) {
        return -EBUSY;
    }
    thrum_task *task = &ticket->reserved_task;
    /* plain: no other thread changes it before the task is posted */
    bool called = ticket->reserved_on_call == POSTED;
    /* a signal that came before the post makes it immediate */
    int result = called ? thrum_task_post(sched, task) : thrum_task_post_wait(sched, task);
    if (result) {
        if (called) {
            ticket->reserved_on_call = NOT;
        } else {
            withdraw(ticket);
        }
    }
    return result;
}

int thrum_ticket_on_call(thrum_ticket *ticket, thrum_fn fn, void *arg) {
    thrum_sched *sched = thrum_sched_current();
    return sched ? thrum_ticket_on_call_with(ticket, sched, fn, arg) : th_thread_refusal();
}

/* ---- the beginning and the end ---- */

void thrum_tickets_init(thrum_tickets *tickets) {
    *tickets = (thrum_tickets)THRUM_TICKETS_INIT;
}

int thrum_tickets_destroy(thrum_tickets *tickets) {
    /* pairs: th_word32_publish; the caller sees all that the last calls wrote */
    if (th_load_acquire(&tickets->reserved_word) != 0) {
        return -EBUSY;
    }
    *tickets = (thrum_tickets)THRUM_TICKETS_INIT;
    return 0;
}
