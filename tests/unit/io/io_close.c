/*
 * io_close.c: descriptors that are closed under those who use them.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

typedef struct scene {
    rig r;
    ends e;
    bool timed;
    bool release;
    atomic_int ended;
    atomic_bool closed;
} scene;

static thrum_time limit(const scene *s) {
    return s->timed ? far_off() : THRUM_FOREVER;
}

static int reads(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char bytes[16];
    CHECK_EQ(thrum_read_until(s->e.io[0], bytes, sizeof bytes, limit(s)), -EBADF);
    CHECK_EQ(thrum_read(s->e.io[0], bytes, sizeof bytes), -EBADF);
    atomic_fetch_add(&s->ended, 1);
    return 0;
}

static int writes(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char bytes[16] = {0};
    CHECK_EQ(thrum_write_until(s->e.io[0], bytes, sizeof bytes, limit(s)), -EBADF);
    atomic_fetch_add(&s->ended, 1);
    return 0;
}

static int watches_reading(void *arg) {
    scene *s = ((actor *)arg)->arg;
    CHECK_EQ(thrum_io_wait(s->e.io[0], THRUM_IO_READ, limit(s)), -EBADF);
    atomic_fetch_add(&s->ended, 1);
    return 0;
}

static int watches_both(void *arg) {
    scene *s = ((actor *)arg)->arg;
    CHECK_EQ(thrum_io_wait(s->e.io[0], THRUM_IO_READ | THRUM_IO_WRITE, limit(s)), -EBADF);
    atomic_fetch_add(&s->ended, 1);
    return 0;
}

static int ends_it(void *arg) {
    scene *s = ((actor *)arg)->arg;
    if (s->release) {
        CHECK_EQ(thrum_io_release(s->e.io[0]), s->e.fds[0]);
        CHECK(fcntl(s->e.fds[0], F_GETFD) >= 0);
        CHECK_EQ(close(s->e.fds[0]), 0);
    } else {
        CHECK_EQ(thrum_io_close(s->e.io[0]), 0);
        CHECK_EQ(fcntl(s->e.fds[0], F_GETFD), -1); /* the number is free */
    }
    return 0;
}

/* Every kind of caller waits, fibers and threads of each. */
static void check_closed_under_all(scene *s, end_kind k, bool fiber) {
    enum { EACH = 2 };
    atomic_store(&s->ended, 0);
    pair_open(s->e.fds, k);
    s->e.fds[0] = moved_up(s->e.fds[0]);
    CHECK(fill(s->e.fds[0]) > 0);
    s->e.io[0] = adopted(s->e.fds[0]);
    cast *c = cast_new(&s->r);
    cast_add_mixed(c, EACH, EACH, reads, s);
    cast_add_mixed(c, EACH, EACH, writes, s);
    cast_add_mixed(c, EACH, EACH, watches_reading, s);
    cast_add_mixed(c, EACH, EACH, watches_both, s);
    for (unsigned bit = THRUM_IO_READ; bit <= THRUM_IO_WRITE; bit++) {
        SPIN_UNTIL(io_awaits(s->e.io[0], bit));
        SPIN_UNTIL(IO_QUEUED(s->e.io[0], bit) == 2 * EACH - 1);
        SPIN_UNTIL(IO_WATCHING(s->e.io[0], bit) == (bit == THRUM_IO_READ ? 4 * EACH : 2 * EACH));
    }
    cast *closer = cast_new(&s->r);
    cast_add(closer, fiber, ends_it, s);
    cast_join(closer);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->ended), 8 * EACH);
    CHECK_EQ(close(s->e.fds[1]), 0);
}

TEST(a_close_ends_everybodys_wait) {
    /* It ends that of the callers inside, of those in the queue, of watchers. */
    scene s = {.timed = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 8; i++) {
        s.timed = i % 2 == 1;
        check_closed_under_all(&s, i % 4 < 2 ? UNIX : TCP, i < 4);
    }
    rig_stop(&s.r);
}

TEST(a_release_ends_everybodys_wait) {
    /* The descriptor is still open afterwards. */
    scene s = {.release = true};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 4; i++) {
        s.timed = i % 2 == 1;
        check_closed_under_all(&s, UNIX, i < 2);
    }
    rig_stop(&s.r);
}

/* ---- while a call is inside ---- */

static int closes_and_tells(void *arg) {
    scene *s = ((actor *)arg)->arg;
    CHECK_EQ(thrum_io_close(s->e.io[0]), 0);
    atomic_store(&s->closed, true);
    return 0;
}

static int is_refused(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char byte;
    const thrum_io io = s->e.io[0];
    CHECK_EQ(thrum_io_close(io), -EBADF); /* somebody closes it already */
    CHECK_EQ(thrum_io_release(io), -EBADF);
    CHECK_EQ(thrum_read(io, &byte, 1), -EBADF);
    CHECK_EQ(thrum_write(io, &byte, 1), -EBADF);
    CHECK_EQ(thrum_io_wait(io, THRUM_IO_WRITE, THRUM_FOREVER), -EBADF);
    thrum_io again;
    CHECK_EQ(thrum_io_adopt(&again, io.fd), -EEXIST);
    return 0;
}

TEST(a_close_waits_for_the_call_that_is_inside) {
    /* Until that has left, the number is not free, and all others are refused. */
    scene s = {.timed = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 8; i++) {
        const unsigned index = (unsigned)i / 4;
        ends_open_half(&s.e, UNIX);
        th_direction *d = &th_record_at(s.e.fds[0])->directions[index];
        CHECK_EQ(th_direction_enter(d, THRUM_FOREVER), 1); /* as a caller in a call */
        atomic_store(&s.closed, false);
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, closes_and_tells, &s);
        SPIN_UNTIL(io_awaits(s.e.io[0], index ? THRUM_IO_WRITE : THRUM_IO_READ)); /* the closer */
        cast *others = cast_new(&s.r);
        cast_add_mixed(others, 1, 1, is_refused, &s);
        cast_join(others);
        CHECK(!atomic_load(&s.closed));
        CHECK(fcntl(s.e.fds[0], F_GETFD) >= 0);
        th_direction_leave(d, i % 3 == 0 ? TH_LEFT_MORE : TH_LEFT_NOTHING);
        cast_join(c);
        CHECK(atomic_load(&s.closed));
        CHECK_EQ(close(s.e.fds[1]), 0);
    }
    rig_stop(&s.r);
}

static int joins_late(void *arg) {
    scene *s = arg;
    char byte;
    th_record *record = th_record_at(s->e.fds[0]);
    CHECK_EQ(th_record_join(record, s->e.io[0].turn, thrum_sched_current()), -EBADF);
    s->e.io[0] = adopted(s->e.fds[0]);
    atomic_store(&s->closed, true);
    CHECK_EQ(thrum_read(s->e.io[0], &byte, 1), 1);
    return 0;
}

TEST(a_late_caller_leaves_nothing_in_the_sets) {
    /* One that was overtaken by a close, and by the next owner of the number. */
    scene s = {.timed = false};
    rig_begin(&s.r, 0);
    ends_open_half(&s.e, UNIX);
    CHECK_EQ(thrum_io_release(s.e.io[0]), s.e.fds[0]);
    rig_go(&s.r, joins_late, &s);
    SPIN_UNTIL(atomic_load(&s.closed));
    SPIN_UNTIL(io_awaits(s.e.io[0], THRUM_IO_READ));
    put(s.e.fds[1], "x");
    rig_wait_done(&s.r);
    ends_close(&s.e);
    rig_stop(&s.r);
}

static int closes_once(void *arg) {
    scene *s = ((actor *)arg)->arg;
    int code = thrum_io_close(s->e.io[0]);
    CHECK(code == 0 || code == -EBADF);
    atomic_fetch_add(&s->ended, code == 0);
    return 0;
}

TEST(of_many_that_close_one_does) {
    /* The others are told that there is nothing. */
    scene s = {.timed = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 30; i++) {
        atomic_store(&s.ended, 0);
        ends_open_half(&s.e, i % 2 == 0 ? UNIX : PIPE);
        cast *c = cast_new(&s.r);
        cast_add_mixed(c, 6, 2, closes_once, &s);
        cast_join(c);
        CHECK_EQ(atomic_load(&s.ended), 1);
        CHECK_EQ(close(s.e.fds[1]), 0);
    }
    rig_stop(&s.r);
}

static int reads_until_closed(void *arg) {
    scene *s = ((actor *)arg)->arg;
    char bytes[16];
    int64_t n;
    while ((n = thrum_read(s->e.io[0], bytes, sizeof bytes)) > 0) {
    }
    CHECK_EQ(n, -EBADF);
    return 0;
}

static int writes_until_closed(void *arg) {
    scene *s = ((actor *)arg)->arg;
    int64_t n;
    while ((n = thrum_write_until(s->e.io[1], "0123456789", 10, limit(s))) == 10) {
    }
    CHECK(n == -EBADF || n == -EPIPE || n == -ECONNRESET || (n > 0 && n < 10));
    return 0;
}

TEST(a_close_in_the_middle_of_a_stream) {
    /* Bytes go from one to the other as fast as they can, when one end or the other is closed. */
    static const end_kind kinds[] = {TCP, UNIX, PIPE};
    scene s = {.timed = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < SCALED(60); i++) {
        ends_open(&s.e, kinds[i % 3]);
        s.timed = i % 4 == 0;
        cast *readers = cast_new(&s.r);
        cast *writers = cast_new(&s.r);
        cast_add_mixed(readers, 2, i % 2, reads_until_closed, &s);
        cast_add_mixed(writers, 2, i % 2, writes_until_closed, &s);
        for (int k = 0; k < i % 5; k++) {
            sched_yield();
        }
        CHECK_EQ(thrum_io_close(s.e.io[0]), 0);
        cast_join(readers);
        (void)thrum_io_close(s.e.io[1]);
        cast_join(writers);
    }
    rig_stop(&s.r);
}

TEST(a_listener_can_be_made_anew_at_once) {
    /* When a close returns the port is free, although a thread and a fiber waited for it. */
    struct sockaddr_in address = {.sin_family = AF_INET};
    scene s = {.timed = false};
    rig_begin(&s.r, 0);
    /* An address of its own: at the usual one other programs may get the port in between. */
    address.sin_addr.s_addr = htonl(0x7f400000 + ((uint32_t)getpid() & 0x3fffff));
    for (int i = 0; i < 20; i++) {
        socklen_t size = sizeof address;
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        CHECK_EQ(bind(fd, (struct sockaddr *)&address, size), 0);
        CHECK_EQ(listen(fd, 16), 0);
        CHECK_EQ(getsockname(fd, (struct sockaddr *)&address, &size), 0);
        s.e.fds[0] = fd;
        s.e.io[0] = adopted(fd);
        cast *c = cast_new(&s.r);
        cast_add_mixed(c, 1, 0, watches_reading, &s);
        SPIN_UNTIL(IO_WATCHING(s.e.io[0], THRUM_IO_READ) == 1);
        CHECK_EQ(thrum_io_close(s.e.io[0]), 0);
        cast_join(c);
    }
    rig_stop(&s.r);
}
