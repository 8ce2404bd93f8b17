/*
 * io_calls.c: calls on descriptors, one at a time: what they return, of every kind of descriptor,
 * in fibers and in plain threads.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

static const thrum_io none = {0, 0};

static void in_both(thrum_fn fn, void *arg) {
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < 2; i++) {
        cast *c = cast_new(&r);
        cast_add(c, i == 0, fn, arg);
        cast_join(c);
    }
    rig_stop(&r);
}

/* ---- taking over ---- */

static int adopts_what_it_may(void *arg) {
    int fds[2];
    thrum_io io = {7, 7};
    (void)arg;
    CHECK_EQ(thrum_io_adopt(NULL, 0), -EINVAL);
    CHECK_EQ(thrum_io_adopt(&io, -1), -EBADF);
    CHECK_EQ(thrum_io_adopt(&io, INT_MAX), -EBADF);
    CHECK_EQ(thrum_io_adopt(&io, 12345), -EBADF);
    int file = open("/proc/self/exe", O_RDONLY);
    int folder = open("/", O_RDONLY);
    CHECK_EQ(thrum_io_adopt(&io, file), -EPERM);
    CHECK_EQ(thrum_io_adopt(&io, folder), -EPERM);
    CHECK_EQ(io.fd + (int)io.turn, 14); /* nothing was written there */
    CHECK_EQ(pipe(fds), 0);
    fds[0] = moved_up(fds[0]);
    CHECK_EQ(thrum_io_adopt(&io, fds[0]), 0);
    thrum_io again = none;
    CHECK_EQ(thrum_io_adopt(&again, fds[0]), -EEXIST);
    CHECK_EQ(thrum_io_fd(io), fds[0]);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(fcntl(fds[0], F_GETFD), -1);
    CHECK_EQ(thrum_io_adopt(&io, fds[0]), -EBADF);
    CHECK_EQ(close(fds[1]) | close(file) | close(folder), 0);
    return 0;
}

TEST(only_what_can_be_waited_for_is_taken_over) {
    /* Files and directories are not, nor what is none, nor what is taken over already. */
    in_both(adopts_what_it_may, NULL);
}

/* Every call says that the value names nothing. */
static void check_refused(thrum_io io, int64_t code) {
    char byte = 0;
    const thrum_iovec part = {&byte, 1};
    const thrum_time until = far_off();
    CHECK_EQ(thrum_read(io, &byte, 1), code);
    CHECK_EQ(thrum_read(io, &byte, 0), code);
    CHECK_EQ(thrum_read_until(io, &byte, 1, until), code);
    CHECK_EQ(thrum_read_full(io, &byte, 1, until), code);
    CHECK_EQ(thrum_readv_until(io, &part, 1, until), code);
    CHECK_EQ(thrum_write(io, &byte, 1), code);
    CHECK_EQ(thrum_write(io, &byte, 0), code);
    CHECK_EQ(thrum_write_until(io, &byte, 1, until), code);
    CHECK_EQ(thrum_writev_until(io, &part, 1, until), code);
    CHECK_EQ(thrum_io_wait(io, THRUM_IO_READ, until), code);
    CHECK_EQ(thrum_io_shutdown(io, THRUM_IO_READ), code);
    CHECK_EQ(thrum_io_fd(io), code);
    CHECK_EQ(thrum_io_release(io), code);
    CHECK_EQ(thrum_io_close(io), code);
}

static int uses_stale_values(void *arg) {
    int fds[2];
    (void)arg;
    check_refused(none, -EBADF);
    check_refused((thrum_io){-1, 1}, -EBADF);
    check_refused((thrum_io){INT_MAX, 1}, -EBADF);
    check_refused((thrum_io){INT_MIN, 1}, -EBADF);
    check_refused((thrum_io){54321, 1}, -EBADF);
    pair_open(fds, UNIX);
    thrum_io first = adopted(fds[0]);
    check_refused((thrum_io){first.fd, first.turn + 1}, -EBADF);
    check_refused((thrum_io){first.fd, first.turn + 2}, -EBADF);
    check_refused((thrum_io){first.fd, 0}, -EBADF);
    CHECK_EQ(thrum_io_close(first), 0);
    check_refused(first, -EBADF);
    CHECK_EQ(close(fds[1]), 0);
    return 0;
}

TEST(a_stale_value_does_nothing) {
    /* So do {0}, and values that never were. */
    in_both(uses_stale_values, NULL);
}

static int uses_a_number_again(void *arg) {
    int fds[2];
    (void)arg;
    pair_open(fds, UNIX);
    fds[0] = moved_up(fds[0]);
    thrum_io first = adopted(fds[0]);
    CHECK_EQ(thrum_io_close(first), 0);
    CHECK_EQ(dup2(fds[1], fds[0]), fds[0]); /* the number is another one's */
    check_refused(first, -EBADF);
    thrum_io second = adopted(fds[0]);
    CHECK(second.turn != first.turn);
    check_refused(first, -EBADF);
    CHECK_EQ(thrum_io_release(second), fds[0]);
    check_refused(second, -EBADF);
    CHECK_EQ(close(fds[0]) | close(fds[1]), 0);
    return 0;
}

TEST(a_stale_value_does_nothing_to_the_next_owner_of_its_number) {
    /* One that the library does not know, and one that it does. */
    in_both(uses_a_number_again, NULL);
}

static int flags_of(int fd) {
    return fcntl(fd, F_GETFL) & O_NONBLOCK;
}

static int gives_back(void *arg) {
    (void)arg;
    for (int i = 0; i < 2 * BYTES; i++) {
        const int flag = i % 2 != 0 ? O_NONBLOCK : 0;
        ends e;
        pair_open(e.fds, (end_kind)(i / 2));
        CHECK_EQ(fcntl(e.fds[0], F_SETFL, fcntl(e.fds[0], F_GETFL) | flag), 0);
        thrum_io io = adopted(e.fds[0]);
        CHECK(i / 2 <= UNIX ? flags_of(e.fds[0]) == flag : flags_of(e.fds[0]) != 0);
        CHECK_EQ(thrum_io_release(io), e.fds[0]);
        CHECK_EQ(flags_of(e.fds[0]), flag);
        int other = dup(e.fds[0]); /* a close leaves its duplicates as they were, too */
        io = adopted(e.fds[0]);
        CHECK_EQ(thrum_io_close(io), 0);
        CHECK_EQ(flags_of(other), flag);
        CHECK_EQ(close(other) | close(e.fds[1]), 0);
    }
    return 0;
}

TEST(a_release_gives_back_what_was_taken_over) {
    /* It is open, and reads wait or not as before. */
    in_both(gives_back, NULL);
}

/* ---- bytes ---- */

static int moves_all_bytes(void *arg) {
    char text[64];
    (void)arg;
    for (end_kind k = 0; k < BYTES; k++) {
        ends e;
        ends_open(&e, k);
        CHECK_EQ(thrum_write(e.io[1], "hello\n", 6), 6);
        CHECK_EQ(thrum_io_wait(e.io[0], THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
        CHECK_EQ(thrum_read(e.io[0], text, 0), 0);
        CHECK_EQ(thrum_read(e.io[0], text, 2), 2);
        CHECK_EQ(thrum_read(e.io[0], text + 2, sizeof text), 4);
        CHECK(memcmp(text, "hello\n", 6) == 0);
        CHECK_EQ(thrum_write_until(e.io[1], "", 0, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_write_until(e.io[1], "again\n", 6, far_off()), 6);
        CHECK_EQ(thrum_read_full(e.io[0], text, 6, far_off()), 6);
        CHECK(memcmp(text, "again\n", 6) == 0);
        CHECK_EQ(thrum_read_full(e.io[0], text, 0, far_off()), 0);
        CHECK_EQ(thrum_read_until(e.io[0], text, 1, soon()), -ETIMEDOUT);
        ends_close(&e);
    }
    return 0;
}

TEST(what_is_written_is_read) {
    /* It is, on sockets, pipes and terminals, in one piece and in several. */
    in_both(moves_all_bytes, NULL);
}

static int moves_parts(void *arg) {
    char text[16] = {0};
    char many[THRUM_IOVECS_MAX];
    thrum_iovec parts[THRUM_IOVECS_MAX + 1];
    (void)arg;
    for (end_kind k = 0; k < PTY; k++) {
        ends e;
        ends_open(&e, k);
        const thrum_iovec out[] = {{text, 0},  {"ab", 2}, {NULL, 0},
                                   {"cde", 3}, {"f", 1},  {text, 0}};
        const thrum_iovec in[] = {{text, 0}, {text, 4}, {NULL, 0}, {text + 8, 4}};
        CHECK_EQ(thrum_writev_until(e.io[1], out, COUNT_OF(out), THRUM_FOREVER), 6);
        CHECK_EQ(thrum_readv_until(e.io[0], in, COUNT_OF(in), THRUM_FOREVER), 6);
        CHECK(memcmp(text, "abcd", 4) == 0 && memcmp(text + 8, "ef", 2) == 0);
        CHECK_EQ(thrum_writev_until(e.io[1], NULL, 0, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_readv_until(e.io[0], NULL, 0, THRUM_FOREVER), 0);
        CHECK_EQ(thrum_readv_until(e.io[0], in, 1, THRUM_FOREVER), 0); /* no room */
        const thrum_iovec huge[] = {{text, SIZE_MAX}, {text, 1}}; /* a size_t counts them as none */
        CHECK_EQ(thrum_readv_until(e.io[0], huge, COUNT_OF(huge), THRUM_FOREVER), -EINVAL);
        CHECK_EQ(thrum_writev_until(e.io[1], huge, COUNT_OF(huge), THRUM_FOREVER), -EINVAL);
        for (unsigned i = 0; i <= THRUM_IOVECS_MAX; i++) {
            parts[i] = (thrum_iovec){&many[i % THRUM_IOVECS_MAX], 1};
            many[i % THRUM_IOVECS_MAX] = (char)i;
        }
        CHECK_EQ(thrum_writev_until(e.io[1], parts, THRUM_IOVECS_MAX + 1, THRUM_FOREVER), -EINVAL);
        CHECK_EQ(thrum_readv_until(e.io[0], parts, THRUM_IOVECS_MAX + 1, THRUM_FOREVER), -EINVAL);
        CHECK_EQ(thrum_writev_until(e.io[1], parts, THRUM_IOVECS_MAX, THRUM_FOREVER),
                 THRUM_IOVECS_MAX);
        memset(many, 0, sizeof many);
        CHECK_EQ(thrum_read_full(e.io[0], many, sizeof many, THRUM_FOREVER), sizeof many);
        for (unsigned i = 1; i < THRUM_IOVECS_MAX; i++) {
            CHECK_EQ((uint8_t)many[i], (uint8_t)i);
        }
        ends_close(&e);
    }
    return 0;
}

TEST(pieces_are_written_and_read_in_order) {
    /* Empty ones are passed over, and there is a most. */
    in_both(moves_parts, NULL);
}

static int counts_events(void *arg) {
    uint64_t value = 5;
    uint64_t got = 0;
    thrum_io io = adopted(eventfd(0, 0));
    (void)arg;
    CHECK_EQ(thrum_read_until(io, &got, sizeof got, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_write(io, &value, sizeof value), sizeof value);
    CHECK_EQ(thrum_read(io, &got, 4), -EINVAL);
    CHECK_EQ(thrum_read(io, &got, sizeof got), sizeof got);
    CHECK_EQ(got, 5);
    value = UINT64_MAX - 1;
    CHECK_EQ(thrum_write(io, &value, sizeof value), sizeof value);
    CHECK_EQ(thrum_io_wait(io, 3, THRUM_FOREVER), THRUM_IO_READ);
    CHECK_EQ(thrum_write_until(io, &value, sizeof value, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_io_shutdown(io, THRUM_IO_WRITE), -ENOTSOCK);
    CHECK_EQ(thrum_io_close(io), 0);
    return 0;
}

TEST(an_eventfd_counts) {
    /* It is read when it is not 0, and written as long as there is room. */
    in_both(counts_events, NULL);
}

static int sends_messages(void *arg) {
    (void)arg;
    for (end_kind k = SEQPACKET; k < KINDS; k++) {
        char text[16];
        ends e;
        ends_open(&e, k);
        CHECK_EQ(thrum_write(e.io[1], "one", 3), 3);
        CHECK_EQ(thrum_read(e.io[0], text, sizeof text), -EOPNOTSUPP);
        CHECK_EQ(thrum_read_full(e.io[0], text, 3, THRUM_FOREVER), -EOPNOTSUPP);
        const thrum_iovec part = {text, 3};
        CHECK_EQ(thrum_readv_until(e.io[0], &part, 1, THRUM_FOREVER), -EOPNOTSUPP);
        CHECK_EQ(thrum_io_wait(e.io[0], THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
        CHECK_EQ(recv(e.fds[0], text, sizeof text, 0), 3); /* they are there, untouched */
        ends_close(&e);
    }
    return 0;
}

TEST(messages_are_not_read_as_bytes) {
    /* An empty one would look like the end. */
    in_both(sends_messages, NULL);
}

static int shuts_down(void *arg) {
    char text[4];
    (void)arg;
    for (end_kind k = 0; k <= UNIX; k++) {
        ends e;
        ends_open(&e, k);
        CHECK_EQ(thrum_io_shutdown(e.io[1], 0), -EINVAL);
        CHECK_EQ(thrum_io_shutdown(e.io[1], 4), -EINVAL);
        CHECK_EQ(thrum_io_wait(e.io[1], 0, THRUM_FOREVER), -EINVAL);
        CHECK_EQ(thrum_io_wait(e.io[1], 7, THRUM_FOREVER), -EINVAL);
        CHECK_EQ(thrum_write(e.io[1], "abc", 3), 3);
        CHECK_EQ(thrum_io_shutdown(e.io[1], THRUM_IO_WRITE), 0);
        CHECK_EQ(thrum_write(e.io[1], "d", 1), -EPIPE);
        CHECK_EQ(thrum_read(e.io[0], text, sizeof text), 3);
        CHECK_EQ(thrum_read(e.io[0], text, sizeof text), 0);
        CHECK_EQ(thrum_write(e.io[0], "back", 4), 4); /* the other half is open */
        CHECK_EQ(thrum_read_full(e.io[1], text, 4, THRUM_FOREVER), 4);
        CHECK_EQ(thrum_io_shutdown(e.io[1], THRUM_IO_READ), 0);
        CHECK_EQ(thrum_read(e.io[1], text, 4), 0);
        CHECK_EQ(thrum_io_shutdown(e.io[0], THRUM_IO_READ | THRUM_IO_WRITE), 0);
        ends_close(&e);
    }
    thrum_io lone = adopted(socket(AF_INET, SOCK_STREAM, 0));
    CHECK_EQ(thrum_io_shutdown(lone, THRUM_IO_READ), -ENOTCONN);
    CHECK_EQ(thrum_io_close(lone), 0);
    return 0;
}

TEST(a_shutdown_ends_one_direction) {
    /* What was written before is read, then the end; the other direction goes on. */
    in_both(shuts_down, NULL);
}

static int has_no_reader(void *arg) {
    (void)arg;
    for (end_kind k = 0; k < PTY; k++) {
        ends e;
        ends_open(&e, k);
        CHECK_EQ(thrum_io_close(e.io[0]), 0);
        int64_t n;
        while ((n = thrum_write(e.io[1], "x", 1)) == 1) { /* a network tells it a little later */
        }
        CHECK(n == -EPIPE || n == -ECONNRESET);
        CHECK_EQ(thrum_io_wait(e.io[1], THRUM_IO_WRITE, THRUM_FOREVER), THRUM_IO_WRITE);
        CHECK_EQ(thrum_io_close(e.io[1]), 0);
    }
    return 0;
}

TEST(no_call_raises_sigpipe) {
    /* Where nobody reads, a write fails with a code. */
    in_both(has_no_reader, NULL);
}

/* ---- numbers that come again ---- */

static int finds_another_one(void *arg) {
    char text[8];
    (void)arg;
    for (end_kind k = 0; k < PTY; k++) {
        for (int waited = 0; waited < 2; waited++) {
            int fds[2];
            ends e;
            ends_open(&e, k);
            if (waited) { /* then a set knows the descriptor */
                CHECK_EQ(thrum_read_until(e.io[0], text, 1, soon()), -ETIMEDOUT);
            }
            pair_open(fds, UNIX);
            CHECK_EQ(dup2(fds[0], e.fds[0]), e.fds[0]); /* closed behind the library's back */
            thrum_io other = adopted(e.fds[0]);
            check_refused(e.io[0], -EBADF);
            put(fds[1], "new");
            CHECK_EQ(thrum_read(other, text, sizeof text), 3);
            CHECK_EQ(thrum_read_until(other, text, 1, soon()), -ETIMEDOUT);
            CHECK_EQ(thrum_io_close(other), 0);
            CHECK_EQ(thrum_io_close(e.io[1]), 0);
            CHECK_EQ(close(fds[0]) | close(fds[1]), 0);
        }
    }
    return 0;
}

TEST(a_number_that_was_closed_behind_our_back_is_taken_over) {
    /* Then the old value is stale. */
    in_both(finds_another_one, NULL);
}

static int goes_round(void *arg) {
    char text[8];
    (void)arg;
    thrum_io old = none;
    for (int i = 0; i < 200; i++) {
        ends e;
        ends_open(&e, i % 3 == 0 ? TCP : i % 3 == 1 ? UNIX : PIPE);
        if (i % 2 == 0) { /* it has been in a set, and comes to it anew */
            CHECK_EQ(thrum_read_until(e.io[0], text, 1, soon()), -ETIMEDOUT);
        }
        CHECK_EQ(thrum_write(e.io[1], "bytes", 5), 5);
        CHECK_EQ(thrum_read_full(e.io[0], text, 5, THRUM_FOREVER), 5);
        CHECK_EQ(thrum_read(old, text, 1), -EBADF);
        old = e.io[0];
        ends_close(&e);
    }
    return 0;
}

TEST(numbers_come_again_and_again) {
    /* Each time the descriptor is a new one, and nothing of the old one is left. */
    in_both(goes_round, NULL);
}

/* ---- turns of tasks ---- */

static atomic_int others_ran;

static int runs_beside(void *arg) {
    (void)arg;
    atomic_fetch_add(&others_ran, 1);
    return 0;
}

static int reads_what_is_there(void *arg) {
    ends *e = arg;
    char byte;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.flags = THRUM_PINNED; /* no other worker helps it */
    CHECK_EQ(thrum_go_with(&attr, runs_beside, NULL), 0);
    for (int i = 0; i < 64; i++) {
        CHECK_EQ(thrum_read(e->io[0], &byte, 1), 1);
    }
    CHECK_EQ(atomic_load(&others_ran), 1);
    return 0;
}

TEST(a_reader_that_need_not_wait_lets_others_run) {
    /* It does so after 64 calls. */
    ends e;
    thrum_attr attr = THRUM_ATTR_INIT;
    char text[64] = {0};
    rig r;
    rig_begin(&r, 0);
    ends_open_half(&e, UNIX);
    for (int i = 0; i < 3; i++) {
        thrum_handle *handle;
        atomic_store(&others_ran, 0);
        CHECK_EQ(write(e.fds[1], text, 64), 64);
        attr = rig_attr(&r);
        attr.flags = THRUM_PINNED;
        CHECK_EQ(thrum_spawn_with(&handle, &attr, reads_what_is_there, &e), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
    }
    ends_close(&e);
    rig_stop(&r);
}
