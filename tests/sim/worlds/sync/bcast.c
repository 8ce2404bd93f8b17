/*
 * bcast.c: the broadcast channel (src/sync/CHANNELS.md, "Broadcast channels"): copying against
 * overwriting, waiting against sending, closing, giving up and freeing.
 */
#include <errno.h>

#include <thrum/bcast.h>

#include "base/atomic.h"
#include "crew.h"
#include "sync/wordlock.h"

#define LATER 1000000

/* An element of several words, which must all be of the same send. */
typedef struct elem {
    uint64_t number;
    uint64_t twice;
} elem;

static thrum_bcast *bcast;
static thrum_bcast_receiver receivers[2];
static unsigned data; /* plain: the sender's writes before its first send */

static void make(void) {
    sim_check(thrum_bcast_create(&bcast, sizeof(elem), 4) == 0);
    thrum_bcast_subscribe(bcast, &receivers[0]);
    thrum_bcast_subscribe(bcast, &receivers[1]);
    data = 0;
}

static void end(void) {
    sim_check(thrum_bcast_destroy(bcast) == 0);
    crew_scrub();
}

static void send_number(uint64_t number) {
    const elem e = {number, 2 * number};
    if (number == 0) {
        data = 1;
    }
    sim_check(thrum_bcast_send(bcast, &e) == 0);
}

/* ---- overwriting ---- */

static void send_six(void *unused) {
    (void)unused;
    for (uint64_t i = 0; i < 6; i++) {
        send_number(i);
    }
}

static void send_one(void *unused) {
    (void)unused;
    send_number(0);
}

/* Receives until it has seen the element 5, or counted it: nothing is lost, torn or doubled. */
static void receive_six(unsigned me) {
    uint64_t next = 0;
    while (next < 6) {
        elem e = {99, 99};
        int code = thrum_bcast_recv(&receivers[me], &e);
        if (code == -EOVERFLOW) {
            sim_check(thrum_bcast_missed(&receivers[me]) > 0);
            next += thrum_bcast_missed(&receivers[me]);
            sim_check(next <= 5); /* the newest elements are never missed */
        } else {
            sim_check(code == 0 && e.number == next && e.twice == 2 * next);
            sim_check(data == 1);
            next++;
        }
    }
    crew_scrub();
}

static void receive_a(void *unused) {
    (void)unused;
    receive_six(0);
}

static void receive_b(void *unused) {
    (void)unused;
    receive_six(1);
}

static const crew_play overwritten = {make, end, 2, {receive_a, send_six}};
CREW_WORLDS(bcast_overwritten, overwritten, .exhaustive = true)
CREW_WORLD_SCHED(bcast_overwritten, overwritten)

static const crew_play two_receive = {make, end, 3, {receive_a, receive_b, send_six}};
CREW_WORLDS(bcast_two_receive, two_receive)

/* The newest of some elements, which only grow, until the last of them. */
static void watch(void *unused) {
    (void)unused;
    uint64_t last = 0;
    do {
        elem e = {99, 99};
        sim_check(thrum_bcast_recv_latest(&receivers[1], &e) == 0);
        sim_check(data == 1);
        sim_check(e.twice == 2 * e.number && e.number < 6);
        sim_check(last == 0 || e.number > last);
        last = e.number;
    } while (last != 5);
    crew_scrub();
}

static const crew_play watched = {make, end, 2, {watch, send_six}};
CREW_WORLDS(bcast_watched, watched, .exhaustive = true)
CREW_WORLD_SCHED(bcast_watched, watched)

/* A look sees no torn element, and all that was written before the send. */
static void peek(void *unused) {
    (void)unused;
    elem e = {99, 99};
    for (int i = 0; i < 2; i++) {
        int code = thrum_bcast_peek(bcast, &e);
        sim_check(code == -EAGAIN || (code == 0 && e.twice == 2 * e.number && data == 1));
    }
}

static const crew_play peeked = {make, end, 2, {peek, send_six}};
CREW_WORLDS(bcast_peeked, peeked, .exhaustive = true)

/* A receiver that never waits sees the writes before the send as well. */
static void poll_one(void *unused) {
    (void)unused;
    elem e = {99, 99};
    crew_until(thrum_bcast_try_recv(&receivers[0], &e) == 0);
    sim_check(data == 1 && e.number == 0 && e.twice == 0);
}

static const crew_play polled = {make, end, 2, {poll_one, send_one}};
CREW_WORLDS(bcast_polled, polled, .exhaustive = true)

/* ---- closing ---- */

static void send_and_close(void *unused) {
    (void)unused;
    send_number(0);
    sim_check(thrum_bcast_close(bcast) == 0);
}

static void receive_to_the_end(void *unused) {
    (void)unused;
    elem e;
    sim_check(thrum_bcast_recv(&receivers[0], &e) == 0);
    sim_check(e.number == 0);
    sim_check(thrum_bcast_recv(&receivers[0], &e) == -EPIPE);
    sim_check(data == 1);
    crew_scrub();
}

static void poll_to_the_end(void *unused) {
    (void)unused;
    elem e;
    unsigned got = 0;
    int code;
    do {
        crew_until((code = thrum_bcast_try_recv(&receivers[1], &e)) != -EAGAIN);
        got += code == 0;
    } while (!code);
    sim_check(code == -EPIPE && got == 1 && data == 1);
}

/* An element that was sent before the close is received. */
static const crew_play closed = {
    make, end, 3, {receive_to_the_end, poll_to_the_end, send_and_close}};
CREW_WORLDS(bcast_closed, closed)
static const crew_play closed_one = {make, end, 2, {poll_to_the_end, send_and_close}};
CREW_WORLDS(bcast_closed_one, closed_one, .exhaustive = true)

/* ---- subscribing ---- */

/* Whoever skips an element sees what its sender wrote before. */
static void skip_one(void *unused) {
    (void)unused;
    thrum_bcast_receiver late;
    crew_until((thrum_bcast_subscribe(bcast, &late), late.reserved_next > 0));
    sim_check(late.reserved_next == 1 && data == 1);
}

static const crew_play skipped = {make, end, 2, {skip_one, send_one}};
CREW_WORLDS(bcast_skipped, skipped)

/* ---- the woken one frees it ---- */

static void receive_and_free(void *unused) {
    (void)unused;
    elem e;
    sim_check(thrum_bcast_recv(&receivers[0], &e) == 0);
    sim_check(e.number == 0 && data == 1);
    crew_until(thrum_bcast_destroy(bcast) == 0);
    crew_scrub();
}

/* Its sender must not touch it any more, nor the receiver's frame. */

static const crew_play freed = {make, NULL, 2, {receive_and_free, send_one}};
CREW_WORLDS(bcast_freed, freed, .exhaustive = true)
CREW_WORLD_SCHED(bcast_freed, freed)

/* Nor may a select that it has woken touch the channel. */

static void select_and_look_away(void *unused) {
    (void)unused;
    elem e = {99, 99};
    thrum_case cases[] = {THRUM_RECV_CASE(NULL, NULL), THRUM_BCAST_CASE(&receivers[1], &e)};
    sim_check(thrum_select(cases, 2, THRUM_FOREVER) == 1 && e.number == 0);
    crew_scrub();
}

static void send_and_free(void *unused) {
    (void)unused;
    /* relaxed: only that the select has begun to wait (bcast.c) */
    crew_until((th_load_relaxed((uint32_t *)(void *)bcast) & TH_WORD_WAITERS) != 0);
    send_number(0);
    crew_until(thrum_bcast_destroy(bcast) == 0);
}

static const crew_play selected_freed = {make, NULL, 2, {select_and_look_away, send_and_free}};
CREW_WORLDS(bcast_selected_freed, selected_freed)

/* ---- a select that waits for the close of a channel ---- */

static thrum_chan *chan;

static void make_chan(void) {
    sim_check(thrum_chan_create(&chan, 0, 1) == 0);
    data = 0;
}

static void end_chan(void) {
    sim_check(thrum_chan_destroy(chan) == 0);
    crew_scrub();
}

static void close_chan(void *unused) {
    (void)unused;
    data = 1;
    sim_check(thrum_chan_close(chan) == 0);
}

static void wait_for_close(void *unused) {
    (void)unused;
    thrum_case cases[] = {THRUM_CLOSED_CASE(chan), THRUM_RECV_CASE(NULL, NULL)};
    sim_check(thrum_select_ordered(cases, 2, THRUM_FOREVER) == 0);
    sim_check(cases[0].status == 0 && data == 1);
    crew_scrub();
}

static void see_close(void *unused) {
    (void)unused;
    crew_until(thrum_chan_is_closed(chan));
    sim_check(data == 1);
}

static const crew_play shut = {make_chan, end_chan, 3, {wait_for_close, see_close, close_chan}};
CREW_WORLDS(select_closed, shut)
CREW_WORLD_SCHED(select_closed, shut)

/* ---- with a deadline, in a select ---- */

static void receive_or_late(void *unused) {
    (void)unused;
    elem e = {99, 99};
    int code = thrum_bcast_recv_until(&receivers[0], &e, thrum_after(LATER));
    crew_scrub();
    sim_check(code == -ETIMEDOUT || (code == 0 && e.number == 0));
    if (code) { /* it has kept its position */
        sim_check(thrum_bcast_recv(&receivers[0], &e) == 0 && e.number == 0);
    }
}

static void select_either(void *unused) {
    (void)unused;
    elem e = {99, 99};
    thrum_case cases[] = {THRUM_RECV_CASE(NULL, NULL), THRUM_BCAST_CASE(&receivers[1], &e)};
    sim_check(thrum_select(cases, 2, THRUM_FOREVER) == 1);
    sim_check(cases[1].status == 0 && e.number == 0 && e.twice == 0 && data == 1);
    crew_scrub();
}

static const crew_play timed = {make, end, 3, {receive_or_late, select_either, send_one}};
CREW_WORLDS(bcast_timed, timed, .timers_max = 2)
CREW_WORLD_SCHED(bcast_timed, timed)
static const crew_play selected = {make, end, 2, {select_either, send_one}};
CREW_WORLDS(bcast_selected, selected, .exhaustive = true)
