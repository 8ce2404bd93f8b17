/*
 * delegated.h: delegated calls: calls that other fibers make in a task's place, for forks that were
 * given (fork_call.h) and for nodes of its graphs. The fiber that makes one inherits the task's
 * deadline and shields, and is cancelled with it.
 *
 * If the task is a spawned one, that fiber is on the list in the task's handle from the call's
 * first wait or first scope until the call has ended. A call that never waits costs nothing.
 * core/wait/WAITING.md, "Delegated calls", has the argument.
 */
#ifndef TH_DELEGATED_H
#define TH_DELEGATED_H

#include "base/cc.h"
#include "core/basis/waiter_state.h"
#include "core/state/fiber_state.h"

/*
 * In the task's context, on the calling fiber: before the call (`fn`: its function, or
 * TH_BODY_OTHER), and once its values are dropped.
 */
void th_delegated_begin(const th_inherited *inherited, uintptr_t fn);
void th_delegated_end(void);

/* Called when the fiber is about to wait, or to open a scope: a cancel must find it. */
void th_delegated_list_slow(th_fiber *fiber);

static inline bool th_delegated_is_unlisted(const th_fiber *fiber) {
    return th_unlikely(fiber->delegated == TH_DELEGATED_UNLISTED);
}

static inline void th_delegated_list(th_fiber *fiber) {
    if (th_delegated_is_unlisted(fiber)) {
        th_delegated_list_slow(fiber);
    }
}

/*
 * The end of something that is waited for once, such as a fork: a word that is TH_FORK_OPEN until
 * then. The waiting side waits shielded, since a cancel reaches the calls, which use its frame.
 * After th_delegated_tell the object may be gone.
 */
void th_delegated_tell(uintptr_t *xend);
void th_delegated_wait(uintptr_t *xend, th_on on, void *object);

#endif
