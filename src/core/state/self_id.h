/*
 * self_id.h: the caller's identity, as the owner of a lock.
 */
#ifndef TH_SELF_ID_H
#define TH_SELF_ID_H

#include "core/state/worker.h"

/*
 * The caller's id: one number for each run of a task and for each plain thread, never 0, never used
 * again. Not seen by TSan: a fiber lies where a library that it does not see may have written
 * before. Inline, since locks that nobody else wants ask at each lock and unlock.
 */
static TH_INLINE_NO_TSAN uint64_t th_self_id(void) {
    const th_worker *worker = th_here();
    return th_likely(worker) ? worker->current->run_id : th_thread_id();
}

#endif
