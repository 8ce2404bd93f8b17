/*
 * copy.c: bytes from one descriptor to another.
 * // Bytes that were read and cannot be written are lost unless they can be put back, and a
 * deadline, a cancel or a close may come at any time. So the system moves the bytes itself if one
 * end is a pipe (SPLICE). Bytes of a socket are only peeked at, and removed once they have been
 * written (PEEK). Both are steps that do not wait, by a caller that holds both directions. For all
 * other descriptors bytes are read and written in turn (HANDS); a file's position goes back by the
 * remainder.
 * // Nothing is held while the caller waits: a close of either end would wait for it. It is among
 * the watchers of both, so that closing the end that it does not wait for also ends the wait.
 */
#include <errno.h>

#include "core/state/fiber_state.h"
#include "io/call.h"
#include "io/counted.h"
#include "io/shared.h"
#include "io/watch.h"
#include "thrum/io.h"
#include "thrum/spawn.h"

#define MEMORY TH_LIMIT(65536u, 4u) /* bytes that are looked at, or in hands, at a time */
#define MOVED_MAX (1u << 20)        /* bytes that the system moves in one call */
#define REST_NS THRUM_MS(1)         /* how long descriptors rest that are ready for nothing */

typedef enum manner { SPLICE, PEEK, HANDS } manner;

typedef struct copying {
    thrum_io from;
    thrum_io to;
    uint64_t limit;
    thrum_time deadline;
    manner manner;
    bool socket;         /* `from` is one */
    uint64_t done;       /* bytes that were written */
    char *memory;        /* PEEK, HANDS */
    size_t first;        /* HANDS: where the bytes begin that were read and not written */
    size_t held;         /* and how many there are */
    unsigned wants;      /* the directions that were not ready in the last step, as bits */
    unsigned idle_steps; /* steps in a row that did nothing */
} copying;

static uint64_t left_of(const copying *c, uint64_t most) {
    const uint64_t left = c->limit - c->done;
    return left < most ? left : most;
}

static bool get_memory(copying *c) {
    c->memory = c->memory ? c->memory : th_os_alloc(MEMORY);
    return c->memory != NULL;
}

/* ---- holding ---- */

/*
 * Enters both directions. While it has one, it does not wait for the other: a close of the first
 * would wait as long. If that is another caller's, it waits for that one, and then tries this.
 */
static int hold_both(copying *c, th_inside *from, th_inside *to) {
    for (bool turn = false;; turn = !turn) {
        th_inside *first = turn ? to : from;
        th_inside *second = turn ? from : to;
        int code = th_inside_enter(first, turn ? c->to : c->from,
                                   turn ? THRUM_IO_WRITE : THRUM_IO_READ, c->deadline);
        if (code) {
            return code;
        }
        code = th_inside_try(second, turn ? c->from : c->to, turn ? THRUM_IO_READ : THRUM_IO_WRITE);
        if (!code) {
            return 0;
        }
        th_direction_leave(first->direction, th_inside_left(first));
        if (code != -EBUSY) {
            return code;
        }
    }
}

/* By the holder: an error that the system reports once is kept, if this call returns a count. */
static int64_t failed(const copying *c, th_inside *inside, int64_t code) {
    inside->direction->error = c->done ? (int32_t)code : 0;
    return code;
}

/* ---- steps: they return how many bytes went on, 0 at the end, or a code ---- */

static int64_t write_some(copying *c, th_inside *to, const char *bytes, size_t n,
                          th_leftover *left) {
    const th_record *record = to->record;
    const th_os_part part = {(char *)(uintptr_t)bytes, n};
    int64_t put = th_unlikely(record->pooled) ? th_shared_writev(record, &part, 1)
                                              : th_os_io_write(record->fd, record->kind, bytes, n);
    *left = TH_LEFT_MORE;
    if (put == -EAGAIN || put == 0) {
        *left = TH_LEFT_NOTHING;
        c->wants = THRUM_IO_WRITE;
        return -EAGAIN;
    }
    if (put < 0) {
        return failed(c, to, put);
    }
    th_counted_written(record->fd, put);
    c->done += (uint64_t)put;
    return put;
}

static int64_t splice_some(copying *c, th_inside *from, th_inside *to, th_leftover left[2]) {
    int64_t n = th_os_io_splice(from->record->fd, to->record->fd, (size_t)left_of(c, MOVED_MAX));
    if (n > 0) {
        th_counted_read(from->record->fd, n);
        th_counted_written(to->record->fd, n);
        c->done += (uint64_t)n;
        left[0] = left[1] = TH_LEFT_MORE;
    } else if (n == -EAGAIN) {
        c->wants = THRUM_IO_READ | THRUM_IO_WRITE; /* it does not report which */
    } else if (n == -EINVAL || n == -ENOSYS || n == -EOPNOTSUPP || n == -EPERM) {
        c->manner = c->socket ? PEEK : HANDS;
        return 1;
    } else if (n < 0) {
        return failed(c, c->socket && n != -EPIPE ? from : to, n);
    }
    return n;
}

static int64_t peek_some(copying *c, th_inside *from, th_inside *to, th_leftover left[2]) {
    const th_record *record = from->record;
    int64_t n = th_os_io_peek(record->fd, c->memory, (size_t)left_of(c, MEMORY));
    left[0] = n == -EAGAIN ? TH_LEFT_NOTHING : TH_LEFT_MORE;
    if (n == -EAGAIN) {
        c->wants = THRUM_IO_READ;
        return n;
    }
    if (n <= 0) {
        return n ? failed(c, from, n) : 0;
    }
    n = write_some(c, to, c->memory, (size_t)n, &left[1]);
    if (n > 0) {
        /* Fewer: a reader that does not ask the library has taken them. */
        (void)th_os_io_skip(record->fd, record->kind, c->memory, (size_t)n);
        th_counted_read(record->fd, n);
    }
    return n;
}

static int64_t move_some(copying *c) {
    th_inside from;
    th_inside to;
    if (c->manner == PEEK && !get_memory(c)) {
        return -ENOMEM;
    }
    int64_t n = hold_both(c, &from, &to);
    if (n) {
        return n;
    }
    th_leftover left[2] = {th_inside_left(&from), th_inside_left(&to)};
    n = from.direction->error ? from.direction->error : to.direction->error;
    if (!n) {
        n = c->manner == SPLICE ? splice_some(c, &from, &to, left) : peek_some(c, &from, &to, left);
    }
    th_direction_leave(from.direction, left[0]);
    to.ready = n > 0; /* such a step counts as one that need not wait */
    th_inside_leave(&to, left[1]);
    return n;
}

static int64_t read_to_hands(copying *c) {
    th_inside from;
    if (!get_memory(c)) {
        return -ENOMEM;
    }
    int64_t n = th_inside_enter(&from, c->from, THRUM_IO_READ, c->deadline);
    if (n) {
        return n;
    }
    const th_record *record = from.record;
    const th_os_part part = {c->memory, (size_t)left_of(c, MEMORY)};
    th_leftover left = th_inside_left(&from);
    n = from.direction->error;
    if (!n) {
        n = record->pooled ? th_shared_readv(record, &part, 1)
                           : th_os_io_read(record->fd, record->kind, part.base, part.size);
        th_counted_read(record->fd, n);
        left = n == -EAGAIN ? TH_LEFT_NOTHING : TH_LEFT_MORE;
        c->wants = THRUM_IO_READ;
        n = n < 0 && n != -EAGAIN ? failed(c, &from, n) : n;
    }
    from.ready = n > 0;
    th_inside_leave(&from, left);
    c->first = 0;
    c->held = n > 0 ? (size_t)n : 0;
    return n;
}

static int64_t write_from_hands(copying *c) {
    th_inside to;
    /* Where there is room, they are written past the deadline, too: they would be lost. */
    int64_t n = th_inside_try(&to, c->to, THRUM_IO_WRITE);
    n = n == -EBUSY ? th_inside_enter(&to, c->to, THRUM_IO_WRITE, c->deadline) : n;
    if (n) {
        return n;
    }
    th_leftover left = th_inside_left(&to);
    n = to.direction->error;
    n = n ? n : write_some(c, &to, c->memory + c->first, c->held, &left);
    if (n > 0) {
        c->first += (size_t)n;
        c->held -= (size_t)n;
    }
    to.ready = n > 0;
    th_inside_leave(&to, left);
    return n;
}

/* ---- waiting ---- */

/* Until the wanted directions are ready, or one of the two is closed. */
static int wait_for(const copying *c, unsigned wanted) {
    th_watched both[2] = {
        {.io = c->to, .bits = THRUM_IO_WRITE, .aside = wanted != THRUM_IO_WRITE},
        {.io = c->from, .bits = THRUM_IO_READ, .aside = wanted != THRUM_IO_READ},
    };
    /* For the bytes in hands it does not matter that the descriptor is closed that they are of. */
    int code = th_watch_any(both, c->held ? 1 : 2, c->deadline, NULL);
    if (code > 0) {
        code = both[0].ready < 0 || both[1].ready < 0 ? -EBADF : 0;
    }
    return code == -EPERM ? 0 : code; /* no set takes a descriptor that is always ready */
}

static int rest(const copying *c) {
    thrum_time until = thrum_after(REST_NS);
    return thrum_sleep_until(until < c->deadline ? until : c->deadline);
}

static int wait_wanted(copying *c) {
    int code = 0;
    if (c->idle_steps++ > 1) {
        code = rest(c); /* a lasting error, reported already, makes them ready for good */
    }
    if (!code && (c->wants & THRUM_IO_READ)) {
        code = wait_for(c, THRUM_IO_READ);
    }
    if (!code && (c->wants & THRUM_IO_WRITE)) {
        code = wait_for(c, THRUM_IO_WRITE);
    }
    return code;
}

/* Whether a wait would return this: bytes may come and go for ever without a wait. */
static bool is_cancelled(void) {
    const th_fiber *fiber = th_fiber_self();
    return fiber && !fiber->inherited.shields && thrum_cancelled();
}

/* ---- the whole ---- */

static int64_t step(copying *c) {
    return c->manner != HANDS ? move_some(c) : c->held ? write_from_hands(c) : read_to_hands(c);
}

/* Returns the cause of its end: 0: the end, or the limit; else a code. */
static int64_t copy(copying *c) {
    while (c->done < c->limit) {
        int64_t n = !c->held && is_cancelled() ? -ECANCELED : step(c);
        if (n > 0) {
            c->idle_steps = 0;
        } else if (n == -EAGAIN) {
            n = wait_wanted(c);
            n = n ? n : 1;
        }
        if (n <= 0) {
            return n;
        }
    }
    return 0;
}

static int look_at(void *ctx, th_record *record) {
    th_os_kind *kind = ctx;
    *kind = record->kind;
    return *kind == TH_OS_DATAGRAM ? -EOPNOTSUPP : 0;
}

/* With the record's lock: whether calls on it do not wait by default. */
static int keep_from_waiting(void *ctx, th_record *record) {
    (void)ctx;
    if (record->shared) {
        return !record->pooled && !th_os_is_socket(record->kind);
    }
    int was = record->nonblocking ? 1 : th_os_io_nonblocking(record->fd, true);
    record->nonblocking |= was == 0; /* it is taken back when the descriptor is given up */
    return was >= 0;
}

static bool can_splice(const copying *c, th_os_kind from, th_os_kind to) {
    return (from == TH_OS_PIPE || to == TH_OS_PIPE) &&
           th_quick_on(c->from, keep_from_waiting, NULL) == 1 &&
           th_quick_on(c->to, keep_from_waiting, NULL) == 1;
}

static int begin(copying *c) {
    th_os_kind from;
    th_os_kind to;
    int code = th_quick_on(c->from, look_at, &from);
    code = code ? code : th_quick_on(c->to, look_at, &to);
    if (code) {
        return code;
    }
    if (c->deadline != THRUM_FOREVER && c->deadline <= thrum_now()) {
        return -ETIMEDOUT;
    }
    c->socket = th_os_is_socket(from);
    c->manner = can_splice(c, from, to) ? SPLICE : c->socket ? PEEK : HANDS;
    return 0;
}

static int unread(void *ctx, th_record *record) {
    const size_t *n = ctx;
    return record->kind == TH_OS_FILE ? th_os_io_unread(record->fd, *n) : -ESPIPE;
}

int64_t thrum_copy(thrum_io from, thrum_io to, uint64_t limit, thrum_time deadline) {
    copying c = {.from = from, .to = to, .deadline = deadline};
    c.limit = limit < INT64_MAX ? limit : INT64_MAX;
    int64_t code = begin(&c);
    code = code ? code : copy(&c);
    if (c.held && th_quick_on(from, unread, &c.held) != 0) {
        code = -EIO;
        c.done = 0;
    }
    th_os_free(c.memory);
    return c.done ? (int64_t)c.done : code;
}
