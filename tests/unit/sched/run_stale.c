/*
 * run_stale.c: a handle of a scheduler that is gone names the next one at its address. When that is
 * one that thrum_run starts, a stop by such a handle is a stop by another thread, from the first
 * moment at which the scheduler can be found.
 */
/* POSIX: wrap: pthread_create */
/* wrap: pthread_create */
#include "support/support.h"

#define BLOCK (1 << 16)

static _Alignas(4096) char block[BLOCK]; /* of every scheduler: it asks for this first */
static atomic_bool block_taken;

static void *give(void *ctx, size_t size) {
    (void)ctx;
    if (size <= BLOCK && !atomic_exchange(&block_taken, true)) {
        return block;
    }
    return malloc(size);
}

static void take_back(void *ctx, void *ptr) {
    (void)ctx;
    if (ptr == block) {
        atomic_store(&block_taken, false);
    } else {
        free(ptr);
    }
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);

static thrum_sched *stale;
static unsigned threads_left; /* how many threads are to be started until the stop, from 1 */
static int stop_result;

static void *stops(void *arg) {
    (void)arg;
    stop_result = thrum_sched_stop(stale);
    return NULL;
}

/* Once the scheduler has its last thread, and before thrum_run knows that, another stops it. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg) {
    const int code = __real_pthread_create(thread, attr, fn, arg);
    if (threads_left != 0 && --threads_left == 0) {
        pthread_t stopper;
        CHECK_EQ(__real_pthread_create(&stopper, NULL, stops, NULL), 0);
        CHECK_EQ(pthread_join(stopper, NULL), 0);
    }
    return code;
}

static int must_not_run(void *arg) {
    (void)arg;
    CHECK(false);
    return 0;
}

TEST(a_stale_handle_does_not_free_what_run_starts) {
    /* The stop returns 0 and leaves the scheduler to thrum_run, whose entry is refused. */
    for (unsigned workers = 1; workers <= 4; workers++) {
        thrum_config config;
        thrum_config_init(&config);
        config.workers = workers;
        config.alloc = give;
        config.free = take_back;
        CHECK_EQ(thrum_sched_start(&stale, &config), 0);
        CHECK((char *)stale >= block && (char *)stale < block + BLOCK);
        CHECK_EQ(thrum_sched_stop(stale), 0);
        stop_result = 1;
        threads_left = workers;
        CHECK_EQ(thrum_run(&config, must_not_run, NULL), -ESHUTDOWN);
        CHECK_EQ(stop_result, 0);
        CHECK(!atomic_load(&block_taken));
    }
}
