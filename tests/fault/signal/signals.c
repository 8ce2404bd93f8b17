/*
 * signals.c: signals at 10 kHz into every worker, which has unblocked them, while everything runs.
 *
 * A timer of the system for each worker: no sender has to be awake for it. What comes while the one
 * before is still pending is counted as merged by the system (si_overrun): a worker that is off its
 * core, as with more workers than cores, cannot take more.
 */
/* POSIX: sigaction */
/* matrix: policy workers */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/everything.h"

#ifndef sigev_notify_thread_id /* glibc 2.36 has no name for it */
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { HERTZ = 10000, ROUNDS = 100, HANDLED = UNDER_TSAN ? 20 : 1000 };

typedef struct target {
    timer_t timer;
    pid_t thread;
    atomic_long handled;
    atomic_long merged;
} target;

static target targets[64];
static atomic_int next;
static atomic_int there;
static __thread target *mine;

static void count_signal(int signal, siginfo_t *info, void *context) {
    /*
     * The thread sanitizer calls it late, on the fiber that it came to, which by then may run on
     * another thread.
     */
    target *t = mine ? mine : &targets[0];
    (void)signal, (void)context;
    atomic_fetch_add_explicit(&t->handled, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->merged, info->si_overrun, memory_order_relaxed);
}

/* The mask of the worker: the library has blocked the signal, the program wants it. */
static void unblock(void *ctx, int worker) {
    sigset_t set;
    (void)ctx, (void)worker;
    mine = &targets[atomic_fetch_add(&next, 1)];
    mine->thread = (pid_t)syscall(SYS_gettid);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
    atomic_fetch_add(&there, 1);
}

static void shoot_at(target *t) {
    struct sigevent to_thread = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    const struct timespec every = {0, 1000000000 / HERTZ};
    const struct itimerspec spec = {every, every};
    to_thread.sigev_notify_thread_id = t->thread;
    CHECK_EQ(timer_create(CLOCK_MONOTONIC, &to_thread, &t->timer), 0);
    CHECK_EQ(timer_settime(t->timer, 0, &spec, NULL), 0);
}

static void sum_up(int workers, int rounds) {
    long handled = 0;
    long merged = 0;
    for (int i = 0; i < workers; i++) {
        handled += atomic_load(&targets[i].handled);
        merged += atomic_load(&targets[i].merged);
    }
    printf("faults: signal %ld 0\n", handled);
    printf("signals: %ld handled, %ld merged with others, %d rounds\n", handled, merged, rounds);
}

/* Whether the last worker has handled that many. */
static bool all_handled(int workers, long wanted) {
    for (int i = 0; i < workers; i++) {
        if (atomic_load(&targets[i].handled) < wanted) {
            return false;
        }
    }
    return true;
}

TEST(everything_under_signals) {
    /* Each wait ends by what it waits for, and each call is made once. */
    const struct sigaction action = {.sa_sigaction = count_signal,
                                     .sa_flags = SA_SIGINFO}; /* without SA_RESTART */
    rig r;
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    rig_init(&r);
    r.config.worker_start = unblock;
    rig_start(&r);
    const int workers = (int)thrum_sched_parallelism(r.sched);
    SPIN_UNTIL(atomic_load(&there) == workers);
    for (int i = 0; i < workers; i++) {
        shoot_at(&targets[i]);
    }
    int rounds = 0;
    for (; rounds < ROUNDS || !all_handled(workers, HANDLED); rounds++) {
        CHECK_EQ(everything_in(&r), 0);
    }
    for (int i = 0; i < workers; i++) { /* before the workers end */
        CHECK_EQ(timer_delete(targets[i].timer), 0);
    }
    rig_stop(&r);
    sum_up(workers, rounds);
}
