/*
 * io_shared_ends.c: pipes and terminals that other processes share: they are waited for, and
 * nothing that the others see of them changes.
 */
/* POSIX: termios, SIGPIPE */
/* matrix: policy workers */
#include "support/support.h"

#include <fcntl.h>
#include <termios.h>
#include <thrum/io.h>

#include "platform/faults.h"
#include "support/io/ios.h"
#include "support/io/shared.h"

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
