/*
 * crowd.c: very many blocked fibers, each woken exactly once.
 */
/* matrix: policy workers */
/* alone: */
#include "support/memory.h"
#include "support/support.h"

#include "platform/platform.h"

/* A million; less where the sanitizers keep books on every stack. gcc's gives up at 8128. */
#if UNDER_TSAN && defined(__clang__)
#define CROWD 50000
#elif UNDER_TSAN
#define CROWD 4000
#elif UNDER_ASAN
#define CROWD 100000
#else
#define CROWD 1000000
#endif

typedef struct crowd {
    rig *r;
    atomic_uchar *woken;
    int count;
    thrum_sem sem;
    thrum_event event;
    thrum_mutex mutex;
    thrum_cond cond;
    bool open;
    int waiting; /* protected by mutex */
    atomic_int done;
} crowd;

static crowd all;

static void mark(int index) {
    CHECK_EQ(atomic_fetch_add(&all.woken[index], 1), 0);
    atomic_fetch_add(&all.done, 1);
}

static int wait_sem(void *arg) {
    CHECK_EQ(thrum_sem_wait(&all.sem), 0);
    mark((int)(intptr_t)arg);
    return 0;
}

static int wait_event(void *arg) {
    CHECK_EQ(thrum_event_wait(&all.event), 0);
    mark((int)(intptr_t)arg);
    return 0;
}

static int wait_cond(void *arg) {
    thrum_mutex_lock(&all.mutex);
    all.waiting++;
    while (!all.open) {
        CHECK_EQ(thrum_cond_wait(&all.cond, &all.mutex), 0);
    }
    thrum_mutex_unlock(&all.mutex);
    mark((int)(intptr_t)arg);
    return 0;
}

typedef struct part {
    thrum_fn fn;
    int first, count;
} part;

static int gather(void *arg) {
    const part *p = arg;
    for (int i = 0; i < p->count; i++) {
        CHECK_EQ(thrum_go(p->fn, (void *)(intptr_t)(p->first + i)), 0);
        if (i % 1000 == 999) {
            thrum_yield();
        }
    }
    return 0;
}

static void crowd_begin(rig *r, thrum_fn fn, int count, size_t stack_size) {
    part p = {.fn = fn, .count = count};
    memset(&all, 0, sizeof(all));
    all.r = r;
    all.count = count;
    all.woken = calloc((size_t)count, sizeof(*all.woken));
    CHECK(all.woken != NULL);
    thrum_sem_init(&all.sem, 0);
    thrum_event_init(&all.event, THRUM_EVENT_MANUAL, false);
    thrum_mutex_init(&all.mutex);
    thrum_cond_init(&all.cond);
    rig_init(r);
    if (stack_size != 0) {
        r->config.stack_size = stack_size;
    }
    needs_stacks(count, r->config.stack_size, th_os_page_size());
    rig_start(r);
    CHECK_EQ(rig_run(r, gather, &p), 0);
    CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&all.done), 0); /* all of them are blocked */
}

static void crowd_end(rig *r) {
    rig_wait_done(r);
    CHECK_EQ(atomic_load(&all.done), all.count);
    for (int i = 0; i < all.count; i++) {
        CHECK_EQ(atomic_load(&all.woken[i]), 1);
    }
    free(all.woken);
    rig_stop(r);
}

static int post_all(void *arg) {
    (void)arg;
    for (int i = 0; i < all.count; i++) {
        thrum_sem_post(&all.sem);
    }
    return 0;
}

TEST(a_million_on_small_stacks) {
    /* Fibers on stacks of 16 KiB are woken one by one. */
    rig r;
    crowd_begin(&r, wait_sem, check_scaled(CROWD), 16u << 10);
    CHECK_EQ(rig_run(&r, post_all, NULL), 0);
    crowd_end(&r);
}

TEST(a_million_on_default_stacks) {
    /* Fibers on stacks of the default size are woken by external threads. */
    rig r;
    crowd_begin(&r, wait_sem, check_scaled(CROWD), 0);
    post_all(NULL);
    crowd_end(&r);
}

TEST(a_crowd_woken_at_once) {
    /* One signal lets all go on. */
    rig r;
    crowd_begin(&r, wait_event, check_scaled(CROWD / 4), 16u << 10);
    thrum_event_signal(&all.event);
    crowd_end(&r);
}

TEST(a_crowd_at_a_condition) {
    /* A broadcast moves all of them to the mutex. */
    rig r;
    crowd_begin(&r, wait_cond, check_scaled(CROWD / 4), 16u << 10);
    thrum_mutex_lock(&all.mutex);
    CHECK_EQ(all.waiting, all.count);
    all.open = true;
    thrum_cond_broadcast(&all.cond);
    thrum_mutex_unlock(&all.mutex);
    crowd_end(&r);
}

TEST(a_crowd_twice) {
    /* The second crowd stands on the stacks of the first. */
    rig r;
    const int count = check_scaled(CROWD / 10);
    crowd_begin(&r, wait_sem, count, 16u << 10);
    for (int round = 0; round < 2; round++) {
        part p = {.fn = wait_sem, .count = count};
        post_all(NULL);
        rig_wait_done(&r);
        CHECK_EQ(atomic_load(&all.done), count);
        for (int i = 0; i < count; i++) {
            CHECK_EQ(atomic_exchange(&all.woken[i], 0), 1);
        }
        atomic_store(&all.done, 0);
        CHECK_EQ(rig_run(&r, gather, &p), 0);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    }
    post_all(NULL);
    crowd_end(&r);
}
