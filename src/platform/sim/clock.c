/*
 * clock.c: the virtual clock. It goes on a little with each look, and jumps when all sleep.
 */
#include "platform/platform.h"

#include "platform/sim/controller.h"

#define LOOK_NS 20

int64_t th_os_now(void) {
    sim_pass(LOOK_NS);
    return sim_now();
}

uint64_t th_os_ticks(void) {
    return (uint64_t)th_os_now();
}

int64_t th_os_ticks_ns(uint64_t ticks) {
    return (int64_t)ticks;
}
