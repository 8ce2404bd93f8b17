/*
 * watch.c: waiting until descriptors are ready, without holding them.
 *
 * The wait is one waiter with a part on the list of each direction (core/wait/WAITING.md). A fiber
 * is woken by an event; a plain thread polls the system, and is on the lists only so that a close
 * ends its wait. In both cases the system is polled after the entry in the lists, so no event is
 * missed, and the turn is read after it too: a close that comes later finds the entry.
 */
#include "io/watch.h"

#include <errno.h>

#include "core/ready/waiter.h"
#include "core/state/fiber_state.h"
#include "core/wait/wait.h"
#include "io/counted.h"
#include "io/direction.h"
#include "io/named.h"
#include "thrum/io.h"

_Static_assert(THRUM_IO_READ == TH_OS_IN && THRUM_IO_WRITE == TH_OS_OUT, "one set of bits");

/* ---- the lists ---- */

/* Whether the descriptor is open under its turn, and not about to be closed. */
static bool is_open(const th_watched *w) {
    const th_record *record = w->record;
    /* pairs: th_record_adopt; the turn. A close sets CLOSING before it wakes; a word without it is
     * that of a later turn */
    return !(th_load_acquire(&record->directions[0].xword) & TH_IO_CLOSING) &&
           th_load_relaxed(&record->xturn) == w->io.turn; /* relaxed: ordered by the acquire */
}

static void enlist(th_watched *w, th_waiter *whole) {
    for (unsigned i = 0; i < 2; i++) {
        w->listed[i] = false;
        if (w->bits & (i ? THRUM_IO_WRITE : THRUM_IO_READ)) {
            th_waiter_init_part(&w->parts[i], whole, (int32_t)i);
            w->listed[i] = th_direction_watch(&w->record->directions[i], &w->parts[i]);
        }
    }
}

/* Takes all off the lists; a thread that has ended the wait meanwhile lets go first. */
static void finish(th_watched watched[], unsigned n, th_waiter *whole) {
    if (!th_waiter_claim(whole, TH_WAIT_TIMEDOUT)) {
        (void)th_waiter_wait(whole);
    }
    for (unsigned k = 0; k < n; k++) {
        for (unsigned i = 0; i < 2; i++) {
            th_watched *w = &watched[k];
            if (w->listed[i]) {
                (void)th_direction_unwatch(&w->record->directions[i], &w->parts[i]);
            }
        }
    }
}

/* ---- asking the system ---- */

/* The number of closed ones; their `ready` shows it. */
static int find_closed(th_watched watched[], unsigned n) {
    int closed = 0;
    for (unsigned k = 0; k < n; k++) {
        watched[k].ready = is_open(&watched[k]) ? 0 : -EBADF;
        closed += watched[k].ready != 0;
    }
    return closed;
}

/* How many are ready or closed, 0, or a code. */
static int ask(th_watched watched[], unsigned n, int wakeup, thrum_time deadline) {
    th_os_polled polled[TH_WATCHED_MAX];
    for (unsigned k = 0; k < n; k++) {
        const int fd = watched[k].aside ? -1 : watched[k].io.fd;
        polled[k] = (th_os_polled){.fd = fd, .bits = watched[k].bits};
    }
    int code;
    do {
        code = th_os_io_poll_any(polled, n, wakeup, deadline);
    } while (code == -EINTR);
    /* Once it is closed, the number may be another one's. */
    int found = find_closed(watched, n);
    for (unsigned k = 0; k < n && code > 0; k++) {
        unsigned bits = polled[k].ready & watched[k].bits;
        if (!watched[k].ready && bits) {
            watched[k].ready = (int)bits;
            found++;
        }
    }
    return found ? found : code < 0 ? code : 0;
}

static int watch_in_fiber(th_watched watched[], unsigned n, th_waiter *whole, thrum_time deadline) {
    int code = ask(watched, n, -1, 0);
    TH_IO_COUNT(xio_waits, !code);
    return code ? code : th_waiter_result(th_waiter_wait_until(whole, deadline));
}

static int watch_in_thread(th_watched watched[], unsigned n, th_waiter *whole, int wakeup,
                           thrum_time deadline) {
    th_waiter_show(whole);
    int code = ask(watched, n, wakeup, deadline);
    th_waiter_show(NULL);
    return code ? code : -ETIMEDOUT;
}

/* One round: how many are ready, 0 after an event, or a code. */
static int watch(th_watched watched[], unsigned n, int wakeup, thrum_time deadline,
                 const char *address) {
    th_waiter whole;
    if (address) {
        th_waiter_init(&whole, TH_ON_DIAL, (void *)(uintptr_t)address);
    } else {
        const bool writes = watched->bits == THRUM_IO_WRITE;
        th_waiter_init(&whole, TH_ON_READINESS, &watched->record->directions[writes]);
    }
    whole.timed = true;
    whole.note = whole.fiber ? watched->bits | n << TH_NOTE_COUNT : 1 + (uint32_t)wakeup;
    whole.turn = watched->io.turn;
    for (unsigned k = 0; k < n; k++) {
        enlist(&watched[k], &whole);
    }
    /* seq: in the lists before the system is asked, which takes no lock for it; an event that finds
     * nothing to do fences before it reads the word (th_direction_event) */
    th_fence_seq();
    int code = find_closed(watched, n);
    if (!code) {
        code = whole.fiber ? watch_in_fiber(watched, n, &whole, deadline)
                           : watch_in_thread(watched, n, &whole, wakeup, deadline);
    }
    finish(watched, n, &whole);
    return code;
}

/* Before the first round. */
static int begin(th_watched watched[], unsigned n, const th_fiber *fiber) {
    for (unsigned k = 0; k < n; k++) {
        int code;
        watched[k].ready = 0;
        watched[k].record = th_record_named(watched[k].io, &code);
        if (watched[k].record) {
            const uint32_t turn = watched[k].io.turn;
            const bool joins = fiber && !watched[k].aside;
            code = joins ? th_record_join(watched[k].record, turn, fiber->sched) : 0;
        }
        if (code) {
            return code;
        }
    }
    return 0;
}

int th_watch_any(th_watched watched[], unsigned n, thrum_time deadline, const char *address) {
    th_fiber *fiber = th_fiber_self();
    int wakeup = -1;
    int code = begin(watched, n, fiber);
    if (!code && !fiber) {
        wakeup = th_os_wakeup_open();
        code = wakeup < 0 ? wakeup : 0;
    }
    if (!code) {
        do {
            code = watch(watched, n, wakeup, deadline, address);
        } while (!code);
    }
    if (wakeup >= 0) {
        th_os_wakeup_close(wakeup);
    }
    return code;
}

static bool are_directions(unsigned bits) {
    return bits && !(bits & ~(THRUM_IO_READ | THRUM_IO_WRITE));
}

static bool is_past(thrum_time deadline) {
    return deadline != THRUM_FOREVER && deadline <= thrum_now();
}

int thrum_io_wait(thrum_io io, unsigned bits, thrum_time deadline) {
    if (!are_directions(bits)) {
        return -EINVAL;
    }
    th_watched one = {.io = io, .bits = bits};
    int code = 0;
    if (!th_record_named(io, &code)) {
        return code;
    }
    if (is_past(deadline)) {
        return -ETIMEDOUT;
    }
    code = th_watch_any(&one, 1, deadline, NULL);
    /* No set takes descriptors that are always ready, such as files and /dev/null. */
    return code > 0 ? one.ready : code == -EPERM ? (int)bits : code;
}

/* ---- a descriptor of the program's ---- */

/* The record is that of a duplicate: the number itself may be in a record, or be waited for. */
static int wait_on_duplicate(int fd, unsigned bits, thrum_time deadline) {
    thrum_io io;
    const int own = th_os_io_duplicate(fd);
    int code = own < 0 ? own : th_record_adopt_duplicate(&io, own, TH_OS_OTHER, true);
    if (!code) {
        code = thrum_io_wait(io, bits, deadline);
        (void)thrum_io_close(io);
    } else if (own >= 0) {
        (void)th_os_io_close(own);
    }
    return code;
}

int thrum_fd_wait(int fd, unsigned bits, thrum_time deadline) {
    if (!are_directions(bits)) {
        return -EINVAL;
    }
    if (is_past(deadline)) {
        return -ETIMEDOUT;
    }
    int code;
    do {
        code = th_os_io_poll(fd, bits, -1, 0);
    } while (code == -EINTR);
    code = code > 0 ? code & (int)bits : code;
    return code ? code : wait_on_duplicate(fd, bits, deadline);
}
