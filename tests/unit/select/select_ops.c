/*
 * select_ops.c: a select beside cases of another room. One of them can be done once the wait is
 * on its lists, and nothing else is taken for done then.
 */
/* matrix: policy workers */
#include <thrum/interval.h>

#include "select/among.h"
#include "support/support.h"

static unsigned asked;
static thrum_interval tick;

/* The case can be done from the second look of a select on, when a tick is due as well. */
static int ask(thrum_case cases[], size_t n, int wakeup, thrum_time deadline, uint32_t *ready) {
    (void)cases, (void)n, (void)wakeup, (void)deadline;
    *ready = asked++ ? 1u : 0;
    tick.next = asked > 1 ? 1 : THRUM_FOREVER - 1;
    return (int)*ready;
}

static int join(const thrum_case *c) {
    (void)c;
    return 0;
}

static void stand(const thrum_case *c, th_waiter *part) {
    (void)c, (void)part;
}

static const th_case_ops ops = {.max = 1, .ask = ask, .join = join, .stand = stand, .leave = stand};

enum { TIMES = 40 };

static int selects(void *arg) {
    thrum_chan *chan = arg;
    const thrum_case other = {.from = &ops, .kind = THRUM_CASE_OTHER};
    int elem = 7;
    for (int i = 0; i < TIMES; i++) {
        thrum_case cases[] = {THRUM_SEND_CASE(chan, &elem), THRUM_RECV_CASE(chan, &elem),
                              THRUM_TICK_CASE(&tick), other};
        asked = 0;
        thrum_interval_init(&tick, THRUM_FOREVER - 1, THRUM_S(1), THRUM_MISSED_BURST);
        CHECK_EQ(i % 2 ? thrum_select(cases, COUNT_OF(cases), THRUM_FOREVER)
                       : thrum_select_ordered(cases, COUNT_OF(cases), THRUM_FOREVER),
                 3);
        CHECK_EQ(tick.next, 1);
        CHECK_EQ(elem, 7);
    }
    return 0;
}

TEST(a_rendezvous_with_itself_and_a_tick_are_not_taken_for_done) {
    /* The select is on both lists of one channel, so each of the two seems to have a partner. */
    rig r;
    thrum_chan *chan;
    CHECK_EQ(thrum_chan_create(&chan, sizeof(int), 0), 0);
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, selects, chan), 0);
    rig_stop(&r);
    CHECK_EQ(thrum_chan_destroy(chan), 0);
}
