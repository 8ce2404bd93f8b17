/*
 * cache.c: a value that expires after an hour, and its test. Each put starts a timer, which clears
 * the cache. Unless the file is compiled with -DFIXED, the timer of an old value clears a new one.
 */
#include <errno.h>
#include <stdlib.h>
#include <thrum.h>
#include <thrum/test.h>

#define KEEP THRUM_S(3600)

typedef struct cache {
    thrum_mutex lock;
    int value; /* 0: none */
    unsigned version;
    thrum_event closed; /* the timers end */
    thrum_waitgroup timers;
} cache;

typedef struct timer {
    cache *cache;
    unsigned version; /* of the value that it clears */
} timer;

static bool is_stale(const timer *t) {
#ifdef FIXED
    return t->cache->version == t->version;
#else
    return t->cache->value != 0;
#endif
}

static int timer_runs(void *arg) {
    timer *t = arg;
    cache *c = t->cache;
    if (thrum_event_wait_until(&c->closed, thrum_after(KEEP)) == -ETIMEDOUT) {
        thrum_mutex_lock(&c->lock);
        if (is_stale(t)) {
            c->value = 0;
        }
        thrum_mutex_unlock(&c->lock);
    }
    free(t);
    thrum_waitgroup_done(&c->timers);
    return 0;
}

static int cache_put(cache *c, int value) {
    timer *t = malloc(sizeof *t);
    if (!t) {
        return -ENOMEM;
    }
    thrum_mutex_lock(&c->lock);
    c->value = value;
    *t = (timer){c, ++c->version};
    thrum_mutex_unlock(&c->lock);
    thrum_waitgroup_add(&c->timers, 1);
    const int err = thrum_go(timer_runs, t);
    if (err != 0) {
        thrum_waitgroup_done(&c->timers);
        free(t);
    }
    return err;
}

static int cache_get(cache *c) {
    thrum_mutex_lock(&c->lock);
    const int value = c->value;
    thrum_mutex_unlock(&c->lock);
    return value;
}

static int cache_close(cache *c) {
    thrum_event_signal(&c->closed);
    return thrum_waitgroup_wait(&c->timers);
}

/* ---- its test ---- */

static cache prices = {.lock = THRUM_MUTEX_INIT,
                       .closed = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false),
                       .timers = THRUM_WAITGROUP_INIT(0)};

static int keeps_each_value_for_an_hour(void *arg) {
    (void)arg;
    THRUM_TEST(cache_put(&prices, 250) == 0);
    THRUM_TEST(thrum_sleep(KEEP / 2) == 0);
    THRUM_TEST(cache_put(&prices, 270) == 0);
    THRUM_TEST(thrum_sleep(KEEP - 1) == 0); /* a nanosecond less than an hour */
    THRUM_TEST(cache_get(&prices) == 270);
    THRUM_TEST(thrum_sleep(1) == 0);
    thrum_test_settle(); /* the timer has run */
    THRUM_TEST(cache_get(&prices) == 0);
    return cache_close(&prices);
}

int main(int argc, char **argv) {
    return thrum_test_main(argc, argv, keeps_each_value_for_an_hour, NULL);
}
