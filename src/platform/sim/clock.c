/*
 * clock.c: the virtual clock. It advances a little each time it is read, and jumps to the next
 * deadline when all threads sleep.
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
