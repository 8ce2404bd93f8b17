/*
 * event.h: parts of waits on several lists (core/wait/WAITING.md) that are on an event's list.
 */
#ifndef TH_SYNC_EVENT_H
#define TH_SYNC_EVENT_H

#include "core/basis/waiter_state.h"
#include "thrum/event.h"

/* Puts a part on an event's list. False: it is signaled, and the part is on no list. */
bool th_event_stand(thrum_event *event, th_waiter *part);
/* Takes it off, if it is there; afterwards no thread touches it. */
void th_event_leave(thrum_event *event, th_waiter *part);

#endif
