/*
 * afd.h: requests to the system's driver for sockets for notice when one is ready.
 *
 * Windows documents neither the driver (AFD) nor its requests; wepoll, libuv and mio are built on
 * the same request, so it stays. One *ask* is about one socket. The system answers it once, when
 * the socket is ready for something that was requested, and posts that to a completion port. The
 * sleeper at the port is woken by an answer, or by a *nudge*, which others send.
 */
#ifndef TH_WINDOWS_AFD_H
#define TH_WINDOWS_AFD_H

#include "platform/windows/winsock/winsock.h"

#include <winternl.h>

/* The bits of requests and answers, in the driver's words. */
enum {
    TH_AFD_RECEIVE = 0x1,
    TH_AFD_EXPEDITED = 0x2, /* urgent data */
    TH_AFD_SEND = 0x4,
    TH_AFD_DISCONNECT = 0x8, /* the other side sends nothing more */
    TH_AFD_ABORT = 0x10,
    TH_AFD_CLOSED = 0x20, /* the socket itself was closed, here */
    TH_AFD_ACCEPT = 0x80,
    TH_AFD_REFUSED = 0x100 /* a connection that failed */
};

/* As the driver has it, for a single socket. */
typedef struct th_afd_poll {
    LARGE_INTEGER timeout;
    ULONG count;
    ULONG exclusive;
    HANDLE socket;
    ULONG events;
    LONG status;
} th_afd_poll;

/* It is the system's, which writes to it, from th_afd_ask until th_afd_take has given it back. */
typedef struct th_afd_request {
    IO_STATUS_BLOCK status;
    th_afd_poll poll;
} th_afd_request;

/*
 * The driver, opened so that its answers come to a port. Its requests are in a single list of the
 * system's, which the system searches to cancel a request: so many share one.
 */
#define TH_AFD_SHARE 32u
typedef struct th_afd {
    HANDLE device;
    bool skips; /* an answer that is given at once does not come to the port as well */
} th_afd;

/* A new port. NULL: the last error has the reason. */
HANDLE th_afd_port(void);
/* 0, or a code: -ENOSYS if the driver cannot be opened, as in a sandbox. */
int th_afd_open(th_afd *out, HANDLE port);
void th_afd_close(const th_afd *afd); /* when no request is the system's */

/* The socket below those of providers that are layered on others, which the driver knows. */
SOCKET th_afd_base(SOCKET s);

/*
 * Asks: 1, and the request comes back by th_afd_take; 0: it has been answered already and does not;
 * or a code, -EBADF if there is no such socket.
 */
int th_afd_ask(const th_afd *afd, th_afd_request *request, SOCKET base, ULONG events);
/* Its answer: events, or 0 if there is none (th_afd_cancel, the end of the thread that asked). */
ULONG th_afd_answer(const th_afd_request *request);
/* Has it come back soon. */
void th_afd_cancel(const th_afd *afd, th_afd_request *request);

/*
 * Takes the packets at the port, n of at most `max` (NULL: a nudge); waits for the first until an
 * absolute deadline (TH_FOREVER: none; 0: does not wait). 0: nothing has come.
 */
unsigned th_afd_take(HANDLE port, th_afd_request *requests[], unsigned max, int64_t deadline);
void th_afd_nudge(HANDLE port);

#endif
