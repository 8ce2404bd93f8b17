/*
 * wait.h: the one way to wait and to be woken.
 *
 * A *waiter* stands for one wait of one fiber or of one plain thread. It lives on the stack that
 * waits and is queued on a primitive's list, under that primitive's lock. The waker takes it off
 * the list under the lock, unlocks, and then wakes it: its last access to the primitive comes
 * before the wake, so the woken side may free the primitive at once. core/WAITING.md has the
 * argument.
 *
 * The state word, xword:
 *
 *     bit  0     PARKED     the fiber's stack is safe to resume / the thread sleeps on the word
 *     bits 1-2   outcome    0 waiting, WOKEN, TIMEDOUT, CANCELLED: who won
 *     bit  3     RELEASED   the wait may return; the waker never touches the waiter after setting
 * it
 *
 * A wait that only a wake can end skips the claim: the one RELEASED step says WOKEN too. Waits that
 * something else can end as well (timeout, cancel) are claimed first, under the list's lock.
 */
#ifndef TH_WAIT_H
#define TH_WAIT_H

#include "base/cc.h"
#include "queue/work.h"

typedef struct th_fiber th_fiber;

#define TH_WAIT_PARKED 1u
#define TH_WAIT_WOKEN 2u
#define TH_WAIT_TIMEDOUT 4u
#define TH_WAIT_CANCELLED 6u
#define TH_WAIT_OUTCOME 6u
#define TH_WAIT_RELEASED 8u
#define TH_WAIT_LEFT 16u /* a waker that came too late is done with it (th_waiter_missed) */

/* What is waited for, for who looks (look.h). The names of it stand in report.c. */
typedef enum {
    TH_ON_NOTHING, /* nobody has said */
    TH_ON_MUTEX,
    TH_ON_READ, /* a rwlock */
    TH_ON_WRITE,
    TH_ON_COND,
    TH_ON_SEM,
    TH_ON_WAITGROUP,
    TH_ON_EVENT,
    TH_ON_EVENTS, /* several; the first */
    TH_ON_ONCE,
    TH_ON_BARRIER,
    TH_ON_TICKET,
    TH_ON_POOL,
    TH_ON_SEND,
    TH_ON_RECEIVE,
    TH_ON_SELECT, /* the first channel */
    TH_ON_JOIN,   /* a handle */
    TH_ON_SCOPE,
    TH_ON_FORK,
    TH_ON_DAG,
    TH_ON_SLEEP,
    TH_ON_BLOCKING, /* a call that another thread makes */
    TH_ON_SCHED,    /* another scheduler, asked by a thread in its place */
    TH_ON_KINDS
} th_on;

typedef struct th_waiter {
    struct th_waiter *next; /* the list's, protected by its lock */
    struct th_waiter *prev;
    th_fiber *fiber;  /* who waits; NULL: a plain thread */
    uint32_t xword;   /* see above */
    int32_t value;    /* what the waker hands over; written before the wake */
    int64_t since_ns; /* the primitive's own use (how long the first waiter has waited) */
    bool timed;  /* constant: something else than a wake may end it, so wakers claim it first */
    bool part;   /* constant: a place of a wait on several lists, which is `object` (timed, too) */
    bool listed; /* it stands on its list; under the list's lock */
    uint8_t on;  /* constant: what it waits for, a th_on */
    bool shielded;    /* constant: never cancelled, only its deadline ends it early */
    int64_t deadline; /* TH_FOREVER, or until when it waits, as far as who looks must know */
    /*
     * For one that is not timed and can be cancelled (cancel.h), else NULL: takes it off the list,
     * under the list's lock, if it still stands there.
     */
    bool (*leave)(void *object, struct th_waiter *waiter);
    void *object; /* what it waits for, whose list; of a part: the waiter that it stands for */
} th_waiter;

/*
 * Makes a waiter for the caller, a fiber or a plain thread, before it is put on a list. What it
 * waits for: the object lives as long as the wait.
 */
void th_waiter_init(th_waiter *waiter, th_on on, void *object);

/*
 * A wait on several lists (core/WAITING.md): the caller makes a `timed` waiter, the *whole*, which
 * stands on no list, and a *part* of it for each list. Who finds a part claims the word of the
 * whole; the one that wins leaves the part's number in the whole's `value` and releases the whole.
 * The caller takes all parts off their lists, under the lists' locks, before it returns.
 */
static inline void th_waiter_init_part(th_waiter *part, th_waiter *whole, int32_t number) {
    *part = (th_waiter){.timed = true, .part = true, .object = whole, .value = number};
}

/* The waiter whose word decides. */
static inline th_waiter *th_waiter_whole(th_waiter *waiter) {
    return waiter->part ? waiter->object : waiter;
}

/*
 * Waits until the waiter is released; returns the outcome (TH_WAIT_WOKEN, ...). The caller must
 * have put it on a list and unlocked that list. Fibers suspend; threads sleep in the kernel. What
 * the waker wrote before the wake is visible.
 */
uint32_t th_waiter_wait(th_waiter *waiter);

/*
 * The same, with the list's lock still held: `unlocked`, stored with release to the list's word (of
 * 64 bits, or, not `wide`, of 32), gives it up, and on a fiber that happens only once it can be
 * resumed. So whoever finds the waiter on the list finds it
 * parked, and neither side needs a locked instruction on the waiter. What is done with the lock
 * held must not wait.
 */
uint32_t th_waiter_wait_unlock(th_waiter *waiter, void *xword, uint64_t unlocked, bool wide);

/*
 * The same as th_waiter_wait for a `timed` waiter, until the deadline: then TH_WAIT_TIMEDOUT, and
 * the caller takes it off its list, if it still stands there. In the past: at once, unless it was
 * woken. THRUM_FOREVER: none.
 */
uint32_t th_waiter_wait_until(th_waiter *waiter, int64_t deadline);

/*
 * From timers: true if the deadline comes first; then the waiter is not touched any more, and *work
 * is what must be queued, if anything.
 */
bool th_waiter_time_out(th_waiter *waiter, th_work **work);

/* Wakes a plain waiter that the caller has taken off its list (and unlocked it). */
void th_waiter_wake(th_waiter *waiter);

/*
 * For waits that several things can end, under the list's lock: true for the one that decides the
 * outcome. The winner takes it off the list, unlocks and calls th_waiter_release.
 */
bool th_waiter_claim(th_waiter *waiter, uint32_t outcome);
void th_waiter_release(th_waiter *waiter);

/* The same for one that is not timed, and was taken off its list: TH_WAIT_CANCELLED. */
void th_waiter_release_cancelled(th_waiter *waiter);

/*
 * Where the waker found the waiter without a list lock (join): it could not claim it, and says that
 * it touches it no more; the waiter, which knows that it was found, waits for that.
 */
void th_waiter_missed(th_waiter *waiter);
void th_waiter_wait_missed(th_waiter *waiter);

/*
 * Whether a wait of the caller's ends at once: in the child of a fork, on the thread that was doing
 * the parent's work (thread.h). A wait that tells its end must be `timed` then, or have `leave`.
 */
bool th_waits_alone(void);

/* An outcome as a code: 0, -ETIMEDOUT, -ECANCELED. */
int th_waiter_result(uint32_t outcome);

/* Either kind, taken off its list; a timed one, or its whole, was claimed for WOKEN. */
static inline void th_waiter_let_go(th_waiter *waiter) {
    if (th_unlikely(waiter->timed)) {
        th_waiter *whole = th_waiter_whole(waiter);
        whole->value = waiter->value; /* plain: whoever claimed it is alone; a part's number */
        th_waiter_release(whole);
    } else {
        th_waiter_wake(waiter);
    }
}

/*
 * Who the caller is, as the owner of a lock: one number for each run of a task and for each plain
 * thread, never 0, never used again.
 */
uint64_t th_self_id(void);

/* A random number of the caller's own, for being fair; not for anything secret. */
uint32_t th_self_random(void);

/* One step of waiting for a short lock that somebody holds: relax, soon give the time slice away.
 */
void th_backoff(unsigned *spins);

#endif
