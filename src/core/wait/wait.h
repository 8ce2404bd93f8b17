/*
 * wait.h: the one way to wait and to be woken.
 *
 * A *waiter* represents one wait of one fiber or plain thread. It is on the waiting stack and is
 * queued on a primitive's list, under that primitive's lock. The waker takes it off the list under
 * the lock, unlocks, and then wakes it: its last access to the primitive comes before the wake, so
 * the woken side may free the primitive at once. core/wait/WAITING.md has the argument.
 */
#ifndef TH_WAIT_H
#define TH_WAIT_H

#include "core/ready/waiter.h"
#include "core/state/panic.h"
#include "platform/platform.h"

/*
 * Makes a waiter for the caller, a fiber or a plain thread, before it is put on a list. `object` is
 * waited for and lives as long as the wait.
 */
void th_waiter_init(th_waiter *waiter, th_on on, void *object);

/*
 * The same for a waiter on a primitive's list. A wait with a deadline takes itself off the list;
 * any other is taken off by a canceller, with `leave`.
 */
static inline void th_waiter_init_for(th_waiter *waiter, th_on on, void *object, bool timed,
                                      bool (*leave)(void *object, th_waiter *waiter)) {
    th_waiter_init(waiter, on, object);
    if (timed) {
        waiter->timed = true;
    } else {
        waiter->leave = leave;
    }
}

/*
 * Makes reports show the calling plain thread's wait, until NULL. The waits below do so themselves;
 * this is for a thread that waits in another system call.
 */
void th_waiter_show(const th_waiter *waiter);

/*
 * Waits until the waiter is released; returns the outcome (TH_WAIT_WOKEN, ...). The caller must
 * have put it on a list and unlocked that list. Fibers suspend; threads sleep in the kernel. The
 * waker's writes before the wake are visible.
 */
uint32_t th_waiter_wait(th_waiter *waiter);

/*
 * The same with the list's lock still held. The lock is given up by storing `unlocked` with release
 * to the list's word (of 64 bits if `wide`, else of 32). On a fiber that happens only once it can
 * be resumed, so a waker that finds the waiter on the list finds it parked, and neither side needs
 * a locked instruction on the waiter. Nothing done with the lock held may wait.
 */
uint32_t th_waiter_wait_unlock(th_waiter *waiter, void *xword, uint64_t unlocked, bool wide);

/*
 * The same as th_waiter_wait for a `timed` waiter, until the deadline: then TH_WAIT_TIMEDOUT, and
 * the caller takes it off its list if it is still there. A deadline in the past returns at once,
 * unless the waiter was woken. THRUM_FOREVER: no deadline.
 */
uint32_t th_waiter_wait_until(th_waiter *waiter, int64_t deadline);

/* Waits until a waker that found the waiter too late no longer touches it (th_waiter_missed). */
void th_waiter_wait_missed(th_waiter *waiter);

/*
 * Whether a wait of the caller ends at once: in the child of a fork, on the thread that was doing
 * the parent's work (thread.h). A wait that reports such an end must be `timed` or have `leave`.
 */
bool th_waits_alone(void);

/* An outcome as a code: 0, -ETIMEDOUT, -ECANCELED (for a plain thread -ESHUTDOWN). */
int th_waiter_result(uint32_t outcome);

/*
 * A kind of wait, which a primitive describes once for fibers and plain threads (th_wait_on) and
 * for tasks (th_await_on). It is a constant, so that its functions can be inlined.
 */
typedef struct th_wait_kind {
    th_on on;
    /*
     * Takes the object, or puts the waiter on the list. Returns more than 0 if the caller has the
     * object, 0 if the waiter is queued, or a code. A late waiter is not queued: -ETIMEDOUT.
     */
    int (*stand)(void *object, th_waiter *me, bool late);
    /* Takes a waiter that gives up off the list. False: it was off the list already. */
    bool (*leave)(void *object, th_waiter *me);
    /*
     * NULL, or the first step in the run of a task that has got the object: it becomes the
     * owner.
     */
    void (*got)(void *object, th_waiter *me);
    /*
     * If `stand` keeps the list's lock when it has queued the waiter: the size of the lock's word,
     * with which the object begins, and its value without the lock. Else 0.
     */
    unsigned locked;
    uint32_t unlocked;
} th_wait_kind;

/* Whether the deadline has passed. */
static inline bool th_is_late(int64_t deadline) {
    const bool late = deadline != TH_FOREVER && deadline <= th_os_now();
    if (late) {
        th_deadline_passed(deadline);
    }
    return late;
}

/*
 * Waits with a waiter that `stand` has queued. A timed waiter that is not woken leaves the list.
 * After a wake the object may be gone.
 */
static TH_ALWAYS_INLINE int th_wait_queued(const th_wait_kind *kind, void *object, th_waiter *me,
                                           bool timed, int64_t deadline) {
    const bool wide = kind->locked > sizeof(uint32_t);
    if (!timed) {
        return th_waiter_result(kind->locked
                                    ? th_waiter_wait_unlock(me, object, kind->unlocked, wide)
                                    : th_waiter_wait(me));
    }
    if (kind->locked) {
        th_waiter_give_up(object, kind->unlocked, wide);
    }
    int code = th_waiter_result(th_waiter_wait_until(me, deadline));
    return code && !kind->leave(object, me) && th_on_is_for_all(kind->on) ? 0 : code;
}

/* Takes the object, or queues the waiter and waits. 0 or a code. */
static TH_ALWAYS_INLINE int th_wait_with(const th_wait_kind *kind, void *object, th_waiter *me,
                                         bool timed, int64_t deadline) {
    int code = kind->stand(object, me, false);
    return code > 0 ? 0 : code ? code : th_wait_queued(kind, object, me, timed, deadline);
}

/*
 * The whole wait of a fiber or a plain thread, in the caller's frame: after a switch each return
 * mispredicts.
 */
static TH_ALWAYS_INLINE int th_wait_on(const th_wait_kind *kind, void *object, int64_t deadline) {
    const bool timed = deadline != TH_FOREVER;
    th_waiter me;
    th_waiter_init_for(&me, kind->on, object, timed, kind->leave);
    return th_wait_with(kind, object, &me, timed, deadline);
}

#endif
