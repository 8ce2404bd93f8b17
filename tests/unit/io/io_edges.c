/*
 * io_edges.c: what the other side may do: ends, halves of ends, short pieces, urgent bytes, resets,
 * errors that stay; and events that tell nothing.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

#include <linux/net_tstamp.h>
#include <sys/time.h>

typedef struct scene {
    rig r;
    ends e;
    atomic_int step;
    int64_t result;
} scene;

/* ---- the end behind a short read ---- */

static int reads_full(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char text[16];
    s->result = thrum_read_full(s->e.io[0], text, sizeof text, THRUM_FOREVER);
    return 0;
}

static void check_end_in_one_event(end_kind k, bool fiber) {
    scene s = {.step = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 20; i++) {
        ends_open_half(&s.e, k);
        cast *c = cast_new(&s.r);
        cast_add(c, fiber, reads_full, &s);
        SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
        holder h[1];
        if (check_env("THRUM_WORKERS", 1) == 1) {
            holder_begin(&s.r, h, -1); /* bytes and end come to the worker at once */
        }
        put(s.e.fds[1], "five.");
        CHECK_EQ(close(s.e.fds[1]), 0);
        if (check_env("THRUM_WORKERS", 1) == 1) {
            holder_end(h);
        }
        cast_join(c);
        CHECK_EQ(s.result, 5);
        CHECK_EQ(thrum_io_close(s.e.io[0]), 0);
    }
    rig_stop(&s.r);
}

TEST(a_full_read_gets_the_end_that_came_with_the_bytes) {
    /* One event tells of both; the read that got the bytes must ask again. */
    check_end_in_one_event(TCP, true);
    check_end_in_one_event(UNIX, true);
    check_end_in_one_event(PIPE, true);
}

TEST(a_full_read_of_a_thread_gets_the_end) {
    /* The same on a plain thread. */
    check_end_in_one_event(TCP, false);
    check_end_in_one_event(PIPE, false);
}

static int reads_to_the_end(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char text[16];
    int64_t n;
    int64_t sum = 0;
    while ((n = thrum_read(s->e.io[0], text, sizeof text)) > 0) {
        sum += n;
        atomic_store(&s->step, (int)sum);
    }
    CHECK_EQ(n, 0);
    s->result = sum;
    for (int i = 0; i < 3; i++) { /* and again */
        CHECK_EQ(thrum_read(s->e.io[0], text, sizeof text), 0);
    }
    return 0;
}

static void check_half_close(end_kind k, bool fiber, bool at_once) {
    scene s = {.step = 0};
    rig_begin(&s.r, 0);
    ends_open_half(&s.e, k);
    cast *c = cast_new(&s.r);
    cast_add(c, fiber, reads_to_the_end, &s);
    SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
    put(s.e.fds[1], "short");
    if (!at_once) {
        SPIN_UNTIL(atomic_load(&s.step) == 5);
        SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
    }
    CHECK_EQ(k == PIPE ? close(s.e.fds[1]) : shutdown(s.e.fds[1], SHUT_WR), 0);
    cast_join(c);
    CHECK_EQ(s.result, 5);
    CHECK_EQ(thrum_io_close(s.e.io[0]), 0);
    CHECK_EQ(k == PIPE ? 0 : close(s.e.fds[1]), 0);
    rig_stop(&s.r);
}

TEST(a_half_close_behind_a_short_read_is_seen) {
    /* The reader gets the bytes, then the end, and the end again as often as it asks. */
    static const end_kind kinds[] = {TCP, UNIX, PIPE};
    for (size_t i = 0; i < 12; i++) {
        check_half_close(kinds[i % 3], i % 2 == 0, i % 4 < 2);
    }
}

/* ---- urgent bytes ---- */

static int reads_around_the_mark(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char text[16];
    CHECK_EQ(thrum_read_full(s->e.io[0], text, 6, far_off()), 6);
    CHECK(memcmp(text, "abcefg", 6) == 0);
    return 0;
}

TEST(urgent_bytes_do_not_hide_what_is_behind_them) {
    /* A read stops short at the mark although there is more. */
    scene s = {.step = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 20; i++) {
        ends_open_half(&s.e, TCP);
        cast *c = cast_new(&s.r);
        cast_add(c, i % 4 != 3, reads_around_the_mark, &s);
        if (i % 2 == 0) {
            SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
        }
        put(s.e.fds[1], "abc");
        CHECK_EQ(send(s.e.fds[1], "d", 1, MSG_OOB), 1);
        put(s.e.fds[1], "efg");
        cast_join(c);
        ends_close(&s.e);
    }
    rig_stop(&s.r);
}

/* ---- packets of a pipe ---- */

static int reads_two_packets(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char text[16];
    for (int i = 0; i < 2; i++) {
        s->result = thrum_read_until(s->e.io[0], text, sizeof text, far_off());
        CHECK_EQ(s->result, 3);
    }
    return 0;
}

TEST(a_pipe_of_packets_gives_them_all) {
    /* Each read gets one packet, and says nothing about those behind it. */
    scene s = {.step = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(pipe2(s.e.fds, O_DIRECT), 0);
        s.e.io[0] = adopted(s.e.fds[0]);
        s.e.io[1] = (thrum_io){0, 0};
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, reads_two_packets, &s);
        SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
        holder h[1];
        if (check_env("THRUM_WORKERS", 1) == 1) {
            holder_begin(&s.r, h, -1);
        }
        put(s.e.fds[1], "one");
        put(s.e.fds[1], "two");
        if (check_env("THRUM_WORKERS", 1) == 1) {
            holder_end(h);
        }
        cast_join(c);
        ends_close(&s.e);
    }
    rig_stop(&s.r);
}

/* ---- resets and errors ---- */

static void reset(int fd) {
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    CHECK_EQ(close(fd), 0);
}

static int is_reset(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char text[16];
    CHECK_EQ(thrum_read(s->e.io[0], text, sizeof text), -ECONNRESET);
    CHECK_EQ(thrum_read(s->e.io[0], text, sizeof text), 0);
    CHECK_EQ(thrum_write(s->e.io[0], text, sizeof text), -EPIPE);
    CHECK_EQ(thrum_io_wait(s->e.io[0], THRUM_IO_READ | THRUM_IO_WRITE, THRUM_FOREVER),
             THRUM_IO_READ | THRUM_IO_WRITE);
    return 0;
}

TEST(a_reset_ends_a_read) {
    /* The reader gets the code once; later reads see the end, writes say -EPIPE without a signal.
     * */
    scene s = {.step = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 8; i++) {
        ends_open_half(&s.e, TCP);
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, is_reset, &s);
        if (i % 4 < 2) {
            SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
        }
        reset(s.e.fds[1]);
        cast_join(c);
        CHECK_EQ(thrum_io_close(s.e.io[0]), 0);
    }
    rig_stop(&s.r);
}

enum { MUCH = 8 << 20 };

static int writes_much(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char *block = calloc(1, MUCH);
    CHECK(block != NULL);
    s->result = thrum_write(s->e.io[1], block, MUCH);
    CHECK(s->result > 0 && s->result < MUCH);
    for (int i = 0; i < 3; i++) {
        int64_t code = thrum_write(s->e.io[1], block, 1);
        CHECK(code == -EPIPE || code == -ECONNRESET);
    }
    free(block);
    return 0;
}

TEST(a_writer_whose_reader_goes_away_is_told) {
    /* A write in the middle returns what it has written; those behind it the code, each time. */
    static const end_kind kinds[] = {TCP, UNIX, PIPE};
    scene s = {.step = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 6; i++) {
        pair_open(s.e.fds, kinds[i % 3]);
        pair_narrow(s.e.fds);
        s.e.io[1] = adopted(s.e.fds[1]);
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, writes_much, &s);
        SPIN_UNTIL(io_awaits(s.e.io[1], THRUM_IO_WRITE));
        CHECK_EQ(close(s.e.fds[0]), 0);
        cast_join(c);
        CHECK_EQ(thrum_io_close(s.e.io[1]), 0);
    }
    rig_stop(&s.r);
}

/* Whether all threads together take less than half of a processor for a while. */
static bool was_quiet(void) {
    int64_t us[2];
    for (int i = 0; i < 2; i++) {
        struct rusage usage;
        CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
        us[i] = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) +
                usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
        if (i == 0) {
            usleep(300000);
        }
    }
    return us[1] - us[0] < 150000;
}

static int reads_one(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char text[4];
    CHECK_EQ(thrum_read(s->e.io[0], text, sizeof text), 1);
    return 0;
}

TEST(an_error_that_stays_does_not_spin) {
    /*
     * What is in a socket's queue of errors makes it "ready" for good, and a read says -EAGAIN all
     * the same: a reader that waits must not use up its thread.
     */
    NOT_BY_POSIX("set that tells of changes, only of states");
    const int flags = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
    scene s = {.step = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2; i++) {
        ends_open_half(&s.e, TCP);
        CHECK_EQ(setsockopt(s.e.fds[0], SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags), 0);
        put(s.e.fds[0], "x"); /* its time of sending becomes an error */
        cast *c = cast_new(&s.r);
        cast_add(c, i == 0, reads_one, &s);
        SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ) || i != 0);
        SPIN_UNTIL(was_quiet()); /* never, if it spins */
        put(s.e.fds[1], "y");
        cast_join(c);
        ends_close(&s.e);
    }
    rig_stop(&s.r);
}

/* ---- events that tell nothing ---- */

static int closes(void *arg) {
    scene *s = ((actor *)arg)->arg;
    CHECK_EQ(thrum_io_close(s->e.io[0]), 0);
    atomic_fetch_add(&s->step, 1);
    return 0;
}

static int waits_to_read(void *arg) {
    scene *s = ((actor *)arg)->arg;
    s->result = thrum_io_wait(s->e.io[0], THRUM_IO_READ, THRUM_FOREVER);
    return 0;
}

TEST(an_event_in_vain_does_not_end_the_wait_of_a_close) {
    /* A close waits for the call that is inside, whatever else comes. */
    scene s = {.step = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2; i++) {
        ends_open_half(&s.e, UNIX);
        th_direction *d = direction_of(s.e.io[0], THRUM_IO_READ);
        CHECK_EQ(th_direction_enter(d, THRUM_FOREVER), 1); /* as a caller that reads */
        cast *c = cast_new(&s.r);
        cast_add(c, i == 0, closes, &s);
        SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ)); /* here: the closer */
        for (int k = 0; k < 3; k++) {
            th_direction_tell(d);
            put(s.e.fds[1], "x");
            CHECK_EQ(thrum_sched_wait_idle(s.r.sched, THRUM_FOREVER), 0);
            SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
            CHECK_EQ(atomic_load(&s.step), i);
        }
        th_direction_leave(d, TH_LEFT_MORE);
        cast_join(c);
        CHECK_EQ(atomic_load(&s.step), i + 1);
        CHECK_EQ(close(s.e.fds[1]), 0);
    }
    rig_stop(&s.r);
}

TEST(a_close_finds_a_waiting_caller_behind_an_event_in_vain) {
    /* An event of which another reader took all leaves the waiting callers where a close looks. */
    scene s = {.step = 0};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 6; i++) {
        ends_open_half(&s.e, UNIX);
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, i < 4 ? waits_to_read : reads_full, &s);
        for (int k = 0; k < 3; k++) {
            SPIN_UNTIL(IO_WATCHING(s.e.io[0], THRUM_IO_READ) == 1 ||
                       io_awaits(s.e.io[0], THRUM_IO_READ));
            th_direction_tell(direction_of(s.e.io[0], THRUM_IO_READ)); /* as an event does */
        }
        CHECK_EQ(thrum_io_close(s.e.io[0]), 0);
        CHECK_EQ(close(s.e.fds[1]), 0);
        cast_join(c);
        CHECK_EQ(s.result, -EBADF);
    }
    rig_stop(&s.r);
}
