/*
 * no_stack_late.c: the last body ends, and the system gives stacks again, between an attempt to get
 * one that is for nothing and the question whether anything is left that could free one.
 */
/* POSIX: wrap: th_os_now mmap */
/* wrap: th_os_now mmap */
#include "support/support.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>

#include "core/ready/quiesce_sum.h"
#include "core/state/worker.h"

static thrum_sched *sched;
static atomic_bool refused; /* mappings */
static atomic_bool armed;
static atomic_bool let_go;
static _Thread_local bool failed; /* the thread has failed to map, and not read the clock since */

void *__real_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset);
int64_t __real_th_os_now(void);
int64_t __wrap_th_os_now(void);

void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset) {
    if (atomic_load(&refused)) {
        failed = true;
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(at, size, access, flags, fd, offset);
}

/*
 * The library reads the clock between the attempt and the question. A worker that has just failed
 * stands still there until the body has ended.
 */
int64_t __wrap_th_os_now(void) {
    if (failed && atomic_exchange(&armed, false)) {
        uint64_t begun;
        atomic_store(&refused, false);
        atomic_store(&let_go, true);
        while (th_quiesce_any_body(sched, &begun)) {
            sched_yield();
        }
    }
    failed = false;
    return __real_th_os_now();
}

static int holds_a_stack(void *arg) {
    CHECK_EQ(thrum_sem_wait(arg), 0);
    return 0;
}

static int answer(void *arg) {
    (void)arg;
    return 42;
}

/* The library decides after a second for nothing: as if that had passed. */
static bool second_passes(void) {
    th_lock_acquire(&sched->deferred_lock);
    const bool in_vain = sched->deferred_since != 0;
    sched->deferred_since = in_vain ? 1 : 0;
    th_lock_release(&sched->deferred_lock);
    return in_vain;
}

static void check_policy(thrum_policy policy) {
    rig r;
    thrum_sem over = THRUM_SEM_INIT(0);
    thrum_handle *large;
    int result = 0;
    rig_init(&r);
    r.config.workers = 2;
    r.config.policy = policy;
    rig_start(&r);
    sched = r.sched;
    rig_go(&r, holds_a_stack, &over);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0); /* it waits */
    atomic_store(&refused, true);
    thrum_attr attr = rig_attr(&r);
    attr.stack_size = 8u << 20;
    CHECK_EQ(thrum_spawn_with(&large, &attr, answer, NULL), 0);
    SPIN_UNTIL(second_passes());
    atomic_store(&armed, true);
    SPIN_UNTIL(atomic_exchange(&let_go, false));
    thrum_sem_post(&over);
    CHECK_EQ(thrum_join(large, &result), 0);
    CHECK_EQ(result, 42);
    rig_stop(&r);
}

TEST(the_last_body_that_ends_after_the_attempt_counts) {
    /* Its stack, or one that the system gives, is had by the next attempt. */
    check_policy(THRUM_SHARDED);
    check_policy(THRUM_FIFO);
    check_policy(THRUM_GLOBAL);
}
