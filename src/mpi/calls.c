/*
 * calls.c: how MPI is called, at each level.
 *
 * At FUNNELED a task that is pinned to MPI's thread makes the calls of others. It waits for them by
 * an event of the world outside, since it is no task of the program's: reports of deadlocks are not
 * to be about it. A cancel by a stop does not end it, for others still have to clean up.
 */
#include "mpi/engine.h"

#include <stdio.h>
#include <stdlib.h>

/* At other levels than FUNNELED, and on MPI's thread, a look costs little more than a yield. */
#define LOOKS 32

th_mpi_engine th_mpi = {.gate = THRUM_MUTEX_INIT,
                        .sweeping = THRUM_MUTEX_INIT,
                        .calling = THRUM_MUTEX_INIT,
                        .queueing = THRUM_MUTEX_INIT,
                        .moving = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false)};

static bool is_here(void) {
    int is_main = 0;
    return MPI_Is_thread_main(&is_main) == MPI_SUCCESS && is_main;
}

int th_mpi_ready(void) {
    return th_mpi.is_forked      ? -ESHUTDOWN
           : !th_mpi.is_on       ? -ESRCH
           : th_mpi.is_finalized ? -ESHUTDOWN
                                 : 0;
}

unsigned th_mpi_looks(void) {
    return th_mpi.level > MPI_THREAD_FUNNELED || is_here() ? LOOKS : 1;
}

/* ---- FUNNELED ---- */

static int hand_over(int (*fn)(void *arg), void *arg) {
    th_mpi_called call = {.fn = fn, .arg = arg, .over = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false)};
    thrum_mutex_lock(&th_mpi.queueing);
    *th_mpi.calls_last = &call;
    th_mpi.calls_last = &call.next;
    th_mpi.calls_made++;
    thrum_mutex_unlock(&th_mpi.queueing);
    thrum_event_signal(&th_mpi.called);
    thrum_shield_begin(); /* the call is on this stack */
    while (thrum_event_wait_outside(&call.over, "MPI's thread", THRUM_FOREVER) != 0) {
    }
    thrum_shield_end();
    return call.code;
}

/*
 * Makes the calls that are there. False: there are none, and the end has come; or a call has forked
 * and returns in the child, where its caller never goes on: *status is then the child's.
 */
static bool make_calls(int *status) {
    thrum_mutex_lock(&th_mpi.queueing);
    th_mpi_called *first = th_mpi.calls;
    const bool goes_on = first || !th_mpi.ends;
    th_mpi.calls = NULL;
    th_mpi.calls_last = &th_mpi.calls;
    thrum_mutex_unlock(&th_mpi.queueing);
    while (first) {
        th_mpi_called *call = first;
        first = call->next; /* the caller takes it back */
        call->code = call->fn(call->arg);
        if (th_mpi.is_forked) {
            *status = call->code;
            return false;
        }
        thrum_event_signal(&call->over);
    }
    return goes_on;
}

static int serve(void *arg) {
    bool is_shielded = false;
    int status = 0;
    const int told = thrum_key_set(th_mpi.serving, arg);
    (void)told; /* without memory a wait in a call is not reported, and waits */
    while (make_calls(&status)) {
        const int code =
            thrum_event_wait_outside(&th_mpi.called, "calls to make of MPI", THRUM_FOREVER);
        if (code && !is_shielded) {
            thrum_shield_begin();
            is_shielded = true;
        }
    }
    thrum_event_signal(&th_mpi.ended);
    return status; /* the end of a body ends the child of a fork (docs/fork.md) */
}

int th_mpi_calls_begin(void) {
    thrum_attr attr = THRUM_ATTR_INIT;
    th_mpi.calls = NULL;
    th_mpi.calls_last = &th_mpi.calls;
    th_mpi.calls_made = 0;
    th_mpi.ends = false;
    thrum_event_init(&th_mpi.called, THRUM_EVENT_AUTO, false);
    thrum_event_init(&th_mpi.ended, THRUM_EVENT_AUTO, false);
    attr.name = "MPI's thread";
    attr.flags = THRUM_PINNED;
    int code = thrum_key_create(&th_mpi.serving, NULL);
    if (!code && (code = thrum_go_with(&attr, serve, &th_mpi)) != 0) {
        (void)thrum_key_delete(th_mpi.serving);
    }
    return code;
}

bool th_mpi_is_serving(void) {
    return th_mpi.level == MPI_THREAD_FUNNELED && thrum_key_get(th_mpi.serving);
}

void th_mpi_refuse(const char *does) {
    fprintf(stderr, "thrum: a function under thrum_mpi_call %s, and no call is made meanwhile\n",
            does);
    abort();
}

void th_mpi_calls_end(void) {
    thrum_mutex_lock(&th_mpi.queueing);
    th_mpi.ends = true;
    thrum_mutex_unlock(&th_mpi.queueing);
    thrum_event_signal(&th_mpi.called);
    thrum_shield_begin();
    while (thrum_event_wait(&th_mpi.ended) != 0) {
    }
    thrum_shield_end();
    (void)thrum_key_delete(th_mpi.serving);
}

/* ---- all levels ---- */

/* Tasks share a thread's errno in turn, which ThreadSanitizer takes for a race. */
__attribute__((noinline, no_sanitize("thread"))) int th_mpi_errno(void) {
    return errno;
}

__attribute__((noinline, no_sanitize("thread"))) void th_mpi_set_errno(int value) {
    errno = value;
}

/*
 * MPI may change errno. Not inlined: the caller may have waited before, on another thread, and
 * compilers keep the address of errno (docs/thread-locals.md).
 */
static __attribute__((noinline)) int call_here(int (*fn)(void *arg), void *arg) {
    const int before = th_mpi_errno();
    const int code = fn(arg);
    th_mpi_set_errno(before);
    return code;
}

int th_mpi_do(int (*fn)(void *arg), void *arg) {
    int code;
    if (th_mpi.level == MPI_THREAD_MULTIPLE || (th_mpi.level == MPI_THREAD_FUNNELED && is_here())) {
        return call_here(fn, arg);
    }
    if (th_mpi.level == MPI_THREAD_FUNNELED) {
        return hand_over(fn, arg);
    }
    thrum_mutex_lock(&th_mpi.calling);
    code = call_here(fn, arg);
    thrum_mutex_unlock(&th_mpi.calling);
    return code;
}

int thrum_mpi_call(int (*fn)(void *arg), void *arg) {
    const int code = fn ? th_mpi_ready() : -EINVAL;
    return code ? code : th_mpi_do(fn, arg);
}
