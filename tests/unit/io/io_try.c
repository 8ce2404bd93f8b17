/*
 * io_try.c: reads and writes that do not wait.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/io/ios.h"
#include "support/times.h"

static const end_kind kinds[] = {TCP, UNIX, PIPE, PTY};

static int tries_to_read(void *arg) {
    (void)arg;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        int fds[2];
        char text[16] = "";
        pair_open(fds, kinds[i]);
        thrum_io io = adopted(fds[0]);
        for (int k = 0; k < 3; k++) {
            CHECK_EQ(thrum_try_read(io, text, sizeof text), -EAGAIN);
        }
        put(fds[1], "ab\n");
        CHECK_EQ(thrum_io_wait(io, THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
        CHECK_EQ(thrum_try_read(io, text, 0), 0);
        CHECK_EQ(thrum_try_read(io, text, 1), 1);
        CHECK_EQ(thrum_try_read(io, text + 1, sizeof text - 1), 2);
        CHECK_STR(text, "ab\n");
        CHECK_EQ(thrum_try_read(io, text, sizeof text), -EAGAIN);
        CHECK_EQ(thrum_read_until(io, text, sizeof text, soon()), -ETIMEDOUT);
        put(fds[1], "c\n"); /* a call that waits afterwards is notified all the same */
        CHECK_EQ(thrum_read(io, text, sizeof text), 2);
        CHECK_EQ(close(fds[1]), 0);
        if (kinds[i] != PTY) {
            CHECK_EQ(thrum_io_wait(io, THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
            CHECK_EQ(thrum_try_read(io, text, sizeof text), 0);
        }
        CHECK_EQ(thrum_io_close(io), 0);
        CHECK_EQ(thrum_try_read(io, text, sizeof text), -EBADF);
    }
    return 0;
}

TEST(a_read_takes_what_is_there) {
    /* In a task and on a plain thread; without bytes it is -EAGAIN. */
    CHECK_EQ(tries_to_read(NULL), 0);
    rig_do(0, tries_to_read, NULL);
}

static int tries_to_write(void *arg) {
    (void)arg;
    static char block[100000];
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        int fds[2];
        int64_t n;
        pair_open(fds, kinds[i]);
        thrum_io io = adopted(fds[1]);
        CHECK_EQ(thrum_try_write(io, block, 0), 0);
        CHECK_EQ(thrum_try_write(io, "x", 1), 1);
        if (kinds[i] == PIPE) { /* the others may get more room at any time */
            while ((n = thrum_try_write(io, block, sizeof block)) > 0) {
                CHECK(n <= (int64_t)sizeof block);
            }
            CHECK_EQ(n, -EAGAIN);
            CHECK_EQ(thrum_write_until(io, "y", 1, soon()), -ETIMEDOUT);
            CHECK_EQ(close(fds[0]), 0);
            CHECK_EQ(thrum_try_write(io, "y", 1), -EPIPE);
        } else {
            CHECK_EQ(close(fds[0]), 0);
        }
        CHECK_EQ(thrum_io_close(io), 0);
        CHECK_EQ(thrum_try_write(io, "x", 1), -EBADF);
    }
    return 0;
}

TEST(a_write_fills_the_room) {
    /* It may be short, and without room it is -EAGAIN. */
    CHECK_EQ(tries_to_write(NULL), 0);
    rig_do(0, tries_to_write, NULL);
}

typedef struct stage {
    thrum_io io;
    char byte;
} stage;

static int reads_one(void *arg) {
    stage *s = arg;
    CHECK_EQ(thrum_read(s->io, &s->byte, 1), 1);
    return 0;
}

static int tries_beside(void *arg) {
    (void)arg;
    int fds[2];
    char byte = 0;
    thrum_handle *reader;
    pair_open(fds, PIPE);
    stage s = {.io = adopted(fds[0])};
    CHECK_EQ(thrum_spawn(&reader, reads_one, &s), 0);
    YIELD_UNTIL(io_is_waited_for(s.io, 0));
    CHECK_EQ(thrum_try_read(s.io, &byte, 1), -EAGAIN);
    put(fds[1], "a");
    CHECK_EQ(thrum_join(reader, NULL), 0);
    CHECK_EQ(s.byte, 'a');
    CHECK_EQ(thrum_io_close(s.io), 0);
    CHECK_EQ(close(fds[1]), 0);
    return 0;
}

TEST(it_does_not_come_before_a_caller_that_waits) {
    /* The other one gets the next byte. */
    rig_do(0, tries_beside, NULL);
}

TEST(calls_that_might_block_are_refused) {
    /* Of files and shared pipes, and of messages, which have calls of their own. */
    char text[4];
    int fds[2];
    thrum_io io;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), 0);
    CHECK_EQ(thrum_io_adopt(&io, fds[0]), 0);
    CHECK_EQ(thrum_try_read(io, text, sizeof text), -EOPNOTSUPP);
    CHECK_EQ(thrum_try_write(io, text, sizeof text), -EOPNOTSUPP);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(close(fds[1]), 0);
    char path[] = "/tmp/thrum-try-XXXXXX";
    const int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(thrum_io_adopt_shared(&io, fd), 0);
    CHECK_EQ(thrum_try_read(io, text, sizeof text), -EOPNOTSUPP);
    CHECK_EQ(thrum_try_write(io, text, sizeof text), -EOPNOTSUPP);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(close(fd), 0);
}
