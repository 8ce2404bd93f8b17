/*
 * atfork.c: see atfork.h.
 *
 * The locks of the process are taken before a fork and given back after it, in both processes: else
 * the child might never get one that another thread of the parent held, and a scheduler of the
 * child's own would hang. They are held for a short time only, and in this order wherever one is
 * taken with another held: keys, cancel, outside. In the child all schedulers of the parent are
 * abandoned: they refuse what would wait for workers that are not there. The platform has locks of
 * its own, which come after these (platform/linux/thread.c).
 */
#include "core/atfork.h"

#include "core/cancel.h"
#include "core/local.h"
#include "core/outside.h"
#include "platform/platform.h"

static void before_fork(void) {
    th_lock_acquire(&th_keys_lock);
    th_lock_acquire(&th_cancel_lock);
    th_lock_acquire(&th_outside_lock);
}

static void in_parent(void) {
    th_lock_release(&th_outside_lock);
    th_lock_release(&th_cancel_lock);
    th_lock_release(&th_keys_lock);
}

static void in_child(void) {
    th_outside_abandon();
    th_thread_orphaned();
    in_parent();
}

void th_atfork_watch(void) {
    (void)th_os_at_fork(before_fork, in_parent, in_child); /* refused: the next start asks again */
}
