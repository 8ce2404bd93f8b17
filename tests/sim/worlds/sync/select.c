/*
 * select.c: select (src/sync/CHANNELS.md, "Select"): against sends, receives, close and the
 * deadline; against another select that it could meet in two ways; with both sides of one channel.
 */
#include <errno.h>

#include <thrum/chan.h>

#include "crew.h"

#define LATER 1000000

static thrum_chan *chans[2];
static int data[4];     /* plain: published by a send; index: the element */
static unsigned got[4]; /* elements received; index: the sender */
static unsigned sent[4];
static int result[2]; /* results of the selects */

static void make(size_t capacity) {
    for (unsigned i = 0; i < 2; i++) {
        sim_check(thrum_chan_create(&chans[i], sizeof(int), capacity) == 0);
    }
}

static void make_rendezvous(void) {
    make(0);
}

static void make_one(void) {
    make(1);
}

static __attribute__((noinline)) void destroy(void) {
    CREW_BELOW();
    for (unsigned i = 0; i < 2; i++) {
        sim_check(thrum_chan_destroy(chans[i]) == 0);
    }
    crew_scrub();
}

static void took(int elem) {
    sim_check(elem >= 0 && elem < 4);
    sim_check(data[elem] == elem + 1);
    sim_check(got[elem]++ == 0);
}

/* Received elements were sent; elements sent and not received are in a channel. */
static void accounted_for(void) {
    for (unsigned i = 0; i < 2; i++) {
        int elem;
        while (thrum_chan_try_recv(chans[i], &elem) == 0) {
            took(elem);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        sim_check(got[i] == sent[i]);
    }
    destroy();
}

static void send(unsigned i, int elem, thrum_time deadline) {
    data[elem] = elem + 1;
    int code = thrum_chan_send_until(chans[i], &elem, deadline);
    crew_scrub();
    sim_check(code == 0 || code == -EPIPE || (code == -ETIMEDOUT && deadline != THRUM_FOREVER));
    sent[elem] = code == 0;
}

static void send_a(void *unused) {
    (void)unused;
    send(0, 0, THRUM_FOREVER);
}

static void send_b(void *unused) {
    (void)unused;
    send(1, 1, THRUM_FOREVER);
}

static void send_b_late(void *unused) {
    (void)unused;
    send(1, 1, thrum_after(LATER));
}

/* ---- receiving from either ---- */

/* One select over both channels; returns the code of the case that happened, or why none did. */
static int recv_either(thrum_time deadline) {
    int elem[] = {-1, -1};
    thrum_case cases[] = {THRUM_RECV_CASE(chans[0], &elem[0]), THRUM_RECV_CASE(chans[1], &elem[1])};
    int k = thrum_select(cases, 2, deadline);
    crew_scrub(); /* the parts were there */
    if (k < 0) {
        sim_check(k == -ETIMEDOUT && deadline != THRUM_FOREVER);
    } else if (cases[k].status == 0) {
        took(elem[k]);
        sim_check(elem[k] % 2 == k);
    } else {
        sim_check(cases[k].status == -EPIPE);
    }
    sim_check((elem[0] == -1 || k == 0) && (elem[1] == -1 || k == 1));
    return k < 0 ? k : cases[k].status;
}

static void recv_both(void *unused) {
    (void)unused;
    sim_check(recv_either(THRUM_FOREVER) == 0);
    sim_check(recv_either(THRUM_FOREVER) == 0);
    sim_check(got[0] == 1 && got[1] == 1);
}

static const crew_play either = {make_rendezvous, accounted_for, 3, {recv_both, send_a, send_b}};
CREW_WORLDS(select_either, either)
CREW_WORLD_SCHED(select_either, either)

static const crew_play either_one = {make_one, accounted_for, 3, {recv_both, send_a, send_b}};
CREW_WORLDS(select_either_one, either_one)

static void recv_and_destroy(void *unused) {
    (void)unused;
    sim_check(recv_either(THRUM_FOREVER) == 0);
    destroy();
}

/* A sender has touched the channel, and the select, for the last time. */
static const crew_play freed = {make_rendezvous, NULL, 2, {recv_and_destroy, send_b}};
CREW_WORLDS(select_freed, freed, .exhaustive = true)
CREW_WORLD_SCHED(select_freed, freed)

static const crew_play freed_one = {make_one, NULL, 2, {recv_and_destroy, send_b}};
CREW_WORLDS(select_freed_one, freed_one, .exhaustive = true)

/* ---- close, deadline ---- */

static void recv_late(void *unused) {
    (void)unused;
    int code;
    while ((code = recv_either(thrum_after(LATER))) == 0) {
    }
    sim_check(code == -EPIPE || code == -ETIMEDOUT);
}

static void close_b(void *unused) {
    (void)unused;
    sim_check(thrum_chan_close(chans[1]) == 0);
}

/* One sender may be late, the other's channel is closed, and the select may be late as well. */
static const crew_play closed = {
    make_rendezvous, accounted_for, 3, {recv_late, send_b_late, close_b}};
CREW_WORLDS(select_closed, closed, .timers_max = 3)
CREW_WORLD_SCHED(select_closed, closed)

static const crew_play closed_one = {make_one, accounted_for, 3, {recv_late, send_b_late, close_b}};
CREW_WORLDS(select_closed_one, closed_one, .timers_max = 3)

/* ---- select against select ---- */

/* Sends on one channel, receives from the other. `first` is the case that is named first. */
static void cross(unsigned who, bool send_first, thrum_time deadline) {
    int in = -1;
    int out = (int)who;
    data[who] = out + 1;
    thrum_case send_case = THRUM_SEND_CASE(chans[who], &out);
    thrum_case recv_case = THRUM_RECV_CASE(chans[1 - who], &in);
    thrum_case cases[] = {send_first ? send_case : recv_case, send_first ? recv_case : send_case};
    int k = thrum_select(cases, 2, deadline);
    crew_scrub();
    result[who] = k;
    if (k < 0) {
        sim_check(k == -ETIMEDOUT && deadline != THRUM_FOREVER);
        sim_check(in == -1);
        return;
    }
    sim_check(cases[k].status == 0);
    if ((k == 0) == send_first) {
        sent[who] = 1;
        sim_check(in == -1);
    } else {
        took(in);
    }
}

static void cross_a(void *unused) {
    (void)unused;
    cross(0, true, THRUM_FOREVER);
}

static void cross_b(void *unused) {
    (void)unused;
    cross(1, true, THRUM_FOREVER);
}

static void met_once(void) {
    sim_check(sent[0] + sent[1] == 1);
    accounted_for();
}

/* Two selects could meet on either channel: they do on exactly one. */
static const crew_play crossed = {make_rendezvous, met_once, 2, {cross_a, cross_b}};
CREW_WORLDS(select_crossed, crossed, .exhaustive = true)
CREW_WORLD_SCHED(select_crossed, crossed)

static void cross_a_late(void *unused) {
    (void)unused;
    cross(0, false, thrum_after(LATER));
}

static void cross_b_late(void *unused) {
    (void)unused;
    cross(1, true, thrum_after(LATER));
}

static void met_or_not(void) {
    sim_check((result[0] < 0) == (result[1] < 0));
    accounted_for();
}

static const crew_play crossed_late = {
    make_rendezvous, met_or_not, 2, {cross_a_late, cross_b_late}};
CREW_WORLDS(select_crossed_late, crossed_late, .exhaustive = true, .timers_max = 2)

/* A third actor, a plain one, takes part: it meets one of them, or none is left alone. */
static void plain_pair(void *unused) {
    (void)unused;
    send(0, 2, thrum_after(LATER));
}

static void met_plain(void) {
    accounted_for();
}

static const crew_play crossed_plain = {
    make_rendezvous, met_plain, 3, {cross_a_late, cross_b_late, plain_pair}};
CREW_WORLDS(select_crossed_plain, crossed_plain, .timers_max = 3)

/* ---- both sides of one channel ---- */

static void mirror(unsigned who) {
    int in = -1;
    int out = (int)who;
    data[who] = out + 1;
    thrum_case cases[] = {THRUM_SEND_CASE(chans[0], &out), THRUM_RECV_CASE(chans[0], &in)};
    int k = thrum_select(cases, 2, THRUM_FOREVER);
    crew_scrub();
    sim_check(k >= 0 && cases[k].status == 0);
    if (k == 0) {
        sent[who] = 1;
    } else {
        sim_check(in == (int)(1 - who)); /* it is not its own element */
        took(in);
    }
}

static void mirror_a(void *unused) {
    (void)unused;
    mirror(0);
}

static void mirror_b(void *unused) {
    (void)unused;
    mirror(1);
}

static const crew_play mirrored = {make_rendezvous, met_once, 2, {mirror_a, mirror_b}};
CREW_WORLDS(select_mirrored, mirrored, .exhaustive = true)

/* ---- a deadline in the past ---- */

static void make_first(void) {
    make_one();
    send(0, 0, 0);
}

static void recv_once(void *unused) {
    (void)unused;
    sim_check(recv_either(0) == 0);
}

static void send_b_then_recv_a(void *unused) {
    int elem;
    send_b(unused);
    if (thrum_chan_try_recv(chans[0], &elem) == 0) {
        took(elem);
    }
}

/* One of two channels holds an element at every moment: a late select finds one. */
static const crew_play always_one = {make_first, accounted_for, 2, {recv_once, send_b_then_recv_a}};
CREW_WORLDS(select_past, always_one, .exhaustive = true)
