/*
 * policy.h: the policies of a scheduler that has workers; worker.h defines a policy.
 */
#ifndef TH_POLICY_H
#define TH_POLICY_H

#include "core/state/worker.h"

extern const th_policy th_policy_sharded;
extern const th_policy th_policy_global;
extern const th_policy th_policy_fifo;

#endif
