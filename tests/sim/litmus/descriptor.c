/*
 * descriptor.c: calls on descriptors that are two steps, as they are in the kernel: a transfer and
 * its edge, the number of a close and its end.
 */
#include "litmus.h"
#include "platform/sim/outside.h"

#define KEY 7u

static th_os_pollset set;
static int fds[2];

static void make(void) {
    sim_check(th_os_pollset_open(&set) == 0);
    sim_pipe(fds);
    th_os_io_nonblocking(fds[0], true);
}

static unsigned events(void) {
    th_os_event one;
    return (unsigned)th_os_pollset_wait(&set, &one, 1, 0);
}

THREAD(write_two) {
    th_os_io_write(fds[1], TH_OS_PIPE, "ab", 2);
}
/* Whether there were bytes, and an event when one of two was read: it may come later. */
#define WROTE "none told untold"
LITMUS(edge_late, WROTE, WROTE, WROTE) {
    char c;
    make();
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == 0);
    int t = sim_spawn(write_two, NULL);
    bool some = th_os_io_read(fds[0], TH_OS_PIPE, &c, 1) == 1;
    unsigned seen = events();
    sim_join(t);
    sim_check(seen + events() == 1);
    sim_outcome("%s", !some ? "none" : seen ? "told" : "untold");
}

THREAD(close_first) {
    th_os_io_close(fds[0]);
}
/* Whether the number was free, whether the old descriptor still had an event; "11" is the point. */
#define CLOSED "00 01 10 11"
LITMUS(close_late, CLOSED, CLOSED, CLOSED) {
    make();
    th_os_io_write(fds[1], TH_OS_PIPE, "a", 1);
    sim_check(th_os_pollset_add(&set, fds[0], KEY) == 0);
    int t = sim_spawn(close_first, NULL);
    int fd = sim_regular();
    unsigned seen = events();
    sim_join(t);
    sim_outcome("%u%u", fd == fds[0], seen);
}
