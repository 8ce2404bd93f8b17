/*
 * process_given.c: what a program that is started finds: signals, descriptors, a folder, limits, an
 * environment; and what is told when it cannot be started.
 */
/* POSIX: sigset_t, RLIMIT_NOFILE, /proc/self/fd */
/* matrix: policy workers */
#include "support/io/processes.h"

/* ---- signals ---- */

static void on_signal(int number) {
    (void)number;
}

/* A line of what the system tells of the program itself: shells catch some, and so do others. */
static uint64_t signals_of_program(const char *line) {
    thrum_process_output output;
    char script[40];
    snprintf(script, sizeof script, "/^%s/p", line);
    const char *const argv[] = {"sed", "-n", script, "/proc/self/status", NULL};
    CHECK_EQ(thrum_process_run(argv, NULL, NULL, 0, &output, THRUM_FOREVER), 0);
    CHECK(output.out && strncmp(output.out, line, strlen(line)) == 0);
    uint64_t signals = strtoull(output.out + strlen(line) + 1, NULL, 16);
    thrum_process_output_free(&output);
    for (int i = 32; OWN_SIGNALS_IGNORED && i < SIGRTMIN; i++) {
        signals &= ~(UINT64_C(1) << (i - 1));
    }
    return signals;
}

static int signals_body(void *arg) {
    (void)arg;
    CHECK_EQ(signals_of_program("SigBlk"), 0);
    CHECK_EQ(signals_of_program("SigIgn"), 0);
    CHECK_EQ(signals_of_program("SigCgt"), 0);
    return 0;
}

TEST(signals_are_those_of_a_fresh_program) {
    /* Whatever is blocked, caught or ignored here. */
    sigset_t set;
    signal(SIGUSR1, on_signal);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGRTMAX, SIG_IGN);
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    ways(signals_body);
}

TEST(a_mask_is_put_back) {
    /* After a start, and after one that fails. */
    sigset_t set, now;
    thrum_process *process;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &set, NULL), 0);
    CHECK_EQ(ended_and_closed(started(SHELL("exit 0"), NULL)), 0);
    CHECK_EQ(thrum_process_start(&process, (const char *const[]){"/", NULL}, NULL), -EACCES);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
    CHECK(sigismember(&now, SIGUSR2) == 1);
    CHECK(sigismember(&now, SIGUSR1) == 0 && sigismember(&now, SIGTERM) == 0);
}

TEST(what_was_ignored_at_the_start_stays_so) {
    /* As under nohup; this program is started once more, with SIGHUP ignored. */
    if (getenv("PROCESS_NOHUP")) {
        signal(SIGPIPE, SIG_IGN); /* that is its own business */
        CHECK_EQ(signals_of_program("SigIgn"), 1);
        return;
    }
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    const char *const env[] = {"PROCESS_NOHUP=1", "CHECK_SIGNALS=kept", NULL};
    char path[PATH_MAX] = "";
    char script[PATH_MAX + 100];
    CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    snprintf(script, sizeof script, "trap '' HUP; exec '%s' %s", path,
             "what_was_ignored_at_the_start_stays_so");
    options.env = env;
    options.flags = THRUM_PROCESS_ENV_ADD;
    CHECK_EQ(ended_and_closed(started(SHELL(script), &options)), 0);
}

/* ---- descriptors ---- */

static const char list_fds[] =
    "n=0; while test $n -lt 100; do test -e /proc/self/fd/$n && echo $n; n=$((n+1)); done; true";

static int fds_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    int *ends = arg;
    CHECK_STR(said(&output, list_fds, NULL), "0\n1\n2\n");
    thrum_process_output_free(&output);

    /* Given ones, in an order that crosses their numbers. */
    const int given[] = {ends[1], ends[0], 3, ends[0]};
    options.fds = given;
    options.fds_count = 4;
    CHECK_STR(said(&output, list_fds, &options), "0\n1\n2\n3\n4\n5\n6\n");
    thrum_process_output_free(&output);
    CHECK_STR(said(&output, "echo through >&3; head -n 1 <&6", &options), "through\n");
    thrum_process_output_free(&output);
    CHECK_STR(said(&output, "readlink /proc/self/fd/5", &options), "/dev/null\n");
    thrum_process_output_free(&output);

    options.flags = THRUM_PROCESS_KEEP_FDS;
    options.fds_count = 0;
    char script[100];
    snprintf(script, sizeof script, "test -e /proc/self/fd/%d && test -e /proc/self/fd/%d", ends[0],
             ends[1]);
    (void)said(&output, script, &options);
    thrum_process_output_free(&output);
    return 0;
}

static int fds_here(void *arg) {
    static int ends[2];
    (void)arg;
    CHECK_EQ(pipe(ends), 0); /* not closed on exec: a program that is no friend of ours made it */
    CHECK_EQ(fds_body(ends), 0);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

TEST(no_descriptor_is_inherited_by_accident) {
    /* Those that are given have the numbers from 3 on, whatever stands there here. */
    const int null = open("/dev/null", O_RDONLY);
    CHECK(null >= 0);
    CHECK_EQ(dup2(null, 3), 3); /* who has started the test may have left one there */
    ways(fds_here);
}

static int streams_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    char text[16] = "";
    int ends[2];
    (void)arg;
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    options.streams[0].kind = THRUM_PROCESS_NULL;
    options.streams[2].kind = THRUM_PROCESS_OUTPUT;
    CHECK_STR(said(&output, "cat; echo a; echo b >&2; echo c", &options), "a\nb\nc\n");
    CHECK(output.error == NULL);
    thrum_process_output_free(&output);
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_FD, ends[1], NULL};
    CHECK(said(&output, "echo d; echo e >&2", &options) == NULL);
    thrum_process_output_free(&output);
    CHECK_EQ(read(ends[0], text, sizeof text), 4);
    CHECK_STR(text, "d\ne\n");
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_FD, ends[0], NULL};
    options.streams[1] = (thrum_process_stream){0, -1, NULL};
    CHECK_EQ(write(ends[1], "f\n", 2), 2);
    CHECK_STR(said(&output, "read a; echo $a", &options), "f\n");
    thrum_process_output_free(&output);
    CHECK(fcntl(ends[0], F_GETFD) == FD_CLOEXEC && fcntl(ends[1], F_GETFD) == FD_CLOEXEC);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

TEST(each_kind_of_stream) {
    /* Null, a descriptor, where the output goes; given ones stay the caller's. */
    ways(streams_body);
}

TEST(a_program_without_standard_streams) {
    /* What the caller does not have, the program does not have. */
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    const int kept = dup(0);
    const int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    close(0);
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_FD, out, NULL};
    thrum_process *process = started(SHELL("test ! -e /proc/self/fd/0"), &options);
    CHECK_EQ(dup2(kept, 0), 0);
    CHECK_EQ(ended_and_closed(process), 0);
}

/* ---- the rest ---- */

static void folder_and_limits(void) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    options.folder = "/usr";
    CHECK_STR(said(&output, "pwd", &options), "/usr\n");
    thrum_process_output_free(&output);
    options.folder = "/";
    options.program = "bin/sh"; /* below that folder */
    CHECK_STR(said(&output, "echo $0", &options), "sh\n");
    thrum_process_output_free(&output);
    options.program = NULL;

    const thrum_process_limit limits[] = {{RLIMIT_NOFILE, 20, 30}, {RLIMIT_CORE, 0, 0}};
    options.limits = limits;
    options.limits_count = 2;
    CHECK_STR(said(&output, "ulimit -Sn; ulimit -Hn; ulimit -c", &options), "20\n30\n0\n");
    thrum_process_output_free(&output);
}

static int around_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    thrum_process_output output;
    (void)arg;
    if (HAS_SURROUNDINGS) {
        folder_and_limits();
    }
    const char *const env[] = {"ADDED=yes", "HOME=/nowhere", NULL};
    options.env = env;
    options.flags = THRUM_PROCESS_ENV_ADD;
    CHECK_STR(said(&output, "echo $ADDED $HOME $KEPT", &options), "yes /nowhere kept\n");
    thrum_process_output_free(&output);
    options.flags = 0;
    CHECK_STR(said(&output, "echo $ADDED $HOME $KEPT", &options), "yes /nowhere\n");
    thrum_process_output_free(&output);
    options.env = NULL;
    CHECK_STR(said(&output, "echo $KEPT$ADDED", &options), "kept\n");
    thrum_process_output_free(&output);
    return 0;
}

TEST(folder_limits_and_environment) {
    /* As they are asked for, and as ours otherwise. */
    setenv("KEPT", "kept", 1);
    ways(around_body);
}

static int groups_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    (void)arg;
    thrum_process *process = started(SHELL("exec sleep 1000"), &options);
    CHECK_EQ(getpgid(thrum_process_pid(process)), getpgrp());
    CHECK_EQ(thrum_process_kill(process, SIGKILL), 0);
    CHECK_EQ(ended_and_closed(process), -SIGKILL);
    options.flags = THRUM_PROCESS_GROUP;
    process = started(SHELL("exec sleep 1000"), &options);
    CHECK_EQ(getpgid(thrum_process_pid(process)), thrum_process_pid(process));
    CHECK_EQ(getsid(thrum_process_pid(process)), getsid(0));
    CHECK_EQ(thrum_process_kill_group(process, SIGKILL), 0);
    CHECK_EQ(ended_and_closed(process), -SIGKILL);
    if (!HAS_SURROUNDINGS) {
        return 0;
    }
    options.flags = THRUM_PROCESS_SESSION;
    process = started(SHELL("exec sleep 1000"), &options);
    CHECK_EQ(getsid(thrum_process_pid(process)), thrum_process_pid(process));
    CHECK_EQ(thrum_process_kill_group(process, SIGKILL), 0);
    CHECK_EQ(ended_and_closed(process), -SIGKILL);
    return 0;
}

TEST(groups_and_sessions) {
    /* When the start returns, they are made. */
    ways(groups_body);
}

static int cpus_of_child(void *arg) {
    thrum_process_output output;
    (void)arg;
    char script[200];
    snprintf(script, sizeof script,
             "cpus() { sed -n /^Cpus_allowed:/p /proc/$1/status; }; test \"$(cpus self)\" = "
             "\"$(cpus %d)\"",
             (int)getpid());
    (void)said(&output, script, NULL);
    thrum_process_output_free(&output);
    return 0;
}

TEST(a_task_s_program_has_the_cpus_of_the_main_thread) {
    /* Although the scheduler's threads have one each. */
    NOT_BY_POSIX("sets of CPUs");
    rig r;
    cpu_set_t mine;
    CHECK_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
    if (CPU_COUNT(&mine) < 2) {
        CHECK_SKIP("there is one CPU");
    }
    unsigned first = 0;
    while (!CPU_ISSET(first, &mine)) {
        first++;
    }
    rig_init(&r);
    r.config.affinity = THRUM_AFFINITY_ANY;
    r.config.cpus = &first;
    r.config.cpus_count = 1;
    rig_start(&r);
    CHECK_EQ(rig_run(&r, cpus_of_child, NULL), 0);
    rig_stop(&r);
}

/* ---- what cannot be started ---- */

static const char *failed_at;

static int try_start(const char *program, const thrum_process_options *given) {
    thrum_process_options options = *given;
    thrum_process *process = NULL;
    const int before = descriptors();
    options.failed = &failed_at;
    failed_at = "?";
    const int code = thrum_process_start(&process, (const char *const[]){program, NULL}, &options);
    CHECK(process == NULL);
    CHECK(failed_at != NULL);
    SPIN_UNTIL(descriptors() <= before); /* the watcher for deadlocks has one now and then */
    CHECK(!has_children());
    return code;
}

/* Makes a file with this content and mode in the test's own folder. */
static void make_file(const char *path, const char *text, mode_t mode) {
    const int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
    CHECK_EQ(fchmod(fd, mode), 0);
    CHECK_EQ(close(fd), 0);
}

static void check_failed_start(const char *program, const thrum_process_options *options, int code,
                               const char *at) {
    CHECK_EQ(try_start(program, options), code);
    CHECK_STR(failed_at, at);
}

static void check_surroundings_fail(void) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    options.folder = "/no/such/folder";
    check_failed_start("true", &options, -ENOENT, "folder");
    options.folder = "/etc/passwd";
    check_failed_start("true", &options, -ENOTDIR, "folder");
    options.folder = NULL;

    const thrum_process_limit upside_down = {RLIMIT_NOFILE, 30, 20};
    options.limits = &upside_down;
    options.limits_count = 1;
    check_failed_start("true", &options, -EINVAL, "limit");
}

static int errors_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    const char *folder = arg;
    char path[PATH_MAX + 32];
    thrum_io io;
    options.streams[1] = (thrum_process_stream){THRUM_PROCESS_PIPE, -1, &io}; /* none is left */
    check_failed_start("no-program-has-this-name", &options, -ENOENT, "program");
    check_failed_start("/no/such/file", &options, -ENOENT, "program");
    check_failed_start("", &options, -ENOENT, "program");
    check_failed_start("/etc/passwd/file", &options, -ENOTDIR, "program");
    check_failed_start("/", &options, -EACCES, "program");
    snprintf(path, sizeof path, "%s/plain", folder);
    check_failed_start(path, &options, -EACCES, "program");
    snprintf(path, sizeof path, "%s/odd", folder);
    check_failed_start(path, &options, -ENOEXEC, "program");
    snprintf(path, sizeof path, "%s/lost", folder); /* its interpreter is missing */
    check_failed_start(path, &options, -ENOENT, "program");

    if (HAS_SURROUNDINGS) {
        check_surroundings_fail();
    }

    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_FD, 1000000, NULL};
    check_failed_start("true", &options, -EBADF, "descriptor");
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_FD, -1, NULL};
    check_failed_start("true", &options, -EBADF, "descriptor");
    options.streams[0] = (thrum_process_stream){THRUM_PROCESS_FD, INT_MAX, NULL};
    check_failed_start("true", &options, -EBADF, "descriptor");
    options.streams[0].kind = THRUM_PROCESS_INHERIT;
    const int given[] = {0, INT_MAX};
    options.fds = given;
    options.fds_count = 2;
    check_failed_start("true", &options, -EBADF, "descriptor");
    options.fds_count = 0;

    const size_t most = 32 * (size_t)sysconf(_SC_PAGESIZE); /* of one string */
    char *large = malloc(most + 1);
    const char *const env[] = {large, NULL};
    memset(large, 'x', most);
    large[most] = '\0';
    options.env = env;
    check_failed_start("true", &options, -E2BIG, "program");
    options.env = NULL;
    free(large);

    th_os_fail(TH_OS_FAULT_PROCESS, 0, 1);
    check_failed_start("true", &options, -EAGAIN, "process");
    th_os_fail_with(TH_OS_FAULT_PIPE, -EMFILE, 0, 1);
    check_failed_start("true", &options, -EMFILE, "descriptor");
    options.streams[0].kind = THRUM_PROCESS_NULL;
    th_os_fail_with(TH_OS_FAULT_PIPE, -ENOENT, 0, 1); /* as without /dev */
    check_failed_start("true", &options, -ENOENT, "descriptor");
    return 0;
}

static int errors_here(void *arg) {
    char folder[PATH_MAX];
    char path[PATH_MAX + 32];
    static const char *const names[] = {"plain", "odd", "lost"};
    (void)arg;
    make_folder(folder);
    snprintf(path, sizeof path, "%s/plain", folder);
    make_file(path, "#!/bin/sh\n", 0600);
    snprintf(path, sizeof path, "%s/odd", folder);
    make_file(path, "\1\2\3\4 no program", 0700);
    snprintf(path, sizeof path, "%s/lost", folder);
    make_file(path, "#!/no/such/interpreter\n", 0700);
    CHECK_EQ(errors_body(folder), 0);
    for (unsigned i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        CHECK_EQ(unlink(path), 0);
    }
    CHECK_EQ(rmdir(folder), 0);
    return 0;
}

TEST(why_a_program_cannot_be_started) {
    /* The system's code, and what it is about; nothing is left open. */
    ended_and_closed(started(SHELL("exit 0"), NULL)); /* what is made once is there */
    ways(errors_here);
}

static int crowded_body(void *arg) {
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    struct rlimit before;
    const int high = fcntl(0, F_DUPFD_CLOEXEC, 100);
    int low[30]; /* 33 with the streams */
    int far[30];
    (void)arg;
    CHECK(high >= 100);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (unsigned i = 0; i < COUNT_OF(low); i++) {
        low[i] = 0;
        far[i] = high;
    }
    options.fds_count = COUNT_OF(low);
    for (unsigned i = 0; i < 2; i++) {
        options.fds = i ? far : low;
        const struct rlimit few = {20, before.rlim_max};
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
        failed_at = "?";
        options.failed = &failed_at;
        thrum_process *process;
        const int code = thrum_process_start(&process, SHELL("exit 0"), &options);
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
        CHECK_EQ(code, -EMFILE);
        CHECK_STR(failed_at, "descriptor");
    }
    CHECK_EQ(close(high), 0);
    return 0;
}

TEST(more_descriptors_than_a_program_may_have) {
    /* That is no misuse, and the descriptors are no bad ones. */
    ended_and_closed(started(SHELL("exit 0"), NULL)); /* what is made once is there */
    CHECK_EQ(crowded_body(NULL), 0);
    as_old_systems(true);
    CHECK_EQ(crowded_body(NULL), 0);
}

TEST(options_that_make_no_sense) {
    /* They are refused before anything is opened. */
    const thrum_process_options good = THRUM_PROCESS_OPTIONS_INIT;
    const char *const argv[] = {"true", NULL};
    const char *const none[] = {NULL};
    thrum_process *process;
    thrum_process_options options = good;
    CHECK_EQ(thrum_process_start(NULL, argv, NULL), -EINVAL);
    CHECK_EQ(thrum_process_start(&process, NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_process_start(&process, none, NULL), -EINVAL);
    options.size--;
    CHECK_EQ(thrum_process_start(&process, argv, &options), -EINVAL);
    options = good;
    options.flags = 1u << 30;
    CHECK_EQ(thrum_process_start(&process, argv, &options), -EINVAL);
    options = good;
    options.fds_count = 1;
    CHECK_EQ(thrum_process_start(&process, argv, &options), -EINVAL);
    options = good;
    options.limits_count = 1;
    CHECK_EQ(thrum_process_start(&process, argv, &options), -EINVAL);
    options = good;
    options.streams[0].kind = THRUM_PROCESS_PIPE;
    CHECK_EQ(thrum_process_start(&process, argv, &options), -EINVAL);
    options = good;
    options.streams[1].kind = THRUM_PROCESS_OUTPUT;
    CHECK_EQ(thrum_process_start(&process, argv, &options), -EINVAL);
    options.streams[1].kind = 5;
    CHECK_EQ(thrum_process_start(&process, argv, &options), -EINVAL);
    thrum_process_options_init(&options);
    CHECK_EQ(memcmp(&options, &good, sizeof good), 0);
}

TEST(surroundings_that_the_system_cannot_give_are_refused) {
    /* Nothing is started without them. */
    if (HAS_SURROUNDINGS) {
        CHECK_SKIP("the system has them all");
    }
    const thrum_process_options none = THRUM_PROCESS_OPTIONS_INIT;
    const thrum_process_limit limit = {RLIMIT_NOFILE, 20, 30};
    ended_and_closed(started(SHELL("exit 0"), NULL)); /* what is made once is there */
    thrum_process_options options = none;
    options.folder = "/";
    check_failed_start("true", &options, -ENOSYS, "folder");
    options = none;
    options.limits = &limit;
    options.limits_count = 1;
    check_failed_start("true", &options, -ENOSYS, "limit");
    options = none;
    options.flags = THRUM_PROCESS_SESSION;
    check_failed_start("true", &options, -ENOSYS, "process");
}

TEST(where_a_program_is_looked_for) {
    /* In the folders of PATH that begin with a slash, in their order. */
    char folder[PATH_MAX];
    char path[PATH_MAX + 32];
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    make_folder(folder);
    snprintf(path, sizeof path, "%s/true", folder);
    make_file(path, "#!/bin/sh\nexit 42\n", 0700);
    options.folder = HAS_SURROUNDINGS ? folder : NULL;
    CHECK_EQ(HAS_SURROUNDINGS ? 0 : chdir(folder), 0);
    const char *const argv[] = {"true", NULL};
    setenv("PATH", "::.:/no/such/folder:/bin:/usr/bin", 1);
    CHECK_EQ(ended_and_closed(started(argv, &options)), 0);
    char all[PATH_MAX + 32];
    snprintf(all, sizeof all, "%s:/bin:/usr/bin", folder);
    setenv("PATH", all, 1);
    CHECK_EQ(ended_and_closed(started(argv, &options)), 42);
    CHECK_EQ(chmod(path, 0600), 0); /* the next folder has one that may be executed */
    CHECK_EQ(ended_and_closed(started(argv, &options)), 0);
    setenv("PATH", folder, 1);
    check_failed_start("true", &options, -EACCES, "program");
    setenv("PATH", ".:", 1);
    check_failed_start("true", &options, -ENOENT, "program");
    unsetenv("PATH");
    CHECK_EQ(ended_and_closed(started(argv, &options)), 0);
    CHECK_EQ(chdir("/"), 0);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(rmdir(folder), 0);
}
