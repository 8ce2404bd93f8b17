/*
 * guard.c: the variables of C++ that are static in a function. A task that comes while another one
 * initialises such a variable waits for it, as for a lock. (The C++ run time would block the one
 * real thread.)
 *
 * A guard's first byte is 1 if the variable is initialised, as compilers expect it. The fifth one
 * is 1 while a task initialises it.
 */
#include "base/atomic.h"
#include "thrum/cond.h"
#include "thrum/mutex.h"
#include "thrum/spawn.h"

bool kit_is_outside(void); /* heap.c */

/* Weak: the thread sanitizer has them, too, and builds.c then says that it must not be there. */
#pragma GCC visibility push(default)
int __cxa_guard_acquire(uint8_t *guard) __attribute__((weak));
void __cxa_guard_release(uint8_t *guard) __attribute__((weak));
void __cxa_guard_abort(uint8_t *guard) __attribute__((weak));
#pragma GCC visibility pop

static thrum_mutex lock = THRUM_MUTEX_INIT;
static thrum_cond ended = THRUM_COND_INIT;

/* Returns 1 if the caller is to initialise the variable. */
int __cxa_guard_acquire(uint8_t *guard) {
    if (kit_is_outside()) {
        return !guard[0];
    }
    thrum_mutex_lock(&lock);
    thrum_shield_begin();
    while (guard[4]) {
        (void)!thrum_cond_wait(&ended, &lock);
    }
    thrum_shield_end();
    /* relaxed: it is written under the lock */
    const bool mine = !th_load_relaxed(&guard[0]);
    guard[4] = mine;
    thrum_mutex_unlock(&lock);
    return mine;
}

static void end(uint8_t *guard, bool initialised) {
    if (kit_is_outside()) {
        guard[0] = initialised;
        return;
    }
    thrum_mutex_lock(&lock);
    if (initialised) {
        /* pairs: the program's own look at the byte; the variable */
        th_store_release(&guard[0], 1);
    }
    guard[4] = 0;
    thrum_cond_broadcast(&ended);
    thrum_mutex_unlock(&lock);
}

void __cxa_guard_release(uint8_t *guard) {
    end(guard, true);
}

void __cxa_guard_abort(uint8_t *guard) {
    end(guard, false);
}
