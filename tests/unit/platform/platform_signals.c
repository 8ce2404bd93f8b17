/*
 * platform_signals.c: the platform floor beside signals: waits let handlers run, threads have none.
 */
/* POSIX: sigset_t, tgkill */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "platform/platform.h"
#include "support/support.h"
#include "support/times.h"

static uint32_t xheard;

static void on_usr1(int number) {
    th_store_release(&xheard, (uint32_t)number); /* pairs: the kernel's look at the word */
    th_os_futex_wake(&xheard, 1);
}

TEST(futex_wait_lets_a_handler_run) {
    /*
     * A handler whose signal comes right before the sleep. The thread sanitizer has put it off by
     * then, and the sleep is all that is left to run it.
     */
    const struct sigaction action = {.sa_handler = on_usr1};
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    const pid_t process = getpid();
    /* By a function that the sanitizer does not know. */
    syscall(SYS_tgkill, process, gettid(), SIGUSR1);
    CHECK(th_os_futex_wait(&xheard, 0, far_off()) != -ETIMEDOUT);
}

static sigset_t thread_mask;
static char thread_name[32];

static void look_at_thread(void *arg) {
    (void)arg;
    pthread_sigmask(SIG_SETMASK, NULL, &thread_mask);
    pthread_getname_np(pthread_self(), thread_name, sizeof thread_name);
}

TEST(thread_has_its_name_and_no_signals) {
    /*
     * All signals are blocked there but the faults, and those that it may cause itself as the maker
     * has them; the maker's mask is as it was.
     */
    th_os_thread thread;
    sigset_t before, after;
    sigemptyset(&before);
    sigaddset(&before, SIGXFSZ);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    CHECK_EQ(th_os_thread_start(&thread, "a name that is far too long", look_at_thread, NULL), 0);
    th_os_thread_join(thread);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    CHECK(!HAS_THREAD_NAMES || strcmp(thread_name, "a name that is ") == 0);
    for (int s = 1; s < 32; s++) {
        bool fault = s == SIGSEGV || s == SIGBUS || s == SIGFPE || s == SIGILL || s == SIGTRAP ||
                     s == SIGABRT;
        const bool open = fault || s == SIGPIPE || s == SIGSYS;
        if (s != SIGKILL && s != SIGSTOP) {
            CHECK_EQ(sigismember(&thread_mask, s), !open);
        }
        CHECK_EQ(sigismember(&before, s), sigismember(&after, s));
    }
}
