/*
 * signals.c: signals at 10 kHz into every worker, which has unblocked them, while everything runs.
 */
/* matrix: policy workers */
/* matrix: quick 4 */
#include "support/everything.h"

static atomic_long handled;

static void count_signal(int signal) {
    (void)signal;
    atomic_fetch_add_explicit(&handled, 1, memory_order_relaxed);
}

typedef struct target {
    pthread_t threads[64];
    atomic_int next;
    atomic_int count; /* that are there */
    atomic_bool ends;
    long sent;
} target;

static target shot_at;

/* On the worker: the library has blocked it, the program wants it. */
static void unblock(void *ctx, int worker) {
    sigset_t set;
    (void)ctx, (void)worker;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
    shot_at.threads[atomic_fetch_add(&shot_at.next, 1)] = pthread_self();
    atomic_fetch_add(&shot_at.count, 1);
}

static void *shoots(void *arg) {
    (void)arg;
    while (!atomic_load(&shot_at.ends)) {
        const struct timespec nap = {0, 20000}; /* and the timer's slack, and the loop */
        for (int i = 0; i < atomic_load(&shot_at.count); i++, shot_at.sent++)
            pthread_kill(shot_at.threads[i], SIGUSR1);
        nanosleep(&nap, NULL);
    }
    return NULL;
}

TEST(everything_under_signals) {
    /* Each wait ends by what it waits for, each call is made once. */
    const struct sigaction action = {.sa_handler = count_signal}; /* no SA_RESTART */
    pthread_t thread;
    rig r;
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    rig_init(&r);
    r.config.worker_start = unblock;
    rig_start(&r);
    SPIN_UNTIL(atomic_load(&shot_at.count) == (int)thrum_sched_workers(r.sched));
    CHECK_EQ(pthread_create(&thread, NULL, shoots, NULL), 0);
    const thrum_time begin = thrum_now();
    int rounds = 0;
    for (; thrum_now() - begin < INT64_C(1500000000); rounds++)
        CHECK_EQ(everything_in(&r), 0);
    atomic_store(&shot_at.ends, true); /* before the workers go */
    CHECK_EQ(pthread_join(thread, NULL), 0);
    const double s = (double)(thrum_now() - begin) / 1e9;
    rig_stop(&r);
    printf("faults: signal %ld 0\n", atomic_load(&handled));
    printf("signals: %.0f a second and worker sent, %ld handled, %d rounds\n",
           (double)shot_at.sent / s / atomic_load(&shot_at.count), atomic_load(&handled), rounds);
    CHECK(atomic_load(&handled) > 100);
}
