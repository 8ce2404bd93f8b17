/*
 * describe.c: descriptors and signals in words, for people.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* "tcp", or NULL for a socket of another kind. */
static const char *word_of(th_os_family family, th_os_style style) {
    static const char *const words[][3] = {
        [TH_OS_UNNAMED] = {NULL, NULL, NULL},
        [TH_OS_IPV4] = {"tcp", "udp", NULL},
        [TH_OS_IPV6] = {"tcp", "udp", NULL},
        [TH_OS_LOCAL] = {"unix", "unixgram", "unixpacket"},
    };
    return words[family][style];
}

static bool is_listening(int fd) {
    int on = 0;
    socklen_t size = sizeof on;
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &size) == 0 && on;
}

/* What the system calls what is no socket: "pipe:[123]", "/dev/pts/1", "anon_inode:[eventfd]". */
static int text_of_other(int fd, char *text, size_t size) {
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, text, size - 1);
    if (n < 0) {
        return -th_os_errno_get();
    }
    text[n] = '\0';
    return 0;
}

static int text_of(int fd, const char *between, char *text, size_t size, bool *listens) {
    char here[TH_OS_ADDRESS_TEXT] = "";
    char there[TH_OS_ADDRESS_TEXT] = "";
    th_os_family family;
    th_os_style style;
    th_os_address address;
    *listens = false;
    const char *word = th_os_socket_what(fd, &family, &style) ? NULL : word_of(family, style);
    if (!word) {
        return text_of_other(fd, text, size);
    }
    *listens = is_listening(fd);
    if (!th_os_socket_local(fd, &address)) {
        (void)th_os_address_text(&address, here, sizeof here);
    }
    if (!*listens && !th_os_socket_peer(fd, &address)) {
        (void)th_os_address_text(&address, there, sizeof there);
    }
    int n = snprintf(text, size, "%s%s%s%s%s%s%s", word, here[0] ? " " : "", here,
                     there[0] ? " " : "", there[0] ? between : "", there[0] ? " " : "", there);
    return n < 0 || (size_t)n >= size ? -ENOSPC : 0;
}

int th_os_io_text(int fd, const char *between, char *text, size_t size, bool *listens) {
    int saved = th_os_errno_get();
    int code = text_of(fd, between, text, size, listens);
    th_os_errno_set(saved);
    return code;
}

void th_os_signal_name(int number, char text[TH_OS_SIGNAL_TEXT]) {
    static const struct {
        int number;
        char name[8];
    } known[] = {
        {SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"},     {SIGTERM, "TERM"},
        {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGCHLD, "CHLD"},     {SIGALRM, "ALRM"},
        {SIGPIPE, "PIPE"}, {SIGTSTP, "TSTP"}, {SIGCONT, "CONT"},     {SIGTTIN, "TTIN"},
        {SIGTTOU, "TTOU"}, {SIGURG, "URG"},   {SIGIO, "IO"},         {SIGWINCH, "WINCH"},
        {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"}, {SIGVTALRM, "VTALRM"}, {SIGPROF, "PROF"},
#ifdef SIGPWR
        {SIGPWR, "PWR"},
#endif
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].number == number) {
            (void)snprintf(text, TH_OS_SIGNAL_TEXT, "SIG%s", known[i].name);
            return;
        }
    }
    if (number >= SIGRTMIN && number <= SIGRTMAX) {
        (void)snprintf(text, TH_OS_SIGNAL_TEXT, "SIGRTMIN+%d", number - SIGRTMIN);
    } else {
        (void)snprintf(text, TH_OS_SIGNAL_TEXT, "signal %d", number);
    }
}
