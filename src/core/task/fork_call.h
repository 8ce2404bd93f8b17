/*
 * fork_call.h: a fork that was given: the call, made by another fiber than its owner, and the
 * owner's wait for its end.
 */
#ifndef TH_FORK_CALL_H
#define TH_FORK_CALL_H

#include "core/state/fork_state.h"

/* Runs such a fork as work of a queue. In the context of the run that makes the call. */
void th_fork_call(th_call *call);

/* Waits for the fork's end, and returns its result. A cancel does not end the wait. */
int th_fork_wait(th_fork *fork);

#endif
