/*
 * yield.c: the running task gives way (thrum/spawn.h).
 */
#include "core/due/fork_slots.h"
#include "core/wait/switch.h"
#include "platform/platform.h"
#include "thrum/spawn.h"

static TH_NO_TSAN void yield_in_fiber(th_fiber *fiber) {
    if (th_unlikely(th_forks_any(&fiber->worker->forks))) {
        th_forks_give_all(fiber->worker);
    }
    th_suspend_task(fiber, TH_COMMIT_YIELD, NULL);
}

void thrum_yield(void) {
    th_fiber *fiber = th_fiber_self();
    if (fiber) {
        yield_in_fiber(fiber);
    } else {
        th_os_thread_yield();
    }
}
