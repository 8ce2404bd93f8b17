/*
 * datagram.c: sending and receiving messages, one or many at a call.
 */
#include <errno.h>

#include "io/call.h"
#include "io/counted.h"
#include "net/address.h"
#include "thrum/spawn.h"

#define FULL_MIN_NS THRUM_US(500)
#define FULL_MAX_NS THRUM_MS(50)

/* Enters a direction of a socket that has messages. */
static int enter(th_inside *inside, thrum_io io, unsigned direction, thrum_time deadline) {
    int code = th_inside_enter(inside, io, direction, deadline);
    if (!code && inside->record->kind != TH_OS_DATAGRAM) {
        th_inside_leave(inside, th_inside_left(inside));
        code = -EOPNOTSUPP;
    }
    return code;
}

/* ---- sending ---- */

/*
 * A socket is ready to send while the UNIX socket that a message is for is full, and the system
 * does not report when that has room: the message is tried again, more and more seldom. Meanwhile
 * others may send.
 */
static int sleep_outside(th_inside *inside, thrum_io io, thrum_time deadline, thrum_time *pause) {
    th_inside_leave(inside, TH_LEFT_MORE);
    thrum_time until = thrum_after(*pause);
    *pause = *pause * 2 < FULL_MAX_NS ? *pause * 2 : FULL_MAX_NS;
    int code = thrum_sleep_until(until < deadline ? until : deadline);
    return code ? code : th_inside_enter(inside, io, THRUM_IO_WRITE, deadline);
}

static int send_all(thrum_io io, const th_os_message messages[], unsigned n, thrum_time deadline) {
    th_inside inside;
    int code = enter(&inside, io, THRUM_IO_WRITE, deadline);
    if (code) {
        return code;
    }
    thrum_time pause = FULL_MIN_NS;
    unsigned done = 0;
    while (done < n && !(code = th_inside_await(&inside))) {
        int sent = th_os_socket_send(inside.record->fd, &messages[done], n - done);
        if (sent > 0) {
            for (int i = 0; i < sent; i++) {
                th_counted_written(inside.record->fd, (int64_t)messages[done + (unsigned)i].size);
            }
            done += (unsigned)sent;
            pause = FULL_MIN_NS;
        } else if (sent != -EAGAIN) {
            code = sent;
            break;
        } else if (th_os_address_family(&messages[done].address) != TH_OS_LOCAL) {
            th_inside_again(&inside);
        } else if ((code = sleep_outside(&inside, io, deadline, &pause)) != 0) {
            return done ? (int)done : code; /* it is outside */
        }
    }
    th_inside_leave(&inside, th_inside_left(&inside));
    return done ? (int)done : code;
}

int64_t thrum_send_to(thrum_io io, const void *from, size_t size, const thrum_address *to,
                      thrum_time deadline) {
    th_os_message message = {.data = (void *)(uintptr_t)from, .size = size};
    if (to) {
        message.address = th_address_inside(to);
    }
    int sent = send_all(io, &message, 1, deadline);
    return sent < 0 ? sent : (int64_t)size;
}

int thrum_send_many(thrum_io io, const thrum_datagram *datagrams, unsigned n, thrum_time deadline) {
    n = n < INT32_MAX ? n : INT32_MAX;
    return send_all(io, (const th_os_message *)(const void *)datagrams, n, deadline);
}

/* ---- receiving ---- */

/*
 * The number of received messages that count: the end of a connection of messages is an empty
 * message from nowhere, again and again. *ended: the last one that counts may be it.
 */
static unsigned up_to_the_end(int fd, const th_os_message messages[], unsigned n, bool *ended) {
    th_os_family family;
    th_os_style style;
    const th_os_message *last = &messages[n - 1];
    *ended = !last->length && !last->address.size && !th_os_socket_what(fd, &family, &style) &&
             style == TH_OS_PACKETS;
    while (*ended && n > 1 && !messages[n - 2].length) {
        n--;
    }
    return n;
}

/* The number of its bytes that were received: bytes that did not fit are lost. */
static int64_t bytes_of(const th_os_message *message) {
    return (int64_t)(message->length < message->size ? message->length : message->size);
}

static int receive_some(thrum_io io, th_os_message messages[], unsigned n, thrum_time deadline) {
    th_inside inside;
    int code = enter(&inside, io, THRUM_IO_READ, deadline);
    if (code) {
        return code;
    }
    unsigned done = 0;
    while (done < n && (done || !(code = th_inside_await(&inside)))) {
        int got = th_os_socket_receive(inside.record->fd, messages + done, n - done);
        if (got == -EAGAIN) {
            th_inside_again(&inside);
            if (done) {
                break;
            }
            continue;
        }
        if (got < 0) {
            code = got;
            break;
        }
        bool ended;
        unsigned some = up_to_the_end(inside.record->fd, messages + done, (unsigned)got, &ended);
        for (unsigned i = 0; i < some; i++) {
            th_counted_read(inside.record->fd, bytes_of(&messages[done + i]));
        }
        done += some;
        if (ended) {
            break;
        }
    }
    th_inside_leave(&inside, th_inside_left(&inside));
    return done ? (int)done : code;
}

int64_t thrum_receive_from(thrum_io io, void *to, size_t size, thrum_address *from,
                           thrum_time deadline) {
    th_os_message message = {.data = to, .size = size};
    int code = receive_some(io, &message, 1, deadline);
    if (code < 0) {
        return code;
    }
    if (from) {
        *from = th_address_outside(&message.address);
    }
    return (int64_t)message.length;
}

int thrum_receive_many(thrum_io io, thrum_datagram *datagrams, unsigned n, thrum_time deadline) {
    if (!n) {
        return -EINVAL;
    }
    n = n < INT32_MAX ? n : INT32_MAX;
    return receive_some(io, (th_os_message *)(void *)datagrams, n, deadline);
}

/* ---- without waiting ---- */

/* Sends or receives one message; the direction is left by a call that does not yield. */
static int try_one(thrum_io io, unsigned direction, th_os_message *message) {
    th_inside inside;
    int code = th_inside_try(&inside, io, direction);
    if (code) {
        return code == -EBUSY ? -EAGAIN : code;
    }
    const th_record *record = inside.record;
    code = record->kind != TH_OS_DATAGRAM ? -EOPNOTSUPP
           : direction == THRUM_IO_WRITE  ? th_os_socket_send(record->fd, message, 1)
                                          : th_os_socket_receive(record->fd, message, 1);
    if (code > 0 && direction == THRUM_IO_WRITE) {
        th_counted_written(record->fd, (int64_t)message->size);
    } else if (code > 0) {
        th_counted_read(record->fd, bytes_of(message));
    }
    th_direction_leave(inside.direction, code == -EAGAIN ? TH_LEFT_NOTHING : TH_LEFT_MORE);
    return code;
}

int64_t thrum_try_send_to(thrum_io io, const void *data, size_t size, const thrum_address *to) {
    th_os_message message = {.data = (void *)(uintptr_t)data, .size = size};
    if (to) {
        message.address = th_address_inside(to);
    }
    int code = try_one(io, THRUM_IO_WRITE, &message);
    return code < 0 ? code : (int64_t)size;
}

int64_t thrum_try_receive_from(thrum_io io, void *data, size_t size, thrum_address *from) {
    th_os_message message = {.data = data, .size = size};
    int code = try_one(io, THRUM_IO_READ, &message);
    if (code < 0) {
        return code;
    }
    if (from) {
        *from = th_address_outside(&message.address);
    }
    return (int64_t)message.length;
}
