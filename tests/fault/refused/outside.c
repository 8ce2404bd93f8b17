/*
 * outside.c: what surrounds the program is not as it should be: calls that a sandbox refuses with
 * -EPERM, standard descriptors that are closed, and a program that closes what is not its own.
 */
/* POSIX: wrap: syscall */
/* wrap: syscall splice */
#include "support/io/files.h"
#include "support/times.h"

#include <poll.h>
#include <sys/syscall.h>
#include <thrum/stream.h>

#define NEW (THRUM_FILE_READ | THRUM_FILE_WRITE | THRUM_FILE_CREATE | THRUM_FILE_EXCLUSIVE)

static atomic_int code; /* with which the calls below are refused; 0: they are not */

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
ssize_t __real_splice(int from, off_t *a, int to, off_t *b, size_t n, unsigned flags);
ssize_t __wrap_splice(int from, off_t *a, int to, off_t *b, size_t n, unsigned flags);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    const int refused = atomic_load(&code);
    if (refused && (number == SYS_preadv2 || number == SYS_pwritev2)) {
        errno = refused;
        return -1;
    }
    return __real_syscall(number, a, b, c, d, e, f);
}

ssize_t __wrap_splice(int from, off_t *a, int to, off_t *b, size_t n, unsigned flags) {
    const int refused = atomic_load(&code);
    if (refused) {
        errno = refused;
        return -1;
    }
    return __real_splice(from, a, to, b, n, flags);
}

static int transfers(void *arg) {
    char bytes[8] = "";
    int fds[2], more[2];
    thrum_io from, to;
    (void)arg;
    thrum_io io = opened("a", NEW);
    CHECK_EQ(thrum_file_pwrite(io, "text", 4, 0, THRUM_FOREVER), 4);
    CHECK_EQ(thrum_file_pread(io, bytes, 4, 0, THRUM_FOREVER), 4);
    CHECK_STR(bytes, "text");
    CHECK_EQ(thrum_file_append(io, "s", 1, THRUM_FOREVER), code ? -code : 1);
    CHECK_EQ(thrum_io_close(io), 0);
    io = opened("a", THRUM_FILE_WRITE | THRUM_FILE_APPEND);
    CHECK_EQ(thrum_file_append(io, "+", 1, THRUM_FOREVER), 1);
    CHECK_EQ(thrum_io_close(io), 0);
    check_holds("a", code ? "text+" : "texts+");
    CHECK_EQ(unlink("a"), 0);
    CHECK_EQ(pipe(fds), 0);
    CHECK_EQ(pipe(more), 0);
    CHECK_EQ(thrum_io_adopt(&to, fds[1]), 0);
    CHECK_EQ(thrum_io_adopt(&from, fds[0]), 0);
    CHECK_EQ(thrum_write(to, "pipe", 4), 4);
    CHECK_EQ(thrum_io_close(to), 0);
    CHECK_EQ(thrum_io_adopt(&to, more[1]), 0);
    CHECK_EQ(thrum_copy(from, to, 100, THRUM_FOREVER), 4);
    CHECK_EQ(read(more[0], bytes, 4), 4);
    CHECK(memcmp(bytes, "pipe", 4) == 0);
    close(more[0]);
    CHECK_EQ(thrum_write(to, "x", 1), -EPIPE);
    CHECK_EQ(thrum_io_close(to), 0);
    CHECK_EQ(thrum_io_close(from), 0);
    return 0;
}

TEST(a_sandbox_refuses_newer_calls) {
    /* Whatever its word is, the plain calls do. */
    NOT_BY_POSIX("newer calls, which a sandbox could refuse");
    static const int codes[] = {0, EPERM, ENOSYS};
    rig r;
    char path[64];
    rig_begin(&r, 2);
    in_dir(path);
    for (unsigned i = 0; i < COUNT_OF(codes); i++) {
        atomic_store(&code, codes[i]);
        CHECK_EQ(transfers(NULL), 0);
        CHECK_EQ(rig_run(&r, transfers, NULL), 0);
    }
    atomic_store(&code, 0);
    out_of_dir(path);
    rig_stop(&r);
}

static int waits_for_a_pipe(void *arg) {
    int fds[2];
    char c;
    thrum_io io;
    (void)arg;
    CHECK_EQ(pipe(fds), 0);
    CHECK_EQ(thrum_io_adopt(&io, fds[0]), 0);
    CHECK_EQ(thrum_read_until(io, &c, 1, soon()), -ETIMEDOUT);
    close(fds[1]);
    return thrum_io_close(io);
}

TEST(what_the_library_opens_is_above_the_standard_ones) {
    /* So what a program prints that was started without them goes nowhere. */
    rig r;
    rig_begin(&r, 2);
    const int kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
    for (int fd = 0; fd < 3; fd++) {
        CHECK_EQ(close(fd), 0);
    }
    only_operations(true);
    CHECK_EQ(rig_run(&r, waits_for_a_pipe, NULL), 0);
    only_operations(false);
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            dup2(kept, STDERR_FILENO);
            CHECK(false);
        }
    }
    dup2(kept, STDERR_FILENO);
    rig_stop(&r);
}

static int waits_long(void *arg) {
    int fds[2];
    char c;
    thrum_io io;
    CHECK_EQ(pipe(fds), 0);
    CHECK_EQ(thrum_io_adopt(&io, fds[0]), 0);
    CHECK_EQ(thrum_read_until(io, &c, 1, soon()), -ETIMEDOUT);
    atomic_store((atomic_bool *)arg, true);
    return (int)thrum_read_until(io, &c, 1, far_off());
}

static void close_all(void *arg) {
    atomic_bool waits;
    rig r;
    (void)arg;
    atomic_init(&waits, false);
    rig_begin(&r, 1);
    rig_go(&r, waits_long, &waits);
    SPIN_UNTIL(atomic_load(&waits));
    for (int fd = 3; fd < 100; fd++) {
        close(fd);
    }
    (void)rig_run(&r, waits_for_a_pipe, NULL); /* the worker comes round */
    pause();
}

/* The worker runs meanwhile, so what first meets a set that is gone is the wait which follows. */
static int closes_all_and_waits(void *arg) {
    for (int fd = 3; fd < 100; fd++) {
        close(fd);
    }
    return waits_for_a_pipe(arg);
}

static void close_all_in_a_task(void *arg) {
    rig r;
    (void)arg;
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, waits_for_a_pipe, NULL), 0);
    (void)rig_run(&r, closes_all_and_waits, NULL);
}

TEST(a_task_that_closes_the_librarys_descriptors_is_told) {
    /* Its own descriptor is open, so the code of a closed one would be about another. */
    NOT_BY_POSIX("set that is a descriptor: it goes on without its own");
    if (UNDER_TSAN) {
        CHECK_SKIP("that sanitizer calls the close itself a race");
    }
    check_dies(
        close_all_in_a_task, NULL,
        "thrum: the program has closed a descriptor of the scheduler's, by which it waits for "
        "others");
}

TEST(a_program_that_closes_the_librarys_descriptors_is_told) {
    /* It would spin without an end, and no timer would come. */
    if (UNDER_TSAN) {
        CHECK_SKIP("that sanitizer calls the close itself a race");
    }
    check_dies(
        close_all, NULL,
        "thrum: the program has closed a descriptor of the scheduler's, by which it waits for "
        "others");
}
