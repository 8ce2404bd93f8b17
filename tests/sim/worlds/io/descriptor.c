/*
 * descriptor.c: the simulator's own pipes, sockets and listeners (src/platform/sim/files.h): the
 * results of calls on them, and the order that they create between threads. It uses nothing of the
 * library but the seam (src/platform/descriptor.h).
 */
#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "platform/sim/outside.h"
#include "sim.h"

static int fds[2];
static int data; /* plain: ordered by the calls */
static unsigned xtried;

static int nonblocking(int fd) {
    sim_check(th_os_io_nonblocking(fd, true) == 0);
    return fd;
}

static void make_pipe(void) {
    sim_pipe(fds);
    nonblocking(fds[0]);
    nonblocking(fds[1]);
}

static void close_both(void) {
    th_os_io_close(fds[0]);
    th_os_io_close(fds[1]);
    sim_check(sim_descriptors() == 0);
}

/* ---- results of calls ---- */

/* Full, empty, half a transfer; the end; nobody reads. */
SIM_WORLD(descriptor_pipe, .exhaustive = true) {
    char text[8] = "";
    make_pipe();
    sim_check(th_os_io_read(fds[0], TH_OS_PIPE, text, 8) == -EAGAIN);
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "abcdef", 6) == 4);
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "e", 1) == -EAGAIN);
    sim_check(th_os_io_read(fds[0], TH_OS_PIPE, text, 3) == 3 && !memcmp(text, "abc", 3));
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "ef", 2) == 2);
    const th_os_part parts[2] = {{text, 1}, {text + 1, 7}};
    sim_check(th_os_io_readv(fds[0], TH_OS_PIPE, parts, 2) == 3 && !memcmp(text, "def", 3));
    sim_check(th_os_io_write(fds[0], TH_OS_PIPE, "x", 1) == -EBADF);
    sim_check(th_os_io_read(fds[0], TH_OS_TCP, text, 1) == -ENOTSOCK);

    int other = sim_dup(fds[1]);
    th_os_io_close(fds[1]); /* a duplicate is there still */
    sim_check(th_os_io_read(fds[0], TH_OS_PIPE, text, 8) == -EAGAIN);
    sim_check(th_os_io_write(other, TH_OS_PIPE, "g", 1) == 1);
    th_os_io_close(other);
    sim_check(th_os_io_read(fds[0], TH_OS_PIPE, text, 8) == 1 && text[0] == 'g');
    sim_check(th_os_io_read(fds[0], TH_OS_PIPE, text, 8) == 0);
    th_os_io_close(fds[0]);
    sim_check(th_os_io_read(fds[0], TH_OS_PIPE, text, 8) == -EBADF);

    make_pipe(); /* the same numbers */
    sim_check(fds[0] == 3 && fds[1] == 4);
    th_os_io_close(fds[0]);
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "x", 1) == -EPIPE);
    th_os_io_close(fds[1]);
    sim_check(sim_descriptors() == 0);
}

/* Half a close, a close; unread bytes break the connection. */
SIM_WORLD(descriptor_pair, .exhaustive = true) {
    char text[4];
    th_os_kind kind = sim_pick(2) ? TH_OS_TCP : TH_OS_STREAM;
    sim_pair(kind, fds);
    sim_check(th_os_io_write(fds[0], kind, "a", 1) == 1);
    sim_check(th_os_io_shutdown(fds[0], TH_OS_OUT) == 0);
    sim_check(th_os_io_write(fds[0], kind, "b", 1) == -EPIPE);
    sim_check(th_os_io_poll(fds[1], TH_OS_IN, -1, TH_FOREVER) != 0);
    sim_check(th_os_io_read(fds[1], kind, text, 4) == 1);
    sim_check(th_os_io_read(fds[1], kind, text, 4) == 0);
    sim_check(th_os_io_write(fds[1], kind, "c", 1) == 1); /* the other direction is open */
    bool unread = sim_pick(2);
    if (!unread) {
        sim_check(th_os_io_read(fds[0], kind, text, 4) == 1);
    }
    th_os_io_close(fds[0]);
    if (unread) {
        sim_check(th_os_io_write(fds[1], kind, "d", 1) == -ECONNRESET);
    } else if (kind == TH_OS_TCP) {
        sim_check(th_os_io_write(fds[1], kind, "d", 1) == 1);
    }
    sim_check(th_os_io_write(fds[1], kind, "d", 1) == -EPIPE);
    sim_check(th_os_io_read(fds[1], kind, text, 4) == 0);
    th_os_io_close(fds[1]);
    sim_check(sim_descriptors() == 0);
}

/* ---- order by calls ---- */

static void writes_data(void *unused) {
    (void)unused;
    data = 1;
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) == 1);
}

/* A thread that gets the byte sees the writes before it was written. */
SIM_WORLD(descriptor_write_orders, .exhaustive = true) {
    char c;
    make_pipe();
    int t = sim_spawn(writes_data, NULL);
    if (th_os_io_read(fds[0], TH_OS_PIPE, &c, 1) == 1) {
        sim_check(data == 1);
    }
    sim_join(t);
    close_both();
}

static void reads_after_data(void *unused) {
    char text[4];
    (void)unused;
    data = 1;
    sim_check(th_os_io_read(fds[0], TH_OS_PIPE, text, 4) == 4);
}

/* A thread that finds room sees the writes before the read that made it. */
SIM_WORLD(descriptor_room_orders, .exhaustive = true) {
    make_pipe();
    sim_check(th_os_io_write(fds[1], TH_OS_PIPE, "abcd", 4) == 4);
    int t = sim_spawn(reads_after_data, NULL);
    if (th_os_io_write(fds[1], TH_OS_PIPE, "e", 1) == 1) {
        sim_check(data == 1);
    }
    sim_join(t);
    close_both();
}

static void tries(void *unused) {
    char c;
    (void)unused;
    data = 1;
    sim_check(th_os_io_read(fds[0], TH_OS_PIPE, &c, 1) == -EAGAIN);
    th_store_relaxed(&xtried, 1u);
}

/*
 * A thread that is notified of bytes sees another one's writes before it found none, though the
 * bytes come from another process.
 */
SIM_WORLD(descriptor_none_orders, .exhaustive = true) {
    make_pipe();
    sim_end writer = sim_outside(fds[1]);
    int t = sim_spawn(tries, NULL);
    while (!th_load_relaxed(&xtried)) {
        th_os_relax();
    }
    sim_outside_write(writer, "a", 1);
    int bits;
    do {
        bits = th_os_io_poll(fds[0], TH_OS_IN, -1, TH_FOREVER);
    } while (bits == -EINTR);
    sim_check(bits == TH_OS_IN && data == 1);
    sim_join(t);
    sim_outside_close(writer);
    th_os_io_close(fds[0]);
    sim_check(sim_descriptors() == 0);
}

static void closes_after_data(void *unused) {
    (void)unused;
    data = 1;
    th_os_io_close(fds[0]);
}

/* A number that comes back brings along the writes before its close; so does the end. */
SIM_WORLD(descriptor_close_orders, .exhaustive = true) {
    make_pipe();
    int t = sim_spawn(closes_after_data, NULL);
    if (sim_pick(2)) {
        int fd = sim_regular();
        sim_check(fd == fds[0] ? data == 1 : fd == 5);
        th_os_io_close(fd);
    } else if (th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) == -EPIPE) {
        sim_check(data == 1);
    }
    sim_join(t);
    th_os_io_close(fds[1]);
    sim_check(sim_descriptors() == 0);
}

static int others[2];
static unsigned ended[2]; /* plain */

static void closes_dup(void *arg) {
    unsigned i = (unsigned)(uintptr_t)arg;
    ended[i] = 1;
    th_os_io_close(others[i]);
}

/* The last duplicate ends it: the writes before each close are known then. */
SIM_WORLD(descriptor_dup_orders, .exhaustive = true) {
    make_pipe();
    for (unsigned i = 0; i < 2; i++) {
        others[i] = sim_dup(fds[0]);
    }
    th_os_io_close(fds[0]);
    int a = sim_spawn(closes_dup, (void *)0);
    int b = sim_spawn(closes_dup, (void *)1);
    if (th_os_io_write(fds[1], TH_OS_PIPE, "a", 1) == -EPIPE) {
        sim_check(ended[0] && ended[1]);
    }
    sim_join(a);
    sim_join(b);
    th_os_io_close(fds[1]);
    sim_check(sim_descriptors() == 0);
}

/* ---- waiting for one ---- */

static int wakeup;

static void wakes(void *unused) {
    (void)unused;
    data = 1;
    th_os_wakeup_set(wakeup);
}

static void sends(void *arg) {
    sim_outside_write(arg, "a", 1);
}

/* A byte, a wake-up, or a deadline end a thread's wait for a descriptor. */
SIM_WORLD(descriptor_poll, .exhaustive = true) {
    make_pipe();
    sim_end writer = sim_outside(fds[1]);
    wakeup = th_os_wakeup_open();
    int a = sim_spawn(wakes, NULL);
    int b = sim_spawn(sends, writer);
    int64_t deadline = sim_pick(2) ? TH_FOREVER : th_os_now() + 1000;
    int bits = th_os_io_poll(fds[0], TH_OS_IN, wakeup, deadline);
    sim_check(bits == TH_OS_IN || bits == 0 || bits == -EINTR);
    if (bits == 0 && deadline == TH_FOREVER) {
        sim_check(data == 1);
        th_os_wakeup_take(wakeup);
    }
    sim_join(a);
    sim_join(b);
    th_os_wakeup_close(wakeup);
    th_os_io_close(fds[0]);
    sim_outside_close(writer);
    sim_check(sim_descriptors() == 0);
}

/* ---- connections ---- */

static void connects(void *arg) {
    char c = 0;
    sim_end end = sim_connect(*(int *)arg);
    sim_check(end != NULL);
    sim_outside_wait(end, TH_OS_IN);
    sim_check(sim_outside_read(end, &c, 1) == 1 && c == 'x');
    sim_outside_close(end);
}

/* Each connection is taken once; a connection without a descriptor stays in the listener. */
SIM_WORLD(descriptor_accept, .exhaustive = true, .refusals = 2) {
    int listener = nonblocking(sim_listener(TH_OS_TCP, 2));
    int a = sim_spawn(connects, &listener);
    int b = sim_spawn(connects, &listener);
    for (unsigned taken = 0; taken < 2;) {
        int fd = th_os_io_accept(listener);
        if (fd < 0) {
            sim_check(fd == -EAGAIN || fd == -EMFILE);
            int bits = th_os_io_poll(listener, TH_OS_IN, -1, TH_FOREVER);
            sim_check(bits == TH_OS_IN || bits == -EINTR);
            continue;
        }
        taken++;
        sim_check(th_os_io_write(fd, TH_OS_TCP, "x", 1) == 1);
        th_os_io_close(fd);
    }
    sim_join(a);
    sim_join(b);
    sim_check(th_os_io_accept(listener) == -EAGAIN || sim_descriptors() == 1);
    th_os_io_close(listener);
    sim_check(sim_descriptors() == 0);
}

static void connects_in_vain(void *arg) {
    char c;
    sim_end end = sim_connect(*(int *)arg);
    if (end) {
        sim_outside_wait(end, TH_OS_IN);
        sim_check(sim_outside_read(end, &c, 1) == -ECONNRESET);
        sim_outside_close(end);
    }
}

/* A listener that closes resets the waiting connections. */
SIM_WORLD(descriptor_listener_close, .exhaustive = true) {
    int listener = nonblocking(sim_listener(TH_OS_TCP, 2));
    int t = sim_spawn(connects_in_vain, &listener);
    th_os_io_close(listener);
    sim_join(t);
    sim_check(sim_descriptors() == 0);
}
