/*
 * files.h: a part of support/io/files.h: what differs of files where the system is Linux or another
 * Unix (windows/files.h has the same for Windows).
 */
#ifndef POSIX_FILES_H
#define POSIX_FILES_H

CHECK_UNUSED static const char *file_folder(void) {
    return access("/tmp", W_OK) == 0 ? "/tmp" : ".";
}

/* The descriptors; without those that a scheduler's sets keep, which stay as long as it does. */
CHECK_UNUSED static int fds_open(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir != NULL);
    struct dirent *e;
    while ((e = readdir(dir))) {
        char path[300], what[64];
        snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
        ssize_t size = readlink(path, what, sizeof what - 1);
        if (size <= 0) {
            continue;
        }
        what[size] = '\0';
        n += !strstr(what, "eventfd") && !strstr(what, "eventpoll") && !strstr(what, "timerfd") &&
             !strstr(what, "io_uring");
    }
    closedir(dir);
    return n;
}

CHECK_UNUSED static bool file_is_open(int fd) {
    return fcntl(fd, F_GETFD) != -1;
}

/*
 * A file as the program would open it; `direct`: a write is on the device when it returns. No other
 * thread gets its number when it is free again: those get the lowest.
 */
CHECK_UNUSED static int file_opened(const char *path, bool direct) {
    const int fd =
        open(path, direct ? O_RDONLY | O_SYNC | O_CLOEXEC : O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    const int high = fcntl(fd, F_DUPFD_CLOEXEC, 700);
    CHECK(fd >= 0 && high >= 0);
    CHECK_EQ(close(fd), 0);
    return high;
}

/* Two that are no files. */
CHECK_UNUSED static void no_files(int fds[2]) {
    CHECK_EQ(pipe(fds), 0);
}

CHECK_UNUSED static void no_file_close(int fd) {
    CHECK_EQ(close(fd), 0);
}

/* Two, of which the first one reads what is put to the second. */
#define no_watch(fds_) no_files(fds_)

CHECK_UNUSED static void no_watch_put(int fd, const void *bytes, size_t size) {
    CHECK_EQ(write(fd, bytes, size), (ssize_t)size);
}

#define FILE_MODE(mode_) (mode_)
#define FILE_OWNER getuid()
#define FILE_NULL "/dev/null"
#define HAS_SYMLINKS 1
#define HAS_INTERRUPTS 1 /* signals end calls of the system */
#ifdef TH_PLATFORM_POSIX
#define HAS_WATCHES 0
#define HAS_LOCKS 0
#define HAS_APPEND 0
#else
#define HAS_WATCHES 1 /* changes of files are told */
#define HAS_LOCKS 1   /* of an open file */
#define HAS_APPEND 1  /* to a file that is not open for that */
#endif
#define NOT_BY_WINDOWS(what) ((void)0)

#endif
