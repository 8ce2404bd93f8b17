/*
 * pollsets_odd.c: sets of descriptors where the system refuses a question.
 */
/* wrap: th_afd_ask */
#include "windows/watched.h"

static SOCKET refused; /* for which nothing can be asked */

int __real_th_afd_ask(const th_afd *afd, th_afd_request *request, SOCKET base, ULONG events);
int __wrap_th_afd_ask(const th_afd *afd, th_afd_request *request, SOCKET base, ULONG events);

int __wrap_th_afd_ask(const th_afd *afd, th_afd_request *request, SOCKET base, ULONG events) {
    return base == refused ? -ENOMEM : __real_th_afd_ask(afd, request, base, events);
}

TEST(what_cannot_be_asked_holds_up_nobody) {
    /* It is asked for later; what comes on other descriptors is told meanwhile. */
    watched w;
    th_os_event event;
    watched_open(&w);
    refused = (SOCKET)w.fds[1];
    CHECK_EQ(th_os_pollset_add(&w.set, w.fds[1], 8), 0);
    CHECK_EQ(read_byte(&w), -EAGAIN);
    CHECK_EQ(next_bits(&w, 0), 0);
    put(w.fds[1], "x");
    CHECK_EQ(next_bits(&w, soon()), TH_OS_IN);
    refused = 0;
    CHECK_EQ(th_os_pollset_wait(&w.set, &event, 1, soon()), 1);
    CHECK_EQ(event.key, 8);
    CHECK_EQ(event.bits, TH_OS_OUT);
    watched_close(&w);
}
