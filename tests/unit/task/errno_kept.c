/*
 * errno_kept.c: errno belongs to the task: it is kept across a wait, also to another thread.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

/* The compiler may remember errno's address across a wait: every access goes through a call. */
static NO_TSAN __attribute__((noinline)) void set_errno(int value) {
    __asm__ volatile("" ::: "memory");
    errno = value;
}

static NO_TSAN __attribute__((noinline)) int get_errno(void) {
    __asm__ volatile("" ::: "memory");
    return errno;
}

static atomic_int moves;

static int keep_across_yields(void *arg) {
    const int mine = (int)(intptr_t)arg;
    int worker = thrum_worker_id();
    set_errno(mine);
    for (int i = 0; i < 100; i++) {
        thrum_yield();
        CHECK_EQ(get_errno(), mine);
        if (thrum_worker_id() != worker) {
            worker = thrum_worker_id();
            atomic_fetch_add(&moves, 1);
        }
    }
    return 0;
}

TEST(errno_is_kept_across_a_yield) {
    /* Each of many fibers finds its own errno again, on whichever worker. */
    rig r;
    rig_begin(&r, 0);
    for (int i = 1; i <= 64; i++) {
        rig_go(&r, keep_across_yields, (void *)(intptr_t)i);
    }
    rig_stop(&r);
}

typedef struct meeting {
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_sem sem;
    thrum_event event;
    thrum_waitgroup group;
    bool open;
    int waiting;
} meeting;

static int returns_nothing(void *arg) {
    (void)arg;
    set_errno(999);
    thrum_yield();
    return 0;
}

static int keep_across_waits(void *arg) {
    meeting *m = arg;
    thrum_handle *handle = NULL;
    const int mine = 1 + (int)((uintptr_t)&handle / 64 % 4000);
    set_errno(mine);
    thrum_mutex_lock(&m->mutex);
    CHECK_EQ(get_errno(), mine);
    m->waiting++;
    while (!m->open) {
        CHECK_EQ(thrum_cond_wait(&m->cond, &m->mutex), 0);
        CHECK_EQ(get_errno(), mine);
    }
    thrum_mutex_unlock(&m->mutex);
    CHECK_EQ(get_errno(), mine);
    CHECK_EQ(thrum_sem_wait(&m->sem), 0);
    CHECK_EQ(get_errno(), mine);
    thrum_sem_post(&m->sem);
    CHECK_EQ(thrum_event_wait(&m->event), 0);
    CHECK_EQ(get_errno(), mine);
    CHECK_EQ(thrum_spawn(&handle, returns_nothing, NULL), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(get_errno(), mine);
    thrum_waitgroup_done(&m->group);
    CHECK_EQ(thrum_waitgroup_wait(&m->group), 0);
    CHECK_EQ(get_errno(), mine);
    nap();
    CHECK_EQ(get_errno(), mine);
    return 0;
}

static int open_all(void *arg) {
    meeting *m = arg;
    for (;;) {
        thrum_mutex_lock(&m->mutex);
        if (m->waiting == 30) {
            break;
        }
        thrum_mutex_unlock(&m->mutex);
        thrum_yield();
    }
    m->open = true;
    thrum_cond_broadcast(&m->cond);
    thrum_mutex_unlock(&m->mutex);
    thrum_sem_post(&m->sem);
    thrum_event_signal(&m->event);
    return 0;
}

TEST(errno_is_kept_across_every_wait) {
    /* The waits are those of mutex, cond, semaphore, event, join and waitgroup, and sleeps. */
    rig r;
    meeting m = {.mutex = THRUM_MUTEX_INIT,
                 .cond = THRUM_COND_INIT,
                 .sem = THRUM_SEM_INIT(0),
                 .event = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false),
                 .group = THRUM_WAITGROUP_INIT(30)};
    rig_begin(&r, 0);
    for (int i = 0; i < 30; i++) {
        rig_go(&r, keep_across_waits, &m);
    }
    rig_go(&r, open_all, &m);
    rig_stop(&r);
}

static int spoil_errno(void *arg) {
    (void)arg;
    set_errno(1111);
    return 3;
}

static int keep_across_blocking(void *arg) {
    int result = 0;
    (void)arg;
    set_errno(42);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_blocking(spoil_errno, NULL, &result), 0);
        CHECK_EQ(result, 3);
        CHECK_EQ(get_errno(), 42);
    }
    return 0;
}

TEST(errno_is_kept_across_a_blocking_call) {
    /* What the call did to its own thread's errno stays there. */
    rig_do(0, keep_across_blocking, NULL);
}

static void *keep_in_thread(void *arg) {
    meeting *m = ((crew_seat *)arg)->arg;
    set_errno(77);
    CHECK_EQ(thrum_sem_wait(&m->sem), 0);
    CHECK_EQ(get_errno(), 77);
    thrum_mutex_lock(&m->mutex);
    thrum_mutex_unlock(&m->mutex);
    CHECK_EQ(get_errno(), 77);
    nap();
    CHECK_EQ(get_errno(), 77);
    return NULL;
}

TEST(errno_is_kept_for_plain_threads) {
    /* Sleeping in the kernel does not show. */
    meeting m = {.mutex = THRUM_MUTEX_INIT, .sem = THRUM_SEM_INIT(0)};
    crew c;
    crew_start(&c, 4, keep_in_thread, &m);
    for (int i = 0; i < 4; i++) {
        thrum_sem_post(&m.sem);
    }
    crew_join(&c);
}

TEST(calls_leave_errno_alone) {
    /* Starting, posting, waiting and stopping report only by value. */
    rig r;
    set_errno(55);
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, returns_nothing, NULL), 0);
    rig_wait_done(&r);
    rig_stop(&r);
    CHECK_EQ(get_errno(), 55);
}
