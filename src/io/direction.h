/*
 * direction.h: one of the two directions of a descriptor: its user, and the callers that wait until
 * it is ready. io/DIRECTION.md has the states, the protocol and the argument.
 *
 * The word:
 *
 *     bit 0  LOCKED    a thread holds the lists' lock
 *     bit 1  WAITERS   callers are on one of the lists
 *     bit 2  READY     the system may have something: an event came that no call has consumed
 *     bit 3  ODD       the other side has ended, or the like: a short transfer means nothing
 *     bit 4  HELD      a caller has the direction, through its whole call
 *     bit 5  CLOSING   the descriptor is being closed
 *
 * While LOCKED is set only the thread that has the lock changes the word, except READY, which a
 * caller that was handed the direction clears at any time. Callers queue only while HELD is set.
 */
#ifndef TH_DIRECTION_H
#define TH_DIRECTION_H

#include <stdalign.h>

#include "base/atomic.h"
#include "core/basis/waiter_state.h"
#include "platform/platform.h"
#include "sync/wordlock.h"
#include "thrum/task.h"

typedef struct th_worker th_worker;

#define TH_IO_READY 4u
#define TH_IO_ODD 8u
#define TH_IO_HELD 16u
#define TH_IO_CLOSING 32u

typedef struct th_direction {
    alignas(TH_CACHE_LINE) uint32_t xword;
    int32_t error; /* the code that all further calls return, or 0; the holder's */
    void *first;   /* callers that wait until they may hold it, in their order */
    void *last;
    th_waiter *ready;  /* the holder that waits for the system; while CLOSING the closer */
    void *first_watch; /* callers that wait for readiness without holding it */
    void *last_watch;
    thrum_task *task; /* posted when the system is ready, or NULL */
    uint8_t on;       /* constant: the kind of its waits, a th_on */
    int32_t fd;       /* constant: the descriptor's number */
} th_direction;

/* A call's finding about the rest. */
typedef enum th_leftover {
    TH_LEFT_NOTHING, /* the system returned -EAGAIN */
    TH_LEFT_SHORT,   /* a short transfer, which means this unless the direction is ODD */
    TH_LEFT_MORE     /* there may be more */
} th_leftover;

/*
 * Becomes the holder, waiting for others until the deadline. Returns 1: the system may be ready, so
 * the call is tried; 0: it is waited for first (th_direction_await); or a code.
 */
int th_direction_enter_slow(th_direction *direction, thrum_time deadline);

static inline int th_direction_enter(th_direction *direction, thrum_time deadline) {
    uint32_t seen = th_load_relaxed(&direction->xword); /* relaxed: the exchange decides */
    if (th_likely(!(seen & (TH_WORD_LOCKED | TH_IO_HELD | TH_IO_CLOSING))) &&
        /*
         * pairs: th_direction_leave, th_record_adopt; the previous holder's writes. ABA: the word
         * is the whole state
         */
        th_likely(th_cas_acquire(&direction->xword, &seen, (seen & ~TH_IO_READY) | TH_IO_HELD))) {
        return (seen & TH_IO_READY) != 0;
    }
    return th_direction_enter_slow(direction, deadline);
}

/* Gives the direction to the next caller, or up. */
void th_direction_leave_slow(th_direction *direction, th_leftover left);

static inline void th_direction_leave(th_direction *direction, th_leftover left) {
    uint32_t seen = th_load_relaxed(&direction->xword); /* relaxed: the exchange decides */
    uint32_t want = seen & ~TH_IO_HELD;
    want |= left == TH_LEFT_MORE || (left == TH_LEFT_SHORT && (seen & TH_IO_ODD)) ? TH_IO_READY : 0;
    if (th_likely(!(seen & (TH_WORD_LOCKED | TH_WORD_WAITERS | TH_IO_CLOSING))) &&
        /* pairs: th_direction_enter; the holder's writes */
        th_likely(th_cas_release(&direction->xword, &seen, want))) {
        return;
    }
    th_direction_leave_slow(direction, left);
}

/*
 * By the holder: consumes the readiness, waiting for an event until the deadline; `bits` is the
 * direction, for plain threads, which poll the system. 0, -EBADF (closed), -ETIMEDOUT, -ECANCELED,
 * or the code of the system's refusal.
 */
int th_direction_await(th_direction *direction, int fd, unsigned bits, thrum_time deadline);

/* An event came. Called in the context of the worker `by`. */
void th_direction_event(th_direction *direction, th_worker *by, bool odd);

/*
 * Lists a task, which is posted by the next event, or by th_direction_tell. 1: it may be ready by
 * now, so the system is to be asked; 0; -EBUSY: there is one; -EBADF: it is closing, or *xturn,
 * which changes only meanwhile, is not `turn`.
 */
int th_direction_list(th_direction *direction, thrum_task *task, const uint32_t *xturn,
                      uint32_t turn);
/* Takes it off, if it is there; afterwards the direction no longer touches it. */
void th_direction_unlist(th_direction *direction, thrum_task *task);
/* The system is ready: as an event, on any thread and in any context. */
void th_direction_tell(th_direction *direction);

/* With the lock, for reports: the task that is listed, and *turn if it is this one. */
bool th_direction_has(th_direction *direction, const thrum_task *task, uint32_t *turn);

/* A waiter on the list of watchers: false if the direction is closing. */
bool th_direction_watch(th_direction *direction, th_waiter *waiter);
/* Takes it off the list, if it is there. */
bool th_direction_unwatch(th_direction *direction, th_waiter *waiter);

/*
 * Has all waits end, and all further calls fail. False: another caller closes it already. Then
 * th_direction_drain waits until the holder has left.
 */
bool th_direction_close(th_direction *direction);
void th_direction_drain(th_direction *direction);

#endif
