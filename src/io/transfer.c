/*
 * transfer.c: reading and writing.
 */
#include <errno.h>

#include "io/call.h"
#include "io/counted.h"
#include "io/shared.h"
#include "thrum/io.h"

_Static_assert(sizeof(thrum_iovec) == sizeof(th_os_part) &&
                   offsetof(thrum_iovec, base) == offsetof(th_os_part, base) &&
                   offsetof(thrum_iovec, size) == offsetof(th_os_part, size),
               "the public name of a part");

/* ---- reading ---- */

/* The meaning of a read of n bytes, with room for `size`, for the rest. */
static th_leftover left_of(const th_inside *inside, int64_t n, size_t size) {
    if (n == -EAGAIN) {
        return TH_LEFT_NOTHING;
    }
    /* Not on pipes: a pipe written with O_DIRECT delivers packet by packet. */
    bool tells = inside->record->kind == TH_OS_TCP;
    return tells && n > 0 && (size_t)n < size ? TH_LEFT_SHORT : TH_LEFT_MORE;
}

static int64_t read_once(const th_record *record, void *to, size_t size) {
    if (th_unlikely(record->pooled)) {
        const th_os_part part = {to, size};
        return th_shared_readv(record, &part, 1);
    }
    return th_os_io_read(record->fd, record->kind, to, size);
}

static int64_t readv_once(const th_record *record, const th_os_part parts[], unsigned n) {
    return th_unlikely(record->pooled) ? th_shared_readv(record, parts, n)
                                       : th_os_io_readv(record->fd, record->kind, parts, n);
}

int64_t th_inside_read(th_inside *inside, void *to, size_t size, th_leftover *left) {
    int64_t n = read_once(inside->record, to, size);
    th_counted_read(inside->record->fd, n);
    *left = left_of(inside, n, size);
    if (n == -EAGAIN) {
        th_inside_again(inside);
    }
    return n;
}

/* Reads at least a byte; *left is the read's finding. */
static int64_t read_some(th_inside *inside, void *to, size_t size, th_leftover *left) {
    int64_t n;
    while (!(n = th_inside_await(inside))) {
        n = th_inside_read(inside, to, size, left);
        if (n != -EAGAIN) {
            break;
        }
    }
    return n;
}

static int enter_to_read(th_inside *inside, thrum_io io, thrum_time deadline) {
    int code = th_inside_enter(inside, io, THRUM_IO_READ, deadline);
    if (code) {
        return code;
    }
    code = inside->record->kind == TH_OS_DATAGRAM ? -EOPNOTSUPP : inside->direction->error;
    if (th_unlikely(code)) {
        th_inside_leave(inside, th_inside_left(inside));
    }
    return code;
}

int64_t thrum_read_until(thrum_io io, void *to, size_t size, thrum_time deadline) {
    th_inside inside;
    int64_t n = enter_to_read(&inside, io, deadline);
    if (n) {
        return n;
    }
    th_leftover left = th_inside_left(&inside);
    n = size ? read_some(&inside, to, size, &left) : 0;
    th_inside_leave(&inside, left);
    return n;
}

int64_t thrum_read(thrum_io io, void *to, size_t size) {
    return thrum_read_until(io, to, size, THRUM_FOREVER);
}

int64_t thrum_read_full(thrum_io io, void *to, size_t size, thrum_time deadline) {
    th_inside inside;
    int64_t n = enter_to_read(&inside, io, deadline);
    if (n) {
        return n;
    }
    th_leftover left = th_inside_left(&inside);
    size_t done = 0;
    while (done < size && (n = read_some(&inside, (char *)to + done, size - done, &left)) > 0) {
        done += (size_t)n;
        if (done < size && (n = th_inside_go_on(&inside, left)) != 0) {
            break;
        }
    }
    th_inside_leave(&inside, left);
    return n < 0 ? n : (int64_t)done;
}

int64_t thrum_readv_until(thrum_io io, const thrum_iovec *parts, unsigned n, thrum_time deadline) {
    if (n > THRUM_IOVECS_MAX) {
        return -EINVAL;
    }
    size_t size = 0;
    for (unsigned i = 0; i < n; i++) {
        if (parts[i].size > SIZE_MAX / 2 - size) {
            return -EINVAL; /* as the system: the count could not be returned */
        }
        size += parts[i].size;
    }
    th_inside inside;
    int64_t result = enter_to_read(&inside, io, deadline);
    if (result) {
        return result;
    }
    th_leftover left = th_inside_left(&inside);
    while (size && !(result = th_inside_await(&inside))) {
        result = readv_once(inside.record, (const th_os_part *)(const void *)parts, n);
        th_counted_read(inside.record->fd, result);
        left = left_of(&inside, result, size);
        if (result != -EAGAIN) {
            break;
        }
        th_inside_again(&inside);
    }
    th_inside_leave(&inside, left);
    return result;
}

/* ---- writing ---- */

/* The remainder to be written: whole parts, and the rest of the first. */
typedef struct rest {
    const thrum_iovec *parts;
    unsigned n;
    size_t skip; /* bytes of the first that are written */
} rest;

static void advance(rest *r, size_t written) {
    written += r->skip;
    while (r->n && written >= r->parts->size) {
        written -= r->parts->size;
        r->parts++;
        r->n--;
    }
    r->skip = written;
}

static int64_t write_once(const th_inside *inside, const rest *r) {
    const int fd = inside->record->fd;
    const th_os_kind kind = inside->record->kind;
    if (th_unlikely(inside->record->pooled)) {
        const th_os_part first = {(char *)r->parts->base + r->skip, r->parts->size - r->skip};
        return r->skip || r->n == 1
                   ? th_shared_writev(inside->record, &first, 1)
                   : th_shared_writev(inside->record, (const th_os_part *)(const void *)r->parts,
                                      r->n);
    }
    if (r->skip || r->n == 1) {
        return th_os_io_write(fd, kind, (const char *)r->parts->base + r->skip,
                              r->parts->size - r->skip);
    }
    return th_os_io_writev(fd, kind, (const th_os_part *)(const void *)r->parts, r->n);
}

/*
 * Writes all, as the holder. The code is 0, or the cause of a short write; *waited: a wait ended
 * it, with that code.
 */
static int write_all(th_inside *inside, rest *r, int64_t *done, bool *waited) {
    int code = 0;
    while (r->n && !(*waited = (code = th_inside_await(inside)) != 0)) {
        int64_t n = write_once(inside, r);
        th_counted_written(inside->record->fd, n);
        if (n == -EAGAIN) {
            th_inside_again(inside);
            continue;
        }
        if (n < 0) {
            inside->direction->error = *done ? (int32_t)n : 0;
            return (int)n;
        }
        *done += n;
        advance(r, (size_t)n);
        if (r->n && (code = th_inside_go_on(inside, TH_LEFT_MORE)) != 0) {
            break;
        }
    }
    return code;
}

int64_t th_writev_until(thrum_io io, const thrum_iovec *parts, unsigned n, thrum_time deadline,
                        bool *waited) {
    *waited = false;
    if (n > THRUM_IOVECS_MAX) {
        return -EINVAL;
    }
    th_inside inside;
    int code = th_inside_enter(&inside, io, THRUM_IO_WRITE, deadline);
    if (code) {
        return code;
    }
    int64_t done = 0;
    code = inside.direction->error;
    if (!code) {
        rest r = {parts, n, 0};
        advance(&r, 0);
        code = write_all(&inside, &r, &done, waited);
    }
    th_inside_leave(&inside, th_inside_left(&inside));
    return done ? done : code;
}

int64_t thrum_writev_until(thrum_io io, const thrum_iovec *parts, unsigned n, thrum_time deadline) {
    bool waited;
    return th_writev_until(io, parts, n, deadline, &waited);
}

int64_t thrum_write_until(thrum_io io, const void *from, size_t size, thrum_time deadline) {
    const thrum_iovec part = {(void *)(uintptr_t)from, size};
    return thrum_writev_until(io, &part, 1, deadline);
}

int64_t thrum_write(thrum_io io, const void *from, size_t size) {
    return thrum_write_until(io, from, size, THRUM_FOREVER);
}

/* ---- without waiting ---- */

/* Enters without waiting: the direction is left by th_direction_leave, which does not yield. */
static int enter_to_try(th_inside *inside, thrum_io io, unsigned direction) {
    int code = th_inside_try(inside, io, direction);
    if (code) {
        return code == -EBUSY ? -EAGAIN : code;
    }
    const th_record *record = inside->record;
    code =
        record->pooled || record->kind == TH_OS_DATAGRAM ? -EOPNOTSUPP : inside->direction->error;
    if (code) {
        th_direction_leave(inside->direction, th_inside_left(inside));
    }
    return code;
}

int64_t thrum_try_read(thrum_io io, void *to, size_t size) {
    th_inside inside;
    int code = enter_to_try(&inside, io, THRUM_IO_READ);
    if (code) {
        return code;
    }
    th_leftover left = th_inside_left(&inside);
    int64_t n = size ? th_inside_read(&inside, to, size, &left) : 0;
    th_direction_leave(inside.direction, left);
    return n;
}

int64_t thrum_try_write(thrum_io io, const void *from, size_t size) {
    th_inside inside;
    int code = enter_to_try(&inside, io, THRUM_IO_WRITE);
    if (code) {
        return code;
    }
    const th_record *record = inside.record;
    int64_t n = size ? th_os_io_write(record->fd, record->kind, from, size) : 0;
    th_counted_written(record->fd, n);
    th_direction_leave(inside.direction, n == -EAGAIN ? TH_LEFT_NOTHING : TH_LEFT_MORE);
    return n;
}
