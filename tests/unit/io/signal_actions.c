/*
 * signal_actions.c: what the program has set for a signal, before it is caught and meanwhile.
 */
/* POSIX: sigaction, fork */
#include "support/sync/actors.h"
#include "support/times.h"

#include <sys/syscall.h>
#include <thrum/signal.h>

#include "io/signal.h"

static const int usr1[] = {SIGUSR1};
static volatile sig_atomic_t called;
static volatile sig_atomic_t value;

static void plain(int number) {
    called += number;
}

static void with_info(int number, siginfo_t *info, void *context) {
    CHECK(info->si_signo == number && context);
    called += number;
    value = info->si_value.sival_int;
}

static void set(int number, struct sigaction action) {
    CHECK_EQ(sigaction(number, &action, NULL), 0);
}

static struct sigaction get(int number) {
    struct sigaction now;
    CHECK_EQ(sigaction(number, NULL, &now), 0);
    return now;
}

static int taken(int number) {
    return thrum_signal_wait(&number, 1, 0);
}

/* Catches it, takes one, and releases it. */
static void round_of(int number) {
    CHECK_EQ(thrum_signal_catch(number), 0);
    CHECK_EQ(raise(number), 0);
    CHECK_EQ(taken(number), number);
    CHECK_EQ(taken(number), -ETIMEDOUT);
    CHECK_EQ(thrum_signal_release(number), 0);
}

TEST(a_handler_of_the_program_is_called) {
    /* With and without the signal's info, and is there again afterwards. */
    set(SIGUSR1, (struct sigaction){.sa_handler = plain, .sa_flags = SA_RESTART});
    round_of(SIGUSR1);
    CHECK_EQ(called, SIGUSR1);
    CHECK(get(SIGUSR1).sa_handler == plain);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, 2 * SIGUSR1);
    called = 0;
    set(SIGUSR1, (struct sigaction){.sa_sigaction = with_info, .sa_flags = SA_SIGINFO});
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    CHECK_EQ(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 42}), 0);
    CHECK_EQ(taken(SIGUSR1), SIGUSR1);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK_EQ(called, SIGUSR1);
    CHECK_EQ(value, 42);
    CHECK(get(SIGUSR1).sa_sigaction == with_info && get(SIGUSR1).sa_flags & SA_SIGINFO);
}

TEST(an_ignored_signal_is_caught_and_ignored_again) {
    /* So is one with its default, the last catch of several counts. */
    set(SIGUSR1, (struct sigaction){.sa_handler = SIG_IGN});
    round_of(SIGUSR1);
    CHECK(get(SIGUSR1).sa_handler == SIG_IGN);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(thrum_signal_catch(SIGUSR2), 0);
    CHECK_EQ(thrum_signal_catch(SIGUSR2), 0);
    CHECK_EQ(thrum_signal_release(SIGUSR2), 0);
    round_of(SIGUSR2);
    CHECK(get(SIGUSR2).sa_handler != SIG_DFL);
    CHECK_EQ(thrum_signal_release(SIGUSR2), 0);
    CHECK(get(SIGUSR2).sa_handler == SIG_DFL);
    CHECK_EQ(thrum_signal_release(SIGUSR2), -EINVAL);
}

TEST(a_later_handler_of_the_program_stays) {
    /* It is the program's; a catch after that is before it again. */
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    set(SIGUSR1, (struct sigaction){.sa_handler = plain});
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, SIGUSR1);
    CHECK_EQ(taken(SIGUSR1), -ETIMEDOUT);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK(get(SIGUSR1).sa_handler == plain);
    round_of(SIGUSR1);
    CHECK_EQ(called, 2 * SIGUSR1);
    CHECK(get(SIGUSR1).sa_handler == plain);
}

static struct sigaction chained;

static void chains(int number, siginfo_t *info, void *context) {
    called++;
    chained.sa_sigaction(number, info, context);
}

TEST(handlers_that_call_the_one_before_make_no_cycle) {
    /* Set while it was caught, it calls ours, which was before it, and is called by ours. */
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    struct sigaction action = {.sa_sigaction = chains, .sa_flags = SA_SIGINFO};
    CHECK_EQ(sigaction(SIGUSR1, &action, &chained), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, 1);
    CHECK_EQ(taken(SIGUSR1), SIGUSR1);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    round_of(SIGUSR1);
    CHECK_EQ(called, 2);
    CHECK(get(SIGUSR1).sa_sigaction == chains);
    round_of(SIGUSR1); /* any number of times */
    round_of(SIGUSR1);
    round_of(SIGUSR1);
    CHECK_EQ(called, 5);
    CHECK_EQ(sigaction(SIGUSR1, &chained, NULL), 0); /* the program puts ours back */
    round_of(SIGUSR1);
    CHECK_EQ(called, 5);
    CHECK(get(SIGUSR1).sa_handler == SIG_DFL);
}

TEST(too_many_handlers_that_may_call_ours) {
    /* A catch says so in the end; the signal does what the program has set. */
    int n = 0, code;
    while ((code = thrum_signal_catch(SIGUSR1)) == 0) {
        set(SIGUSR1, (struct sigaction){.sa_handler = plain});
        CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
        n++;
    }
    CHECK(n >= 2);
    CHECK_EQ(code, -EBUSY);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, SIGUSR1);
}

TEST(what_is_there_before_a_catch_is_not_counted) {
    /* And what nobody has taken is forgotten with the last release. */
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(taken(SIGUSR1), SIGUSR1);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK_EQ(taken(SIGUSR1), -ETIMEDOUT);
}

TEST(signals_come_in_all_ways) {
    /* To the process, to a thread, queued, and of real time, each of which counts. */
    const int last = SIGRTMAX;
    const int n = UNDER_TSAN ? 1 : 5; /* that sanitizer keeps one of a number */
    CHECK_EQ(thrum_signal_catch(SIGTERM), 0);
    CHECK_EQ(thrum_signal_catch(last), 0);
    CHECK_EQ(raise(SIGTERM), 0);
    CHECK_EQ(taken(SIGTERM), SIGTERM);
    CHECK_EQ(kill(getpid(), SIGTERM), 0);
    CHECK_EQ(taken(SIGTERM), SIGTERM);
    CHECK_EQ(pthread_kill(pthread_self(), SIGTERM), 0);
    CHECK_EQ(taken(SIGTERM), SIGTERM);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(sigqueue(getpid(), last, (union sigval){.sival_int = i}), 0);
    }
    for (int i = 0; i < n; i++) {
        CHECK_EQ(taken(last), last);
    }
    CHECK_EQ(taken(last), -ETIMEDOUT);
    CHECK_EQ(thrum_signal_release(SIGTERM), 0);
    CHECK_EQ(thrum_signal_release(last), 0);
}

static int mask_body(void *arg) {
    sigset_t all;
    (void)arg;
    CHECK_EQ(thrum_signal_wait(usr1, 1, soon()), -ETIMEDOUT);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &all), 0);
    CHECK(sigismember(&all, SIGUSR1) == 1 && sigismember(&all, SIGTERM) == 1);
    return 0;
}

TEST(masks_stay) {
    /* Those of workers and of the main thread; a call of the system goes on behind a signal. */
    sigset_t now;
    rig_do(2, mask_body, NULL);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
    CHECK_EQ(sigismember(&now, SIGUSR1), 0);
}

TEST(flags_of_the_program_stay) {
    /* Its handler interrupts calls if it asked for that; without a handler none is interrupted. */
    set(SIGUSR1, (struct sigaction){.sa_handler = plain});
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    CHECK_EQ(get(SIGUSR1).sa_flags & SA_RESTART, 0);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK_EQ(thrum_signal_catch(SIGUSR2), 0);
    CHECK(get(SIGUSR2).sa_flags & SA_RESTART);
    CHECK_EQ(thrum_signal_release(SIGUSR2), 0);
    set(SIGCHLD, (struct sigaction){.sa_handler = SIG_IGN});
    CHECK_EQ(thrum_signal_catch(SIGCHLD), 0);
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    CHECK_EQ(waitpid(child, NULL, 0), -1); /* it left nothing behind */
    CHECK_EQ(errno, ECHILD);
    CHECK_EQ(thrum_signal_release(SIGCHLD), 0);
}

/* ---- forks ---- */

static void check_ended_well(pid_t child) {
    int status = 0;
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

static int wait_in_child(void *arg) {
    (void)arg;
    return thrum_signal_wait(usr1, 1, THRUM_FOREVER) - SIGUSR1;
}

TEST(a_child_of_a_fork_catches_its_own) {
    /* What the parent caught, and what it was sent, is not the child's; both then wait alike. */
    rig r;
    rig_begin(&r, 2);
    rig_go(&r, wait_in_child, NULL);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_signal_catch(SIGUSR2), 0);
    CHECK_EQ(raise(SIGUSR2), 0);
    const pid_t child = fork();
    if (child == 0) {
        CHECK(get(SIGUSR1).sa_handler == SIG_DFL && get(SIGUSR2).sa_handler == SIG_DFL);
        CHECK_EQ(taken(SIGUSR2), -ETIMEDOUT);
        round_of(SIGUSR2);
        if (UNDER_TSAN || UNDER_ASAN) { /* no threads there; or an allocator that stays locked */
            _exit(0);
        }
        rig inner;
        rig_begin(&inner, 2);
        rig_go(&inner, wait_in_child, NULL);
        CHECK_EQ(thrum_sched_wait_idle(inner.sched, THRUM_FOREVER), 0);
        CHECK_EQ(raise(SIGUSR1), 0);
        rig_stop(&inner);
        CHECK(get(SIGUSR1).sa_handler == SIG_DFL);
        _exit(0);
    }
    check_ended_well(child);
    CHECK_EQ(taken(SIGUSR2), SIGUSR2);
    CHECK_EQ(taken(SIGUSR2), -ETIMEDOUT);
    CHECK_EQ(thrum_signal_release(SIGUSR2), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    rig_stop(&r);
}

static void *catch_and_release(void *seat) {
    atomic_bool *end = ((crew_seat *)seat)->arg;
    while (!atomic_load(end)) {
        CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
        CHECK_EQ(thrum_signal_wait(usr1, 1, 0), -ETIMEDOUT);
        CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    }
    return NULL;
}

TEST(forks_while_others_catch) {
    /* The child can, whatever a thread of the parent was in the middle of. */
    atomic_bool end = false;
    crew c;
    round_of(SIGUSR1); /* the first one of a process has a fork watched */
    crew_start(&c, 2, catch_and_release, &end);
    for (int i = 0; i < SCALED(100); i++) {
        const pid_t child = fork();
        if (child == 0) {
            round_of(SIGUSR1);
            round_of(SIGUSR2);
            _exit(0);
        }
        check_ended_well(child);
    }
    atomic_store(&end, true);
    crew_join(&c);
    CHECK(get(SIGUSR1).sa_handler == SIG_DFL);
}

/* ---- signals that linger ---- */

#define LONG_AGO 1

static void linger(int number, int64_t until) {
    CHECK_EQ(thrum_signal_catch(number), 0);
    CHECK_EQ(th_signal_release_lingering(number, until), 0);
}

TEST(a_signal_that_lingers_is_let_pass) {
    /* Nobody gets it, it does nothing, and the next catch is as any. */
    linger(SIGUSR1, INT64_MAX);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(thrum_signal_release(SIGUSR1), -EINVAL);
    CHECK_EQ(taken(SIGUSR1), -ETIMEDOUT);
    round_of(SIGUSR1);
    CHECK(get(SIGUSR1).sa_handler == SIG_DFL);
    CHECK_EQ(th_signal_release_lingering(SIGUSR1, INT64_MAX), -EINVAL);
    CHECK_EQ(th_signal_release_lingering(0, INT64_MAX), -EINVAL);
}

TEST(another_user_keeps_it_caught) {
    /* Only the last one's release lets it linger. */
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    linger(SIGUSR1, LONG_AGO);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(taken(SIGUSR1), SIGUSR1);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK(get(SIGUSR1).sa_handler == SIG_DFL);
}

static void ends_by(int number) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        linger(number, LONG_AGO);
        (void)raise(number);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == number);
}

/* The child says whether it was continued. Others may stop it as well, and continue it. */
static void stops_by(int number) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        set(SIGCONT, (struct sigaction){.sa_handler = plain});
        linger(number, LONG_AGO);
        (void)raise(number);
        _exit(called == 0);
    }
    int status;
    do {
        CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
        CHECK_EQ(WIFSTOPPED(status) ? kill(child, SIGCONT) : 0, 0);
    } while (WIFSTOPPED(status));
    CHECK_EQ(status, 0);
}

TEST(what_lingered_does_what_it_did_by_default) {
    /* It ends the process, stops it, or does nothing. */
    ends_by(SIGTERM);
    ends_by(SIGALRM);
    linger(SIGCHLD, LONG_AGO);
    CHECK_EQ(raise(SIGCHLD), 0);
    linger(SIGWINCH, LONG_AGO);
    CHECK_EQ(raise(SIGWINCH), 0);
    stops_by(SIGTSTP);
}

TEST(what_lingered_does_what_the_program_had_set) {
    /* Ignored, a handler, and one that the program sets meanwhile, which stays. */
    set(SIGUSR1, (struct sigaction){.sa_handler = SIG_IGN});
    linger(SIGUSR1, LONG_AGO);
    CHECK_EQ(raise(SIGUSR1), 0);
    set(SIGUSR2, (struct sigaction){.sa_handler = plain});
    linger(SIGUSR2, LONG_AGO);
    CHECK_EQ(raise(SIGUSR2), 0);
    CHECK_EQ(called, SIGUSR2);
    called = 0;
    CHECK_EQ(thrum_signal_catch(SIGTERM), 0);
    set(SIGTERM, (struct sigaction){.sa_handler = plain});
    CHECK_EQ(th_signal_release_lingering(SIGTERM, LONG_AGO), 0);
    CHECK_EQ(raise(SIGTERM), 0);
    CHECK_EQ(called, SIGTERM);
    CHECK(get(SIGTERM).sa_handler == plain);
}

TEST(a_handler_over_one_that_lingers) {
    /* The next catch comes before it, and does not make the two call each other. */
    linger(SIGUSR1, INT64_MAX);
    set(SIGUSR1, (struct sigaction){.sa_handler = plain});
    round_of(SIGUSR1);
    CHECK_EQ(called, SIGUSR1);
    CHECK(get(SIGUSR1).sa_handler == plain);
}

TEST(in_the_child_of_a_fork_nothing_lingers) {
    /* It does there what it did before, at once. */
    linger(SIGTERM, INT64_MAX);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        (void)raise(SIGTERM);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

TEST(an_ignored_signal_may_have_the_flag_of_a_handler) {
    /* The value says that there is no function to call; also for the default. */
    set(SIGUSR1, (struct sigaction){.sa_handler = SIG_IGN, .sa_flags = SA_SIGINFO});
    round_of(SIGUSR1);
    CHECK(get(SIGUSR1).sa_handler == SIG_IGN);
    set(SIGUSR2, (struct sigaction){.sa_handler = SIG_DFL, .sa_flags = SA_SIGINFO});
    round_of(SIGUSR2);
    CHECK(get(SIGUSR2).sa_handler == SIG_DFL);
}

static atomic_bool over;

static void *catches_and_releases(void *arg) {
    while (!atomic_load(&over)) {
        CHECK_EQ(thrum_signal_catch(SIGTERM), 0);
        CHECK_EQ(thrum_signal_release(SIGTERM), 0);
    }
    return arg;
}

TEST(a_child_beside_a_release_has_nothing_caught) {
    /* Whatever the other thread is about at the fork. */
    pthread_t thread;
    round_of(SIGTERM); /* the first one registers what is done at forks */
    CHECK_EQ(pthread_create(&thread, NULL, catches_and_releases, NULL), 0);
    for (int i = 0; i < SCALED(200); i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            _exit(get(SIGTERM).sa_handler == SIG_DFL ? 0 : 1);
        }
        int status;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    atomic_store(&over, true);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}
