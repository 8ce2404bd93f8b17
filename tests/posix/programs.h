/*
 * programs.h: a part of support/io/processes.h: what differs from system to system of programs that
 * are started.
 */
#ifndef POSIX_PROGRAMS_H
#define POSIX_PROGRAMS_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#define SHELL_PROGRAM "sh"
#define SHELL_OPTION "-c"
#define PROGRAMS 10000 /* a storm of them */

/* What posix_spawn has not: a start that wants it is refused. */
#ifdef TH_PLATFORM_POSIX
#define HAS_SURROUNDINGS 0    /* a folder, limits, a session of its own */
#define HAS_QUIET_FAILURES 0  /* a start that fails sends no SIGCHLD */
#define OWN_SIGNALS_IGNORED 1 /* those of the C library, perhaps */
#else
#define HAS_SURROUNDINGS 1
#define HAS_QUIET_FAILURES 1
#define OWN_SIGNALS_IGNORED 0
#endif

/* Open descriptors of this process. */
CHECK_UNUSED static int descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;
    CHECK(folder != NULL);
    while (readdir(folder)) {
        n++;
    }
    closedir(folder);
    return n - 3; /* itself, ".", ".." */
}

/* Whether the process has children, ended or not. */
CHECK_UNUSED static bool has_children(void) {
    siginfo_t info;
    info.si_pid = 0;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/* Makes a folder whose files may be executed: in /tmp, or where the test runs. */
CHECK_UNUSED static void make_folder(char path[PATH_MAX]) {
    char here[PATH_MAX - 32] = "";
    const char *const places[] = {"/tmp", getcwd(here, sizeof here)};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct statvfs system;
        if (places[i] && statvfs(places[i], &system) == 0 && !(system.f_flag & ST_NOEXEC)) {
            snprintf(path, PATH_MAX, "%s/thrum-process-XXXXXX", places[i]);
            if (mkdtemp(path)) {
                return;
            }
        }
    }
    CHECK_SKIP("no folder allows its files to be executed");
}

#endif
