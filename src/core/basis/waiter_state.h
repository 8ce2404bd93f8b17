/*
 * waiter_state.h: a wait (wait.h).
 *
 * The state word, xword:
 *
 *     bit  0     PARKED     the fiber's stack is safe to resume / the thread sleeps on the word
 *     bits 1-2   outcome    0 waiting, else the end of the wait: WOKEN, TIMEDOUT or CANCELLED
 *     bit  3     RELEASED   the wait may return; the waker sets it and never touches the waiter
 *                           again
 *     bit  4     LEFT       a waker that came too late is done with the waiter (th_waiter_missed)
 *
 * A wait that is not timed skips the claim: the one RELEASED step also sets WOKEN or CANCELLED. A
 * timed wait is first claimed by the side that ends it.
 */
#ifndef TH_WAITER_STATE_H
#define TH_WAITER_STATE_H

#include "queue/work.h"

typedef struct th_fiber th_fiber;

#define TH_WAIT_PARKED 1u
#define TH_WAIT_WOKEN 2u
#define TH_WAIT_TIMEDOUT 4u
#define TH_WAIT_CANCELLED 6u
#define TH_WAIT_OUTCOME 6u
#define TH_WAIT_RELEASED 8u
#define TH_WAIT_LEFT 16u

/* The object of a wait, as snapshots show it (snapshot.h). report.c has the names. */
typedef enum {
    TH_ON_NOTHING, /* not given */
    TH_ON_MUTEX,
    TH_ON_READ, /* a rwlock */
    TH_ON_WRITE,
    TH_ON_COND,
    TH_ON_SEM,
    TH_ON_WAITGROUP,
    TH_ON_EVENT,
    TH_ON_EVENTS, /* several; the object is the first */
    TH_ON_ONCE,
    TH_ON_BARRIER,
    TH_ON_TICKET,
    TH_ON_POOL,
    TH_ON_BCAST,
    TH_ON_SEND,
    TH_ON_RECEIVE,
    TH_ON_SELECT, /* the object is the first channel */
    TH_ON_JOIN,   /* a handle */
    TH_ON_SCOPE,
    TH_ON_RESULT, /* of any child of a scope */
    TH_ON_FORK,
    TH_ON_DAG,
    TH_ON_SLEEP,
    TH_ON_BLOCKING, /* a call that another thread makes */
    TH_ON_SCHED,    /* another scheduler, asked by a thread in the task's place */
    /* The world outside: these, and the one above, may always end by themselves. */
    TH_ON_INPUT, /* a direction of a descriptor; core/inspect/world.h finds out which */
    TH_ON_OUTPUT,
    TH_ON_READINESS, /* of one or of several descriptors; the object is a direction of the first */
    TH_ON_CLOSE,     /* a direction that the last call is to leave */
    TH_ON_DIAL,      /* the object is a string, the caller's address */
    TH_ON_NAME,      /* the object is a string, the name of a host */
    TH_ON_FILE,      /* the object is a string: the operation */
    TH_ON_OUTSIDE,   /* the object is the caller's string: "waits for ..." */
    TH_ON_SIGNAL,    /* the object is an array of numbers, `note` how many */
    TH_ON_AMONG,     /* one of several things, descriptors among them; it has no object */
    TH_ON_KINDS
} th_on;

/*
 * Whether one owner alone may end the wait, which inspectors look up in the object: they hold a
 * plain thread that waits for it, as they do fibers (core/report/CYCLES.md).
 */
static inline bool th_on_has_owner(th_on on) {
    return on == TH_ON_MUTEX || on == TH_ON_READ || on == TH_ON_WRITE || on == TH_ON_ONCE ||
           on == TH_ON_JOIN || on == TH_ON_SCOPE;
}

/*
 * The note of a wait for readiness, or to dial: the readiness of the first descriptor (TH_OS_IN,
 * TH_OS_OUT), and from this bit on the number of descriptors.
 */
#define TH_NOTE_COUNT 2

/* Whether the wait may always end by itself. */
static inline bool th_on_is_outside(th_on on) {
    return on >= TH_ON_INPUT;
}

/* Whether the event comes to all waiters, including late ones. */
static inline bool th_on_is_for_all(th_on on) {
    return on == TH_ON_JOIN || on == TH_ON_BARRIER;
}

/* Whether the object is a direction of a descriptor. */
static inline bool th_on_is_descriptor(th_on on) {
    return on >= TH_ON_INPUT && on <= TH_ON_CLOSE;
}

/*
 * A message's peer, above its tag. Each is stored as its number plus 2; 1: any, 0: not known. Both
 * together fit into a mark of a trace.
 */
#define TH_MESSAGE_ABOVE 32u
#define TH_MESSAGE_NUMBER 2u
#define TH_MESSAGE_PEERS ((1 << 24) - 2)

static inline uint64_t th_message_of(int peer, int tag) {
    const uint64_t low = tag < 0 ? 1 : (uint64_t)tag + TH_MESSAGE_NUMBER;
    const uint64_t high = peer < 0                  ? 1
                          : peer < TH_MESSAGE_PEERS ? (uint64_t)peer + TH_MESSAGE_NUMBER
                                                    : 0;
    return high << TH_MESSAGE_ABOVE | low;
}

typedef struct th_waiter {
    struct th_waiter *next; /* the list's, protected by its lock */
    struct th_waiter *prev;
    th_fiber *fiber; /* the fiber that waits; NULL: a plain thread */
    uint32_t xword;  /* see above */
    int32_t value;   /* the value that the waker hands over; written before the wake */
    union {
        int64_t since_ns;  /* for the primitive's own use (how long the first waiter has waited) */
        struct {           /* of a wait for the world outside */
            uint32_t note; /* a fiber's: see TH_NOTE_COUNT, TH_ON_SIGNAL; a thread's: io's own */
            uint32_t turn; /* of a descriptor (core/inspect/world.h) */
        };
        uint64_t message; /* TH_ON_OUTSIDE: th_message_of, or 0 */
    };
    bool timed;    /* constant: something else than a wake may end it, so wakers claim it first */
    bool part;     /* constant: a part of `object`, a wait on several lists; timed as well */
    bool listed;   /* it is on its list; under the list's lock */
    uint8_t on;    /* constant: the kind of wait, a th_on */
    bool shielded; /* constant: never cancelled, only its deadline ends it early */
    int64_t deadline; /* the wait's deadline, as far as snapshots must know it, or TH_FOREVER */
    /*
     * For a waiter that is not timed and can be cancelled (cancel.h): takes it off the list, under
     * the list's lock, if it is still there. For a timed one of a plain thread that waits in the
     * system: notifies it, before the release. For one without a waiting stack (core/task/await.h):
     * makes its task due, in place of the release, and returns false. Else NULL.
     */
    bool (*leave)(void *object, struct th_waiter *waiter);
    void *object; /* the object that it waits for, on whose list it is; a part's whole */
} th_waiter;

/*
 * A wait on several lists (core/wait/WAITING.md): the caller makes a `timed` waiter, the *whole*,
 * which is on no list, and a *part* of it for each list. A waker that finds a part claims the word
 * of the whole; the winner leaves the part's number in the whole's `value` and releases the whole.
 * The caller takes all parts off their lists, under the lists' locks, before it returns.
 */
static inline void th_waiter_init_part(th_waiter *part, th_waiter *whole, int32_t number) {
    *part = (th_waiter){.timed = true, .part = true, .object = whole, .value = number};
}

/* The waiter whose word decides. */
static inline th_waiter *th_waiter_whole(th_waiter *waiter) {
    return waiter->part ? waiter->object : waiter;
}

#endif
