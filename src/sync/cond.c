/*
 * cond.c: the condition variable.
 *
 *     word    bit 0  LOCKED   the list lock (wordlock.h)
 *             bit 1  WAITERS  the list is not empty
 *
 * A waiter is on the list before it unlocks the mutex; so a thread that changes the condition under
 * the mutex afterwards finds it there. While LOCKED is set only its holder changes the word.
 */
#include "thrum/cond.h"

#include <errno.h>

#include "base/check.h"
#include "core/state/thread.h"
#include "platform/platform.h"
#include "sync/owner.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

static inline th_waitlist list_of(thrum_cond *cond) {
    return (th_waitlist){&cond->reserved_first, &cond->reserved_last};
}

/* Takes a waiter that gives up off the list. False: it was off the list already. */
static bool leave(void *object, th_waiter *me) {
    thrum_cond *cond = object;
    return th_word32_leave(&cond->reserved_word, list_of(cond), me, 0);
}

static int stand(void *object, th_waiter *me, bool late) {
    thrum_cond *cond = object;
    if (late) {
        return -ETIMEDOUT;
    }
    (void)th_word32_lock_list(&cond->reserved_word);
    th_waitlist_push(list_of(cond), me);
    th_word32_publish(&cond->reserved_word, TH_WORD_WAITERS);
    return 0;
}

static const th_wait_kind waits = {.on = TH_ON_COND, .stand = stand, .leave = leave};

static void check_owner(const char *call, thrum_mutex *mutex) {
    if (th_unlikely(!th_owner_is(&mutex->reserved_owner, th_self_id()))) {
        th_misuse(call, "mutex not held by the caller", mutex);
    }
}

static TH_ALWAYS_INLINE int wait(const char *call, thrum_cond *cond, thrum_mutex *mutex,
                                 thrum_time deadline) {
    check_owner(call, mutex);
    const bool timed = deadline != THRUM_FOREVER;
    th_waiter me;
    th_waiter_init_for(&me, TH_ON_COND, cond, timed, leave);
    (void)stand(cond, &me, false);
    thrum_mutex_unlock(mutex);
    int result = th_wait_queued(&waits, cond, &me, timed, deadline);
    thrum_mutex_lock(mutex); /* after a wake the cond may be gone, but not the mutex */
    return result;
}

int thrum_cond_wait_until(thrum_cond *cond, thrum_mutex *mutex, thrum_time deadline) {
    return wait("thrum_cond_wait_until", cond, mutex, deadline);
}

int thrum_cond_wait(thrum_cond *cond, thrum_mutex *mutex) {
    return wait("thrum_cond_wait", cond, mutex, THRUM_FOREVER);
}

/*
 * The mutex is unlocked behind the post: so a post that is refused leaves it held, and a body that
 * comes first waits for it.
 */
int thrum_cond_on_until(thrum_cond *cond, thrum_mutex *mutex, thrum_await *await, thrum_task *task,
                        thrum_time deadline) {
    check_owner("thrum_cond_on_until", mutex);
    int code = th_await_on(&waits, cond, await, task, deadline);
    if (!code) {
        thrum_mutex_unlock(mutex); /* the task, the wait and the cond may be gone */
    }
    return code;
}

/*
 * Takes the list lock; false when there are no waiters. The first load may be relaxed: a waiter
 * that the caller must not miss queued before an unlock of the mutex that happened before this
 * call.
 */
static bool lock_list(thrum_cond *cond) {
    uint32_t *xword = &cond->reserved_word;
    unsigned spins = 0;
    for (;;) {
        /* relaxed: see above; the compare-exchange decides */
        uint32_t seen = th_load_relaxed(xword);
        if (seen == 0) {
            return false;
        }
        if ((seen & TH_WORD_LOCKED) != 0) {
            th_backoff(&spins);
        } else if (th_word32_lock(xword, seen)) {
            return true;
        }
    }
}

void thrum_cond_signal(thrum_cond *cond) {
    if (lock_list(cond)) {
        th_waiter *first = th_waitlist_pop(list_of(cond));
        th_word32_publish(&cond->reserved_word, th_word32_with(0, list_of(cond)));
        if (first) {
            th_waiter_let_go(first);
        }
    }
}

void thrum_cond_broadcast(thrum_cond *cond) {
    if (lock_list(cond)) {
        th_waiter *chain = th_waitlist_detach(list_of(cond));
        th_word32_publish(&cond->reserved_word, 0);
        th_waitlist_wake_all(chain);
    }
}

void thrum_cond_init(thrum_cond *cond) {
    *cond = (thrum_cond)THRUM_COND_INIT;
}

int thrum_cond_destroy(thrum_cond *cond) {
    /* pairs: th_word32_publish; the caller sees all that the last calls wrote */
    if (th_load_acquire(&cond->reserved_word) != 0) {
        return -EBUSY;
    }
    *cond = (thrum_cond)THRUM_COND_INIT;
    return 0;
}
