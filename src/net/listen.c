/*
 * listen.c: listening, and taking connections.
 */
#include <errno.h>

#include "io/call.h"
#include "io/counted.h"
#include "net/accept.h"
#include "net/activation.h"
#include "net/resolver.h"
#include "net/target.h"

#define FLAGS                                                                                      \
    (THRUM_LISTEN_SHARED | THRUM_LISTEN_IPV6_ONLY | THRUM_LISTEN_DELAY | THRUM_LISTEN_REPLACE)

#define LOOK_NS THRUM_MS(50) /* between two looks at the flag behind other callers */

/* ---- listening ---- */

/* A size is any number; the system makes it as large as it may be. */
static int set_buffer(int fd, th_os_option option, size_t size) {
    return size ? th_os_socket_set(fd, option, size < INT32_MAX ? (int64_t)size : INT32_MAX) : 0;
}

/* Options that accepted connections have, too; the system hands them on. */
static int set_buffers(int fd, const thrum_listen_options *options) {
    int code = set_buffer(fd, TH_OS_RECEIVE_BUFFER, options->receive_buffer);
    return code ? code : set_buffer(fd, TH_OS_SEND_BUFFER, options->send_buffer);
}

/* The same, of TCP. */
static int set_tcp(int fd, const thrum_listen_options *options) {
    int code = 0;
    if (!(options->flags & THRUM_LISTEN_DELAY)) {
        code = th_os_socket_set(fd, TH_OS_NO_DELAY, 1);
    }
    if (!code && options->keepalive > 0) {
        code = th_os_socket_set(fd, TH_OS_KEEP_ALIVE, options->keepalive);
    }
    return code;
}

static int set_options(int fd, const th_target *target, const thrum_listen_options *options) {
    const bool ipv6 = th_os_address_family(&target->address) == TH_OS_IPV6;
    const bool tcp = !target->local && target->style == TH_OS_BYTES;
    int code = set_buffers(fd, options);
    if (!code && ipv6) {
        bool only = (options->flags & THRUM_LISTEN_IPV6_ONLY) != 0;
        code = th_os_socket_set(fd, TH_OS_IPV6_ONLY, only);
    }
    if (!code && tcp) {
        code = th_os_socket_set(fd, TH_OS_REUSE_ADDRESS, 1);
    }
    if (!code && !target->local && (options->flags & THRUM_LISTEN_SHARED)) {
        code = th_os_socket_set(fd, TH_OS_REUSE_PORT, 1);
    }
    if (!code && tcp) {
        code = set_tcp(fd, options);
    }
    if (!code && target->local && options->mode) {
        code = th_os_socket_mode(fd, options->mode); /* the file is never open to more */
    }
    return code;
}

/* Whether a UNIX socket's file had no listener and has now been removed. */
static bool was_left_behind(const th_target *target) {
    int fd = th_os_socket_open(TH_OS_LOCAL, target->style);
    if (fd < 0) {
        return false;
    }
    bool stale = th_os_socket_connect(fd, &target->address) == -ECONNREFUSED;
    (void)th_os_io_close(fd);
    return stale && th_os_local_remove(&target->address) == 0;
}

static int bind_to(int fd, const th_target *target, const thrum_listen_options *options) {
    int code = th_os_socket_bind(fd, &target->address);
    if (code == -EADDRINUSE && target->local && (options->flags & THRUM_LISTEN_REPLACE) &&
        was_left_behind(target)) {
        code = th_os_socket_bind(fd, &target->address);
    }
    if (!code && target->local && options->mode) {
        code = th_os_local_mode(&target->address, options->mode);
    }
    return code;
}

/* Listens at target->address. */
static int listen_at(thrum_io *out, const th_target *target, const thrum_listen_options *options) {
    int fd = th_os_socket_open(th_os_address_family(&target->address), target->style);
    if (fd < 0) {
        return fd;
    }
    int code = set_options(fd, target, options);
    code = code ? code : bind_to(fd, target, options);
    if (!code && target->style != TH_OS_DATAGRAMS) {
        const unsigned backlog = options->backlog;
        code = th_os_socket_listen(fd, backlog > INT32_MAX ? INT32_MAX : (int)backlog);
    }
    code = code ? code : th_record_adopt(out, fd, th_target_kind(target), true);
    if (code) {
        (void)th_os_io_close(fd);
    }
    return code;
}

static int listen_anywhere(thrum_io *out, th_target *target, const thrum_listen_options *options) {
    th_os_address_any(&target->address, TH_OS_IPV6, target->port);
    int code = listen_at(out, target, options);
    if (code == -EAFNOSUPPORT || code == -EADDRNOTAVAIL) {
        th_os_address_any(&target->address, TH_OS_IPV4, target->port);
        code = listen_at(out, target, options);
    }
    return code;
}

static int listen_by_name(thrum_io *out, th_target *target, const thrum_listen_options *options) {
    th_os_address *found = th_os_alloc(TH_RESOLVED_MAX * sizeof *found);
    int n = found ? th_resolve(target->host, TH_OS_UNNAMED, found, TH_RESOLVED_MAX, THRUM_FOREVER)
                  : -ENOMEM;
    int code = n < 0 ? n : -ENOENT;
    for (int i = 0; i < n && code; i++) {
        target->address = found[i];
        th_os_address_set_port(&target->address, target->port);
        int now = listen_at(out, target, options);
        code = i && now ? code : now; /* of several the first one's */
    }
    th_os_free(found);
    return code;
}

/* A socket that is there already: the other options are for making one. */
static int listen_activated(thrum_io *out, const char *name, const thrum_listen_options *options) {
    th_os_kind kind;
    thrum_io io;
    int code = th_activation_take(&io, name, &kind);
    if (code) {
        return code;
    }
    code = set_buffers(io.fd, options);
    if (!code && kind == TH_OS_TCP) {
        code = set_tcp(io.fd, options);
    }
    if (code) {
        (void)thrum_io_close(io);
        return code;
    }
    *out = io;
    return 0;
}

int thrum_listen(thrum_io *out, const char *address, const thrum_listen_options *options) {
    static const thrum_listen_options defaults = THRUM_LISTEN_OPTIONS_INIT;
    th_target target;
    options = options ? options : &defaults;
    if (!out || !address || options->size != sizeof *options || (options->flags & ~FLAGS) ||
        (options->mode & ~0777u) || options->keepalive < 0) {
        return -EINVAL;
    }
    const char *activated = th_activation_name(address);
    int code =
        activated ? listen_activated(out, activated, options) : th_target_parse(&target, address);
    if (code || activated) {
        return code;
    }
    return target.where == TH_AT_ADDRESS ? listen_at(out, &target, options)
           : target.where == TH_AT_ANY   ? listen_anywhere(out, &target, options)
                                         : listen_by_name(out, &target, options);
}

/* ---- accepting ---- */

/* Not every system has these. */
#ifndef EHOSTDOWN
#define EHOSTDOWN EHOSTUNREACH
#endif
#ifndef ENONET
#define ENONET ENETUNREACH
#endif

/* Codes of a connection that ended before it was taken; man accept has the list. */
static bool is_of_the_connection(int code) {
    return code == -ECONNABORTED || code == -EPROTO || code == -ENETDOWN || code == -ENOPROTOOPT ||
           code == -EHOSTDOWN || code == -EHOSTUNREACH || code == -ENETUNREACH || code == -ENONET ||
           code == -ETIMEDOUT || code == -ECONNRESET;
}

/*
 * As the holder: a listener that was made elsewhere may let its callers wait in the system, which
 * is taken back when it is given up.
 */
static int keep_from_waiting(th_record *record) {
    /* relaxed: a listener that is being lent was fresh, too */
    bool fresh = th_load_relaxed(&record->xfresh);
    if (fresh || record->nonblocking) {
        return 0;
    }
    int was = th_os_io_nonblocking(record->fd, true);
    if (was == 0) {
        TH_LOCKED(&record->lock);
        record->nonblocking = true;
    }
    return was < 0 ? was : 0;
}

static bool is_set(const uint32_t *xflag) {
    /* relaxed: the thread that sets it notifies afterwards */
    return xflag && th_load_relaxed(xflag) != 0;
}

/* A connection that has not ended, -EAGAIN or another code. */
static int take_one(const th_record *listener) {
    int fd;
    do {
        fd = th_os_io_accept(listener->fd);
    } while (is_of_the_connection(fd));
    return fd;
}

static int accept_one(th_inside *inside, const uint32_t *xflag) {
    for (;;) {
        /* The flag first: another caller may have consumed the event. */
        int fd = is_set(xflag) ? -ESHUTDOWN : th_inside_await(inside);
        fd = !fd && is_set(xflag) ? -ESHUTDOWN : fd;
        if (fd) {
            return fd;
        }
        fd = take_one(inside->record);
        if (fd != -EAGAIN) {
            return fd;
        }
        th_inside_again(inside);
    }
}

/* Enters. A caller that queues behind others is not notified of the flag, and polls it. */
static int enter(th_inside *inside, thrum_io listener, thrum_time deadline, const uint32_t *xflag) {
    int code;
    do {
        thrum_time until = xflag ? thrum_after(LOOK_NS) : deadline;
        code = th_inside_enter(inside, listener, THRUM_IO_READ, until);
    } while (xflag && code == -ETIMEDOUT && !is_set(xflag));
    inside->deadline = deadline;
    return code;
}

/* Takes over what an accept has returned. 0 or a code. */
static int adopt_accepted(thrum_io *out, int fd, th_os_kind kind) {
    if (fd < 0) {
        return fd;
    }
    int code = th_record_adopt(out, fd, kind, true);
    if (code) {
        (void)th_os_io_close(fd);
    } else {
        TH_IO_COUNT(xio_accepts, 1);
    }
    return code;
}

int th_accept_unless(thrum_io listener, thrum_io *out, thrum_time deadline, const uint32_t *xflag) {
    th_inside inside;
    if (!out) {
        return -EINVAL;
    }
    int code = enter(&inside, listener, deadline, xflag);
    if (code) {
        return code;
    }
    const th_os_kind kind = inside.record->kind;
    int fd = keep_from_waiting(inside.record);
    fd = fd ? fd : accept_one(&inside, xflag);
    code = adopt_accepted(out, fd, kind);
    th_inside_leave(&inside, th_inside_left(&inside));
    return code;
}

int thrum_try_accept(thrum_io listener, thrum_io *out) {
    th_inside inside;
    if (!out) {
        return -EINVAL;
    }
    int code = th_inside_try(&inside, listener, THRUM_IO_READ);
    if (code) {
        return code == -EBUSY ? -EAGAIN : code;
    }
    const th_os_kind kind = inside.record->kind;
    int fd = keep_from_waiting(inside.record);
    fd = fd ? fd : take_one(inside.record);
    code = adopt_accepted(out, fd, kind);
    th_direction_leave(inside.direction, fd == -EAGAIN ? TH_LEFT_NOTHING : TH_LEFT_MORE);
    return code;
}

int thrum_accept_until(thrum_io listener, thrum_io *out, thrum_time deadline) {
    return th_accept_unless(listener, out, deadline, NULL);
}

int thrum_accept(thrum_io listener, thrum_io *out) {
    return thrum_accept_until(listener, out, THRUM_FOREVER);
}
