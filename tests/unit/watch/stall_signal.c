/*
 * stall_signal.c: the signal by which a task that stalls is asked where it is: which one it is, and
 * that neither the task nor the program notices it.
 */
/* POSIX: sigaction */
#include "support/report/stalls.h"

static atomic_int caught;

static void catch_it(int number) {
    (void)number;
    atomic_fetch_add(&caught, 1);
}

static void set_action(int number) {
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = catch_it;
    CHECK_EQ(sigaction(number, &action, NULL), 0);
}

/* Has a task stall. Whether its thread was seen to run. */
static bool stall_runs(rig *r, stall *s, thrum_fn fn) {
    atomic_store(&reports, 0);
    stall_begin(r, s, NULL, fn);
    CHECK_REPORTED(1);
    stall_end(s);
    rig_wait_done(r);
    return was_computing(0);
}

static void check_blind(rig *r, const char *why) {
    while (!stall_runs(r, &stalls[0], crunch)) {
    }
    rig_stop(r);
    check_told(0, WITH_FUNCTION("(", crunch, ") runs on worker 0 for "));
    check_told(0, has_states() ? why : "its calls are not known: the system does not give them\n");
    CHECK_EQ(atomic_load(&caught), 0);
}

/* The signal by which threads are asked, or why there is none. */
static int signal_of(const rig *r) {
    return r->sched->stalls.signal;
}

static void needs_questions(const rig *r) {
    if (signal_of(r) == -ENOSYS) {
        CHECK_SKIP("no thread can be asked by a signal on this processor or system");
    }
}

TEST(a_signal_of_the_program_is_left_alone) {
    /* The report comes without calls. */
    struct sigaction now;
    rig r;
    watched_init(&r, 1);
    set_action(SIGUSR1);
    r.config.stall_signal = SIGUSR1;
    rig_start(&r);
    check_blind(&r, "its calls are not known: there is no signal for it\n");
    CHECK_EQ(sigaction(SIGUSR1, NULL, &now), 0);
    CHECK(now.sa_handler == catch_it);
}

TEST(a_signal_that_the_program_takes_later_is_left_alone) {
    /* It is not sent any more. */
    struct sigaction now;
    rig r;
    watched_init(&r, 1);
    r.config.stall_signal = SIGUSR1;
    rig_start(&r);
    set_action(SIGUSR1);
    check_blind(&r, "its calls are not known: there is no signal for it\n");
    CHECK_EQ(sigaction(SIGUSR1, NULL, &now), 0);
    CHECK(now.sa_handler == catch_it);
}

TEST(a_fault_is_no_signal_for_it) {
    /* Nor is one that cannot be caught. */
    static const unsigned numbers[] = {SIGKILL, SIGSEGV, SIGPIPE, 33};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        rig r;
        watched_init(&r, 1);
        r.config.stall_signal = numbers[i];
        rig_start(&r);
        check_blind(&r, "its calls are not known: there is no signal for it\n");
    }
}

TEST(no_signal_is_wanted) {
    /* With 0 none is sent. */
    rig r;
    watched_init(&r, 1);
    r.config.stall_signal = 0;
    rig_start(&r);
    check_blind(&r, "its calls are not known: stall_signal is 0\n");
}

TEST(the_signal_for_dumps_is_not_chosen) {
    /* It would have been, as the highest of those that are free. */
    rig r;
    watched_init(&r, 1);
    r.config.dump_signal = SIGRTMAX - 1;
    rig_start(&r);
    needs_questions(&r);
    CHECK_EQ(signal_of(&r), SIGRTMAX - 2);
    rig_stop(&r);
}

TEST(a_signal_is_chosen) {
    /* The highest real-time signal but the last that the program neither acts on nor blocks. */
    rig r;
    sigset_t set;
    set_action(SIGRTMAX - 1);
    CHECK_EQ(sigemptyset(&set), 0);
    CHECK_EQ(sigaddset(&set, SIGRTMAX - 2), 0);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
    watched_begin(&r, 1);
    needs_questions(&r);
    CHECK_EQ(signal_of(&r), SIGRTMAX - 3);
    rig_stop(&r);
    for (int i = SIGRTMIN; i < SIGRTMAX; i++) {
        set_action(i);
    }
    watched_begin(&r, 1);
    CHECK_EQ(signal_of(&r), -EBUSY);
    check_blind(&r, "its calls are not known: there is no signal for it\n");
}

TEST(it_is_given_back_by_the_last) {
    /* When both schedulers that share it have stopped it has its default action. */
    struct sigaction now;
    rig a, b;
    watched_begin(&a, 1);
    watched_begin(&b, 1);
    const int number = signal_of(&a);
    rig_stop(&a);
    CHECK(number <= 0 || (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_DFL));
    rig_stop(&b);
    CHECK(number <= 0 || (sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL));
}

/* Asks the worker's thread, which answers that it is on another stack. */
static void ask(const rig *r) {
    static th_os_answer answer;
    const int number = signal_of(r);
    const th_worker *worker = &r->sched->workers[0];
    const uint64_t tick = 1;
    const th_os_question question = {
        .number = th_load_relaxed(&worker->xtid),
        .low = 1,
        .high = 1,
        .xtick = &tick,
        .tick = 1,
    };
    CHECK_EQ(th_os_probe(number, &question, TH_FOREVER, &answer), -ESRCH);
}

TEST(a_read_is_not_interrupted) {
    /* Not even when its thread is asked: the handler restarts it. */
    rig r;
    watched_begin(&r, 1);
    if (signal_of(&r) <= 0 || UNDER_TSAN) {
        CHECK_SKIP("no signal, or the sanitizer has a read of its own");
    }
    stall_begin(&r, &stalls[0], NULL, block);
    CHECK_REPORTED(1); /* the read has begun */
    for (int i = 0; i < 100; i++) {
        ask(&r);
    }
    stall_end(&stalls[0]);
    rig_stop(&r);
}

TEST(others_who_send_the_signal_are_ignored) {
    /* Nothing is asked. */
    rig r;
    watched_init(&r, 1);
    r.config.stall_signal = SIGUSR2;
    rig_start(&r);
    needs_questions(&r);
    stall_begin(&r, &stalls[0], NULL, crunch);
    for (int i = 0; i < 100; i++) {
        const union sigval value = {.sival_int = i};
        CHECK_EQ(pthread_kill(stalls[0].thread, SIGUSR2), 0);
        CHECK_EQ(sigqueue(getpid(), SIGUSR2, value), 0);
    }
    CHECK_REPORTED(1);
    stall_end(&stalls[0]);
    rig_stop(&r);
    check_told(0, WITH_FUNCTION("(", crunch, ") runs on worker 0 for "));
}

static int crunch_without_signals(void *arg) {
    sigset_t all, before;
    sigfillset(&all);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
    const int code = crunch(arg);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    return code;
}

TEST(a_task_that_blocks_signals_is_told) {
    /* Without its calls: the thread does not answer, and late it answers nobody. */
    rig r;
    watched_begin(&r, 1);
    while (!stall_runs(&r, &stalls[0], crunch_without_signals)) {
    }
    stall_begin(&r, &stalls[1], NULL, crunch);
    CHECK_REPORTED(2);
    stall_end(&stalls[1]);
    check_told(0, WITH_FUNCTION("(", crunch_without_signals, ") runs on worker 0 for "));
    if (signal_of(&r) > 0) {
        check_told(0, "its calls are not known: its thread did not answer\n");
    }
    rig_stop(&r);
    check_told(1, WITH_FUNCTION("(", crunch, ") runs on worker 0 for "));
}

/* ---- small stacks ---- */

static __attribute__((noinline)) int crunch_deep(void *arg) {
    volatile char low[10 * 1024];
    for (size_t i = 0; i < sizeof(low); i += 64) {
        low[i] = (char)i;
    }
    return crunch(arg) + (low[64] == 1);
}

TEST(small_stacks_are_enough) {
    /* The handler uses another stack, also where overflows are not caught. */
    for (int i = 0; i < 4; i++) {
        rig r;
        watched_init(&r, 1);
        r.config.stack_size = UNDER_TSAN || UNDER_ASAN ? 64u << 10 : 16u << 10;
        r.config.catch_overflow = i % 2 != 0;
        r.config.guard = i < 2 ? THRUM_GUARD_AUTO : THRUM_GUARD_CANARY;
        rig_start(&r);
        while (!stall_runs(&r, &stalls[0], crunch_deep) ||
               (!UNDER_TSAN && is_told(0, "its thread did not answer"))) {
        }
        rig_stop(&r);
        check_told(0, WITH_FUNCTION("(", crunch_deep, ") runs on worker 0 for "));
        if (HAS_CALLS && !UNDER_TSAN && !is_told(0, "there is no signal")) {
            check_told(0, "(crunch_deep+0x");
        }
    }
}

/* ---- forks ---- */

static int mask_is_clean(int number) {
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    return sigismember(&set, SIGTERM) == 0 && sigismember(&set, number) == 0;
}

static void run_in_child(int number) {
    struct sigaction now;
    rig r;
    CHECK_EQ(sigaction(number, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);
    CHECK(mask_is_clean(number));
    atomic_store(&reports, 0);
    atomic_store(&keeping, false); /* the parent's watcher may have been in the middle of it */
    watched_begin(&r, 1);
    CHECK_EQ(signal_of(&r), number);
    stall_begin(&r, &stalls[1], NULL, crunch);
    CHECK_REPORTED(1);
    stall_end(&stalls[1]);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
}

static int fork_child(void *arg) {
    const int number = *(const int *)arg;
    int status = 0;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        run_in_child(number);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}

TEST(a_child_begins_anew) {
    /* It has the signal's default action and the program's mask, and watches by itself. */
    rig r;
    if (UNDER_TSAN) {
        CHECK_SKIP("that sanitizer lets no child of many threads start threads");
    }
    watched_begin(&r, 2);
    int number = signal_of(&r);
    if (number <= 0) {
        CHECK_SKIP("there is no signal");
    }
    stall_begin(&r, &stalls[0], NULL, crunch);
    CHECK_REPORTED(1);
    CHECK_EQ(fork_child(&number), 0);
    CHECK_EQ(rig_run(&r, fork_child, &number), 0);
    stall_end(&stalls[0]);
    rig_stop(&r);
}
