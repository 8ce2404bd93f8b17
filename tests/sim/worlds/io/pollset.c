/*
 * pollset.c: the simulator's own sets of descriptors (src/platform/sim/pollset.c): that no edge is
 * lost, that each goes to one waiter, that a wake-up stays, and the effects of a close and a
 * duplicate. It uses nothing of the library but the seam (src/platform/descriptor.h).
 */
#include <errno.h>

#include "base/atomic.h"
#include "platform/sim/outside.h"
#include "sim.h"

#define KEY 77u

static th_os_pollset set;
static int fds[2];
static unsigned xtick; /* events of the descriptor */
static unsigned xend;

static void make(void) {
    sim_may_refuse(false);
    sim_check(th_os_pollset_open(&set) == 0);
    sim_pipe(fds);
    th_os_io_nonblocking(fds[0], true);
    th_os_io_nonblocking(fds[1], true);
}

static void end(void) {
    th_os_pollset_close(&set);
    sim_check(sim_descriptors() == 0);
}

/* Waits for any event; an interrupted wait is made again. */
static th_os_event event(int64_t deadline) {
    th_os_event one = {0};
    while (th_os_pollset_wait(&set, &one, 1, deadline) == -EINTR) {
    }
    return one;
}

/* ---- a thread of its own ---- */

static void writes_five(void *arg) {
    sim_end writer = arg;
    for (unsigned sent = 0; sent < 5;) {
        int64_t n = sim_outside_write(writer, &"abcde"[sent], sent ? 5 - sent : 2);
        if (n < 0) {
            sim_outside_wait(writer, TH_OS_OUT);
        }
        sent += n > 0 ? (unsigned)n : 0;
    }
    sim_outside_close(writer);
}

/* Reads until there is nothing, and waits for an event then: all bytes, and the end, arrive. */
SIM_WORLD(pollset_reader, .exhaustive = true) {
    make();
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == 0);
    int t = sim_spawn(writes_five, sim_outside(fds[1]));
    unsigned got = 0;
    for (;;) {
        char text[3];
        int64_t n = th_os_io_read(fds[0], TH_OS_PIPE, text, sizeof text);
        if (n == 0) {
            break;
        }
        if (n == -EAGAIN) {
            sim_check(event(TH_FOREVER).key == KEY);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            sim_check(text[i] == "abcde"[got++]);
        }
    }
    sim_check(got == 5);
    sim_join(t);
    th_os_io_close(fds[0]);
    end();
}

static void reads_six(void *arg) {
    sim_end reader = arg;
    for (unsigned got = 0; got < 6;) {
        char text[3];
        int64_t n = sim_outside_read(reader, text, sizeof text);
        if (n < 0) {
            sim_outside_wait(reader, TH_OS_IN);
        }
        got += n > 0 ? (unsigned)n : 0;
    }
}

static void write_six(th_os_kind kind, int fd) {
    event(0); /* that it is ready at first */
    for (unsigned sent = 0; sent < 6;) {
        int64_t n = th_os_io_write(fd, kind, &"abcdef"[sent], 6 - sent);
        if (n == -EAGAIN) {
            sim_check(event(TH_FOREVER).key == KEY);
        }
        sent += n > 0 ? (unsigned)n : 0;
    }
}

/* The same for a writer, whose room appears now and then. */
SIM_WORLD(pollset_writer, .exhaustive = true) {
    make();
    sim_check(th_os_pollset_add(&set, fds[1], KEY) == 0);
    sim_end reader = sim_outside(fds[0]);
    int t = sim_spawn(reads_six, reader);
    write_six(TH_OS_PIPE, fds[1]);
    sim_join(t);
    sim_outside_close(reader);
    th_os_io_close(fds[1]);
    end();
}

/* A socket's writer is notified later, when half of the room is free. */
SIM_WORLD(pollset_writer_socket, .exhaustive = true) {
    sim_check(th_os_pollset_open(&set) == 0);
    sim_pair(TH_OS_TCP, fds);
    sim_check(th_os_pollset_add(&set, fds[1], KEY) == 0);
    sim_end reader = sim_outside(fds[0]);
    int t = sim_spawn(reads_six, reader);
    write_six(TH_OS_TCP, fds[1]);
    sim_join(t);
    sim_outside_close(reader);
    th_os_io_close(fds[1]);
    end();
}

/* ---- a poller, and a reader that sleeps elsewhere ---- */

static void polls(void *unused) {
    (void)unused;
    while (!th_load_acquire(&xend)) {
        th_os_event one = event(TH_FOREVER);
        if (one.key == KEY) {
            th_add_release(&xtick, 1u);
            th_os_futex_wake(&xtick, 1);
        } else {
            th_os_pollset_wake_take(&set);
        }
    }
}

static void writes_two(void *arg) {
    sim_outside_write(arg, "a", 1);
    sim_outside_write(arg, "b", 1);
}

/* The reader waits for another event than those before its call: it reads both bytes. */
SIM_WORLD(pollset_tick, .exhaustive = true) {
    char c;
    make();
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == 0);
    sim_end writer = sim_outside(fds[1]);
    int a = sim_spawn(polls, NULL);
    int b = sim_spawn(writes_two, writer);
    for (unsigned got = 0; got < 2;) {
        unsigned tick = th_load_acquire(&xtick);
        if (th_os_io_read(fds[0], TH_OS_PIPE, &c, 1) == 1) {
            got++;
            continue;
        }
        while (th_load_acquire(&xtick) == tick) {
            th_os_futex_wait(&xtick, tick, TH_FOREVER);
        }
    }
    th_store_release(&xend, 1u);
    th_os_pollset_wake(&set);
    sim_join(a);
    sim_join(b);
    sim_outside_close(writer);
    th_os_io_close(fds[0]);
    end();
}

/* ---- several waiters ---- */

static unsigned xevents;

static void takes_one(void *unused) {
    (void)unused;
    th_os_event one = event(TH_FOREVER);
    sim_check(one.key == KEY || one.key == KEY + 1);
    th_or_relaxed(&xevents, one.key == KEY ? 1u : 2u);
}

/* Two events wake both waiters; a waiter with one place leaves the other event to the other. */
SIM_WORLD(pollset_two_waiters) {
    int more[2];
    make();
    sim_pipe(more);
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == 0);
    sim_check(th_os_pollset_add(&set, more[0], KEY + 1) == 0);
    int a = sim_spawn(takes_one, NULL);
    int b = sim_spawn(takes_one, NULL);
    th_os_io_write(fds[1], TH_OS_PIPE, "a", 1);
    th_os_io_write(more[1], TH_OS_PIPE, "a", 1);
    sim_join(a);
    sim_join(b);
    for (unsigned i = 0; i < 2; i++) {
        th_os_io_close(fds[i]);
        th_os_io_close(more[i]);
    }
    end();
}

static int data;

static void adds(void *unused) {
    (void)unused;
    data = 1;
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == 0);
}

/*
 * A descriptor that is ready when it is added has an event. The thread that gets it, or a false
 * one, sees the earlier writes.
 */
SIM_WORLD(pollset_add, .exhaustive = true) {
    make();
    th_os_io_write(fds[1], TH_OS_PIPE, "a", 1);
    int t = sim_spawn(adds, NULL);
    sim_check(event(TH_FOREVER).key == KEY && data == 1);
    sim_join(t);
    th_os_io_close(fds[0]);
    th_os_io_close(fds[1]);
    end();
}

static void looks(void *unused) {
    th_os_event one;
    (void)unused;
    th_os_pollset_wait(&set, &one, 1, 0); /* it sees the wake-up, and leaves it where it is */
}

static void wakes(void *unused) {
    (void)unused;
    data = 1;
    th_os_pollset_wake(&set);
}

/* A helper's look at the set does not take the owner's wake-up away. */
SIM_WORLD(pollset_wake, .exhaustive = true) {
    sim_check(th_os_pollset_open(&set) == 0);
    int a = sim_spawn(looks, NULL);
    int b = sim_spawn(wakes, NULL);
    sim_check(event(TH_FOREVER).key == TH_OS_WAKE);
    sim_check(data == 1);
    th_os_pollset_wake_take(&set);
    sim_check(event(0).key == 0);
    sim_join(a);
    sim_join(b);
    end();
}

static void sleeps(void *unused) {
    (void)unused;
    sim_check(event(TH_FOREVER).key == TH_OS_WAKE);
}

/* A wake-up that is not taken back wakes each that waits. */
SIM_WORLD(pollset_wake_all, .exhaustive = true) {
    sim_check(th_os_pollset_open(&set) == 0);
    int a = sim_spawn(sleeps, NULL);
    int b = sim_spawn(sleeps, NULL);
    th_os_pollset_wake(&set);
    sim_join(a);
    sim_join(b);
    end();
}

/* ---- deadlines ---- */

/* A wait ends at its deadline, not before; 0 does not wait. */
SIM_WORLD(pollset_deadline) {
    make();
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == 0);
    th_os_event one;
    int64_t at = th_os_now() + 5000;
    int n = th_os_pollset_wait(&set, &one, 1, at);
    sim_check(n == -EINTR || n == 1 || (n == 0 && th_os_now() >= at));
    sim_check(th_os_pollset_wait(&set, &one, 1, 0) <= 1);
    th_os_io_close(fds[0]);
    th_os_io_close(fds[1]);
    end();
}

/* ---- sets in sets ---- */

static th_os_pollset inner;

static void writes_one(void *unused) {
    (void)unused;
    th_os_io_write(fds[1], TH_OS_PIPE, "a", 1);
}

/* A set is ready in another as long as it has events; the event itself is there for one. */
SIM_WORLD(pollset_nested, .exhaustive = true) {
    make();
    sim_check(th_os_pollset_open(&inner) == 0);
    sim_check(th_os_pollset_add(&inner, fds[0], KEY + 1) == 0);
    sim_check(th_os_pollset_add_set(&set, &inner, KEY) == 0);
    sim_check(th_os_pollset_add_set(&inner, &set, KEY) == -ELOOP);
    int t = sim_spawn(writes_one, NULL);
    sim_check(event(TH_FOREVER).key == KEY);
    sim_check(event(TH_FOREVER).key == KEY);
    th_os_event one;
    int n;
    while ((n = th_os_pollset_wait(&inner, &one, 1, 0)) == -EINTR) {
    }
    sim_check(n == 1 && one.key == KEY + 1);
    sim_join(t);
    th_os_io_close(fds[0]);
    th_os_io_close(fds[1]);
    th_os_pollset_close(&inner);
    end();
}

/* ---- close, duplicates, numbers that come back ---- */

/* An event of a descriptor in the set, or none: false ones are not distinguished. */
static uint64_t key_now(void) {
    return event(0).key;
}

/*
 * The close of one duplicate leaves the descriptor in the set, with its old key; that of the last
 * one removes it.
 */
SIM_WORLD(pollset_dup, .exhaustive = true) {
    make();
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == 0);
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == -EEXIST);
    int other = sim_dup(fds[0]);
    int old = fds[0];
    th_os_io_close(fds[0]);
    th_os_io_write(fds[1], TH_OS_PIPE, "a", 1);
    sim_check(key_now() == KEY);
    sim_check(th_os_pollset_remove(&set, fds[0]) == -EBADF);
    sim_check(sim_dup(other) == old);
    sim_check(th_os_pollset_remove(&set, old) == 0);
    sim_check(th_os_pollset_add(&set, old, KEY + 1) == 0);
    sim_check(th_os_pollset_remove(&set, other) == -ENOENT);
    th_os_io_close(old);
    th_os_io_close(other);
    sim_check(key_now() == 0);
    fds[0] = sim_regular();
    sim_check(fds[0] == old && th_os_pollset_add(&set, old, KEY) == -EPERM);
    th_os_io_close(fds[0]);
    th_os_io_close(fds[1]);
    end();
}

/* ---- refusals ---- */

/* A refused call leaves nothing open. */
SIM_WORLD(pollset_refused, .refusals = 3) {
    int code = th_os_pollset_open(&set);
    sim_check(code == 0 || code == -EMFILE || code == -ENOMEM);
    sim_check(sim_descriptors() == (code ? 0 : 2));
    if (code) {
        return;
    }
    int wakeup = th_os_wakeup_open();
    if (wakeup >= 0) {
        code = th_os_pollset_add(&set, wakeup, KEY);
        sim_check(code == 0 || code == -ENOSPC || code == -ENOMEM);
        th_os_wakeup_close(wakeup);
    }
    end();
}
