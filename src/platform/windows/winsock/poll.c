/*
 * poll.c: waiting for sockets by WSAPoll.
 */
#include "platform/unix/io/polled.h"

#include <errno.h>

#include "platform/windows/winsock/own.h"

#define FEW 64u /* so many need no memory of the heap's */

static int milliseconds_until(int64_t deadline) {
    if (deadline == TH_FOREVER) {
        return -1;
    }
    /* Whole ones, rounded up: not before the deadline. */
    const int64_t left = deadline ? deadline - th_os_now() : 0;
    return left <= 0                          ? 0
           : left > INT64_C(1000000000000000) ? 1000000000
                                              : (int)((left + 999999) / 1000000);
}

/* A pipe's signal has reported that it is ready. */
static short of_pipe(bool reads) {
    return reads ? POLLIN : POLLOUT;
}

/* Calls on other descriptors, such as files, wait: they are always ready, if they are open. */
static short of_no_socket(const th_pollfd *fd) {
    DWORD flags;
    bool is = GetHandleInformation(th_nt_handle(fd->fd), &flags);
    return is ? (short)(fd->events & POLLIN ? POLLIN : 0) | (fd->events & POLLOUT) : POLLNVAL;
}

static short of_socket(short revents) {
    int bits = revents & (POLLERR | POLLHUP | POLLOUT);
    bits |= revents & POLLRDNORM ? POLLIN : 0;
    bits |= revents & POLLRDBAND ? POLLPRI : 0; /* urgent data */
    return (short)bits;
}

/*
 * Polls all that are named, including other descriptors than sockets, which are marked: returns
 * their number. For the library's end of a pipe its signal is polled. Winsock's POLLIN means bytes
 * or urgent bytes; the latter are not polled for by it here.
 */
static unsigned ask(WSAPOLLFD theirs[], const th_pollfd fds[], unsigned n) {
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++) {
        if (fds[i].fd >= 0) {
            const int events = (fds[i].events & POLLIN ? POLLRDNORM : 0) |
                               (fds[i].events & POLLPRI ? POLLRDBAND : 0) |
                               (fds[i].events & POLLOUT);
            theirs[count] = (WSAPOLLFD){.fd = th_socket_of(fds[i].fd), .events = (short)events};
            bool reads;
            if (th_pipe_signal(fds[i].fd, &reads, &theirs[count].fd)) {
                theirs[count].events = fds[i].events & of_pipe(reads) ? POLLRDNORM : 0;
            }
            count++;
        }
    }
    return count;
}

/* The number of descriptors with something to report. */
static int tell(th_pollfd fds[], unsigned n, const WSAPOLLFD *theirs) {
    int found = 0;
    for (unsigned i = 0; i < n; i++) {
        fds[i].revents = 0;
        if (fds[i].fd >= 0) {
            const short got = theirs++->revents;
            bool reads;
            SOCKET signal;
            fds[i].revents = got == 0                                     ? 0
                             : th_pipe_signal(fds[i].fd, &reads, &signal) ? of_pipe(reads)
                             : got & POLLNVAL                             ? of_no_socket(&fds[i])
                                                                          : of_socket(got);
        }
        found += fds[i].revents != 0;
    }
    return found;
}

static int poll_them(th_pollfd fds[], unsigned n, WSAPOLLFD theirs[], int64_t deadline) {
    const unsigned count = ask(theirs, fds, n);
    int code = count ? WSAPoll(theirs, count, milliseconds_until(deadline)) : 0;
    if (code < 0 && WSAGetLastError() != WSAENOTSOCK) {
        th_os_errno_set(th_winsock_errno(WSAGetLastError()));
        return -1;
    }
    for (unsigned i = 0; code < 0 && i < count; i++) { /* none of them is one */
        theirs[i].revents = POLLNVAL;
    }
    if (!count) {
        Sleep((DWORD)milliseconds_until(deadline));
    }
    return tell(fds, n, theirs);
}

/*
 * Whether it is a wait for one descriptor that is always ready, a file's. Windows reports that at
 * once, even if a wake-up is polled beside it; wine 8 waits for the wake-up then.
 */
static bool is_for_file(th_pollfd fds[], unsigned n) {
    bool reads;
    SOCKET signal;
    if (n != 2 || fds[0].fd < 0 || th_pipe_signal(fds[0].fd, &reads, &signal) ||
        th_is_socket(fds[0].fd)) {
        return false;
    }
    fds[0].revents = of_no_socket(&fds[0]);
    fds[1].revents = 0;
    return true;
}

int th_system_poll(th_pollfd fds[], unsigned n, int64_t deadline) {
    WSAPOLLFD few[FEW];
    if (is_for_file(fds, n)) {
        return 1;
    }
    WSAPOLLFD *theirs = n <= FEW ? few : th_os_alloc(n * sizeof *theirs);
    if (!theirs) {
        th_os_errno_set(ENOMEM);
        return -1;
    }
    int code = -th_winsock_begin();
    if (code) {
        th_os_errno_set(code);
    }
    /* The system's timer may end a wait a moment before the time by the clock. */
    do {
        code = code ? -1 : poll_them(fds, n, theirs, deadline);
    } while (!code && deadline && (deadline == TH_FOREVER || th_os_now() < deadline));
    if (theirs != few) {
        th_os_free(theirs);
    }
    return code;
}
