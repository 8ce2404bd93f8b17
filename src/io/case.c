/*
 * case.c: descriptors among the cases of a select (select/among.h).
 *
 * A part of the select's wait is among the watchers of a direction, as those of thrum_io_wait are,
 * and the system is polled after that (io/DIRECTION.md, R14).
 */
#include <errno.h>
#include <string.h>

#include "core/state/fiber_state.h"
#include "io/direction.h"
#include "io/record.h"
#include "select/among.h"
#include "thrum/io.h"

#define BIT_SHIFT 8 /* of a case's kind: above it the direction, as a bit */

_Static_assert(THRUM_SELECT_IO_MAX == TH_OS_POLLED_MAX, "one limit");
/*
 * The place of the two numbers in a case: in `to`, or, if that has 32 bits, in it and at the
 * end.
 */
#define FD_AT offsetof(thrum_case, to)
#define TURN_AT (sizeof(void *) == 8 ? FD_AT + 4 : sizeof(thrum_case) - 4)
_Static_assert(sizeof(thrum_case) == offsetof(thrum_case, status) + (sizeof(void *) == 8 ? 4 : 8),
               "a case has room for a descriptor");

static thrum_io io_of(const thrum_case *c) {
    thrum_io io;
    memcpy(&io.fd, (const char *)c + FD_AT, sizeof io.fd);
    memcpy(&io.turn, (const char *)c + TURN_AT, sizeof io.turn);
    return io;
}

static unsigned bit_of(const thrum_case *c) {
    return c->kind >> BIT_SHIFT;
}

static th_direction *direction_of(const thrum_case *c) {
    th_record *record = th_record_at(io_of(c).fd);
    return record ? &record->directions[bit_of(c) == THRUM_IO_WRITE] : NULL;
}

/* 0, or the code for a case whose descriptor is not open. */
static int refusal_of(const thrum_case *c) {
    const thrum_io io = io_of(c);
    const th_record *record = th_record_at(io.fd);
    if (!record || !io.turn) {
        return -EBADF;
    }
    /*
     * If the part is on the list, the lists' lock has ordered both loads, and a close that comes
     * later finds it. Before that, a close at this moment may look like readiness.
     */
    /* relaxed: see above */
    const uint32_t word = th_load_relaxed(&record->directions[0].xword);
    if (th_load_relaxed(&record->xturn) != io.turn) { /* relaxed: see above */
        return th_record_refusal(record, io.turn);
    }
    return word & TH_IO_CLOSING ? -EBADF : 0;
}

static bool is_ours(const thrum_case *c) {
    return (c->kind & THRUM_CASE_KINDS) == THRUM_CASE_OTHER;
}

/* Sets the status of cases that are not open, and their bits. */
static uint32_t find_closed(thrum_case cases[], size_t n) {
    uint32_t closed = 0;
    unsigned k = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_ours(&cases[i])) {
            const int code = refusal_of(&cases[i]);
            cases[i].status = code;
            closed |= (uint32_t)(code != 0) << k++;
        }
    }
    return closed;
}

static int ask(thrum_case cases[], size_t n, int wakeup, thrum_time deadline, uint32_t *ready) {
    th_os_polled polled[TH_OS_POLLED_MAX];
    unsigned count = 0;
    /* seq: in the lists before the system is asked, as in watch.c */
    th_fence_seq();
    const uint32_t closed = find_closed(cases, n);
    for (size_t i = 0; i < n; i++) {
        if (is_ours(&cases[i])) {
            const int fd = closed >> count & 1 ? -1 : io_of(&cases[i]).fd;
            polled[count++] = (th_os_polled){.fd = fd, .bits = bit_of(&cases[i])};
        }
    }
    int code;
    do {
        code = th_os_io_poll_any(polled, count, wakeup, closed ? 0 : deadline);
    } while (code == -EINTR);
    /* Once it is closed, the number may be another one's. */
    *ready = find_closed(cases, n);
    for (unsigned k = 0; k < count && code > 0; k++) {
        *ready |= (uint32_t)((polled[k].ready & polled[k].bits) != 0) << k;
    }
    return *ready ? 1 : code < 0 ? code : 0;
}

static int join(const thrum_case *c) {
    th_record *record = th_record_at(io_of(c).fd);
    int code = record ? th_record_join(record, io_of(c).turn, th_fiber_self()->sched) : -EBADF;
    return code == -EBADF ? 0 : code; /* its status will show it */
}

static void stand(const thrum_case *c, th_waiter *part) {
    th_direction *direction = direction_of(c);
    if (direction) {
        (void)th_direction_watch(direction, part); /* if it is closing, it is not open */
    }
}

static void leave(const thrum_case *c, th_waiter *part) {
    th_direction *direction = direction_of(c);
    if (direction) {
        (void)th_direction_unwatch(direction, part);
    }
}

static const th_case_ops ops = {TH_OS_POLLED_MAX, ask, join, stand, leave};

thrum_case thrum_io_case(thrum_io io, unsigned bit) {
    const bool valid = bit == THRUM_IO_READ || bit == THRUM_IO_WRITE;
    thrum_case c = {.from = &ops, .kind = valid ? THRUM_CASE_OTHER | bit << BIT_SHIFT : 0};
    memcpy((char *)&c + FD_AT, &io.fd, sizeof io.fd);
    memcpy((char *)&c + TURN_AT, &io.turn, sizeof io.turn);
    return c;
}
