/*
 * observe_limits.c: looking at a process from outside where it has no descriptors left, or becomes
 * another user's; programs and children that it starts meanwhile.
 */
/* POSIX: RLIMIT_NOFILE, /proc/self/task, fork, setresuid */
/* matrix: policy workers */
#include "support/report/observed.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

/* Asks for everything once; the answers are whole. */
static void ask_all(int fd) {
    static const char *const requests[] = {"hello\n", "metrics\n", "top\n", "waits\n", "dump\n"};
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        CHECK(asked(fd, requests[i])[0] == '[');
    }
}

TEST(a_peer_waits_until_there_are_descriptors_again) {
    /* It has connected, and is taken later; those who are there are served meanwhile. */
    NOT_BY_POSIX("stream without a descriptor for the answer");
    struct rlimit limit;
    rig r;
    set_folder();
    observed_begin(&r, "full");
    const int first = connected();
    ask_all(first);
    const int second = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(second >= 0);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)second + 1; /* all lower numbers are taken */
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK_EQ(connect(second, (const struct sockaddr *)(const void *)&at, sizeof(at)), 0);
    ask(second, "hello\n");
    CHECK(strstr(asked(first, "hello\n"), "full") != NULL);
    limit.rlim_cur = before;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK(answer(second) && strstr(got, "full"));
    close(first);
    close(second);
    rig_stop(&r);
    remove_folder();
}

/* Where the system tells how the thread that answers does. */
static int open_status(void) {
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    int status = -1;
    for (const struct dirent *e; status < 0 && (e = readdir(tasks));) {
        char path[300];
        char name[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
        FILE *f = fopen(path, "r");
        if (f && fgets(name, sizeof(name), f) && !strcmp(name, "thrum/observe\n")) {
            snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
            status = open(path, O_RDONLY | O_CLOEXEC);
        }
        if (f) {
            fclose(f);
        }
    }
    closedir(tasks);
    return status;
}

/* How often it has gone to sleep. */
static long rests(int status) {
    char text[8192];
    const ssize_t n = pread(status, text, sizeof(text) - 1, 0);
    CHECK(n > 0);
    text[n] = '\0';
    const char *at_number = strstr(text, "\nvoluntary_ctxt_switches:");
    CHECK(at_number != NULL);
    return strtol(strchr(at_number, ':') + 1, NULL, 10);
}

TEST(where_the_system_does_not_poll_it_rests) {
    /*
     * A program that has forbidden itself more descriptors: nobody is served, and the
     * thread does not run for nothing. When it may again, all is as it was.
     */
    struct rlimit limit;
    rig r;
    set_folder();
    observed_begin(&r, "poor");
    const int fd = connected();
    ask_all(fd);
    const int status = open_status();
    if (status < 0) {
        CHECK_SKIP("the system does not tell");
    }
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 0;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ask(fd, "hello\n"); /* ends the poll that has begun */
    const long rested = rests(status);
    SPIN_UNTIL(rests(status) > rested + 5);
    limit.rlim_cur = before;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK(answer(fd));
    ask_all(fd);
    close(fd);
    close(status);
    rig_stop(&r);
    remove_folder();
}

TEST(where_no_folder_can_be_made_the_other_place_is_taken) {
    /* /proc takes no folder, as a full disk or one that is only read would not. */
    char other[32];
    struct stat status;
    rig r;
    CHECK_EQ(setenv("XDG_RUNTIME_DIR", "/proc", 1), 0);
    snprintf(other, sizeof(other), "/tmp/thrum-%d", (int)geteuid());
    if (lstat(other, &status) == 0 &&
        (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0)) {
        CHECK_SKIP("somebody else has made %s", other);
    }
    at = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/%d", other, (int)getpid());
    observed_begin(&r, "elsewhere");
    const int fd = connected();
    ask_all(fd);
    close(fd);
    rig_stop(&r);
    CHECK_EQ(try_connect(), -ENOENT);
}

TEST(no_descriptor_goes_to_another_program) {
    /* All that are there while it is looked at are closed by exec. */
    rig r;
    set_folder();
    bool there[256];
    for (int fd = 0; fd < 256; fd++) {
        there[fd] = fcntl(fd, F_GETFD) >= 0;
    }
    observed_begin(&r, "closed");
    const int mine = connected();
    ask_all(mine);
    for (int fd = 0; fd < 256; fd++) {
        const int flags = fcntl(fd, F_GETFD);
        CHECK(there[fd] || flags < 0 || (flags & FD_CLOEXEC));
    }
    close(mine);
    rig_stop(&r);
    remove_folder();
}

TEST(a_fork_while_it_is_looked_at_takes_nothing_along) {
    /* The child's own scheduler is not looked at by what the parent was asked. */
    rig r;
    set_folder();
    observed_begin(&r, "parent");
    const int fd = connected();
    ask_all(fd); /* from now on workers are looked at */
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        rig own;
        if (UNDER_TSAN || UNDER_ASAN) { /* no threads there; or an allocator that stays locked */
            _exit(0);
        }
        snprintf(at.sun_path, sizeof(at.sun_path), "%s/thrum/%d", folder, (int)getpid());
        observed_begin(&own, "child");
        const int mine = connected();
        CHECK(strstr(asked(mine, "top\n"), "\"samples\": 0,") != NULL);
        close(mine);
        rig_stop(&own);
        _exit(0);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    ask_all(fd);
    close(fd);
    rig_stop(&r);
    remove_folder();
}

TEST(a_process_that_changes_its_user_serves_the_new_one) {
    /* The socket stays the old user's; who asks is compared with who the process is now. */
    needs_another_user();
    if (UNDER_TSAN) {
        CHECK_SKIP("the sanitizer has no threads in a child");
    }
    rig r;
    char path[128];
    set_folder();
    snprintf(path, sizeof(path), "%s/thrum", folder);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        snprintf(at.sun_path, sizeof(at.sun_path), "%s/thrum/%d", folder, (int)getpid());
        observed_begin(&r, "changed");
        CHECK(chmod(folder, 0755) == 0 && chmod(path, 0755) == 0);
        CHECK_EQ(chmod(at.sun_path, 0666), 0);
        CHECK_EQ(setresuid(OTHER_USER, OTHER_USER, OTHER_USER), 0); /* of all threads */
        const int fd = connected();
        ask_all(fd);
        close(fd);
        rig_stop(&r); /* the file cannot be removed, and nothing else is wrong */
        _exit(0);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    snprintf(path, sizeof(path), "%s/thrum/%d", folder, (int)child);
    CHECK_EQ(unlink(path), 0);
    remove_folder();
}
