/*
 * io_fd_wait.c: waiting once for descriptors that stay the program's.
 */
/* matrix: policy workers */
#include "support/io/io.h"
#include "support/times.h"

#include "platform/faults.h"

static const end_kind kinds[] = {TCP, UNIX, PIPE};

static void pair_close(const int fds[2]) {
    CHECK_EQ(close(fds[0]), 0);
    CHECK_EQ(close(fds[1]), 0);
}

static int waits_at_once(void *arg) {
    (void)arg;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        int fds[2];
        char byte = 'x';
        pair_open(fds, kinds[i]);
        CHECK_EQ(thrum_fd_wait(fds[1], THRUM_IO_WRITE, THRUM_FOREVER), THRUM_IO_WRITE);
        CHECK_EQ(thrum_fd_wait(fds[0], THRUM_IO_READ, soon()), -ETIMEDOUT);
        CHECK_EQ(write(fds[1], &byte, 1), 1);
        CHECK_EQ(thrum_fd_wait(fds[0], THRUM_IO_READ, past()), -ETIMEDOUT); /* not tried */
        CHECK_EQ(thrum_fd_wait(fds[0], THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
        CHECK_EQ(read(fds[0], &byte, 1), 1); /* nothing was taken */
        CHECK_EQ(close(fds[1]), 0);
        CHECK_EQ(thrum_fd_wait(fds[0], THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ); /* the end */
        CHECK_EQ(close(fds[0]), 0);
    }
    CHECK_EQ(thrum_fd_wait(-1, THRUM_IO_READ, THRUM_FOREVER), -EBADF);
    CHECK_EQ(thrum_fd_wait(0, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_fd_wait(0, 4, THRUM_FOREVER), -EINVAL);
    return 0;
}

TEST(a_wait_finds_what_is_there) {
    /* In a task and on a plain thread; a wait in vain ends at its deadline. */
    CHECK_EQ(waits_at_once(NULL), 0);
    rig_do(0, waits_at_once, NULL);
}

enum { WAITERS = 6 };

typedef struct stage {
    int fds[2];
    atomic_int begun, got;
} stage;

static int waits_for_byte(void *arg) {
    stage *s = ((actor *)arg)->arg;
    atomic_fetch_add(&s->begun, 1);
    CHECK_EQ(thrum_fd_wait(s->fds[0], THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
    atomic_fetch_add(&s->got, 1);
    return 0;
}

TEST(all_who_wait_for_it_are_woken) {
    /* Tasks and plain threads wait for the same descriptor, whose flags stay as they are. */
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        stage s = {.begun = 0};
        rig r;
        rig_begin(&r, 0);
        pair_open(s.fds, kinds[i]);
        const int before = fcntl(s.fds[0], F_GETFL);
        cast *c = cast_new(&r);
        cast_add_mixed(c, WAITERS, 2, waits_for_byte, &s);
        YIELD_UNTIL(atomic_load(&s.begun) == WAITERS + 2);
        CHECK_EQ(atomic_load(&s.got), 0);
        CHECK_EQ(fcntl(s.fds[0], F_GETFL), before);
        CHECK_EQ(write(s.fds[1], "x", 1), 1);
        cast_join(c);
        CHECK_EQ(atomic_load(&s.got), WAITERS + 2);
        CHECK_EQ(fcntl(s.fds[0], F_GETFL), before);
        pair_close(s.fds);
        rig_stop(&r);
    }
}

static int waits_beside_the_library(void *arg) {
    int fds[2];
    thrum_io io;
    (void)arg;
    pair_open(fds, UNIX);
    CHECK_EQ(thrum_io_adopt(&io, fds[0]), 0);
    CHECK_EQ(thrum_fd_wait(fds[0], THRUM_IO_READ, soon()), -ETIMEDOUT);
    CHECK_EQ(write(fds[1], "x", 1), 1);
    CHECK_EQ(thrum_fd_wait(fds[0], THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
    char byte;
    CHECK_EQ(thrum_read(io, &byte, 1), 1);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(close(fds[1]), 0);
    return 0;
}

TEST(the_library_may_have_it) {
    /* A descriptor that was taken over is waited for as well, and stays the library's. */
    rig_do(0, waits_beside_the_library, NULL);
}

static int waits_until_cancelled(void *arg) {
    CHECK_EQ(thrum_fd_wait(*(const int *)arg, THRUM_IO_READ, THRUM_FOREVER), -ECANCELED);
    return 0;
}

static int cancels(void *arg) {
    thrum_handle *handle;
    CHECK_EQ(thrum_spawn(&handle, waits_until_cancelled, arg), 0);
    thrum_yield();
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    return 0;
}

TEST(a_cancel_ends_it) {
    /* Before or after it began to wait. */
    int fds[2];
    pair_open(fds, PIPE);
    rig_do(0, cancels, fds);
    pair_close(fds);
}

TEST(no_descriptor_is_left_behind) {
    /* The next one has the same number as before the wait. */
    int fds[2];
    pair_open(fds, PIPE);
    const int first = dup(fds[0]);
    CHECK_EQ(close(first), 0);
    CHECK_EQ(thrum_fd_wait(fds[0], THRUM_IO_READ, soon()), -ETIMEDOUT);
    const int again = dup(fds[0]);
    CHECK_EQ(close(again), 0);
    CHECK_EQ(again, first);
    pair_close(fds);
}

static int is_refused(void *arg) {
    const int *fds = arg;
    th_os_fail(TH_OS_FAULT_DUPLICATE, 0, 1);
    CHECK_EQ(thrum_fd_wait(fds[0], THRUM_IO_READ, THRUM_FOREVER), -EMFILE);
    return 0;
}

TEST(a_refused_duplicate_is_reported) {
    /* The call returns the system's code. */
    int fds[2];
    pair_open(fds, PIPE);
    CHECK_EQ(is_refused(fds), 0);
    pair_close(fds);
}
