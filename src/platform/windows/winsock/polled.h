/*
 * polled.h: see unix/io/polled.h. The names are Unix's, and the values are Winsock's, whose own
 * structures are as wide as its handles.
 */
#ifndef TH_WINDOWS_POLLED_H
#define TH_WINDOWS_POLLED_H

#include "platform/windows/winsock/winsock.h"

typedef struct th_pollfd {
    int fd; /* below 0: nothing is asked */
    short events;
    short revents;
} th_pollfd;

/*
 * As poll, until an absolute deadline (TH_FOREVER: none; 0: does not wait). -1: errno has the
 * reason.
 */
int th_system_poll(th_pollfd fds[], unsigned n, int64_t deadline);

#endif
