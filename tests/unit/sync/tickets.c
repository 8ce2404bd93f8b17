/*
 * tickets.c: turns in the order in which tickets were taken, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

enum { MANY = 1000 };

typedef struct stage {
    rig r;
    thrum_tickets tickets;
    thrum_ticket t[MANY];
    order log;
    int plain; /* how many had their turn */
    int n;
    atomic_int late, cancelled;
} stage;

static stage *stage_new(void) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    thrum_tickets_init(&s->tickets);
    rig_begin(&s->r, 0);
    return s;
}

static void stage_free(stage *s) {
    CHECK_EQ(thrum_tickets_destroy(&s->tickets), 0);
    free(s);
}

static void stage_end(stage *s) {
    rig_stop(&s->r);
    stage_free(s);
}

TEST(turns_come_in_the_order_taken) {
    /* The first ticket is called at once, the next when it is done; nothing is left. */
    thrum_tickets tickets = THRUM_TICKETS_INIT;
    thrum_ticket t[3];
    for (int i = 0; i < 3; i++) {
        thrum_tickets_take(&tickets, &t[i]);
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            CHECK_EQ(j >= i && thrum_ticket_is_called(&t[j]), j == i);
        }
        if (i < 2) {
            CHECK_EQ(thrum_ticket_wait_until(&t[i + 1], 0), -ETIMEDOUT);
        }
        CHECK_EQ(thrum_ticket_wait(&t[i]), 0);
        CHECK_EQ(thrum_ticket_wait_until(&t[i], 0), 0);
        thrum_ticket_done(&t[i]);
    }
    CHECK_EQ(thrum_ticket_wait(&t[0]), -EINVAL);
    CHECK_EQ(thrum_ticket_wait_until(&t[0], 0), -EINVAL);
    CHECK_EQ(thrum_tickets_destroy(&tickets), 0);
}

TEST(static_initializer_is_init) {
    /* Both make the same bytes. */
    static thrum_tickets by_text = THRUM_TICKETS_INIT;
    thrum_tickets by_call;
    thrum_tickets_init(&by_call);
    CHECK(memcmp(&by_text, &by_call, sizeof(by_call)) == 0);
}

TEST(one_done_before_its_turn_is_dropped) {
    /* In any order the turn of a ticket comes when all before it are done. */
    thrum_tickets tickets = THRUM_TICKETS_INIT;
    thrum_ticket t[6];
    thrum_tickets_take_n(&tickets, t, 6);
    thrum_tickets_take_n(&tickets, t, 0);
    thrum_ticket_done(&t[3]);
    thrum_ticket_done(&t[1]);
    CHECK(thrum_ticket_is_called(&t[0]));
    CHECK(!thrum_ticket_is_called(&t[2]));
    thrum_ticket_done(&t[5]);
    thrum_ticket_done(&t[0]);
    CHECK(thrum_ticket_is_called(&t[2]));
    CHECK(!thrum_ticket_is_called(&t[4]));
    thrum_ticket_done(&t[2]);
    CHECK(thrum_ticket_is_called(&t[4]));
    thrum_tickets_take(&tickets, &t[0]); /* the same storage once more, at the end */
    CHECK(!thrum_ticket_is_called(&t[0]));
    thrum_ticket_done(&t[4]);
    CHECK(thrum_ticket_is_called(&t[0]));
    CHECK_EQ(thrum_tickets_destroy(&tickets), -EBUSY);
    thrum_ticket_done(&t[0]);
    CHECK_EQ(thrum_tickets_destroy(&tickets), 0);
}

/* ---- a thousand ---- */

/* Takes its number from the order in which numbers were given out, which is none. */
static int wait_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    int i = (a->index * 379) % s->n;
    CHECK_EQ(thrum_ticket_wait(&s->t[i]), 0);
    CHECK_EQ(s->plain, i); /* plain: all that was written before is visible */
    s->plain++;
    thrum_ticket_done(&s->t[i]);
    return 0;
}

TEST(a_thousand_in_order) {
    /* A thousand tickets go to fibers in no order: each has its turn where it was taken. */
    stage *s = stage_new();
    s->n = MANY;
    cast *c = cast_new(&s->r);
    for (int i = 0; i < MANY; i++) {
        thrum_tickets_take(&s->tickets, &s->t[i]);
    }
    for (int i = 0; i < MANY; i++) {
        cast_add(c, true, wait_and_log, s);
    }
    cast_join(c);
    CHECK_EQ(s->plain, MANY);
    stage_end(s);
}

TEST(fibers_and_threads_in_order) {
    /* The same holds with threads among them, and tickets that were taken at once. */
    stage *s = stage_new();
    s->n = 60;
    cast *c = cast_new(&s->r);
    thrum_tickets_take_n(&s->tickets, s->t, 60);
    cast_add_mixed(c, 44, 16, wait_and_log, s);
    cast_join(c);
    CHECK_EQ(s->plain, 60);
    stage_end(s);
}

static int take_and_turn(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->n; i++) {
        thrum_ticket t[3];
        thrum_tickets_take_n(&s->tickets, t, 3);
        CHECK_EQ(thrum_ticket_wait(&t[0]), 0);
        int before = s->plain;
        for (int j = 0; j < 3; j++) {
            CHECK_EQ(thrum_ticket_wait(&t[j]), 0);
            CHECK_EQ(s->plain, before + j); /* no other ticket's turn comes between them */
            s->plain++;
            thrum_ticket_done(&t[j]);
        }
        if (i % 8 == 0) {
            thrum_yield();
        }
    }
    return 0;
}

TEST(tickets_taken_together_have_their_turns_together) {
    /* Many callers take three at a time, and each is alone in its turn. */
    stage *s = stage_new();
    s->n = SCALED(300);
    cast *c = cast_new(&s->r);
    cast_add_mixed(c, 6, 3, take_and_turn, s);
    cast_join(c);
    CHECK_EQ(s->plain, 9 * 3 * s->n);
    stage_end(s);
}

static int wait_for_last(void *arg) {
    stage *s = ((actor *)arg)->arg;
    CHECK_EQ(thrum_ticket_wait(&s->t[1]), 0);
    CHECK_EQ(s->plain, 7);
    return 0;
}

TEST(several_wait_for_the_same_turn) {
    /* All of them go on when it comes. */
    stage *s = stage_new();
    cast *c = cast_new(&s->r);
    thrum_tickets_take_n(&s->tickets, s->t, 2);
    cast_add_mixed(c, 5, 5, wait_for_last, s);
    SPIN_UNTIL(TICKET_WAITING(&s->t[1]) == 10);
    s->plain = 7;
    thrum_ticket_done(&s->t[0]);
    cast_join(c);
    thrum_ticket_done(&s->t[1]);
    stage_end(s);
}

/* ---- late and cancelled waits ---- */

static int wait_in_vain(void *arg) {
    stage *s = ((actor *)arg)->arg;
    thrum_time until = soon();
    CHECK_EQ(thrum_ticket_wait_until(&s->t[1], until), -ETIMEDOUT);
    CHECK_PASSED(until);
    atomic_fetch_add(&s->late, 1);
    return 0;
}

TEST(a_late_waiter_keeps_its_place) {
    /* The turn comes all the same, before those taken later. */
    stage *s = stage_new();
    cast *c = cast_new(&s->r);
    thrum_tickets_take_n(&s->tickets, s->t, 3);
    cast_add_mixed(c, 4, 4, wait_in_vain, s);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->late), 8);
    thrum_ticket_done(&s->t[0]);
    CHECK_EQ(thrum_ticket_wait_until(&s->t[1], far_off()), 0);
    CHECK(!thrum_ticket_is_called(&s->t[2]));
    thrum_ticket_done(&s->t[1]);
    thrum_ticket_done(&s->t[2]);
    stage_end(s);
}

static int wait_and_be_cancelled(void *arg) {
    stage *s = arg;
    CHECK_EQ(thrum_ticket_wait(&s->t[1]), -ECANCELED);
    CHECK_EQ(thrum_ticket_wait_until(&s->t[1], far_off()), -ECANCELED);
    atomic_fetch_add(&s->cancelled, 1);
    return 0;
}

TEST(a_cancelled_wait_leaves_the_ticket_in_its_place) {
    /* Others can wait for it again. */
    enum { N = 20 };
    stage *s = stage_new();
    thrum_tickets_take_n(&s->tickets, s->t, 2);
    for (int i = 0; i < N; i++) {
        rig_go(&s->r, wait_and_be_cancelled, s);
    }
    SPIN_UNTIL(TICKET_WAITING(&s->t[1]) == N);
    CHECK_EQ(thrum_sched_stop_until(s->r.sched, past()), -ETIMEDOUT);
    rig_stop(&s->r);
    CHECK_EQ(atomic_load(&s->cancelled), N);
    thrum_ticket_done(&s->t[0]);
    CHECK_EQ(thrum_ticket_wait(&s->t[1]), 0);
    thrum_ticket_done(&s->t[1]);
    stage_free(s);
}

/* ---- misuse ---- */

static void done_twice(void *arg) {
    stage *s = arg;
    thrum_tickets_take(&s->tickets, &s->t[0]);
    thrum_ticket_done(&s->t[0]);
    thrum_ticket_done(&s->t[0]);
}

static int only_wait(void *arg) {
    stage *s = ((actor *)arg)->arg;
    return thrum_ticket_wait(&s->t[1]);
}

static void done_while_waited_for(void *arg) {
    stage *s = arg;
    rig_begin(&s->r, 1);
    cast *c = cast_new(&s->r);
    thrum_tickets_take_n(&s->tickets, s->t, 2);
    cast_add(c, false, only_wait, s);
    SPIN_UNTIL(TICKET_WAITING(&s->t[1]) == 1);
    thrum_ticket_done(&s->t[1]);
}

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

static void done_on_call(void *arg) {
    stage *s = arg;
    rig_begin(&s->r, 1);
    thrum_tickets_take_n(&s->tickets, s->t, 2);
    CHECK_EQ(thrum_ticket_on_call_with(&s->t[1], s->r.sched, nothing, NULL), 0);
    thrum_ticket_done(&s->t[1]);
}

TEST(a_ticket_that_cannot_be_done_aborts) {
    /* A line says why: not taken, waited for, on call. */
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    check_dies(done_twice, s, "thrum_ticket_done: not taken, or done before");
    check_dies(done_while_waited_for, s, "thrum_ticket_done: it is waited for");
    check_dies(done_on_call, s, "thrum_ticket_done: on call, and its function has not begun");
    free(s);
}

/* ---- freed ---- */

typedef struct handover {
    _Atomic(thrum_ticket *) first; /* the first of two */
    int rounds;
} handover;

static int free_after_turn(void *arg) {
    handover *h = ((actor *)arg)->arg;
    for (int i = 0; i < h->rounds; i++) {
        thrum_tickets *tickets = malloc(sizeof(*tickets));
        thrum_ticket *t[2] = {malloc(sizeof(**t)), malloc(sizeof(**t))};
        CHECK(tickets && t[0] && t[1]);
        thrum_tickets_init(tickets);
        thrum_tickets_take(tickets, t[0]);
        thrum_tickets_take(tickets, t[1]);
        atomic_store(&h->first, t[0]);
        CHECK_EQ(thrum_ticket_wait(t[1]), 0);
        thrum_ticket_done(t[1]);
        memset(t[1], 0xee, sizeof(*t[1]));
        free(t[1]);
        CHECK_EQ(thrum_tickets_destroy(tickets), 0);
        memset(tickets, 0xee, sizeof(*tickets));
        free(tickets);
    }
    return 0;
}

static int free_after_done(void *arg) {
    handover *h = ((actor *)arg)->arg;
    for (int i = 0; i < h->rounds; i++) {
        thrum_ticket *t;
        YIELD_UNTIL((t = atomic_exchange(&h->first, NULL)) != NULL);
        CHECK_EQ(thrum_ticket_wait(t), 0);
        thrum_ticket_done(t);
        memset(t, 0xee, sizeof(*t));
        free(t);
    }
    return 0;
}

TEST(freed_as_soon_as_the_last_is_done) {
    /* A thread that is done earlier does not touch what the last one frees (address sanitizer). */
    rig r;
    rig_begin(&r, 0);
    for (int kinds = 0; kinds < 4; kinds++) {
        cast *c = cast_new(&r);
        handover h = {.rounds = SCALED(kinds == 3 ? 3000 : 150)};
        cast_add(c, (kinds & 1) != 0, free_after_turn, &h);
        cast_add(c, (kinds & 2) != 0, free_after_done, &h);
        cast_join(c);
    }
    rig_stop(&r);
}
