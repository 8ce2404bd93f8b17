/*
 * run_stopped.c: thrum_run, and another thread that stops its scheduler; and without memory.
 */
#include "support/support.h"
#include "support/times.h"

/* Policies and workers: each pair has a scheduler of its own, also without workers. */
static const unsigned workers[] = {0, 1, 2, 4, 8};
#define POLICIES 3u

static thrum_config config_of(thrum_policy policy, unsigned count) {
    thrum_config config;
    thrum_config_init(&config);
    config.policy = policy;
    config.workers = count;
    return config;
}

#define EACH_CELL(policy, count)                                                                   \
    for (thrum_policy policy = THRUM_SHARDED; policy < (thrum_policy)POLICIES; policy++)           \
        for (unsigned cell_ = 0, count; cell_ < COUNT_OF(workers) && (count = workers[cell_], 1);  \
             cell_++)

/* ---- another thread stops it ---- */

typedef struct stopped {
    thrum_sched *sched;
    pthread_t stopper;
    thrum_event gate;
    thrum_time deadline;
    int64_t patience;
    int result; /* result of the stop */
    bool late;  /* whether the gate is opened once the stop has timed out */
    atomic_int ran;
} stopped;

static void *stops(void *arg) {
    stopped *s = arg;
    s->result = thrum_sched_stop_until(s->sched, s->deadline);
    if (s->late) {
        thrum_event_signal(&s->gate);
    }
    return NULL;
}

static int count_one(void *arg) {
    stopped *s = arg;
    thrum_yield();
    atomic_fetch_add(&s->ran, 1);
    return 0;
}

/* Waits until posts from external threads are refused: then the other thread is inside its stop. */
static int post_until_refused(void *arg) {
    stopped *s = arg;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = s->sched;
    int code;
    while ((code = thrum_go_with(&attr, count_one, s)) == 0) {
        atomic_fetch_sub(&s->ran, 1); /* takes back what did not run */
        sched_yield();
    }
    return code;
}

static void *post_main(void *arg) {
    CHECK_EQ(post_until_refused(arg), -ESHUTDOWN);
    return NULL;
}

static int entry_beside_stop(void *arg) {
    stopped *s = arg;
    pthread_t poster;
    s->sched = thrum_sched_current();
    CHECK_EQ(pthread_create(&s->stopper, NULL, stops, s), 0);
    CHECK_EQ(pthread_create(&poster, NULL, post_main, s), 0);
    CHECK_EQ(pthread_join(poster, NULL), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_go(count_one, s), 0); /* its own tasks may still start others */
    }
    return 5;
}

TEST(run_returns_when_another_thread_stops_it) {
    /* The stop has begun when the entry returns; both wait for all, and one of them frees it. */
    EACH_CELL(policy, count) {
        for (int i = 0; i < check_scaled(20); i++) {
            stopped s = {.deadline = THRUM_FOREVER, .result = 1};
            const thrum_config config = config_of(policy, count);
            CHECK_EQ(thrum_run(&config, entry_beside_stop, &s), 5);
            CHECK_EQ(pthread_join(s.stopper, NULL), 0);
            CHECK_EQ(s.result, 0);
            CHECK_EQ(atomic_load(&s.ran), 10);
        }
    }
}

static int entry_past_deadline(void *arg) {
    stopped *s = arg;
    s->sched = thrum_sched_current();
    CHECK_EQ(pthread_create(&s->stopper, NULL, stops, s), 0);
    thrum_shield_begin();
    CHECK_EQ(thrum_event_wait(&s->gate), 0); /* signaled when the stop has returned */
    thrum_shield_end();
    return 6;
}

TEST(run_goes_on_when_the_stop_of_another_times_out) {
    /* All waits are cancelled then, but not that of thrum_run for its entry. */
    EACH_CELL(policy, count) {
        stopped s = {.deadline = 0, .late = true};
        const thrum_config config = config_of(policy, count);
        thrum_event_init(&s.gate, THRUM_EVENT_MANUAL, false);
        CHECK_EQ(thrum_run(&config, entry_past_deadline, &s), 6);
        CHECK_EQ(pthread_join(s.stopper, NULL), 0);
        CHECK_EQ(s.result, -ETIMEDOUT);
    }
}

static int entry_cancelled(void *arg) {
    stopped *s = arg;
    s->sched = thrum_sched_current();
    CHECK_EQ(pthread_create(&s->stopper, NULL, stops, s), 0);
    CHECK_EQ(thrum_event_wait(&s->gate), -ECANCELED); /* the entry learns of the stop by this */
    return 7;
}

TEST(run_ends_when_the_stop_of_another_cancels_its_entry) {
    /* A thread that waits for SIGTERM does this: a stop with a deadline. */
    EACH_CELL(policy, count) {
        for (int i = 0; i < check_scaled(20); i++) {
            stopped s = {.deadline = soon()};
            const thrum_config config = config_of(policy, count);
            thrum_event_init(&s.gate, THRUM_EVENT_MANUAL, false);
            CHECK_EQ(thrum_run(&config, entry_cancelled, &s), 7);
            CHECK_EQ(pthread_join(s.stopper, NULL), 0);
            CHECK_EQ(s.result, -ETIMEDOUT);
        }
    }
}

static void *stops_once_more(void *arg) {
    stopped *s = arg;
    do {
        s->result = thrum_sched_stop_until(s->sched, thrum_after(s->patience));
    } while (s->result == -ETIMEDOUT);
    return NULL;
}

static int entry_beside_stops(void *arg) {
    stopped *s = arg;
    s->sched = thrum_sched_current();
    CHECK_EQ(pthread_create(&s->stopper, NULL, stops_once_more, s), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_go(count_one, s), 0);
    }
    return 8;
}

TEST(run_and_a_thread_that_stops_again_and_again) {
    /* However they meet: the thread has stopped it, or finds that thrum_run does so, or has. */
    EACH_CELL(policy, count) {
        for (int i = 0; i < check_scaled(50); i++) {
            stopped s = {.result = 1, .patience = i * INT64_C(1000)};
            const thrum_config config = config_of(policy, count);
            CHECK_EQ(thrum_run(&config, entry_beside_stops, &s), 8);
            CHECK_EQ(pthread_join(s.stopper, NULL), 0);
            CHECK(s.result == 0 || s.result == -EBUSY || s.result == -ESHUTDOWN);
            CHECK_EQ(atomic_load(&s.ran), 10);
        }
    }
}

/* ---- memory ends ---- */

static int eleven(void *arg) {
    (void)arg;
    return 11;
}

typedef struct ending {
    atomic_long calls;
    long last; /* the number of the last call that is granted */
} ending;

static ending memory;

static void *ending_alloc(void *ctx, size_t size) {
    ending *e = ctx;
    return atomic_fetch_add(&e->calls, 1) >= e->last ? NULL : malloc(size);
}

static void ending_free(void *ctx, void *ptr) {
    (void)ctx;
    CHECK(ptr != NULL);
    free(ptr);
}

TEST(run_fails_in_order_when_memory_ends_for_good) {
    /* Memory ends at any of its calls: either it cannot start, or the entry has run. */
    enum { ENOUGH = 8 }; /* runs to which all was granted: those behind them are no others */
    EACH_CELL(policy, count) {
        bool ran = false;
        int granted = 0;
        for (memory.last = 0; memory.last < 200 && granted < ENOUGH; memory.last++) {
            thrum_config config = config_of(policy, count);
            config.hook_ctx = &memory;
            config.alloc = ending_alloc;
            config.free = ending_free;
            atomic_store(&memory.calls, 0);
            const int result = thrum_run(&config, eleven, NULL);
            CHECK(result == 11 || result == -ENOMEM);
            CHECK(!ran || result == 11);
            ran = result == 11;
            granted += atomic_load(&memory.calls) <= memory.last;
        }
        CHECK(ran);
    }
}
