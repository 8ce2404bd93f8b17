/*
 * describe.c: descriptions of signals, and of descriptors other than sockets, for people.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "platform/unix/io/io_text.h"

/*
 * The system's name for a descriptor other than a socket: "pipe:[123]", "/dev/pts/1",
 * "anon_inode:[eventfd]".
 */
int th_text_of_other(int fd, char *text, size_t size) {
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, text, size - 1);
    if (n < 0) {
        return -th_os_errno_get();
    }
    text[n] = '\0';
    return 0;
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
