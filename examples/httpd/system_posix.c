/*
 * system_posix.c: see system.h.
 */
#define _GNU_SOURCE 1
#include "system.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

/*
 * For a start without stdin, stdout or stderr: otherwise a connection might get the program's
 * output.
 */
static void open_standard(void) {
    int fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO) {
        fd = open("/dev/null", O_RDWR);
    }
    if (fd >= 0) {
        close(fd);
    }
}

void system_begin(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    open_standard();
    signal(SIGPIPE, SIG_IGN); /* sendfile(2) raises it when the other side is gone */
    signal(SIGXFSZ, SIG_IGN); /* a log that is as long as a file may be: its lines are lost */
    tzset();                  /* it reads a file: not later, in a task */
}

unsigned system_signals(bool reloads, int signals[SYSTEM_SIGNALS]) {
    signals[0] = SIGTERM;
    signals[1] = SIGINT;
    signals[2] = SIGHUP;
    return reloads ? 3 : 2;
}

bool system_is_reload(int signal) {
    return signal == SIGHUP;
}

uint64_t system_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return UINT64_MAX;
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur;
}

bool system_is_readable(int socket) {
    struct pollfd door = {.fd = socket, .events = POLLIN};
    return poll(&door, 1, 0) == 1;
}

bool system_has_come(int socket) {
    int size = 0;
    return ioctl(socket, FIONREAD, &size) == 0 && size > 0;
}

bool system_takes_stderr(void) {
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0;
}

int system_send_file(int socket, int file, uint64_t offset, size_t size) {
    off_t at = (off_t)offset;
    ssize_t n = sendfile(socket, file, &at, size);
    return n < 0 ? -errno : (int)n;
}

bool system_is_ipv6(const char *text) {
    struct in6_addr address;
    return inet_pton(AF_INET6, text, &address) == 1;
}

FILE *system_create(const char *path) {
    return fopen(path, "w");
}

FILE *system_text_begin(struct system_text *text) {
    return open_memstream(&text->data, &text->size);
}

bool system_text_end(struct system_text *text, FILE *stream) {
    (void)text;
    return fclose(stream) == 0;
}
