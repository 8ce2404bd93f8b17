/*
 * io_shared.c: descriptors that other processes share: they are read and written, and nothing that
 * the others see of them changes.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 */
#include "support/support.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>
#include <thrum/io.h>

#include "platform/faults.h"
#include "support/ios.h"

/* Terminals change nothing of what is written to them. */
static int raw_pty(int *slave) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(master >= 0);
    CHECK_EQ(grantpt(master), 0);
    CHECK_EQ(unlockpt(master), 0);
    *slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    CHECK(*slave >= 0);
    struct termios settings;
    CHECK_EQ(tcgetattr(*slave, &settings), 0);
    settings.c_oflag = 0;
    settings.c_lflag &= (tcflag_t) ~(ECHO | ICANON);
    CHECK_EQ(tcsetattr(*slave, TCSANOW, &settings), 0);
    return master;
}

typedef struct late {
    int fd;
    const char *text;
    thrum_io reader;
} late;

static int write_late(void *arg) {
    const late *l = arg;
    YIELD_UNTIL(io_is_waited_for(l->reader, 0));
    CHECK_EQ(write(l->fd, l->text, strlen(l->text)), strlen(l->text));
    return 0;
}

/* What comes late on `from` is waited for, in a fiber; the flags of `fd` are as before. */
static void check_waits(int fd, int from) {
    char text[16] = "";
    thrum_io io;
    thrum_handle *writer;
    const int before = fcntl(fd, F_GETFL);
    CHECK_EQ(thrum_io_adopt_shared(&io, fd), 0);
    CHECK(thrum_io_fd(io) != fd);
    CHECK_EQ(thrum_read_until(io, text, sizeof text, thrum_after_ms(1)), -ETIMEDOUT);
    late l = {from, "hello\n", io};
    CHECK_EQ(thrum_spawn(&writer, write_late, &l), 0);
    CHECK_EQ(thrum_read(io, text, sizeof text), 6);
    CHECK_EQ(thrum_join(writer, NULL), 0);
    CHECK_STR(text, "hello\n");
    CHECK_EQ(fcntl(fd, F_GETFL), before);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(fcntl(fd, F_GETFL), before);
}

static int wait_on_pipe(void *arg) {
    (void)arg;
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    check_waits(ends[0], ends[1]);
    th_os_fail(TH_OS_FAULT_REOPEN, 0, UINT32_MAX);
    check_waits(ends[0], ends[1]);
    th_os_fail(TH_OS_FAULT_REOPEN, 0, 0);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

TEST(pipe_is_waited_for) {
    /* A pipe, also one that cannot be opened again, is waited for; its flags stay. */
    rig_do(0, wait_on_pipe, NULL);
}

static int wait_on_tty(void *arg) {
    (void)arg;
    int slave;
    int master = raw_pty(&slave);
    check_waits(slave, master);
    th_os_fail(TH_OS_FAULT_REOPEN, 0, UINT32_MAX);
    check_waits(slave, master);
    th_os_fail(TH_OS_FAULT_REOPEN, 0, 0);
    check_waits(master, slave); /* to open it again would make another terminal */
    close(slave);
    close(master);
    return 0;
}

TEST(tty_is_waited_for) {
    /* The same for the two sides of a terminal. */
    rig_do(0, wait_on_tty, NULL);
}

static int wait_on_socket(void *arg) {
    (void)arg;
    int ends[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    check_waits(ends[0], ends[1]);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

TEST(socket_is_waited_for) {
    /* The same for a socket, which is only duplicated. */
    rig_do(0, wait_on_socket, NULL);
}

static int use_file(void *arg) {
    (void)arg;
    char text[16] = "";
    thrum_io io;
    int fd = memfd_create("io_shared", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(thrum_io_adopt_shared(&io, fd), 0);
    CHECK_EQ(thrum_io_wait(io, THRUM_IO_READ, THRUM_FOREVER), THRUM_IO_READ);
    CHECK_EQ(thrum_write(io, "one two", 7), 7);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 7); /* the place is shared */
    CHECK_EQ(lseek(fd, 4, SEEK_SET), 4);
    thrum_iovec parts[2] = {{text, 1}, {text + 1, sizeof text - 1}};
    CHECK_EQ(thrum_readv_until(io, parts, 2, THRUM_FOREVER), 3);
    CHECK_STR(text, "two");
    CHECK_EQ(thrum_read(io, text, sizeof text), 0);
    parts[0] = (thrum_iovec){(void *)(uintptr_t) "a", 1};
    parts[1] = (thrum_iovec){(void *)(uintptr_t) "bc", 2};
    CHECK_EQ(thrum_writev_until(io, parts, 2, THRUM_FOREVER), 3);
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), 10);
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(close(fd), 0);
    return 0;
}

TEST(file_is_read_and_written) {
    /* Files go through the pool, with the caller's place in them; by fibers and plain threads. */
    CHECK_EQ(use_file(NULL), 0);
    rig_do(0, use_file, NULL);
}

enum { FLOOD = 1000000 };

typedef struct flood {
    int ends[2];
    size_t got;
} flood;

static void *drain(void *seat) {
    flood *f = ((crew_seat *)seat)->arg;
    static char bytes[3000];
    ssize_t n;
    while ((n = read(f->ends[0], bytes, sizeof bytes)) > 0)
        f->got += (size_t)n;
    return NULL;
}

static int write_flood(void *arg) {
    flood *f = arg;
    thrum_io io;
    char *bytes = calloc(1, FLOOD);
    CHECK_EQ(thrum_io_adopt_shared(&io, f->ends[1]), 0);
    CHECK_EQ(thrum_write(io, bytes, FLOOD), FLOOD);
    CHECK_EQ(thrum_io_close(io), 0);
    free(bytes);
    close(f->ends[1]);
    return 0;
}

TEST(large_writes_go_in_pieces) {
    /* More than a pipe holds is written, by a fiber and a plain thread, opened again or not. */
    for (int i = 0; i < 4; i++) {
        flood f = {.got = 0};
        crew c;
        CHECK_EQ(pipe(f.ends), 0);
        th_os_fail(TH_OS_FAULT_REOPEN, 0, i & 1 ? UINT32_MAX : 0);
        crew_start(&c, 1, drain, &f);
        if (i & 2)
            rig_do(0, write_flood, &f);
        else
            CHECK_EQ(write_flood(&f), 0);
        crew_join(&c);
        th_os_fail(TH_OS_FAULT_REOPEN, 0, 0);
        CHECK_EQ(f.got, FLOOD);
        close(f.ends[0]);
    }
}

static int read_in_vain(void *arg) {
    char byte;
    return (int)thrum_read(*(thrum_io *)arg, &byte, 1);
}

static int cancel_read(void *arg) {
    (void)arg;
    int ends[2];
    int result = 0;
    thrum_io io;
    thrum_handle *handle;
    CHECK_EQ(pipe(ends), 0);
    th_os_fail(TH_OS_FAULT_REOPEN, 0, 1);
    CHECK_EQ(thrum_io_adopt_shared(&io, ends[0]), 0);
    CHECK_EQ(thrum_spawn(&handle, read_in_vain, &io), 0);
    YIELD_UNTIL(io_is_waited_for(io, 0));
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -ECANCELED);
    CHECK_EQ(thrum_spawn(&handle, read_in_vain, &io), 0);
    YIELD_UNTIL(io_is_waited_for(io, 0));
    CHECK_EQ(thrum_io_close(io), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -EBADF);
    close(ends[0]);
    CHECK_EQ(write(ends[1], "", 1), -1); /* no other reader is left */
    close(ends[1]);
    return 0;
}

TEST(waits_on_the_pools_descriptors_end) {
    /* Cancel and close end a wait although the descriptor cannot be opened again. */
    signal(SIGPIPE, SIG_IGN);
    rig_do(0, cancel_read, NULL);
}

static int write_in_vain(void *arg) {
    (void)arg;
    thrum_io io;
    for (int i = 0; i < 2; i++) {
        int ends[2];
        CHECK_EQ(pipe(ends), 0);
        th_os_fail(TH_OS_FAULT_REOPEN, 0, (uint32_t)i);
        CHECK_EQ(thrum_io_adopt_shared(&io, ends[1]), 0);
        close(ends[0]);
        CHECK_EQ(thrum_write(io, "x", 1), -EPIPE);
        CHECK_EQ(thrum_io_close(io), 0);
        CHECK_EQ(thrum_io_adopt_shared(&io, ends[1]), 0); /* nobody reads: it cannot be opened */
        CHECK_EQ(thrum_write(io, "x", 1), -EPIPE);
        CHECK_EQ(thrum_io_close(io), 0);
        close(ends[1]);
    }
    return 0;
}

TEST(no_signal_where_nobody_reads) {
    /* It is -EPIPE, and no SIGPIPE ends the process. */
    rig_do(0, write_in_vain, NULL);
    CHECK_EQ(write_in_vain(NULL), 0);
}

TEST(what_is_refused) {
    /* Errors come back, and no descriptor is left behind. */
    thrum_io io;
    int fd = memfd_create("io_shared", MFD_CLOEXEC);
    CHECK_EQ(thrum_io_adopt_shared(NULL, fd), -EINVAL);
    CHECK_EQ(thrum_io_adopt_shared(&io, 999), -EBADF);
    th_os_fail(TH_OS_FAULT_DUPLICATE, 0, 1);
    CHECK_EQ(thrum_io_adopt_shared(&io, fd), -EMFILE);
    th_os_fail(TH_OS_FAULT_MAP, 0, 1);
    CHECK_EQ(thrum_io_adopt_shared(&io, fd), -ENOMEM);
    int next = dup(fd);
    CHECK_EQ(next, fd + 1);
    close(next);
    close(fd);
}
