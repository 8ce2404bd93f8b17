/*
 * pollset_asked.c: what sets are told of calls: an answer of poll() that is out of date, since a
 * call was made on the descriptor between question and answer; and a look that has found something.
 */
/* wrap: th_system_poll */
#include "support/io/io.h"
#include "support/times.h"

#include "platform/descriptor.h"

static int taken_from = -1; /* from which a byte is taken behind the question's back */

int __real_th_system_poll(void *fds, unsigned n, int64_t deadline);
int __wrap_th_system_poll(void *fds, unsigned n, int64_t deadline);

int __wrap_th_system_poll(void *fds, unsigned n, int64_t deadline) {
    const int code = __real_th_system_poll(fds, n, deadline);
    const int fd = taken_from;
    char byte;
    taken_from = -1;
    CHECK_EQ(fd >= 0 ? th_os_io_read(fd, TH_OS_STREAM, &byte, 1) : 1, 1);
    return code;
}

TEST(an_answer_from_before_a_read_is_none) {
    /* Whoever waits for the next byte would wake for nothing. What comes later is told. */
    int fds[2];
    char byte;
    th_os_pollset set;
    th_os_event events[4];
    pair_open(fds, UNIX);
    (void)th_os_io_nonblocking(fds[0], true);
    CHECK_EQ(th_os_pollset_open(&set), 0);
    CHECK_EQ(th_os_pollset_add(&set, fds[0], 7), 0);
    CHECK_EQ(th_os_pollset_wait(&set, events, 4, 0), 1); /* there is room to write */
    put(fds[1], "x");
    taken_from = fds[0];
    CHECK(th_os_pollset_wait(&set, events, 4, 0) == 0 || taken_from >= 0);
    if (taken_from >= 0) { /* a set of the system's own does not ask poll() */
        CHECK_EQ(th_os_io_read(fds[0], TH_OS_STREAM, &byte, 1), 1);
        taken_from = -1;
    }
    put(fds[1], "y");
    CHECK_EQ(th_os_pollset_wait(&set, events, 4, far_off()), 1);
    CHECK_EQ(events[0].key, 7);
    CHECK_EQ(events[0].bits & TH_OS_IN, TH_OS_IN);
    th_os_pollset_close(&set);
    CHECK_EQ(close(fds[0]) | close(fds[1]), 0);
}

TEST(what_a_look_has_found_is_not_told_again) {
    /* By a look without a set. After one that has found nothing, what comes later is told. */
    int fds[2];
    char byte;
    th_os_pollset set;
    th_os_event events[4];
    th_os_polled polled;
    pair_open(fds, UNIX);
    (void)th_os_io_nonblocking(fds[0], true);
    CHECK_EQ(th_os_pollset_open(&set), 0);
    CHECK_EQ(th_os_pollset_add(&set, fds[0], 7), 0);
    CHECK_EQ(th_os_pollset_wait(&set, events, 4, 0), 1); /* there is room to write */
    for (int i = 0; i < 2; i++) {
        polled = (th_os_polled){.fd = fds[0], .bits = TH_OS_IN};
        CHECK_EQ(i ? th_os_io_poll_any(&polled, 1, -1, 0) : th_os_io_poll(fds[0], TH_OS_IN, -1, 0),
                 0);
        put(fds[1], "x");
        CHECK_EQ(th_os_pollset_wait(&set, events, 4, far_off()), 1);
        CHECK_EQ(events[0].bits & TH_OS_IN, TH_OS_IN);
        CHECK_EQ(th_os_io_poll(fds[0], TH_OS_IN, -1, 0), TH_OS_IN);
        CHECK_EQ(th_os_io_poll_any(&polled, 1, -1, 0), 1);
        CHECK_EQ(th_os_pollset_wait(&set, events, 4, 0), 0);
        CHECK_EQ(th_os_io_read(fds[0], TH_OS_STREAM, &byte, 1), 1);
    }
    th_os_pollset_close(&set);
    CHECK_EQ(close(fds[0]) | close(fds[1]), 0);
}
