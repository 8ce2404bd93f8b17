/*
 * faults.h: makes calls of the platform fail on demand, for the tests.
 *
 * Each kind of call has one word: how many calls still succeed, and how many fail after them. Zero,
 * the normal case, costs a load and a predictable branch, on slow paths only. The word is shared by
 * the whole process; calls of several threads are counted in the order in which they come.
 */
#ifndef TH_FAULTS_H
#define TH_FAULTS_H

#include "base/atomic.h"

typedef enum th_os_fault {
    TH_OS_FAULT_MAP,            /* th_os_map */
    TH_OS_FAULT_GUARD_MADVISE,  /* th_os_guard_madvise */
    TH_OS_FAULT_GUARD_MPROTECT, /* th_os_guard_mprotect */
    TH_OS_FAULT_THREAD,         /* th_os_thread_start */
    TH_OS_FAULT_ALLOC,          /* th_os_alloc */
    TH_OS_FAULT_BARRIER,        /* th_os_barrier_start, th_os_barrier */
    TH_OS_FAULT_RAN,            /* th_os_thread_ran */
    TH_OS_FAULT_POLLSET,        /* th_os_pollset_open */
    TH_OS_FAULT_POLLSET_ADD,    /* th_os_pollset_add */
    TH_OS_FAULT_EVENTFD,        /* th_os_wakeup_open */
    TH_OS_FAULT_PWAIT2,         /* epoll_pwait2: then waits are in whole milliseconds */
    TH_OS_FAULT_READ,           /* th_os_io_read, th_os_io_readv, th_os_io_peek */
    TH_OS_FAULT_WRITE,          /* th_os_io_write, th_os_io_writev */
    TH_OS_FAULT_ACCEPT,         /* th_os_io_accept */
    TH_OS_FAULT_ABORTED,        /* th_os_io_accept: a connection that ended before it was taken */
    TH_OS_FAULT_SOCKET,         /* th_os_socket_open */
    TH_OS_FAULT_BIND,           /* th_os_socket_bind */
    TH_OS_FAULT_CONNECT,        /* th_os_socket_connect */
    TH_OS_FAULT_MESSAGE,        /* th_os_socket_send, _receive, _send_fds, _receive_fds */
    TH_OS_FAULT_RESOLVE,        /* th_os_resolve */
    TH_OS_FAULT_REOPEN,         /* th_os_io_reopen */
    TH_OS_FAULT_DUPLICATE,      /* th_os_io_duplicate */
    TH_OS_FAULT_SPLICE,         /* th_os_io_splice */
    TH_OS_FAULT_UNREAD,         /* th_os_io_unread */
    TH_OS_FAULT_PROCESS,        /* th_os_process_start: -EAGAIN, as at the limit of processes */
    TH_OS_FAULT_PROCESS_FD,     /* th_os_process_has_fd: the system is too old */
    TH_OS_FAULT_PROCESS_LATE,   /* th_os_process_await: it asks only after a while */
    TH_OS_FAULT_PROCESS_SHARED, /* clone with shared memory, as under emulators */
    TH_OS_FAULT_CLOSE_RANGE,    /* close_range, in the child */
    TH_OS_FAULT_PIPE,           /* th_os_pipe, th_os_null_open */
    TH_OS_FAULT_WATCH_OPEN,     /* th_os_watch_open */
    TH_OS_FAULT_WATCH,          /* Windows: a request for changes; by th_os_fail_with */
    TH_OS_FAULT_FILE_NOW,       /* th_os_file_readv_now, _writev_now: -EAGAIN */
    TH_OS_FAULT_FILE_SHORT,     /* th_os_file_do, _ring_put: the transfer is a single byte */
    TH_OS_FAULT_RING,           /* th_os_ring_open; by th_os_fail_with */
    TH_OS_FAULT_RING_PUT,       /* th_os_ring_put: -EAGAIN */
    TH_OS_FAULT_RING_SEND,      /* th_os_ring_send: half of them begin, of one none */
    TH_OS_FAULT_RING_LATE,      /* th_os_ring_take: nothing has ended yet */
    TH_OS_FAULT_RING_TAKE,      /* th_os_ring_take: the transfer has ended with -ECANCELED */
    TH_OS_FAULT_FILE,           /* th_os_file_do: one for each th_os_file_call, in their order; */
    TH_OS_FAULT_FILE_LAST = TH_OS_FAULT_FILE + 20, /* ordered by th_os_fail_with */
    TH_OS_FAULT_KINDS
} th_os_fault;

/* After `after` more successful calls, `times` calls fail; 0 `times` switches the failures off. */
void th_os_fail(th_os_fault kind, uint32_t after, uint32_t times);
/* The same; they fail with this negative code. For kinds whose calls use it. */
void th_os_fail_with(th_os_fault kind, int code, uint32_t after, uint32_t times);

/* How many of the ordered failures have not happened yet. */
uint32_t th_os_fails_left(th_os_fault kind);

/* For the platform's own calls: th_os_fails returns whether this call must fail. */
extern uint64_t th_os_faults[TH_OS_FAULT_KINDS]; /* high half: after, low half: times */
bool th_os_fails_slow(th_os_fault kind);

static inline bool th_os_fails(th_os_fault kind) {
    /* relaxed: a test sets it before it starts the calls that are to fail */
    return th_unlikely(th_load_relaxed(&th_os_faults[kind]) != 0) && th_os_fails_slow(kind);
}

/* Returns this from the call that contains it, if the call must fail. */
#define TH_OS_MAY_FAIL(kind_, result_)                                                             \
    do {                                                                                           \
        if (th_os_fails(kind_)) {                                                                  \
            return (result_);                                                                      \
        }                                                                                          \
    } while (0)

/* The code with which this call must fail, or 0. */
int th_os_fails_with(th_os_fault kind);

#endif
