/*
 * fork_call.h: a fork that was given: the call, by somebody else than its owner, and the owner's
 * wait for its end.
 */
#ifndef TH_FORK_CALL_H
#define TH_FORK_CALL_H

#include "core/state/fork_state.h"

/* What such a fork is, as work in a queue. In the context of the run that makes the call. */
void th_fork_call(th_call *call);

/* Waits for its end, and returns its result. A cancel does not end that. */
int th_fork_wait(th_fork *fork);

#endif
