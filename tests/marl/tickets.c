/*
 * tickets.c: marl's tests of its tickets, restated: turns in the order taken.
 */
/* matrix: bound */
#include "support/sync/bound.h"
#include "support/times.h"

enum { MANY = 1000 };

/* A count for this build. */
#define N SCALED(MANY)

typedef struct counter {
    rig r; /* first: the allocator's ctx */
    thrum_tickets tickets;
    thrum_ticket ticket[MANY];
    order log;
    thrum_sem called;
} counter;

typedef struct turn {
    counter *c;
    int number;
} turn;

static counter c;
static turn turns[MANY];

static void open_counter(void) {
    bound_begin(&c.r);
    thrum_tickets_init(&c.tickets);
    thrum_sem_init(&c.called, 0);
    for (int i = 0; i < N; i++) {
        turns[i] = (turn){&c, i};
    }
}

static void close_counter(void) {
    order_check_counts_up(&c.log, N);
    CHECK_EQ(thrum_tickets_destroy(&c.tickets), 0);
    bound_end(&c.r);
}

static int waits_its_turn(void *arg) {
    turn *t = arg;
    if (t->number % 3 == 0) {
        thrum_yield();
    }
    CHECK_EQ(thrum_ticket_wait(&t->c->ticket[t->number]), 0);
    order_add(&t->c->log, t->number);
    thrum_ticket_done(&t->c->ticket[t->number]);
    return 0;
}

TEST(a_thousand_in_order) {
    /* Tickets are taken one by one; the tasks that wait are started the other way round. */
    open_counter();
    for (int i = 0; i < N; i++) {
        thrum_tickets_take(&c.tickets, &c.ticket[i]);
    }
    for (int i = N; i-- > 0;) {
        rig_go(&c.r, waits_its_turn, &turns[i]);
    }
    rig_wait_done(&c.r);
    close_counter();
}

TEST(a_thousand_taken_at_once) {
    /* The thread waits for the last turn, as a task would. */
    open_counter();
    thrum_tickets_take_n(&c.tickets, c.ticket, (size_t)N);
    for (int i = N - 1; i-- > 0;) {
        rig_go(&c.r, waits_its_turn, &turns[i]);
    }
    CHECK_EQ(waits_its_turn(&turns[N - 1]), 0);
    close_counter();
}

static int is_done_first(void *arg) {
    thrum_ticket_done(arg);
    return 0;
}

TEST(tickets_dropped_hold_nobody_up) {
    /* Every other one is given up before its turn, in a task; the rest keep their order. */
    static thrum_ticket dropped[MANY];
    open_counter();
    for (int i = 0; i < N; i++) {
        thrum_tickets_take(&c.tickets, &dropped[i]);
        thrum_tickets_take(&c.tickets, &c.ticket[i]);
        rig_go(&c.r, waits_its_turn, &turns[i]);
    }
    for (int i = N; i-- > 0;) {
        rig_go(&c.r, is_done_first, &dropped[i]);
    }
    rig_wait_done(&c.r);
    close_counter();
}

static int is_called(void *arg) {
    turn *t = arg;
    CHECK_EQ(thrum_ticket_wait(&t->c->ticket[t->number]), 0);
    order_add(&t->c->log, t->number);
    thrum_ticket_done(&t->c->ticket[t->number]);
    thrum_sem_post(&t->c->called);
    return 0;
}

TEST(a_thousand_on_call) {
    /* All turns are on call; the thread is done with the first ticket after all are set up. */
    thrum_ticket first;
    open_counter();
    thrum_tickets_take(&c.tickets, &first);
    thrum_tickets_take_n(&c.tickets, c.ticket, (size_t)N);
    for (int i = N; i-- > 0;) {
        CHECK_EQ(thrum_ticket_on_call_with(&c.ticket[i], c.r.sched, is_called, &turns[i]), 0);
    }
    bound_settle(&c.r);
    CHECK_EQ(atomic_load(&c.log.count), 0);
    CHECK(thrum_ticket_is_called(&first));
    thrum_ticket_done(&first);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(thrum_sem_wait(&c.called), 0);
    }
    rig_wait_done(&c.r);
    close_counter();
}

TEST(a_turn_that_does_not_come_in_time) {
    /* The wait returns -ETIMEDOUT, never early; the ticket keeps its place. */
    thrum_ticket first;
    open_counter();
    thrum_tickets_take(&c.tickets, &first);
    thrum_tickets_take_n(&c.tickets, c.ticket, (size_t)N);
    const thrum_time deadline = soon();
    CHECK_EQ(thrum_ticket_wait_until(&c.ticket[0], deadline), -ETIMEDOUT);
    CHECK_PASSED(deadline);
    thrum_ticket_done(&first);
    for (int i = N; i-- > 0;) {
        rig_go(&c.r, waits_its_turn, &turns[i]);
    }
    rig_wait_done(&c.r);
    close_counter();
}
