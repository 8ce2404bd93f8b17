/*
 * chan.c: channels (src/sync/CHANNELS.md, "Channels"): rendezvous, a buffer of one, an unbounded
 * one; close against send against timeout. A thread that may destroy the channel does so at once.
 */
#include <errno.h>

#include <thrum/chan.h>

#include "base/atomic.h"
#include "crew.h"

#define LATER 1000000

static thrum_chan *chan;
static int data[3];     /* plain: published by a send; index: the sender */
static unsigned got[3]; /* elements received; index: the sender */
static int codes[2];    /* results of the sends */
static int end_code;    /* result of the receive that found it closed, or was late */

static void make(size_t capacity) {
    sim_may_refuse(false);
    sim_check(thrum_chan_create(&chan, sizeof(int), capacity) == 0);
    sim_may_refuse(true);
}

static void make_rendezvous(void) {
    make(0);
}

static void make_one(void) {
    make(1);
}

static void make_unbounded(void) {
    make(THRUM_UNBOUNDED);
}

static __attribute__((noinline)) void destroy(void) {
    CREW_BELOW();
    sim_check(thrum_chan_destroy(chan) == 0);
    crew_scrub();
}

static void took(int elem) {
    sim_check(elem >= 0 && elem < 3);
    sim_check(data[elem] == elem + 1);
    sim_check(got[elem]++ == 0);
}

static int send_late_or(int elem, thrum_time deadline) {
    data[elem] = elem + 1;
    int code = thrum_chan_send_until(chan, &elem, deadline);
    crew_scrub(); /* the element and the waiter were there */
    return code;
}

static void send_0(void *unused) {
    (void)unused;
    codes[0] = send_late_or(0, THRUM_FOREVER);
    sim_check(codes[0] == 0);
}

static void send_1(void *unused) {
    (void)unused;
    codes[1] = send_late_or(1, THRUM_FOREVER);
    sim_check(codes[1] == 0);
}

/* ---- one element, and the receiver destroys the channel ---- */

static void recv_and_destroy(void *unused) {
    (void)unused;
    int elem = -1;
    sim_check(thrum_chan_recv(chan, &elem) == 0);
    took(elem);
    destroy();
}

/* A sender must have touched the channel for the last time. */
static const crew_play handover = {make_rendezvous, NULL, 2, {recv_and_destroy, send_0}};
CREW_WORLDS(chan_handover, handover, .exhaustive = true)
CREW_WORLD_SCHED(chan_handover, handover)

static const crew_play handover_one = {make_one, NULL, 2, {recv_and_destroy, send_0}};
CREW_WORLDS(chan_handover_one, handover_one, .exhaustive = true)
CREW_WORLD_SCHED(chan_handover_one, handover_one)

static void try_and_destroy(void *unused) {
    (void)unused;
    int elem = -1;
    int code;
    crew_until((code = thrum_chan_try_recv(chan, &elem)) != -EAGAIN);
    sim_check(code == 0);
    took(elem);
    destroy();
}

/* The same for a thread that never waits. */
static const crew_play polled = {make_rendezvous, NULL, 2, {try_and_destroy, send_0}};
CREW_WORLDS(chan_polled, polled, .exhaustive = true)

static const crew_play polled_one = {make_one, NULL, 2, {try_and_destroy, send_0}};
CREW_WORLDS(chan_polled_one, polled_one, .exhaustive = true)

/* ---- several ---- */

static void recv_two(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 2; i++) {
        int elem = -1;
        sim_check(thrum_chan_recv(chan, &elem) == 0);
        took(elem);
        crew_scrub();
    }
}

static const crew_play two_senders = {make_rendezvous, destroy, 3, {recv_two, send_0, send_1}};
CREW_WORLDS(chan_two_senders, two_senders)
CREW_WORLD_SCHED(chan_two_senders, two_senders)

static const crew_play two_senders_one = {make_one, destroy, 3, {recv_two, send_0, send_1}};
CREW_WORLDS(chan_two_senders_one, two_senders_one, .exhaustive = true)
CREW_WORLD_SCHED(chan_two_senders_one, two_senders_one)

static void send_all(void *unused) {
    send_0(unused);
    send_1(unused);
    sim_check(send_late_or(2, THRUM_FOREVER) == 0);
}

static void recv_in_order(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++) {
        int elem = -1;
        sim_check(thrum_chan_recv(chan, &elem) == 0);
        sim_check(elem == i);
        took(elem);
    }
    destroy();
}

/* Through a full buffer and a waiting sender the order is kept; segments come and go. */
static const crew_play in_order = {make_one, NULL, 2, {recv_in_order, send_all}};
CREW_WORLDS(chan_in_order, in_order, .exhaustive = true)

static const crew_play in_order_unbounded = {make_unbounded, NULL, 2, {recv_in_order, send_all}};
CREW_WORLDS(chan_in_order_unbounded, in_order_unbounded, .exhaustive = true)

/* ---- close, timeout ---- */

static void send_0_maybe(void *unused) {
    (void)unused;
    codes[0] = send_late_or(0, thrum_after(LATER));
    sim_check(codes[0] == 0 || codes[0] == -EPIPE || codes[0] == -ETIMEDOUT);
}

static void send_1_maybe(void *unused) {
    (void)unused;
    codes[1] = send_late_or(1, THRUM_FOREVER);
    sim_check(codes[1] == 0 || codes[1] == -EPIPE);
}

static void recv_until_closed(void *unused) {
    (void)unused;
    int elem = -1;
    while ((end_code = thrum_chan_recv(chan, &elem)) == 0) {
        took(elem);
        crew_scrub();
    }
    sim_check(end_code == -EPIPE);
    sim_check(data[2] == 3); /* this was written before the close */
}

static void recv_late_or(void *unused) {
    (void)unused;
    int elem = -1;
    while ((end_code = thrum_chan_recv_until(chan, &elem, thrum_after(LATER))) == 0) {
        took(elem);
        crew_scrub();
    }
    sim_check(end_code == -EPIPE || end_code == -ETIMEDOUT);
}

static void close_it(void *unused) {
    (void)unused;
    data[2] = 3;
    sim_check(thrum_chan_close(chan) == 0);
}

/* An element that a send reports as sent was received, or is still there. */
static void all_accounted_for(void) {
    int elem;
    while (thrum_chan_try_recv(chan, &elem) == 0) {
        took(elem);
    }
    for (unsigned i = 0; i < 2; i++) {
        sim_check(got[i] == (codes[i] == 0));
    }
    destroy();
}

static const crew_play closed = {make_rendezvous,
                                 all_accounted_for,
                                 4,
                                 {recv_until_closed, send_0_maybe, send_1_maybe, close_it}};
CREW_WORLDS(chan_closed, closed, .timers_max = 2)

static const crew_play closed_one = {
    make_one, all_accounted_for, 4, {recv_until_closed, send_0_maybe, send_1_maybe, close_it}};
CREW_WORLDS(chan_closed_one, closed_one, .timers_max = 2)

static const crew_play late = {
    make_rendezvous, all_accounted_for, 4, {recv_late_or, send_0_maybe, send_1_maybe, close_it}};
CREW_WORLDS(chan_late, late, .timers_max = 3)

static const crew_play late_one = {
    make_one, all_accounted_for, 4, {recv_late_or, send_0_maybe, send_1_maybe, close_it}};
CREW_WORLDS(chan_late_one, late_one, .timers_max = 3)

/* ---- no memory ---- */

static void send_if_memory(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        codes[i] = send_late_or(i, THRUM_FOREVER);
        sim_check(codes[i] == 0 || codes[i] == -ENOMEM);
    }
    sim_check(thrum_chan_close(chan) == 0);
    data[2] = 3;
}

static void recv_rest(void *unused) {
    (void)unused;
    int elem = -1;
    while (thrum_chan_recv(chan, &elem) == 0) {
        took(elem);
    }
}

/* A segment is refused: the element was not sent, and the channel goes on. */
static const crew_play refused = {
    make_unbounded, all_accounted_for, 2, {recv_rest, send_if_memory}};
SIM_WORLD(chan_refused, .exhaustive = true, .refusals = 2) {
    crew_threads(&refused);
}
