/*
 * process_end.c: handles that are closed before the program has ended; programs that wait for any
 * child, or ignore them; forks; misuse.
 */
/* POSIX: SIGCHLD, fork */
/* matrix: policy workers */
#include "support/io/processes.h"
#include "support/times.h"

#include <sys/ptrace.h>

/* A program that lives until `in` is closed. */
static thrum_process *living(thrum_io *in, unsigned flags) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, in};
    options.flags = flags;
    return started(SHELL("read a; exit 1"), &options);
}

static int dropped_body(void *arg) {
    thrum_io ins[5];
    (void)arg;
    for (unsigned i = 0; i < COUNT_OF(ins); i++) {
        thrum_process *process = living(&ins[i], 0);
        const int pid = thrum_process_pid(process);
        CHECK_EQ(thrum_process_close(process), 0);
        CHECK_EQ(kill(pid, 0), 0); /* it lives on */
    }
    for (unsigned i = 0; i < COUNT_OF(ins); i++) {
        CHECK_EQ(thrum_io_close(ins[i]), 0);
    }
    SPIN_UNTIL(!has_children());
    return 0;
}

/* Threads that are not the library's: the watchdog, and a sanitizer's own. */
#define OTHERS (1 + UNDER_TSAN)

static int threads(void) {
    DIR *folder = opendir("/proc/self/task");
    int n = 0;
    CHECK(folder != NULL);
    while (readdir(folder)) {
        n++;
    }
    closedir(folder);
    return n;
}

TEST(a_handle_that_is_closed_first) {
    /* The program lives on; it is no zombie afterwards, and no thread and no descriptor is left. */
    const int alone = threads();
    CHECK_EQ(dropped_body(NULL), 0);
    const int before = descriptors();
    ways(dropped_body);
    SPIN_UNTIL(threads() <= alone + OTHERS);
    SPIN_UNTIL(descriptors() <= before);
}

static void closes_before_the_thread_asks(void) {
    const thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    siginfo_t said = {0};
    th_os_fail(TH_OS_FAULT_PROCESS_LATE, 0, 1);
    thrum_process *process = started(SHELL("exit 3"), &options);
    const int pid = thrum_process_pid(process);
    CHECK_EQ(waitid(P_PID, (id_t)pid, &said, WEXITED | WNOWAIT), 0);
    CHECK_EQ(thrum_process_close(process), 0);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_PROCESS_LATE), 0); /* it has asked */
    CHECK_EQ(waitid(P_PID, (id_t)pid, &said, WEXITED | WNOWAIT | WNOHANG), -1);
    CHECK_EQ(errno, ECHILD);
}

static int late_thread_body(void *arg) {
    (void)arg;
    closes_before_the_thread_asks();
    return 0;
}

TEST(a_number_is_not_given_back_before_the_thread_that_waits_has_asked) {
    /* Another child could have it by then, and the thread would wait for that one. */
    as_old_systems(true);
    callers(late_thread_body);
}

static int no_reaper_body(void *arg) {
    thrum_io ins[2];
    (void)arg;
    for (unsigned i = 0; i < COUNT_OF(ins); i++) {
        th_os_fail(i ? TH_OS_FAULT_THREAD : TH_OS_FAULT_POLLSET, 0, 1);
        CHECK_EQ(thrum_process_close(living(&ins[i], 0)), 0);
        CHECK_EQ(th_os_fails_left(i ? TH_OS_FAULT_THREAD : TH_OS_FAULT_POLLSET), 0);
        CHECK_EQ(thrum_io_close(ins[i]), 0);
    }
    CHECK_EQ(ended_and_closed(started(SHELL("exit 0"), NULL)), 0); /* which tries again */
    SPIN_UNTIL(!has_children());
    return 0;
}

TEST(no_thread_for_what_is_left) {
    /* A later start makes up for it. */
    if (!th_os_process_has_fd()) {
        CHECK_SKIP("no thread and no set waits there: each process has a thread of its own");
    }
    CHECK_EQ(no_reaper_body(NULL), 0);
}

static int killed_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_io out;
    char byte;
    (void)arg;
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &out};
    options.flags = THRUM_PROCESS_KILL | THRUM_PROCESS_GROUP;
    thrum_process *process = started(SHELL("sleep 1000 & echo; sleep 1000"), &options);
    CHECK_EQ(thrum_read(out, &byte, 1), 1);
    CHECK_EQ(thrum_process_close(process), 0);
    CHECK_EQ(thrum_read(out, &byte, 1), 0); /* nobody has the other end any more */
    CHECK_EQ(thrum_io_close(out), 0);
    SPIN_UNTIL(!has_children());
    return 0;
}

TEST(a_close_that_kills) {
    /* With the whole group. */
    ways(killed_body);
}

/* ---- an end before the program ---- */

enum { FOLDERS = 100000 }; /* in which it is looked for first: the child tries them one by one */

static atomic_bool over;

static void *signal_group(void *arg) {
    (void)arg;
    while (!atomic_load(&over)) {
        CHECK_EQ(kill(0, SIGTERM), 0); /* the child belongs to our group from its beginning */
    }
    return NULL;
}

static int early_body(void *arg) {
    pthread_t thread;
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
        options.flags = i ? THRUM_PROCESS_KILL : 0;
        atomic_store(&over, false);
        CHECK_EQ(pthread_create(&thread, NULL, signal_group, NULL), 0);
        const char *const argv[] = {"sleep", "1000", NULL};
        thrum_process *process;
        int code;
        /* One that looks in all folders before the signal comes is refused: PATH is too long. */
        while ((code = thrum_process_start(&process, argv, &options)) == -E2BIG) {
        }
        CHECK_EQ(code, 0);
        if (i == 0) {
            CHECK_EQ(ended(process), -SIGTERM);
        }
        atomic_store(&over, true);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(thrum_process_close(process), 0);
        SPIN_UNTIL(!has_children());
    }
    return 0;
}

static void on_term(int number) {
    (void)number;
}

TEST(a_program_that_a_signal_ends_before_it_is_executed) {
    /* Its wait tells the signal, and nothing of it is left, whether it is waited for or closed. */
    static char path[FOLDERS * 16 + sizeof "/bin:/usr/bin"];
    char *at = path;
    for (unsigned i = 0; i < FOLDERS; i++) {
        at += snprintf(at, 17, "/no/such/%06u:", i);
    }
    strcpy(at, "/bin:/usr/bin");
    CHECK_EQ(setenv("PATH", path, 1), 0);
    CHECK(getpgrp() == getpid() || setpgid(0, 0) == 0); /* a session's leader has its own already */
    signal(SIGTERM, on_term);
    ways(early_body);
}

/* ---- others that wait for children ---- */

static atomic_int told;

static void on_child(int number) {
    (void)number;
    atomic_fetch_add(&told, 1);
}

static int handler_body(void *arg) {
    const int before = atomic_load(&told);
    thrum_process *process;
    const char *const none[] = {"/no/such/file", NULL};
    (void)arg;
    CHECK_EQ(thrum_process_start(&process, none, NULL), -ENOENT);
    CHECK(!HAS_QUIET_FAILURES || th_os_fails_left(TH_OS_FAULT_PROCESS_SHARED) > 0 ||
          atomic_load(&told) == before);
    CHECK_EQ(ended_and_closed(started(SHELL("exit 0"), NULL)), 0);
    SPIN_UNTIL(atomic_load(&told) > before);
    pid_t child = fork();
    if (child == 0) {
        _exit(12);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(WEXITSTATUS(status), 12);
    return 0;
}

TEST(handlers_of_sigchld) {
    /* They are called for each program that has begun, and not for one that has not. */
    const struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
    CHECK_EQ(sigaction(SIGCHLD, &action, NULL), 0);
    CHECK_EQ(handler_body(NULL), 0);
    th_os_fail(TH_OS_FAULT_PROCESS_SHARED, 0, UINT32_MAX);
    CHECK_EQ(handler_body(NULL), 0);
}

/* What is left when the system has forgotten it: its status, or -ECHILD; and no signal. */
static int forgotten_body(void *arg) {
    thrum_process_status status = {-1, 0, false};
    thrum_io in;
    const bool ignored = arg != NULL;
    thrum_process *process = living(&in, THRUM_PROCESS_GROUP);
    CHECK_EQ(thrum_io_close(in), 0);
    if (!ignored) {
        int word;
        CHECK_EQ(waitpid(-1, &word, 0), thrum_process_pid(process));
    }
    const int code = thrum_process_wait(process, &status, THRUM_FOREVER);
    CHECK(code == -ECHILD || (code == 0 && status.code == 1));
    /* Where nobody waits for it the system forgets it soon after it has ended. */
    SPIN_UNTIL(thrum_process_kill(process, SIGTERM) == -ESRCH);
    CHECK_EQ(thrum_process_kill_group(process, SIGTERM), -ESRCH);
    CHECK_EQ(thrum_process_close(process), 0);
    return 0;
}

static int forgotten_here(void *arg) {
    (void)arg;
    signal(SIGCHLD, SIG_DFL);
    CHECK_EQ(forgotten_body(NULL), 0);
    signal(SIGCHLD, SIG_IGN);
    static int ignored;
    CHECK_EQ(forgotten_body(&ignored), 0);
    signal(SIGCHLD, SIG_DFL);
    return 0;
}

TEST(a_program_that_somebody_else_waits_for) {
    /* Or nobody, since SIGCHLD is ignored: a wait ends, and no other process gets a signal. */
    ways(forgotten_here);
}

/* Whether it has ended, and is known still. */
static bool is_zombie(int pid) {
    char path[64];
    char text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    const char *behind = strrchr(text, ')');
    return behind && behind[2] == 'Z';
}

static int traced_body(void *arg) {
    thrum_process_status status;
    thrum_io in;
    (void)arg;
    thrum_process *process = living(&in, 0);
    const int pid = thrum_process_pid(process);
    int ready[2], go[2];
    char byte = 0;
    CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
    CHECK_EQ(pipe2(go, O_CLOEXEC), 0);
    const pid_t tracer = fork();
    if (tracer == 0) { /* a debugger that does not look at its program for a while */
        close(in.fd);
        close(go[1]); /* it ends with the test */
        const bool seized = ptrace(PTRACE_SEIZE, pid, 0, 0) == 0;
        byte = seized;
        if (write(ready[1], &byte, 1) != 1 || fcntl(go[0], F_SETFL, O_NONBLOCK) != 0) {
            _exit(1);
        }
        /* Meanwhile it lets go on what a signal has stopped, which nobody else can. */
        while (read(go[0], &byte, 1) < 0) {
            siginfo_t info = {.si_pid = 0};
            if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0) {
                ptrace(PTRACE_CONT, pid, 0, 0);
            }
            sched_yield();
        }
        _exit(0);
    }
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    CHECK_EQ(thrum_io_close(in), 0);
    if (byte) {
        SPIN_UNTIL(is_zombie(pid));
        CHECK_EQ(thrum_process_wait(process, &status, soon()), -ETIMEDOUT);
    }
    CHECK_EQ(write(go[1], &byte, 1), 1);
    CHECK_EQ(waitpid(tracer, NULL, 0), tracer);
    CHECK_EQ(ended_and_closed(process), 1);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(go[i]);
    }
    return byte;
}

TEST(a_program_under_a_debugger) {
    /* The debugger is told first that it has ended; a wait goes on until that is over. */
    if (!traced_body(NULL)) {
        CHECK_SKIP("no process may be traced here");
    }
}

/* ---- forks, misuse ---- */

static int forked_body(void *arg) {
    thrum_process_status status;
    thrum_io in;
    int word = 0;
    (void)arg;
    thrum_process *process = living(&in, THRUM_PROCESS_GROUP | THRUM_PROCESS_KILL);
    const pid_t child = fork();
    if (child == 0) {
        CHECK_EQ(thrum_process_wait(process, &status, THRUM_FOREVER), -ESHUTDOWN);
        CHECK_EQ(thrum_process_kill(process, SIGKILL), -ESHUTDOWN);
        CHECK_EQ(thrum_process_kill_group(process, SIGKILL), -ESHUTDOWN);
        CHECK_EQ(thrum_process_pid(process), -ESHUTDOWN);
        CHECK_EQ(thrum_process_close(process), -ESHUTDOWN);
        if (!UNDER_TSAN && !UNDER_ASAN) { /* which may have locks of their own held here */
            CHECK_EQ(ended_and_closed(started(SHELL("exit 3"), NULL)), 3);
            CHECK_EQ(thrum_process_close(living(&in, THRUM_PROCESS_KILL)), 0);
            SPIN_UNTIL(!has_children());
        }
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &word, 0), child);
    CHECK_EQ(word, 0);
    CHECK_EQ(thrum_process_wait(process, &status, 0), -ETIMEDOUT); /* it lives */
    CHECK_EQ(thrum_io_close(in), 0);
    CHECK_EQ(ended_and_closed(process), 1);
    return 0;
}

TEST(a_fork_has_nothing_of_the_parents_programs) {
    /* It starts its own ones, also where the parent has some that it has given up. */
    thrum_io in;
    CHECK_EQ(thrum_process_close(living(&in, 0)), 0);
    CHECK_EQ(forked_body(NULL), 0);
    as_old_systems(true);
    CHECK_EQ(forked_body(NULL), 0);
    as_old_systems(false);
    CHECK_EQ(thrum_io_close(in), 0);
    SPIN_UNTIL(!has_children());
}

static atomic_bool waits;

static int wait_for_ever(void *arg) {
    thrum_process_status status;
    atomic_store(&waits, true);
    return thrum_process_wait(arg, &status, THRUM_FOREVER);
}

static void close_while_waited_for(void *arg) {
    rig r;
    thrum_io in; /* the program lives until this process ends */
    (void)arg;
    rig_begin(&r, 0);
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &in};
    options.streams[1].kind = THRUM_PROCESS_NULL;
    options.streams[2].kind = THRUM_PROCESS_NULL;
    thrum_process *process = started(SHELL("read a"), &options);
    rig_go(&r, wait_for_ever, process);
    SPIN_UNTIL(atomic_load(&waits));
    CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
    (void)thrum_process_close(process);
}

TEST(a_close_while_another_call_waits) {
    /* It is misuse, and says so. */
    check_dies(close_while_waited_for, NULL, "thrum_process_close: another call uses the process");
}

TEST(nothing_is_left_for_starts) {
    /* Threads, memory and descriptors may be missing: a code, and nothing is left open. */
    const th_os_fault kinds[] = {TH_OS_FAULT_THREAD, TH_OS_FAULT_ALLOC, TH_OS_FAULT_EVENTFD};
    const char *const argv[] = {"true", NULL};
    thrum_process *process;
    const int alone = threads();
    as_old_systems(true);
    CHECK_EQ(ended_and_closed(started(argv, NULL)), 0);
    SPIN_UNTIL(threads() <= alone + OTHERS);
    const int before = descriptors();
    for (unsigned k = 0; k < COUNT_OF(kinds); k++) {
        int refused = 0;
        for (uint32_t i = 0; i < 6; i++) {
            th_os_fail(kinds[k], i, 1);
            const int code = thrum_process_start(&process, argv, NULL);
            th_os_fail(kinds[k], 0, 0);
            CHECK(code == 0 || code == -EAGAIN || code == -ENOMEM || code == -EMFILE);
            refused += code != 0;
            CHECK(code != 0 || ended_and_closed(process) == 0);
            CHECK(!has_children());
        }
        CHECK(refused > 0 && refused < 6);
    }
    SPIN_UNTIL(threads() <= alone + OTHERS);
    CHECK_EQ(descriptors(), before);
    as_old_systems(false);
}
