/*
 * dump_signal_sent.c: dumps at signals as only POSIX has them: masks, handlers that are set too
 * often, storms from other threads, limits, forks.
 */
/* POSIX: sigset_t, RLIMIT_NOFILE, SIGPIPE, fork */
/* matrix: policy workers */
#include "support/report/asked.h"
#include "support/times.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <thrum/signal.h>

static thrum_sem sem;

/* ---- masks, and handlers ---- */

static volatile sig_atomic_t called;

static void counts(int number) {
    called += number;
    signal_again(number, counts);
}

static void set(int number, void (*handler)(int)) {
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    CHECK_EQ(sigaction(number, &action, NULL), 0);
}

TEST(a_start_leaves_the_mask_as_it_is) {
    /* Of the thread that starts the scheduler. */
    sigset_t before, after;
    rig r;
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    begin(&r, "asked", SIGUSR1);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    for (int i = 1; i < 32; i++) {
        CHECK_EQ(sigismember(&before, i), sigismember(&after, i));
    }
    rig_stop(&r);
}

TEST(a_signal_that_is_blocked_everywhere_stays_so) {
    /* The program waits for it itself, and gets it. */
    sigset_t set_of_one;
    rig r;
    sigemptyset(&set_of_one);
    sigaddset(&set_of_one, SIGUSR1);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set_of_one, NULL), 0);
    begin(&r, "blocked", SIGUSR1);
    CHECK_EQ(kill(getpid(), SIGUSR1), 0);
    int got = 0;
    CHECK_EQ(sigwait(&set_of_one, &got), 0);
    CHECK_EQ(got, SIGUSR1);
    rig_stop(&r);
}

TEST(a_start_says_that_the_program_was_before_it_too_often) {
    /* It leaves nothing behind; schedulers that ask for no dumps start all the same. */
    int code = 0;
    int n = 0;
    rig r;
    while (code == 0 && n < 100) {
        set(SIGUSR1, counts);
        rig_init(&r);
        r.config.dump_signal = SIGUSR1;
        code = thrum_sched_start(&r.sched, &r.config);
        if (code == 0) {
            set(SIGUSR1, counts);
            CHECK_EQ(thrum_sched_stop(r.sched), 0);
        }
        n++;
    }
    CHECK(n >= 2);
    CHECK_EQ(code, -EBUSY);
    rig_check_freed(&r);
    no_printer_is_left();
    begin(&r, "plain", 0);
    rig_stop(&r);
}

/* ---- storms ---- */

static atomic_bool over;

static void *signals_on(void *seat_arg) {
    (void)seat_arg;
    while (!atomic_load(&over)) {
        CHECK_EQ(kill(getpid(), SIGUSR1), 0);
        sched_yield();
    }
    return NULL;
}

static int passes_by(void *arg) {
    (void)arg;
    const int code = thrum_sem_wait_until(&sem, soon());
    CHECK(code == 0 || code == -ETIMEDOUT);
    return 0;
}

TEST(signals_come_while_schedulers_start_and_stop) {
    /* A stop waits for the dump that is being printed, and none comes after it. */
    rig keeps;
    rig r;
    crew c;
    const int kept = dup(STDERR_FILENO);
    FILE *sink = fopen("/dev/null", "w");
    CHECK(kept >= 0 && sink);
    thrum_sem_init(&sem, 0);
    begin(&keeps, "keeps", SIGUSR1);
    CHECK_EQ(dup2(fileno(sink), STDERR_FILENO), STDERR_FILENO);
    crew_start(&c, 2, signals_on, NULL);
    for (int round = 0; round < SCALED(40); round++) {
        begin(&r, "comes and goes", SIGUSR1);
        for (int i = 0; i < 20; i++) {
            rig_go(&r, passes_by, NULL);
        }
        rig_stop(&r);
    }
    atomic_store(&over, true);
    crew_join(&c);
    CHECK_EQ(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    close(kept);
    fclose(sink);
    rig_stop(&keeps);
    CHECK(is_default(SIGUSR1));
}

/* ---- names ---- */

static int named(const char *text) {
    thrum_config c;
    CHECK_EQ(setenv("THRUM_DUMP", text, 1), 0);
    thrum_config_init(&c);
    CHECK_EQ(unsetenv("THRUM_DUMP"), 0);
    return c.dump_signal;
}

TEST(names_of_more_signals) {
    /* Real-time ones are counted from either end. */
    CHECK_EQ(named("quit"), SIGQUIT);
    CHECK_EQ(named("Usr1"), SIGUSR1);
    CHECK_EQ(named("sigprof"), SIGPROF);
    CHECK_EQ(named("SigRtMin"), SIGRTMIN);
    CHECK_EQ(named("rtmin+1"), SIGRTMIN + 1);
    CHECK_EQ(named("RTMAX"), SIGRTMAX);
    CHECK_EQ(named("SIGRTMAX-3"), SIGRTMAX - 3);
    CHECK_EQ(named("12"), 12);
}

/* ---- limits, and a reader that has gone ---- */

static atomic_int larges;

static void *counts_large(void *ctx, size_t size) {
    (void)ctx;
    atomic_fetch_add(&larges, size >= 32768); /* what a dump takes for the calls */
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void frees(void *ctx, void *ptr) {
    (void)ctx;
    free(ptr);
}

TEST(a_program_that_may_open_nothing_is_dumped) {
    /* Some programs forbid themselves more descriptors; then the system refuses to poll. */
    struct rlimit limit;
    rig r;
    begin(&r, "poor", SIGUSR1);
    capture_begin();
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 0;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    await_dump("poor");
    await("worker 0 ");
    limit.rlim_cur = before;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    capture_end();
    rig_stop(&r);
}

TEST(a_reader_that_has_gone_does_not_end_the_program) {
    /* Stderr is a pipe that nobody reads any more, and SIGPIPE does what it does by default. */
    rig r;
    rig_init(&r);
    r.config.name = "unread";
    r.config.dump_signal = SIGUSR1;
    r.config.alloc = counts_large;
    r.config.free = frees;
    CHECK(is_default(SIGPIPE));
    rig_start(&r);
    capture_begin();
    CHECK_EQ(close(caught.out), 0);
    caught.out = open("/dev/null", O_RDONLY);
    for (int i = 0; i < 4;
         i++) { /* more than one dump takes: so one has been written, for nothing */
        const int before = atomic_load(&larges);
        CHECK_EQ(raise(SIGUSR1), 0);
        SPIN_UNTIL(atomic_load(&larges) > before);
    }
    capture_end();
    rig_stop(&r);
}

/* ---- forks ---- */

static int status_of(void (*fn)(void)) {
    int status = 0;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        check_end_in_time();
        fn();
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

static void raises(void) {
    raise(SIGUSR1);
}

static void starts_its_own(void) {
    rig r;
    CHECK(is_default(SIGUSR1));
    CHECK_EQ(printers(), 0);
    if (UNDER_TSAN || UNDER_ASAN) { /* no threads there; or an allocator that stays locked */
        return;
    }
    begin(&r, "child", SIGUSR1);
    capture_begin();
    unwanted = "parent";
    raise(SIGUSR1);
    await_dump("child");
    await("worker 0 ");
    capture_end();
    CHECK_EQ(printers(), 1);
    rig_stop(&r);
    CHECK(is_default(SIGUSR1));
}

TEST(a_forked_child_has_the_signal_as_it_was) {
    /* The parent's schedulers are none of its own; one of its own is dumped. */
    NOT_BY_POSIX("names of threads");
    rig r;
    begin(&r, "parent", SIGUSR1);
    int status = status_of(raises);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGUSR1);
    CHECK_EQ(status_of(starts_its_own), 0);
    capture_begin();
    CHECK_EQ(raise(SIGUSR1), 0);
    await_dump("parent");
    await("worker 0 ");
    capture_end();
    rig_stop(&r);
}

static int taken(void) {
    return thrum_signal_wait(&(int){SIGUSR1}, 1, 0);
}

static void catches_anew(void) {
    if (UNDER_TSAN || UNDER_ASAN) { /* as above */
        return;
    }
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(taken(), SIGUSR1);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK(is_default(SIGUSR1));
}

TEST(a_forked_child_lets_go_for_all_that_caught_it) {
    /* Tasks waited for the signal as well: nothing is left of either. */
    rig r;
    begin(&r, "parent", SIGUSR1);
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    const int status = status_of(raises);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGUSR1);
    CHECK_EQ(status_of(catches_anew), 0);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    rig_stop(&r);
}
