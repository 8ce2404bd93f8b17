/*
 * tickets_call.c: tickets on call: a task is started when the turn comes.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

enum { MANY = 1000 };

typedef struct stage stage;

typedef struct call {
    stage *s;
    thrum_ticket ticket;
    int index;
    int said; /* what the wait in the function returned */
} call;

struct stage {
    rig r;
    thrum_tickets tickets;
    call calls[MANY];
    int plain; /* how many had their turn */
    atomic_int began;
};

static stage *stage_new(int n) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    rig_begin(&s->r, 0);
    thrum_tickets_init(&s->tickets);
    for (int i = 0; i < n; i++) {
        s->calls[i] = (call){.s = s, .index = i, .said = 1};
        thrum_tickets_take(&s->tickets, &s->calls[i].ticket);
    }
    return s;
}

static void stage_free(stage *s) {
    CHECK_EQ(thrum_tickets_destroy(&s->tickets), 0);
    free(s);
}

static int have_turn(void *arg) {
    call *c = arg;
    stage *s = c->s;
    atomic_fetch_add(&s->began, 1);
    c->said = thrum_ticket_wait(&c->ticket);
    if (c->said == 0) {
        CHECK(thrum_ticket_is_called(&c->ticket));
        CHECK_EQ(s->plain, c->index);
        if (c->index % 7 == 0) {
            thrum_yield(); /* it is a task like any other, and may wait */
        }
        s->plain++;
    }
    thrum_ticket_done(&c->ticket);
    return 5;
}

static int put_all_on_call(void *arg) {
    stage *s = arg;
    for (int i = 0; i < MANY; i++) {
        call *c = &s->calls[(i * 379) % MANY];
        CHECK_EQ(thrum_ticket_on_call(&c->ticket, have_turn, c), 0);
    }
    return 0;
}

TEST(a_thousand_are_called_in_order) {
    /* They are put on call in no order, in a task; stop waits for all of them. */
    stage *s = stage_new(MANY);
    CHECK_EQ(rig_run(&s->r, put_all_on_call, s), 0);
    rig_stop(&s->r);
    CHECK_EQ(s->plain, MANY);
    stage_free(s);
}

static int call_some(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    for (int i = a->index; i < MANY; i += 6) {
        call *c = &s->calls[i];
        CHECK_EQ(thrum_ticket_on_call_with(&c->ticket, s->r.sched, have_turn, c), 0);
    }
    return 0;
}

TEST(called_while_others_are_put_on_call) {
    /* Fibers and threads take part; a ticket whose turn has come is called at once. */
    stage *s = stage_new(MANY);
    cast *c = cast_new(&s->r);
    cast_add_mixed(c, 3, 3, call_some, s);
    cast_join(c);
    rig_wait_done(&s->r);
    CHECK_EQ(s->plain, MANY);
    rig_stop(&s->r);
    stage_free(s);
}

TEST(no_thread_blocks_for_a_call) {
    /* A plain thread begins it when the one before is done, and not earlier. */
    stage *s = stage_new(2);
    call *c = &s->calls[1];
    CHECK_EQ(thrum_ticket_on_call_with(&c->ticket, s->r.sched, have_turn, c), 0);
    CHECK_EQ(thrum_sched_wait_idle(s->r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&s->began), 0);
    s->plain = 1;
    thrum_ticket_done(&s->calls[0].ticket);
    rig_wait_done(&s->r);
    CHECK_EQ(s->plain, 2);
    rig_stop(&s->r);
    stage_free(s);
}

TEST(what_a_call_refuses) {
    /* Not in a task, not taken, no function, or on call already: nothing is begun. */
    stage *s = stage_new(2);
    call *c = &s->calls[1];
    CHECK_EQ(thrum_ticket_on_call(&c->ticket, have_turn, c), -ESRCH);
    CHECK_EQ(thrum_ticket_on_call_with(&c->ticket, NULL, have_turn, c), -EINVAL);
    CHECK_EQ(thrum_ticket_on_call_with(&c->ticket, s->r.sched, NULL, c), -EINVAL);
    CHECK_EQ(thrum_ticket_on_call_with(&c->ticket, s->r.sched, have_turn, c), 0);
    CHECK_EQ(thrum_ticket_on_call_with(&c->ticket, s->r.sched, have_turn, c), -EBUSY);
    s->plain = 1;
    thrum_ticket_done(&s->calls[0].ticket);
    CHECK_EQ(thrum_ticket_on_call_with(&s->calls[0].ticket, s->r.sched, have_turn, c), -EINVAL);
    rig_stop(&s->r);
    CHECK_EQ(atomic_load(&s->began), 1);
    stage_free(s);
}

TEST(a_call_allocates_nothing) {
    /* Every allocation of the scheduler is refused, and the calls come all the same. */
    enum { N = 20 };
    stage *s = stage_new(N);
    atomic_store(&s->r.fail_all, true);
    for (int i = 0; i < N; i++) {
        call *c = &s->calls[i];
        CHECK_EQ(thrum_ticket_on_call_with(&c->ticket, s->r.sched, have_turn, c), 0);
    }
    rig_wait_done(&s->r);
    atomic_store(&s->r.fail_all, false);
    CHECK_EQ(s->plain, N);
    rig_stop(&s->r);
    stage_free(s);
}

/* ---- stopping ---- */

static void *done_later(void *arg) {
    stage *s = arg;
    /* the call has been cancelled by stop, and its task waits for the turn like any fiber */
    SPIN_UNTIL(TICKET_WAITING(&s->calls[1].ticket) == 1);
    s->plain = 1;
    thrum_ticket_done(&s->calls[0].ticket);
    return NULL;
}

TEST(stop_waits_for_a_call) {
    /*
     * This holds although only tasks that wait for a signal are left: the turn comes from an
     * external thread.
     */
    stage *s = stage_new(2);
    call *c = &s->calls[1];
    pthread_t thread;
    CHECK_EQ(thrum_ticket_on_call_with(&c->ticket, s->r.sched, have_turn, c), 0);
    CHECK_EQ(pthread_create(&thread, NULL, done_later, s), 0);
    rig_stop(&s->r);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(c->said, 0);
    CHECK_EQ(s->plain, 2);
    stage_free(s);
}

TEST(past_its_deadline_stop_has_it_run_before_its_turn) {
    /*
     * The wait in the function says so; the ticket is dropped, and the order of the others holds.
     */
    enum { N = 20 };
    stage *s = stage_new(N);
    for (int i = 1; i < N; i++) {
        call *c = &s->calls[i];
        CHECK_EQ(thrum_ticket_on_call_with(&c->ticket, s->r.sched, have_turn, c), 0);
    }
    int code = thrum_sched_stop_until(s->r.sched, past());
    CHECK_EQ(code, -ETIMEDOUT);
    rig_stop(&s->r);
    CHECK_EQ(atomic_load(&s->began), N - 1);
    for (int i = 1; i < N; i++) {
        CHECK_EQ(s->calls[i].said, -ECANCELED);
    }
    CHECK_EQ(s->plain, 0);
    thrum_ticket_done(&s->calls[0].ticket);
    stage_free(s);
}

static void *call_late(void *arg) {
    stage *s = arg;
    call *c = &s->calls[1];
    int code = thrum_ticket_on_call_with(&c->ticket, s->r.sched, have_turn, c);
    CHECK(code == 0 || code == -ESHUTDOWN);
    c->said = code == 0 ? c->said : -ESHUTDOWN;
    return NULL;
}

static int hold(void *arg) {
    return thrum_sem_wait(arg);
}

TEST(a_call_that_comes_too_late_changes_nothing) {
    /* It is -ESHUTDOWN for external threads; the ticket is where it was. */
    stage *s = stage_new(2);
    thrum_sem door = THRUM_SEM_INIT(0);
    pthread_t thread;
    rig_go(&s->r, hold, &door);
    CHECK_EQ(thrum_sched_wait_idle(s->r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_stop_until(s->r.sched, past()), -ETIMEDOUT);
    CHECK_EQ(pthread_create(&thread, NULL, call_late, s), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(s->calls[1].said, -ESHUTDOWN);
    thrum_ticket_done(&s->calls[0].ticket);
    CHECK_EQ(thrum_ticket_wait(&s->calls[1].ticket), 0);
    thrum_ticket_done(&s->calls[1].ticket);
    rig_stop(&s->r);
    CHECK_EQ(atomic_load(&s->began), 0);
    stage_free(s);
}

/* ---- freed ---- */

typedef struct loose {
    thrum_ticket ticket;
    atomic_int *ran;
} loose;

static int free_it(void *arg) {
    loose *l = arg;
    atomic_fetch_add(l->ran, 1);
    thrum_ticket_done(&l->ticket);
    memset(l, 0xee, sizeof(*l));
    free(l);
    return 0;
}

static int drop_it(void *arg) {
    loose *l = ((actor *)arg)->arg;
    thrum_ticket_done(&l->ticket);
    free(l);
    return 0;
}

TEST(freed_by_the_function_at_once) {
    /* The caller of the ticket does not touch it once its function may run (address sanitizer). */
    rig r;
    rig_begin(&r, 0);
    thrum_tickets tickets = THRUM_TICKETS_INIT;
    atomic_int ran = 0;
    int rounds = SCALED(1000);
    for (int i = 0; i < rounds; i++) {
        loose *l[2] = {calloc(1, sizeof(**l)), calloc(1, sizeof(**l))};
        CHECK(l[0] && l[1]);
        thrum_tickets_take(&tickets, &l[0]->ticket);
        thrum_tickets_take(&tickets, &l[1]->ticket);
        l[1]->ran = &ran;
        cast *c = cast_new(&r);
        cast_add(c, i % 16 != 0, drop_it, l[0]);
        CHECK_EQ(thrum_ticket_on_call_with(&l[1]->ticket, r.sched, free_it, l[1]), 0);
        cast_join(c);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&ran), rounds);
    CHECK_EQ(thrum_tickets_destroy(&tickets), 0);
    rig_stop(&r);
}
