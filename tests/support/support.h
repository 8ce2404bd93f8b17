/*
 * support.h: helpers around a scheduler for many tests.
 *
 *   rig      a scheduler as the environment asks for it (THRUM_WORKERS, ...) with an allocator that
 *            counts: a test that leaks fails when the rig stops, and any allocation can be refused
 *   crew     plain threads that never heard of a scheduler
 *   holder   a task that keeps one worker busy, so that new work queues up meanwhile
 *   gate     a fiber that keeps a scheduler from stopping until it is opened
 *   order    the order in which things happened
 *
 * While a rig runs a watchdog counts down: a test that hangs prints the workers' counters and its
 * position before the runner's time limit would end it silently.
 */
#ifndef SUPPORT_H
#define SUPPORT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* included first: for the threads' names and affinity */
#endif

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#include "check.h"

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif

/*
 * For functions that touch a thread's own data, such as errno, on fibers: to the thread sanitizer
 * fibers are threads that nothing orders, although they run on one thread one after the other.
 */
#define NO_TSAN __attribute__((no_sanitize("thread")))

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* How much slower everything is here, for counts. */
#if UNDER_TSAN
#define SLOWNESS 8
#elif UNDER_ASAN
#define SLOWNESS 3
#else
#define SLOWNESS 1
#endif

/* A count for this build, at least 1. */
#define SCALED(n) check_scaled((n) < SLOWNESS ? 1 : (n) / SLOWNESS)

/* Waits for another thread's action, in a plain thread or a task that may hold its worker. */
#define SPIN_UNTIL(cond)                                                                           \
    do {                                                                                           \
        while (!(cond))                                                                            \
            sched_yield();                                                                         \
    } while (0)

/* The same for a fiber, which lets others run meanwhile. */
#define YIELD_UNTIL(cond)                                                                          \
    do {                                                                                           \
        while (!(cond))                                                                            \
            thrum_yield();                                                                         \
    } while (0)

/*
 * The thread that the caller is on now. The C library declares pthread_self constant, so a compiler
 * would remember it across a wait.
 */
CHECK_UNUSED static __attribute__((noinline)) pthread_t thread_now(void) {
    __asm__ volatile("" ::: "memory");
    return pthread_self();
}

/* ---- rig ---- */

typedef struct rig {
    thrum_config config; /* may be changed between rig_init and rig_start; hook_ctx is the rig */
    thrum_sched *sched;
    struct rig *next; /* the watchdog's list */

    atomic_long live;        /* blocks handed out */
    atomic_long calls;       /* allocations asked for so far */
    atomic_long fail_at;     /* the number of the one call that is refused, from 1; 0: none */
    atomic_size_t fail_size; /* the first block of this size is refused; 0: none */
    atomic_bool fail_all;
    atomic_long refused;
} rig;

#define RIG_MAGIC UINT64_C(0x7468726d626c6f63)

typedef struct rig_block {
    _Alignas(16) uint64_t magic;
    rig *owner;
} rig_block;

static inline void *rig_alloc(void *ctx, size_t size) {
    rig *r = ctx;
    const long call = atomic_fetch_add(&r->calls, 1) + 1;
    /*
     * Writes nothing to the stack: it may be a task's, and a sanitizer sees a test's writes
     * there.
     */
    if (atomic_load(&r->fail_all) || call == atomic_load(&r->fail_at) ||
        (size && atomic_load(&r->fail_size) == size && atomic_exchange(&r->fail_size, 0) == size)) {
        atomic_fetch_add(&r->refused, 1);
        return NULL;
    }
    rig_block *b = malloc(sizeof(*b) + size);
    if (!b) {
        return NULL;
    }
    b->magic = RIG_MAGIC;
    b->owner = r;
    if (!UNDER_TSAN) {             /* there it would be a write that orders no task after it */
        memset(b + 1, 0xa5, size); /* no test may count on zeroes */
    }
    atomic_fetch_add(&r->live, 1);
    return b + 1;
}

static inline void rig_free(void *ctx, void *ptr) {
    rig *r = ctx;
    if (!ptr) {
        return;
    }
    rig_block *b = (rig_block *)ptr - 1;
    CHECK(b->magic == RIG_MAGIC); /* it was freed twice, or was never ours */
    CHECK(b->owner == r);
    b->magic = 0;
    atomic_fetch_sub(&r->live, 1);
    free(b);
}

/* ---- the watchdog ---- */

/* A little less than the runner's limit; 0, none, for a test that runs in place. */
static inline long watchdog_seconds(void) {
    return check_env("CHECK_LIMIT", 0) * 11 / 12;
}

static pthread_mutex_t watchdog_lock = PTHREAD_MUTEX_INITIALIZER;
static rig *watchdog_rigs;
static pthread_once_t watchdog_once = PTHREAD_ONCE_INIT;

static inline long watchdog_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)t.tv_sec;
}

/* The watchdog has nothing to wait for, so it sleeps. */
static inline void *watchdog_main(void *arg) {
    (void)arg;
    const long limit = watchdog_seconds();
    const long end = watchdog_now() + limit;
    while (watchdog_now() < end) {
        const struct timespec nap = {.tv_sec = 1, .tv_nsec = 0};
        nanosleep(&nap, NULL);
    }
    fprintf(stderr, "watchdog: nothing finished within %ld s\n", limit);
    /* without the lock: its holder may be hanging, and the process ends anyhow */
    for (const rig *r = watchdog_rigs; r; r = r->next) {
        fprintf(stderr, "watchdog: scheduler %s, %u workers\n",
                r->config.name ? r->config.name : "(no name)", thrum_sched_parallelism(r->sched));
        thrum_metrics_print(r->sched, stderr, THRUM_TEXT);
    }
    fflush(stderr);
    abort();
}

static inline void watchdog_start(void) {
    pthread_t thread;
    if (watchdog_seconds() > 0 && pthread_create(&thread, NULL, watchdog_main, NULL) == 0) {
        pthread_detach(thread);
    }
}

static inline void watchdog_add(rig *r) {
    pthread_once(&watchdog_once, watchdog_start);
    pthread_mutex_lock(&watchdog_lock);
    r->next = watchdog_rigs;
    watchdog_rigs = r;
    pthread_mutex_unlock(&watchdog_lock);
}

static inline void watchdog_remove(rig *r) {
    pthread_mutex_lock(&watchdog_lock);
    for (rig **p = &watchdog_rigs; *p; p = &(*p)->next) {
        if (*p == r) {
            *p = r->next;
            break;
        }
    }
    pthread_mutex_unlock(&watchdog_lock);
}

/* ---- starting and stopping ---- */

/* Makes a config with the environment's overrides and the counting allocator. */
static inline void rig_init(rig *r) {
    memset(r, 0, sizeof(*r));
    thrum_config_init(&r->config);
    /* Only cells with a bound main thread ask for no workers. The library ignores a 0 in the
     * environment, and so must other tests: no thread would run their tasks. */
    if (check_env("THRUM_WORKERS", 1) == 0 && check_env("CHECK_BOUND", 0) != 0) {
        r->config.workers = 0;
    }
    /* Tests count on a number that they know, also where a program is run by hand. */
    if (r->config.workers == THRUM_WORKERS_AUTO) {
        r->config.workers = 2;
    }
    /*
     * Many tests count things to which a spare would add (parked workers, memory): tests about
     * spares, and a variant, request them.
     */
    if (check_env("THRUM_WORKERS_SPARE", 0) == 0) {
        r->config.workers_spare = 0;
    }
    r->config.hook_ctx = r;
    r->config.alloc = rig_alloc;
    r->config.free = rig_free;
}

static inline void rig_start(rig *r) {
    CHECK_EQ(thrum_sched_start(&r->sched, &r->config), 0);
    CHECK(r->sched != NULL);
    watchdog_add(r);
}

/* Does rig_init and rig_start; workers 0: as many as in the environment, by default two. */
static inline void rig_begin(rig *r, unsigned workers) {
    rig_init(r);
    if (workers != 0) {
        r->config.workers = workers;
    }
    rig_start(r);
}

/* Fails the test if anything that was allocated is still there. */
static inline void rig_check_freed(rig *r) {
    CHECK_EQ(atomic_load(&r->live), 0);
}

/* Called after a stop that was the test's own. */
static inline void rig_stopped(rig *r) {
    watchdog_remove(r);
    rig_check_freed(r);
}

static inline void rig_stop(rig *r) {
    watchdog_remove(r);
    CHECK_EQ(thrum_sched_stop(r->sched), 0);
    r->sched = NULL;
    rig_check_freed(r);
}

static inline thrum_attr rig_attr(const rig *r) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = r->sched;
    return attr;
}

/* Runs fn(arg) as a fiber of the rig's scheduler and waits for it, from a plain thread. */
static inline int rig_run(rig *r, thrum_fn fn, void *arg) {
    const thrum_attr attr = rig_attr(r);
    thrum_handle *handle = NULL;
    int result = 0;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, arg), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    return result;
}

/* Starts fn(arg) detached; any thread may call it. */
static inline void rig_go(rig *r, thrum_fn fn, void *arg) {
    const thrum_attr attr = rig_attr(r);
    CHECK_EQ(thrum_go_with(&attr, fn, arg), 0);
}

/* The usual frame: starts, runs one fiber that does the test, stops. */
static inline void rig_do(unsigned workers, thrum_fn fn, void *arg) {
    rig r;
    rig_begin(&r, workers);
    CHECK_EQ(rig_run(&r, fn, arg), 0);
    rig_stop(&r);
}

static inline void rig_wait_done(rig *r) {
    CHECK_EQ(thrum_sched_wait_done(r->sched, THRUM_FOREVER), 0);
}

/* Starts one of very many threads, or skips the test: the system may allow fewer. */
static inline void start_or_skip(pthread_t *thread, void *(*fn)(void *arg), void *arg) {
    const int code = pthread_create(thread, NULL, fn, arg);
    if (code == EAGAIN) {
        CHECK_SKIP("the system starts no more threads for this user, or in this container");
    }
    CHECK_EQ(code, 0);
}

/* ---- crew ---- */

#define CREW_MAX 16

typedef struct crew_seat {
    void *arg;
    int index; /* its number from 0 */
} crew_seat;

typedef struct crew {
    pthread_t threads[CREW_MAX];
    crew_seat seats[CREW_MAX];
    int count;
} crew;

/* Starts n plain threads; each gets its crew_seat. */
static inline void crew_start(crew *c, int n, void *(*fn)(void *seat), void *arg) {
    CHECK(n <= CREW_MAX);
    c->count = n;
    for (int i = 0; i < n; i++) {
        c->seats[i] = (crew_seat){.arg = arg, .index = i};
        CHECK_EQ(pthread_create(&c->threads[i], NULL, fn, &c->seats[i]), 0);
    }
}

static inline void crew_join(crew *c) {
    for (int i = 0; i < c->count; i++) {
        CHECK_EQ(pthread_join(c->threads[i], NULL), 0);
    }
}

/* ---- holder ---- */

typedef struct holder {
    thrum_task task;
    atomic_bool in;
    atomic_bool out;
    atomic_bool left;
} holder;

static inline void holder_body(thrum_task *self, void *arg) {
    holder *h = arg;
    (void)self;
    atomic_store(&h->in, true);
    SPIN_UNTIL(atomic_load(&h->out));
    atomic_store(&h->left, true);
}

/* Keeps `worker` (-1: any worker) busy; returns once it is. For a plain thread. */
static inline void holder_begin(rig *r, holder *h, int worker) {
    atomic_init(&h->in, false);
    atomic_init(&h->out, false);
    atomic_init(&h->left, false);
    thrum_task_init(&h->task, holder_body, h);
    thrum_task_set_worker(&h->task, worker);
    CHECK_EQ(thrum_task_post(r->sched, &h->task), 0);
    SPIN_UNTIL(atomic_load(&h->in));
}

/* Lets the worker go on; the holder may go out of scope afterwards. */
static inline void holder_end(holder *h) {
    atomic_store(&h->out, true);
    SPIN_UNTIL(atomic_load(&h->left));
}

/* ---- gate ---- */

typedef struct gate {
    thrum_sem sem;
} gate;

static inline int gate_body(void *arg) {
    gate *g = arg;
    return thrum_sem_wait(&g->sem);
}

static inline void gate_begin(rig *r, gate *g) {
    thrum_sem_init(&g->sem, 0);
    rig_go(r, gate_body, g);
}

/* The scheduler may be gone as soon as this returns. Any thread may call it. */
static inline void gate_open(gate *g) {
    thrum_sem_post(&g->sem);
}

/* ---- order ---- */

#define ORDER_MAX 4096

typedef struct order {
    atomic_int count;
    atomic_int seen[ORDER_MAX];
} order;

static inline void order_add(order *o, int what) {
    const int i = atomic_fetch_add(&o->count, 1);
    CHECK(i < ORDER_MAX);
    atomic_store(&o->seen[i], what);
}

/* Checks that it is 0, 1, 2 and so on to n - 1; afterwards it is empty. */
static inline void order_check_counts_up(order *o, int n) {
    CHECK_EQ(atomic_load(&o->count), n);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(atomic_load(&o->seen[i]), i);
    }
    atomic_store(&o->count, 0);
}

/*
 * Whether dumps can list the calls of a suspended fiber: it is known how calls look on this
 * processor, and the system has the bounds of code (src/platform/call.h).
 */
#if (defined(__x86_64__) || defined(__aarch64__) || defined(__riscv)) &&                           \
    UINTPTR_MAX > 0xffffffff && !defined(TH_PLATFORM_POSIX)
#define HAS_CALLS 1
#else
#define HAS_CALLS 0
#endif

#ifdef TH_PLATFORM_POSIX
#define HAS_CODE 0 /* the system has names of functions in the program's code, and their files */
#define HAS_THREAD_NAMES 0
#else
#define HAS_CODE 1
#define HAS_THREAD_NAMES 1
#endif

/*
 * A text with a function in it as dumps, traces and reports have it: by its name, or by its address
 * if the system has no name. The last eight texts stay.
 */
CHECK_UNUSED static const char *with_function(const char *before, const char *name, uintptr_t at,
                                              const char *after) {
    static char texts[8][256];
    static unsigned next;
    char *text = texts[next++ % 8];
    char address[32];
    snprintf(address, sizeof address, "0x%" PRIxPTR, at);
    snprintf(text, sizeof texts[0], "%s%s%s", before, HAS_CODE ? name : address, after);
    return text;
}

#define WITH_FUNCTION(before_, fn_, after_)                                                        \
    with_function((before_), #fn_, (uintptr_t)(fn_), (after_))

/*
 * The caller runs, so a system that reports the states of threads (platform/platform.h) reports
 * that.
 */
#define NEEDS_STATES_OF_THREADS()                                                                  \
    do {                                                                                           \
        if (!th_os_thread_runs(th_os_thread_number()))                                             \
            CHECK_SKIP("the system does not tell which threads run");                              \
    } while (0)

#define NEEDS_CALLS()                                                                              \
    do {                                                                                           \
        if (!HAS_CALLS)                                                                            \
            CHECK_SKIP("the calls of fibers are not known on this processor or system");           \
    } while (0)

#endif
