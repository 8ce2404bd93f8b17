/*
 * recorder_sent.c: the flight recorder where systems are POSIX ones: whose the file is, links and
 * pipes where it is written, signals that others send, children.
 */
/* POSIX: symlink, mkfifo, SIGPIPE, vfork */
/* matrix: policy workers */
#define _GNU_SOURCE
#include "support/report/asked.h"
#include "support/report/recorded.h"
#include "support/io/unread.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- where it is written ---- */

TEST(the_file_is_the_owners_alone) {
    /* Whatever the process's mask is. */
    struct stat st;
    rig r;
    folder_make();
    recorded_init(&r, "asked");
    r.config.dump_signal = SIGUSR1;
    umask(0);
    capture_begin();
    rig_start(&r);
    CHECK_EQ(raise(SIGUSR1), 0);
    await("/t.json\n");
    capture_end();
    CHECK_EQ(stat(path, &st), 0);
    CHECK_EQ(st.st_mode & 0777, 0600);
    rig_stop(&r);
    folder_end();
}

TEST(a_file_that_cannot_be_written_is_told) {
    /* And the scheduler goes on; a link is neither followed nor replaced. */
    rig r;
    struct stat status;
    folder_make();
    CHECK_EQ(symlink("/dev/null", path), 0);
    recorded_init(&r, "refused");
    r.config.dump_signal = SIGUSR1;
    capture_begin();
    rig_start(&r);
    CHECK_EQ(raise(SIGUSR1), 0);
    await("thrum: the latest of scheduler \"refused\" cannot be written to ");
    capture_end();
    run(&r, run_some, NULL);
    rig_stop(&r);
    CHECK(lstat(path, &status) == 0 && S_ISLNK(status.st_mode));
    folder_end();
}

TEST(what_lies_where_it_is_written_first_is_replaced) {
    /* A pipe that nobody reads holds nothing up, and a link's file stays what it was. */
    rig r;
    char part[200], victim[200];
    size_t length;
    folder_make();
    snprintf(part, sizeof(part), "%s.%d.part", path, (int)getpid());
    snprintf(victim, sizeof(victim), "%s.victim", path);
    const int fd = open(victim, O_WRONLY | O_CREAT, 0600);
    CHECK_EQ(write(fd, "kept", 4), 4);
    close(fd);
    recorded_init(&r, "replaced");
    r.config.dump_signal = SIGUSR1;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(i ? link(victim, part) : mkfifo(part, 0600), 0);
        capture_begin();
        if (i == 0) {
            rig_start(&r);
        }
        CHECK_EQ(raise(SIGUSR1), 0);
        await("thrum: the latest of scheduler \"replaced\" is in ");
        capture_end();
        trace_page p = trace_of_file(path);
        trace_end(&p);
    }
    rig_stop(&r);
    char *text = content(victim, &length);
    CHECK_STR(text, "kept");
    free(text);
    CHECK_EQ(unlink(victim), 0);
    folder_end();
}

/* ---- crashes ---- */

/* A fault that does not come again when the instruction is repeated: its page is there by then. */
static void faults_once(void) {
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    info.si_signo = SIGSEGV;
    info.si_code = SEGV_MAPERR;
    info.si_addr = (void *)(uintptr_t)16;
    CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGSEGV, &info), 0);
}

/* What it says goes nowhere. */
static void segfaults_unheard(void) {
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    segfaults();
}

/* What it says waits for a reader. */
static void segfaults_unread(void) {
    static unread u;
    unread_begin(&u);
    segfaults();
}

static void traps(void) {
    raise(SIGILL);
}

TEST(a_fault_that_would_not_repeat_ends_the_process) {
    /* It is sent again, with its address. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = faults_once}, SIGSEGV, "thrum: SIGSEGV at 0x10 on worker ");
}

TEST(a_crash_that_nobody_hears_of_is_recorded) {
    /*
     * Stderr is a pipe without a reader, or one that is full and that nobody reads: the process
     * ends by the crash's signal all the same.
     */
    SKIP_IF_SANITIZED();
    static void (*const hows[])(void) = {segfaults_unheard, segfaults_unread};
    for (size_t i = 0; i < COUNT_OF(hows); i++) {
        char log[4096];
        folder_make();
        const int status = status_of(&(crash){.how = hows[i]}, log);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        trace_page p = trace_of_file(path);
        trace_end(&p);
        folder_end();
    }
}

static void crash_in_a_vfork(void) {
    const pid_t child = vfork();
    if (child == 0) {
        segfaults();
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK_EQ(write(STDERR_FILENO, "it has ended\n", 13), 13);
    segfaults();
}

TEST(a_child_by_vfork_is_not_taken_for_the_process) {
    /* It crashes in the memory of the process, whose own crash is told afterwards. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = crash_in_a_vfork}, SIGSEGV,
                "it has ended\nthrum: SIGSEGV at 0x10 on worker ");
}

TEST(other_signals_by_which_programs_crash) {
    /* Also when another process, or raise, has sent them: then there is no address. */
    SKIP_IF_SANITIZED();
    check_crash(&(crash){.how = aborts}, SIGABRT, "thrum: SIGABRT on worker ");
    check_crash(&(crash){.how = traps}, SIGILL, "thrum: SIGILL on worker ");
    check_crash(&(crash){.how = divides}, SIGFPE, "thrum: SIGFPE on worker ");
}
