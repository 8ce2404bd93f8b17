/*
 * helper.c: see helper.h.
 */
#include "core/wait/helper.h"

#include "core/state/handle.h"
#include "core/state/lock.h"
#include "core/state/thread.h"

void th_help_begin(const th_heritage *heritage) {
    th_fiber *fiber = th_fiber_self();
    fiber->heritage = *heritage;
    fiber->help = heritage->handle ? TH_HELP_UNLISTED : TH_HELP_NONE;
    fiber->dirty = true; /* so that what it inherits ends with it */
}

void th_help_list_slow(th_fiber *fiber) {
    thrum_handle *handle = fiber->heritage.handle;
    fiber->help = TH_HELP_LISTED;
    fiber->helper_prev = NULL;
    th_lock_acquire(&handle->helpers_lock);
    fiber->helper_next = handle->helpers;
    if (handle->helpers) {
        handle->helpers->helper_prev = fiber;
    }
    handle->helpers = fiber;
    th_lock_release(&handle->helpers_lock);
}

static void unlist(thrum_handle *handle, th_fiber *fiber) {
    th_lock_acquire(&handle->helpers_lock);
    if (fiber->helper_next) {
        fiber->helper_next->helper_prev = fiber->helper_prev;
    }
    if (fiber->helper_prev) {
        fiber->helper_prev->helper_next = fiber->helper_next;
    } else {
        handle->helpers = fiber->helper_next;
    }
    th_lock_release(&handle->helpers_lock);
}

void th_help_end(void) {
    th_fiber *fiber = th_fiber_self();
    if (fiber->help == TH_HELP_LISTED) {
        unlist(fiber->heritage.handle, fiber);
    }
    fiber->help = TH_HELP_NONE;
    fiber->heritage.handle = NULL;
}
