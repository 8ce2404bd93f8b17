/*
 * thread_exit.c: see thread_exit.h.
 */
#include "core/state/thread_exit.h"

#include "base/check.h"
#include "platform/platform.h"

void th_thread_ends(void *self) {
    th_thread *thread = self;
    if (thread->worker) {
        th_misuse("thrum_sched_unbind", "missing: a thread has ended bound", thread->worker);
    }
    for (int i = 0; i < TH_EXITS; i++) {
        if (thread->at_exit[i]) {
            thread->at_exit[i](thread);
        }
    }
    thread->exit_registered = false; /* a later destructor may need it again */
}

TH_NO_TSAN bool th_thread_keep(th_thread *thread, th_exit which, void (*end)(th_thread *thread)) {
    thread->at_exit[which] = end;
    if (!thread->exit_registered) {
        thread->exit_registered =
            th_os_self_on_exit(th_thread_ends) == 0 && th_os_self_set(thread) == 0;
    }
    return thread->exit_registered;
}
