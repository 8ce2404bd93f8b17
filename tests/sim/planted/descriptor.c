/*
 * descriptor.c: planted faults of threads that wait for descriptors: edges that are lost, wake-ups
 * that are swallowed, events that are taken for more than they are, calls on closed descriptors.
 */
#include <errno.h>

#include "planted.h"
#include "platform/sim/outside.h"

#define KEY 77u

static th_os_pollset set;
static int fds[2];
static unsigned xready, xend;
static unsigned data;

static void make(void) {
    sim_check(th_os_pollset_open(&set) == 0);
    sim_pipe(fds);
    th_os_io_nonblocking(fds[0], true);
    th_os_io_nonblocking(fds[1], true);
}

static void end(void) {
    th_os_io_close(fds[0]);
    th_os_io_close(fds[1]);
    th_os_pollset_close(&set);
}

static th_os_event event(void) {
    th_os_event one = {0};
    while (th_os_pollset_wait(&set, &one, 1, TH_FOREVER) == -EINTR) {
    }
    return one;
}

/* ---- lost edges ---- */

THREAD(polls) {
    while (!th_load_acquire(&xend)) {
        if (event().key == KEY) {
            th_store_release(&xready, 1u);
            th_os_futex_wake(&xready, 1);
        } else {
            th_os_pollset_wake_take(&set);
        }
    }
}
THREAD(writes_two) {
    th_os_io_write(fds[1], TH_OS_PIPE, "a", 1);
    th_os_io_write(fds[1], TH_OS_PIPE, "b", 1);
}

static void reader(bool clears_first) {
    char c;
    make();
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == 0);
    int a = sim_spawn(polls, NULL);
    int b = sim_spawn(writes_two, NULL);
    for (unsigned got = 0; got < 2;) {
        if (clears_first) {
            th_store_relaxed(&xready, 0u);
        }
        if (th_os_io_read(fds[0], TH_OS_PIPE, &c, 1) == 1) {
            got++;
            continue;
        }
        if (!clears_first) {
            th_store_relaxed(&xready, 0u);
        }
        while (!th_load_acquire(&xready)) {
            th_os_futex_wait(&xready, 0, TH_FOREVER);
        }
    }
    th_store_release(&xend, 1u);
    th_os_pollset_wake(&set);
    sim_join(a);
    sim_join(b);
    end();
}

/* The event that comes between a read that found nothing and the clearing is lost. */
PLANTED(clears_after_read, "deadlock") {
    reader(false);
}

/* The order of clearing and reading is all that was wrong. */
SIM_WORLD(planted_clears_before_read) {
    reader(true);
}

/* The event is waited for although bytes were left: there is no edge for them. */
THREAD(writes_two_at_once) {
    th_os_io_write(fds[1], TH_OS_PIPE, "ab", 2);
}
PLANTED(leaves_bytes, "deadlock") {
    char c;
    make();
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == 0);
    int t = sim_spawn(writes_two_at_once, NULL);
    for (unsigned got = 0; got < 2;) {
        event();
        got += th_os_io_read(fds[0], TH_OS_PIPE, &c, 1) == 1;
    }
    sim_join(t);
    end();
}

static th_os_kind kind;

THREAD(sends_four) {
    th_os_io_write(fds[1], kind, "abcd", 4);
}

static void reads_short(void) {
    char text[8];
    sim_check(th_os_pollset_open(&set) == 0);
    sim_pair(kind, fds);
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == 0);
    int t = sim_spawn(sends_four, NULL);
    for (int64_t got = 0; got < 4;) {
        event();
        int64_t n = th_os_io_read(fds[0], kind, text, sizeof text);
        got += n > 0 ? n : 0;
    }
    sim_join(t);
    end();
}

/* A short read is taken for the end of the data, on a socket that passes descriptors. */
PLANTED(short_read, "deadlock", .spurious = 4) {
    kind = TH_OS_STREAM;
    reads_short();
}

/* On TCP it is. */
SIM_WORLD(planted_short_read_tcp, .spurious = 4) {
    kind = TH_OS_TCP;
    reads_short();
}

/* ---- swallowed ---- */

static int wakeup;

THREAD(looks) {
    th_os_event one;
    th_os_pollset_wait(&set, &one, 1, 0); /* its finding is for another */
}
THREAD(wakes) {
    th_os_wakeup_set(wakeup);
}
/*
 * A wake-up that is reported once, as descriptors are, is reported to the first thread that
 * looks.
 */
PLANTED(wake_swallowed, "deadlock") {
    sim_check(th_os_pollset_open(&set) == 0);
    wakeup = th_os_wakeup_open();
    sim_check(th_os_pollset_add(&set, wakeup, KEY) == 0);
    sim_check(event().key == KEY); /* it can be written to: that is an event, too */
    int a = sim_spawn(looks, NULL);
    int b = sim_spawn(wakes, NULL);
    sim_check(event().key == KEY);
    sim_join(a);
    sim_join(b);
    th_os_wakeup_close(wakeup);
    th_os_pollset_close(&set);
}

THREAD(takes) {
    th_os_event one;
    if (th_os_pollset_wait(&set, &one, 1, 0) == 1) {
        th_os_pollset_wake_take(&set);
    }
}
THREAD(wakes_set) {
    th_os_pollset_wake(&set);
}
/* A repeated wake-up is lost if a helper takes it back. */
PLANTED(wake_taken, "deadlock") {
    sim_check(th_os_pollset_open(&set) == 0);
    int a = sim_spawn(takes, NULL);
    int b = sim_spawn(wakes_set, NULL);
    sim_check(event().key == TH_OS_WAKE);
    sim_join(a);
    sim_join(b);
    th_os_pollset_close(&set);
}

/* ---- taken for more than it is ---- */

THREAD(writes_after_data) {
    data = 1;
    th_os_io_write(fds[1], TH_OS_PIPE, "a", 1);
}
/* An event may be false: only bytes that were read show that there was a write. */
PLANTED(event_false, "race") {
    make();
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == 0);
    int t = sim_spawn(writes_after_data, NULL);
    event();
    data++;
    sim_join(t);
    end();
}

static void sends_after_data(void *arg) {
    data = 1;
    sim_outside_write(arg, "a", 1);
}
/* Another process's bytes order nothing here. */
PLANTED(outside_orders, "race") {
    char c;
    make();
    sim_end writer = sim_outside(fds[1]);
    int t = sim_spawn(sends_after_data, writer);
    if (th_os_io_read(fds[0], TH_OS_PIPE, &c, 1) == 1) {
        data++;
    }
    sim_join(t);
}

static unsigned xa, xb;
THREAD(sets_a) {
    th_store_relaxed(&xa, 1u);
    th_os_wakeup_set(wakeup);
    if (!th_load_relaxed(&xb)) {
        th_add_relaxed(&data, 1u);
    }
}
/* A call is no fence: not every processor's locks are. */
PLANTED_C11(call_for_fence, "check") {
    wakeup = th_os_wakeup_open();
    int t = sim_spawn(sets_a, NULL);
    th_store_relaxed(&xb, 1u);
    th_os_wakeup_set(wakeup);
    if (!th_load_relaxed(&xa)) {
        th_add_relaxed(&data, 1u);
    }
    sim_join(t);
    sim_check(th_load_relaxed(&data) < 2);
    th_os_wakeup_close(wakeup);
}

/* ---- closed, blocking ---- */

/* The set is closed while it may still be woken: the number may be somebody's by then. */
PLANTED(wake_late, "closed race") {
    sim_check(th_os_pollset_open(&set) == 0);
    int t = sim_spawn(wakes_set, NULL);
    th_os_pollset_close(&set);
    sim_join(t);
}

/* The same without a set, and the number is a pipe's by then. */
PLANTED(wakeup_late, "closed") {
    wakeup = th_os_wakeup_open();
    int t = sim_spawn(wakes, NULL);
    th_os_wakeup_close(wakeup);
    sim_pipe(fds);
    sim_join(t);
    th_os_io_close(fds[0]);
    th_os_io_close(fds[1]);
}

/* The descriptor of another connection, under the number of a closed one. */
THREAD(reads_number) {
    char c;
    sim_check(th_os_io_read(3, TH_OS_PIPE, &c, 1) != 1 || c == 'a');
}
PLANTED(stale_number, "check") {
    make();
    th_os_io_close(fds[0]);
    th_os_io_close(fds[1]);
    th_os_pollset_close(&set);
    sim_pipe(fds);
    th_os_io_nonblocking(fds[0], true);
    int t = sim_spawn(reads_number, NULL);
    th_os_io_write(fds[1], TH_OS_PIPE, "a", 1);
    th_os_io_close(fds[0]);
    int other[2];
    sim_pipe(other);
    th_os_io_nonblocking(other[0], true);
    th_os_io_write(other[1], TH_OS_PIPE, "b", 1);
    sim_join(t);
}

/* A pipe that was not set not to wait. */
PLANTED(waits_in_read, "waits") {
    char c;
    sim_pipe(fds);
    th_os_io_read(fds[0], TH_OS_PIPE, &c, 1);
}
