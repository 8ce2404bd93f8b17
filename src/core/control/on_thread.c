/*
 * on_thread.c: see on_thread.h.
 */
#include "core/control/on_thread.h"

#include "core/ready/waiter.h"
#include "core/wait/wait.h"
#include "platform/platform.h"

typedef struct blocking_call {
    int (*fn)(void *arg);
    void *arg;
    int result;
    th_waiter waiter;
} blocking_call;

static void make_call(void *arg) {
    blocking_call *call = arg;
    call->result = call->fn(call->arg);
    th_waiter_wake(&call->waiter);
}

int th_on_thread(const char *name, thrum_sched *sched, int (*fn)(void *arg), void *arg) {
    blocking_call call = {.fn = fn, .arg = arg};
    th_waiter_init(&call.waiter, TH_ON_SCHED, sched);
    th_os_thread thread;
    int failed = th_os_thread_start(&thread, name, make_call, &call);
    if (failed) {
        return failed;
    }
    th_waiter_wait(&call.waiter);
    th_os_thread_join(thread); /* the thread has nothing more to do */
    return call.result;
}
