/*
 * serve_few.c: servers where no more descriptors are to be had.
 */
/* matrix: policy workers */
#include "support/io/served.h"

#include "platform/faults.h"

TEST(workers_without_sets) {
    /* One worker has a set of descriptors to wait for, no other one gets any: what is accepted is
     * served all the same, and a signal ends the server. */
    enum { GUESTS = 24 };
    static const int ends[] = {SIGUSR1, 0};
    int guests[GUESTS];
    hall h;
    hall_init(&h, echo);
    h.options.stop_signals = ends;
    th_os_fail(TH_OS_FAULT_POLLSET, 1, UINT32_MAX);
    hall_open(&h);
    for (int i = 0; i < GUESTS; i++) {
        guests[i] = guest_at(h.where);
    }
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < GUESTS; i++) {
            guest_asks(guests[i]);
        }
    }
    CHECK_EQ(kill(getpid(), SIGUSR1), 0);
    CHECK_EQ(hall_wait(&h), 0);
    for (int i = 0; i < GUESTS; i++) {
        guest_sees_the_end(guests[i]);
    }
    th_os_fail(TH_OS_FAULT_POLLSET, 0, 0);
    hall_close(&h);
}

TEST(no_set_at_all) {
    /* Then it does not begin. */
    hall h;
    hall_init(&h, echo);
    th_os_fail(TH_OS_FAULT_POLLSET, 0, UINT32_MAX);
    hall_open(&h);
    CHECK_EQ(hall_wait(&h), -EMFILE);
    th_os_fail(TH_OS_FAULT_POLLSET, 0, 0);
    hall_close(&h);
}
