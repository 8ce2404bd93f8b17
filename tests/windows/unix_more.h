/*
 * unix_more.h: a part of unix.h: what tests of sockets take of files and limits. A test
 * that comes to a call which only skips it is about what this system does not have; it is in
 * tests/windows/skipped.
 */
#ifndef WINDOWS_UNIX_MORE_H
#define WINDOWS_UNIX_MORE_H

/* ---- files: handles with a place ---- */

/* One that is removed when it is closed: its name, which nobody asks for, stays as it was. */
CHECK_UNUSED static int unix_mkstemp(char *path) {
    static volatile long count;
    char name[512];
    const char *where = getenv("TEMP");
    (void)path;
    snprintf(name, sizeof name, "%s/check-%lu-temporary-%ld", where ? where : ".",
             (unsigned long)GetCurrentProcessId(), InterlockedIncrement(&count));
    HANDLE file = CreateFileA(name, GENERIC_READ | GENERIC_WRITE | DELETE,
                              FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              CREATE_NEW, FILE_FLAG_DELETE_ON_CLOSE, NULL);
    return file == INVALID_HANDLE_VALUE ? -1 : (int)(uintptr_t)file;
}

#define mkstemp(path_) unix_mkstemp(path_)
#define unlink(path_) (strstr(path_, "XXXXXX") ? 0 : _unlink(path_))

CHECK_UNUSED static int64_t unix_lseek(int fd, int64_t by, int whence) {
    const LARGE_INTEGER to = {.QuadPart = by};
    LARGE_INTEGER now;
    return SetFilePointerEx(unix_handle(fd), to, &now, (DWORD)whence) ? now.QuadPart : -1;
}

/* A transfer at a place of its own; the handle's stays as it was. */
CHECK_UNUSED static ssize_t unix_at(int fd, void *bytes, size_t size, int64_t at, bool writes) {
    OVERLAPPED place = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
    const int64_t before = unix_lseek(fd, 0, SEEK_CUR);
    DWORD n = 0;
    const BOOL done = writes ? WriteFile(unix_handle(fd), bytes, (DWORD)size, &n, &place)
                             : ReadFile(unix_handle(fd), bytes, (DWORD)size, &n, &place);
    const bool ended = done || GetLastError() == ERROR_HANDLE_EOF;
    CHECK_EQ(unix_lseek(fd, before, SEEK_SET), before);
    return ended ? (ssize_t)n : -1;
}

#define lseek(fd_, by_, whence_) unix_lseek(fd_, by_, whence_)
#define pread(fd_, to_, size_, at_) unix_at(fd_, to_, size_, at_, false)
#define pwrite(fd_, from_, size_, at_) unix_at(fd_, (void *)(uintptr_t)(from_), size_, at_, true)

/* ---- descriptors ---- */

CHECK_UNUSED static int unix_dup(int fd) {
    HANDLE other = NULL;
    WSAPROTOCOL_INFOW info;
    if (!unix_is_socket(fd)) {
        const HANDLE own = GetCurrentProcess();
        return DuplicateHandle(own, unix_handle(fd), own, &other, 0, FALSE, DUPLICATE_SAME_ACCESS)
                   ? (int)(uintptr_t)other
                   : -1;
    }
    CHECK_EQ(WSADuplicateSocketW((SOCKET)fd, GetCurrentProcessId(), &info), 0);
    const int twin = unix_fresh(WSASocketW(FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO,
                                           FROM_PROTOCOL_INFO, &info, 0, WSA_FLAG_OVERLAPPED),
                                false);
    *unix_flag(twin) = *unix_flag(fd);
    unix_writers[fd / 4] = 0; /* the close of one of them is no end */
    return twin;
}

#define dup(fd_) unix_dup(fd_)

CHECK_UNUSED static int ioctl(int fd, long request, int *out) {
    u_long value = 0;
    const int code = ioctlsocket((SOCKET)fd, request, &value);
    *out = (int)value;
    return code == 0 ? 0 : unix_failed(false);
}

CHECK_UNUSED __attribute__((noreturn)) static int eventfd(unsigned first, int flags) {
    check_skip(__FILE__, __LINE__, "no eventfd here: %u, %d", first, flags);
}

CHECK_UNUSED __attribute__((noreturn)) static int memfd_create(const char *name, unsigned flags) {
    check_skip(__FILE__, __LINE__, "no memfd_create here: %s, %u", name, flags);
}

#define MFD_CLOEXEC 1u
#define O_DIRECT 0
#define SO_PASSCRED 16

/* ---- limits, times ---- */

#include <psapi.h>

typedef unsigned long rlim_t;

struct rlimit {
    rlim_t rlim_cur, rlim_max;
};

struct rusage {
    struct timeval ru_utime, ru_stime;
    long ru_maxrss; /* in KiB */
};

#define RLIMIT_NOFILE 7
#define RUSAGE_SELF 0
#define RUSAGE_THREAD 1

CHECK_UNUSED __attribute__((noreturn)) static int getrlimit(int which, struct rlimit *out) {
    (void)out;
    check_skip(__FILE__, __LINE__, "no limits here: %d", which);
}

CHECK_UNUSED __attribute__((noreturn)) static int setrlimit(int which, const struct rlimit *to) {
    (void)to;
    check_skip(__FILE__, __LINE__, "no limits here: %d", which);
}

CHECK_UNUSED static struct timeval unix_time(FILETIME time) {
    const int64_t us = ((int64_t)time.dwHighDateTime << 32 | time.dwLowDateTime) / 10;
    const struct timeval out = {(long)(us / 1000000), (long)(us % 1000000)};
    return out;
}

CHECK_UNUSED static int getrusage(int whose, struct rusage *out) {
    FILETIME begun, ended, system, user;
    const BOOL told = whose == RUSAGE_SELF
                          ? GetProcessTimes(GetCurrentProcess(), &begun, &ended, &system, &user)
                          : GetThreadTimes(GetCurrentThread(), &begun, &ended, &system, &user);
    PROCESS_MEMORY_COUNTERS memory = {.cb = sizeof memory};
    CHECK(K32GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory));
    out->ru_utime = unix_time(user);
    out->ru_stime = unix_time(system);
    out->ru_maxrss = (long)(memory.PeakWorkingSetSize / 1024);
    return told ? 0 : -1;
}

/* ---- timers ---- */

struct itimerval {
    struct timeval it_interval, it_value;
};

#define ITIMER_REAL 0

CHECK_UNUSED __attribute__((noreturn)) static int setitimer(int which, const struct itimerval *to,
                                                            struct itimerval *before) {
    (void)to;
    (void)before;
    check_skip(__FILE__, __LINE__, "no signals of timers here: %d", which);
}

#endif
