/*
 * refused.c: calls beside the scheduler's own that need memory, a thread or a mapping and do not
 * get it: an error, nothing changed, and the next call works.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

#include "platform/faults.h"

static int answer(void *arg) {
    (void)arg;
    return 42;
}

/* ---- channels ---- */

TEST(channel_without_memory) {
    /* The channel is not made. */
    thrum_chan *chan = NULL;
    th_os_fail(TH_OS_FAULT_ALLOC, 0, 1);
    CHECK_EQ(thrum_chan_create(&chan, sizeof(int), 4), -ENOMEM);
    CHECK_EQ(thrum_chan_create(&chan, sizeof(int), 4), 0);
    CHECK_EQ(thrum_chan_destroy(chan), 0);
}

/* Sends numbers from 0 until there is no room without memory; returns how many were sent. */
static int fill(thrum_chan *chan) {
    int n = 0;
    int result = 0;
    th_os_fail(TH_OS_FAULT_ALLOC, 0, UINT32_MAX);
    while ((result = thrum_chan_send(chan, &n)) == 0) {
        n++;
        CHECK(n < 1000000);
    }
    CHECK_EQ(result, -ENOMEM);
    CHECK_EQ(thrum_chan_try_send(chan, &n), -ENOMEM);
    CHECK_EQ(thrum_chan_send_until(chan, &n, far_off()), -ENOMEM);
    CHECK_EQ(thrum_chan_len(chan), n);
    return n;
}

static int send_without_memory(void *arg) {
    thrum_chan *chan = NULL;
    int number = 0;
    (void)arg;
    CHECK_EQ(thrum_chan_create(&chan, sizeof(int), THRUM_UNBOUNDED), 0);
    int n = fill(chan);
    thrum_case cases[] = {THRUM_SEND_CASE(chan, &n)};
    CHECK_EQ(thrum_select(cases, 1, THRUM_FOREVER), -ENOMEM);
    CHECK_EQ(thrum_select(cases, 1, 0), -ENOMEM);
    th_os_fail(TH_OS_FAULT_ALLOC, 0, 0);
    CHECK_EQ(thrum_select(cases, 1, THRUM_FOREVER), 0);
    for (int i = 0; i <= n; i++) {
        CHECK_EQ(thrum_chan_recv(chan, &number), 0);
        CHECK_EQ(number, i);
    }
    CHECK_EQ(thrum_chan_len(chan), 0);
    CHECK_EQ(thrum_chan_destroy(chan), 0);
    return 0;
}

TEST(unbounded_channel_cannot_grow) {
    /* Each way to send fails with -ENOMEM, nothing is lost, order is kept; later it grows. */
    rig_do(0, send_without_memory, NULL);
    CHECK_EQ(send_without_memory(NULL), 0); /* sent by a plain thread */
}

static int select_without_memory(void *arg) {
    enum { CASES = THRUM_SELECT_FRAME + 1 };
    thrum_chan *chan = NULL;
    int number = 7;
    int got = 0;
    (void)arg;
    CHECK_EQ(thrum_chan_create(&chan, sizeof(int), 1), 0);
    thrum_case cases[CASES];
    for (int i = 0; i < CASES; i++) {
        cases[i] = THRUM_RECV_CASE(chan, &got);
    }
    th_os_fail(TH_OS_FAULT_ALLOC, 0, UINT32_MAX);
    CHECK_EQ(thrum_select(cases, CASES, THRUM_FOREVER), -ENOMEM);
    CHECK_EQ(thrum_select(cases, CASES, past()), -ENOMEM); /* its second look needs some, too */
    CHECK_EQ(thrum_chan_try_send(chan, &number), 0);
    CHECK(thrum_select(cases, CASES, THRUM_FOREVER) >= 0); /* it does not wait here either */
    CHECK_EQ(got, 7);
    th_os_fail(TH_OS_FAULT_ALLOC, 0, 0);
    CHECK_EQ(thrum_select(cases, CASES, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_chan_destroy(chan), 0);
    return 0;
}

TEST(select_over_a_crowd_without_memory) {
    /* It fails with -ENOMEM only if no case is found at once; nothing stays enlisted. */
    rig_do(0, select_without_memory, NULL);
}

/* ---- waiting for a scheduler from a fiber of another ---- */

static int wait_for_other(void *arg) {
    rig *other = arg;
    th_os_fail(TH_OS_FAULT_THREAD, 0, 2);
    CHECK_EQ(thrum_sched_wait_idle(other->sched, THRUM_FOREVER), -EAGAIN);
    CHECK_EQ(thrum_sched_wait_done(other->sched, THRUM_FOREVER), -EAGAIN);
    CHECK_EQ(thrum_sched_wait_idle(other->sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_wait_done(other->sched, THRUM_FOREVER), 0);
    return 0;
}

TEST(fiber_waits_for_idleness_without_a_thread) {
    /* A thread waits in its place; when that is refused, so is the call. */
    rig a, b;
    CHECK_EQ(thrum_sched_wait_idle(NULL, 0), -EINVAL);
    CHECK_EQ(thrum_sched_wait_done(NULL, 0), -EINVAL);
    rig_begin(&a, 0);
    rig_begin(&b, 1);
    CHECK_EQ(rig_run(&a, wait_for_other, &b), 0);
    rig_stop(&b);
    rig_stop(&a);
}

/* ---- blocking calls ---- */

static int call_blocking(void *arg) {
    rig *r = arg;
    int result = 0;
    const int error = thrum_blocking(answer, NULL, &result);
    if (atomic_load(&r->refused) != 0) {
        CHECK_EQ(error, -ENOMEM);
        CHECK_EQ(thrum_blocking(answer, NULL, &result), 0);
    } else {
        CHECK_EQ(error, 0);
    }
    CHECK_EQ(result, 42);
    return 0;
}

TEST(blocking_call_fails_at_each_allocation) {
    /*
     * -ENOMEM comes with the call not begun, for the pool and for its first thread; the next call
     * works.
     */
    bool refused = true;
    int n = 0;
    while (refused) {
        rig r;
        rig_begin(&r, 0);
        rig_run(&r, answer, NULL); /* what a first task needs is there now */
        atomic_store(&r.fail_at, atomic_load(&r.calls) + 2 + n++); /* 1: the fiber that calls */
        CHECK_EQ(rig_run(&r, call_blocking, &r), 0);
        refused = atomic_load(&r.refused) != 0;
        rig_stop(&r);
    }
    CHECK(n >= 2);
}

/* ---- binding ---- */

TEST(bind_fails_at_each_mapping) {
    /* The thread is bound or it is not; it also works without the alternate stack. */
    bool refused = true;
    for (uint32_t n = 0; refused; n++) {
        rig r;
        rig_begin(&r, 0);
        th_os_fail(TH_OS_FAULT_MAP, n, 1);
        const int error = thrum_sched_bind(r.sched);
        CHECK(error == 0 || error == -ENOMEM);
        refused = th_os_fails_left(TH_OS_FAULT_MAP) == 0;
        th_os_fail(TH_OS_FAULT_MAP, 0, 0);
        if (error != 0) {
            CHECK_EQ(thrum_sched_bind(r.sched), 0);
        }
        thrum_handle *handle = NULL;
        int result = 0;
        CHECK_EQ(thrum_spawn(&handle, answer, NULL), 0);
        CHECK_EQ(thrum_join(handle, &result), 0);
        CHECK_EQ(result, 42);
        CHECK_EQ(thrum_sched_unbind(), 0);
        rig_stop(&r);
    }
}
