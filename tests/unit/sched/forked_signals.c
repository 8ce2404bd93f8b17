/*
 * forked_signals.c: the signals of what tasks fork, and those that a task brings upon itself.
 */
/* POSIX: fork */
#include "support/support.h"

#include <spawn.h>
#include <sys/resource.h>

extern char **environ;

static int wait_for(pid_t child) {
    int status = 0;
    CHECK(child >= 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

/* Runs a shell that ends itself by SIGTERM, or, if that is blocked, by status 5. */
static char shell[] = "/bin/sh";
static char option[] = "-c";
static char script[] = "kill -TERM $$; exit 5";
static char *const shell_args[] = {shell, option, script, NULL};

static int exec_shell(void *arg) {
    (void)arg;
    const pid_t child = fork();
    if (child == 0) {
        execv(shell, shell_args);
        _exit(9);
    }
    return wait_for(child);
}

static int blocking_shell(void *arg) {
    int status = 0;
    CHECK_EQ(thrum_blocking(exec_shell, arg, &status), 0);
    return status;
}

static void check_terminated(int status) {
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGTERM);
}

TEST(what_a_task_executes_can_be_signalled) {
    /* A worker executes it, and the blocking pool, which a worker has started. */
    rig r;
    rig_begin(&r, 2);
    check_terminated(rig_run(&r, exec_shell, NULL));
    check_terminated(rig_run(&r, blocking_shell, NULL));
    rig_stop(&r);
}

/* The caller's mask in a child of its own, as the child sees it: bit n is signal n. */
static int64_t mask_of_child(void) {
    int64_t bits = 0;
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        sigset_t set;
        CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &set), 0);
        for (int i = 1; i < 32; i++) {
            bits |= sigismember(&set, i) == 1 ? (int64_t)1 << i : 0;
        }
        CHECK_EQ(write(ends[1], &bits, sizeof bits), sizeof bits);
        _exit(0);
    }
    CHECK_EQ(read(ends[0], &bits, sizeof bits), sizeof bits);
    close(ends[0]);
    close(ends[1]);
    CHECK_EQ(wait_for(child), 0);
    return bits;
}

static int64_t seen;

static int look(void *arg) {
    (void)arg;
    seen = mask_of_child();
    return 0;
}

static int block_one_and_look(void *arg) {
    sigset_t one;
    sigset_t before;
    (void)arg;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &one, &before), 0);
    seen = mask_of_child();
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    return 0;
}

TEST(the_child_of_a_task_has_the_mask_of_the_starter) {
    /*
     * The mask is that of the thread that started the scheduler; what the task has set itself
     * stays.
     */
    rig r;
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &some, NULL), 0);
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, look, NULL), 0);
    CHECK_EQ(seen, (int64_t)1 << SIGUSR1);
    CHECK_EQ(rig_run(&r, block_one_and_look, NULL), 0);
    CHECK((seen & (int64_t)1 << SIGPIPE) != 0);
    CHECK((seen & (int64_t)1 << SIGTERM) != 0);
    CHECK_EQ(mask_of_child(), (int64_t)1 << SIGUSR1); /* the program's own threads keep theirs */
    rig_stop(&r);
}

static int spawn_shell(void *arg) {
    posix_spawnattr_t attr;
    sigset_t none;
    pid_t child = 0;
    (void)arg;
    sigemptyset(&none);
    CHECK_EQ(posix_spawnattr_init(&attr), 0);
    CHECK_EQ(posix_spawnattr_setsigmask(&attr, &none), 0);
    CHECK_EQ(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK), 0);
    CHECK_EQ(posix_spawn(&child, shell, NULL, &attr, shell_args, environ), 0);
    CHECK_EQ(posix_spawnattr_destroy(&attr), 0);
    return wait_for(child);
}

TEST(posix_spawn_is_told_the_mask) {
    /*
     * posix_spawn runs no handlers of forks, so the caller names the mask: as docs/fork.md
     * shows.
     */
    rig r;
    rig_begin(&r, 1);
    check_terminated(rig_run(&r, spawn_shell, NULL));
    rig_stop(&r);
}

/* ---- signals that a task causes itself ---- */

static int write_to_closed_pipe(void *arg) {
    (void)arg;
    for (int i = 0; i < 100; i++) {
        if (puts("nobody reads this") == EOF) {
            clearerr(stdout);
        }
        fflush(stdout);
    }
    return 3; /* it has not ended by the signal */
}

static int write_too_much(void *arg) {
    (void)arg;
    const struct rlimit limit = {1, 1};
    FILE *file = tmpfile();
    CHECK(file != NULL);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < 100; i++) {
        fputs("beyond the limit", file);
        fflush(file);
    }
    return 3;
}

/* Runs a scheduler in a process whose standard output has no reader. */
static int status_of_run(thrum_fn fn, unsigned workers, bool block) {
    int ends[2];
    fflush(stdout);
    CHECK_EQ(pipe(ends), 0);
    close(ends[0]); /* before anything is written */
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        thrum_config config;
        sigset_t set;
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        sigemptyset(&set);
        sigaddset(&set, SIGPIPE);
        CHECK_EQ(pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL), 0);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[1]);
        check_end_in_time();
        thrum_config_init(&config);
        config.workers = workers;
        _exit(thrum_run(&config, fn, NULL));
    }
    close(ends[1]);
    return wait_for(child);
}

TEST(a_write_to_a_closed_pipe_ends_the_process) {
    /* It does so on any thread: otherwise `program | head` would write for ever. */
    for (unsigned workers = 0; workers <= 2; workers++) {
        const int status = status_of_run(write_to_closed_pipe, workers, false);
        CHECK(WIFSIGNALED(status));
        CHECK_EQ(WTERMSIG(status), SIGPIPE);
    }
}

TEST(a_program_that_blocks_it_is_told_by_errno) {
    /* The thread that starts the scheduler decides. */
    for (unsigned workers = 0; workers <= 2; workers++) {
        const int status = status_of_run(write_to_closed_pipe, workers, true);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 3);
    }
}

TEST(a_file_beyond_its_limit_ends_the_process) {
    /* The signal ends it as on any thread. */
    const int status = status_of_run(write_too_much, 1, false);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGXFSZ);
}
