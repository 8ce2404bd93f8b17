/*
 * system_windows.c: see system.h.
 */
#include "system.h"

#include <winsock2.h>
/* These must come after the headers above. */
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <windows.h>
#include <ws2tcpip.h>

#include "windows_arguments.h"

enum { PATH_WORDS = 4096 };

void system_begin(int *argc, char ***argv) {
    arguments_take(argc, argv);
    (void)_setmode(STDOUT_FILENO, _O_BINARY);
    (void)_setmode(STDERR_FILENO, _O_BINARY);
}

/* Control-C, Control-Break, and the close of the console. */
unsigned system_signals(bool reloads, int signals[SYSTEM_SIGNALS]) {
    (void)reloads;
    signals[0] = SIGTERM;
    signals[1] = SIGINT;
    signals[2] = SIGBREAK;
    return 3;
}

bool system_is_reload(int signal) {
    (void)signal;
    return false;
}

uint64_t system_descriptors(void) {
    return 1u << 24; /* handles; memory ends before */
}

/* A descriptor is a handle, of which 32 bits count, as the library has them. */
static SOCKET socket_of(int fd) {
    return (SOCKET)(unsigned)fd;
}

bool system_is_readable(int socket) {
    WSAPOLLFD door = {.fd = socket_of(socket), .events = POLLRDNORM};
    return WSAPoll(&door, 1, 0) == 1;
}

bool system_has_come(int socket) {
    u_long size = 0;
    return ioctlsocket(socket_of(socket), (long)FIONREAD, &size) == 0 && size > 0;
}

bool system_takes_stderr(void) {
    return true; /* not known */
}

/* TransmitFile would wait for the other side, or want a completion that no task can wait for. */
int system_send_file(int socket, int file, uint64_t offset, size_t size) {
    (void)socket;
    (void)file;
    (void)offset;
    (void)size;
    return -ENOSYS;
}

bool system_is_ipv6(const char *text) {
    struct in6_addr address;
    return inet_pton(AF_INET6, text, &address) == 1;
}

FILE *system_create(const char *path) {
    wchar_t wide[PATH_WORDS];
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, PATH_WORDS) == 0) {
        errno = ENOENT;
        return NULL;
    }
    return _wfopen(wide, L"wb");
}

/* In a file that need never come to a disk, and goes with the stream. */
FILE *system_text_begin(struct system_text *text) {
    wchar_t folder[MAX_PATH], name[MAX_PATH];
    *text = (struct system_text){NULL, 0};
    return GetTempPathW(MAX_PATH, folder) != 0 && GetTempFileNameW(folder, L"web", 0, name) != 0
               ? _wfopen(name, L"w+bTD")
               : NULL;
}

bool system_text_end(struct system_text *text, FILE *stream) {
    const long size = fflush(stream) == 0 ? ftell(stream) : -1;
    text->data = size >= 0 ? malloc((size_t)size + 1) : NULL;
    if (text->data) {
        rewind(stream);
        text->size = fread(text->data, 1, (size_t)size, stream);
    }
    return fclose(stream) == 0 && text->data && text->size == (size_t)size;
}
