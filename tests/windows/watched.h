/*
 * watched.h: a set with one end of a connection, whose other end is the test's.
 */
#ifndef WATCHED_H
#define WATCHED_H

#include "platform/windows/pollset/pollset.h" /* before some of its names are others' */

#include "support/io/io.h"
#include "support/times.h"

/* A set with one end of a connection, whose first event was taken: there is room to write. */
typedef struct watched {
    th_os_pollset set;
    int fds[2];
} watched;

CHECK_UNUSED static void watched_open(watched *w) {
    th_os_event events[4];
    pair_tcp(w->fds);
    (void)th_os_io_nonblocking(w->fds[0], true);
    CHECK_EQ(th_os_pollset_open(&w->set), 0);
    CHECK_EQ(th_os_pollset_add(&w->set, w->fds[0], 7), 0);
    CHECK_EQ(th_os_pollset_wait(&w->set, events, 4, far_off()), 1);
    CHECK_EQ(events[0].bits, TH_OS_OUT);
    CHECK_EQ(events[0].key, 7);
}

CHECK_UNUSED static void watched_close(watched *w) {
    th_os_pollset_close(&w->set);
    CHECK_EQ(close(w->fds[0]) | close(w->fds[1]), 0);
}

CHECK_UNUSED static uint32_t next_bits(const watched *w, int64_t deadline) {
    th_os_event events[4];
    const int n = th_os_pollset_wait(&w->set, events, 4, deadline);
    CHECK(n == 0 || (n == 1 && events[0].key == 7));
    return n ? events[0].bits : 0;
}

CHECK_UNUSED static int64_t read_byte(const watched *w) {
    char byte;
    return th_os_io_read(w->fds[0], TH_OS_TCP, &byte, 1);
}

#endif
