/*
 * part.h: the part of a select's wait that stands on a primitive's list (select/single.h).
 */
#ifndef TH_SYNC_PART_H
#define TH_SYNC_PART_H

#include "sync/chan.h"
#include "thrum/bcast.h"
#include "thrum/event.h"

/* Puts a part on an event's list. False: it is signaled, and the part is on no list. */
bool th_event_stand(thrum_event *event, th_waiter *part);
/* Takes it off, if it is there; afterwards no thread touches it. */
void th_event_leave(thrum_event *event, th_waiter *part);

/* The same for the close of a channel. */
bool th_closed_stand(thrum_chan *chan, th_waiter *part);
void th_closed_leave(thrum_chan *chan, th_waiter *part);

/* The same for the broadcast channel of a case. */
bool th_bcast_stand(const thrum_case *c, th_parked_op *part);
void th_bcast_leave(const thrum_case *c, th_parked_op *part);
/* Whether the case can happen: there is something to receive or to report. */
bool th_bcast_can(const thrum_case *c);
/* Receives without waiting; a code. */
int th_bcast_take(const thrum_case *c);

#endif
