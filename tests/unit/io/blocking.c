/*
 * blocking.c: thrum_blocking and its elastic pool.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"

#include <dirent.h>

#include "pools/blocking_pool.h"
#include "platform/faults.h"

#define FOREVER_NS INT64_C(3600000000000)

typedef struct stage {
    rig *r;
    thrum_sem sem;
    thrum_mutex mutex;
    order log;
    atomic_int begun;
    atomic_int running;
    atomic_int running_max;
    int plain;
    int rounds;
    pthread_t caller;
} stage;

static stage *stage_new(rig *r) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    s->r = r;
    thrum_sem_init(&s->sem, 0);
    thrum_mutex_init(&s->mutex);
    return s;
}

static void rig_pool(rig *r, unsigned threads_max, thrum_time keepalive) {
    rig_init(r);
    r->config.blocking_threads_max = threads_max;
    r->config.blocking_keepalive = keepalive;
    rig_start(r);
}

static uint64_t pool_threads(rig *r) {
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(r->sched, THRUM_ALL_WORKERS, &m), 0);
    return m.blocking_threads;
}

static uint64_t pool_calls(rig *r) {
    thrum_metrics m = THRUM_METRICS_INIT;
    CHECK_EQ(thrum_metrics_read(r->sched, THRUM_ALL_WORKERS, &m), 0);
    return m.blocking_calls;
}

/* ---- one call ---- */

static int answer(void *arg) {
    stage *s = arg;
    CHECK(thrum_sched_current() == NULL);
    CHECK_EQ(thrum_worker_id(), -1);
    s->plain++;
    return 42;
}

static int one_call(void *arg) {
    stage *s = arg;
    int result = 0;
    s->plain = 1;
    CHECK_EQ(thrum_blocking(answer, s, &result), 0);
    CHECK_EQ(result, 42);
    CHECK_EQ(s->plain, 2);
    CHECK_EQ(thrum_blocking(answer, s, NULL), 0);
    CHECK_EQ(s->plain, 3);
    CHECK_EQ(thrum_blocking(NULL, s, &result), -EINVAL);
    CHECK(thrum_sched_current() == s->r->sched);
    return 0;
}

TEST(a_fiber_gets_the_result_from_a_plain_thread) {
    /* fn runs off the scheduler, its writes are visible, and its result may be dropped. */
    rig r;
    rig_pool(&r, 8, FOREVER_NS);
    stage *s = stage_new(&r);
    CHECK_EQ(pool_threads(&r), 0);
    CHECK_EQ(rig_run(&r, one_call, s), 0);
    CHECK_EQ(pool_calls(&r), 2);
    CHECK_EQ(pool_threads(&r), 1); /* the second call found the first one's thread */
    free(s);
    rig_stop(&r);
}

static int same_thread(void *arg) {
    CHECK(pthread_equal(pthread_self(), ((stage *)arg)->caller));
    return 7;
}

static int call_again(void *arg) {
    stage *s = arg;
    int result = 0;
    s->caller = pthread_self();
    CHECK_EQ(thrum_blocking(same_thread, s, &result), 0);
    return result;
}

static int call_twice(void *arg) {
    int result = 0;
    CHECK_EQ(thrum_blocking(call_again, arg, &result), 0);
    CHECK_EQ(result, 7);
    return 0;
}

TEST(a_plain_thread_just_calls_it) {
    /* This holds for a thread of the pool itself, too. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new(&r);
    CHECK_EQ(call_again(s), 7);
    CHECK_EQ(rig_run(&r, call_twice, s), 0);
    CHECK_EQ(pool_calls(&r), 1);
    free(s);
    rig_stop(&r);
}

/* ---- many calls ---- */

static int wait_on_pool(void *arg) {
    stage *s = arg;
    atomic_fetch_add(&s->begun, 1);
    CHECK_EQ(thrum_sem_wait(&s->sem), 0);
    return 0;
}

static int call_wait(void *arg) {
    return thrum_blocking(wait_on_pool, ((actor *)arg)->arg, NULL);
}

static int post_eight(void *arg) {
    for (int i = 0; i < 8; i++) {
        thrum_sem_post(&((stage *)arg)->sem);
    }
    return 0;
}

TEST(the_worker_goes_on_meanwhile) {
    /* More calls block than there are workers, and fibers still run: one of them ends the calls. */
    rig r;
    rig_pool(&r, 8, FOREVER_NS);
    stage *s = stage_new(&r);
    cast *c = cast_new(&r);
    cast_add_mixed(c, 8, 0, call_wait, s);
    YIELD_UNTIL(atomic_load(&s->begun) == 8);
    CHECK_EQ(pool_threads(&r), 8);
    CHECK_EQ(rig_run(&r, post_eight, s), 0);
    cast_join(c);
    free(s);
    rig_stop(&r);
}

static int note_concurrency(void *arg) {
    stage *s = arg;
    const int n = atomic_fetch_add(&s->running, 1) + 1;
    int max = atomic_load(&s->running_max);
    while (n > max && !atomic_compare_exchange_weak(&s->running_max, &max, n)) {
    }
    sched_yield();
    atomic_fetch_sub(&s->running, 1);
    return n;
}

static int call_many(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        int result = -1;
        CHECK_EQ(thrum_blocking(note_concurrency, s, &result), 0);
        CHECK(result > 0);
    }
    return 0;
}

TEST(never_more_threads_than_the_limit) {
    /* Calls beyond the limit wait their turn, and all come through. */
    rig r;
    rig_pool(&r, 3, FOREVER_NS);
    stage *s = stage_new(&r);
    cast *c = cast_new(&r);
    s->rounds = SCALED(200);
    cast_add_mixed(c, 20, 0, call_many, s);
    cast_join(c);
    CHECK(atomic_load(&s->running_max) <= 3);
    CHECK(pool_threads(&r) <= 3);
    CHECK_EQ(pool_calls(&r), 20 * s->rounds);
    free(s);
    rig_stop(&r);
}

static int log_call(void *arg) {
    actor *a = arg;
    order_add(&((stage *)a->arg)->log, a->index);
    return 0;
}

static int call_and_log(void *arg) {
    return thrum_blocking(log_call, arg, NULL);
}

TEST(calls_begin_first_come_first_served) {
    /*
     * There is one thread, which is busy meanwhile: calls begin in the order in which they were
     * queued.
     */
    rig r;
    rig_pool(&r, 1, FOREVER_NS);
    stage *s = stage_new(&r);
    cast *c = cast_new(&r);
    cast_add(c, true, call_wait, s);
    YIELD_UNTIL(atomic_load(&s->begun) == 1);
    for (int i = 1; i <= 20; i++) {
        cast_add(c, true, call_and_log, s);
        YIELD_UNTIL(pool_calls(&r) == (uint64_t)i + 1);
    }
    CHECK_EQ(atomic_load(&s->log.count), 0);
    thrum_sem_post(&s->sem);
    cast_join(c);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(s->log.seen[i], i + 1);
    }
    CHECK_EQ(pool_threads(&r), 1);
    free(s);
    rig_stop(&r);
}

static int lock_on_pool(void *arg) {
    stage *s = arg;
    thrum_mutex_lock(&s->mutex);
    s->plain++;
    thrum_mutex_unlock(&s->mutex);
    return 0;
}

static int lock_here_and_there(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        CHECK_EQ(lock_on_pool(s), 0);
        CHECK_EQ(thrum_blocking(lock_on_pool, s, NULL), 0);
    }
    return 0;
}

TEST(primitives_work_on_the_pools_threads) {
    /* Fibers and calls on the pool share a mutex. */
    rig r;
    rig_pool(&r, 4, FOREVER_NS);
    stage *s = stage_new(&r);
    cast *c = cast_new(&r);
    s->rounds = SCALED(200);
    cast_add_mixed(c, 8, 0, lock_here_and_there, s);
    cast_join(c);
    CHECK_EQ(s->plain, 2 * 8 * s->rounds);
    free(s);
    rig_stop(&r);
}

/* ---- threads come and go ---- */

static int threads_of_process(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir != NULL);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        n += e->d_name[0] != '.';
    }
    closedir(dir);
    return n;
}

TEST(idle_threads_leave_after_the_keepalive) {
    /* All of them leave, each is joined, and the pool still works afterwards. */
    rig r;
    rig_pool(&r, 8, 1000000);
    const int before = threads_of_process();
    stage *s = stage_new(&r);
    for (int round = 0; round < 3; round++) {
        cast *c = cast_new(&r);
        atomic_store(&s->begun, 0);
        cast_add_mixed(c, 8, 0, call_wait, s);
        YIELD_UNTIL(atomic_load(&s->begun) == 8);
        CHECK_EQ(post_eight(s), 0);
        cast_join(c);
        YIELD_UNTIL(pool_threads(&r) == 0);
        YIELD_UNTIL(threads_of_process() == before);
    }
    free(s);
    rig_stop(&r);
}

TEST(threads_that_leave_at_once) {
    /* With a keepalive of 0 calls race with threads that leave. */
    rig r;
    rig_pool(&r, 4, 0);
    stage *s = stage_new(&r);
    cast *c = cast_new(&r);
    s->rounds = SCALED(300);
    cast_add_mixed(c, 8, 0, call_many, s);
    cast_join(c);
    CHECK(atomic_load(&s->running_max) <= 4);
    YIELD_UNTIL(pool_threads(&r) == 0);
    free(s);
    rig_stop(&r);
}

TEST(stop_ends_threads_that_would_stay) {
    /* They end however long the keepalive is; nothing is left of them. */
    rig r;
    int before = 0;
    for (int round = 0; round < 4; round++) {
        rig_pool(&r, 8, round % 2 == 0 ? FOREVER_NS : THRUM_FOREVER);
        stage *s = stage_new(&r);
        cast *c = cast_new(&r);
        cast_add_mixed(c, 8, 0, call_wait, s);
        YIELD_UNTIL(atomic_load(&s->begun) == 8);
        CHECK_EQ(post_eight(s), 0);
        cast_join(c);
        CHECK_EQ(pool_threads(&r), 8);
        free(s);
        rig_stop(&r);
        if (round == 0) { /* by now there is the watchdog, which stays */
            before = threads_of_process();
        }
        YIELD_UNTIL(threads_of_process() <= before); /* a joined thread may be seen for a moment */
    }
}

/* ---- when there is no thread to be had ---- */

static int must_not_begin(void *arg) {
    (void)arg;
    CHECK(false);
    return 0;
}

static int call_refused(void *arg) {
    stage *s = ((actor *)arg)->arg;
    int result = 5;
    CHECK_EQ(thrum_blocking(must_not_begin, s, &result), -EAGAIN);
    CHECK_EQ(result, 5);
    atomic_fetch_add(&s->begun, 1);
    return 0;
}

TEST(without_any_thread_the_call_fails) {
    /* -EAGAIN comes with fn not begun, for every caller; afterwards the pool works. */
    rig r;
    rig_pool(&r, 4, FOREVER_NS);
    stage *s = stage_new(&r);
    cast *c = cast_new(&r);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 1000);
    cast_add_mixed(c, 20, 0, call_refused, s);
    cast_join(c);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    CHECK_EQ(atomic_load(&s->begun), 20);
    CHECK_EQ(pool_threads(&r), 0);
    CHECK_EQ(rig_run(&r, one_call, s), 0);
    free(s);
    rig_stop(&r);
}

TEST(with_one_thread_the_others_wait_for_it) {
    /* Refused threads only make the pool smaller, as long as calls end. */
    rig r;
    th_blocking_patience = FOREVER_NS;
    rig_pool(&r, 8, FOREVER_NS);
    stage *s = stage_new(&r);
    cast *c = cast_new(&r);
    cast_add(c, true, call_wait, s);
    YIELD_UNTIL(atomic_load(&s->begun) == 1);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 1000);
    cast_add_mixed(c, 10, 0, call_and_log, s);
    YIELD_UNTIL(pool_calls(&r) == 11);
    CHECK_EQ(atomic_load(&s->log.count), 0);
    thrum_sem_post(&s->sem);
    cast_join(c);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    CHECK_EQ(atomic_load(&s->log.count), 10);
    CHECK_EQ(pool_threads(&r), 1);
    free(s);
    rig_stop(&r);
}

static int call_until_refused(void *arg) {
    const int code = call_refused(arg);
    thrum_sem_post(&((stage *)((actor *)arg)->arg)->sem); /* what the call would have done */
    return code;
}

TEST(a_call_for_which_the_only_thread_waits_fails) {
    /* No new thread is granted, and none begins any call: -EAGAIN, with fn not begun. */
    rig r;
    rig_pool(&r, 8, FOREVER_NS);
    stage *s = stage_new(&r);
    cast *c = cast_new(&r);
    cast_add(c, true, call_wait, s);
    YIELD_UNTIL(atomic_load(&s->begun) == 1);
    th_os_fail(TH_OS_FAULT_THREAD, 0, UINT32_MAX);
    cast_add(c, true, call_until_refused, s);
    cast_join(c);
    CHECK_EQ(rig_run(&r, one_call, s), 0); /* that thread is free now */
    CHECK_EQ(pool_threads(&r), 1);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    free(s);
    rig_stop(&r);
}

TEST(calls_for_which_all_threads_wait_fail) {
    /* However many: of the pool's threads, and of the calls. */
    rig r;
    rig_pool(&r, 8, FOREVER_NS);
    stage *s = stage_new(&r);
    cast *waiting = cast_new(&r);
    cast *c = cast_new(&r);
    cast_add_mixed(waiting, 3, 0, call_wait, s);
    YIELD_UNTIL(atomic_load(&s->begun) == 3);
    th_os_fail(TH_OS_FAULT_THREAD, 0, UINT32_MAX);
    cast_add_mixed(c, 20, 0, call_refused, s);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->begun), 23);
    CHECK_EQ(pool_threads(&r), 3);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    CHECK_EQ(rig_run(&r, one_call, s), 0); /* now there may be another one */
    CHECK_EQ(post_eight(s), 0);
    cast_join(waiting);
    free(s);
    rig_stop(&r);
}

TEST(a_call_that_waits_for_a_thread_can_be_cancelled) {
    /* While it stands in no queue. */
    rig r;
    thrum_handle *handle;
    int result = 0;
    th_blocking_patience = FOREVER_NS;
    rig_pool(&r, 8, FOREVER_NS);
    stage *s = stage_new(&r);
    actor waiting = {.arg = s};
    cast *c = cast_new(&r);
    cast_add(c, true, call_wait, s);
    YIELD_UNTIL(atomic_load(&s->begun) == 1);
    th_os_fail(TH_OS_FAULT_THREAD, 0, UINT32_MAX);
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, call_wait, &waiting), 0);
    YIELD_UNTIL(pool_calls(&r) == 2 && th_os_fails_left(TH_OS_FAULT_THREAD) < UINT32_MAX);
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, -ECANCELED);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    thrum_sem_post(&s->sem);
    cast_join(c);
    free(s);
    rig_stop(&r);
}

static int call_maybe(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    for (int i = 0; i < s->rounds; i++) {
        int result = -1;
        if (i % 3 == a->index % 3) {
            th_os_fail(TH_OS_FAULT_THREAD, 0, 1);
        }
        const int code = thrum_blocking(note_concurrency, s, &result);
        CHECK(code == 0 || code == -EAGAIN);
        CHECK_EQ(result > 0, code == 0);
        atomic_fetch_add(&s->begun, 1);
    }
    return 0;
}

TEST(refusals_among_threads_that_come_and_go) {
    /* Threads leave at once and starts fail: every call ends, one way or the other. */
    rig r;
    rig_pool(&r, 3, 0);
    stage *s = stage_new(&r);
    cast *c = cast_new(&r);
    s->rounds = SCALED(300);
    cast_add_mixed(c, 8, 0, call_maybe, s);
    cast_join(c);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    CHECK_EQ(atomic_load(&s->begun), 8 * s->rounds);
    free(s);
    rig_stop(&r);
}

static int call_without_memory(void *arg) {
    stage *s = arg;
    int result = 5;
    atomic_store(&s->r->fail_all, true);
    const int code = thrum_blocking(must_not_begin, s, &result);
    atomic_store(&s->r->fail_all, false);
    CHECK_EQ(code, -ENOMEM);
    CHECK_EQ(result, 5);
    return 0;
}

TEST(without_memory_the_call_fails) {
    /* -ENOMEM comes with nothing left behind; the next call works. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new(&r);
    CHECK_EQ(rig_run(&r, call_without_memory, s), 0);
    CHECK_EQ(rig_run(&r, one_call, s), 0);
    free(s);
    rig_stop(&r);
}
