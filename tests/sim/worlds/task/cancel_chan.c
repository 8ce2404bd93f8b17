/*
 * cancel_chan.c: stop_until past its deadline against channels, select and a wait for any event:
 * cancel against send, close and signal (src/sync/CHANNELS.md; core/wait/WAITING.md). Elements that
 * were not received were not sent.
 */
#include <errno.h>

#include "core/state/worker.h"
#include "whole.h"

static thrum_sched *sched;
static thrum_chan *chans[2];
static thrum_event events[2];
static int codes[2];
static unsigned got[2]; /* index: the element */
static unsigned sent;   /* of element 0: how many were sent */
static int told;        /* plain: published with the element */

static void begin(unsigned workers) {
    thrum_config config = whole_config(workers);
    sched = whole_start(&config);
    for (unsigned i = 0; i < 2; i++) {
        sim_check(thrum_chan_create(&chans[i], sizeof(int), i) == 0); /* capacity i */
        thrum_event_init(&events[i], THRUM_EVENT_AUTO, false);
    }
}

static void go(thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, fn, arg) == 0);
}

static void stop_late(void) {
    int code = thrum_sched_stop_until(sched, thrum_now());
    sim_check(code == 0 || code == -ETIMEDOUT);
    if (code) {
        whole_stop(sched);
    }
}

static void end(void) {
    for (unsigned i = 0; i < 2; i++) {
        sim_check(thrum_chan_destroy(chans[i]) == 0);
        sim_check(thrum_event_destroy(&events[i]) == 0);
    }
}

static int took(int code, int elem) {
    if (code == 0) {
        sim_check(told == 7 && (elem == 0 || elem == 1));
        got[elem == 1]++;
    }
    return code;
}

static int receives(void *arg) {
    (void)arg;
    int elem = -1;
    int code = thrum_chan_recv(chans[0], &elem);
    codes[0] = took(code, elem);
    return 0;
}

static int receives_until(void *arg) {
    (void)arg;
    int elem = -1;
    int code = thrum_chan_recv_until(chans[0], &elem, thrum_after_s(1000));
    codes[0] = took(code, elem);
    return 0;
}

static int selects(void *arg) {
    (void)arg;
    int elem = -1;
    thrum_case cases[] = {THRUM_RECV_CASE(chans[0], &elem), THRUM_RECV_CASE(chans[1], &elem)};
    int k = thrum_select(cases, 2, THRUM_FOREVER);
    codes[1] = took(k < 0 ? k : cases[k].status, elem);
    return 0;
}

/* A plain thread: it only tries, since no receiver may be left. */
static void sends_and_closes(void *arg) {
    (void)arg;
    int elem = 0;
    told = 7;
    sent = thrum_chan_try_send(chans[0], &elem) == 0;
    sim_check(thrum_chan_close(chans[0]) == 0);
    elem = 1;
    sim_check(thrum_chan_try_send(chans[1], &elem) == 0); /* there is a buffer */
}

static void one_each(bool timed) {
    int elem;
    got[1] += thrum_chan_try_recv(chans[1], &elem) == 0;
    sim_check(got[0] == sent && got[1] == 1);
    for (unsigned i = 0; i < 2; i++) {
        sim_check(codes[i] == 0 || codes[i] == -EPIPE || codes[i] == -ECANCELED ||
                  (timed && i == 0 && codes[i] == -ETIMEDOUT)); /* the deadline may have passed */
    }
    end();
}

/* A receive and a select that are cancelled, while something is sent and closed. */
SIM_WORLD(cancel_chan, .heavy = true) {
    begin(1);
    go(receives, NULL);
    go(selects, NULL);
    int t = sim_spawn(sends_and_closes, NULL);
    stop_late();
    sim_join(t);
    one_each(false);
}

/* The same, timed, and with two workers. */
SIM_WORLD(cancel_chan_timed, .heavy = true) {
    begin(2);
    go(receives_until, NULL);
    go(selects, NULL);
    int t = sim_spawn(sends_and_closes, NULL);
    stop_late();
    sim_join(t);
    one_each(true);
}

static int waits_any(void *arg) {
    (void)arg;
    thrum_event *const list[] = {&events[0], &events[1]};
    codes[0] = thrum_event_wait_any(list, 2, THRUM_FOREVER);
    sim_check(codes[0] < 0 || told == 7);
    return 0;
}

static void signals_both(void *arg) {
    (void)arg;
    told = 7;
    thrum_event_signal(&events[1]);
    thrum_event_signal(&events[0]);
}

/* An event that a cancelled wait did not take is there. */
SIM_WORLD(cancel_wait_any, .heavy = true) {
    begin(1);
    go(waits_any, NULL);
    int t = sim_spawn(signals_both, NULL);
    stop_late();
    sim_join(t);
    sim_check(codes[0] == 0 || codes[0] == 1 || codes[0] == -ECANCELED);
    for (int i = 0; i < 2; i++) {
        sim_check(thrum_event_test(&events[i]) == (codes[0] != i));
    }
    end();
}
