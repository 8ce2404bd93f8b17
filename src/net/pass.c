/*
 * pass.c: descriptors that are passed over UNIX sockets.
 */
#include <errno.h>

#include "io/call.h"
#include "io/counted.h"
#include "net/address.h"

/* Enters a direction of a socket that can pass descriptors. */
static int enter(th_inside *inside, thrum_io io, unsigned direction, thrum_time deadline) {
    th_os_family family = TH_OS_UNNAMED;
    th_os_style style;
    int code = th_inside_enter(inside, io, direction, deadline);
    if (!code &&
        (th_os_socket_what(inside->record->fd, &family, &style) || family != TH_OS_LOCAL)) {
        th_inside_leave(inside, th_inside_left(inside));
        code = -EINVAL;
    }
    return code;
}

/* ---- sending ---- */

/* The descriptors go with the first byte, and the rest as any other. */
static int64_t send_part(th_inside *inside, const char *from, size_t size, const int fds[],
                         unsigned n, bool first) {
    return first ? th_os_socket_send_fds(inside->record->fd, from, size, fds, n)
                 : th_os_io_write(inside->record->fd, inside->record->kind, from, size);
}

int64_t thrum_send_fds(thrum_io io, const void *from, size_t size, const int *fds, unsigned n,
                       thrum_time deadline) {
    th_inside inside;
    if (!size || n > THRUM_FDS_MAX) {
        return -EINVAL;
    }
    int64_t code = enter(&inside, io, THRUM_IO_WRITE, deadline);
    if (code) {
        return code;
    }
    size_t done = 0;
    code = inside.direction->error;
    while (!code && done < size && !(code = th_inside_await(&inside))) {
        int64_t sent = send_part(&inside, (const char *)from + done, size - done, fds, n, !done);
        if (sent == -EAGAIN) {
            th_inside_again(&inside);
            continue;
        }
        th_counted_written(inside.record->fd, sent);
        if (sent < 0) {
            code = sent;
            inside.direction->error = done ? (int32_t)sent : 0; /* the other side has a beginning */
        } else {
            done += (size_t)sent;
        }
    }
    th_inside_leave(&inside, th_inside_left(&inside));
    return done ? (int64_t)done : code;
}

/* ---- receiving ---- */

int64_t thrum_receive_fds(thrum_io io, void *to, size_t size, int *fds, unsigned *n,
                          thrum_time deadline) {
    th_inside inside;
    if (!n) {
        return -EINVAL;
    }
    const unsigned room = *n;
    *n = 0;
    if (!size) {
        return -EINVAL;
    }
    int64_t got = enter(&inside, io, THRUM_IO_READ, deadline);
    if (got) {
        return got;
    }
    const int seen = inside.direction->error; /* by a copy, and the system reports it once */
    while (!(got = seen ? seen : th_inside_await(&inside))) {
        *n = room;
        got = th_os_socket_receive_fds(inside.record->fd, to, size, fds, n);
        if (got != -EAGAIN) {
            th_counted_read(inside.record->fd, got);
            break;
        }
        th_inside_again(&inside);
    }
    th_inside_leave(&inside, th_inside_left(&inside));
    return got;
}
