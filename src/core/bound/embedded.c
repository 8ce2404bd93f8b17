/*
 * embedded.c: the embedded loop: a bound thread inside another library's event loop (thrum/poll.h).
 *
 * In each turn it runs the available work, and leaves announced as sleeping in its set. New work
 * then makes the set readable, which the other loop waits for. The thread also notifies itself when
 * it queues something then (th_bound_posted), since the other loop may already be waiting.
 */
#include <errno.h>
#include <limits.h>

#include "core/due/poll.h"
#include "core/state/thread.h"
#include "core/bound/bound.h"
#include "platform/platform.h"
#include "thrum/poll.h"

#define NS_IN_MS 1000000u

/* The caller's worker with its set open, or NULL with the code. */
static th_worker *embedded_worker(int *code) {
    th_worker *worker = th_bound_root();
    if (!worker) {
        *code = th_here() ? -EDEADLK : th_thread_refusal();
        return NULL;
    }
    *code = worker->sched->workers_count ? -EINVAL : th_poll_embed(worker);
    return *code ? NULL : worker;
}

int thrum_poll_fd(void) {
    int code;
    const th_worker *worker = embedded_worker(&code);
    return worker ? worker->poller.set.set : code;
}

int thrum_poll_ms(thrum_time next) {
    if (next == THRUM_FOREVER) {
        return -1;
    }
    const int64_t now = th_os_now();
    if (next <= now) {
        return 0;
    }
    const uint64_t left = (uint64_t)next - (uint64_t)now; /* `next` may be any number */
    const uint64_t ms = left / NS_IN_MS + (left % NS_IN_MS != 0);
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

int thrum_poll_run(thrum_time *next) {
    int code;
    th_worker *worker = embedded_worker(&code);
    if (worker) {
        const thrum_time until = th_bound_pass(worker);
        if (next) {
            *next = until;
        }
    }
    return code;
}
