/*
 * dump_signal_kept.c: what becomes of a signal that asks for dumps: what the program had set for
 * it, sets later, or waits for; forks; and what is there after the last stop.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 */
#include "support/asked.h"

#include "platform/faults.h"

#include <thrum/signal.h>

/* ---- what the program does with the signal ---- */

static volatile sig_atomic_t called;

static void counts(int number) {
    called += number;
}

static void set(int number, void (*handler)(int)) {
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    CHECK_EQ(sigaction(number, &action, NULL), 0);
}

TEST(a_handler_from_before_is_called_as_well) {
    /* It is the program's again after the stop. */
    rig r;
    set(SIGUSR1, counts);
    begin(&r, "both", SIGUSR1);
    capture_begin();
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, SIGUSR1);
    await_dump("both");
    await("worker 0 ");
    capture_end();
    rig_stop(&r);
    CHECK(action_of(SIGUSR1).sa_handler == counts);
}

TEST(a_later_handler_stays) {
    /* It replaces ours: nothing is dumped, and a stop leaves it. */
    rig r;
    begin(&r, "later", SIGUSR1);
    set(SIGUSR1, counts);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, SIGUSR1);
    rig_stop(&r);
    CHECK(action_of(SIGUSR1).sa_handler == counts);
    begin(&r, "over it", SIGUSR1); /* the next start comes before it again */
    capture_begin();
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, 2 * SIGUSR1);
    await_dump("over it");
    await("worker 0 ");
    capture_end();
    rig_stop(&r);
    CHECK(action_of(SIGUSR1).sa_handler == counts);
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

static int taken(void) {
    return thrum_signal_wait(&(int){SIGUSR1}, 1, 0);
}

TEST(those_that_wait_for_the_signal_get_it_too) {
    /* Whichever of the two lets go of it first, the other has it still. */
    rig r;
    begin(&r, "shared", SIGUSR1);
    capture_begin();
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    await_dump("shared");
    await("worker 0 ");
    CHECK_EQ(taken(), SIGUSR1);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    await_dump("shared");
    await("worker 0 ");
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    capture_end();
    rig_stop(&r);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(taken(), SIGUSR1);
    CHECK_EQ(taken(), -ETIMEDOUT);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK(is_default(SIGUSR1));
}

TEST(one_that_catches_it_over_a_handler_of_the_program) {
    /* The second catch comes before what the program has set since the first; both have it then. */
    rig r;
    begin(&r, "over", SIGUSR1);
    set(SIGUSR1, counts);
    CHECK_EQ(thrum_signal_catch(SIGUSR1), 0);
    capture_begin();
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, SIGUSR1);
    await_dump("over");
    await("worker 0 ");
    capture_end();
    CHECK_EQ(taken(), SIGUSR1);
    rig_stop(&r);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(called, 2 * SIGUSR1);
    CHECK_EQ(taken(), SIGUSR1);
    CHECK_EQ(thrum_signal_release(SIGUSR1), 0);
    CHECK(action_of(SIGUSR1).sa_handler == counts);
}

TEST(a_signal_that_cannot_ask_is_refused) {
    /* No number of a signal, one that cannot be caught, a fault, one that a thread causes. */
    static const int bad[] = {-1, 65, 1000, SIGKILL, SIGSTOP, SIGSEGV, SIGABRT, SIGPIPE, 32, 33};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        rig r;
        rig_init(&r);
        r.config.dump_signal = bad[i];
        CHECK_EQ(thrum_sched_start(&r.sched, &r.config), -EINVAL);
        rig_check_freed(&r);
    }
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

/* The thread after those of its workers is refused. */
static void init_without_printer(rig *r) {
    rig_init(r);
    r->config.workers = (unsigned)check_env("THRUM_WORKERS", 2);
    r->config.dump_signal = SIGUSR1;
    th_os_fail(TH_OS_FAULT_THREAD, r->config.workers, 1);
}

TEST(what_the_environment_wishes_for_is_no_reason_not_to_start) {
    /* There is no thread for dumps: one line says so. A config that asks for them is refused. */
    rig r;
    CHECK_EQ(setenv("THRUM_DUMP", "sigusr1", 1), 0);
    init_without_printer(&r);
    capture_begin();
    rig_start(&r);
    await("thrum: THRUM_DUMP: no dumps at SIGUSR1: ");
    capture_end();
    CHECK(is_default(SIGUSR1));
    rig_stop(&r);
    CHECK_EQ(unsetenv("THRUM_DUMP"), 0);
    init_without_printer(&r);
    CHECK_EQ(thrum_sched_start(&r.sched, &r.config), -EAGAIN);
    CHECK(is_default(SIGUSR1));
    no_printer_is_left();
}

/* ---- forks, and what is there after the end ---- */

static int status_of(void (*fn)(void)) {
    int status = 0;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        alarm(30);
        fn();
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

static void starts_and_stops(void) {
    rig r;
    make_default(SIGQUIT);
    begin(&r, "quit", SIGQUIT);
    rig_stop(&r);
    raise(SIGQUIT);
}

TEST(the_default_is_there_again_after_the_last_stop) {
    /* SIGQUIT ends the program as it always did. */
    const int status = status_of(starts_and_stops);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGQUIT);
}

static void raises(void) {
    raise(SIGUSR1);
}

static void starts_its_own(void) {
    rig r;
    CHECK(is_default(SIGUSR1));
    CHECK_EQ(printers(), 0);
    if (UNDER_TSAN || UNDER_ASAN) /* no threads there; or an allocator that stays locked */
        return;
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

static void catches_anew(void) {
    if (UNDER_TSAN || UNDER_ASAN) /* as above */
        return;
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
