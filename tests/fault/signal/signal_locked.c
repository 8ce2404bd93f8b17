/*
 * signal_locked.c: a caught signal that comes while its thread is in the platform: inside a fork,
 * beside a sleep, with any of the locks in its hands that POSIX has in place of futexes and sets.
 *
 * The linker has each call of pthread_mutex_lock and of a condition's wait come here (--wrap): a
 * test has the signal raised at the first of them, then at the second, and so on.
 */
/* POSIX: sigset_t, fork, wrap: pthread_mutex_lock */
/* wrap: pthread_mutex_lock pthread_cond_wait pthread_cond_timedwait */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <thrum/signal.h>

#include "support/support.h"
#include "support/times.h"

/* ---- the signal at the Nth lock ---- */

static pid_t parent;              /* the child of a fork catches no signals */
static __thread int raised;       /* which signal; 0: none is to come, or it has come */
static __thread unsigned to_pass; /* locks of this thread before it */

static void interrupt(void) {
    const int number = getpid() == parent ? raised : 0;
    if (number && to_pass-- == 0) {
        raised = 0;
        CHECK_EQ(raise(number), 0);
    }
}

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
                                  const struct timespec *at);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
                                  const struct timespec *at);

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock) {
    const int code = __real_pthread_mutex_lock(lock);
    interrupt();
    return code;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock) {
    interrupt();
    const int code = __real_pthread_cond_wait(cond, lock);
    interrupt();
    return code;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
                                  const struct timespec *at) {
    interrupt();
    const int code = __real_pthread_cond_timedwait(cond, lock, at);
    interrupt();
    return code;
}

/* Makes the call with the signal at its first lock, then at its second, until it has no more. */
static void at_each_lock(int number, void (*call)(int number)) {
    bool came = true;
    parent = getpid();
    for (unsigned n = 0; came; n++) {
        to_pass = n;
        raised = number;
        call(number);
        came = !raised;
        raised = 0;
        if (came) {
            CHECK_EQ(thrum_signal_wait(&number, 1, THRUM_FOREVER), number);
        }
    }
}

/* ---- the calls ---- */

static void forks(int number) {
    int status = 0;
    const pid_t child = fork();
    (void)number;
    CHECK(child >= 0);
    if (child == 0) {
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

/* Its signal is left to at_each_lock: it waits for another one. */
static void sleeps(int number) {
    const int other = number == SIGUSR2 ? SIGUSR1 : SIGUSR2;
    CHECK_EQ(thrum_signal_wait(&other, 1, soon()), -ETIMEDOUT);
}

/* The signal that comes meanwhile ends the wait; it is raised again for at_each_lock. */
static void sleeps_for_it(int number) {
    const int code = thrum_signal_wait(&number, 1, soon());
    CHECK(code == number || code == -ETIMEDOUT);
    if (code == number) {
        CHECK_EQ(raise(number), 0);
    }
}

static const int numbers[] = {SIGHUP, SIGINT, SIGUSR1, SIGTERM, SIGPIPE, SIGSYS, SIGWINCH};

/* With each signal, all others blocked or none. */
static void with_each_mask(void (*call)(int number)) {
    for (unsigned i = 0; i <= COUNT_OF(numbers); i++) {
        const int number = i < COUNT_OF(numbers) ? numbers[i] : SIGRTMIN + 3;
        CHECK_EQ(thrum_signal_catch(number), 0);
        for (int blocked = 0; blocked < 2; blocked++) {
            sigset_t mask, before;
            sigemptyset(&mask);
            if (blocked) {
                sigfillset(&mask);
                sigdelset(&mask, number);
            }
            CHECK_EQ(pthread_sigmask(SIG_SETMASK, &mask, &before), 0);
            at_each_lock(number, call);
            CHECK_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
        }
        CHECK_EQ(thrum_signal_release(number), 0);
    }
}

TEST(a_signal_comes_at_each_lock_of_a_fork) {
    /* The fork ends, and so does the child. */
    with_each_mask(forks);
}

TEST(a_signal_comes_at_each_lock_of_a_sleep) {
    /* A plain thread's wait ends at its deadline or by the signal, whichever signals it blocks. */
    with_each_mask(sleeps);
    with_each_mask(sleeps_for_it);
}

TEST(a_signal_comes_at_each_lock_of_a_bound_threads_sleep) {
    /* A thread that takes part in a scheduler sleeps in a set of descriptors. */
    rig r;
    rig_begin(&r, 1);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    with_each_mask(sleeps);
    with_each_mask(sleeps_for_it);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

/* ---- a stream of signals ---- */

static atomic_int handled;
static atomic_bool over;

static void count(int number) {
    (void)number;
    atomic_fetch_add(&handled, 1);
}

/* The next one comes as soon as the last was handled. */
static void *shoots(void *arg) {
    const pthread_t *target = ((crew_seat *)arg)->arg;
    while (!atomic_load(&over)) {
        const int before = atomic_load(&handled);
        CHECK_EQ(pthread_kill(*target, SIGHUP), 0);
        SPIN_UNTIL(atomic_load(&handled) != before || atomic_load(&over));
    }
    return NULL;
}

TEST(thousands_of_forks_beside_a_stream_of_signals) {
    /* Each fork ends, and the end of each child is seen. */
    const pthread_t me = pthread_self();
    const struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    const int n = check_scaled(UNDER_TSAN || UNDER_ASAN ? 300 : 3000);
    crew c;
    CHECK_EQ(sigaction(SIGHUP, &action, NULL), 0);
    CHECK_EQ(thrum_signal_catch(SIGHUP), 0);
    crew_start(&c, 1, shoots, (void *)(uintptr_t)&me);
    for (int i = 0; i < n; i++) {
        forks(SIGHUP);
    }
    atomic_store(&over, true);
    crew_join(&c);
    CHECK_EQ(thrum_signal_release(SIGHUP), 0);
}
