/*
 * thrum/serve.h: a server: a task for each connection, until it is told to end.
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

/* How to serve; THRUM_SERVE_OPTIONS_INIT sets the defaults. */
typedef struct thrum_serve_options {
    size_t size;              /* sizeof(thrum_serve_options); set by the init */
    unsigned connections_max; /* at a time; more wait in the listener's backlog; 0: no limit */
    unsigned reserved;
    thrum_time drain;        /* how long connections may go on at the end; default: 10 s */
    thrum_event *stop;       /* when it is signaled the server ends; NULL: none */
    const int *stop_signals; /* the same for these signals, a list that 0 ends; NULL: none */
    /* Called once, by the caller of thrum_serve, before the first connection is accepted; NULL:
     * none. */
    void (*started)(thrum_io listener, void *arg);
} thrum_serve_options;

/* The defaults. */
/* clang-format off */
#define THRUM_SERVE_OPTIONS_INIT \
    { sizeof(thrum_serve_options), 0, 0, THRUM_S(10), NULL, NULL, NULL }
/* clang-format on */

/*
 * Accepts connections and calls `connection(io, arg)` for each, in a task of its own; when that
 * returns, `io` is closed, if it has not done so itself. Its value is dropped. The connections are
 * shared out among the workers in turn. Where no descriptor is left to accept with, it tries again
 * when a connection of its own has ended, and every 100 ms. In dumps and traces the task of a
 * connection is named by its descriptor and the listener's address, "fd 12 of tcp:127.0.0.1:80",
 * unless the function gives it another name (thrum_set_name), and the one that accepts is named
 * "serves tcp:127.0.0.1:80"; names are cut after 31 bytes.
 *
 * A lack of memory, the system's or the program's (-ENOMEM, -ENOBUFS), does not end by itself, and
 * the connection may be lost: so the server drains, and returns the code. A program that would
 * rather go on calls thrum_serve again on the same listener, whose backlog has kept those that came
 * meanwhile. It pauses before: otherwise it would do nothing else while the lack lasts.
 *
 * It serves until the listener is closed, `stop` or one of the signals comes, the caller is
 * cancelled, or accepting fails. Then it *drains*: it accepts nothing more, connections that wait
 * in thrum_serve_read or thrum_serve_idle are told, and the others go on. After `options->drain`
 * those that are left are cancelled. It returns when all have ended. The listener stays the
 * caller's. `options` may be NULL and is not kept. The signals are caught (thrum/signal.h) until it
 * drains: from then on they do what they did before, so that a second one may end what hangs. But
 * after one of them has come, the next ones are let pass for a second: timeout(1) sends two at
 * once, and the second would end the program in the middle of its answers. (What was there before,
 * if not a handler of the program's, is then done by a handler of the library's, which stays.) When
 * `started` is called they are caught already: there is the place to say that the server is ready.
 *
 * A task and a bound thread may call it. It may suspend. It returns 0 when all connections have
 * ended by themselves; -ETIMEDOUT when some had to be cancelled; -ECANCELED when the caller was
 * cancelled; -EINVAL for options that make no sense, or a signal that cannot be caught; -ESRCH on a
 * plain thread; the codes of thrum_signal_catch; or the one with which accepting, or starting a
 * connection, failed (-EINVAL, -EOPNOTSUPP or -ENOTSOCK for what does not listen, -ENOMEM, ...).
 */
THRUM_API THRUM_NODISCARD int thrum_serve(thrum_io listener,
                                          int (*connection)(thrum_io io, void *arg), void *arg,
                                          const thrum_serve_options *options);

/*
 * Waits until the next request of a connection of thrum_serve begins: until there is something to
 * read, or the end. It asks the descriptor only: a request that came together with an earlier one,
 * and lies in a stream's buffer, is not seen, so thrum_stream_buffered is to be asked before, and
 * thrum_tls_is_readable of TLS. The connection's function may call it, and tasks that end before
 * that function returns. It may suspend. It returns 0; -ESHUTDOWN when the server drains, and there
 * is nothing to read: the connection is to end; -ETIMEDOUT, -ECANCELED; -EINVAL for a descriptor
 * that thrum_serve has not accepted; -ESRCH on a plain thread.
 */
THRUM_API THRUM_NODISCARD int thrum_serve_idle(thrum_io io, thrum_time deadline);

/*
 * Does the same, and reads what there is, at least a byte, in one: it saves asking whether there is
 * something. It returns how much it read, or 0 at the end; its codes are those of thrum_serve_idle
 * and of thrum_read, and -EINVAL for a size of 0.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_serve_read(thrum_io io, void *to, size_t size,
                                                   thrum_time deadline);

THRUM_END_DECLS

#endif
