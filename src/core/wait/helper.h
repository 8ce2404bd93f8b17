/*
 * helper.h: a task's calls that others make in its stead: forks that were given (fork.h), nodes of
 * its graphs. Who makes one inherits what the task has to keep to, and is cancelled with it.
 *
 * A *helper* is the fiber that makes such a call for a spawned task. It stands on the list in that
 * task's handle from its first wait, or its first scope, until the call has ended: a call that
 * never waits costs nothing. core/wait/WAITING.md, "Helpers", has the argument.
 */
#ifndef TH_HELPER_H
#define TH_HELPER_H

#include "base/cc.h"
#include "core/state/fiber_state.h"

/* Task's context, on the fiber that makes the call: before it, and when its values are dropped. */
void th_help_begin(const th_heritage *heritage);
void th_help_end(void);

/* The fiber is about to wait, or to open a family: whoever cancels its task must find it. */
void th_help_list_slow(th_fiber *fiber);

static inline bool th_help_is_unlisted(const th_fiber *fiber) {
    return th_unlikely(fiber->help == TH_HELP_UNLISTED);
}

static inline void th_help_list(th_fiber *fiber) {
    if (th_help_is_unlisted(fiber)) {
        th_help_list_slow(fiber);
    }
}

#endif
