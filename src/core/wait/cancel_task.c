/*
 * cancel_task.c: the calls that cancel one task and ask whether it is cancelled (thrum/spawn.h).
 */
#include <errno.h>
#include "base/check.h"
#include "core/state/handle.h"
#include "core/wait/cancel.h"
#include "core/wait/scope_tree.h"
#include "thrum/spawn.h"

int thrum_cancel(thrum_handle *tagged) {
    if (!tagged) {
        return -EINVAL;
    }
    thrum_handle *handle = th_handle_of("thrum_cancel", tagged);
    th_cancel_hold();
    /* relaxed: once it has ended nothing else of it is touched: its scheduler may be gone */
    if (th_load_relaxed(&handle->xjoin) != TH_JOIN_DONE &&
        !th_load_relaxed(&handle->xcancelled)) { /* relaxed: written with the lock held */
        th_scope_cancel_task(handle, handle->can_order);
    }
    th_cancel_let_go();
    return 0;
}

bool thrum_cancelled(void) {
    const th_fiber *fiber = th_fiber_self();
    if (fiber && th_cancel_is_on(fiber)) {
        /*
         * pairs: th_cancel_all; the writes of the thread that stops. One task's flag has been
         * acquired
         */
        (void)th_load_acquire(&fiber->sched->xcancelling);
        return true;
    }
    return fiber && th_scope_is_late(fiber);
}

void thrum_shield_begin(void) {
    th_fiber *fiber = th_fiber_self();
    if (fiber) {
        fiber->inherited.shields++;
        fiber->dirty = true;
    }
}

void thrum_shield_end(void) {
    th_fiber *fiber = th_fiber_self();
    if (fiber && fiber->inherited.shields-- == 0) {
        th_misuse("thrum_shield_end", "there is no shield to end", fiber);
    }
}
