/*
 * unix_signals.h: a part of dies.h: signals as tests write them. A process sends itself what it can
 * be sent here, which are few: SIGUSR1, SIGUSR2 and SIGQUIT are other names of three that end a
 * process, too.
 */
#ifndef WINDOWS_UNIX_SIGNALS_H
#define WINDOWS_UNIX_SIGNALS_H

#include <signal.h>

#define SIGUSR1 SIGBREAK
#define SIGUSR2 SIGTERM
#define SIGQUIT SIGINT
/* Of these there are only the numbers. */
#define SIGBUS 7
#ifndef SIGKILL
#define SIGKILL 9
#endif
#define SIGPIPE 13
#define SIGALRM 14
#define SIGSTOP 19
#define SIGRTMIN 34
#define SA_SIGINFO 4
#define SA_RESTART 0

#ifndef __cplusplus /* where the library's classes have functions of this name */
#define kill(process_, signal_) raise(signal_)
#endif

struct sigaction {
    void (*sa_handler)(int);
    int sa_flags;
};

CHECK_UNUSED static int unix_sigaction(int number, const struct sigaction *to,
                                       struct sigaction *before) {
    void (*was)(int) = signal(number, to ? to->sa_handler : SIG_DFL);
    if (!to) {
        (void)signal(number, was);
    }
    if (before) {
        before->sa_handler = was;
        before->sa_flags = 0;
    }
    return was == SIG_ERR ? -1 : 0;
}

#define sigaction(number_, to_, before_) unix_sigaction(number_, to_, before_)

#endif
