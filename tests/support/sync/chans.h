/*
 * chans.h: a look into a channel, for tests that wait until a waiter is there.
 */
#ifndef CHANS_H
#define CHANS_H

#include "support/sync/actors.h"
#include "sync/chan.h"

static inline int chan_waiting(thrum_chan *chan, uint32_t side) {
    th_chan_lock(chan);
    int n = waiting_count(th_chan_list(chan, side).first);
    CHECK_EQ(n > 0, (th_chan_flags(chan) & side) != 0);
    th_chan_unlock(chan);
    return n;
}

#define CHAN_SENDERS_WAITING(chan) chan_waiting((chan), TH_CHAN_SENDERS)
#define CHAN_RECEIVERS_WAITING(chan) chan_waiting((chan), TH_CHAN_RECEIVERS)

#endif
