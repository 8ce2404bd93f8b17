/*
 * files.h: a part of support/io/files.h: what the C library lacks of files, and what differs of
 * them. A test's descriptors are handles, as the library has them, and not the C library's numbers.
 */
#ifndef WINDOWS_FILES_H
#define WINDOWS_FILES_H

#include <direct.h>
#include <io.h>
/* Names that tests have, too. */
#define SIZE WINDOWS_SIZE
#include <winsock2.h>
#undef SIZE
#undef near
#undef far

/* Codes that only Unix's calls give. */
#define EDQUOT 122
#define ESTALE 116

#define mkdir(path_, mode_) ((void)(mode_), _mkdir(path_))

CHECK_UNUSED static const char *file_folder(void) {
    const char *folder = getenv("TEMP");
    return folder ? folder : ".";
}

CHECK_UNUSED static int mkfifo(const char *path, unsigned mode) {
    (void)path;
    (void)mode;
    return -1; /* none; a test that wants one skips itself */
}

/* How many files and directories are open; the system's handles have no list. */
CHECK_UNUSED static int fds_open(void) {
    int n = 0;
    for (uintptr_t i = 4; i < 8192; i += 4) {
        n += GetFileType((HANDLE)i) == FILE_TYPE_DISK;
    }
    return n;
}

CHECK_UNUSED static bool file_is_open(int fd) {
    DWORD flags;
    return GetHandleInformation((HANDLE)(uintptr_t)(unsigned)fd, &flags);
}

/* A file as the program would open it; `direct`: past the system's memory. */
CHECK_UNUSED static int file_opened(const char *path, bool direct) {
    HANDLE file =
        CreateFileA(path, direct ? GENERIC_READ : GENERIC_READ | GENERIC_WRITE,
                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_ALWAYS,
                    direct ? (DWORD)FILE_FLAG_WRITE_THROUGH : (DWORD)FILE_ATTRIBUTE_NORMAL, NULL);
    CHECK(file != INVALID_HANDLE_VALUE);
    return (int)(unsigned)(uintptr_t)file;
}

/* Two that are no files: sockets, which the library's own calls have brought into being before. */
CHECK_UNUSED static void no_files(int fds[2]) {
    for (int i = 0; i < 2; i++) {
        const SOCKET s = socket(AF_INET, SOCK_DGRAM, 0);
        CHECK(s != INVALID_SOCKET);
        fds[i] = (int)s;
    }
}

CHECK_UNUSED static void no_file_close(int fd) {
    CHECK_EQ(closesocket((SOCKET)fd), 0);
}

/* Two, of which the first one reads what is put to the second: the ends of a connection. */
CHECK_UNUSED static void no_watch(int fds[2]) {
    struct sockaddr_in address;
    int size = sizeof address;
    WSADATA data;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_EQ(WSAStartup(MAKEWORD(2, 2), &data), 0);
    const SOCKET listener = socket(AF_INET, SOCK_STREAM, 0);
    const SOCKET other = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(listener, (struct sockaddr *)&address, size), 0);
    CHECK_EQ(listen(listener, 1), 0);
    CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    CHECK_EQ(connect(other, (struct sockaddr *)&address, size), 0);
    fds[0] = (int)accept(listener, NULL, NULL);
    fds[1] = (int)other;
    CHECK_EQ(closesocket(listener), 0);
}

CHECK_UNUSED static void no_watch_put(int fd, const void *bytes, size_t size) {
    CHECK_EQ(send((SOCKET)fd, bytes, (int)size, 0), (int)size);
}

/* Of permissions there is whether a file may be written. */
#define FILE_MODE(mode_) ((mode_)&0222u ? 0666u : 0444u)
#define FILE_OWNER 0u
#define FILE_NULL "NUL"
#define HAS_SYMLINKS 0
#define HAS_INTERRUPTS 0
#define HAS_WATCHES 1 /* changes of files are told */
#define HAS_LOCKS 1
#define HAS_APPEND 1
#define NOT_BY_WINDOWS(what) CHECK_SKIP("not on Windows: %s", what)

#endif
