/*
 * thrum/serve.h: a server: a task for each connection, and an orderly end. thrum_serve accepts
 * connections and starts a task for each. When it is asked to end, it *drains*: it accepts nothing
 * more, idle connections end, and the others may finish.
 *
 *     static int talk(thrum_io io, void *arg) {
 *         char text[4096];
 *         int64_t n;
 *         while ((n = thrum_serve_read(io, text, sizeof text, thrum_after_s(60))) > 0 &&
 *                thrum_write(io, text, n) == n) {
 *         }
 *         return 0;
 *     }
 *
 *     static const int ends[] = {SIGTERM, SIGINT, 0};
 *     thrum_serve_options options = THRUM_SERVE_OPTIONS_INIT;
 *     options.stop_signals = ends;
 *     err = thrum_serve(listener, talk, NULL, &options);
 */
#ifndef THRUM_SERVE_H
#define THRUM_SERVE_H

#include "thrum/base.h"
#include "thrum/event.h"
#include "thrum/io.h"

THRUM_BEGIN_DECLS

/* How to serve. The caller owns it; THRUM_SERVE_OPTIONS_INIT sets the defaults. */
typedef struct thrum_serve_options {
    size_t size;              /* sizeof(thrum_serve_options); set by the init */
    unsigned connections_max; /* at a time; more wait in the listener's backlog; 0: no limit */
    unsigned reserved;
    thrum_time drain;        /* ns that connections may go on while it drains; default: 10 s */
    thrum_event *stop;       /* the server ends when it is signaled; NULL: none */
    const int *stop_signals; /* the server ends at these signals, a list that 0 ends; NULL: none */
    /* Called once, by the caller of thrum_serve, before the first connection is accepted; NULL:
     * none. */
    void (*started)(thrum_io listener, void *arg);
} thrum_serve_options;

/* The initializer of a thrum_serve_options: no limit, 10 s to drain, no event and no signals. */
/* clang-format off */
#define THRUM_SERVE_OPTIONS_INIT \
    { sizeof(thrum_serve_options), 0, 0, THRUM_S(10), NULL, NULL, NULL }
/* clang-format on */

/*
 * Accepts connections and runs a task for each. The task calls `connection(io, arg)`. When the
 * function returns, `io` is closed if the function has not done so. The function's result is
 * ignored. The connections are assigned to the workers in turn.
 *
 * The server goes on until the listener is closed, `stop` is signaled, one of the signals comes,
 * the caller is cancelled, or accepting fails. Then it drains: connections that wait in
 * thrum_serve_read or thrum_serve_idle are notified, and the others go on. After `options->drain`
 * the remaining ones are cancelled. The call returns when all have ended. The listener stays the
 * caller's.
 *
 * The signals are caught (thrum/signal.h) before `started` is called, so that function can announce
 * that the server is ready. When draining starts, the previous signal actions are restored, so a
 * second signal may end a process that hangs. After a signal has ended the server, further ones are
 * ignored for one second, because timeout(1) sends two at once. To ignore them, the library may
 * leave its handler installed. After that second the handler performs the previous action.
 *
 * If there is no descriptor for a new connection, the server tries again when one of its
 * connections has ended, and every 100 ms. A lack of memory (-ENOMEM, -ENOBUFS) does not end by
 * itself, and the new connection may be lost. So the server drains and returns the code. To
 * continue, call thrum_serve again on the same listener after a pause; its backlog has kept the
 * connections that came meanwhile.
 *
 * In dumps and traces a connection's task is named "fd 12 of tcp:127.0.0.1:80", after its
 * descriptor and the listener's address. The function may set another name (thrum_set_name). The
 * task that accepts has the name "serves tcp:127.0.0.1:80". Names are cut after 31 bytes.
 *
 * Parameters:
 *   listener    a listener, from thrum_listen or thrum_io_adopt
 *   connection  the function that handles one connection
 *   arg         the second argument of `connection` and `options->started`
 *   options     how to serve, or NULL for the defaults; not kept
 * Returns: 0 when all connections have ended by themselves, else a negative error code. All
 *   connections have ended in both cases. Codes not listed below are those with which accepting or
 *   starting a connection failed.
 * Errors:
 *   -EINVAL            `connection` is NULL, the options make no sense, a signal cannot be caught,
 *                      or `listener` does not listen
 *   -ESRCH             the caller is a plain thread
 *   -EBADF             `listener` was stale at the beginning
 *   -ESHUTDOWN         in the child of a fork: `listener` is the parent's, or the call would wait
 *   -ETIMEDOUT         connections were cancelled after `options->drain`
 *   -ECANCELED         the caller was cancelled
 *   -EOPNOTSUPP        `listener` is of a kind that does not listen
 *   -ENOTSOCK          `listener` is no socket
 *   -EBUSY             the program has put its own handler before the library's for the third time
 *                      (thrum_signal_catch)
 *   -EMFILE, -ENFILE   there is no descriptor to begin with
 *   -ENOMEM, -ENOBUFS  there is no memory for the server or for a connection
 * Context: a task or a bound thread; may suspend; cancellable.
 * Ordering: the writes before the call are visible to each `connection`, and the writes of each
 *   `connection` are visible after the call.
 * Example: examples/echo.c
 * See also: thrum_listen, thrum_serve_read, thrum_serve_idle, thrum_accept
 */
THRUM_API THRUM_NODISCARD int thrum_serve(thrum_io listener,
                                          int (*connection)(thrum_io io, void *arg), void *arg,
                                          const thrum_serve_options *options);

/*
 * Waits until the next request of a connection begins. That is when there are bytes to read, or the
 * end. It is for the time between two requests, in which a draining server may end the connection.
 *
 * The call looks at the descriptor only. Bytes that came with an earlier request and are in a
 * buffer are not seen: call thrum_stream_buffered for a stream, and thrum_tls_is_readable for TLS,
 * first. The connection's function may make the call, and so may tasks that end before that
 * function returns.
 *
 * Parameters:
 *   io        a connection that thrum_serve has accepted
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0 when there is something to read, or a negative error code.
 * Errors:
 *   -ESHUTDOWN        the server drains and there is nothing to read, so the connection should end;
 *                     or in the child of a fork
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EINVAL           thrum_serve has not accepted `io`
 *   -EBADF            `io` is stale, or was closed or released during the call
 *   -ESRCH            the caller is a plain thread
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: a task or a bound thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    while (thrum_serve_idle(io, thrum_after_s(60)) == 0 && answer_one(io)) {
 *    }
 * See also: thrum_serve_read, thrum_serve, thrum_stream_buffered, thrum_tls_is_readable
 */
THRUM_API THRUM_NODISCARD int thrum_serve_idle(thrum_io io, thrum_time deadline);

/*
 * Waits for the next request of a connection, and reads its first bytes. It does the work of
 * thrum_serve_idle and thrum_read_until with fewer calls of the system.
 *
 * The connection's function may make the call, and so may tasks that end before that function
 * returns.
 *
 * Parameters:
 *   io        a connection that thrum_serve has accepted
 *   to        memory for `size` bytes
 *   size      the most bytes to read, at least 1
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the number of bytes, 0 at the end, or a negative error code. Codes not listed below are
 *   the system's, such as -ECONNRESET.
 * Errors:
 *   -ESHUTDOWN        the server drains and there is nothing to read, so the connection should end;
 *                     or in the child of a fork
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EINVAL           `size` is 0, or thrum_serve has not accepted `io`
 *   -EBADF            `io` is stale, or was closed or released during the call
 *   -ESRCH            the caller is a plain thread
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: a task or a bound thread; may suspend; cancellable.
 * Ordering: none.
 * Example: examples/echo.c
 * See also: thrum_serve_idle, thrum_serve, thrum_read
 */
THRUM_API THRUM_NODISCARD int64_t thrum_serve_read(thrum_io io, void *to, size_t size,
                                                   thrum_time deadline);

THRUM_END_DECLS

#endif
