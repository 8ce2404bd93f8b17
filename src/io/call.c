/*
 * call.c: see call.h.
 */
#include "io/call.h"

#include <errno.h>

#include "core/state/fiber_state.h"
#include "thrum/spawn.h"

/* Calls of a task in a row that need not wait before it yields. */
#define READY_CALLS TH_LIMIT(64u, 2u)

/* How long a plain thread lets a descriptor be that is ready for nothing. */
#define VAIN_NS 1000000

/* Hidden from the thread sanitizer: the count is the fiber's, whichever task it runs. */
static TH_NO_TSAN bool has_its_share(void) {
    th_fiber *fiber = th_fiber_self();
    if (!fiber || ++fiber->ready_calls < READY_CALLS) {
        return false;
    }
    fiber->ready_calls = 0;
    return true;
}

static TH_NO_TSAN void has_waited(th_fiber *fiber) {
    fiber->ready_calls = 0;
}

void th_call_was_ready(void) {
    if (has_its_share()) {
        thrum_yield();
    }
}

void th_call_has_waited(void) {
    th_fiber *fiber = th_fiber_self();
    if (fiber) {
        has_waited(fiber);
    }
}

/* In the past for every clock: a wait until then ends at once. */
#define TRY ((thrum_time)0)

static inline int enter(th_inside *inside, thrum_io io, unsigned direction, thrum_time deadline) {
    th_record *record = th_record_at(io.fd);
    if (!record || !io.turn) {
        return -EBADF;
    }
    /* relaxed: a stale one must not wait behind others; the look below counts */
    if (th_unlikely(th_load_relaxed(&record->xturn) != io.turn)) {
        return th_record_refusal(record, io.turn);
    }
    if (deadline != THRUM_FOREVER && deadline != TRY && deadline <= thrum_now()) {
        return -ETIMEDOUT;
    }
    const unsigned index = direction == THRUM_IO_WRITE;
    *inside = (th_inside){.record = record,
                          .direction = &record->directions[index],
                          .index = index,
                          .turn = io.turn,
                          .deadline = deadline};
    int code = th_direction_enter(inside->direction, deadline);
    if (code < 0) {
        return code;
    }
    inside->ready = code;
    /* relaxed: the direction is ours, and its word was published after the turn */
    if (th_unlikely(th_load_relaxed(&record->xturn) != io.turn)) {
        th_direction_leave(inside->direction, code ? TH_LEFT_MORE : TH_LEFT_NOTHING);
        return th_record_refusal(record, io.turn);
    }
    return 0;
}

int th_inside_enter(th_inside *inside, thrum_io io, unsigned direction, thrum_time deadline) {
    return enter(inside, io, direction, deadline == TRY ? deadline - 1 : deadline);
}

int th_inside_try(th_inside *inside, thrum_io io, unsigned direction) {
    int code = enter(inside, io, direction, TRY);
    return code == -ETIMEDOUT ? -EBUSY : code;
}

/*
 * A plain thread whose last wait found nothing asks the system again only after a moment: an error
 * that stays makes the descriptor ready for good. Fibers wait for a new event.
 */
static void stand_back(const th_inside *inside) {
    thrum_time until = thrum_after(VAIN_NS);
    until = until < inside->deadline ? until : inside->deadline;
    while (th_os_io_poll(-1, 0, -1, until) == -EINTR) {
    }
}

int th_inside_await_slow(th_inside *inside) {
    th_record *record = inside->record;
    th_fiber *fiber = th_fiber_self();
    int code = fiber ? th_record_join(record, inside->turn, fiber->sched) : 0;
    if (!fiber && inside->spurious) {
        stand_back(inside);
    }
    if (!code) {
        unsigned bits = inside->index ? TH_OS_OUT : TH_OS_IN;
        code = th_direction_await(inside->direction, record->fd, bits, inside->deadline);
    }
    if (fiber) {
        has_waited(fiber);
    }
    inside->ready = !code;
    inside->told = inside->ready;
    return code;
}

int th_inside_go_on(th_inside *inside, th_leftover left) {
    /* relaxed: an event that sets it after the try sets READY as well */
    uint32_t word = th_load_relaxed(&inside->direction->xword);
    inside->ready = left == TH_LEFT_MORE || (left == TH_LEFT_SHORT && (word & TH_IO_ODD));
    bool late = inside->deadline != THRUM_FOREVER && inside->deadline <= thrum_now();
    return late ? -ETIMEDOUT : 0;
}

void th_inside_leave(th_inside *inside, th_leftover left) {
    th_direction_leave(inside->direction, left);
    if (inside->ready && has_its_share()) {
        thrum_yield();
    }
}
