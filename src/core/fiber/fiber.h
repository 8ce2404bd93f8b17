/*
 * fiber.h: making and freeing fibers, and finding the one on a stack.
 */
#ifndef TH_FIBER_H
#define TH_FIBER_H

#include "core/state/fiber_state.h"

/* Makes a fiber that begins with `sched->fiber_main`; NULL: no stack. `single`: for one task. */
th_fiber *th_fiber_new(thrum_sched *sched, unsigned stack_class, bool single);
void th_fiber_free(th_fiber *fiber);

/* The fiber that lies on a stack that is in use, or NULL. Any thread. */
th_fiber *th_fiber_on(const th_stack *stack);

/* The upper half of the ids of a fiber's next 2^32 runs. */
uint64_t th_fiber_fresh_id(void);

/* Aborts the process if the canary shows that the stack has overflowed. */
void th_fiber_check_canary(const th_fiber *fiber);

#endif
