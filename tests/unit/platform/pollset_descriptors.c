/*
 * pollset_descriptors.c: the descriptors that sets need for themselves: they are there before a
 * wait, and none stay behind the last set.
 */
/* POSIX: setrlimit */
#include "support/io/files.h"
#include "support/io/io.h"
#include "support/times.h"

#include <sys/resource.h>

#include "platform/descriptor.h"

/* A wait in which nothing happens. A stop of the process may interrupt it. */
static int wait_in(th_os_pollset *set) {
    const thrum_time deadline = soon();
    th_os_event event;
    int n;
    do {
        n = th_os_pollset_wait(set, &event, 1, deadline);
    } while (n == -EINTR);
    return n;
}

TEST(none_stay_behind_a_set) {
    /* All that were opened for two sets, and for waits for them, are closed with these. */
    th_os_pollset sets[2];
    const int before = fds_open();
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(th_os_pollset_open(&sets[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(wait_in(&sets[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        th_os_pollset_close(&sets[i]);
    }
    CHECK_EQ(fds_open(), before);
}

TEST(a_wait_needs_none) {
    /* With all numbers taken a wait is a wait, and another set is refused, with nothing left. */
    th_os_pollset set, other;
    int taken[64];
    int n = 0;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64}), 0);
    CHECK_EQ(th_os_pollset_open(&set), 0);
    const int before = fds_open();
    while ((taken[n] = dup(1)) >= 0) {
        n++;
    }
    CHECK_EQ(wait_in(&set), 0);
    CHECK_EQ(th_os_pollset_open(&other), -EMFILE);
    close(taken[--n]); /* less than a set needs, wherever it needs more than one */
    if (th_os_pollset_open(&other) == 0) {
        th_os_pollset_close(&other);
    }
    while (n > 0) {
        close(taken[--n]);
    }
    CHECK_EQ(fds_open(), before);
    CHECK_EQ(th_os_pollset_open(&other), 0);
    th_os_pollset_close(&other);
    th_os_pollset_close(&set);
}
