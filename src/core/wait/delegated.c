/*
 * delegated.c: see delegated.h.
 */
#include "core/wait/delegated.h"

#include "core/state/handle.h"
#include "core/basis/lock.h"
#include "core/state/thread.h"

void th_delegated_begin(const th_inherited *inherited, uintptr_t fn) {
    th_fiber *fiber = th_fiber_self();
    th_known(fiber);
    th_store_relaxed(&fiber->body, fn); /* relaxed: for inspectors; else our own */
    fiber->inherited = *inherited;
    fiber->delegated = inherited->handle ? TH_DELEGATED_UNLISTED : TH_DELEGATED_NONE;
    fiber->dirty = true; /* so that inherited state ends with it */
}

void th_delegated_list_slow(th_fiber *fiber) {
    thrum_handle *handle = fiber->inherited.handle;
    fiber->delegated = TH_DELEGATED_LISTED;
    TH_LOCKED(&handle->delegated_lock);
    TH_LIST_PUSH(&handle->delegated, fiber, delegated_next, delegated_prev);
}

static void unlist(thrum_handle *handle, th_fiber *fiber) {
    TH_LOCKED(&handle->delegated_lock);
    TH_LIST_TAKE(&handle->delegated, fiber, delegated_next, delegated_prev);
}

void th_delegated_end(void) {
    th_fiber *fiber = th_fiber_self();
    if (fiber->delegated == TH_DELEGATED_LISTED) {
        unlist(fiber->inherited.handle, fiber);
    }
    fiber->delegated = TH_DELEGATED_NONE;
    fiber->inherited.handle = NULL;
}
