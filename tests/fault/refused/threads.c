/*
 * threads.c: threads that cannot be started.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

#include <thrum/file.h>

#include "platform/faults.h"

static int answer(void *arg) {
    (void)arg;
    return 42;
}

TEST(no_thread_at_all) {
    /* The start fails with -EAGAIN, leaves nothing behind, and later it starts. */
    rig r;
    rig_init(&r);
    th_os_fail(TH_OS_FAULT_THREAD, 0, UINT32_MAX);
    CHECK_EQ(thrum_sched_start(&r.sched, &r.config), -EAGAIN);
    rig_check_freed(&r);
    CHECK_EQ(thrum_run(&r.config, answer, NULL), -EAGAIN);
    rig_check_freed(&r);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    rig_start(&r);
    CHECK_EQ(rig_run(&r, answer, NULL), 42);
    rig_stop(&r);
}

static int spawn_some(void *arg) {
    thrum_handle *handles[50];
    int result = 0;
    (void)arg;
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(thrum_spawn(&handles[i], answer, NULL), 0);
    }
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(thrum_join(handles[i], &result), 0);
        CHECK_EQ(result, 42);
    }
    return 0;
}

TEST(fewer_threads_than_asked_for) {
    /* It starts with the threads that could be had, numbers them from 0, and works. */
    for (uint32_t had = 1; had < 5; had++) {
        rig r;
        rig_init(&r);
        r.config.workers = 5;
        th_os_fail(TH_OS_FAULT_THREAD, had, 1);
        rig_start(&r);
        CHECK_EQ(th_os_fails_left(TH_OS_FAULT_THREAD), 0);
        CHECK_EQ(thrum_sched_parallelism(r.sched), had);
        CHECK_EQ(rig_run(&r, spawn_some, NULL), 0);
        thrum_attr attr = rig_attr(&r);
        attr.flags = THRUM_PINNED;
        attr.worker = (int)had - 1;
        CHECK_EQ(thrum_go_with(&attr, answer, NULL), 0);
        attr.worker = (int)had;
        CHECK_EQ(thrum_go_with(&attr, answer, NULL), -EINVAL);
        rig_stop(&r);
    }
}

/* ---- hooks of workers that came and went ---- */

typedef struct hooked {
    rig r; /* comes first: it is the allocator's ctx */
    atomic_int running[8];
    atomic_int ran;
} hooked;

static void on_start(void *ctx, int worker) {
    hooked *h = ctx;
    CHECK_EQ(atomic_fetch_add(&h->running[worker], 1), 0);
}

static void on_stop(void *ctx, int worker) {
    hooked *h = ctx;
    CHECK_EQ(atomic_fetch_sub(&h->running[worker], 1), 1);
}

static void see_worker(thrum_task *self, void *arg) {
    hooked *h = arg;
    (void)self;
    CHECK_EQ(atomic_load(&h->running[thrum_worker_id()]), 1);
    atomic_fetch_add(&h->ran, 1);
}

TEST(hooks_are_paired_when_threads_are_refused) {
    /* Each start of a worker has its stop, also of those that were given up again. */
    for (uint32_t had = 0; had < 6; had++) {
        static hooked h;
        thrum_task tasks[20];
        memset(&h, 0, sizeof(h));
        rig_init(&h.r);
        h.r.config.workers = 6;
        h.r.config.worker_start = on_start;
        h.r.config.worker_stop = on_stop;
        th_os_fail(TH_OS_FAULT_THREAD, had, 1);
        if (had == 0) {
            CHECK_EQ(thrum_sched_start(&h.r.sched, &h.r.config), -EAGAIN);
            rig_check_freed(&h.r);
        } else {
            rig_start(&h.r);
            for (int i = 0; i < 20; i++) {
                thrum_task_init(&tasks[i], see_worker, &h);
                thrum_task_set_worker(&tasks[i], i % (int)had);
                CHECK_EQ(thrum_task_post(h.r.sched, &tasks[i]), 0);
            }
            rig_stop(&h.r);
            CHECK_EQ(atomic_load(&h.ran), 20);
        }
        for (int i = 0; i < 8; i++) {
            CHECK_EQ(atomic_load(&h.running[i]), 0);
        }
    }
}

static int call_without_threads(void *arg) {
    int result = 7;
    (void)arg;
    th_os_fail(TH_OS_FAULT_THREAD, 0, UINT32_MAX);
    CHECK_EQ(thrum_blocking(answer, NULL, &result), -EAGAIN);
    CHECK_EQ(result, 7);
    CHECK_EQ(thrum_blocking(answer, NULL, &result), -EAGAIN);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    CHECK_EQ(thrum_blocking(answer, NULL, &result), 0);
    CHECK_EQ(result, 42);
    th_os_fail(TH_OS_FAULT_THREAD, 0, UINT32_MAX); /* there is one thread now: it serves all */
    CHECK_EQ(thrum_blocking(answer, NULL, &result), 0);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    return 0;
}

TEST(blocking_call_without_threads) {
    /*
     * -EAGAIN comes with the call not begun while there is no thread; one that is there is enough.
     */
    rig_do(0, call_without_threads, NULL);
}

static thrum_mutex inside = THRUM_MUTEX_INIT;
static atomic_int calls;

static int count_call(void *arg) {
    (void)arg;
    atomic_fetch_add(&calls, 1);
    return 0;
}

static int call_with_failures(void *arg) {
    (void)arg;
    for (int i = 0; i < 20; i++) {
        const int error = thrum_blocking(count_call, NULL, NULL);
        if (error == 0) {
            continue;
        }
        CHECK_EQ(error, -EAGAIN);
        thrum_mutex_lock(&inside);
        thrum_mutex_unlock(&inside);
        i--;
        thrum_yield();
    }
    return 0;
}

TEST(blocking_calls_while_threads_are_refused_now_and_then) {
    /* Each call is made once or refused once; none is lost. */
    rig r;
    rig_init(&r);
    r.config.blocking_keepalive = 0;
    rig_start(&r);
    for (int i = 0; i < 20; i++) {
        th_os_fail(TH_OS_FAULT_THREAD, (uint32_t)i % 3, 2);
        rig_go(&r, call_with_failures, NULL);
    }
    rig_wait_done(&r);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    CHECK_EQ(atomic_load(&calls), 400);
    rig_stop(&r);
}

/* ---- stopping from a task needs a thread that waits in its place ---- */

static thrum_task refused;
static thrum_sem ran = THRUM_SEM_INIT(0);

static void tell_that_it_ran(thrum_task *self, void *arg) {
    (void)self;
    thrum_sem_post(arg);
}

static int stop_without_threads(void *arg) {
    rig *other = arg;
    th_os_fail(TH_OS_FAULT_THREAD, 0, UINT32_MAX);
    CHECK_EQ(thrum_sched_stop(other->sched), -EAGAIN);
    CHECK_EQ(thrum_task_post(other->sched, &refused), 0); /* the other scheduler goes on */
    CHECK_EQ(thrum_sem_wait(&ran), 0);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    CHECK_EQ(thrum_sched_stop_until(other->sched, 0), -ETIMEDOUT);
    th_os_fail(TH_OS_FAULT_THREAD, 0, UINT32_MAX);
    CHECK_EQ(thrum_sched_stop(other->sched), -EAGAIN);
    CHECK_EQ(thrum_task_post(other->sched, &refused), -ESHUTDOWN); /* it is still stopping */
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    return 0;
}

TEST(stop_from_a_task_without_threads) {
    /*
     * It fails with -EAGAIN, and the scheduler is as it was: running, or stopping since a stop
     * timed out.
     */
    rig r;
    rig other;
    gate g;
    rig_begin(&r, 0);
    rig_begin(&other, 0);
    thrum_task_init(&refused, tell_that_it_ran, &ran);
    gate_begin(&other, &g);
    CHECK_EQ(rig_run(&r, stop_without_threads, &other), 0);
    gate_open(&g);
    rig_stop(&other);
    rig_stop(&r);
}

static void *binds(void *arg) {
    rig *other = arg;
    CHECK_EQ(thrum_sched_bind(other->sched), 0);
    CHECK_EQ(thrum_sched_wait_done(other->sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    return NULL;
}

/* Stops the other one for nothing; afterwards it binds to it, and runs what is posted. */
static int fails_to_stop(void *arg) {
    rig *other = arg;
    pthread_t thread;
    th_os_fail(TH_OS_FAULT_THREAD, 0, UINT32_MAX);
    CHECK_EQ(thrum_sched_stop(other->sched), -EAGAIN);
    CHECK_EQ(thrum_sched_stop_until(other->sched, 0), -EAGAIN);
    th_os_fail(TH_OS_FAULT_THREAD, 0, 0);
    rig_go(other, answer, NULL);
    CHECK_EQ(pthread_create(&thread, NULL, binds, other), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return 0;
}

TEST(after_a_stop_without_threads_one_can_bind) {
    /* This holds for a task, and for a thread that is bound elsewhere; with workers and without. */
    for (unsigned workers = 0; workers < 3; workers += 2) {
        rig r;
        rig other;
        rig_begin(&r, 0);
        rig_init(&other);
        other.config.workers = workers;
        rig_start(&other);
        CHECK_EQ(rig_run(&r, fails_to_stop, &other), 0);
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        CHECK_EQ(fails_to_stop(&other), 0);
        CHECK_EQ(thrum_sched_unbind(), 0);
        rig_stop(&other);
        rig_stop(&r);
    }
}

#if defined(__GLIBC__)
static int calls_and_reads(void *arg) {
    static char text[64];
    int result = 0;
    (void)arg;
    CHECK_EQ(thrum_blocking(answer, NULL, &result), 0);
    CHECK_EQ(result, 42);
    CHECK(thrum_file_load("/proc/self/cmdline", text, sizeof text, far_off()) != 0);
    return 0;
}
#endif

TEST(threads_of_pools_do_with_little_stack) {
    /* A program may have set that for all its threads; what its calls need beside is its own. */
#if defined(__GLIBC__)
    if (UNDER_ASAN || UNDER_TSAN) {
        CHECK_SKIP("the sanitizer takes more");
    }
    rig r;
    rig_begin(&r, 1); /* workers have a stack of their own size in any case */
    pthread_attr_t attr;
    CHECK_EQ(pthread_attr_init(&attr), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attr, (size_t)32 << 10), 0);
    CHECK_EQ(pthread_setattr_default_np(&attr), 0);
    CHECK_EQ(rig_run(&r, calls_and_reads, NULL), 0);
    rig_stop(&r);
#else
    CHECK_SKIP("only glibc has such a call");
#endif
}
