/*
 * policy_any.c: the policy "any" of the test kit: one queue, from which any task may be taken next.
 * A program that is correct under this order is correct under all policies that promise no order.
 * It is the policy global, with another way to take from the queue.
 */
#include "queue/work.h"

#include "platform/sim/controller.h"

#define OPTIONS 200u /* of a decision, at most */

static th_work *take_any(th_chain *chain) {
    const unsigned n = chain->count < OPTIONS ? (unsigned)chain->count : OPTIONS;
    th_chain before = {0};
    for (unsigned i = sim_choose(SIM_PICK, n); i > 0; i--) {
        th_chain_append(&before, th_chain_take(chain));
    }
    th_work *taken = th_chain_take(chain);
    if (before.first) {
        th_chain rest = *chain;
        *chain = before;
        if (rest.first) {
            th_chain_join(chain, rest);
        }
    }
    return taken;
}

#define th_chain_take take_any
#include "core/policy/policy_global.c"
