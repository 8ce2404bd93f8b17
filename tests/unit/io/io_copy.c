/*
 * io_copy.c: thrum_copy: between descriptors of every kind, until the end, a limit, a deadline, a
 * cancel or a close; no byte is lost, or the caller is told.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

#include "platform/faults.h"

typedef struct scene {
    rig r;
    ends a; /* what the test writes to a.fds[1] is copied from a.io[0] */
    ends b; /* to b.io[1], and comes out of b.fds[0] */
    uint64_t limit;
    thrum_time deadline;
    bool soon; /* the deadline is a moment after the beginning */
    int64_t result;
    atomic_bool over;
} scene;

static const end_kind kinds[] = {TCP, UNIX, PIPE};
#define PAIRS 9

static void open_pair(scene *s, int pair) {
    ends_open_half(&s->a, kinds[pair / 3]);
    pair_open(s->b.fds, kinds[pair % 3]);
    s->b.io[1] = adopted(s->b.fds[1]);
    s->limit = UINT64_MAX;
    s->deadline = THRUM_FOREVER;
    s->soon = false;
    atomic_store(&s->over, false);
}

/* Whether the copy reads and writes in turn: a pipe, where the system moves no bytes itself. */
static bool by_hands(const scene *s) {
    th_os_kind kind;
    th_os_identity identity;
    CHECK_EQ(th_os_io_kind(s->a.io[0].fd, &kind, &identity), 0);
    return kind == TH_OS_PIPE && th_os_io_splice(-1, -1, 0) == -ENOSYS;
}

static void close_pair(scene *s, bool a_is_open) {
    CHECK_EQ(thrum_io_close(s->a.io[0]), 0);
    CHECK_EQ(thrum_io_close(s->b.io[1]), 0);
    CHECK_EQ(a_is_open ? close(s->a.fds[1]) : 0, 0);
    CHECK_EQ(close(s->b.fds[0]), 0);
}

static int copies(void *arg) {
    scene *s = ((actor *)arg)->arg;
    thrum_time deadline = s->soon ? soon() : s->deadline;
    s->result = thrum_copy(s->a.io[0], s->b.io[1], s->limit, deadline);
    atomic_store(&s->over, true);
    return 0;
}

/* In a fiber, or a plain thread; to its end. */
static int64_t copied(scene *s, bool fiber) {
    cast *c = cast_new(&s->r);
    cast_add(c, fiber, copies, s);
    cast_join(c);
    return s->result;
}

/* What comes out, all in all `size` bytes. */
static void check_out(int fd, const char *text) {
    char got[256];
    size_t n = 0;
    while (n < strlen(text)) {
        ssize_t now = read(fd, got + n, strlen(text) - n);
        CHECK(now > 0);
        n += (size_t)now;
    }
    CHECK(memcmp(got, text, n) == 0);
}

/* ---- the end, the limit ---- */

TEST(all_that_comes_is_copied) {
    /* Between all kinds of descriptors; the end comes behind the last byte, and again. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2 * PAIRS; i++) {
        open_pair(&s, i / 2);
        put(s.a.fds[1], "what comes ");
        put(s.a.fds[1], "is copied");
        CHECK_EQ(close(s.a.fds[1]), 0);
        CHECK_EQ(copied(&s, i % 2 == 0), 20);
        check_out(s.b.fds[0], "what comes is copied");
        CHECK_EQ(copied(&s, i % 2 == 0), 0);
        close_pair(&s, false);
    }
    rig_stop(&s.r);
}

TEST(no_more_than_the_limit_is_taken) {
    /* What is behind it is still there to be read. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2 * PAIRS; i++) {
        char rest[8] = "";
        open_pair(&s, i / 2);
        put(s.a.fds[1], "abcdefg");
        s.limit = 3;
        CHECK_EQ(copied(&s, i % 2 == 0), 3);
        check_out(s.b.fds[0], "abc");
        s.limit = 0;
        CHECK_EQ(copied(&s, i % 2 == 0), 0);
        CHECK_EQ(thrum_read(s.a.io[0], rest, sizeof rest), 4);
        CHECK(strcmp(rest, "defg") == 0);
        close_pair(&s, true);
    }
    rig_stop(&s.r);
}

static int copies_and_shuts(void *arg) {
    scene *s = ((actor *)arg)->arg;
    copies(arg);
    CHECK_EQ(thrum_io_shutdown(s->b.io[1], THRUM_IO_WRITE), 0);
    return 0;
}

TEST(a_half_close_goes_through_a_relay) {
    /* The end of one side is seen at the other, and the other direction goes on. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 4; i++) {
        char text[8] = "";
        open_pair(&s, i / 2 * 4);
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, copies_and_shuts, &s);
        SPIN_UNTIL(IO_WATCHING(s.a.io[0], THRUM_IO_READ) == 1);
        put(s.a.fds[1], "bye");
        CHECK_EQ(shutdown(s.a.fds[1], SHUT_WR), 0);
        cast_join(c);
        CHECK_EQ(s.result, 3);
        check_out(s.b.fds[0], "bye");
        CHECK_EQ(read(s.b.fds[0], text, 1), 0);
        put(s.b.fds[0], "back");
        CHECK_EQ(thrum_copy(s.b.io[1], s.a.io[0], 4, THRUM_FOREVER), 4);
        check_out(s.a.fds[1], "back");
        close_pair(&s, true);
    }
    rig_stop(&s.r);
}

/* ---- cut short ---- */

TEST(an_idle_copy_ends_at_its_deadline) {
    /* With the code. Before it the copy goes on (a_deadline_loses_no_byte has the counts). */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2 * PAIRS; i++) {
        open_pair(&s, i / 2);
        s.deadline = soon();
        CHECK_EQ(copied(&s, i % 2 == 0), -ETIMEDOUT);
        put(s.a.fds[1], "abc");
        CHECK_EQ(copied(&s, i % 2 == 0), -ETIMEDOUT); /* past it nothing is tried */
        s.deadline = far_off();
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, copies, &s);
        check_out(s.b.fds[0], "abc");
        CHECK_EQ(close(s.a.fds[1]), 0);
        cast_join(c);
        CHECK_EQ(s.result, 3);
        close_pair(&s, false);
    }
    rig_stop(&s.r);
}

static uint8_t known(size_t at) {
    return (uint8_t)(at * 7 + at / 251);
}

/* Fills the way in with known bytes. */
static size_t fill_known(int fd) {
    uint8_t block[1000];
    size_t sum = 0;
    const int flags = fcntl(fd, F_GETFL);
    CHECK_EQ(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
    for (ssize_t n = 1; n > 0; sum += n > 0 ? (size_t)n : 0) {
        for (size_t i = 0; i < sizeof block; i++) {
            block[i] = known(sum + i);
        }
        n = write(fd, block, sizeof block);
    }
    CHECK_EQ(fcntl(fd, F_SETFL, flags), 0);
    return sum;
}

/* Reads what is there, which is to be the known bytes from `at` on; returns where they end. */
static size_t check_known(int fd, size_t at, size_t end) {
    uint8_t block[4096];
    while (at < end) {
        ssize_t n = read(fd, block, sizeof block < end - at ? sizeof block : end - at);
        CHECK(n > 0);
        for (ssize_t i = 0; i < n; i++) {
            CHECK_EQ(block[i], known(at + (size_t)i));
        }
        at += (size_t)n;
    }
    return at;
}

/* The other side takes nothing, so much is in all buffers when the copy is cut; `how` cuts it. */
static void check_nothing_lost(scene *s, bool fiber, int64_t (*how)(scene *s, bool fiber)) {
    const size_t in = fill_known(s->a.fds[1]);
    size_t out = 0;
    while (out < in) {
        const int64_t n = how(s, fiber);
        CHECK(n > 0 || n == -ETIMEDOUT || n == -ECANCELED);
        /* Now there is room again. */
        out = check_known(s->b.fds[0], out, out + (n > 0 ? (size_t)n : 0));
    }
}

static int64_t until_soon(scene *s, bool fiber) {
    s->soon = true;
    return copied(s, fiber);
}

TEST(a_deadline_loses_no_byte) {
    /* The count is what has come out; what was not written is still there for the next call. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2 * PAIRS; i++) {
        open_pair(&s, i / 2);
        check_nothing_lost(&s, i % 2 == 0, until_soon);
        close_pair(&s, true);
    }
    rig_stop(&s.r);
}

static int copies_in_scope(void *arg) {
    actor a = {.arg = arg};
    return copies(&a);
}

static int64_t until_cancelled(scene *s, bool fiber) {
    thrum_handle *handle;
    thrum_attr attr = rig_attr(&s->r);
    (void)fiber;
    s->deadline = THRUM_FOREVER;
    atomic_store(&s->over, false);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, copies_in_scope, s), 0);
    SPIN_UNTIL(IO_WATCHING(s->b.io[1], THRUM_IO_WRITE) == 1 || atomic_load(&s->over));
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    return s->result;
}

TEST(a_cancel_loses_no_byte) {
    /* As a deadline. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < PAIRS; i++) {
        open_pair(&s, i);
        check_nothing_lost(&s, true, until_cancelled);
        close_pair(&s, true);
    }
    rig_stop(&s.r);
}

TEST(a_close_of_either_end_ends_it) {
    /* Also of the one that it does not wait for; and the close does not wait for the copy. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 4 * PAIRS; i++) {
        open_pair(&s, i / 4);
        /* Then it waits for room, and not for bytes; unit/io_copy_hands has the others. */
        const bool stuck = i % 8 >= 4 && !by_hands(&s);
        const size_t full = stuck ? fill_known(s.b.fds[1]) + fill_known(s.a.fds[1]) : 0;
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, copies, &s);
        SPIN_UNTIL(IO_WATCHING(s.a.io[0], THRUM_IO_READ) == 1 &&
                   IO_WATCHING(s.b.io[1], THRUM_IO_WRITE) == 1);
        CHECK_EQ(thrum_io_close(i % 4 < 2 ? s.a.io[0] : s.b.io[1]), 0);
        cast_join(c);
        CHECK(full ? s.result > 0 || s.result == -EBADF : s.result == -EBADF);
        CHECK_EQ(thrum_io_close(i % 4 < 2 ? s.b.io[1] : s.a.io[0]), 0);
        CHECK_EQ(close(s.a.fds[1]) | close(s.b.fds[0]), 0);
    }
    rig_stop(&s.r);
}

TEST(a_copy_that_never_waits_is_cancelled) {
    /* From where there is always more to where there is always room. */
    scene s = {.limit = UINT64_MAX, .deadline = THRUM_FOREVER};
    thrum_handle *handle;
    rig_begin(&s.r, 0);
    thrum_attr attr = rig_attr(&s.r);
    s.a.io[0] = adopted(open("/dev/zero", O_RDONLY));
    s.b.io[1] = adopted(open("/dev/null", O_WRONLY));
    CHECK_EQ(thrum_spawn_with(&handle, &attr, copies_in_scope, &s), 0);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK(s.result > 0 || s.result == -ECANCELED);
    s.limit = 1000000;
    CHECK_EQ(copied(&s, true), 1000000);
    CHECK_EQ(copied(&s, false), 1000000);
    CHECK_EQ(thrum_io_close(s.a.io[0]) | thrum_io_close(s.b.io[1]), 0);
    rig_stop(&s.r);
}

/* ---- much ---- */

enum { MUCH = 3 << 20 };

static void *sends_much(void *arg) {
    scene *s = arg;
    uint8_t block[10000];
    for (size_t at = 0; at < MUCH;) {
        const size_t n = sizeof block < MUCH - at ? sizeof block : MUCH - at;
        for (size_t i = 0; i < n; i++) {
            block[i] = known(at + i);
        }
        for (size_t done = 0; done < n;) {
            ssize_t now = write(s->a.fds[1], block + done, n - done);
            CHECK(now > 0);
            done += (size_t)now;
        }
        at += n;
    }
    CHECK_EQ(close(s->a.fds[1]), 0);
    return NULL;
}

static void check_much(scene *s, int pair, bool fiber) {
    pthread_t sender;
    open_pair(s, pair);
    cast *c = cast_new(&s->r);
    cast_add(c, fiber, copies, s);
    CHECK_EQ(pthread_create(&sender, NULL, sends_much, s), 0);
    check_known(s->b.fds[0], 0, MUCH);
    CHECK_EQ(pthread_join(sender, NULL), 0);
    cast_join(c);
    CHECK_EQ(s->result, MUCH);
    close_pair(s, false);
}

TEST(much_is_copied_in_order) {
    /* More than all buffers hold, with waits at both ends. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < PAIRS; i++) {
        check_much(&s, i, i % 2 == 0);
    }
    rig_stop(&s.r);
}

TEST(where_the_system_cannot_splice_it_is_copied_all_the_same) {
    /* By a buffer. */
    NOT_BY_POSIX("splice");
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    th_os_fail(TH_OS_FAULT_SPLICE, 0, UINT32_MAX);
    for (int i = 0; i < PAIRS; i++) {
        check_much(&s, i, i % 2 != 0);
    }
    CHECK(th_os_fails_left(TH_OS_FAULT_SPLICE) < UINT32_MAX);
    th_os_fail(TH_OS_FAULT_SPLICE, 0, 0);
    rig_stop(&s.r);
}

TEST(what_makes_no_sense_is_refused) {
    /* Stale values, sockets with messages, deadlines in the past. */
    scene s = {.soon = false};
    thrum_io none = {0, 0};
    ends d;
    rig_begin(&s.r, 0);
    open_pair(&s, 8);
    ends_open(&d, DGRAM);
    CHECK_EQ(thrum_copy(none, s.b.io[1], 0, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_copy(s.a.io[0], none, 0, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_copy(d.io[0], s.b.io[1], 1, THRUM_FOREVER), -EOPNOTSUPP);
    CHECK_EQ(thrum_copy(s.a.io[0], d.io[0], 1, THRUM_FOREVER), -EOPNOTSUPP);
    CHECK_EQ(thrum_copy(s.a.io[0], s.b.io[1], 1, 0), -ETIMEDOUT);
    ends_close(&d);
    close_pair(&s, true);
    rig_stop(&s.r);
}

TEST(the_wrong_end_of_a_pipe_is_refused) {
    /* Nothing is ever read from the one that is written to. */
    int in;
    const thrum_io out = pipe_writer(&in);
    CHECK_EQ(thrum_copy(out, out, 1, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_io_close(out) | close(in), 0);
}

TEST(where_nobody_reads_any_more_it_is_told_without_a_signal) {
    /* And nothing of it is taken for written. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 2 * PAIRS; i++) {
        open_pair(&s, i / 2);
        CHECK_EQ(close(s.b.fds[0]), 0);
        s.limit = 1;
        for (int k = 0; k < 2; k++) {
            int64_t n;
            do {
                put(s.a.fds[1], "x"); /* TCP learns of it by the first of them */
                n = copied(&s, i % 2 == 0);
            } while (n > 0);
            CHECK(by_hands(&s) ? n == -EIO : n == -EPIPE || n == -ECONNRESET);
        }
        CHECK_EQ(thrum_io_close(s.a.io[0]) | thrum_io_close(s.b.io[1]), 0);
        CHECK_EQ(close(s.a.fds[1]), 0);
    }
    rig_stop(&s.r);
}

TEST(an_error_behind_a_count_is_not_taken_for_the_end) {
    /* The system tells of a reset once; a later read must not see the end in its place. */
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 4; i++) {
        char byte;
        open_pair(&s, i < 2 ? 0 : 2);
        cast *c = cast_new(&s.r);
        cast_add(c, i % 2 == 0, copies, &s);
        put(s.a.fds[1], "abc");
        check_out(s.b.fds[0], "abc");
        CHECK_EQ(setsockopt(s.a.fds[1], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
        CHECK_EQ(close(s.a.fds[1]), 0);
        cast_join(c);
        CHECK_EQ(s.result, 3);
        CHECK_EQ(thrum_read(s.a.io[0], &byte, 1), -ECONNRESET);
        CHECK_EQ(copied(&s, true), -ECONNRESET);
        close_pair(&s, false);
    }
    rig_stop(&s.r);
}

TEST(refusals_of_the_system_come_back_with_nothing_lost) {
    /* No memory for the bytes, a read or a write that fails; afterwards it goes on. */
    static const struct {
        th_os_fault kind;
        int code;
    } refused[] = {
        {TH_OS_FAULT_ALLOC, -ENOMEM}, {TH_OS_FAULT_READ, -ENOBUFS}, {TH_OS_FAULT_WRITE, -ENOBUFS}};
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (size_t i = 0; i < 3; i++) {
        open_pair(&s, 0);
        put(s.a.fds[1], "abc");
        CHECK_EQ(close(s.a.fds[1]), 0);
        th_os_fail(refused[i].kind, 0, 1);
        CHECK_EQ(thrum_copy(s.a.io[0], s.b.io[1], UINT64_MAX, THRUM_FOREVER), refused[i].code);
        CHECK_EQ(th_os_fails_left(refused[i].kind), 0);
        CHECK_EQ(thrum_copy(s.a.io[0], s.b.io[1], UINT64_MAX, THRUM_FOREVER), 3);
        check_out(s.b.fds[0], "abc");
        close_pair(&s, false);
    }
    rig_stop(&s.r);
}

/* ---- files, and what cannot be put back ---- */

static int a_file(void) {
    char name[] = "/tmp/thrum-copy-XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd >= 0);
    CHECK_EQ(unlink(name), 0);
    return fd;
}

TEST(a_file_is_sent_and_its_position_is_right) {
    /* What was read of it and not written is read again by the next call. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 3; i++) {
        const int file = a_file();
        open_pair(&s, i);
        CHECK_EQ(thrum_io_close(s.a.io[0]) | close(s.a.fds[1]), 0);
        uint8_t *bytes = malloc(MUCH);
        CHECK(bytes != NULL);
        for (size_t k = 0; k < MUCH; k++) {
            bytes[k] = known(k);
        }
        CHECK_EQ(pwrite(file, bytes, MUCH, 0), MUCH);
        free(bytes);
        CHECK_EQ(thrum_io_adopt_shared(&s.a.io[0], file), 0);
        size_t out = 0;
        while (out < MUCH) {
            int64_t n = until_soon(&s, true);
            CHECK(n > 0 || n == -ETIMEDOUT);
            check_known(s.b.fds[0], out, out + (n > 0 ? (size_t)n : 0));
            out += n > 0 ? (size_t)n : 0;
        }
        s.soon = false;
        CHECK_EQ(copied(&s, true), 0);
        CHECK_EQ(lseek(file, 0, SEEK_CUR), MUCH);
        close_pair(&s, false);
        CHECK_EQ(close(file), 0);
    }
    rig_stop(&s.r);
}

TEST(bytes_go_to_a_file) {
    /* From a socket and from a pipe; a file takes all. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 6; i++) {
        const int file = a_file();
        char text[8] = "";
        open_pair(&s, i / 2 * 3);
        CHECK_EQ(thrum_io_close(s.b.io[1]) | close(s.b.fds[0]), 0);
        CHECK_EQ(thrum_io_adopt_shared(&s.b.io[1], file), 0);
        put(s.a.fds[1], "abcdef");
        CHECK_EQ(close(s.a.fds[1]), 0);
        CHECK_EQ(copied(&s, true), 6); /* a plain thread has no pool to ask */
        CHECK_EQ(pread(file, text, sizeof text, 0), 6);
        CHECK(strcmp(text, "abcdef") == 0);
        CHECK_EQ(thrum_io_close(s.a.io[0]) | thrum_io_close(s.b.io[1]) | close(file), 0);
    }
    rig_stop(&s.r);
}

TEST(a_tty_is_copied) {
    /* Line by line, as it comes. */
    scene s = {.soon = false};
    rig_begin(&s.r, 0);
    for (int i = 0; i < 6; i++) {
        open_pair(&s, i / 2);
        CHECK_EQ(thrum_io_close(s.a.io[0]) | close(s.a.fds[1]), 0);
        ends_open_half(&s.a, PTY);
        put(s.a.fds[1], "abc\ndef\n");
        s.limit = 8;
        CHECK_EQ(copied(&s, i % 2 == 0), 8);
        check_out(s.b.fds[0], "abc\ndef\n");
        close_pair(&s, true);
    }
    rig_stop(&s.r);
}
