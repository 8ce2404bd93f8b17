/*
 * tickets.c: tickets (src/sync/LOCKS.md, "Tickets"): done against take, wait, giving up, freeing;
 * calls, against the turn, and against a stop.
 */
#include <errno.h>

#include "base/atomic.h"
#include "crew.h"
#include "whole.h"

#define LATER 1000000

static thrum_tickets *tickets;
static thrum_ticket *t[4];
static int data[4]; /* plain: each one's writes before it is done */
static unsigned turns;
static uint32_t xlast; /* parts that have yet to come back */

static void make(void) {
    tickets = sim_alloc(sizeof *tickets);
    thrum_tickets_init(tickets);
}

static void take(unsigned i) {
    t[i] = sim_alloc(sizeof *t[i]);
    thrum_tickets_take(tickets, t[i]);
}

static void done(unsigned i) {
    thrum_ticket *mine = t[i];
    data[i] = 1;
    thrum_ticket_done(mine);
    sim_free(mine);
    crew_scrub();
}

static void end(void) {
    thrum_tickets *gone = tickets;
    sim_check(thrum_tickets_destroy(gone) == 0);
    sim_free(gone);
    crew_scrub();
}

static void make_taken(unsigned n) {
    make();
    for (unsigned i = 0; i < n; i++) {
        take(i);
    }
}

static void make_two(void) {
    make_taken(2);
}

static void make_three(void) {
    make_taken(3);
}

static void done_0(void *unused) {
    (void)unused;
    sim_check(thrum_ticket_wait(t[0]) == 0);
    done(0);
}

static void done_1(void *unused) {
    (void)unused;
    done(1);
}

/* ---- the turn ---- */

static void wait_1_frees(void *unused) {
    (void)unused;
    sim_check(thrum_ticket_wait(t[1]) == 0);
    sim_check(data[0] == 1);
    crew_scrub();
    done(1);
    end();
}

/* The last one frees: the one before must have touched all of it for the last time. */
static const crew_play two = {make_two, NULL, 2, {wait_1_frees, done_0}};
CREW_WORLDS(tickets_two, two, .exhaustive = true)
CREW_WORLD_SCHED(tickets_two, two)

static void poll_1_frees(void *unused) {
    (void)unused;
    crew_until(thrum_ticket_is_called(t[1]));
    sim_check(data[0] == 1);
    done(1);
    end();
}

static const crew_play polled = {make_two, NULL, 2, {poll_1_frees, done_0}};
CREW_WORLDS(tickets_polled, polled, .exhaustive = true)

static void wait_2_frees(void *unused) {
    (void)unused;
    sim_check(thrum_ticket_wait(t[2]) == 0);
    sim_check(data[0] == 1 && data[1] == 1);
    crew_scrub();
    done(2);
    end();
}

/* One ticket is done before its turn: the third one's turn comes when both are done. */
static const crew_play dropped = {make_three, NULL, 3, {wait_2_frees, done_0, done_1}};
CREW_WORLDS(tickets_dropped, dropped, .exhaustive = true)
CREW_WORLD_SCHED(tickets_dropped, dropped)

/* ---- taking ---- */

static void make_for_three(void) {
    make();
    xlast = 3;
}

/* In its turn each is alone, and sees the writes of those before it. */
static void take_turn(unsigned i) {
    take(i);
    sim_check(thrum_ticket_wait(t[i]) == 0);
    turns++; /* plain: two turns at a time would race */
    crew_scrub();
    done(i);
    if (th_sub_acq_rel(&xlast, 1u) == 1) {
        sim_check(turns == 3);
        end();
    }
}

static void turn_0(void *unused) {
    (void)unused;
    take_turn(0);
}

static void turn_1(void *unused) {
    (void)unused;
    take_turn(1);
}

static void turn_2(void *unused) {
    (void)unused;
    take_turn(2);
}

static const crew_play taking = {make_for_three, NULL, 3, {turn_0, turn_1, turn_2}};
CREW_WORLDS(tickets_taking, taking)

/* ---- with a deadline ---- */

static unsigned late;

static void wait_1_or_late(void *unused) {
    (void)unused;
    int result = thrum_ticket_wait_until(t[1], thrum_after(LATER));
    crew_scrub();
    sim_check(result == 0 || result == -ETIMEDOUT);
    sim_check(result || data[0] == 1);
    late = result != 0;
    if (!late) {
        done(1);
        end();
    }
}

static void late_after(void) {
    if (late) {
        sim_check(thrum_ticket_wait(t[1]) == 0);
        done(1);
        end();
    }
}

/* A ticket whose wait is late keeps its place. */
static const crew_play timed = {make_two, late_after, 2, {wait_1_or_late, done_0}};
CREW_WORLDS(tickets_timed, timed, .timers_max = 2)
CREW_WORLD_SCHED(tickets_timed, timed)

/* ---- destroying ---- */

static void destroy_when_done(void *unused) {
    (void)unused;
    crew_until(thrum_tickets_destroy(tickets) == 0);
    sim_check(data[0] == 1 && data[1] == 1);
    sim_free(tickets);
}

static const crew_play destroyed = {make_two, NULL, 3, {destroy_when_done, done_0, done_1}};
CREW_WORLDS(tickets_destroyed, destroyed)

/* ---- on call ---- */

static thrum_sched *sched;
static unsigned ran;
static int said[2]; /* the result of the wait in the function */

/* Frees its ticket as soon as it has begun. */
static int on_call(void *arg) {
    unsigned i = *(unsigned *)arg;
    said[i] = thrum_ticket_wait(t[i]);
    sim_check(said[i] == 0 || said[i] == -ECANCELED);
    sim_check(said[i] || i == 0 || data[i - 1] == 1);
    ran++;
    done(i);
    return 0;
}

static unsigned numbers[2] = {0, 1};

static void begin(unsigned workers, unsigned n) {
    thrum_config config = whole_config(workers);
    sched = whole_start(&config);
    make_taken(n);
}

static void done_external(void *unused) {
    (void)unused;
    done(0);
}

/* The turn comes while it is put on call, before, or after; from a thread. */
SIM_WORLD(tickets_call, .heavy = true) {
    begin(1, 2);
    int thread = sim_spawn(done_external, NULL);
    sim_check(thrum_ticket_on_call_with(t[1], sched, on_call, &numbers[1]) == 0);
    whole_stop(sched);
    sim_join(thread);
    sim_check(ran == 1 && said[1] == 0);
    end();
}

static int done_inside(void *arg) {
    (void)arg;
    done(0);
    return 0;
}

static int call_inside(void *arg) {
    (void)arg;
    sim_check(thrum_ticket_on_call(t[1], on_call, &numbers[1]) == 0);
    return 0;
}

static void go(thrum_fn fn) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, fn, NULL) == 0);
}

/* The same from inside a scheduler. */
SIM_WORLD(tickets_call_inside, .heavy = true) {
    begin(2, 2);
    go(call_inside);
    go(done_inside);
    whole_stop(sched);
    sim_check(ran == 1 && said[1] == 0);
    end();
}

/* One function calls the next. */
SIM_WORLD(tickets_call_chain, .heavy = true) {
    begin(2, 2);
    sim_check(thrum_ticket_on_call_with(t[1], sched, on_call, &numbers[1]) == 0);
    sim_check(thrum_ticket_on_call_with(t[0], sched, on_call, &numbers[0]) == 0);
    whole_stop(sched);
    sim_check(ran == 2 && said[0] == 0 && said[1] == 0);
    end();
}

static int call_refused;

static void call_late(void *unused) {
    (void)unused;
    call_refused = thrum_ticket_on_call_with(t[1], sched, on_call, &numbers[1]);
    sim_check(call_refused == 0 || call_refused == -ESHUTDOWN);
}

/*
 * Past its deadline a stop has it run before its turn; a refused call is as if it had not been
 * made.
 */
SIM_WORLD(tickets_call_stopped, .heavy = true) {
    begin(1, 2);
    int thread = sim_spawn(done_external, NULL);
    int caller = sim_spawn(call_late, NULL);
    int code = thrum_sched_stop_until(sched, thrum_now());
    sim_check(code == 0 || code == -ETIMEDOUT);
    sim_join(thread);
    sim_join(caller);
    if (code) {
        whole_stop(sched);
    } else {
        whole_forget(sched);
    }
    sim_check(ran == (call_refused == 0));
    if (call_refused) {
        sim_check(thrum_ticket_wait(t[1]) == 0);
        done(1);
    }
    end();
}

static int waits_for_turn(void *arg) {
    (void)arg;
    said[1] = thrum_ticket_wait(t[1]);
    crew_scrub();
    sim_check(said[1] || data[0] == 1);
    return 0;
}

/* A cancelled wait leaves the ticket in its place. */
SIM_WORLD(tickets_cancelled, .heavy = true) {
    begin(1, 2);
    go(waits_for_turn);
    int thread = sim_spawn(done_external, NULL);
    int code = thrum_sched_stop_until(sched, thrum_now());
    if (code) {
        whole_stop(sched);
    }
    sim_join(thread);
    sim_check(said[1] == 0 || said[1] == -ECANCELED);
    sim_check(thrum_ticket_wait(t[1]) == 0);
    done(1);
    end();
}
